//! Explains the limits of a rolling update for a number of clusters, with warnings.

use super::super::config::RollingUpdateConfig;
use super::super::{KubeFleetBugs, RuleSet};
use super::{PERIOD_SECONDS, RollingLimits, RollingUpdate};

/// The limits of a rolling update applied to a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct RollingExplanation {
    /// Both limits in clusters.
    pub limits: RollingLimits,
    /// Clusters that are updated in the first pass, if all are ready.
    pub first_wave: i64,
    /// Number of passes that roll bindings until all are rolled, if each wave becomes ready as a whole. `None`: it
    /// never ends.
    pub waves: Option<i64>,
    /// Seconds after which resources that cannot be tracked count as available.
    pub unavailable_period_seconds: i64,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// Applies `config` to an update of `target` clusters, all of them ready on another version.
pub fn explain(config: &RollingUpdateConfig, rules: RuleSet, target: u32) -> RollingExplanation {
    let limits = RollingUpdate::new(config.clone(), rules, KubeFleetBugs::ALL, Vec::new()).limits(i64::from(target));
    let target = i64::from(target);
    let first_wave = limits.max_unavailable.min(target);
    let waves = match (target, first_wave) {
        (0, _) => Some(0),
        (_, 0) => None,
        (target, wave) => Some((target + wave - 1) / wave),
    };
    let unavailable_period_seconds = config.unavailable_period_seconds.unwrap_or(PERIOD_SECONDS);
    let mut warnings = Vec::new();
    if target == 0 {
        let warnings = vec!["the placement asks for no cluster".to_owned()];
        return RollingExplanation { limits, first_wave, waves, unavailable_period_seconds, warnings };
    }
    if waves.is_none() {
        warnings.push(
            "maxUnavailable is 0: no cluster that has the resources is ever updated; the controller retries with a \
             backoff of up to 1000 s"
                .to_owned(),
        );
    }
    if limits.max_unavailable == 0 && limits.max_surge == 0 {
        warnings.push("maxUnavailable and maxSurge are both 0, which nothing rejects".to_owned());
    }
    if config.max_surge.is_some() {
        warnings
            .push("maxSurge has no effect on an update: it limits clusters that newly get the resources".to_owned());
    }
    if first_wave == target && target > 1 {
        warnings.push(format!("maxUnavailable is all clusters: all {target} are updated simultaneously"));
    }
    if rules == RuleSet::Shipped {
        warnings.push(
            "a cluster that is still in progress counts as failed: it gets a newer version immediately, regardless \
             of maxUnavailable"
                .to_owned(),
        );
    }
    RollingExplanation { limits, first_wave, waves, unavailable_period_seconds, warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_explained_in_numbers() {
        let cases = [
            // config, clusters, (unavailable, surge), waves, why
            ("{}", 10, (3, 3), Some(4), "25 % of 10, rounded up"),
            ("{maxUnavailable: 1}", 10, (1, 3), Some(10), "one by one"),
            ("{maxUnavailable: 100%}", 10, (10, 3), Some(1), "all at once"),
            ("{maxUnavailable: 0, maxSurge: 0}", 10, (0, 0), None, "never"),
            ("{maxUnavailable: 0%}", 10, (0, 3), None, "a share can stop it too"),
            ("{}", 0, (0, 0), Some(0), "nothing to do"),
        ];
        for (yaml, clusters, (unavailable, surge), waves, why) in cases {
            let config = serde_saphyr::from_str(yaml).expect(yaml);
            let found = explain(&config, RuleSet::Shipped, clusters);
            assert_eq!(found.limits, RollingLimits { max_unavailable: unavailable, max_surge: surge }, "{yaml}: {why}");
            assert_eq!(found.waves, waves, "{yaml}: {why}");
        }
        let zero = serde_saphyr::from_str("{maxUnavailable: 0}").expect("it is read");
        assert_eq!(explain(&zero, RuleSet::Documented, 10).limits.max_unavailable, 1, "the website: at least 1");
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let warnings = |yaml: &str, rules| explain(&serde_saphyr::from_str(yaml).expect(yaml), rules, 10).warnings;
        assert_eq!(warnings("{}", RuleSet::Documented), Vec::<String>::new());
        let found = warnings("{maxUnavailable: 0, maxSurge: 0}", RuleSet::Shipped);
        assert!(found[0].starts_with("maxUnavailable is 0: no cluster"), "{found:?}");
        assert!(found[1].contains("both 0") && found[2].contains("no effect on an update"), "{found:?}");
        let found = warnings("{maxUnavailable: 100%}", RuleSet::Documented);
        assert_eq!(found, ["maxUnavailable is all clusters: all 10 are updated simultaneously"]);
    }
}

//! Explains the limits of a rolling update for a number of clusters, with warnings.

use super::super::config::RollingUpdateConfig;
use super::super::{KubeFleetBugs, RuleSet};
use super::{PERIOD_SECONDS, RollingUpdate};

/// The limits of a rolling update applied to a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct RollingExplanation {
    /// Both limits in clusters, the number of passes that roll bindings if each wave becomes ready as a whole, and the
    /// period after which resources without availability tracking count as available.
    pub limits: String,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// Applies `config` to an update of `target` clusters (at least one) that are all ready on another version.
pub fn explain(config: &RollingUpdateConfig, rules: RuleSet, target: u32) -> RollingExplanation {
    let target = i64::from(target);
    let limits =
        RollingUpdate::new(config.clone(), rules, KubeFleetBugs::ALL, Vec::new()).limits(target);
    let unavailable = limits.max_unavailable;
    let surge = limits.max_surge;
    let first_wave = unavailable.min(target);
    let waves = match first_wave {
        0 => "it never ends".to_owned(),
        wave => format!("in {} waves or more", (target + wave - 1) / wave),
    };
    let limits = format!(
        "maxUnavailable {unavailable} and maxSurge {surge} of {target} clusters; an update begins with {first_wave} \
         clusters; {waves}; looks again every {} s",
        config.unavailable_period_seconds.unwrap_or(PERIOD_SECONDS),
    );
    let all = format!("maxUnavailable is all clusters: all {target} are updated simultaneously");
    let surprises = [
        (
            first_wave == 0,
            "maxUnavailable is 0: no cluster that has the resources is ever updated; the controller retries with a \
             backoff of up to 1000 s",
        ),
        (
            unavailable == 0 && surge == 0,
            "maxUnavailable and maxSurge are both 0, which nothing rejects",
        ),
        (
            config.max_surge.is_some(),
            "maxSurge has no effect on an update: it limits clusters that newly get the resources",
        ),
        (first_wave == target && target > 1, &all),
        (
            rules == RuleSet::Shipped,
            "a cluster that is still in progress counts as failed: it gets a newer version immediately, regardless of \
             maxUnavailable",
        ),
    ];
    let warnings = surprises
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, text)| text.to_owned())
        .collect();
    RollingExplanation { limits, warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_explained_in_numbers() {
        let cases = [
            // config, clusters, limits, waves, why
            (
                "{}",
                10,
                "maxUnavailable 3 and maxSurge 3 of",
                "in 4 waves",
                "25 % of 10, rounded up",
            ),
            (
                "{maxUnavailable: 1}",
                10,
                "maxUnavailable 1 and maxSurge 3 of",
                "in 10 waves",
                "one by one",
            ),
            (
                "{maxUnavailable: 100%}",
                10,
                "maxUnavailable 10 and maxSurge 3 of",
                "in 1 waves",
                "all at once",
            ),
            (
                "{maxUnavailable: 0, maxSurge: 0}",
                10,
                "maxUnavailable 0 and maxSurge 0 of",
                "it never ends",
                "never",
            ),
            (
                "{maxUnavailable: 0%}",
                10,
                "maxUnavailable 0 and maxSurge 3 of",
                "it never ends",
                "a share can stop it",
            ),
        ];
        for (yaml, clusters, limits, waves, why) in cases {
            let config = serde_saphyr::from_str(yaml).expect(yaml);
            let found = explain(&config, RuleSet::Shipped, clusters).limits;
            assert!(
                found.starts_with(limits) && found.contains(&format!("; {waves}")),
                "{yaml}: {why}, but {found}"
            );
        }
        let zero = serde_saphyr::from_str("{maxUnavailable: 0}").expect("it is read");
        let found = explain(&zero, RuleSet::Documented, 10).limits;
        assert!(
            found.starts_with("maxUnavailable 1 "),
            "the website: at least 1, but {found}"
        );
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let warnings = |yaml: &str, rules| {
            explain(&serde_saphyr::from_str(yaml).expect(yaml), rules, 10).warnings
        };
        assert_eq!(warnings("{}", RuleSet::Documented), Vec::<String>::new());
        let found = warnings("{maxUnavailable: 0, maxSurge: 0}", RuleSet::Shipped);
        assert!(
            found[0].starts_with("maxUnavailable is 0: no cluster"),
            "{found:?}"
        );
        assert!(
            found[1].contains("both 0") && found[2].contains("no effect on an update"),
            "{found:?}"
        );
        let found = warnings("{maxUnavailable: 100%}", RuleSet::Documented);
        assert_eq!(
            found,
            ["maxUnavailable is all clusters: all 10 are updated simultaneously"]
        );
    }
}

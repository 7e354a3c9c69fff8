//! Explains a strategy for a fleet before a rollout: partitions and limits in numbers, and warnings.

use super::super::{IntOrString, text};
use super::cluster::FleetCluster;
use super::config::RolloutStrategy;
use super::documented;
use super::matcher::Matcher;
use super::partition::{Partitioning, StrategyError, THRESHOLD};
use super::pass;
use super::{RuleSet, by_name};

/// A strategy applied to a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleExplanation {
    /// The partitions and the limits.
    pub plan: Partitioning,
    /// Each partition counts against `maxUnavailablePartitions` while more clusters than this are pending.
    pub gates: Vec<i64>,
    /// Number of clusters.
    pub targets: usize,
    /// Number of clusters that start together. Shipped rules: first deployments per pass in all partitions. Documented
    /// rules: clusters of a partition that start before its `maxUnavailable` is checked.
    pub batch: i64,
    /// Clusters in no partition, by name.
    pub unpartitioned: Vec<String>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// Applies `strategy` to all of `clusters`.
///
/// # Errors
/// If the strategy is invalid; Fleet would then change nothing.
pub fn explain(
    strategy: &RolloutStrategy,
    rules: RuleSet,
    clusters: &[FleetCluster],
) -> Result<BundleExplanation, StrategyError> {
    let targets = by_name(clusters, |cluster| &cluster.name);
    let plan = Partitioning::new(strategy, clusters, &targets)?;
    let is_partition_limit_set = strategy.max_unavailable_partitions.is_some();
    let mut gates = Vec::with_capacity(plan.partitions.len());
    for partition in &plan.partitions {
        gates.push(match rules {
            RuleSet::Shipped => partition.max_unavailable,
            RuleSet::Documented => documented::gate_limit(partition, is_partition_limit_set),
        });
    }
    let mut memberships = vec![0_usize; clusters.len()];
    for member in plan.partitions.iter().flat_map(|p| &p.members) {
        memberships[*member as usize] += 1;
    }
    let mut unpartitioned = Vec::new();
    let mut in_several = Vec::new();
    for index in targets.iter().map(|index| *index as usize) {
        match memberships[index] {
            0 => unpartitioned.push(clusters[index].name.clone()),
            1 => {}
            2.. => in_several.push(clusters[index].name.clone()),
        }
    }
    let found = BundleExplanation {
        gates,
        plan,
        targets: targets.len(),
        batch: match rules {
            RuleSet::Shipped => strategy.max_new.unwrap_or(pass::MAX_NEW),
            RuleSet::Documented => documented::BATCH as i64,
        },
        unpartitioned,
        warnings: Vec::new(),
    };
    let mut warnings = Vec::new();
    entries(strategy, &found, &in_several, &mut warnings);
    if let Some(warning) = automatic_size(strategy, &found) {
        warnings.push(warning);
    }
    limits(strategy, rules, &found, &mut warnings);
    if let Some(warning) = open_gates(rules, &found) {
        warnings.push(warning);
    }
    Ok(BundleExplanation { warnings, ..found })
}

/// Returns warnings about entries of `partitions`, and about settings without effect.
fn entries(
    strategy: &RolloutStrategy,
    found: &BundleExplanation,
    in_several: &[String],
    warnings: &mut Vec<String>,
) {
    let manual = strategy.manual_partitions();
    for (index, (entry, partition)) in manual.iter().zip(&found.plan.partitions).enumerate() {
        let place = format!("partitions[{index}] (`{}`)", entry.name);
        if Matcher::new(entry).is_ok_and(|matcher| !matcher.has_criteria()) {
            warnings.push(format!(
                "{place} has no criterion and therefore selects no cluster"
            ));
        } else if partition.members.is_empty() {
            warnings.push(format!("{place} matches no cluster"));
        }
    }
    if !found.unpartitioned.is_empty() {
        warnings.push(format!(
            "in no partition, so never updated: {}; add a partition for the rest",
            listed(&found.unpartitioned)
        ));
    }
    if !in_several.is_empty() {
        warnings.push(format!(
            "in several partitions: {}; entries may overlap",
            listed(in_several)
        ));
    }
    if !manual.is_empty()
        && (strategy.auto_partition_size.is_some() || strategy.auto_partition_threshold.is_some())
    {
        warnings.push(
            "autoPartitionSize and autoPartitionThreshold have no effect together with partitions"
                .to_owned(),
        );
    }
}

/// Returns a warning if the size of automatic partitions has no effect.
fn automatic_size(strategy: &RolloutStrategy, found: &BundleExplanation) -> Option<String> {
    let size = strategy.auto_partition_size.as_ref()?;
    let has_entries = !strategy.manual_partitions().is_empty();
    if has_entries || found.plan.partitions.len() != 1 {
        return None;
    }
    let targets = text::count(found.targets, "target");
    let threshold = strategy.auto_partition_threshold.unwrap_or(THRESHOLD);
    let is_off = threshold <= 0 || matches!(size, IntOrString::Int(..=0));
    Some(if is_off {
        format!(
            "autoPartitionSize or autoPartitionThreshold is 0 or less, so one partition holds all {targets}"
        )
    } else if (found.targets as i64) < threshold {
        format!(
            "autoPartitionSize has no effect: {targets} are fewer than autoPartitionThreshold ({threshold})"
        )
    } else {
        format!("autoPartitionSize has no effect: one partition holds all {targets}")
    })
}

/// Returns warnings about limits that stop a rollout or have no effect.
fn limits(
    strategy: &RolloutStrategy,
    rules: RuleSet,
    found: &BundleExplanation,
    warnings: &mut Vec<String>,
) {
    if rules == RuleSet::Documented {
        if strategy.max_new.is_some() {
            warnings.push("maxNew has no effect: as documented it is always 50".to_owned());
        }
        return;
    }
    if found.batch <= 0 {
        warnings.push("maxNew is 0 or less: no first deployment is ever created".to_owned());
    }
    let bundle = found.plan.max_unavailable;
    if bundle == 0 {
        warnings.push(
            "maxUnavailable is the number 0: an update never starts; use 0% to update clusters one by one".to_owned(),
        );
    }
    for partition in &found.plan.partitions {
        if partition.members.is_empty() {
            continue;
        }
        if partition.max_unavailable == 0 && bundle != 0 {
            warnings.push(format!(
                "maxUnavailable of partition `{}` is 0: it is never updated",
                partition.name
            ));
        }
        let own = partition
            .max_unavailable
            .min(partition.members.len() as i64);
        if own > bundle && bundle > 0 && strategy.max_unavailable.is_some() {
            warnings.push(format!(
                "maxUnavailable of partition `{}` allows {own} unavailable clusters, but the strategy's limits the \
                 whole bundle to {bundle}",
                partition.name
            ));
        }
    }
}

/// Returns a warning if the check between partitions cannot fail.
fn open_gates(rules: RuleSet, found: &BundleExplanation) -> Option<String> {
    let Partitioning {
        partitions,
        max_unavailable,
        max_unavailable_partitions,
    } = &found.plan;
    let number = partitions.len();
    if number < 2 {
        return None;
    }
    if *max_unavailable_partitions >= number as i64 - 1 {
        return Some(format!(
            "maxUnavailablePartitions is {max_unavailable_partitions} of {number} partitions: no partition ever waits \
             for another"
        ));
    }
    for (gate, partition) in found.gates.iter().zip(partitions) {
        if *gate < partition.members.len() as i64 {
            return None;
        }
    }
    let mut warning =
        "every partition's maxUnavailable is all of its clusters, so no partition ever waits for another".to_owned();
    if rules == RuleSet::Shipped && *max_unavailable >= found.targets as i64 {
        let updated = text::count(found.targets - found.unpartitioned.len(), "cluster");
        let all = if found.unpartitioned.is_empty() {
            "all "
        } else {
            ""
        };
        warning.push_str(&format!(
            "; an update goes to {all}{updated} in the first pass"
        ));
    }
    Some(warning)
}

fn listed(names: &[String]) -> String {
    text::listed(names.iter().map(String::as_str), "cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(yaml: &str, rules: RuleSet, count: usize) -> BundleExplanation {
        let cluster = |index| FleetCluster {
            name: format!("c{index:04}"),
            ..FleetCluster::default()
        };
        let clusters: Vec<_> = (0..count).map(cluster).collect();
        explain(&serde_saphyr::from_str(yaml).expect(yaml), rules, &clusters).expect(yaml)
    }

    #[test]
    fn a_strategy_is_explained_in_numbers() {
        let yaml = "{maxUnavailablePartitions: 1, autoPartitionSize: 10%}";
        let shipped = explained(yaml, RuleSet::Shipped, 200);
        assert_eq!(shipped.plan.partitions.len(), 10);
        let second = &shipped.plan.partitions[1];
        assert_eq!(
            (second.name.as_str(), second.max_unavailable),
            ("Partition 20 - 40", 20)
        );
        assert_eq!(second.members, (20..40).collect::<Vec<_>>());
        assert_eq!(
            (
                shipped.gates[1],
                shipped.plan.max_unavailable,
                shipped.batch
            ),
            (20, 200, 50)
        );
        let documented = explained(yaml, RuleSet::Documented, 200);
        assert_eq!(
            documented.gates[1], 0,
            "maxUnavailable is set nowhere: wait until all are ready"
        );
        assert_eq!(documented.batch, 50);
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(&str, RuleSet, usize, &[&str]); 16] = [
            (
                "{}",
                RuleSet::Shipped,
                200,
                &["every partition's maxUnavailable is all of its clusters, so no partition ever waits for another; \
                   an update goes to all 200 clusters in the first pass"],
            ),
            (
                "{}",
                RuleSet::Documented,
                200,
                &["every partition's maxUnavailable is all of its clusters, so no partition ever waits for another"],
            ),
            ("{maxUnavailable: 10%}", RuleSet::Shipped, 200, &[]),
            ("{maxUnavailablePartitions: 1, autoPartitionSize: 10%}", RuleSet::Documented, 200, &[]),
            ("{}", RuleSet::Shipped, 50, &[]),
            (
                "{maxUnavailable: 0}",
                RuleSet::Shipped,
                50,
                &["maxUnavailable is the number 0: an update never starts; use 0% to update clusters one by one"],
            ),
            ("{maxUnavailable: 0}", RuleSet::Documented, 50, &[]),
            ("{maxUnavailable: 0%}", RuleSet::Shipped, 50, &[]),
            ("{maxNew: 0}", RuleSet::Shipped, 50, &["maxNew is 0 or less: no first deployment is ever created"]),
            ("{maxNew: 7}", RuleSet::Documented, 50, &["maxNew has no effect: as documented it is always 50"]),
            (
                "{autoPartitionSize: 10%}",
                RuleSet::Shipped,
                50,
                &["autoPartitionSize has no effect: 50 targets are fewer than autoPartitionThreshold (200)"],
            ),
            (
                "{autoPartitionSize: 100%}",
                RuleSet::Shipped,
                240,
                &["autoPartitionSize has no effect: one partition holds all 240 targets"],
            ),
            (
                "{autoPartitionSize: 0}",
                RuleSet::Shipped,
                240,
                &["autoPartitionSize or autoPartitionThreshold is 0 or less, so one partition holds all 240 targets"],
            ),
            (
                "{autoPartitionSize: 10%, maxUnavailable: 2, partitions: [
                    {name: a, clusterName: c0000, maxUnavailable: 0}, {name: b, clusterName: nobody}, {name: c}]}",
                RuleSet::Shipped,
                6,
                &[
                    "partitions[1] (`b`) matches no cluster",
                    "partitions[2] (`c`) has no criterion and therefore selects no cluster",
                    "in no partition, so never updated: 5 clusters (c0001, c0002, c0003 and 2 more); add a partition \
                     for the rest",
                    "autoPartitionSize and autoPartitionThreshold have no effect together with partitions",
                    "maxUnavailable of partition `a` is 0: it is never updated",
                ],
            ),
            (
                "{maxUnavailable: 2, partitions: [
                    {name: a, clusterSelector: {}, maxUnavailable: 100%}, {name: b, clusterName: c0001}]}",
                RuleSet::Shipped,
                6,
                &[
                    "in several partitions: 1 cluster (c0001); entries may overlap",
                    "maxUnavailable of partition `a` allows 6 unavailable clusters, but the strategy's limits the \
                     whole bundle to 2",
                    "every partition's maxUnavailable is all of its clusters, so no partition ever waits for another",
                ],
            ),
            (
                "{maxUnavailable: 10%, maxUnavailablePartitions: 100%}",
                RuleSet::Shipped,
                200,
                &["maxUnavailablePartitions is 4 of 4 partitions: no partition ever waits for another"],
            ),
        ];
        for (yaml, rules, count, warnings) in cases {
            assert_eq!(
                explained(yaml, rules, count).warnings,
                warnings,
                "{yaml}, {rules:?}, {count} clusters"
            );
        }
    }
}

//! Explains a strategy for a fleet before a rollout: partitions and limits in numbers, and warnings.

use super::super::text;
use super::cluster::FleetCluster;
use super::config::RolloutStrategy;
use super::documented;
use super::matcher::Matcher;
use super::partition::{Partition, Partitioning, StrategyError};
use super::pass;
use super::{RuleSet, by_name};

/// A strategy applied to a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleExplanation {
    /// The rule set.
    pub rules: RuleSet,
    /// Clusters in all.
    pub targets: usize,
    /// In the order in which they are updated.
    pub partitions: Vec<PartitionExplanation>,
    /// Clusters that may be unavailable in the bundle before available ones are no longer updated. `None`: the rules
    /// have no such limit.
    pub max_unavailable: Option<i64>,
    /// Later partitions are updated while at most this many are unavailable (documented: NotReady).
    pub max_unavailable_partitions: i64,
    /// First deployments per pass, over all partitions. `None`: the rules have no such limit.
    pub max_new: Option<i64>,
    /// Clusters started together in a partition before its `maxUnavailable` is checked. `None`: the rules have no
    /// batches.
    pub batch: Option<usize>,
    /// Clusters in no partition, by name.
    pub unpartitioned: Vec<String>,
    /// Surprising effects of settings, one sentence each.
    pub warnings: Vec<String>,
}

/// One partition of an [`BundleExplanation`].
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionExplanation {
    /// As in the bundle's status.
    pub name: String,
    /// Its clusters.
    pub count: usize,
    /// Shipped: clusters of it that may be unavailable in an update. Documented: clusters that may be NotReady when
    /// its next batch starts.
    pub max_unavailable: i64,
    /// The partition counts against `maxUnavailablePartitions` while more clusters than this are pending.
    pub gate: i64,
    /// Its first clusters by name, a few.
    pub first: Vec<String>,
}

/// Applies `strategy` to all of `clusters`.
///
/// # Errors
/// The strategy is invalid; Fleet would change nothing.
pub fn explain(
    strategy: &RolloutStrategy,
    rules: RuleSet,
    clusters: &[FleetCluster],
) -> Result<BundleExplanation, StrategyError> {
    let targets = by_name(clusters, |cluster| &cluster.name);
    let plan = Partitioning::new(strategy, clusters, &targets)?;
    let is_partition_limit_set = strategy.max_unavailable_partitions.is_some();
    let gate = |partition: &Partition| match rules {
        RuleSet::Shipped => partition.max_unavailable,
        RuleSet::Documented => documented::gate_limit(partition, is_partition_limit_set),
    };
    let name = |index: &u32| clusters[*index as usize].name.clone();
    let partitions = plan.partitions.iter().map(|partition| PartitionExplanation {
        name: partition.name.clone(),
        count: partition.members.len(),
        max_unavailable: partition.max_unavailable,
        gate: gate(partition),
        first: partition.members.iter().take(text::NAMED).map(name).collect(),
    });
    let mut times = vec![0_usize; clusters.len()];
    plan.partitions.iter().flat_map(|p| &p.members).for_each(|member| times[*member as usize] += 1);
    let with = |test: fn(usize) -> bool| -> Vec<String> {
        targets.iter().filter(|index| test(times[**index as usize])).map(name).collect()
    };
    let mut explanation = BundleExplanation {
        rules,
        targets: targets.len(),
        partitions: partitions.collect(),
        max_unavailable: (rules == RuleSet::Shipped).then_some(plan.max_unavailable),
        max_unavailable_partitions: plan.max_unavailable_partitions,
        max_new: (rules == RuleSet::Shipped).then(|| strategy.max_new.unwrap_or(pass::MAX_NEW)),
        batch: (rules == RuleSet::Documented).then_some(documented::BATCH),
        unpartitioned: with(|times| times == 0),
        warnings: Vec::new(),
    };
    explanation.warnings = warnings(strategy, &explanation, &with(|times| times > 1));
    Ok(explanation)
}

fn warnings(strategy: &RolloutStrategy, found: &BundleExplanation, in_several: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.targets == 0 {
        return vec!["there is no target; Fleet then ignores the whole strategy".to_owned()];
    }
    entries(strategy, found, in_several, &mut warnings);
    limits(strategy, found, &mut warnings);
    gate(found, &mut warnings);
    warnings
}

/// Warnings about entries of `partitions`, and about settings without effect.
fn entries(strategy: &RolloutStrategy, found: &BundleExplanation, in_several: &[String], warnings: &mut Vec<String>) {
    let manual = strategy.manual_partitions();
    for (index, (entry, partition)) in manual.iter().zip(&found.partitions).enumerate() {
        let place = format!("partitions[{index}] (`{}`)", entry.name);
        if Matcher::new(entry).is_ok_and(|matcher| !matcher.has_criteria()) {
            warnings.push(format!("{place} has no criterion and therefore selects no cluster"));
        } else if partition.count == 0 {
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
        warnings.push(format!("in several partitions: {}; entries may overlap", listed(in_several)));
    }
    if !manual.is_empty() && (strategy.auto_partition_size.is_some() || strategy.auto_partition_threshold.is_some()) {
        warnings
            .push("autoPartitionSize and autoPartitionThreshold have no effect together with partitions".to_owned());
    }
    if manual.is_empty() && strategy.auto_partition_size.is_some() && found.partitions.len() == 1 {
        warnings.push(format!(
            "autoPartitionSize has no effect: there is one partition, because it holds all {} targets, or they are \
             fewer than autoPartitionThreshold ({}), or one of the two is 0 or less",
            found.targets,
            strategy.auto_partition_threshold.unwrap_or(200)
        ));
    }
}

/// Warnings about limits that stop a rollout or have no effect.
fn limits(strategy: &RolloutStrategy, found: &BundleExplanation, warnings: &mut Vec<String>) {
    if found.rules == RuleSet::Documented {
        if strategy.max_new.is_some() {
            warnings.push("maxNew has no effect: as documented it is always 50".to_owned());
        }
        return;
    }
    if found.max_new.is_some_and(|max_new| max_new <= 0) {
        warnings.push("maxNew is 0 or less: no first deployment is ever created".to_owned());
    }
    let bundle = found.max_unavailable.unwrap_or(i64::MAX);
    if bundle == 0 {
        warnings.push(
            "maxUnavailable is the number 0: an update never starts; use 0% to update clusters one by one".to_owned(),
        );
    }
    for partition in found.partitions.iter().filter(|partition| partition.count > 0) {
        if partition.max_unavailable == 0 && bundle != 0 {
            warnings.push(format!("maxUnavailable of partition `{}` is 0: it is never updated", partition.name));
        }
        let own = partition.max_unavailable.min(partition.count as i64);
        if own > bundle && bundle > 0 && strategy.max_unavailable.is_some() {
            warnings.push(format!(
                "maxUnavailable of partition `{}` allows {own} unavailable clusters, but the strategy's limits the \
                 whole bundle to {bundle}",
                partition.name
            ));
        }
    }
}

/// A warning about the check between partitions where it cannot fail.
fn gate(found: &BundleExplanation, warnings: &mut Vec<String>) {
    if found.partitions.len() < 2 {
        return;
    }
    if found.max_unavailable_partitions >= found.partitions.len() as i64 - 1 {
        warnings.push(format!(
            "maxUnavailablePartitions is {} of {} partitions: no partition ever waits for another",
            found.max_unavailable_partitions,
            found.partitions.len()
        ));
    } else if found.partitions.iter().all(|partition| partition.gate >= partition.count as i64) {
        let consequence = match (found.rules, found.max_unavailable) {
            (RuleSet::Shipped, Some(bundle)) if bundle >= found.targets as i64 => {
                format!("; an update goes to all {} clusters in the first pass", found.targets)
            }
            _ => String::new(),
        };
        warnings.push(format!(
            "every partition's maxUnavailable is all of its clusters, so no partition ever waits for another\
             {consequence}"
        ));
    }
}

fn listed(names: &[String]) -> String {
    text::listed(names.iter().map(String::as_str), "cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(yaml: &str, rules: RuleSet, count: usize) -> BundleExplanation {
        let cluster = |index| FleetCluster { name: format!("c{index:04}"), ..FleetCluster::default() };
        let clusters: Vec<_> = (0..count).map(cluster).collect();
        explain(&serde_saphyr::from_str(yaml).expect(yaml), rules, &clusters).expect(yaml)
    }

    #[test]
    fn a_strategy_is_explained_in_numbers() {
        let yaml = "{maxUnavailablePartitions: 1, autoPartitionSize: 10%}";
        let shipped = explained(yaml, RuleSet::Shipped, 200);
        assert_eq!(shipped.partitions.len(), 10);
        assert_eq!(
            shipped.partitions[1],
            PartitionExplanation {
                name: "Partition 20 - 40".to_owned(),
                count: 20,
                max_unavailable: 20,
                gate: 20,
                first: vec!["c0020".to_owned(), "c0021".to_owned(), "c0022".to_owned()],
            }
        );
        assert_eq!((shipped.max_unavailable, shipped.max_new, shipped.batch), (Some(200), Some(50), None));
        let documented = explained(yaml, RuleSet::Documented, 200);
        assert_eq!(documented.partitions[1].gate, 0, "maxUnavailable is set nowhere: wait until all are ready");
        assert_eq!((documented.max_unavailable, documented.max_new, documented.batch), (None, None, Some(50)));
    }

    #[test]
    fn surprising_settings_produce_warnings() {
        let cases: [(&str, RuleSet, usize, &[&str]); 15] = [
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
                &["autoPartitionSize has no effect: there is one partition, because it holds all 50 targets, or they \
                   are fewer than autoPartitionThreshold (200), or one of the two is 0 or less"],
            ),
            ("{maxNew: 0}", RuleSet::Shipped, 0, &["there is no target; Fleet then ignores the whole strategy"]),
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
            assert_eq!(explained(yaml, rules, count).warnings, warnings, "{yaml}, {rules:?}, {count} clusters");
        }
    }
}

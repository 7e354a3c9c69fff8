//! What a `rolloutStrategy` would do to a fleet: partitions and limits in numbers.

use super::RancherFleetStrategy;
use crate::products::StrategyExplanation;
use crate::products::words::{by, first_names};
use crate::rollout::rancher_fleet::{BundleExplanation, FleetCluster, explain as explain_bundle};

/// Partitions listed before the rest is counted.
const PARTITIONS_SHOWN: usize = 12;

pub(super) fn explain(strategy: &RancherFleetStrategy, clusters: &[FleetCluster]) -> StrategyExplanation {
    let explained = explain_bundle(&strategy.strategy, strategy.rules, clusters);
    let explained = explained.expect("a checked strategy makes partitions");
    let mut lines = vec![limits(&explained)];
    partitions(&mut lines, &explained);
    if !explained.unpartitioned.is_empty() {
        lines.push(format!("in no partition: {}", first_names(&explained.unpartitioned)));
    }
    let summary = format!("Rancher Fleet, {}", by(strategy.rules));
    let warnings = [strategy.ignored.clone(), explained.warnings].concat();
    StrategyExplanation { summary, lines, warnings }
}

fn limits(explained: &BundleExplanation) -> String {
    let number = |limit: Option<i64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    format!(
        "maxUnavailable {} of {} clusters; maxUnavailablePartitions {}; {}",
        number(explained.max_unavailable),
        explained.targets,
        explained.max_unavailable_partitions,
        match (explained.max_new, explained.batch) {
            (_, Some(batch)) => format!("batches of up to {batch} in a partition"),
            (max_new, None) => format!("maxNew {} first deployments a pass", number(max_new)),
        },
    )
}

fn partitions(lines: &mut Vec<String>, explained: &BundleExplanation) {
    let width = explained.partitions.iter().map(|partition| partition.name.chars().count()).max().unwrap_or(0).max(9);
    lines.push(format!(
        "{:width$}  {:>8}  {:>14}  {:>14}  first clusters",
        "partition", "clusters", "maxUnavailable", "next opens at"
    ));
    for partition in explained.partitions.iter().take(PARTITIONS_SHOWN) {
        lines.push(format!(
            "{:width$}  {:>8}  {:>14}  {:>14}  {}",
            partition.name,
            partition.count,
            partition.max_unavailable,
            format!("<= {} behind", partition.gate),
            partition.first.join(", "),
        ));
    }
    let more = explained.partitions.len().saturating_sub(PARTITIONS_SHOWN);
    if more > 0 {
        lines.push(format!("... and {more} more partitions"));
    }
}

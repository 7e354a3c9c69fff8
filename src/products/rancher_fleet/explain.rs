//! Explains a `rolloutStrategy` for a fleet: partitions and limits in numbers.

use super::RancherFleetStrategy;
use crate::products::StrategyExplanation;
use crate::products::words::{by, first_names, table};
use crate::rollout::RuleSet;
use crate::rollout::rancher_fleet::{BundleExplanation, FleetCluster, explain as explain_bundle};

/// Maximum number of partitions listed; further partitions are only counted.
const PARTITIONS_SHOWN: usize = 12;
/// Maximum number of clusters named for each partition.
const CLUSTERS_SHOWN: usize = 3;

pub(super) fn explain(
    strategy: &RancherFleetStrategy,
    clusters: &[FleetCluster],
    first_deployments: usize,
) -> StrategyExplanation {
    let explained = explain_bundle(&strategy.strategy, strategy.rules, clusters);
    let explained = explained.expect("a checked strategy makes partitions");
    let mut lines = vec![limits(strategy.rules, &explained)];
    partitions(&mut lines, &explained, clusters);
    if !explained.unpartitioned.is_empty() {
        lines.push(format!(
            "in no partition: {}",
            first_names(&explained.unpartitioned)
        ));
    }
    lines.extend(strategy.schedules_in_words(clusters));
    if strategy.rules == RuleSet::Shipped && first_deployments > 0 {
        lines.push(first_deployment_line(first_deployments, &explained));
    }
    let summary = format!("Rancher Fleet, {}", by(strategy.rules));
    let mut warnings = [strategy.ignored.clone(), explained.warnings].concat();
    if strategy.paused {
        warnings.push(
            "the fleet.yaml pauses the bundle: nothing is updated until somebody resumes it"
                .to_owned(),
        );
    }
    StrategyExplanation {
        summary,
        lines,
        warnings,
    }
}

/// Describes the limits of first deployments. `maxUnavailable` does not limit them: it counts deployments, and a
/// cluster without a deployment gets one in any case (`create_and_stage()` in the rules of a pass).
fn first_deployment_line(count: usize, explained: &BundleExplanation) -> String {
    let BundleExplanation { targets, batch, .. } = explained;
    format!(
        "first deployments: {count} of {targets} clusters run nothing yet, and maxUnavailable does not limit them; \
         each pass creates up to {batch}"
    )
}

fn limits(
    rules: RuleSet,
    BundleExplanation {
        plan,
        targets,
        batch,
        ..
    }: &BundleExplanation,
) -> String {
    let (max_unavailable, starts) = match rules {
        RuleSet::Shipped => (
            plan.max_unavailable.to_string(),
            format!("maxNew {batch} first deployments a pass"),
        ),
        RuleSet::Documented => (
            "no limit".to_owned(),
            format!("batches of up to {batch} in a partition"),
        ),
    };
    let partitions = plan.max_unavailable_partitions;
    format!(
        "maxUnavailable {max_unavailable} of {targets} clusters; maxUnavailablePartitions {partitions}; {starts}"
    )
}

fn partitions(lines: &mut Vec<String>, explained: &BundleExplanation, clusters: &[FleetCluster]) {
    let partitions = &explained.plan.partitions;
    let mut rows = Vec::new();
    for (partition, gate) in partitions.iter().zip(&explained.gates) {
        let first: Vec<&str> = partition
            .members
            .iter()
            .take(CLUSTERS_SHOWN)
            .map(|member| &*clusters[*member as usize].name)
            .collect();
        rows.push([
            partition.name.clone(),
            partition.members.len().to_string(),
            partition.max_unavailable.to_string(),
            format!("<= {gate} behind"),
            first.join(", "),
        ]);
    }
    let header = [
        "partition",
        ">clusters",
        ">maxUnavailable",
        ">next starts when",
        "first clusters",
    ];
    let shown = table(header, rows.into_iter());
    lines.extend(shown.into_iter().take(PARTITIONS_SHOWN + 1));
    let more = partitions.len().saturating_sub(PARTITIONS_SHOWN);
    if more > 0 {
        lines.push(format!("... and {more} more partitions"));
    }
}

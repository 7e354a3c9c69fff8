//! The second half of a pass under the shipped rules: creates, stages and promotes deployments.
//!
//! Follows `internal/cmd/controller/target/partition.go` and `reconciler/bundle_controller.go`.
//!
//! Two notions must not be confused. The limits on promotion count *unavailable* deployments: the deployed id is not
//! applied, or not ready. The gate between partitions counts targets that are *not up to date* or unavailable, which
//! includes those without a deployment.

use super::super::TargetId;
use super::observe::{Observation, flag};
use super::partition::{Partition, Partitioning};
use super::status::{BundleState, BundleStatus, BundleSummary, PartitionStatus};
use super::view::{BundleAction, BundleView};

/// New deployments per pass where `maxNew` is absent.
pub(super) const MAX_NEW: i64 = 50;

/// The result of the rules.
#[derive(Clone, Debug, Default)]
pub(super) struct PassOutcome {
    pub(super) actions: Vec<BundleAction>,
    pub(super) partitions: Vec<PartitionStatus>,
    pub(super) newly_created: i64,
    pub(super) unavailable: i64,
    pub(super) unavailable_partitions: i64,
    /// Processed partitions; later ones were not reached.
    pub(super) reached: usize,
}

impl BundleStatus {
    /// The status after a pass with this outcome, whose partitions it takes. The other values are from before the pass.
    pub(super) fn of(
        plan: &Partitioning,
        outcome: &mut PassOutcome,
        summary: BundleSummary,
        not_ready: Vec<(TargetId, BundleState)>,
        is_any_stale: bool,
    ) -> Self {
        Self {
            error: None,
            unavailable: outcome.unavailable,
            max_unavailable: plan.max_unavailable,
            unavailable_partitions: outcome.unavailable_partitions,
            max_unavailable_partitions: plan.max_unavailable_partitions,
            newly_created: outcome.newly_created,
            summary,
            not_ready,
            partitions: std::mem::take(&mut outcome.partitions),
            stores_flags: is_any_stale || outcome.newly_created > 0,
        }
    }
}

/// Processes the partitions until too many of them are unavailable.
pub(super) fn shipped(plan: &Partitioning, max_new: i64, view: &BundleView, seen: &mut Observation) -> PassOutcome {
    let mut outcome = PassOutcome { unavailable: seen.unavailable, ..PassOutcome::default() };
    // For all partitions before any of them is processed; the status publishes this number, not the one that the gate
    // uses.
    outcome.partitions = plan.partitions.iter().map(|partition| status_before(partition, seen)).collect();
    for (index, partition) in plan.partitions.iter().enumerate() {
        outcome.reached = index + 1;
        create_and_stage(partition, max_new, view, seen, &mut outcome);
        promote(plan, partition, outcome.partitions[index].unavailable, view, seen, &mut outcome);
        let behind = partition.members.len() as i64 - seen.count(&partition.members, flag::DONE);
        outcome.unavailable_partitions += i64::from(behind > partition.max_unavailable);
        if outcome.unavailable_partitions > plan.max_unavailable_partitions {
            break;
        }
    }
    outcome
}

fn status_before(partition: &Partition, seen: &Observation) -> PartitionStatus {
    PartitionStatus::of(partition, seen.count(&partition.members, flag::UNAVAILABLE))
}

/// `maxNew` limits creations in the whole pass; staging is not limited.
fn create_and_stage(
    partition: &Partition,
    max_new: i64,
    view: &BundleView,
    seen: &mut Observation,
    outcome: &mut PassOutcome,
) {
    for &member in &partition.members {
        let flags = seen.flags[member as usize];
        let creates = flags & flag::EXISTS == 0 && outcome.newly_created < max_new;
        if creates {
            outcome.newly_created += 1;
            // It is not ready and therefore unavailable, but counted as such only in the next pass.
            seen.set(member, flag::EXISTS | flag::UNAVAILABLE);
        }
        if creates || flags & (flag::EXISTS | flag::STAGED) == flag::EXISTS {
            seen.set(member, flag::STAGED);
            // The deployment of an unregistered cluster is counted, but cannot be stored.
            if flags & flag::REGISTERED != 0 {
                let target = TargetId(member);
                if creates {
                    outcome.actions.push(BundleAction::Create(target));
                }
                outcome.actions.push(BundleAction::Stage(target, view.clusters[target.index()].wanted));
            }
        }
    }
}

/// An available cluster is promoted within both limits; an unavailable one is promoted immediately.
fn promote(
    plan: &Partitioning,
    partition: &Partition,
    mut unavailable: i64,
    view: &BundleView,
    seen: &mut Observation,
    outcome: &mut PassOutcome,
) {
    for &member in &partition.members {
        let flags = seen.flags[member as usize];
        if flags & (flag::EXISTS | flag::PROMOTED | flag::PAUSED) != flag::EXISTS {
            continue;
        }
        if flags & flag::UNAVAILABLE == 0 {
            if outcome.unavailable >= plan.max_unavailable || unavailable >= partition.max_unavailable {
                continue;
            }
            outcome.unavailable += 1;
            unavailable += 1;
        }
        seen.set(member, flag::PROMOTED);
        if flags & flag::REGISTERED != 0 {
            let target = TargetId(member);
            outcome.actions.push(BundleAction::Deploy(target, view.clusters[target.index()].wanted));
        }
    }
}

//! The second half of a pass under the rules of Fleet's documentation.
//!
//! Follows "Rollout Strategy" of the SUSE Rancher Prime Continuous Delivery documentation. The shipped rules differ
//! from it in many ways (see [`super`]); simulating both shows the effect of the difference.
//!
//! - A partition is processed in batches of up to 50 clusters, for first deployments and for updates alike; `maxNew`
//!   has no effect. After each batch the partition's `maxUnavailable` is checked: with more clusters than that
//!   started and NotReady no further batch starts. The first batch of a partition always starts.
//! - A partition is NotReady while some of its clusters are not started, or while more than its `maxUnavailable` are
//!   NotReady. Later partitions are processed while at most `maxUnavailablePartitions` are NotReady.
//! - There is no limit over the bundle as a whole: "partition-specific settings override global values". Paused and
//!   unregistered clusters, which the document does not mention, are not started and count as NotReady.
//!
//! The document contradicts itself in two places, which are resolved as follows:
//!
//! - "Once ≤4 clusters are NotReady" it goes on in one example, "until less than 10" in another with a limit of 10.
//!   Here: at most the limit goes on, more than the limit pauses.
//! - By default `maxUnavailable` is 100 %, so that "all partitions appear Ready" and the check between partitions is
//!   "ineffective"; yet `maxUnavailablePartitions: 1` with `autoPartitionSize: 10%` alone is said to wait until each
//!   partition is Ready and to keep 200 clusters at about 40 image pulls. Here: where `maxUnavailablePartitions` is
//!   set and no `maxUnavailable` applies to a partition, that partition is NotReady while any of its clusters is;
//!   with neither set, or with `maxUnavailable` set, the limit holds as it is.

use super::super::TargetId;
use super::observe::{Observation, flag};
use super::partition::{Partition, Partitioning};
use super::pass::PassOutcome;
use super::status::PartitionStatus;
use super::view::{BundleAction, BundleView};

/// "`MaxNew` is always 50."
pub(super) const BATCH: usize = 50;

/// More clusters than this NotReady make a partition NotReady.
pub(super) fn gate_limit(partition: &Partition, is_partition_limit_set: bool) -> i64 {
    if is_partition_limit_set && !partition.is_limit_set { 0 } else { partition.max_unavailable }
}

/// Processes the partitions until too many of them are NotReady. `is_partition_limit_set`: whether
/// `maxUnavailablePartitions` is configured.
pub(super) fn documented(
    plan: &Partitioning,
    is_partition_limit_set: bool,
    view: &BundleView,
    seen: &mut Observation,
) -> PassOutcome {
    let mut outcome = PassOutcome { unavailable: seen.unavailable, ..PassOutcome::default() };
    for partition in &plan.partitions {
        stage(partition, view, seen, &mut outcome);
    }
    for (index, partition) in plan.partitions.iter().enumerate() {
        if outcome.unavailable_partitions <= plan.max_unavailable_partitions {
            outcome.reached = index + 1;
            start_batches(partition, view, seen, &mut outcome);
            let waits = partition.members.iter().any(|member| is_startable(seen.flags[*member as usize]));
            let is_not_ready = waits || not_ready(partition, seen) > gate_limit(partition, is_partition_limit_set);
            outcome.unavailable_partitions += i64::from(is_not_ready);
        }
        outcome.partitions.push(PartitionStatus::of(partition, not_ready(partition, seen)));
    }
    outcome
}

/// "Remaining clusters are marked OutOfSync": existing deployments get the next id immediately.
fn stage(partition: &Partition, view: &BundleView, seen: &mut Observation, outcome: &mut PassOutcome) {
    for &member in &partition.members {
        if seen.flags[member as usize] & (flag::EXISTS | flag::STAGED) == flag::EXISTS {
            seen.set(member, flag::STAGED);
            let target = TargetId(member);
            outcome.actions.push(BundleAction::Stage(target, view.clusters[target.index()].wanted));
        }
    }
}

fn start_batches(partition: &Partition, view: &BundleView, seen: &mut Observation, outcome: &mut PassOutcome) {
    let promoted = seen.count(&partition.members, flag::PROMOTED);
    let mut has_started = promoted > 0;
    let mut started_not_ready = promoted - seen.count(&partition.members, flag::DONE);
    let mut waiting = partition.members.iter().copied();
    while !has_started || started_not_ready <= partition.max_unavailable {
        let mut batch = 0;
        while batch < BATCH {
            let Some(member) = waiting.next() else { return };
            let flags = seen.flags[member as usize];
            if !is_startable(flags) {
                continue;
            }
            let target = TargetId(member);
            let revision = view.clusters[target.index()].wanted;
            if flags & flag::EXISTS == 0 {
                outcome.newly_created += 1;
                outcome.actions.extend([BundleAction::Create(target), BundleAction::Stage(target, revision)]);
            }
            outcome.actions.push(BundleAction::Deploy(target, revision));
            outcome.unavailable += i64::from(flags & flag::EXISTS != 0 && flags & flag::UNAVAILABLE == 0);
            seen.set(member, flag::EXISTS | flag::STAGED | flag::PROMOTED);
            started_not_ready += i64::from(!seen.has(member, flag::DONE));
            batch += 1;
        }
        has_started = true;
    }
}

/// Not promoted yet, and nothing prevents it.
#[inline]
pub(super) fn is_startable(flags: u8) -> bool {
    flags & (flag::PROMOTED | flag::PAUSED | flag::REGISTERED) == flag::REGISTERED
}

/// Clusters that were started or cannot be started, and are not ready on the wanted version.
pub(super) fn not_ready(partition: &Partition, seen: &Observation) -> i64 {
    let is_not_ready = |member: &&u32| {
        let flags = seen.flags[**member as usize];
        flags & flag::DONE != flag::DONE && !is_startable(flags)
    };
    partition.members.iter().filter(is_not_ready).count() as i64
}

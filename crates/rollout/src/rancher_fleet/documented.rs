//! A pass under the rules of Fleet's documentation.
//!
//! Follows "Rollout Strategy" of the SUSE Rancher Prime Continuous Delivery documentation. The shipped rules differ
//! from it in many ways (see [`super`]); simulating both shows the effect of the difference.
//!
//! - A partition is processed in batches of up to 50 clusters, for first deployments and for updates alike; `maxNew`
//!   has no effect. After each batch the partition's `maxUnavailable` is checked: if more clusters than that are
//!   started and NotReady, no further batch starts. The first batch of a partition always starts.
//! - A partition is NotReady while some of its clusters are not started, or more than its `maxUnavailable` are
//!   NotReady. Later partitions are processed while at most `maxUnavailablePartitions` are NotReady.
//! - There is no limit for the bundle as a whole: "partition-specific settings override global values". Paused and
//!   unregistered clusters, which the document does not mention, are not started and count as NotReady.
//!
//! The document contradicts itself in two places, which are resolved as follows:
//!
//! - In one example the rollout continues "once ≤4 clusters are NotReady", in another with a limit of 10 it pauses
//!   "until less than 10" are. Here the rollout continues at the limit, and pauses above it.
//! - By default `maxUnavailable` is 100%, so "all partitions appear Ready" and the check between partitions is
//!   "ineffective". Yet `maxUnavailablePartitions: 1` with only `autoPartitionSize: 10%` is said to wait until each
//!   partition is Ready and to limit 200 clusters to about 40 image pulls. Here, if `maxUnavailablePartitions` is set
//!   and no `maxUnavailable` applies to a partition, the partition is NotReady while any of its clusters is. If
//!   neither is set, or `maxUnavailable` is set, the limit applies unchanged.

use super::ledger::{MemberGroup, PartitionMembers, flag};
use super::partition::Partition;
use super::pass::BundlePass;
use super::view::BundleAction;

/// The document says: "`MaxNew` is always 50."
pub(super) const BATCH: usize = 50;

/// Returns the maximum number of NotReady clusters of a Ready partition. `is_partition_limit_set`: whether
/// `maxUnavailablePartitions` is configured.
pub(super) fn gate_limit(partition: &Partition, is_partition_limit_set: bool) -> i64 {
    if is_partition_limit_set && !partition.is_limit_set {
        0
    } else {
        partition.max_unavailable
    }
}

impl<M: PartitionMembers> BundlePass<'_, M> {
    /// Processes the partitions until too many of them are NotReady.
    pub(super) fn documented(&mut self, is_partition_limit_set: bool) {
        // The document says: "Remaining clusters are marked OutOfSync". Existing deployments get the next id
        // immediately.
        for number in 0..self.plan.partitions.len() {
            self.create_and_stage(number, 0);
        }
        for (number, partition) in self.plan.partitions.iter().enumerate() {
            if self.status.unavailable_partitions <= self.plan.max_unavailable_partitions {
                self.reached = number + 1;
                self.start_batches(number, partition);
                let is_behind = self.members.count(number, MemberGroup::Startable) > 0
                    || self.not_ready(number, partition)
                        > gate_limit(partition, is_partition_limit_set);
                self.status.unavailable_partitions += i64::from(is_behind);
            }
            self.status
                .partitions
                .push(self.not_ready(number, partition));
        }
    }

    /// Returns the number of clusters that were started or cannot be started, and are not ready on the wanted version.
    fn not_ready(&self, number: usize, partition: &Partition) -> i64 {
        let done = self.members.count(number, MemberGroup::Done);
        let startable = self.members.count(number, MemberGroup::Startable);
        partition.members.len() as i64 - done - startable
    }

    /// Returns the number of clusters that were started and are not ready on the wanted version.
    fn started_not_ready(&self, number: usize) -> i64 {
        self.members.count(number, MemberGroup::Promoted)
            - self.members.count(number, MemberGroup::Done)
    }

    fn start_batches(&mut self, number: usize, partition: &Partition) {
        let mut has_started = self.members.count(number, MemberGroup::Promoted) > 0;
        let mut from = 0;
        while !has_started || self.started_not_ready(number) <= partition.max_unavailable {
            for _ in 0..BATCH {
                let Some(place) = self.members.next(number, MemberGroup::Startable, from) else {
                    return;
                };
                from = place + 1;
                self.start(number, place);
            }
            has_started = true;
        }
    }

    fn start(&mut self, number: usize, place: u32) {
        let target = self.target(number, place);
        let flags = self.members.flags(target.0);
        if flags & flag::EXISTS == 0 {
            self.status.newly_created += 1;
            self.actions
                .extend([BundleAction::Create(target), BundleAction::Stage(target)]);
        } else {
            self.status.unavailable += i64::from(flags & flag::UNAVAILABLE == 0);
        }
        self.actions.push(BundleAction::Deploy(target));
        self.members
            .add_flags(target.0, flag::EXISTS | flag::STAGED | flag::PROMOTED);
    }
}

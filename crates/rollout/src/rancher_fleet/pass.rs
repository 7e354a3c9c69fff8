//! A pass under the shipped rules: creates, stages and promotes deployments.
//!
//! Follows `internal/cmd/controller/target/partition.go` and `reconciler/bundle_controller.go`. The rules see the
//! clusters through [`PartitionMembers`], so the cost of a pass is its actions plus one status for each partition.
//!
//! Two notions must not be confused. The limits on promotion count *unavailable* deployments: the deployed id is not
//! applied, or not ready. The gate between partitions counts targets that are *not up to date* or unavailable, which
//! includes targets without a deployment.

use super::super::TargetId;
use super::ledger::{MemberGroup, PartitionMembers, flag};
use super::partition::Partitioning;
use super::status::BundleStatus;
use super::view::BundleAction;

/// Maximum number of new deployments per pass if `maxNew` is absent.
pub(super) const MAX_NEW: i64 = 50;

/// A pass over the members of a bundle's partitions.
pub(super) struct BundlePass<'a, M> {
    pub(super) plan: &'a Partitioning,
    pub(super) members: &'a mut M,
    pub(super) actions: Vec<BundleAction>,
    pub(super) status: BundleStatus,
    /// Number of processed partitions; later ones were not reached.
    pub(super) reached: usize,
}

impl<'a, M: PartitionMembers> BundlePass<'a, M> {
    /// Creates a pass that has done nothing yet. `unavailable`: number of unavailable deployments of all targets.
    pub(super) fn new(plan: &'a Partitioning, members: &'a mut M, unavailable: i64) -> Self {
        let status = BundleStatus {
            unavailable,
            ..BundleStatus::default()
        };
        Self {
            plan,
            members,
            actions: Vec::new(),
            status,
            reached: 0,
        }
    }

    /// Processes the partitions until too many of them are unavailable.
    pub(super) fn shipped(&mut self, max_new: i64) {
        // Count the unavailable deployments of all partitions before processing any. The status shows this number, not
        // the one that the gate uses.
        for number in 0..self.plan.partitions.len() {
            let unavailable = self.members.count(number, MemberGroup::Unavailable);
            self.status.partitions.push(unavailable);
        }
        for (number, partition) in self.plan.partitions.iter().enumerate() {
            self.reached = number + 1;
            self.create_and_stage(number, max_new);
            self.promote(number);
            let behind =
                partition.members.len() as i64 - self.members.count(number, MemberGroup::Done);
            self.status.unavailable_partitions += i64::from(behind > partition.max_unavailable);
            if self.status.unavailable_partitions > self.plan.max_unavailable_partitions {
                break;
            }
        }
    }

    /// Creates and stages deployments. `maxNew` limits creations in the whole pass; staging is not limited.
    pub(super) fn create_and_stage(&mut self, number: usize, max_new: i64) {
        let mut from = 0;
        loop {
            let has_room = self.status.newly_created < max_new;
            let absent = self.next_if(has_room, number, MemberGroup::Absent, from);
            let unstaged = self.members.next(number, MemberGroup::Unstaged, from);
            let Some(place) = first_of(absent, unstaged) else {
                return;
            };
            from = place + 1;
            let target = self.target(number, place);
            if absent == Some(place) {
                self.status.newly_created += 1;
                // The new deployment is not ready and therefore unavailable, but counts as unavailable only in the
                // next pass.
                self.members
                    .add_flags(target.0, flag::EXISTS | flag::UNAVAILABLE);
                self.act(target, BundleAction::Create(target));
            }
            self.members.add_flags(target.0, flag::STAGED);
            self.act(target, BundleAction::Stage(target));
        }
    }

    /// Promotes available clusters within both limits, and unavailable clusters immediately.
    fn promote(&mut self, number: usize) {
        let max_unavailable = self.plan.partitions[number].max_unavailable;
        let mut unavailable = self.status.partitions[number];
        let mut from = 0;
        loop {
            let has_room = self.status.unavailable < self.plan.max_unavailable
                && unavailable < max_unavailable;
            let available = self.next_if(has_room, number, MemberGroup::AvailableOutdated, from);
            let exempt = self
                .members
                .next(number, MemberGroup::UnavailableOutdated, from);
            let Some(place) = first_of(available, exempt) else {
                return;
            };
            if available == Some(place) {
                self.status.unavailable += 1;
                unavailable += 1;
            }
            from = place + 1;
            let target = self.target(number, place);
            self.members.add_flags(target.0, flag::PROMOTED);
            self.act(target, BundleAction::Deploy(target));
        }
    }

    /// Returns the next member of a group if there is room for it.
    fn next_if(&self, has_room: bool, number: usize, group: MemberGroup, from: u32) -> Option<u32> {
        if !has_room {
            return None;
        }
        self.members.next(number, group, from)
    }

    pub(super) fn target(&self, number: usize, place: u32) -> TargetId {
        TargetId(self.plan.partitions[number].members[place as usize])
    }

    /// Records an action. The deployment of an unregistered cluster is counted, but cannot be stored.
    pub(super) fn act(&mut self, target: TargetId, action: BundleAction) {
        if self.members.flags(target.0) & flag::REGISTERED != 0 {
            self.actions.push(action);
        }
    }
}

/// Returns the smaller of two positions, or the only one.
fn first_of(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

//! A pass of KubeFleet's rollout controller: groups of writes to bindings, and the conflicts that end it.
//!
//! A pass lists the bindings from the API server. Then it writes them in groups, one after the other, and each group
//! all at once (`errgroup`, in kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/rollout/controller.go`): the
//! status of those that are held back, the status of those that are up to date, changed or not, and the spec of those
//! that it rolls, each followed by its status. Each write carries the version that was listed. If the work generator
//! has written the binding since then, the write is refused, and the pass ends with an error before the next group. It
//! gives up those writes of the group that wait for the client's limit; those that are sent are carried out.
//!
//! A binding that is rolled meets a conflict where a release overtakes another one. The pass then still writes the
//! statuses of those whose spec it has the answer of. Left out: conflicts of bindings that are patched.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::hub_client::HubRequest;
use crate::rollout::kubefleet::rolling::{RollingAction, RollingStatus};
use crate::rollout::{Pass, TargetId};
use crate::units::SimTime;

/// What a pass does at one time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PassStage {
    /// It lists the bindings.
    Listing,
    /// It gives bindings the placement's apply strategy.
    Patching,
    /// It writes the status of those that are held back.
    Blocking,
    /// It writes the status of those that are up to date.
    Refreshing,
    /// It writes specs and deletes.
    Rolling,
    /// It writes the statuses of those that it has rolled.
    Starting,
}

impl PassStage {
    /// The groups of writes, in their order.
    pub(super) const fn next(self) -> Option<Self> {
        match self {
            Self::Listing => Some(Self::Patching),
            Self::Patching => Some(Self::Blocking),
            Self::Blocking => Some(Self::Refreshing),
            Self::Refreshing => Some(Self::Rolling),
            Self::Rolling => Some(Self::Starting),
            Self::Starting => None,
        }
    }
}

/// A pass in progress.
#[derive(Clone, Debug)]
pub(super) struct RolloutPass {
    pub(super) began: SimTime,
    pub(super) stage: PassStage,
    /// What it has decided. `None`: it is listing.
    pub(super) decided: Option<Pass<RollingAction, RollingStatus>>,
    pub(super) complete: bool,
    /// Bindings that were bound to the newest resources when it listed them.
    pub(super) up_to_date: Vec<usize>,
    /// The group in progress, by binding.
    writes: Vec<(usize, HubRequest)>,
    /// When the first write of the group in progress is refused.
    refused: Option<SimTime>,
    /// A group before this one had a conflict.
    pub(super) has_failed: bool,
    /// Bindings that the group deletes, whatever their version.
    deleted: BTreeSet<usize>,
    /// Bindings that the generator has written since the list, and when it did so first.
    changed: BTreeMap<usize, SimTime>,
}

impl RolloutPass {
    pub(super) fn new(began: SimTime) -> Self {
        Self {
            began,
            stage: PassStage::Listing,
            decided: None,
            complete: false,
            up_to_date: Vec::new(),
            writes: Vec::new(),
            refused: None,
            has_failed: false,
            deleted: BTreeSet::new(),
            changed: BTreeMap::new(),
        }
    }

    /// The bindings are listed now.
    pub(super) fn listed(&mut self) {
        self.changed.clear();
    }

    /// A group of writes begins. Returns when it ends: at its last write, or at its first conflict.
    pub(super) fn begin(&mut self, stage: PassStage, mut writes: Vec<(usize, HubRequest)>) -> Option<SimTime> {
        let last = writes.iter().map(|(_, write)| write.answered).max();
        writes.sort_unstable_by_key(|&(cluster, _)| cluster);
        (self.stage, self.writes) = (stage, writes);
        let refused = self.changed.iter().filter_map(|(&cluster, &changed)| self.refusal(cluster, changed));
        self.refused = refused.min();
        self.refused.or(last)
    }

    /// The group that begins next deletes these bindings.
    pub(super) fn deletes(&mut self, clusters: impl Iterator<Item = usize>) {
        self.deleted = clusters.collect();
    }

    /// Statuses of rolled bindings are written until then. Returns that time.
    pub(super) fn starts(&mut self, last: Option<SimTime>) -> Option<SimTime> {
        (self.stage, self.refused) = (PassStage::Starting, None);
        self.writes.clear();
        last
    }

    /// The generator has written a binding. Returns when that ends the group in progress, if it does.
    pub(super) fn changes(&mut self, cluster: usize, now: SimTime) -> Option<SimTime> {
        if let Entry::Vacant(entry) = self.changed.entry(cluster) {
            entry.insert(now);
            self.refused = self.refused.into_iter().chain(self.refusal(cluster, now)).min();
        }
        self.refused.filter(|at| *at > now)
    }

    /// When the write of a binding is refused that the generator has written at `changed`.
    fn refusal(&self, cluster: usize, changed: SimTime) -> Option<SimTime> {
        let has_version = self.writes_status() || self.stage == PassStage::Rolling;
        if !has_version || self.deleted.contains(&cluster) {
            return None;
        }
        Some(self.write(cluster)?.answered).filter(|written| changed < *written)
    }

    /// The write of a binding in the group in progress.
    pub(super) fn write(&self, cluster: usize) -> Option<HubRequest> {
        let at = self.writes.binary_search_by_key(&cluster, |&(of, _)| of).ok()?;
        Some(self.writes[at].1)
    }

    /// The group in progress writes statuses.
    pub(super) const fn writes_status(&self) -> bool {
        matches!(self.stage, PassStage::Blocking | PassStage::Refreshing)
    }

    /// The write of a binding is refused.
    pub(super) fn is_refused(&self, cluster: usize) -> bool {
        self.changed.get(&cluster).is_some_and(|changed| self.refusal(cluster, *changed).is_some())
    }

    /// Those of these bindings that the group writes which ends now.
    pub(super) fn written_of(&self, targets: &[TargetId], now: SimTime) -> Vec<TargetId> {
        targets.iter().copied().filter(|target| self.has_written(target.index(), now)).collect()
    }

    fn has_written(&self, cluster: usize, now: SimTime) -> bool {
        !self.is_refused(cluster) && self.write(cluster).is_some_and(|write| write.sent <= now)
    }

    /// Whether the group that ends now had a conflict.
    pub(super) fn fails(&self, now: SimTime) -> bool {
        self.refused.is_some_and(|at| at <= now)
    }

    /// Writes of the group in progress that are sent after `now`, and those that are on their way.
    pub(super) fn unanswered(&self, now: SimTime) -> [Vec<usize>; 2] {
        let (waiting, sent): (Vec<_>, Vec<_>) =
            self.writes.iter().filter(|(_, write)| write.answered > now).partition(|(_, write)| write.sent > now);
        [waiting, sent].map(|writes| writes.into_iter().map(|(cluster, _)| cluster).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    /// A write that is sent 5 ms before its answer.
    fn write(cluster: usize, answered: u64) -> (usize, HubRequest) {
        (cluster, HubRequest { sent: at(answered - 5), answered: at(answered) })
    }

    #[test]
    fn a_binding_that_was_written_since_the_list_ends_the_pass_at_its_own_write() {
        let mut pass = RolloutPass::new(at(0));
        pass.changes(7, at(3));
        pass.listed();
        assert_eq!(pass.begin(PassStage::Blocking, vec![write(6, 10), write(7, 12)]), Some(at(12)), "as it was listed");
        assert!(!pass.fails(at(12)));
        assert_eq!(pass.changes(8, at(13)), None, "it is in no group yet");
        assert_eq!(
            pass.begin(PassStage::Refreshing, vec![write(1, 20), write(8, 21), write(2, 40), write(3, 24)]),
            Some(at(21))
        );
        assert_eq!(pass.changes(2, at(15)), Some(at(21)), "the earlier conflict counts");
        assert!(pass.fails(at(21)));
        let targets = [1, 2, 3, 8].map(TargetId);
        assert_eq!(
            pass.written_of(&targets, at(21)),
            [1, 3].map(TargetId),
            "8 is refused, and 2 would be sent at 35 ms"
        );
    }

    #[test]
    fn what_the_generator_writes_after_the_pass_is_no_conflict() {
        let mut pass = RolloutPass::new(at(0));
        pass.listed();
        pass.begin(PassStage::Blocking, vec![write(6, 10), write(7, 20)]);
        assert_eq!(pass.changes(6, at(15)), None, "it was written before");
        assert!(!pass.fails(at(20)));
        pass.deletes([6].into_iter());
        assert_eq!(pass.begin(PassStage::Rolling, vec![write(6, 30)]), Some(at(30)), "deleted in any version");
        pass.deletes(std::iter::empty());
        let writes = vec![write(5, 30), write(6, 34), write(7, 38), write(8, 42)];
        assert_eq!(pass.begin(PassStage::Rolling, writes), Some(at(34)));
        assert_eq!(pass.unanswered(at(34)), [vec![8], vec![7]], "7 is sent at 33 ms");
    }
}

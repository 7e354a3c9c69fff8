//! The clusters of a bundle as a pass sees them: the actions for which each may be picked, ordered sets of candidates,
//! and counts.
//!
//! Follows the reset of the bundle's status in `internal/cmd/controller/target/status.go` and
//! `reconciler/bundle_status.go`. The cost of a changed cluster is a few machine words for each of its partitions.

use super::super::{Revision, TargetId, TargetSet, places_in};
use super::partition::Partitioning;
use super::status::{BundleState, BundleSummary};
use super::view::{BundleDeployment, BundleView};

/// Maximum number of not-ready targets that a bundle's status lists.
const LISTED: usize = 10;

/// The parts of a cluster's state that the rules need. A deployment counts only if the cluster is a registered target.
pub(super) mod flag {
    /// The cluster has a deployment, stored or created in this pass.
    pub(crate) const EXISTS: u8 = 1;
    /// The deployment is unavailable.
    pub(crate) const UNAVAILABLE: u8 = 1 << 1;
    /// The deployment's staged id is the wanted one.
    pub(crate) const STAGED: u8 = 1 << 2;
    /// The deployment's deployed id is the wanted one.
    pub(crate) const PROMOTED: u8 = 1 << 3;
    /// The wanted id is applied, and the deployment is ready.
    pub(crate) const APPLIED_READY: u8 = 1 << 4;
    /// The cluster or the bundle is paused.
    pub(crate) const PAUSED: u8 = 1 << 5;
    /// The cluster has a namespace.
    pub(crate) const REGISTERED: u8 = 1 << 6;
    /// The wanted id is deployed, applied and ready: up to date and available.
    pub(crate) const DONE: u8 = PROMOTED | APPLIED_READY;
    /// These flags determine whether a cluster may be promoted, and within which limit.
    pub(crate) const OUTDATED: u8 = EXISTS | PROMOTED | PAUSED | UNAVAILABLE;
}

/// A group of members of a partition that a rule counts. Rules pick from the first five groups.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MemberGroup {
    /// Members without a deployment.
    Absent,
    /// Members with a deployment whose staged id is not the wanted one.
    Unstaged,
    /// Members that may be promoted and are available.
    AvailableOutdated,
    /// Members that may be promoted and are unavailable.
    UnavailableOutdated,
    /// Members that may be started under the documented rules: not promoted yet, and nothing prevents their promotion.
    Startable,
    /// Members with an unavailable deployment.
    Unavailable,
    /// Members whose deployed id is the wanted one.
    Promoted,
    /// Members that are up to date and available.
    Done,
}

impl MemberGroup {
    /// Each group, with a mask of the flags that determine its members, and the values that these flags must have.
    const ALL: [(Self, u8, u8); 8] = [
        (Self::Absent, flag::EXISTS, 0),
        (Self::Unstaged, flag::EXISTS | flag::STAGED, flag::EXISTS),
        (Self::AvailableOutdated, flag::OUTDATED, flag::EXISTS),
        (
            Self::UnavailableOutdated,
            flag::OUTDATED,
            flag::EXISTS | flag::UNAVAILABLE,
        ),
        (
            Self::Startable,
            flag::PROMOTED | flag::PAUSED | flag::REGISTERED,
            flag::REGISTERED,
        ),
        (Self::Unavailable, flag::UNAVAILABLE, flag::UNAVAILABLE),
        (Self::Promoted, flag::PROMOTED, flag::PROMOTED),
        (Self::Done, flag::DONE, flag::DONE),
    ];

    /// Returns true if a cluster with these flags is in the group.
    #[inline]
    pub(super) const fn has(self, flags: u8) -> bool {
        let (_, asked, expected) = Self::ALL[self as usize];
        flags & asked == expected
    }
}

/// The members of partitions as the rules see them, by number of the partition and position in it.
pub(super) trait PartitionMembers {
    /// Returns the first position at or after `from` of a member in one of the groups that rules pick from.
    fn next(&self, partition: usize, group: MemberGroup, from: u32) -> Option<u32>;
    /// Returns the number of members in a group.
    fn count(&self, partition: usize, group: MemberGroup) -> i64;
    /// Returns the [`flag`]s of a cluster.
    fn flags(&self, cluster: u32) -> u8;
    /// Adds flags of a cluster within a pass.
    fn add_flags(&mut self, cluster: u32, flags: u8);
}

/// The clusters of a bundle as the last pass saw them.
#[derive(Clone, Debug)]
pub(super) struct BundleLedger {
    is_paused: bool,
    /// Whether states compare a deployment with the wanted id instead of the deployed id.
    judges_wanted: bool,
    /// The state of each target; `None`: the cluster is not a target.
    states: Vec<Option<BundleState>>,
    /// The [`flag`]s of each cluster. During a pass they include the actions of the pass so far.
    flags: Vec<u8>,
    /// Clusters whose flags a pass has changed and that have not been observed since.
    touched: Vec<u32>,
    /// The clusters in the order of their names.
    by_name: Vec<u32>,
    /// The rank of each cluster in the order of their names.
    ranks: Vec<u32>,
    /// The memberships of each cluster in partitions.
    memberships: Vec<Vec<Membership>>,
    partitions: Vec<PartitionLedger>,
    /// Number of unavailable deployments among all targets.
    pub(super) unavailable: i64,
    pub(super) summary: BundleSummary,
    /// Ranks of the targets that are not Ready, and of the clusters whose deployment no longer belongs to a target.
    not_ready: TargetSet,
    orphans: TargetSet,
    /// Clusters whose stored `paused` or `offSchedule` is out of date.
    pub(super) stale: TargetSet,
}

/// The membership of a cluster in a partition.
#[derive(Clone, Copy, Debug)]
struct Membership {
    /// The number of the partition.
    partition: u32,
    /// The cluster's position among the members.
    place: u32,
}

/// The members of a partition by group: the positions in groups that rules pick from, and the sizes of all groups.
#[derive(Clone, Debug)]
struct PartitionLedger {
    sets: [TargetSet; MemberGroup::Startable as usize + 1],
    counts: [i64; MemberGroup::ALL.len()],
}

impl PartitionLedger {
    /// Creates the ledger of members without any flags.
    fn new(members: usize) -> Self {
        let mut ledger = Self {
            sets: std::array::from_fn(|_| TargetSet::new(members)),
            counts: [0; MemberGroup::ALL.len()],
        };
        ledger.sets[MemberGroup::Absent as usize].insert_all();
        ledger.counts[MemberGroup::Absent as usize] = members as i64;
        ledger
    }

    fn change(&mut self, place: u32, old: u8, new: u8) {
        for (group, ..) in MemberGroup::ALL {
            let is_member = group.has(new);
            if is_member != group.has(old) {
                self.counts[group as usize] += if is_member { 1 } else { -1 };
                if let Some(set) = self.sets.get_mut(group as usize) {
                    set.set(place, is_member);
                }
            }
        }
    }
}

impl BundleLedger {
    /// Creates the ledger of all clusters in a view.
    pub(super) fn new(
        plan: &Partitioning,
        by_name: &[u32],
        view: &BundleView,
        judges_wanted: bool,
    ) -> Self {
        let clusters = view.clusters.len();
        let mut partitions = Vec::with_capacity(plan.partitions.len());
        let mut memberships = vec![Vec::new(); clusters];
        for (number, partition) in (0..).zip(&plan.partitions) {
            partitions.push(PartitionLedger::new(partition.members.len()));
            for (place, member) in (0..).zip(&partition.members) {
                memberships[*member as usize].push(Membership {
                    partition: number,
                    place,
                });
            }
        }
        let mut ledger = Self {
            is_paused: view.paused,
            judges_wanted,
            states: vec![None; clusters],
            flags: vec![0; clusters],
            touched: Vec::new(),
            by_name: by_name.to_vec(),
            ranks: places_in(by_name),
            memberships,
            partitions,
            unavailable: 0,
            summary: BundleSummary::default(),
            not_ready: TargetSet::new(clusters),
            orphans: TargetSet::new(clusters),
            stale: TargetSet::new(clusters),
        };
        for index in 0..clusters as u32 {
            ledger.observe(index, view);
        }
        ledger
    }

    /// Observes these clusters again, and those that the last pass changed. Returns false if the partitions or all
    /// clusters may have changed.
    pub(super) fn update(&mut self, view: &BundleView, changed: &TargetSet) -> bool {
        if self.is_paused != view.paused {
            return false;
        }
        for index in changed.iter() {
            let was_target = self.states[index as usize].is_some();
            if view.clusters[index as usize].targeted != was_target {
                return false;
            }
        }
        for index in std::mem::take(&mut self.touched) {
            self.observe(index, view);
        }
        for index in changed.iter() {
            self.observe(index, view);
        }
        true
    }

    fn observe(&mut self, index: u32, view: &BundleView) {
        let cluster = &view.clusters[index as usize];
        let is_paused = cluster.paused || view.paused;
        let mut flags = flag_if(cluster.registered, flag::REGISTERED);
        flags |= flag_if(is_paused, flag::PAUSED);
        let mut state = BundleState::Pending;
        let mut is_stale = false;
        let mut is_orphan = false;
        if let Some(stored) = &cluster.deployment {
            // A deployment is found by its cluster's namespace, so the deployment of an unregistered target belongs to
            // no cluster.
            if cluster.targeted && cluster.registered {
                flags |= deployment_flags(stored, cluster.wanted);
                state = self.judge(stored, cluster.wanted);
                is_stale =
                    stored.paused != is_paused || stored.off_schedule != cluster.off_schedule;
            } else {
                is_orphan = !stored.off_schedule;
            }
        }
        let rank = self.ranks[index as usize];
        self.set_state(index, cluster.targeted.then_some(state));
        self.orphans.set(rank, is_orphan);
        self.stale.set(index, is_stale);
        self.set_flags(index, flags);
    }

    /// Returns the state of a deployment of a cluster that wants this id.
    fn judge(&self, deployment: &BundleDeployment, wanted: Revision) -> BundleState {
        let deployed = if self.judges_wanted {
            Some(wanted)
        } else {
            deployment.deployed
        };
        BundleState::of(deployment, deployed)
    }

    /// Sets the state of a target. `None`: the cluster is not a target.
    fn set_state(&mut self, index: u32, state: Option<BundleState>) {
        if let Some(old) = std::mem::replace(&mut self.states[index as usize], state) {
            self.summary.remove(old);
        }
        if let Some(new) = state {
            self.summary.add(new);
        }
        let is_not_ready = !matches!(state, None | Some(BundleState::Ready));
        self.not_ready.set(self.ranks[index as usize], is_not_ready);
    }

    fn set_flags(&mut self, index: u32, new: u8) {
        let old = std::mem::replace(&mut self.flags[index as usize], new);
        self.unavailable +=
            i64::from(new & flag::UNAVAILABLE != 0) - i64::from(old & flag::UNAVAILABLE != 0);
        for &Membership { partition, place } in &self.memberships[index as usize] {
            self.partitions[partition as usize].change(place, old, new);
        }
    }

    pub(super) fn is_in_partition(&self, index: u32) -> bool {
        !self.memberships[index as usize].is_empty()
    }

    /// Returns the first targets by name that are not Ready.
    pub(super) fn first_not_ready(&self) -> Vec<(TargetId, BundleState)> {
        let mut first = Vec::new();
        for rank in self.not_ready.iter().take(LISTED) {
            let index = self.by_name[rank as usize];
            if let Some(state) = self.states[index as usize] {
                first.push((TargetId(index), state));
            }
        }
        first
    }

    /// Returns the clusters whose deployment must be deleted, by name.
    pub(super) fn orphans(&self) -> impl Iterator<Item = TargetId> {
        self.orphans
            .iter()
            .map(|rank| TargetId(self.by_name[rank as usize]))
    }
}

/// Returns the flag if `holds`, otherwise no flag.
const fn flag_if(holds: bool, flag: u8) -> u8 {
    if holds { flag } else { 0 }
}

/// Returns the flags that depend on the deployment of a cluster.
fn deployment_flags(deployment: &BundleDeployment, wanted: Revision) -> u8 {
    let wanted = Some(wanted);
    let is_applied_ready = deployment.applied == wanted && deployment.ready;
    flag::EXISTS
        | flag_if(deployment.is_unavailable(), flag::UNAVAILABLE)
        | flag_if(deployment.staged == wanted, flag::STAGED)
        | flag_if(deployment.deployed == wanted, flag::PROMOTED)
        | flag_if(is_applied_ready, flag::APPLIED_READY)
}

impl PartitionMembers for BundleLedger {
    fn next(&self, partition: usize, group: MemberGroup, from: u32) -> Option<u32> {
        self.partitions[partition].sets[group as usize].next(from)
    }

    fn count(&self, partition: usize, group: MemberGroup) -> i64 {
        self.partitions[partition].counts[group as usize]
    }

    fn flags(&self, cluster: u32) -> u8 {
        self.flags[cluster as usize]
    }

    fn add_flags(&mut self, cluster: u32, flags: u8) {
        self.touched.push(cluster);
        self.set_flags(cluster, self.flags[cluster as usize] | flags);
    }
}

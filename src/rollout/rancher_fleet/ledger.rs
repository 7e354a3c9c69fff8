//! What a pass needs to know of the clusters that did not change: counts, and ordered sets of candidates.
//!
//! A [`BundleLedger`] has one record for each cluster and, for each partition, the places of the members that a rule
//! may pick next. A changed cluster costs a few words for each partition that it is in.

use super::super::{TargetId, TargetSet};
use super::documented::is_startable;
use super::observe::{LISTED, Seen, flag};
use super::partition::Partitioning;
use super::status::{BundleState, BundleSummary};
use super::view::BundleView;

/// The clusters of a bundle as the last pass saw them.
#[derive(Clone, Debug)]
pub(super) struct BundleLedger {
    is_paused: bool,
    seen: Vec<Seen>,
    /// [`flag`]s; within a pass with what it has done so far.
    pub(super) flags: Vec<u8>,
    /// Clusters whose flags a pass has changed, until they are observed again.
    touched: Vec<u32>,
    /// The clusters in the order of their names, and the place of each cluster there.
    by_name: Vec<u32>,
    ranks: Vec<u32>,
    places: Places,
    pub(super) partitions: Vec<PartitionLedger>,
    /// Unavailable deployments over all targets.
    pub(super) unavailable: i64,
    pub(super) summary: BundleSummary,
    /// Ranks of the targets that are not Ready, and of the clusters whose deployment must be deleted.
    not_ready: TargetSet,
    orphans: TargetSet,
    /// Clusters whose stored `paused` or `offSchedule` is out of date.
    pub(super) stale: TargetSet,
}

/// Of each cluster, the partitions that it is in, with its place there.
#[derive(Clone, Debug)]
struct Places {
    /// Where the entries of each cluster begin, and where those of the last one end.
    begins: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Places {
    fn of(plan: &Partitioning, clusters: usize) -> Self {
        let members =
            || (0..).zip(&plan.partitions).flat_map(|(number, it)| (0..).zip(&it.members).map(move |m| (number, m)));
        let mut begins = vec![0; clusters + 1];
        members().for_each(|(_, (_, &member))| begins[member as usize + 1] += 1);
        for at in 0..clusters {
            begins[at + 1] += begins[at];
        }
        let (mut next, mut entries) = (begins.clone(), vec![(0, 0); begins[clusters] as usize]);
        for (number, (place, &member)) in members() {
            entries[next[member as usize] as usize] = (number, place);
            next[member as usize] += 1;
        }
        Self { begins, entries }
    }

    fn of_cluster(&self, index: u32) -> &[(u32, u32)] {
        let index = index as usize;
        &self.entries[self.begins[index] as usize..self.begins[index + 1] as usize]
    }
}

/// The members of a partition, by what may be done with them. Sets have places, in the partition's order.
#[derive(Clone, Debug)]
pub(super) struct PartitionLedger {
    /// Without a deployment.
    pub(super) absent: TargetSet,
    /// With a deployment whose staged id is not the wanted one.
    pub(super) unstaged: TargetSet,
    /// That may be promoted, and are available.
    pub(super) available: TargetSet,
    /// That may be promoted, and are unavailable.
    pub(super) unavailable_waiting: TargetSet,
    /// That may be started by the documented rules.
    pub(super) startable: TargetSet,
    /// Number that is unavailable, promoted, up to date and ready, or not ready by the documented rules.
    pub(super) unavailable: i64,
    pub(super) promoted: i64,
    pub(super) done: i64,
    pub(super) not_ready: i64,
}

impl BundleLedger {
    /// The ledger of all clusters of a view.
    pub(super) fn new(plan: &Partitioning, by_name: &[u32], view: &BundleView) -> Self {
        let clusters = view.clusters.len();
        let mut ranks = vec![0; clusters];
        for (rank, &index) in (0..).zip(by_name) {
            ranks[index as usize] = rank;
        }
        let partitions = plan.partitions.iter().map(|partition| PartitionLedger::new(partition.members.len()));
        let mut ledger = Self {
            is_paused: view.paused,
            seen: vec![Seen::default(); clusters],
            flags: vec![0; clusters],
            touched: Vec::new(),
            by_name: by_name.to_vec(),
            ranks,
            places: Places::of(plan, clusters),
            partitions: partitions.collect(),
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

    /// Observes these clusters again, and those that the last pass changed. False: the ledger does not cover the
    /// change.
    pub(super) fn update(&mut self, view: &BundleView, changed: &TargetSet) -> bool {
        let is_same = |index: u32| view.clusters[index as usize].targeted == self.seen[index as usize].is_targeted;
        if self.is_paused != view.paused || !changed.iter().all(is_same) {
            return false;
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
        let at = index as usize;
        let (old, new) = (self.seen[at], Seen::of(&view.clusters[at], view.paused));
        self.seen[at] = new;
        self.unavailable += i64::from(new.is_unavailable) - i64::from(old.is_unavailable);
        if old.is_targeted {
            self.summary.remove(old.state);
        }
        if new.is_targeted {
            self.summary.add(new.state);
        }
        let rank = self.ranks[at];
        self.not_ready.set(rank, new.is_targeted && new.state != BundleState::Ready);
        self.orphans.set(rank, new.is_orphan);
        self.stale.set(index, new.is_stale);
        self.set_flags(index, new.flags);
    }

    fn set_flags(&mut self, index: u32, new: u8) {
        let old = std::mem::replace(&mut self.flags[index as usize], new);
        for &(number, place) in self.places.of_cluster(index) {
            self.partitions[number as usize].change(place, old, new);
        }
    }

    /// Adds flags of a cluster within a pass.
    pub(super) fn add_flags(&mut self, index: u32, flags: u8) {
        let old = self.flags[index as usize];
        self.touched.push(index);
        self.set_flags(index, old | flags);
    }

    /// The first targets by name that are not Ready.
    pub(super) fn first_not_ready(&self) -> Vec<(TargetId, BundleState)> {
        let listed = self.not_ready.iter().take(LISTED).map(|rank| self.by_name[rank as usize]);
        listed.map(|index| (TargetId(index), self.seen[index as usize].state)).collect()
    }

    /// Clusters whose deployment must be deleted, by name.
    pub(super) fn orphans(&self) -> impl Iterator<Item = TargetId> {
        self.orphans.iter().map(|rank| TargetId(self.by_name[rank as usize]))
    }
}

impl PartitionLedger {
    /// Of this many members without any flag, none of which is counted yet.
    fn new(members: usize) -> Self {
        let mut ledger = Self {
            absent: TargetSet::all(members),
            unstaged: TargetSet::new(members),
            available: TargetSet::new(members),
            unavailable_waiting: TargetSet::new(members),
            startable: TargetSet::new(members),
            unavailable: 0,
            promoted: 0,
            done: 0,
            not_ready: 0,
        };
        // Without flags a member is neither done nor startable.
        ledger.not_ready = members as i64;
        ledger
    }

    fn change(&mut self, place: u32, old: u8, new: u8) {
        let has = |flags: u8, wanted: u8| flags & wanted == wanted;
        let is_waiting = |flags: u8| flags & (flag::EXISTS | flag::PROMOTED | flag::PAUSED) == flag::EXISTS;
        let is_not_ready = |flags: u8| !has(flags, flag::DONE) && !is_startable(flags);
        let count = |holds: &dyn Fn(u8) -> bool| i64::from(holds(new)) - i64::from(holds(old));
        self.absent.set(place, new & flag::EXISTS == 0);
        self.unstaged.set(place, new & (flag::EXISTS | flag::STAGED) == flag::EXISTS);
        self.available.set(place, is_waiting(new) && !has(new, flag::UNAVAILABLE));
        self.unavailable_waiting.set(place, is_waiting(new) && has(new, flag::UNAVAILABLE));
        self.startable.set(place, is_startable(new));
        self.unavailable += count(&|flags| has(flags, flag::UNAVAILABLE));
        self.promoted += count(&|flags| has(flags, flag::PROMOTED));
        self.done += count(&|flags| has(flags, flag::DONE));
        self.not_ready += count(&is_not_ready);
    }
}

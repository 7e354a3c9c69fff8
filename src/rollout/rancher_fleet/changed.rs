//! A pass that looks only at clusters that changed, and decides as a pass over all of them.
//!
//! The [`BundleLedger`] has the counts that the limits compare, and the members that a rule may pick, in the order of
//! each partition. So a pass costs what changed since the last one and what it does, and one status for each partition.
//! In builds with debug assertions each pass over a small bundle is checked against [`RancherFleet::reconcile`].

use super::super::{Pass, TargetId, TargetSet};
use super::documented::{BATCH, gate_limit};
use super::ledger::BundleLedger;
use super::observe::flag;
use super::partition::{Partition, Partitioning};
use super::pass::{self, PassOutcome};
use super::status::PartitionStatus;
use super::view::{BundleAction, BundleView};
use super::{BundleStatus, RancherFleet, RuleSet};
use crate::units::SimTime;

/// Clusters of the largest bundle whose passes are checked in builds with debug assertions.
const CHECKED: usize = 64;

impl RancherFleet {
    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only clusters in
    /// `changed` differ from those of the last pass, also by what storing it changed ([`Self::stored_by`]). The first
    /// pass, and one after a change of strategy, labels, targets or the bundle's pause, looks at all.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &BundleView,
        changed: &TargetSet,
    ) -> Pass<BundleAction, BundleStatus> {
        assert_eq!(view.clusters.len(), self.clusters.len(), "the view has one entry for each cluster");
        let oracle = (cfg!(debug_assertions) && self.clusters.len() <= CHECKED).then(|| self.clone());
        let covered = self.ledger.take().filter(|_| self.plan.is_ok());
        let covered = covered.and_then(|mut ledger| ledger.update(view, changed).then_some(ledger));
        let pass = match covered {
            Some(mut ledger) => {
                let pass = self.pass_of_ledger(view, &mut ledger);
                self.ledger = Some(ledger);
                pass
            }
            None => {
                let pass = self.reconcile(now, view);
                self.ledger = self.plan.as_ref().ok().map(|plan| BundleLedger::new(plan, &self.by_name, view));
                pass
            }
        };
        if let Some(mut oracle) = oracle {
            let full = oracle.reconcile(now, view);
            assert_eq!(pass, full, "a pass over what changed decides as a pass over all");
            assert_eq!(self.plan, oracle.plan);
        }
        pass
    }

    /// The clusters that storing this pass, the last one, may change: for [`BundleView::store_to`], and for the next
    /// pass.
    #[must_use]
    pub fn stored_by(&self, pass: &Pass<BundleAction, BundleStatus>) -> Vec<u32> {
        if pass.status.error.is_some() {
            return Vec::new();
        }
        let Some(ledger) = &self.ledger else { return (0..self.clusters.len() as u32).collect() };
        let mut stored: Vec<u32> = pass.actions.iter().map(|action| action.target().0).collect();
        stored.extend(ledger.stale.iter());
        stored.sort_unstable();
        stored.dedup();
        stored
    }

    fn pass_of_ledger(&self, view: &BundleView, ledger: &mut BundleLedger) -> Pass<BundleAction, BundleStatus> {
        let plan = self.plan.as_ref().expect("a ledger belongs to a plan");
        let (summary, not_ready) = (ledger.summary, ledger.first_not_ready());
        let mut outcome = PassOutcome { unavailable: ledger.unavailable, ..PassOutcome::default() };
        let mut pass = LedgerPass { plan, view, ledger, outcome: &mut outcome };
        match self.rules {
            RuleSet::Shipped => pass.shipped(self.strategy.max_new.unwrap_or(pass::MAX_NEW)),
            RuleSet::Documented => pass.documented(self.strategy.max_unavailable_partitions.is_some()),
        }
        outcome.actions.extend(ledger.orphans().map(BundleAction::Delete));
        let stores_flags = !ledger.stale.is_empty();
        Pass {
            status: BundleStatus::of(plan, &mut outcome, summary, not_ready, stores_flags),
            actions: outcome.actions,
            wake_at: None,
        }
    }
}

/// A pass over the ledger.
struct LedgerPass<'a> {
    plan: &'a Partitioning,
    view: &'a BundleView,
    ledger: &'a mut BundleLedger,
    outcome: &'a mut PassOutcome,
}

impl LedgerPass<'_> {
    /// As [`pass::shipped`].
    fn shipped(&mut self, max_new: i64) {
        let before = self.plan.partitions.iter().zip(&self.ledger.partitions);
        self.outcome.partitions =
            before.map(|(partition, ledger)| PartitionStatus::of(partition, ledger.unavailable)).collect();
        for (number, partition) in self.plan.partitions.iter().enumerate() {
            self.outcome.reached = number + 1;
            self.create_and_stage(number, partition, max_new);
            self.promote(number, partition);
            let behind = partition.members.len() as i64 - self.ledger.partitions[number].done;
            self.outcome.unavailable_partitions += i64::from(behind > partition.max_unavailable);
            if self.outcome.unavailable_partitions > self.plan.max_unavailable_partitions {
                break;
            }
        }
    }

    /// The next place at or after `from` of a member to create, if there is room, or to stage.
    fn next_to_stage(&self, number: usize, from: u32, may_create: bool) -> Option<u32> {
        let partition = &self.ledger.partitions[number];
        let absent = partition.absent.next(from).filter(|_| may_create);
        absent.into_iter().chain(partition.unstaged.next(from)).min()
    }

    fn create_and_stage(&mut self, number: usize, partition: &Partition, max_new: i64) {
        let mut from = 0;
        while let Some(place) = self.next_to_stage(number, from, self.outcome.newly_created < max_new) {
            from = place + 1;
            let member = partition.members[place as usize];
            let flags = self.ledger.flags[member as usize];
            let creates = flags & flag::EXISTS == 0;
            let created = if creates { flag::EXISTS | flag::UNAVAILABLE } else { 0 };
            self.outcome.newly_created += i64::from(creates);
            self.ledger.add_flags(member, created | flag::STAGED);
            if flags & flag::REGISTERED != 0 {
                let target = TargetId(member);
                if creates {
                    self.outcome.actions.push(BundleAction::Create(target));
                }
                self.outcome.actions.push(BundleAction::Stage(target, self.view.clusters[target.index()].wanted));
            }
        }
    }

    fn promote(&mut self, number: usize, partition: &Partition) {
        let mut unavailable = self.outcome.partitions[number].unavailable;
        let mut from = 0;
        loop {
            let has_room =
                self.outcome.unavailable < self.plan.max_unavailable && unavailable < partition.max_unavailable;
            let ledger = &self.ledger.partitions[number];
            let available = ledger.available.next(from).filter(|_| has_room);
            let Some(place) = available.into_iter().chain(ledger.unavailable_waiting.next(from)).min() else { return };
            if available == Some(place) {
                self.outcome.unavailable += 1;
                unavailable += 1;
            }
            from = place + 1;
            let member = partition.members[place as usize];
            self.ledger.add_flags(member, flag::PROMOTED);
            if self.ledger.flags[member as usize] & flag::REGISTERED != 0 {
                let target = TargetId(member);
                self.outcome.actions.push(BundleAction::Deploy(target, self.view.clusters[target.index()].wanted));
            }
        }
    }

    /// As [`documented::documented`](super::documented::documented).
    fn documented(&mut self, is_partition_limit_set: bool) {
        for (number, partition) in self.plan.partitions.iter().enumerate() {
            self.stage(number, partition);
        }
        for (number, partition) in self.plan.partitions.iter().enumerate() {
            if self.outcome.unavailable_partitions <= self.plan.max_unavailable_partitions {
                self.outcome.reached = number + 1;
                self.start_batches(number, partition);
                let ledger = &self.ledger.partitions[number];
                let is_behind = ledger.not_ready > gate_limit(partition, is_partition_limit_set);
                self.outcome.unavailable_partitions += i64::from(!ledger.startable.is_empty() || is_behind);
            }
            let not_ready = self.ledger.partitions[number].not_ready;
            self.outcome.partitions.push(PartitionStatus::of(partition, not_ready));
        }
    }

    fn stage(&mut self, number: usize, partition: &Partition) {
        let mut from = 0;
        while let Some(place) = self.ledger.partitions[number].unstaged.next(from) {
            from = place + 1;
            let member = partition.members[place as usize];
            self.ledger.add_flags(member, flag::STAGED);
            let target = TargetId(member);
            self.outcome.actions.push(BundleAction::Stage(target, self.view.clusters[target.index()].wanted));
        }
    }

    fn start_batches(&mut self, number: usize, partition: &Partition) {
        let mut has_started = self.ledger.partitions[number].promoted > 0;
        let mut from = 0;
        loop {
            let ledger = &self.ledger.partitions[number];
            if has_started && ledger.promoted - ledger.done > partition.max_unavailable {
                return;
            }
            for _ in 0..BATCH {
                let Some(place) = self.ledger.partitions[number].startable.next(from) else { return };
                from = place + 1;
                self.start(partition.members[place as usize]);
            }
            has_started = true;
        }
    }

    fn start(&mut self, member: u32) {
        let flags = self.ledger.flags[member as usize];
        let (target, revision) = (TargetId(member), self.view.clusters[member as usize].wanted);
        if flags & flag::EXISTS == 0 {
            self.outcome.newly_created += 1;
            self.outcome.actions.extend([BundleAction::Create(target), BundleAction::Stage(target, revision)]);
        }
        self.outcome.actions.push(BundleAction::Deploy(target, revision));
        self.outcome.unavailable += i64::from(flags & flag::EXISTS != 0 && flags & flag::UNAVAILABLE == 0);
        self.ledger.add_flags(member, flag::EXISTS | flag::STAGED | flag::PROMOTED);
    }
}

//! A pass that looks only at bindings that changed, and decides as a pass over all of them.
//!
//! The group of a binding, and what it counts for, depend on the binding, the newest resource snapshot and, where
//! availability cannot be tracked, on a time. So the ledger observes again the bindings that its caller names and those
//! whose time has come. In builds with debug assertions each pass over few bindings is checked against
//! [`RollingUpdate::reconcile`].

use super::super::super::{Pass, TargetId, TargetSet};
use super::super::queue::QueueRequest;
use super::RollingUpdate;
use super::ledger::RollingLedger;
use super::pass::Shares;
use super::view::{RollingAction, RollingStatus, RollingView, Room};
use crate::units::SimTime;

/// Bindings of the largest placement whose passes are checked in builds with debug assertions.
const CHECKED: usize = 64;

impl RollingUpdate {
    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only bindings of clusters
    /// in `changed` differ from those of the last pass, also by what storing it changed
    /// ([`Bindings::changed`](super::super::Bindings::changed)). The first pass, and one after a change of the limits
    /// or of the newest resource snapshot, looks at all.
    ///
    /// Of [`RollingStatus::blocked`] it lists only those that do not say so yet.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &RollingView,
        changed: &TargetSet,
    ) -> Pass<RollingAction, RollingStatus> {
        let oracle = (cfg!(debug_assertions) && view.bindings.places() <= CHECKED).then(|| self.clone());
        self.queue.begin(now);
        self.last = now;
        let ledger = self.ledger.take().filter(|_| view.active);
        let ledger = ledger.and_then(|mut ledger| ledger.update(self, now, view, changed).then_some(ledger));
        self.ledger = ledger.or_else(|| RollingLedger::new(self, now, view).filter(|_| view.active));
        let (actions, status) = match self.ledger.take() {
            Some(mut ledger) => {
                let decided = self.pass_of_ledger(view, &mut ledger);
                self.ledger = Some(ledger);
                decided
            }
            None => self.pass(now, view),
        };
        let wake_at = self.queue.end(now, status.next);
        let pass = Pass { actions, wake_at, status };
        if let Some(mut oracle) = oracle {
            self.check(&pass, &oracle.reconcile(now, view), view);
        }
        pass
    }

    /// Clusters whose binding the last pass, over what changed, has blocked: all of them.
    #[must_use]
    pub fn blocked(&self, pass: &Pass<RollingAction, RollingStatus>, view: &RollingView) -> Vec<TargetId> {
        let Some(ledger) = &self.ledger else { return pass.status.blocked.clone() };
        ledger.blocked().map(|place| view.bindings.target_at(place)).collect()
    }

    /// Whether the last pass over what changed has blocked a cluster's binding.
    #[must_use]
    pub fn is_blocked(&self, target: TargetId, view: &RollingView) -> bool {
        let place = view.bindings.place(target);
        self.ledger.as_ref().zip(place).is_some_and(|(ledger, place)| ledger.is_blocked(place))
    }

    /// [`RollingView::is_done`], at the time of the last pass over what changed.
    #[must_use]
    pub fn is_done(&self, view: &RollingView) -> bool {
        self.ledger.as_ref().map_or_else(|| view.is_done(), RollingLedger::is_done)
    }

    fn pass_of_ledger(&self, view: &RollingView, ledger: &mut RollingLedger) -> (Vec<RollingAction>, RollingStatus) {
        let targets = |set: &TargetSet| set.iter().map(|place| view.bindings.target_at(place)).collect();
        let mut status = RollingStatus { apply_strategy: view.apply_strategy, ..RollingStatus::default() };
        ledger.blocked_from = [None; 2];
        if !ledger.other_strategy.is_empty() {
            status.patched = targets(&ledger.other_strategy);
            status.next = QueueRequest::RateLimited;
            return (Vec::new(), status);
        }
        let mut counts = ledger.counts();
        counts.target = view.policy.count().map_or(counts.target, i64::from);
        status.counts = Some(counts);
        if [&ledger.bounding, &ledger.removing, &ledger.updating, &ledger.failed].iter().all(|set| set.is_empty()) {
            status.restarted = targets(&ledger.lacking_start);
            return (Vec::new(), status);
        }
        let room = Room::of(counts, self.limits(counts.target));
        status.room = Some(room);
        let shares = Shares::of(room, counts);
        let actions = actions_of(&shares, view, ledger);
        status.blocked_count = ledger.updating.len() - shares.updated + ledger.bounding.len() - shares.added;
        status.blocked = ledger.newly_blocked().map(|place| view.bindings.target_at(place)).collect();
        status.restarted = targets(&ledger.starting);
        let (wait, is_waiting) = ledger.wait();
        status.next = self.next(&wait, is_waiting);
        (actions, status)
    }

    /// Panics if the pass is not that over all bindings.
    fn check(
        &self,
        pass: &Pass<RollingAction, RollingStatus>,
        full: &Pass<RollingAction, RollingStatus>,
        view: &RollingView,
    ) {
        assert_eq!(self.blocked(pass, view), full.status.blocked, "a pass over what changed blocks as one over all");
        let mut expected = full.clone();
        if self.ledger.is_some() {
            let is_new = |target: &TargetId| !view.bindings.get(*target).expect("a binding").is_marked_blocked();
            expected.status.blocked.retain(is_new);
        }
        assert_eq!(*pass, expected, "a pass over what changed decides as a pass over all");
        assert_eq!(self.is_done(view), view.is_done());
    }
}

/// What the pass rolls and deletes. Afterwards the ledger knows from where on bindings are blocked.
fn actions_of(shares: &Shares, view: &RollingView, ledger: &mut RollingLedger) -> Vec<RollingAction> {
    let latest = view.latest_snapshot.expect("a ledger belongs to a snapshot");
    let target = |place: u32| view.bindings.target_at(place);
    let deploy = |place: u32| RollingAction::Deploy(target(place), latest);
    let mut actions: Vec<RollingAction> = ledger.failed.iter().map(deploy).collect();
    actions.extend(ledger.removing.iter().take(shares.removed).map(|place| RollingAction::Delete(target(place))));
    let mut blocked_from = [None; 2];
    let rolled = [(&ledger.updating, shares.updated), (&ledger.bounding, shares.added)];
    for (from, (candidates, share)) in blocked_from.iter_mut().zip(rolled) {
        let mut places = candidates.iter();
        actions.extend(places.by_ref().take(share).map(deploy));
        *from = places.next();
    }
    ledger.blocked_from = blocked_from;
    actions
}

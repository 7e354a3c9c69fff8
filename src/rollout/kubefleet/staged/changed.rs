//! A pass of a run that looks only at clusters that changed, and decides as a pass over all of them.
//!
//! In builds with debug assertions each pass over few bindings is checked against [`StagedUpdateRun::reconcile`].

use super::super::super::{Pass, TargetSet};
use super::super::control_loop::CLUSTER_UPDATING_WAIT;
use super::super::queue::QueueRequest;
use super::StagedUpdateRun;
use super::execute::{RunPass, Watched};
use super::initialize::Stopped;
use super::ledger::{RunLedger, StageLedger};
use super::run::RetryError;
use super::view::{StagedAction, StagedStatus, StagedView};
use crate::units::SimTime;

/// Bindings of the largest placement whose passes are checked in builds with debug assertions.
const CHECKED: usize = 64;

/// Failing clusters that the error of such a pass names.
const NAMED: usize = 10;

impl StagedUpdateRun {
    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only bindings of clusters
    /// in `changed` differ from those of the last pass, also by what storing it changed
    /// ([`Bindings::changed`](super::super::Bindings::changed)). The first pass of a run looks at all, and so do passes
    /// after a change of the placement or of the picked clusters, of a stopped run, and of the delete stage.
    ///
    /// An error about failing clusters names up to ten.
    ///
    /// # Panics
    /// As [`Self::reconcile`].
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &StagedView,
        changed: &TargetSet,
    ) -> Pass<StagedAction, StagedStatus> {
        let oracle = (cfg!(debug_assertions) && view.bindings.places() <= CHECKED).then(|| self.clone());
        self.queue.begin(now);
        self.last = now;
        let mut run = std::mem::take(&mut self.run);
        let ledger = self.ledger.take();
        let mut ledger = ledger.and_then(|mut it| it.update(&self.fixed, &run, view, changed).then_some(it));
        let (actions, mut status) = self.pass(&mut run, now, view, ledger.as_mut().map(|ledger| &mut ledger.stage));
        if ledger.is_none() && matches!(status.error, None | Some(RetryError::ClusterUpdate(_))) {
            ledger = RunLedger::new(&self.fixed, &run, view);
        }
        shorten(&mut status);
        (self.run, self.ledger) = (run, ledger);
        let wake_at = self.queue.end(now, status.next);
        let pass = Pass { actions, wake_at, status };
        if let Some(mut oracle) = oracle {
            let mut full = oracle.reconcile(now, view);
            shorten(&mut full.status);
            assert_eq!(pass, full, "a pass over what changed decides as a pass over all");
            assert_eq!(self.run, oracle.run, "and leaves the same status");
        }
        pass
    }
}

/// Leaves the first names of failing clusters.
fn shorten(status: &mut StagedStatus) {
    if let Some(RetryError::ClusterUpdate(names)) = &mut status.error {
        names.truncate(NAMED);
    }
}

impl RunPass<'_> {
    /// As `execute_stage`, of a stage that is known.
    pub(super) fn execute_changed(&mut self, index: usize, limit: i64, known: &mut StageLedger) -> Result<(), Stopped> {
        let total = self.run.stages[index].clusters.len();
        // A cluster that is done as it starts keeps its place for this pass.
        let mut done_at_once = 0;
        for position in std::mem::take(&mut known.looks) {
            done_at_once += i64::from(self.look(index, position, known));
        }
        let taken = (self.run.stages[index].in_progress() + known.refused()) as i64;
        let mut free = limit - taken - done_at_once;
        while free > 0 && known.frontier < total {
            free -= 1;
            let position = known.frontier as u32;
            known.frontier += 1;
            done_at_once += i64::from(self.look(index, position, known));
        }
        self.note_stuck(index, known);
        if !known.failing.is_empty() {
            let clusters = &self.run.stages[index].clusters;
            let first = known.failing.iter().take(NAMED).map(|at| self.fixed.name(clusters[at as usize].target));
            return Err(Stopped::Retry(RetryError::ClusterUpdate(first.collect())));
        }
        if self.run.stages[index].finished() == total && done_at_once == 0 {
            self.complete_stage(index);
        } else {
            self.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Starts or observes a cluster. True: it was done before it started.
    fn look(&mut self, index: usize, position: u32, known: &mut StageLedger) -> bool {
        let before = self.run.stages[index].clusters[position as usize];
        let binding = self.view.bindings.get(before.target).expect("the check found a binding for every cluster");
        let (mut after, mut watched) = (before, Watched::default());
        if before.started.is_none() {
            let snapshot = self.run.snapshot.expect("an initialized run has a snapshot");
            self.start(index, &mut after, binding, snapshot, &mut watched);
        } else {
            self.watch(&mut after, binding, &mut watched);
        }
        self.run.stages[index].set(position as usize, after);
        known.note(position, before, after, !watched.failing.is_empty())
    }

    fn note_stuck(&mut self, index: usize, known: &mut StageLedger) {
        let clusters = &self.run.stages[index].clusters;
        known.age(self.now, clusters);
        if std::mem::take(&mut known.is_stuck_new) {
            self.run.stuck = known.stuck.iter().map(|at| clusters[at as usize].target).collect();
        }
        self.mark_stuck(!known.stuck.is_empty());
    }
}

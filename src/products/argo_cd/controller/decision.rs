//! A pass whose writes of the set are sent one after another, because several sets share the limit of their client.
//!
//! In Argo CD each update of a set's status waits for a token of the client when it is sent, and again for each retry
//! after a conflict. Updates of other sets get their tokens in between. So each try here is sent at an event of its
//! own. A pass of an only set, whose requests nobody can come between, reserves its tokens at its beginning
//! ([`super::pass`]); both have the same times.
//!
//! The decision of a pass depends on whether its updates are accepted. It is made anew with every answer, from the
//! applications as the pass has listed them at its beginning, until it asks for no further update.
//!
//! Left out: two requests before the deletion of an application that is no longer generated, which still reserve their
//! tokens together.
//!
//! How we know: the recordings of several sets (`sim::tests::several`) have the same instructions in the same order.

use super::super::application_controller::SetStep;
use super::ArgoCdController;
use super::set_client::{RunningUpdate, SetUpdate, UpdatePurpose};
use crate::control_plane::{Plane, UpdateTry};
use crate::rollout::TargetSet;
use crate::rollout::argo_cd::{ApplicationView, SetWrite};
use crate::units::SimTime;

/// A pass that decides.
pub(super) struct DecidingPass {
    /// The applications at the beginning of the pass.
    listed: Vec<ApplicationView>,
    /// The applications that had changed since the last pass.
    changed: TargetSet,
    /// When each update so far was accepted. `None`: it was refused.
    answers: Vec<Option<SimTime>>,
}

impl ArgoCdController<'_> {
    /// Lets the next pass begin after all events of this instant, as informers queue what they receive together.
    pub(super) fn begin_passes_later(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        if self.view.queue.has_waiting() && !std::mem::replace(&mut self.is_beginning, true) {
            self.view.queue.step(now, SetStep::Begins, plane);
        }
    }

    /// Begins the decision of a pass.
    pub(super) fn begin_decision(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let unchanged = TargetSet::new(self.clusters.len());
        let pass = DecidingPass {
            listed: self.view.set.clone(),
            changed: std::mem::replace(&mut self.view.changed, unchanged),
            answers: Vec::new(),
        };
        self.decide(pass, now, plane);
    }

    /// Decides with the answers so far. Sends the next update, or begins the writes of Applications if no update is
    /// left.
    fn decide(&mut self, pass: DecidingPass, now: SimTime, plane: &mut Plane<'_>) {
        let mut scheduler = self.scheduler.clone();
        let mut answers = pass.answers.iter();
        let mut next = None;
        let decided =
            scheduler.reconcile_changed(self.passed, &pass.listed, &pass.changed, &mut |write| {
                match answers.next() {
                    Some(answer) => *answer,
                    None => {
                        next.get_or_insert(write);
                        None
                    }
                }
            });
        if let Some(write) = next {
            self.deciding = Some(pass);
            self.begin_update(RunningUpdate::of_decision(write), now, plane);
        } else {
            self.scheduler = scheduler;
            self.begin_writes(decided, now, plane);
        }
    }

    /// Begins an update of the set at `at`.
    pub(super) fn begin_update(
        &mut self,
        update: RunningUpdate,
        at: SimTime,
        plane: &mut Plane<'_>,
    ) {
        self.client.updating = Some(update);
        if at > plane.now() {
            self.view.queue.step(at, SetStep::Try, plane);
        } else {
            self.try_update(at, plane);
        }
    }

    /// Sends the next try of the update in progress.
    pub(super) fn try_update(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let client = &mut self.client;
        let Some(update) = &mut client.updating else {
            return;
        };
        let tries = update.tries;
        update.tries += 1;
        let of_set = client.update_of_set();
        match client.api.try_update(of_set, now, tries) {
            UpdateTry::Again(at) => self.view.queue.step(at, SetStep::Try, plane),
            UpdateTry::Accepted(at) => {
                let step = SetStep::Updated { is_written: true };
                self.view.queue.step(at, step, plane)
            }
            UpdateTry::Refused(at) => {
                let step = SetStep::Updated { is_written: false };
                self.view.queue.step(at, step, plane)
            }
        };
    }

    /// Handles the answer to the last try of an update.
    pub(super) fn updated(&mut self, is_written: bool, now: SimTime, plane: &mut Plane<'_>) {
        let Some(update) = self.client.updating.take() else {
            return;
        };
        if is_written && update.is_new {
            self.client.written = Some(now);
        }
        match update.purpose {
            UpdatePurpose::List(listed) => {
                let update = SetUpdate {
                    is_written,
                    answered: now,
                };
                self.end_list(listed, update, plane);
            }
            UpdatePurpose::Decision(write) => {
                if is_written {
                    self.note_written(write, now, plane);
                }
                if let Some(mut pass) = self.deciding.take() {
                    pass.answers.push(is_written.then_some(now));
                    self.decide(pass, now, plane);
                }
            }
        }
    }

    /// Records an accepted write of rows or conditions. The controller sees new rows one watch delay later.
    fn note_written(&mut self, write: SetWrite, now: SimTime, plane: &mut Plane<'_>) {
        match write {
            SetWrite::Rows { is_new: true } => {
                self.rows_written.push(now);
                let seen = now + self.watch_delay;
                self.view.queue.step(seen, SetStep::Seen, plane);
            }
            SetWrite::Conditions { is_new: true } => self.condition_written = Some(now),
            SetWrite::Rows { is_new: false } | SetWrite::Conditions { is_new: false } => {}
        }
    }
}

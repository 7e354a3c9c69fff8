//! What users request of the Cloud Controller: deployments, their continuation, and their end.
//!
//! Follows `app/actions/deployment_{create,continue,cancel}.rb` of cloudfoundry/cloud_controller_ng. The API answers at
//! once, and the updater's next pass sees the result. Users of the experiment's models act at the pass that sees their
//! action; the header of [`super`] says what a later release, a stop and a resumption are.

use super::{CloudFoundryController, QUERIES_OF_A_PASS, QUERIES_OF_A_WRITE, USER};
use crate::control_plane::{Change, Plane};
use crate::products::cloud_foundry::CloudFoundryDeployment;
use crate::products::delay::pause;
use crate::rollout::Revision;
use crate::rollout::cloud_foundry::{Deployment, DeploymentState};
use crate::units::SimTime;
use crate::world::NEW;

impl CloudFoundryController<'_> {
    /// Handles the user's first request, which occupies the updater.
    pub(super) fn create_first(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        if let Some(after) = &self.deployment.cancel_after {
            self.cancels = Some(now + after.sample(&mut self.streams.stream(USER, "cancel")));
        }
        let at = self.create(NEW, now, plane);
        self.runtime.end_pass((), at, 1, false, plane);
    }

    /// Handles a later release: the user requests a deployment of it, which the API handles beside the updater.
    fn release(&mut self, revision: Revision, now: SimTime, plane: &mut Plane<'_>) {
        let mut trial = self.view.clone();
        let CloudFoundryDeployment { rules, options, .. } = self.deployment;
        let refusal = trial.create(*rules, options, revision).err();
        self.refusal = refusal.map(|error| error.to_string());
        if self.refusal.is_none() {
            self.continues = None;
            self.cancels = None;
            self.idle = false;
            let at = self.create(revision, now, plane);
            plane.pass_until(at, 1);
        }
    }

    /// Creates a deployment of a revision: its process, with its first instances. Returns the time of the answer.
    fn create(&mut self, revision: Revision, now: SimTime, plane: &mut Plane<'_>) -> SimTime {
        let CloudFoundryDeployment { rules, options, .. } = self.deployment;
        self.oldest = self.view.processes[0].id;
        self.view
            .create(*rules, options, revision)
            .expect("a checked deployment is created");
        let process = self.view.processes.last().expect("the deployment has one");
        let new = process.id;
        let instances = process.instances;
        self.new = Some(new);
        plane.begin_pass(0);
        let at = self
            .client
            .in_turn(0, now, QUERIES_OF_A_PASS + QUERIES_OF_A_WRITE);
        self.start(new, instances, at, plane);
        self.count_instances();
        if self.view.active().is_some() {
            self.await_next_pass(at, plane);
        }
        at
    }

    /// Lets the updater's next pass handle the app, unless an earlier pass is due.
    fn await_next_pass(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let next = self.clock.borrow().asks_at(now);
        if !self.has_due_pass || next < self.due {
            self.await_pass(next, plane);
        }
    }

    /// Schedules the app's next pass.
    pub(super) fn await_pass(&mut self, due: SimTime, plane: &mut Plane<'_>) {
        self.due = due;
        self.has_due_pass = true;
        self.runtime.add_at((), due, plane);
    }

    /// Handles a person's action, which the API answers at once. The next pass follows it.
    pub(super) fn person(&mut self, change: &Change, now: SimTime, plane: &mut Plane<'_>) {
        match change {
            Change::Release(revision) => self.release(*revision, now, plane),
            Change::Stop(is_stopped) => {
                let has_changed = if *is_stopped {
                    self.cancel_active()
                } else {
                    self.continue_active()
                };
                if has_changed {
                    self.idle = false;
                    self.await_next_pass(now, plane);
                    plane.shows();
                }
            }
            _ => {}
        }
    }

    /// Cancels the deployment in progress. Returns whether there is one.
    fn cancel_active(&mut self) -> bool {
        let deployments = &self.view.deployments;
        let Some(index) = deployments.iter().rposition(Deployment::is_active) else {
            return false;
        };
        self.continues = None;
        self.cancels = None;
        self.view.cancel_deployment(index).is_ok()
    }

    /// Continues the deployment that is paused. Returns whether there is one.
    fn continue_active(&mut self) -> bool {
        let deployments = &self.view.deployments;
        let Some(index) = deployments.iter().rposition(Deployment::is_paused) else {
            return false;
        };
        self.continues = None;
        self.view.continue_deployment(index).is_ok()
    }

    /// Applies the user's actions since the last pass.
    pub(super) fn user_acts(&mut self, now: SimTime) {
        let Some(index) = self
            .view
            .deployments
            .iter()
            .rposition(Deployment::is_active)
        else {
            return;
        };
        let continues = self.continues.filter(|at| *at <= now);
        let cancels = self.cancels.filter(|at| *at <= now);
        if let Some(at) = cancels
            && continues.is_none_or(|continues| at <= continues)
        {
            self.cancels = None;
            self.continues = None;
            self.view
                .cancel_deployment(index)
                .expect("an active deployment can be cancelled");
        } else if continues.is_some() {
            self.continues = None;
            self.view
                .continue_deployment(index)
                .expect("it is paused until the user continues or cancels it");
            if let Some(at) = continues {
                self.continued.push((at, self.conditions()));
            }
            self.user_acts(now);
        }
    }

    /// Returns the time of the pass that notices the user's next action.
    pub(super) fn user_wakes(&mut self, now: SimTime, plane: &mut Plane<'_>) -> Option<SimTime> {
        let active = self.view.active()?;
        if active.state == DeploymentState::Paused && self.continues.is_none() {
            let nth = u64::from(active.canary_current_step.unwrap_or(1)).saturating_sub(1);
            let after = self.deployment.continue_after.as_ref();
            let own = after.map(|after| now + pause(after, &self.streams, nth));
            self.continues = plane.person_acts(now, own);
        }
        let next = self.continues.into_iter().chain(self.cancels).min()?;
        Some(self.clock.borrow().asks_at(next.max(now)))
    }
}

//! One pass of the updater: scaling by shipped or documented rules, finishing and cancelling.
//!
//! Follows `lib/cloud_controller/deployment_updater/{dispatcher,updater}.rb` and its
//! `actions/{scale,up_scaler,down_scaler,scale_down_canceled_processes,scale_down_old_process,finalize,cancel}.rb`.
//!
//! The decisions of a pass depend on the instances of the new process at the start of the pass: at most
//! `max_in_flight` instances are started beyond the routable ones, no instances while one is unhealthy, and old
//! instances that are replaced by routable ones are removed. The instances of old processes are ignored, so more
//! instances can exist than desired. Nothing times out, and old instances do not compensate for lost ones.

use super::super::Pass;
use super::draft::{Draft, OldProcess};
use super::reports::InstanceCounts;
use super::view::{AppView, Deployment, DeploymentState, Process, ProcessAction};
use super::{CloudFoundryBugs, RuleSet, documented};

/// Runs one pass over all deployments of an app.
pub(super) fn pass(
    rules: RuleSet,
    defects: CloudFoundryBugs,
    view: &AppView,
) -> Pass<ProcessAction, Vec<Deployment>> {
    let mut draft = Draft::new(view);
    let mut deployments = view.deployments.clone();
    // The lists are created before any change, and do not contain paused or finished deployments.
    for state in [
        DeploymentState::Deploying,
        DeploymentState::Canceling,
        DeploymentState::Prepaused,
    ] {
        for (before, after) in view.deployments.iter().zip(&mut deployments) {
            if before.state != state {
                continue;
            }
            let mut tick = DeploymentTick {
                rules,
                defects,
                view,
                draft: &mut draft,
                before,
                after,
            };
            let result = if state == DeploymentState::Canceling {
                tick.cancel()
            } else {
                tick.roll()
            };
            if let Err(error) = result {
                after.error = Some(error);
            }
        }
    }
    Pass {
        actions: draft.actions,
        wake_at: None,
        status: deployments,
    }
}

/// The result of scaling a deployment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ScaleProgress {
    /// No change was needed, and nothing is written.
    Idle,
    /// A change was made or attempted.
    Moved,
    /// All instances of the step, or of the deployment, are routable.
    Finished,
}

/// How far a deployment may scale at a given number of routable new instances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ScaleLimits {
    /// Number of old instances that stay.
    pub(super) old: u64,
    /// Number of new instances that `max_in_flight` allows.
    pub(super) new: u64,
}

/// One deployment in a pass. Errors are messages to a client.
struct DeploymentTick<'a, 'v> {
    rules: RuleSet,
    defects: CloudFoundryBugs,
    view: &'v AppView,
    draft: &'a mut Draft<'v>,
    before: &'v Deployment,
    after: &'a mut Deployment,
}

impl DeploymentTick<'_, '_> {
    /// Runs the pass of a deployment in progress.
    fn roll(&mut self) -> Result<(), String> {
        let Some(id) = self.before.process else {
            return Ok(());
        };
        let mut processes = self.view.processes.iter();
        let Some(new) = processes.position(|process| process.id == id) else {
            return Ok(());
        };
        if !self.view.diego_available {
            return match self.rules {
                // The product intends to skip the pass silently, but catches the wrong exception class.
                RuleSet::Shipped => {
                    Err(unexpected("CloudController::Errors::InstancesUnavailable"))
                }
                RuleSet::Documented => Ok(()),
            };
        }
        let before = self.draft.clone();
        let scaled = self.scale(new);
        let progress = scaled.inspect_err(|_| self.draft.clone_from(&before))?;
        if progress != ScaleProgress::Idle {
            self.after.error = None;
        }
        if progress == ScaleProgress::Finished {
            if self.before.state == DeploymentState::Prepaused {
                self.after.state = DeploymentState::Paused;
            } else {
                self.finalize(new, &before)?;
            }
        }
        Ok(())
    }

    /// Runs the last step: destroys all other processes that existed when the pass started. A process that the pass
    /// itself destroyed is destroyed again, which fails, as in the shipped product; the next pass succeeds.
    fn finalize(&mut self, new: usize, before: &Draft<'_>) -> Result<(), String> {
        let fails_twice = self.defects.interim_trap && self.rules == RuleSet::Shipped;
        for index in 0..self.view.processes.len() {
            if index == new || before.is_destroyed(index) {
                continue;
            }
            if fails_twice && self.draft.is_destroyed(index) {
                return Err(unexpected("Sequel::NoExistingObject"));
            }
            self.draft.destroy(index);
        }
        self.after.state = DeploymentState::Deployed;
        Ok(())
    }

    /// Scales the old processes down and the new one up.
    fn scale(&mut self, new: usize) -> Result<ScaleProgress, String> {
        let process = &self.view.processes[new];
        let goal = self.before.goal(self.rules).canary;
        let counts = process.counts();
        let is_done = process.instances >= goal && counts.routable >= goal;
        let limits = ScaleLimits::of(self.rules, self.before, counts.routable);
        let growth = self.growth(process, counts, limits.new);

        let mut old = self.old_processes(new);
        let can_shrink = excess(&old, limits.old) > 0;
        if growth.is_none() && !can_shrink {
            let is_finished = is_done && self.rules == RuleSet::Documented;
            return Ok(if is_finished {
                ScaleProgress::Finished
            } else {
                ScaleProgress::Idle
            });
        }
        if self.rules == RuleSet::Shipped {
            // As shipped, purged instances still count as old in this pass.
            self.purge()?;
            if !self.defects.purge {
                old = self.old_processes(new);
            }
        }
        let cut = excess(&old, limits.old);
        if can_shrink && cut > 0 {
            self.draft.shrink(&old, cut)?;
        }
        if is_done {
            return Ok(ScaleProgress::Finished);
        }
        if let Some(instances) = growth {
            self.draft.save(new, instances)?;
        }
        Ok(ScaleProgress::Moved)
    }

    /// Returns the number of instances that the new process may grow to. `None`: the process may not grow.
    fn growth(&self, process: &Process, counts: InstanceCounts, most: u64) -> Option<u32> {
        match self.rules {
            RuleSet::Shipped => {
                // The product's third condition, on routable instances, follows from the other two.
                let can_grow = u64::from(counts.starting) < self.before.options.max_in_flight
                    && counts.unhealthy == 0;
                can_grow.then_some(most as u32)
            }
            RuleSet::Documented => {
                // Instances that existed at the start of the pass still exist, even if they are being stopped.
                let instances = u64::from(process.instances);
                let room = documented::room(self.before, &self.view.processes);
                let grown = most.min(instances + room);
                (grown > instances).then_some(grown as u32)
            }
        }
    }

    /// Returns the processes other than the new one, as saved so far.
    fn old_processes(&self, new: usize) -> Vec<OldProcess> {
        let mut old = Vec::new();
        for index in 0..self.view.processes.len() {
            if index != new {
                let instances = self.draft.instances(index);
                old.push(OldProcess { index, instances });
            }
        }
        old
    }

    /// Scales the processes of superseded canary deployments to 0. The oldest process gets no additional instances.
    fn purge(&mut self) -> Result<(), String> {
        let mut purged = Vec::new();
        for deployment in &self.view.deployments {
            if deployment.superseded && deployment.state == DeploymentState::Canceled {
                purged.extend(deployment.process);
            }
        }
        for (index, process) in self.view.processes.iter().enumerate() {
            if purged.contains(&process.id) {
                self.draft.save(index, 0)?;
            }
        }
        Ok(())
    }

    /// Runs the pass of a cancelled deployment: one process survives, and gets all instances immediately.
    fn cancel(&mut self) -> Result<(), String> {
        let before = self.draft.clone();
        let Some(survivor) = self.survivor() else {
            return Ok(());
        };
        // Destroying first frees the quotas.
        for index in 0..self.view.processes.len() {
            if index != survivor {
                self.draft.destroy(index);
            }
        }
        let saved = self.draft.save(survivor, self.before.original_instances);
        saved.inspect_err(|_| self.draft.clone_from(&before))?;
        self.after.state = DeploymentState::Canceled;
        self.after.error = None;
        Ok(())
    }

    /// Returns the newest process of a superseded deployment that has a running instance, or else the oldest process.
    fn survivor(&self) -> Option<usize> {
        for (index, process) in self.view.processes.iter().enumerate().rev() {
            if self.view.diego_available && self.is_interim(process) && process.has_running() {
                return Some(index);
            }
        }
        self.draft.oldest()
    }

    /// Returns whether a process belongs to a deployment that was superseded while it was deploying.
    fn is_interim(&self, process: &Process) -> bool {
        self.view.deployments.iter().any(|deployment| {
            deployment.process == Some(process.id)
                && deployment.superseded
                && deployment.state == DeploymentState::Deployed
        })
    }
}

impl ScaleLimits {
    /// Returns the limits while `routable` new instances are routable.
    pub(super) fn of(rules: RuleSet, deployment: &Deployment, routable: u32) -> Self {
        let goal = deployment.goal(rules);
        let old = match rules {
            RuleSet::Shipped => goal.total().saturating_sub(routable),
            RuleSet::Documented => documented::keep(deployment, routable),
        };
        let new = u64::from(routable).saturating_add(deployment.options.max_in_flight);
        Self {
            old: u64::from(old),
            new: new.min(u64::from(goal.canary)),
        }
    }
}

/// Returns the number of old instances beyond the `keep` that stay.
fn excess(old: &[OldProcess], keep: u64) -> u64 {
    let instances: u64 = old.iter().map(|old| u64::from(old.instances)).sum();
    instances.saturating_sub(keep)
}

fn unexpected(class: &str) -> String {
    format!("An unexpected error has occurred: {class}")
}

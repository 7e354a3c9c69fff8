//! One pass of the updater: scaling as shipped or as documented, finishing and cancelling.
//!
//! Follows `lib/cloud_controller/deployment_updater/{dispatcher,updater}.rb` and its
//! `actions/{scale,up_scaler,down_scaler,scale_down_canceled_processes,scale_down_old_process,finalize,cancel}.rb`.
//!
//! The decisions of a pass follow from the new process's instances at its start: at most `max_in_flight` are started
//! beyond the routable ones, none while one is unhealthy, and old instances that the routable ones replace are
//! removed. The instances of old processes are ignored, so more instances can exist than desired. Nothing times out,
//! and old instances do not compensate for lost ones.

use super::super::Pass;
use super::draft::Draft;
use super::scaling::{Goals, ScaleProgress, limits, shrink};
use super::view::{AppView, Deployment, DeploymentState, ProcessAction};
use super::{CloudFoundryBugs, RuleSet, documented};

/// One pass over all deployments of an app.
pub(super) fn pass(rules: RuleSet, defects: CloudFoundryBugs, view: &AppView) -> Pass<ProcessAction, Vec<Deployment>> {
    let mut draft = Draft::new(view);
    let mut deployments = view.deployments.clone();
    // The lists are made before any change, and contain no paused or finished deployment.
    for state in [DeploymentState::Deploying, DeploymentState::Canceling, DeploymentState::Prepaused] {
        for (before, after) in view.deployments.iter().zip(&mut deployments).filter(|(before, _)| before.state == state)
        {
            let mut tick = DeploymentTick { rules, defects, view, draft: &mut draft, before, after };
            let result = if state == DeploymentState::Canceling { tick.cancel() } else { tick.roll() };
            if let Err(error) = result {
                after.error = Some(error);
            }
        }
    }
    Pass { actions: draft.actions, wake_at: None, status: deployments }
}

/// One deployment in a pass. Errors are texts as a client sees them.
struct DeploymentTick<'a, 'v> {
    rules: RuleSet,
    defects: CloudFoundryBugs,
    view: &'v AppView,
    draft: &'a mut Draft<'v>,
    before: &'v Deployment,
    after: &'a mut Deployment,
}

impl DeploymentTick<'_, '_> {
    /// The pass of a deployment in progress.
    fn roll(&mut self) -> Result<(), String> {
        let is_new = |id| self.view.processes.iter().position(|process| process.id == id);
        let Some(new) = self.before.process.and_then(is_new) else { return Ok(()) };
        if !self.view.diego_available {
            return match self.rules {
                // The product intends to skip the pass silently, but catches the wrong class.
                RuleSet::Shipped => Err(unexpected("CloudController::Errors::InstancesUnavailable")),
                RuleSet::Documented => Ok(()),
            };
        }
        let before = self.draft.clone();
        let progress = self.scale(new).inspect_err(|_| self.draft.clone_from(&before))?;
        if progress != ScaleProgress::Idle {
            self.after.error = None;
        }
        if progress == ScaleProgress::Finished {
            if self.before.state == DeploymentState::Prepaused {
                self.after.state = DeploymentState::Paused;
            } else {
                let others = (0..self.view.processes.len()).filter(|index| *index != new);
                self.finalize(others.filter(|index| !before.is_destroyed(*index)).collect())?;
            }
        }
        Ok(())
    }

    /// Scales down and up.
    fn scale(&mut self, new: usize) -> Result<ScaleProgress, String> {
        let (deployment, process) = (self.before, &self.view.processes[new]);
        let is_shipped = self.rules == RuleSet::Shipped;
        let goals = Goals::of(self.rules, deployment);
        let counts = process.counts();
        let instances = u64::from(process.instances);
        let (keep, most) = limits(self.rules, deployment, counts.routable);
        let (grown, can_grow) = if is_shipped {
            let max_in_flight = deployment.max_in_flight;
            // The third condition follows from the others.
            let can_grow = u64::from(counts.starting) < max_in_flight
                && counts.unhealthy == 0
                && u64::from(counts.routable) >= instances.saturating_sub(max_in_flight);
            (most, can_grow)
        } else {
            // Instances that existed at the start of the pass still exist, even if they are being stopped.
            let grown = most.min(instances + documented::room(deployment, &self.view.processes));
            (grown, grown > instances)
        };
        let old: Vec<usize> = (0..self.view.processes.len()).filter(|index| *index != new).collect();
        let count = |draft: &Draft<'_>| old.iter().map(|index| draft.instances(*index)).collect::<Vec<u32>>();
        let excess = |counted: &[u32]| counted.iter().map(|it| u64::from(*it)).sum::<u64>().saturating_sub(keep);
        let is_done = process.instances >= goals.new && counts.routable >= goals.new;

        let mut counted = count(self.draft);
        let can_shrink = excess(&counted) > 0;
        if !can_grow && !can_shrink {
            let is_finished = is_done && !is_shipped;
            return Ok(if is_finished { ScaleProgress::Finished } else { ScaleProgress::Idle });
        }
        if is_shipped {
            // Purged instances still count as old in this pass, as shipped.
            self.purge()?;
            if !self.defects.purge {
                counted = count(self.draft);
            }
        }
        if can_shrink && excess(&counted) > 0 {
            shrink(self.draft, &old, &counted, excess(&counted))?;
        }
        if is_done {
            return Ok(ScaleProgress::Finished);
        }
        if can_grow {
            self.draft.save(new, grown as u32)?;
        }
        Ok(ScaleProgress::Moved)
    }

    /// Scales the processes of superseded canary deployments to 0. The oldest process gains nothing.
    fn purge(&mut self) -> Result<(), String> {
        let is_purged =
            |deployment: &&Deployment| deployment.superseded && deployment.state == DeploymentState::Canceled;
        let purged: Vec<_> = self.view.deployments.iter().filter(is_purged).filter_map(|it| it.process).collect();
        for index in (0..self.view.processes.len()).filter(|index| purged.contains(&self.view.processes[*index].id)) {
            self.draft.save(index, 0)?;
        }
        Ok(())
    }

    /// The last step: destroys all other processes that existed when the pass started. One that the pass itself
    /// destroyed is destroyed again, which fails, as shipped; the next pass finds it gone.
    fn finalize(&mut self, others: Vec<usize>) -> Result<(), String> {
        for index in others {
            if self.draft.is_destroyed(index) && self.defects.interim_trap && self.rules == RuleSet::Shipped {
                return Err(unexpected("Sequel::NoExistingObject"));
            }
            self.draft.destroy(index);
        }
        self.after.state = DeploymentState::Deployed;
        Ok(())
    }

    /// The pass of a cancelled deployment: one process survives, and gets all instances immediately.
    fn cancel(&mut self) -> Result<(), String> {
        let before = self.draft.clone();
        let Some(survivor) = self.survivor() else { return Ok(()) };
        // Destroying first makes room in the quotas.
        for index in (0..self.view.processes.len()).filter(|index| *index != survivor) {
            self.draft.destroy(index);
        }
        let saved = self.draft.save(survivor, self.before.original_instances);
        saved.inspect_err(|_| self.draft.clone_from(&before))?;
        self.after.state = DeploymentState::Canceled;
        self.after.error = None;
        Ok(())
    }

    /// The newest process of a superseded deployment that has a running instance, else the oldest process.
    fn survivor(&self) -> Option<usize> {
        let is_interim =
            |deployment: &Deployment| deployment.superseded && deployment.state == DeploymentState::Deployed;
        let runs = |index: &usize| {
            let process = &self.view.processes[*index];
            let owned = self.view.deployments.iter().any(|d| d.process == Some(process.id) && is_interim(d));
            let mut lrps = process.lrps.iter().take(process.instances as usize);
            owned && self.view.diego_available && lrps.any(|lrp| lrp.is_running())
        };
        (0..self.view.processes.len()).rev().find(runs).or_else(|| self.draft.oldest())
    }
}

fn unexpected(class: &str) -> String {
    format!("An unexpected error has occurred: {class}")
}

//! One pass of the updater, as shipped.
//!
//! Follows `lib/cloud_controller/deployment_updater/{dispatcher,updater}.rb` and its
//! `actions/{scale,up_scaler,down_scaler,scale_down_canceled_processes,scale_down_old_process,finalize,cancel}.rb`.
//!
//! The decisions of a pass follow from the new process's instances at its start: at most `max_in_flight` are started
//! beyond the routable ones, none while one is unhealthy, and old instances that the routable ones replace are
//! removed. The instances of old processes are ignored, so more instances can exist than desired. Nothing times out,
//! and old instances do not compensate for lost ones.

use super::super::Pass;
use super::draft::{Draft, PassError};
use super::scaling::{Goals, ScaleProgress, shrink};
use super::view::{AppView, Deployment, DeploymentState, ProcessAction, UpdaterStatus};
use super::{CloudFoundryBugs, RuleSet, documented};
use crate::units::SimTime;

/// One pass over all deployments of an app.
pub(super) fn pass(
    rules: RuleSet,
    defects: CloudFoundryBugs,
    now: SimTime,
    view: &AppView,
) -> Pass<ProcessAction, UpdaterStatus> {
    let mut draft = Draft::new(view);
    let mut status = UpdaterStatus { deployments: view.deployments.clone(), restarts_non_web: false };
    // The lists are made before any change, and contain no paused or finished deployment.
    for state in [DeploymentState::Deploying, DeploymentState::Canceling, DeploymentState::Prepaused] {
        for index in (0..view.deployments.len()).filter(|index| view.deployments[*index].state == state) {
            let mut tick = DeploymentTick { rules, defects, now, view, draft: &mut draft, status: &mut status, index };
            let result = if state == DeploymentState::Canceling { tick.cancel() } else { tick.roll() };
            if let Err(error) = result {
                status.deployments[index].error = Some(error.to_string());
            }
        }
    }
    Pass { actions: draft.actions, wake_at: None, status }
}

/// One deployment in a pass.
struct DeploymentTick<'a, 'v> {
    rules: RuleSet,
    defects: CloudFoundryBugs,
    now: SimTime,
    view: &'v AppView,
    draft: &'a mut Draft<'v>,
    status: &'a mut UpdaterStatus,
    index: usize,
}

impl DeploymentTick<'_, '_> {
    fn deployment(&mut self) -> &mut Deployment {
        &mut self.status.deployments[self.index]
    }

    /// The index of the new process.
    fn new_process(&mut self) -> Option<usize> {
        let id = self.deployment().process?;
        self.view.processes.iter().position(|process| process.id == id)
    }

    /// The pass of a deployment in progress.
    fn roll(&mut self) -> Result<(), PassError> {
        let Some(new) = self.new_process() else { return Ok(()) };
        if !self.view.diego_available {
            return match self.rules {
                RuleSet::Shipped => Err(PassError::InstancesUnavailable),
                RuleSet::Documented => Ok(()),
            };
        }
        let before = self.draft.clone();
        let deployment = &self.view.deployments[self.index];
        let scaled = match self.rules {
            RuleSet::Shipped => scale(self.defects, self.view, deployment, new, self.draft),
            RuleSet::Documented => documented::scale(self.view, deployment, new, self.draft),
        };
        let progress = match scaled {
            Ok((progress, grows)) => {
                let now = self.now;
                let deployment = self.deployment();
                if progress != ScaleProgress::Idle {
                    deployment.error = None;
                }
                if grows {
                    deployment.last_healthy_at = Some(now);
                }
                progress
            }
            Err(error) => {
                *self.draft = before;
                return Err(error);
            }
        };
        if progress == ScaleProgress::Finished {
            if self.view.deployments[self.index].state == DeploymentState::Prepaused {
                let now = self.now;
                let deployment = self.deployment();
                deployment.enter(now, DeploymentState::Paused);
                deployment.last_healthy_at = Some(now);
            } else {
                let others = (0..self.view.processes.len()).filter(|index| *index != new);
                self.finalize(others.filter(|index| !before.is_destroyed(*index)).collect())?;
            }
        }
        Ok(())
    }

    /// The last step: destroys all other processes that existed when the pass started. One that the pass itself
    /// destroyed is destroyed again, which fails, as shipped; the next pass finds it gone.
    fn finalize(&mut self, others: Vec<usize>) -> Result<(), PassError> {
        for index in others {
            if self.draft.is_destroyed(index) && self.defects.interim_trap && self.rules == RuleSet::Shipped {
                return Err(PassError::NoExistingObject);
            }
            self.draft.destroy(index);
        }
        let now = self.now;
        self.deployment().enter(now, DeploymentState::Deployed);
        self.status.restarts_non_web = true;
        Ok(())
    }

    /// The pass of a cancelled deployment: one process survives, and gets all instances immediately.
    fn cancel(&mut self) -> Result<(), PassError> {
        let before = self.draft.clone();
        let Some(survivor) = self.survivor() else { return Ok(()) };
        // Destroying first makes room in the quotas.
        for index in (0..self.view.processes.len()).filter(|index| *index != survivor) {
            self.draft.destroy(index);
        }
        let instances = self.deployment().original_instances;
        if let Err(error) = self.draft.save(survivor, instances) {
            *self.draft = before;
            return Err(error);
        }
        let now = self.now;
        let deployment = self.deployment();
        deployment.enter(now, DeploymentState::Canceled);
        deployment.error = None;
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

/// Scales down and up by the shipped rules. Also returns whether new instances were requested.
fn scale(
    defects: CloudFoundryBugs,
    view: &AppView,
    deployment: &Deployment,
    new: usize,
    draft: &mut Draft<'_>,
) -> Result<(ScaleProgress, bool), PassError> {
    let goals = Goals::of(RuleSet::Shipped, deployment);
    let process = &view.processes[new];
    let counts = process.counts();
    let (instances, routable) = (u64::from(process.instances), u64::from(counts.routable));
    let max_in_flight = deployment.max_in_flight;
    let old: Vec<usize> = (0..view.processes.len()).filter(|index| *index != new).collect();
    let sum = |draft: &Draft<'_>| old.iter().map(|index| u64::from(draft.instances(*index))).sum::<u64>();

    // The third condition follows from the others.
    let can_grow = u64::from(counts.starting) < max_in_flight
        && counts.unhealthy == 0
        && routable >= instances.saturating_sub(max_in_flight);
    let keep = u64::from(goals.total.saturating_sub(counts.routable));
    let can_shrink = sum(draft) > keep;
    if !can_grow && !can_shrink {
        return Ok((ScaleProgress::Idle, false));
    }

    // Purged instances still count as old in this pass, as shipped.
    let mut counted: Vec<u32> = old.iter().map(|index| draft.instances(*index)).collect();
    purge(view, draft)?;
    if !defects.purge {
        counted = old.iter().map(|index| draft.instances(*index)).collect();
    }
    let total: u64 = counted.iter().map(|instances| u64::from(*instances)).sum();
    if can_shrink && total > keep {
        shrink(draft, &old, &counted, total - keep)?;
    }
    if process.instances >= goals.new && counts.routable >= goals.new {
        return Ok((ScaleProgress::Finished, false));
    }
    if can_grow {
        let grown = (routable.saturating_add(max_in_flight)).min(u64::from(goals.new));
        draft.save(new, grown as u32)?;
    }
    Ok((ScaleProgress::Moved, can_grow))
}

/// Scales the processes of superseded canary deployments to 0. The oldest process gains nothing.
fn purge(view: &AppView, draft: &mut Draft<'_>) -> Result<(), PassError> {
    let is_purged = |deployment: &&Deployment| deployment.superseded && deployment.state == DeploymentState::Canceled;
    let purged: Vec<_> =
        view.deployments.iter().filter(is_purged).filter_map(|deployment| deployment.process).collect();
    for index in 0..view.processes.len() {
        if purged.contains(&view.processes[index].id) {
            draft.save(index, 0)?;
        }
    }
    Ok(())
}

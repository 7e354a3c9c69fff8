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
use super::reports::LrpState;
use super::view::{AppView, Deployment, DeploymentState, ProcessAction};
use super::{CloudFoundryBugs, RuleSet, documented};

/// One pass over all deployments of an app.
pub(super) fn pass(
    rules: RuleSet,
    defects: CloudFoundryBugs,
    view: &AppView,
) -> Pass<ProcessAction, Vec<Deployment>> {
    let mut draft = Draft::new(view);
    let mut deployments = view.deployments.clone();
    // The lists are made before any change, and contain no paused or finished deployment.
    for state in [
        DeploymentState::Deploying,
        DeploymentState::Canceling,
        DeploymentState::Prepaused,
    ] {
        for (before, after) in view
            .deployments
            .iter()
            .zip(&mut deployments)
            .filter(|(before, _)| before.state == state)
        {
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
        let is_new = |id| {
            self.view
                .processes
                .iter()
                .position(|process| process.id == id)
        };
        let Some(new) = self.before.process.and_then(is_new) else {
            return Ok(());
        };
        if !self.view.diego_available {
            return match self.rules {
                // The product intends to skip the pass silently, but catches the wrong class.
                RuleSet::Shipped => {
                    Err(unexpected("CloudController::Errors::InstancesUnavailable"))
                }
                RuleSet::Documented => Ok(()),
            };
        }
        let before = self.draft.clone();
        let progress = self
            .scale(new)
            .inspect_err(|_| self.draft.clone_from(&before))?;
        if progress != ScaleProgress::Idle {
            self.after.error = None;
        }
        if progress == ScaleProgress::Finished {
            if self.before.state == DeploymentState::Prepaused {
                self.after.state = DeploymentState::Paused;
            } else {
                // The last step: destroys all other processes that existed when the pass started. One that the pass
                // itself destroyed is destroyed again, which fails, as shipped; the next pass finds it gone.
                let fails_twice = self.defects.interim_trap && self.rules == RuleSet::Shipped;
                let others = (0..self.view.processes.len()).filter(|index| *index != new);
                for index in others.filter(|index| !before.is_destroyed(*index)) {
                    if fails_twice && self.draft.is_destroyed(index) {
                        return Err(unexpected("Sequel::NoExistingObject"));
                    }
                    self.draft.destroy(index);
                }
                self.after.state = DeploymentState::Deployed;
            }
        }
        Ok(())
    }

    /// Scales down and up.
    fn scale(&mut self, new: usize) -> Result<ScaleProgress, String> {
        let (deployment, process) = (self.before, &self.view.processes[new]);
        let is_shipped = self.rules == RuleSet::Shipped;
        let goal = deployment.goal(self.rules).canary;
        let counts = process.counts();
        let (keep, most) = limits(self.rules, deployment, counts.routable);
        let (grown, can_grow) = if is_shipped {
            // The third condition of the product, on routable instances, follows from these.
            (
                most,
                u64::from(counts.starting) < deployment.options.max_in_flight
                    && counts.unhealthy == 0,
            )
        } else {
            // Instances that existed at the start of the pass still exist, even if they are being stopped.
            let instances = u64::from(process.instances);
            let grown = most.min(instances + documented::room(deployment, &self.view.processes));
            (grown, grown > instances)
        };
        // The old processes, each with its assumed number of instances.
        let processes = self.view.processes.len();
        let count = |draft: &Draft<'_>| -> Vec<(usize, u32)> {
            (0..processes)
                .filter(|index| *index != new)
                .map(|index| (index, draft.instances(index)))
                .collect()
        };
        let excess = |old: &[(usize, u32)]| {
            old.iter()
                .map(|(_, it)| u64::from(*it))
                .sum::<u64>()
                .saturating_sub(keep)
        };
        let is_done = process.instances >= goal && counts.routable >= goal;

        let mut old = count(self.draft);
        let can_shrink = excess(&old) > 0;
        if !can_grow && !can_shrink {
            let is_finished = is_done && !is_shipped;
            return Ok(if is_finished {
                ScaleProgress::Finished
            } else {
                ScaleProgress::Idle
            });
        }
        if is_shipped {
            // Purged instances still count as old in this pass, as shipped.
            self.purge()?;
            if !self.defects.purge {
                old = count(self.draft);
            }
        }
        if can_shrink && excess(&old) > 0 {
            self.draft.shrink(&old, excess(&old))?;
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
        let is_purged = |deployment: &&Deployment| {
            deployment.superseded && deployment.state == DeploymentState::Canceled
        };
        let purged: Vec<_> = self
            .view
            .deployments
            .iter()
            .filter(is_purged)
            .filter_map(|it| it.process)
            .collect();
        for index in (0..self.view.processes.len())
            .filter(|index| purged.contains(&self.view.processes[*index].id))
        {
            self.draft.save(index, 0)?;
        }
        Ok(())
    }

    /// The pass of a cancelled deployment: one process survives, and gets all instances immediately.
    fn cancel(&mut self) -> Result<(), String> {
        let before = self.draft.clone();
        let Some(survivor) = self.survivor() else {
            return Ok(());
        };
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
        let is_interim = |deployment: &Deployment| {
            deployment.superseded && deployment.state == DeploymentState::Deployed
        };
        let runs = |index: &usize| {
            let process = &self.view.processes[*index];
            let owned = self
                .view
                .deployments
                .iter()
                .any(|d| d.process == Some(process.id) && is_interim(d));
            let mut lrps = process.lrps.iter().take(process.instances as usize);
            let is_running =
                |lrp| matches!(lrp, &LrpState::Running | &LrpState::RunningNotRoutable);
            owned && self.view.diego_available && lrps.any(is_running)
        };
        (0..self.view.processes.len())
            .rev()
            .find(runs)
            .or_else(|| self.draft.oldest())
    }
}

/// While `routable` new instances are routable: the old ones that stay, and the new ones that max in flight allows.
pub(super) fn limits(rules: RuleSet, deployment: &Deployment, routable: u32) -> (u64, u64) {
    let goal = deployment.goal(rules);
    let keep = match rules {
        RuleSet::Shipped => goal.total().saturating_sub(routable),
        RuleSet::Documented => documented::keep(deployment, routable),
    };
    let most = u64::from(routable).saturating_add(deployment.options.max_in_flight);
    (u64::from(keep), most.min(u64::from(goal.canary)))
}

fn unexpected(class: &str) -> String {
    format!("An unexpected error has occurred: {class}")
}

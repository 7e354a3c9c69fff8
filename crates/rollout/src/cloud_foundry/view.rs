//! The Cloud Controller's records of one app, and Diego's reports of it.
//!
//! Follows `app/models/runtime/{app_model,process_model,deployment_model}.rb` and the status part of
//! `app/presenters/v3/deployment_presenter.rb`. Left out: processes other than web, revisions and rollback, routes.

use super::super::{Pass, Revision, TargetId};
use super::RuleSet;
use super::quota::{AppQuota, Usage};
use super::reports::{InstanceCounts, InstanceReports, LrpState};
use super::request::{DeploymentOptions, DeploymentStrategy};
use super::steps::{CanaryStep, canary_step_plan};

/// One app.
#[derive(Clone, Debug, PartialEq)]
pub struct AppView {
    /// The app's current version: its current droplet.
    pub revision: Revision,
    /// Whether the app is started.
    pub started: bool,
    /// The app's web processes, oldest first.
    pub processes: Vec<Process>,
    /// The app's deployments, oldest first. At most one is active.
    pub deployments: Vec<Deployment>,
    /// The quotas for the app's instances.
    pub quota: AppQuota,
    /// Whether Diego responds.
    pub diego_available: bool,
    /// The id of the next process.
    next_process: u32,
}

/// A web process: a number of interchangeable instances of one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// A number assigned in the order of creation, and never reused.
    pub id: TargetId,
    /// The version of the process's instances.
    pub revision: Revision,
    /// Desired number of instances.
    pub instances: u32,
    /// Memory of one instance.
    pub memory_in_mb: u32,
    /// Diego's reports, by index. Instances beyond the end of the list are not reported. Reports beyond the desired
    /// number belong to instances that are being stopped; the shipped rules ignore these, the documented rules count
    /// them.
    pub lrps: InstanceReports,
}

/// One rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// The process that the deployment rolls out. `None`: the app was stopped, and was started directly with the new
    /// version.
    pub process: Option<TargetId>,
    /// The request's options.
    pub options: DeploymentOptions,
    /// The app's number of instances when this deployment, or the oldest deployment that it supersedes, was created.
    pub original_instances: u32,
    /// The step that the deployment is scaling to or has reached, from 1. `None`: rolling.
    pub canary_current_step: Option<u32>,
    /// The deployment's state.
    pub state: DeploymentState,
    /// Whether a later deployment superseded this one.
    pub superseded: bool,
    /// The error of the last pass that attempted a change.
    pub error: Option<String>,
    /// The version to roll back to.
    pub previous_revision: Revision,
}

/// The internal state of a deployment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DeploymentState {
    /// Scaling to all instances.
    Deploying,
    /// Scaling to a step.
    Prepaused,
    /// At a step, waiting for a user.
    Paused,
    /// A user has cancelled; the next pass rolls back.
    Canceling,
    /// Finished: all instances are new, or a later deployment superseded this one while it was deploying.
    Deployed,
    /// Finished: rolled back to the old version, or a later deployment superseded this one in another state.
    Canceled,
}

/// An action of a pass of the deployment updater, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessAction {
    /// Run this many interchangeable instances of the process, whose revision is fixed when it is created. With 0
    /// instances, the process still exists.
    Scale(TargetId, u32),
    /// Remove the process.
    Delete(TargetId),
}

impl AppView {
    /// Creates a started app that runs `instances` of `revision`, all routable, without a deployment.
    pub fn settled(revision: Revision, instances: u32) -> Self {
        let mut app = Self {
            revision,
            started: true,
            processes: Vec::new(),
            deployments: Vec::new(),
            quota: AppQuota::default(),
            diego_available: true,
            next_process: 0,
        };
        app.add_process(revision, instances).lrps =
            vec![LrpState::Running; instances as usize].into();
        app
    }

    /// Adds a process with the default memory and without reported instances.
    pub(super) fn add_process(&mut self, revision: Revision, instances: u32) -> &mut Process {
        let id = TargetId(self.next_process);
        self.next_process += 1;
        self.processes.push_mut(Process {
            id,
            revision,
            instances,
            memory_in_mb: DEFAULT_MEMORY_IN_MB,
            lrps: InstanceReports::default(),
        })
    }

    /// Creates a stopped app that has `instances` of `revision` once it is started.
    pub fn stopped(revision: Revision, instances: u32) -> Self {
        let mut app = Self::settled(revision, instances);
        app.started = false;
        app.processes[0].lrps = InstanceReports::default();
        app
    }

    /// Returns the app's only active deployment.
    pub fn active(&self) -> Option<&Deployment> {
        self.deployments
            .iter()
            .rfind(|deployment| deployment.is_active())
    }

    /// Returns a process by its id. `None`: the process was destroyed.
    pub fn process(&self, id: TargetId) -> Option<&Process> {
        self.processes.iter().find(|process| process.id == id)
    }

    /// Returns a mutable process by its id, to report on its instances.
    pub fn process_mut(&mut self, id: TargetId) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.id == id)
    }

    /// Returns the desired instances of all processes.
    pub fn desired_instances(&self) -> u64 {
        self.processes
            .iter()
            .map(|process| u64::from(process.instances))
            .sum()
    }

    /// Stores the result of a pass. Diego's reports stay unchanged, because instances change later.
    ///
    /// # Panics
    /// If an action names a process that does not exist.
    pub fn store(&mut self, pass: &Pass<ProcessAction, Vec<Deployment>>) {
        for action in &pass.actions {
            match *action {
                ProcessAction::Scale(target, instances) => {
                    self.process_mut(target)
                        .expect("a process exists when it is scaled")
                        .instances = instances;
                }
                ProcessAction::Delete(target) => {
                    self.processes.retain(|process| process.id != target);
                }
            }
        }
        self.deployments.clone_from(&pass.status);
    }

    /// Returns the usage of the app's processes; zero while the app is stopped.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        if self.started {
            for process in &self.processes {
                usage = usage.with(process.instances, process.memory_in_mb);
            }
        }
        usage
    }
}

/// Default memory of an instance. Source: `cc.default_app_memory` in `jobs/cc_deployment_updater/spec` of
/// cloudfoundry/capi-release at 13ebfc6fbf71b5ca256b619a296eab0aa4234de4.
const DEFAULT_MEMORY_IN_MB: u32 = 1024;

impl Process {
    /// Returns the counts of the process's instances.
    pub fn counts(&self) -> InstanceCounts {
        self.lrps.counts(self.instances)
    }

    /// Returns whether at least one instance of the process runs, routable or not.
    pub(super) fn has_running(&self) -> bool {
        let mut lrps = self.lrps.iter().take(self.instances as usize);
        lrps.any(|lrp| lrp.is_running())
    }

    /// Returns how many instances beyond the desired number Diego still reports: they are being stopped.
    pub fn stopping(&self) -> u32 {
        let beyond = self.lrps.iter().skip(self.instances as usize);
        beyond.filter(|lrp| **lrp != LrpState::Unreported).count() as u32
    }
}

impl Deployment {
    /// Creates a deployment in progress, without a process.
    pub(super) fn new(
        options: &DeploymentOptions,
        original_instances: u32,
        previous_revision: Revision,
    ) -> Self {
        let is_canary = options.strategy == DeploymentStrategy::Canary;
        Self {
            process: None,
            options: options.clone(),
            original_instances,
            canary_current_step: is_canary.then_some(1),
            state: if is_canary {
                DeploymentState::Prepaused
            } else {
                DeploymentState::Deploying
            },
            superseded: false,
            error: None,
            previous_revision,
        }
    }

    /// Returns whether the deployment is neither finished nor cancelled nor superseded.
    pub const fn is_active(&self) -> bool {
        !matches!(
            self.state,
            DeploymentState::Deployed | DeploymentState::Canceled
        )
    }

    /// Returns whether passes process the deployment: not while it is paused or after it has finished.
    pub const fn is_ticked(&self) -> bool {
        matches!(
            self.state,
            DeploymentState::Deploying | DeploymentState::Prepaused | DeploymentState::Canceling
        )
    }

    /// Returns whether the deployment waits for a user at the end of a step.
    pub const fn is_paused(&self) -> bool {
        matches!(self.state, DeploymentState::Paused)
    }

    /// Returns the number of instances that the deployment ends with. It can end with more if a user continues it with
    /// fewer instances than its steps already have.
    pub fn target_instances(&self) -> u32 {
        self.options
            .web_instances
            .unwrap_or(self.original_instances)
    }

    /// Returns the number of new instances that start immediately, limited by max in flight and by the rollout or its
    /// first step.
    pub(super) fn first_batch(&self, rules: RuleSet) -> u64 {
        let all = match (rules, self.options.strategy) {
            (_, DeploymentStrategy::Rolling) => self.target_instances(),
            // The product intends to use the first step's number, but reads its weight as 0.
            (RuleSet::Shipped, DeploymentStrategy::Canary) => 1,
            (RuleSet::Documented, DeploymentStrategy::Canary) => {
                self.current_step(rules).map_or(1, |step| step.canary)
            }
        };
        u64::from(all).min(self.options.max_in_flight)
    }

    /// Returns the deployment's steps in instances; empty for rolling.
    pub fn plan(&self, rules: RuleSet) -> Vec<CanaryStep> {
        let DeploymentOptions {
            strategy,
            web_instances,
            canary_steps,
            ..
        } = &self.options;
        if *strategy == DeploymentStrategy::Rolling {
            return Vec::new();
        }
        canary_step_plan(
            rules,
            self.original_instances,
            *web_instances,
            canary_steps.as_deref(),
        )
    }

    /// Returns the step that the deployment is scaling to or has reached. `None`: rolling.
    pub fn current_step(&self, rules: RuleSet) -> Option<CanaryStep> {
        self.plan(rules)
            .get(self.canary_current_step?.checked_sub(1)? as usize)
            .copied()
    }

    /// Returns the numbers of instances that the deployment scales to: those of a step, or the final ones.
    pub(super) fn goal(&self, rules: RuleSet) -> CanaryStep {
        match self.current_step(rules) {
            Some(step) if self.state == DeploymentState::Prepaused => step,
            _ => CanaryStep {
                canary: self.target_instances(),
                original: 0,
            },
        }
    }

    /// Marks the deployment as superseded by a later one.
    pub(super) fn supersede(&mut self) {
        self.superseded = true;
        self.state = match self.state {
            DeploymentState::Deploying => DeploymentState::Deployed,
            _ => DeploymentState::Canceled,
        };
    }

    /// Returns the value of the deployment's status in the API: `ACTIVE` or `FINALIZED`.
    pub const fn value(&self) -> &'static str {
        if self.is_active() {
            "ACTIVE"
        } else {
            "FINALIZED"
        }
    }

    /// Returns the reason of the deployment's status in the API: `DEPLOYING`, `PAUSED`, `CANCELING`, `DEPLOYED`,
    /// `CANCELED` or `SUPERSEDED`.
    pub const fn reason(&self) -> &'static str {
        match self.state {
            DeploymentState::Deploying | DeploymentState::Prepaused => "DEPLOYING",
            DeploymentState::Paused => "PAUSED",
            DeploymentState::Canceling => "CANCELING",
            DeploymentState::Deployed | DeploymentState::Canceled if self.superseded => {
                "SUPERSEDED"
            }
            DeploymentState::Deployed => "DEPLOYED",
            DeploymentState::Canceled => "CANCELED",
        }
    }
}

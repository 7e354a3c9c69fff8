//! A cluster's agent of Rancher Fleet with the deployments of several bundles, as `controllers/fleet/agent.go` and
//! `controllers/fleet/cluster.go` model it for the real controllers.
//!
//! The deployments share the workers of the agent's two controllers, one that deploys and one that checks what is
//! deployed; the limits of its clients; and its watch of resources. `cluster.go` names the source of each. Left out as
//! there: the back-off of clients that were cut off.

use std::collections::VecDeque;

use super::super::field::Sight;
use super::super::recording::News;
use super::field::ClusterAgents;
use crate::engine::Reservations;
use crate::units::{SimDuration, SimTime};

/// Delay from an event of a deployed resource until the agent checks it, and from the first apply in the cluster until
/// the agent watches its resources.
const SETTLING: SimDuration = SimDuration::from_secs(5);

/// The settings of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FleetAgentSettings {
    pub(super) deploy_workers: usize,
    pub(super) drift_workers: usize,
    /// The requests per second of each client; 0 means no limit.
    pub(super) qps: u32,
    pub(super) burst: u32,
}

/// A controller of the agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AgentController {
    Deploy,
    Drift,
}

/// A step of the agent for one of its deployments.
#[derive(Clone, Debug)]
pub(super) enum FleetClusterStep {
    /// The controller that deploys sees a change.
    Wake,
    /// The content and the values of a revision are read.
    Read(u32),
    /// A pass that has nothing to deploy ends.
    Report,
    /// The watch of resources begins.
    Watch,
    /// The events of resources have settled.
    Settled,
    /// The client may send a status.
    Write(AgentController, DeploymentStatus),
}

/// The status of a deployment, as far as it affects a rollout.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct DeploymentStatus {
    applied: u32,
    is_ready: bool,
    is_failing: bool,
}

/// The state of a key in the queue of a controller.
#[derive(Clone, Copy, Debug, Default)]
struct AgentPass {
    is_waiting: bool,
    is_running: bool,
    /// The key was added while its pass ran.
    is_due_again: bool,
}

/// The queue of a controller of the agent. Its keys are applications.
#[derive(Debug)]
struct AgentQueue {
    free: usize,
    line: VecDeque<usize>,
    passes: Vec<AgentPass>,
}

impl AgentQueue {
    fn new(workers: usize, applications: usize) -> Self {
        Self {
            free: workers,
            line: VecDeque::new(),
            passes: vec![AgentPass::default(); applications],
        }
    }

    fn add(&mut self, application: usize) {
        let pass = &mut self.passes[application];
        if pass.is_running {
            pass.is_due_again = true;
        } else if !pass.is_waiting {
            pass.is_waiting = true;
            self.line.push_back(application);
        }
    }

    /// Returns the next application that a free worker takes.
    fn take(&mut self) -> Option<usize> {
        if self.free == 0 {
            return None;
        }
        let application = self.line.pop_front()?;
        let pass = &mut self.passes[application];
        (pass.is_waiting, pass.is_running) = (false, true);
        self.free -= 1;
        Some(application)
    }

    /// Ends the pass of an application, if one runs.
    fn end(&mut self, application: usize) {
        let pass = &mut self.passes[application];
        if !pass.is_running {
            return;
        }
        pass.is_running = false;
        self.free += 1;
        if std::mem::take(&mut pass.is_due_again) {
            self.add(application);
        }
    }
}

/// One bundle in the cluster.
#[derive(Clone, Debug, Default)]
struct AgentDeployment {
    /// The wanted revision, and whether the deployment is held back.
    spec: Option<WantedDeployment>,
    has_values: bool,
    told: u32,
    applied: u32,
    /// The revisions whose content the agent has read.
    known: Vec<u32>,
    is_ready: bool,
    /// The reason why the last instruction fails to apply or to run. Empty: it does not fail.
    failing: String,
    has_missed: bool,
    owes_report: bool,
    has_timer: bool,
    written: DeploymentStatus,
}

#[derive(Clone, Copy, Debug)]
struct WantedDeployment {
    revision: u32,
    is_held: bool,
}

impl AgentDeployment {
    /// Returns the status that the agent would write now.
    fn status(&self, wanted: u32) -> DeploymentStatus {
        let is_failing = !self.failing.is_empty();
        if self.applied != self.told {
            // Until the newest revision is applied, the status keeps its earlier readiness.
            return DeploymentStatus {
                is_failing: self.written.is_failing || is_failing,
                ..self.written
            };
        }
        if wanted != self.applied {
            return DeploymentStatus {
                applied: self.applied,
                is_ready: self.written.is_ready,
                is_failing: false,
            };
        }
        DeploymentStatus {
            applied: self.applied,
            is_ready: self.is_ready && !is_failing,
            is_failing,
        }
    }
}

/// A cluster with its agent.
#[derive(Debug)]
pub(super) struct FleetCluster {
    deployments: Vec<AgentDeployment>,
    deploys: AgentQueue,
    checks: AgentQueue,
    contents: Option<Reservations>,
    values: Option<Reservations>,
    statuses: Option<Reservations>,
    is_offline: bool,
    /// The time at which the watch of resources begins.
    watches: SimTime,
}

/// Returns the time until a request may be sent.
fn wait_for(limit: &mut Option<Reservations>, now: SimTime) -> SimDuration {
    match limit {
        Some(limit) => limit.reserve(now).saturating_since(now),
        None => SimDuration::ZERO,
    }
}

impl FleetCluster {
    /// Creates a cluster without deployments for a number of applications.
    pub(super) fn new(settings: FleetAgentSettings, applications: usize, is_offline: bool) -> Self {
        let limit =
            (settings.qps > 0).then(|| Reservations::new(f64::from(settings.qps), settings.burst));
        Self {
            deployments: vec![AgentDeployment::default(); applications],
            deploys: AgentQueue::new(settings.deploy_workers, applications),
            checks: AgentQueue::new(settings.drift_workers, applications),
            contents: limit.clone(),
            values: limit.clone(),
            statuses: limit,
            is_offline,
            watches: SimTime::ZERO,
        }
    }

    /// Adds a deployment of an application that runs this revision and is ready. Revision 0: there is none yet.
    pub(super) fn install(&mut self, application: usize, revision: u32, has_values: bool) {
        let is_installed = revision > 0;
        let spec = is_installed.then_some(WantedDeployment {
            revision,
            is_held: false,
        });
        self.deployments[application] = AgentDeployment {
            spec,
            has_values,
            told: revision,
            applied: revision,
            known: vec![revision],
            is_ready: is_installed,
            written: DeploymentStatus {
                applied: revision,
                is_ready: is_installed,
                is_failing: false,
            },
            ..AgentDeployment::default()
        };
    }

    const fn queue(&mut self, controller: AgentController) -> &mut AgentQueue {
        match controller {
            AgentController::Deploy => &mut self.deploys,
            AgentController::Drift => &mut self.checks,
        }
    }

    /// Adds an application to the queue of a controller.
    fn add(
        &mut self,
        controller: AgentController,
        application: usize,
        sight: &mut Sight<'_, FleetClusterStep>,
    ) {
        self.queue(controller).add(application);
        self.serve(controller, sight);
    }

    /// Ends a pass of a controller.
    fn end(&mut self, controller: AgentController, sight: &mut Sight<'_, FleetClusterStep>) {
        self.queue(controller).end(sight.target);
        self.serve(controller, sight);
    }

    /// Lets free workers of a controller begin passes.
    fn serve(&mut self, controller: AgentController, sight: &mut Sight<'_, FleetClusterStep>) {
        let own = sight.target;
        while let Some(application) = self.queue(controller).take() {
            sight.target = application;
            match controller {
                AgentController::Deploy => self.look(sight),
                AgentController::Drift => self.check(sight),
            }
        }
        sight.target = own;
    }

    /// A pass of the controller that deploys.
    fn look(&mut self, sight: &mut Sight<'_, FleetClusterStep>) {
        let deployment = &mut self.deployments[sight.target];
        if self.is_offline {
            deployment.has_missed = true;
            return self.end(AgentController::Deploy, sight);
        }
        let Some(wanted) = deployment.spec else {
            if deployment.told != 0 {
                *deployment = AgentDeployment {
                    known: std::mem::take(&mut deployment.known),
                    has_values: deployment.has_values,
                    has_timer: deployment.has_timer,
                    ..AgentDeployment::default()
                };
                sight.deployed(0);
            }
            return self.end(AgentController::Deploy, sight);
        };
        if wanted.is_held {
            return self.end(AgentController::Deploy, sight);
        }
        if wanted.revision == deployment.told {
            if wanted.revision == deployment.applied || !deployment.failing.is_empty() {
                sight.after(sight.request, FleetClusterStep::Report);
                return;
            }
            return self.end(AgentController::Deploy, sight);
        }
        deployment.told = wanted.revision;
        let mut takes = wait_for(&mut self.contents, sight.now) + sight.request;
        if deployment.has_values {
            takes = takes + wait_for(&mut self.values, sight.now) + sight.request;
        }
        sight.after(takes, FleetClusterStep::Read(wanted.revision));
    }

    /// A pass of the controller that checks what is deployed.
    fn check(&mut self, sight: &mut Sight<'_, FleetClusterStep>) {
        let deployment = &self.deployments[sight.target];
        let is_checked = deployment
            .spec
            .is_some_and(|wanted| !wanted.is_held && wanted.revision == deployment.written.applied);
        if is_checked {
            self.send(AgentController::Drift, sight);
        } else {
            self.end(AgentController::Drift, sight);
        }
    }

    /// Writes the status if it has changed, at the end of a pass.
    fn send(&mut self, controller: AgentController, sight: &mut Sight<'_, FleetClusterStep>) {
        let deployment = &mut self.deployments[sight.target];
        if self.is_offline {
            deployment.owes_report = true;
            return self.end(controller, sight);
        }
        let status = match deployment.spec {
            Some(wanted) if deployment.told != 0 => deployment.status(wanted.revision),
            _ => deployment.written,
        };
        if status == deployment.written {
            return self.end(controller, sight);
        }
        let wait = wait_for(&mut self.statuses, sight.now);
        if wait == SimDuration::ZERO {
            self.write(controller, status, sight);
        } else {
            sight.after(wait, FleetClusterStep::Write(controller, status));
        }
    }

    fn write(
        &mut self,
        controller: AgentController,
        status: DeploymentStatus,
        sight: &mut Sight<'_, FleetClusterStep>,
    ) {
        let deployment = &mut self.deployments[sight.target];
        if self.is_offline {
            deployment.owes_report = true;
        } else if deployment.spec.is_some() {
            deployment.written = status;
            sight.report_health(status.applied, status.is_ready, status.is_failing);
            sight.after(sight.watch, FleetClusterStep::Wake);
        }
        self.end(controller, sight);
    }

    /// Handles an event of a resource: the agent checks when the events have settled.
    fn event(&mut self, sight: &mut Sight<'_, FleetClusterStep>) {
        let deployment = &mut self.deployments[sight.target];
        if !deployment.has_timer && sight.now >= self.watches {
            deployment.has_timer = true;
            sight.after(SETTLING, FleetClusterStep::Settled);
        }
    }

    /// Handles the begin or end of an outage.
    fn reach(&mut self, is_offline: bool, sight: &mut Sight<'_, FleetClusterStep>) {
        if std::mem::replace(&mut self.is_offline, is_offline) == is_offline || is_offline {
            return;
        }
        let own = sight.target;
        for application in 0..self.deployments.len() {
            sight.target = application;
            let deployment = &mut self.deployments[application];
            let is_due = std::mem::take(&mut deployment.has_missed)
                | std::mem::take(&mut deployment.owes_report);
            if is_due {
                self.add(AgentController::Deploy, application, sight);
            }
        }
        sight.target = own;
    }

    /// Begins the watch of resources if this is the first apply in the cluster.
    fn watch(&mut self, sight: &mut Sight<'_, FleetClusterStep>) {
        let mut deployments = self.deployments.iter();
        if deployments.all(|deployment| deployment.applied == 0) {
            self.watches = sight.now + SETTLING;
            sight.after(SETTLING, FleetClusterStep::Watch);
        }
    }
}

impl ClusterAgents for FleetCluster {
    type Step = FleetClusterStep;

    fn is_online(&self) -> bool {
        // The hub writes to its own objects, whether the cluster is online or not.
        true
    }

    fn written(&mut self, revision: u32, is_held: bool, sight: &mut Sight<'_, FleetClusterStep>) {
        let spec = (revision > 0).then_some(WantedDeployment { revision, is_held });
        self.deployments[sight.target].spec = spec;
        sight.after(sight.watch, FleetClusterStep::Wake);
    }

    fn step(&mut self, step: FleetClusterStep, sight: &mut Sight<'_, FleetClusterStep>) {
        let application = sight.target;
        match step {
            FleetClusterStep::Wake => self.add(AgentController::Deploy, application, sight),
            FleetClusterStep::Read(revision) => {
                let deployment = &mut self.deployments[application];
                if deployment.told == revision {
                    deployment.known.push(revision);
                    sight.deployed(revision);
                }
            }
            FleetClusterStep::Report => self.send(AgentController::Deploy, sight),
            FleetClusterStep::Watch => {
                for other in 0..self.deployments.len() {
                    sight.target = other;
                    if self.deployments[other].applied != 0 || other == application {
                        self.event(sight);
                    }
                }
            }
            FleetClusterStep::Settled => {
                self.deployments[application].has_timer = false;
                self.add(AgentController::Drift, application, sight);
            }
            FleetClusterStep::Write(controller, status) => self.write(controller, status, sight),
        }
    }

    fn news(&mut self, news: &News, sight: &mut Sight<'_, FleetClusterStep>) {
        if let Some(is_offline) = news.offline {
            self.reach(is_offline, sight);
        }
        let application = sight.target;
        let (mut is_changed, mut has_result) = (false, false);
        if let Some(revision) = news.applied
            && self.deployments[application].known.contains(&revision)
        {
            if revision != self.deployments[application].applied {
                self.watch(sight);
                let deployment = &mut self.deployments[application];
                (deployment.applied, deployment.is_ready) = (revision, false);
                deployment.failing.clear();
                (is_changed, has_result) = (true, true);
            } else if self.deploys.passes[application].is_running {
                // The cluster has run the revision since before an apply that failed.
                has_result = revision == self.deployments[application].told;
            }
        }
        let deployment = &mut self.deployments[application];
        if let Some(is_ready) = news.ready
            && is_ready != deployment.is_ready
            && news
                .applied
                .is_none_or(|revision| revision == deployment.applied)
        {
            (deployment.is_ready, is_changed) = (is_ready, true);
        }
        if let Some(reason) = &news.failing
            && *reason != deployment.failing
        {
            deployment.failing.clone_from(reason);
            is_changed = true;
            // The last instructed apply has failed, and its failure is the result.
            has_result |= deployment.applied != deployment.told;
        }
        if has_result {
            self.send(AgentController::Deploy, sight);
        }
        if is_changed {
            self.event(sight);
        }
    }
}

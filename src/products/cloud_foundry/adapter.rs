//! Cloud Foundry's deployment updater: what it observes, and how its decisions reach the clusters.
//!
//! The fleet's N clusters represent N Diego cells of one app with N web instances, one in each. Instance i of the new
//! version (counted from 0) runs in cluster i. When the new process is scaled above i instances, cluster i is
//! instructed to run the new revision and pulls its images.
//!
//! | in the world | what Diego reports of the instance |
//! |---|---|
//! | instructed, not applied (also: offline, paused, without agent) | waits for a cell (Unclaimed) |
//! | applied and not ready: it pulls, starts, or is started again after a crash | starting (Claimed) |
//! | a pod of it waits after a failed pull or a crash, or is not ready for a defect | Crashed |
//! | reported ready | running and routable |
//!
//! State changes arrive in agents' reports, with the delays of the experiment's `agent`; each pass asks for waiting
//! instances, as the updater asks Diego. The wait of a crashed instance follows Diego's own rule
//! ([`super::RESTARTS`]): two immediate restarts, then increasingly long waits. An instance that crashes indefinitely
//! is therefore reported as crashed most of the time and as starting now and then. A pass that sees all of them
//! starting may start more instances, so such a run does not end before the horizon.
//!
//! All deployments of a run share the updater, its clock ([`super::updater_clock`]) and its threads. The request of a
//! deployment occupies one of these threads here, while the product handles it in a process of its own.
//!
//! Reports do not start passes: passes run at the updater's period, the first one period after the request. The
//! request itself starts the first instances and is the first row in the list of passes. Users' actions are drawn from
//! the experiment's models and take effect in the next pass.
//!
//! Instances of the old version transfer nothing when they stop. Stopping one takes the workloads' `termination`, at
//! most Diego's grace period. The same applies to the additional instance of a canary. After a cancelled deployment,
//! the clusters with the new revision are instructed to run the old one again.
//!
//! A superseded deployment (the experiment's `supersedes`) leaves an interim process. Its instances count as old ones:
//! they exist at the start, transfer nothing, and stop like other old instances. Old instances that a pass restores
//! exist immediately.
//!
//! The number of unavailable instances in a pass is the app's size minus its routable new instances and wanted old
//! ones.
//!
//! A later release is another deployment with the same options, and the return to an older release is a deployment of
//! its droplet. It supersedes a deployment in progress: the rules of `crates/rollout/src/cloud_foundry` say what
//! happens to the instances of both. A quota that has no room for its first instances refuses it; then the app keeps
//! what it has. People who stop the rollout cancel the deployment (`cf cancel-deployment`), because the product has no
//! pause; people who resume it continue a canary (`cf continue-deployment`).
//!
//! A first deployment is a `cf push` of a stopped app: all instances start simultaneously, without a deployment that
//! could hold them back.
//!
//! Left out: cells with several instances, instances that move to another cell, failed pulls that count as crashes
//! (their retries follow the experiment's `node`), changes of the number of instances, and the start of an instance
//! whose cell runs its version already: it counts as running at once ([`super::cells`]).

mod requests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::CloudFoundryDeployment;
use super::cells::Cells;
use super::updater_clock::{PassStart, UpdaterClock};
use crate::control_plane::{
    ApiClient, Controller, ControllerInput, Plane, Runtime, StatusLog, TargetStates, Traits,
};
use crate::engine::{EntityKey, Streams};
use crate::products::Run;
use crate::rollout::cloud_foundry::{
    AppView, CloudFoundry, Deployment, DeploymentState, GRACEFUL_SHUTDOWN, InstanceReports,
    LrpState, Process, ProcessAction, UPDATE_FREQUENCY,
};
use crate::rollout::{Hold, ObjectCondition, RuleSet, TargetId};
use crate::units::{SimDuration, SimTime};
use crate::world::{ReleaseKind, Report, WorldSpec};

/// Number of queries in a pass before its first write: the database for deployment, app, processes and their counts,
/// and Diego for the instances. Guess.
const QUERIES_OF_A_PASS: usize = 10;

/// Number of queries for one write: a transaction on the process and its quotas, and the notification of Diego. Guess.
const QUERIES_OF_A_WRITE: usize = 4;

/// Number of threads of the updater, for all deployments. Source: `WorkPool.new` in
/// `lib/cloud_controller/deployment_updater/dispatcher.rb` of cloudfoundry/cloud_controller_ng.
const UPDATER_WORKERS: usize = 50;

/// The name of the updater at the hub.
const UPDATER: &str = "deployment updater";

/// The entity name of the user's random streams.
const USER: &str = "cloud foundry user";

/// The Cloud Controller with one app.
pub(super) struct CloudFoundryController<'s> {
    scheduler: CloudFoundry,
    deployment: &'s CloudFoundryDeployment,
    world: &'s WorldSpec,
    streams: Streams,
    client: ApiClient,
    /// The updater, which runs one pass of the app at a time.
    runtime: Runtime<(), ()>,
    /// The clock of the updater, for all apps.
    clock: Rc<RefCell<UpdaterClock>>,
    /// The time of the next pass.
    due: SimTime,
    view: AppView,
    /// The app's process before all deployments.
    oldest: TargetId,
    /// The newest version's process. `None`: no deployment was requested yet.
    new: Option<TargetId>,
    cells: Cells,
    /// Whether a pass is due.
    has_due_pass: bool,
    /// The reason why the Cloud Controller refused the last release. `None`: it did not.
    refusal: Option<String>,
    /// The end times of old instances that are being stopped, by process and index.
    ends: BTreeMap<(TargetId, usize), SimTime>,
    /// The time at which the user continues the deployment, if it is paused.
    continues: Option<SimTime>,
    /// The time at which the user cancels the deployment.
    cancels: Option<SimTime>,
    /// Whether the next pass would again change nothing, unless a report arrives.
    idle: bool,
    /// Maximum number of instances of all versions so far, including those that are being stopped.
    peak_instances: u64,
    /// The times at which a user continued a deployment that the same pass paused again, with the conditions in
    /// between.
    continued: Vec<(SimTime, Vec<ObjectCondition>)>,
}

impl<'s> CloudFoundryController<'s> {
    pub(super) fn new(deployment: &'s CloudFoundryDeployment, run: &Run<'s>) -> Self {
        let world = run.fleet.world;
        let instances = world.clusters.len() as u32;
        let view = deployment.app(world.applications[0].release, instances);
        let clock = run.hub.part(UPDATER, (), UpdaterClock::default());
        clock.borrow_mut().add_app();
        Self {
            scheduler: CloudFoundry::new(deployment.rules).with_defects(deployment.upstream_bugs),
            deployment,
            world,
            streams: run.streams,
            client: ApiClient::new(run.control_loop, &run.streams, "API requests")
                .of_hub(&run.hub)
                .drawing_sums(),
            runtime: Runtime::of_controller(0, run.hub.workers(UPDATER, UPDATER_WORKERS)),
            clock,
            due: SimTime::ZERO,
            oldest: view.processes[0].id,
            view,
            new: None,
            cells: Cells::before_release(world),
            has_due_pass: false,
            refusal: None,
            ends: BTreeMap::new(),
            continues: None,
            cancels: None,
            idle: false,
            peak_instances: 0,
            continued: Vec::new(),
        }
    }

    /// Counts the instances that exist after the writes of a pass: wanted instances, and old ones that are being
    /// stopped. Those of a cancelled version do not count after the cancellation.
    fn count_instances(&mut self) {
        let existing = self.view.desired_instances() + self.ends.len() as u64;
        self.peak_instances = self.peak_instances.max(existing);
    }

    /// Returns the states of the new version's instances, as Diego reports them. Empty if the process does not exist.
    fn instances(&self) -> &[LrpState] {
        self.process().map_or(&[], |process| &process.lrps[..])
    }

    /// Returns the process of the new version, if it exists.
    fn process(&self) -> Option<&Process> {
        self.view.process(self.new?)
    }

    /// Returns the reports of the new version's instances, if its process exists.
    fn reports_mut(&mut self) -> Option<&mut InstanceReports> {
        Some(&mut self.view.process_mut(self.new?)?.lrps)
    }

    /// Scales the new process to `instances`: the clusters of the additional instances are instructed.
    fn start(&mut self, new: TargetId, instances: u32, at: SimTime, plane: &mut Plane<'_>) {
        let clusters = &self.world.clusters;
        let process = self
            .view
            .process_mut(new)
            .expect("a process exists when it is scaled");
        let revision = process.revision;
        for index in process.lrps.len()..instances as usize {
            process.lrps.push(self.cells.start(index, new, revision));
            if index < clusters.len() {
                // It may count as running already.
                plane.changed(TargetId(index as u32));
                plane.deploy(at, &clusters[index], TargetId(index as u32), revision);
            }
        }
    }

    /// Returns how long an old instance takes to stop.
    fn grace(&self, process: TargetId, index: usize) -> SimDuration {
        let world = self.world;
        let kind = if process == self.oldest {
            "cloud foundry old instance"
        } else {
            "cloud foundry interim instance"
        };
        let entity = EntityKey::of(kind).part(index as u64);
        let mut longest = SimDuration::ZERO;
        for (nth, workload) in (0..).zip(&world.applications[0].workloads) {
            let mut stream = self.streams.stream_nth(entity, "termination", nth);
            longest = longest.max(workload.termination.sample(&mut stream));
        }
        longest.min(GRACEFUL_SHUTDOWN)
    }

    /// Removes old instances that have stopped since the last pass from the report.
    fn old_instances_end(&mut self, now: SimTime) {
        let view = &mut self.view;
        self.ends.retain(|(target, index), end| {
            let is_over = *end <= now;
            if is_over && let Some(process) = view.process_mut(*target) {
                process.lrps.set(*index, LrpState::Unreported);
            }
            !is_over
        });
        for process in view
            .processes
            .iter_mut()
            .filter(|process| Some(process.id) != self.new)
        {
            while process.lrps.len() > process.instances as usize
                && process.lrps.last() == Some(&LrpState::Unreported)
            {
                process.lrps.pop();
            }
        }
    }

    /// Scales an old process to `instances`. Surplus instances stop after their grace period; missing ones return
    /// immediately, because they have nothing to download.
    fn scale_old(&mut self, now: SimTime, target: TargetId, instances: usize) {
        let process = self
            .view
            .process_mut(target)
            .expect("a process exists when it is scaled");
        let before = process.instances as usize;
        while process.lrps.len() < instances {
            process.lrps.push(LrpState::Running);
        }
        for index in before..instances {
            process.lrps.set(index, LrpState::Running);
            self.ends.remove(&(target, index));
        }
        for index in instances..before {
            self.ends
                .insert((target, index), now + self.grace(target, index));
        }
    }

    /// Returns whether a pass would change something if it saw all crashed instances restarted. A pass that sees only
    /// some of them restarted does less.
    fn moves_when_restarting(&self, targets: &dyn TargetStates) -> bool {
        let mut view = self.view.clone();
        if let Some(process) = self.new.and_then(|new| view.process_mut(new)) {
            let in_motion: Vec<usize> = process.lrps.in_motion().collect();
            for index in in_motion {
                let restarts = process.lrps[index] == LrpState::Crashed
                    && !targets.is_stuck(TargetId(index as u32));
                if restarts {
                    process.lrps.set(index, LrpState::Claimed);
                }
            }
        }
        !self
            .scheduler
            .clone()
            .reconcile(SimTime::ZERO, &view)
            .actions
            .is_empty()
    }

    /// Returns the conditions of the deployments, which are named by their number. The oldest comes first.
    fn conditions(&self) -> Vec<ObjectCondition> {
        let rules = self.deployment.rules;
        let mut list = Vec::new();
        for (number, deployment) in (1..).zip(&self.view.deployments) {
            list.extend(deployment.conditions(&number.to_string(), rules));
        }
        if self.deployment.statuses == RuleSet::Documented
            && let Some(last) = self.view.deployments.last()
        {
            list.push(last.line_of_cf_app(rules));
        }
        list
    }

    /// Returns the number of routable new instances.
    fn routable(&self) -> usize {
        self.process().map_or(0, |process| {
            process.lrps.counts(process.lrps.len() as u32).routable as usize
        })
    }

    /// Returns the number of instances that the app lacks: its size minus routable new instances and wanted old ones.
    fn lacking(&self) -> u64 {
        let mut old = 0;
        for process in &self.view.processes {
            if Some(process.id) != self.new {
                old += u64::from(process.instances);
            }
        }
        (self.world.clusters.len() as u64).saturating_sub(self.routable() as u64 + old)
    }

    fn learn(&mut self, report: Report) {
        if self.cells.learn(report, &mut self.view) {
            self.idle = false;
        }
    }

    /// Queries Diego about the instances that are not running.
    fn look(&mut self, targets: &dyn TargetStates) {
        let Some(reports) = self.reports_mut() else {
            return;
        };
        let in_motion: Vec<usize> = reports.in_motion().collect();
        for index in in_motion {
            let target = TargetId(index as u32);
            let has_crashed = targets.is_backing_off(target) || targets.is_stuck(target);
            reports.set(
                index,
                if has_crashed {
                    LrpState::Crashed
                } else {
                    LrpState::Claimed
                },
            );
        }
    }

    /// Runs the app's part of a pass of the updater, unless the updater is still busy with other apps.
    fn tick(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let start = self.clock.borrow_mut().join(self.due, now);
        let begun = match start {
            PassStart::In(begun) => begun,
            PassStart::NotBefore(at) => {
                self.await_pass(at, plane);
                self.runtime.done(());
                return;
            }
        };
        self.has_due_pass = false;
        self.look(plane.targets);
        self.continued.clear();
        self.user_acts(now);
        self.old_instances_end(now);
        plane.begin_pass(self.lacking());
        let mut end = self.client.in_turn(0, now, QUERIES_OF_A_PASS);
        let pass = self.scheduler.reconcile(now, &self.view);
        let has_moved = have_other_states(&self.view.deployments, &pass.status);
        for action in &pass.actions {
            end = self.client.in_turn(0, end, QUERIES_OF_A_WRITE);
            match *action {
                ProcessAction::Scale(target, instances) if Some(target) == self.new => {
                    self.start(target, instances, end, plane);
                }
                ProcessAction::Scale(target, instances) => {
                    self.scale_old(now, target, instances as usize);
                }
                ProcessAction::Delete(target) if Some(target) == self.new => {
                    self.go_back(&pass.actions, end, plane);
                }
                ProcessAction::Delete(_) => {}
            }
        }
        self.view.store(&pass);
        self.count_instances();
        self.clock.borrow_mut().ends_at(end);
        let next = now.max(begun + UPDATE_FREQUENCY);
        let user = self.user_wakes(now, plane);
        if let Some(wake_at) = pass.wake_at.map(|_| next).or(user) {
            self.await_pass(wake_at, plane);
        }
        self.idle = !has_moved && pass.actions.is_empty() && user.is_none() && self.ends.is_empty();
        // The deployment's status is FINALIZED.
        let completes = self
            .view
            .deployments
            .last()
            .is_some_and(|last| last.state == DeploymentState::Deployed);
        self.runtime.end_pass((), end, 0, completes, plane);
    }

    /// Instructs the clusters to run the version of the process that survives a cancelled deployment.
    fn go_back(&mut self, actions: &[ProcessAction], at: SimTime, plane: &mut Plane<'_>) {
        let mut processes = self.view.processes.iter();
        let survivor = processes.find(|process| {
            let deletion = ProcessAction::Delete(process.id);
            !actions.contains(&deletion)
        });
        let survivor = survivor.expect("an app keeps a process when a deployment is cancelled");
        let revision = survivor.revision;
        for index in self.cells.go_back(survivor.id, revision) {
            let spec = &self.world.clusters[index];
            plane.deploy(at, spec, TargetId(index as u32), revision);
        }
    }

    /// Returns whether an instance of the new version is starting or restarting.
    fn is_any_starting(&self) -> bool {
        let Some(process) = self.process() else {
            return false;
        };
        process
            .lrps
            .in_motion()
            .any(|index| process.lrps[index] == LrpState::Claimed)
    }
}

/// Returns whether the states of the deployments differ. Their number may differ, too.
fn have_other_states(before: &[Deployment], after: &[Deployment]) -> bool {
    before.len() != after.len()
        || before
            .iter()
            .zip(after)
            .any(|(before, after)| before.state != after.state)
}

impl Controller for CloudFoundryController<'_> {
    /// A first deployment is a push, which has no status that reports completion.
    fn traits(&self) -> Traits {
        Traits {
            reports_completion: self.world.applications[0].release == ReleaseKind::Update,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => self.runtime.release(()),
            ControllerInput::Report(report) => self.learn(report),
            ControllerInput::Timer(number) => _ = self.runtime.due(number, plane),
            ControllerInput::Person(change) => self.person(change, now, plane),
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            match self.new {
                None => self.create_first(now, plane),
                Some(_) => self.tick(now, plane),
            }
        }
    }

    fn is_idle(&self, targets: &dyn TargetStates) -> bool {
        // If nothing else is pending, a starting instance is about to crash.
        self.idle
            && !self.is_any_starting()
            && self.view.active().is_some_and(Deployment::is_ticked)
            && !self.moves_when_restarting(targets)
    }

    /// After a refused release no instance has the wanted version.
    fn is_done(&self, target: TargetId) -> bool {
        self.refusal.is_none() && self.instances().get(target.index()) == Some(&LrpState::Running)
    }

    fn hold(&self) -> Option<Hold> {
        if let Some(refusal) = &self.refusal {
            return Some(Hold::new(
                "quota",
                format!("the last release was refused: {refusal}"),
            ));
        }
        if let Some(hold) = self.scheduler.hold(&self.view) {
            return Some(hold);
        }
        let all = self.instances().len();
        let waiting = all - self.routable();
        if waiting == 0 {
            return None;
        }
        let text = format!(
            "the app was started with all {all} instances, {waiting} of which are not routable; nothing times out"
        );
        Some(Hold::new("routable", text))
    }

    /// A step with as many instances as the previous one is reached in the pass that begins it. Its conditions until
    /// then apply from the time when the user continued.
    fn show(&mut self, log: &mut StatusLog) {
        for (at, conditions) in self.continued.drain(..) {
            if self.view.active().is_some_and(Deployment::is_paused) {
                log.show_at(Some(at), conditions);
            }
        }
        log.show(self.conditions());
    }

    fn peak_instances(&self) -> Option<u64> {
        self.deployment
            .count_instances
            .then_some(self.peak_instances)
    }

    fn timer_kind(&self, number: u32) -> Option<&'static str> {
        self.runtime.timer_kind(number, |()| "acts of people")
    }

    fn stages(&self) -> Vec<String> {
        let clusters = self.world.clusters.len();
        // A first deployment has no canary steps, whatever the request contains.
        let plan = match self.view.deployments.last() {
            Some(deployment) if deployment.process.is_some() => {
                deployment.plan(self.deployment.rules)
            }
            _ => Vec::new(),
        };
        if plan.is_empty() {
            return vec![String::new(); clusters];
        }
        let mut stages = Vec::new();
        for instance in 0..clusters {
            let step = plan
                .iter()
                .position(|step| (step.canary as usize) > instance);
            stages.push(match (step, &self.deployment.options.canary_steps) {
                (None, _) => "after the last step".to_owned(),
                (Some(step), Some(weights)) => format!("step {} ({} %)", step + 1, weights[step]),
                (Some(step), None) => format!("step {}", step + 1),
            });
        }
        stages
    }
}

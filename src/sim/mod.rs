//! One simulated rollout: a real scheduler drives a simulated fleet, from the release to its end.
//!
//! This is the only place that drives the engine, the world and a product together; it names no product. [`run`] is a
//! function of a scenario, a seed and a replicate, on one thread; everything that a report shows comes from the
//! [`RunRecord`] it returns.
//!
//! Each application has its own control plane and its own time of release, and all share the world. A run ends when
//! the products see every target ready on the wanted revision, when no pending event can change what
//! the product sees (the run then reports the rule that blocks the rollout), or at the horizon. After completion the
//! world stops, and only the product continues until it reports the completion itself. Later failures therefore have
//! no effect, and everything except the time of that report is recorded before.
//!
//! An external process with its own control loop has timers that fleetsim does not see. Its run is stalled only after
//! the process has received all events and has shown that it does nothing more until the horizon.
//!
//! A run whose events repeat without progress fails ([`NoProgress`]).

mod activity;
mod application_series;
mod applications;
mod cost;
mod draws;
mod emulated;
mod error;
mod memory;
mod operator;
mod past;
mod path;
mod progress;
mod progress_guard;
mod reach;
mod record;
mod release_log;
mod releases;
mod rollout;
#[cfg(test)]
mod tests;

use crate::control_plane::Change;
use crate::engine::{self, End, EventQueue, Observer, Stop};
use crate::results::{RunOutcome, RunRecord};
use crate::rollout::Hold;
use crate::scenario::{Scenario, Variant};
use crate::units::SimTime;
use crate::world::{
    ApplicationId, DistributionEvent, DriverEvent, Event, Queue, Report, TargetId, World,
};
pub use draws::draw_shares;
pub use emulated::{EndedPull, LabObservation, Laboratory, MeasuredEgress, run_emulated};
pub use error::RunFailure;
pub use memory::{MemoryPart, memory_of_run};
use operator::Operator;
use past::Past;
pub use past::{Continuation, PlannedRest, RolloutSoFar, SeenState, SeenTarget, run_from};
use progress::Progress;
pub use progress_guard::NoProgress;
use progress_guard::{ProgressGuard, ProgressMark};
use reach::Reach;
use record::RunEnd;
use release_log::Publisher;
use rollout::RunningRollout;

/// Runs one variant with the random numbers of this seed and replicate.
///
/// # Errors
/// Returns an error if the strategy's external process fails, or if events repeat endlessly.
pub fn run(variant: &Variant, seed: u64, replicate: u32) -> Result<RunRecord, RunFailure> {
    run_observed(variant, seed, replicate, &mut ())
}

/// Runs one variant like [`run`], and also records the product's status conditions ([`RunRecord::statuses`]) and
/// several applications over time ([`RunRecord::application_series`]).
///
/// # Errors
/// See [`run`].
pub fn run_in_detail(
    variant: &Variant,
    seed: u64,
    replicate: u32,
) -> Result<RunRecord, RunFailure> {
    simulate(variant, seed, replicate, &mut (), true)
}

/// Runs one variant like [`run`], and shows every event to `observer` before it happens.
///
/// # Errors
/// See [`run`].
pub fn run_observed<O: Observer<Event>>(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    observer: &mut O,
) -> Result<RunRecord, RunFailure> {
    simulate(variant, seed, replicate, observer, false)
}

/// Runs one variant like [`run`], but returns no record if `stop` is set before the end.
///
/// # Errors
/// See [`run`].
pub fn run_until(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    stop: &Stop,
) -> Result<Option<RunRecord>, RunFailure> {
    let mut queue = EventQueue::new();
    let label = format!("{}, replicate {replicate}", variant.label);
    let mut sim = Sim::new(&variant.scenario, &label, seed, replicate, &mut queue);
    let horizon = SimTime::ZERO + variant.scenario.horizon;
    let end = engine::run(&mut sim, &mut queue, &mut (), horizon, |sim, queue| {
        stop.ends_after(queue.handled()) || sim.is_over(queue)
    });
    if stop.is_set() {
        return Ok(None);
    }
    conclude(sim, &mut queue, end, variant, replicate).map(Some)
}

/// When a run ends before its rollout does.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits<'l> {
    /// The maximum number of events.
    pub most_events: u64,
    /// Ends the run when it is set.
    pub stop: &'l Stop,
}

/// Runs one variant like [`run`], but returns no record if the run exceeds its limits.
///
/// # Errors
/// See [`run`].
pub fn run_within(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    limits: RunLimits<'_>,
) -> Result<Option<RunRecord>, RunFailure> {
    let mut queue = EventQueue::new();
    let label = format!("{}, replicate {replicate}", variant.label);
    let mut sim = Sim::new(&variant.scenario, &label, seed, replicate, &mut queue);
    let horizon = SimTime::ZERO + variant.scenario.horizon;
    let mut is_too_long = false;
    let end = engine::run(&mut sim, &mut queue, &mut (), horizon, |sim, queue| {
        let handled = queue.handled();
        is_too_long = handled >= limits.most_events || limits.stop.ends_after(handled);
        is_too_long || sim.is_over(queue)
    });
    if is_too_long && !sim.progress.is_complete() {
        return Ok(None);
    }
    conclude(sim, &mut queue, end, variant, replicate).map(Some)
}

fn simulate<O: Observer<Event>>(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    observer: &mut O,
    is_in_detail: bool,
) -> Result<RunRecord, RunFailure> {
    if Stop::of_thread().is_set() {
        return Err(RunFailure::Stopped);
    }
    let scenario = &variant.scenario;
    let mut queue = EventQueue::new();
    let label = format!("{}, replicate {replicate}", variant.label);
    let mut sim = Sim::new(scenario, &label, seed, replicate, &mut queue);
    if is_in_detail {
        sim.record_statuses();
        sim.watch_applications();
    }
    let horizon = SimTime::ZERO + scenario.horizon;
    let end = engine::run(&mut sim, &mut queue, observer, horizon, Sim::is_over);
    conclude(sim, &mut queue, end, variant, replicate)
}

/// Records a run that has ended. The product then continues until it reports completion.
fn conclude(
    mut sim: Sim<'_>,
    queue: &mut Queue,
    end: End,
    variant: &Variant,
    replicate: u32,
) -> Result<RunRecord, RunFailure> {
    if let Some(error) = sim.endless.take() {
        return Err(error.into());
    }
    if let Some(failure) = sim.early_failure() {
        return Err(failure);
    }
    let horizon = SimTime::ZERO + variant.scenario.horizon;
    let outcome = match end {
        _ if sim.progress.is_complete() => RunOutcome::Complete,
        End::Horizon => RunOutcome::Horizon,
        End::Empty | End::Stopped => RunOutcome::Stalled,
    };
    let end = RunEnd {
        at: match outcome {
            RunOutcome::Horizon => horizon,
            RunOutcome::Complete | RunOutcome::Stalled => queue.now(),
        },
        outcome,
        events: queue.handled() - sim.world.limit_checks(),
    };
    let mut record = sim.record(variant, replicate, &end);
    if outcome == RunOutcome::Complete {
        sim.await_reported_completion(queue, horizon)?;
        record.run.reported_s = sim.reported_s();
    }
    record.statuses = sim.take_statuses(queue.now().max(end.at));
    for rollout in &mut sim.rollouts {
        if let Some(error) = rollout.control.finish() {
            return Err(error.into());
        }
    }
    Ok(record)
}

/// A run in progress.
struct Sim<'s> {
    /// The run's label, for messages.
    label: &'s str,
    scenario: &'s Scenario,
    world: World<'s>,
    /// The rollout of each application, in the order of the experiment.
    rollouts: Vec<RunningRollout<'s>>,
    /// Whether a controller is an external process with its own clock.
    is_of_process: bool,
    /// Whether the process of a controller has failed.
    has_failed: bool,
    /// The number of pending timers of all controllers.
    timers: usize,
    /// The progress of all targets.
    progress: Progress,
    /// The time of the first release. `None`: a pre-pull is still in progress.
    released: Option<SimTime>,
    /// Whether the rollout is complete, so that the world has stopped.
    is_world_over: bool,
    /// Detects events that repeat without progress.
    guard: ProgressGuard,
    /// The number of people's actions so far, plus one for the release.
    acts: u64,
    /// The error if events repeat without progress.
    endless: Option<NoProgress>,
    /// The people who watch the rollouts.
    operator: Operator<'s>,
    /// The observed part of a rollout in progress, which the run follows until the present.
    past: Option<Past<'s>>,
    /// The flag that ends every run on this thread.
    stop: Stop,
}

impl<'s> Sim<'s> {
    fn new(
        scenario: &'s Scenario,
        label: &'s str,
        seed: u64,
        replicate: u32,
        queue: &mut Queue,
    ) -> Self {
        let mut world = World::new(&scenario.world, &scenario.platform, seed, replicate, queue);
        let streams = engine::Streams::new(seed, replicate);
        let rollouts = RunningRollout::all(scenario, label, streams);
        for rollout in &rollouts {
            if rollout.control.traits.sees_progress_deadlines {
                world.watch_progress_deadlines();
            }
        }
        let mut nodes = 0;
        for site in world.site_facts() {
            nodes += u64::from(site.nodes);
        }
        let mut sim = Self {
            label,
            scenario,
            progress: Progress::new(world.targets()),
            world,
            is_of_process: rollouts.iter().any(RunningRollout::is_of_process),
            has_failed: false,
            timers: 0,
            rollouts,
            released: None,
            is_world_over: false,
            guard: ProgressGuard::new(scenario, nodes),
            acts: 0,
            endless: None,
            operator: Operator::new(scenario, streams),
            past: None,
            stop: Stop::of_thread(),
        };
        // A pre-pull happens before the release.
        if scenario.world.distribution.pre_pull.is_none() {
            sim.release(queue);
        }
        sim.links_changed(queue);
        sim.take_reports(queue);
        sim
    }

    /// Releases the applications from now on, each at its own time.
    fn release(&mut self, queue: &mut Queue) {
        let mut first = SimTime::MAX;
        for (rollout, application) in self.rollouts.iter_mut().zip(&self.scenario.applications) {
            let at = queue.now() + application.released;
            rollout.release(at, queue);
            first = first.min(at);
        }
        self.released = Some(first);
    }

    /// Continues a complete rollout. Only the product acts, until it reports completion itself.
    fn await_reported_completion(
        &mut self,
        queue: &mut Queue,
        horizon: SimTime,
    ) -> Result<(), NoProgress> {
        self.is_world_over = true;
        let mut is_reported = false;
        for rollout in &mut self.rollouts {
            let mut targets = rollout.targets_in(&mut self.world);
            rollout.control.conclude(&mut targets, queue);
            is_reported |= rollout.control.traits.reports_completion;
        }
        self.count_timers();
        if !is_reported {
            return Ok(());
        }
        engine::run(self, queue, &mut (), horizon, |sim, queue| {
            sim.endless.is_some()
                || sim.stop.ends_after(queue.handled())
                || !sim.may_report_completion()
        });
        self.endless.take().map_or(Ok(()), Err)
    }

    /// Returns whether a product can still report completion when nothing more happens in the world.
    fn may_report_completion(&self) -> bool {
        for rollout in &self.rollouts {
            if rollout.control.may_report(&rollout.states_in(&self.world)) {
                return true;
            }
        }
        false
    }

    fn is_over(&self, queue: &Queue) -> bool {
        if self.has_failed || self.endless.is_some() {
            return true;
        }
        if self.stop.ends_after(queue.handled()) || self.world.failure_of_guest().is_some() {
            return true;
        }
        if self.released.is_none() {
            return false;
        }
        if self.progress.is_complete() {
            return !self.awaits_people(queue);
        }
        // A native controller cannot act without a timer. A process may have its own timers.
        if !self.is_of_process && self.world.is_at_rest(queue, 0) {
            return true;
        }
        // Checked last, because this check may cost as much as a pass.
        self.world.is_at_rest(queue, self.timers)
            && self
                .rollouts
                .iter()
                .all(|rollout| rollout.is_idle(&self.world))
    }

    /// Counts the timers of all controllers again, and those that have failed.
    fn count_timers(&mut self) {
        self.timers = 0;
        for rollout in &self.rollouts {
            self.timers += rollout.control.timers();
            self.has_failed |= rollout.control.has_failed();
        }
    }

    /// Counts an event that is about to happen, and detects events that repeat without progress.
    fn guard(&mut self, event: &Event, now: SimTime) {
        if !self.guard.count(event) {
            return;
        }
        let mark = ProgressMark {
            promotions: self
                .rollouts
                .iter()
                .map(|rollout| rollout.control.first_promotions())
                .sum(),
            done: self.progress.most_done(),
            acts: self.acts,
        };
        let kind = match event {
            Event::Driver(application, DriverEvent::Timer(number)) => {
                let rollout = &self.rollouts[application.index()];
                rollout.control.controller.timer_kind(*number)
            }
            _ => None,
        };
        let kind = kind.unwrap_or_else(|| event.kind());
        if self.guard.judge(now, mark, kind) {
            self.endless = Some(self.guard.error(self.label, now, self.scenario));
        }
    }

    /// Returns the time at which a process must be asked again, unless it acts earlier. `None`: not before the
    /// horizon.
    ///
    /// The remaining events of a world at rest cannot advance the rollout, and the process receives only failures
    /// among them. It may therefore advance past all other events; its actions still happen at their own times.
    fn next_for_process(&self, queue: &Queue) -> Option<SimTime> {
        let brings_no_news = self.world.is_at_rest(queue, 0) && !self.world.expects_failures();
        if brings_no_news {
            None
        } else {
            queue.peek_time()
        }
    }

    /// Returns the seconds from the first release until the products' reports of completion are true. The report itself
    /// may be earlier, because a product may leave out targets.
    fn reported_s(&self) -> Option<f64> {
        let mut reported = self.progress.reached(1.0).unwrap_or_default();
        for rollout in &self.rollouts {
            reported = reported.max(rollout.control.reported()?);
        }
        Some((reported - self.released?).as_secs_f64())
    }

    /// Returns which targets could be updated, evaluated at the end of the run.
    fn reach(&self) -> Reach {
        let mut clusters = Vec::with_capacity(self.world.targets());
        for target in 0..self.world.targets() {
            let cluster = self.world.cluster_of_target(TargetId::at(target));
            clusters.push(&self.scenario.world.clusters[cluster.index()]);
        }
        // All applications have one product.
        let heeds_pause = !self.rollouts[0].control.traits.ignores_pause;
        let horizon = SimTime::ZERO + self.scenario.horizon;
        let online = self.world.ever_online(horizon);
        let reach = Reach::judge(&clusters, &self.progress, heeds_pause, |target| {
            online[self.world.cluster_of_target(target).index()]
        });
        reach.without(&self.progress, |target| {
            let rollout = &self.rollouts[self.application_of(target).index()];
            let own = rollout.own(target);
            rollout.control.controller.leaves_alone(own)
        })
    }

    /// Returns why the run ended although nothing in the experiment ends it.
    fn early_failure(&self) -> Option<RunFailure> {
        if self.stop.is_set() {
            return Some(RunFailure::Stopped);
        }
        let problem = self.world.failure_of_guest()?.to_owned();
        Some(RunFailure::Faults {
            run: self.label.to_owned(),
            problem,
        })
    }

    /// Returns the rule that blocks an unfinished rollout: of several applications, the first one that is not complete.
    fn hold(&self) -> Hold {
        if let Some(images) = self.world.held_by_pre_pull() {
            let waits =
                format!("the release waits for {images} image(s) that nodes have not pulled yet");
            return Hold::new("prePull", waits);
        }
        let unfinished = self
            .rollouts
            .iter()
            .position(|rollout| !rollout.progress.is_complete());
        let at = unfinished.unwrap_or(0);
        let hold = self.rollouts[at].control.controller.hold();
        let mut hold = hold.unwrap_or_else(|| Hold::new("no rule", ""));
        if self.scenario.has_several_applications() {
            let name = &self.scenario.applications[at].name;
            hold.explanation = format!("{name}: {}", hold.explanation);
        }
        hold
    }

    /// Returns the application of a target. Targets are ordered by application.
    fn application_of(&self, target: TargetId) -> ApplicationId {
        let after = self
            .rollouts
            .partition_point(|rollout| rollout.first <= target.0);
        ApplicationId((after - 1) as u16)
    }

    /// Starts recording the status conditions of the products.
    fn record_statuses(&mut self) {
        for rollout in &mut self.rollouts {
            rollout.control.record_statuses();
        }
    }
}

impl engine::Model for Sim<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if self.is_world_over && !matches!(event, Event::Driver(..)) {
            return;
        }
        self.guard(&event, queue.now());
        if let Some(past) = &mut self.past {
            past.reaches(queue.now(), &*self.rollouts[0].control.controller);
            if past.withholds(event, queue) {
                return;
            }
        }
        match event {
            Event::Distribution(DistributionEvent::Released) => self.release(queue),
            Event::Driver(application, event) => {
                self.handle_in_control_plane(application, event, queue);
            }
            event => self.handle_in_world(event, queue),
        }
        self.people_look(queue);
        if self.released.is_some() && self.is_of_process {
            let next = self.next_for_process(queue);
            for rollout in &mut self.rollouts {
                let mut targets = rollout.targets_in(&mut self.world);
                rollout.control.follow(next, &mut targets, queue);
            }
            self.count_timers();
        }
    }
}

impl Sim<'_> {
    fn handle_in_control_plane(
        &mut self,
        application: ApplicationId,
        event: DriverEvent,
        queue: &mut Queue,
    ) {
        match event {
            DriverEvent::Released => {
                self.acts += 1;
                self.note_first_release(application, queue);
                self.watch_release(application, queue);
            }
            DriverEvent::PersonActs(number) => {
                self.acts += 1;
                self.people_publish(application, number, queue);
            }
            DriverEvent::OperatorLooks(rule) => self.look_whether_stalled(rule, queue),
            DriverEvent::OperatorActs(rule) => self.operator_acts(rule, queue),
            _ => {}
        }
        let rollout = &mut self.rollouts[application.index()];
        let timers_before = rollout.control.timers();
        let mut targets = rollout.targets_in(&mut self.world);
        let changed = rollout.control.handle(event, &mut targets, queue);
        self.note_changed(application, timers_before, &changed, queue.now());
    }

    /// Publishes the release that a person's change with this number is, if it is one.
    fn people_publish(&mut self, application: ApplicationId, number: u32, queue: &mut Queue) {
        let rollout = &self.rollouts[application.index()];
        let Change::Release(revision) = *rollout.control.change(number) else {
            return;
        };
        let is_planned = !self.scenario.applications[application.index()]
            .later
            .is_empty();
        let by = if is_planned {
            Publisher::Experiment
        } else {
            Publisher::Changes
        };
        self.publish(application, revision, by, queue);
        self.watch_anew(application, queue);
    }

    /// Records which of these targets of an application are done now, and its timers, which were this many before.
    fn note_changed(
        &mut self,
        application: ApplicationId,
        timers_before: usize,
        changed: &[TargetId],
        now: SimTime,
    ) {
        let rollout = &mut self.rollouts[application.index()];
        for target in changed {
            let is_done = rollout.control.controller.is_done(*target);
            rollout.progress.set(*target, is_done, now);
            let in_world = rollout.in_world(*target);
            self.progress.set(in_world, is_done, now);
        }
        self.timers = self.timers + rollout.control.timers() - timers_before;
        self.has_failed |= rollout.control.has_failed();
    }

    fn handle_in_world(&mut self, event: Event, queue: &mut Queue) {
        self.world.handle(event, queue);
        if matches!(event, Event::Fault(_)) {
            self.links_changed(queue);
        }
        self.take_reports(queue);
    }

    /// Notifies external processes of clusters that were cut off or have returned.
    fn links_changed(&mut self, queue: &mut Queue) {
        if !self.is_of_process {
            return;
        }
        for rollout in &mut self.rollouts {
            let mut targets = rollout.targets_in(&mut self.world);
            rollout.control.links(&mut targets, queue);
        }
        self.count_timers();
    }

    /// Passes the reports that have reached the management cluster to the applications' control planes.
    fn take_reports(&mut self, queue: &mut Queue) {
        for report in self.world.take_reports() {
            let application = self.application_of(report.target);
            let rollout = &mut self.rollouts[application.index()];
            let target = rollout.own(report.target);
            rollout.control.arrive(Report { target, ..report }, queue);
        }
    }
}

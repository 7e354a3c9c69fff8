//! One simulated rollout: a real scheduler drives a simulated fleet, from the release to its end.
//!
//! The only place that drives engine, world and a product together; it names no product. [`run`] is one function of a
//! scenario, a seed and a replicate, on one thread; everything that a report shows comes out of the [`RunRecord`] it
//! returns.
//!
//! A run ends when the product sees every target on the wanted revision and ready, or when nothing is left that could
//! change what the product sees (then the rule that holds the rollout is reported), or at the horizon. After a complete
//! run the product goes on alone until it reports completion itself. The world then stands still, so that a failure
//! after the end changes nothing; all but that one time is recorded before.
//!
//! A process that keeps its own control loop has timers that fleetsim does not see. Its run is stalled only when the
//! process has heard all news, and has said or shown that it does nothing more until the horizon.
//!
//! A run whose events repeat without progress fails ([`NoProgress`]).

mod draws;
mod emulated;
mod error;
mod memory;
mod past;
mod path;
mod progress;
mod progress_guard;
mod reach;
#[cfg(test)]
mod tests;

use crate::control_plane::{Change, ControlPlane};
use crate::engine::{self, End, EventQueue, Observer, Stop};
use crate::products::Run;
use crate::results::{
    ClusterRow, PassRow, RegistryRow, RunOutcome, RunRecord, RunRow, SeriesRow, update_quantiles,
};
use crate::rollout::Hold;
use crate::scenario::{Scenario, Variant};
use crate::units::{SimDuration, SimTime};
use crate::world::{
    ClusterFacts, ClusterPhase, DistributionEvent, DriverEvent, Event, Meter, PullError, Queue,
    World,
};
pub use draws::draw_shares;
pub use emulated::{Laboratory, Moment, run_emulated};
pub use error::RunFailure;
pub use memory::{MemoryPart, memory_of_run};
use past::Past;
pub use past::{Continuation, RolloutSoFar, SeenState, SeenTarget, run_from};
use path::{PeoplesWaits, RolloutPath};
use progress::Progress;
pub use progress_guard::NoProgress;
use progress_guard::{ProgressGuard, ProgressMark};
use reach::{Obstacle, Reach};

/// Runs one variant with the random numbers of this seed and replicate.
///
/// # Errors
/// When the strategy is a process that fails, or when events repeat without end.
pub fn run(variant: &Variant, seed: u64, replicate: u32) -> Result<RunRecord, RunFailure> {
    run_observed(variant, seed, replicate, &mut ())
}

/// As [`run`], and records what the product shows to people ([`RunRecord::statuses`]).
///
/// # Errors
/// As [`run`].
pub fn run_in_detail(
    variant: &Variant,
    seed: u64,
    replicate: u32,
) -> Result<RunRecord, RunFailure> {
    simulate(variant, seed, replicate, &mut (), true)
}

/// As [`run`], and shows every event to `observer` before it happens.
///
/// # Errors
/// As [`run`].
pub fn run_observed<O: Observer<Event>>(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    observer: &mut O,
) -> Result<RunRecord, RunFailure> {
    simulate(variant, seed, replicate, observer, false)
}

/// As [`run`], unless `stop` is set before its end; then there is no record.
///
/// # Errors
/// As [`run`].
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

fn simulate<O: Observer<Event>>(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    observer: &mut O,
    is_in_detail: bool,
) -> Result<RunRecord, RunFailure> {
    let scenario = &variant.scenario;
    let mut queue = EventQueue::new();
    let label = format!("{}, replicate {replicate}", variant.label);
    let mut sim = Sim::new(scenario, &label, seed, replicate, &mut queue);
    if is_in_detail {
        sim.control.record_statuses();
    }
    let horizon = SimTime::ZERO + scenario.horizon;
    let end = engine::run(&mut sim, &mut queue, observer, horizon, Sim::is_over);
    conclude(sim, &mut queue, end, variant, replicate)
}

/// Records a run that has ended, after which the product goes on until it reports completion.
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
    let horizon = SimTime::ZERO + variant.scenario.horizon;
    let (end, outcome) = match end {
        _ if sim.progress.is_complete() => (queue.now(), RunOutcome::Complete),
        End::Horizon => (horizon, RunOutcome::Horizon),
        End::Empty | End::Stopped => (queue.now(), RunOutcome::Stalled),
    };
    let events = queue.handled() - sim.world.limit_checks();
    let mut record = sim.record(variant, replicate, end, outcome, events);
    if outcome == RunOutcome::Complete {
        sim.is_world_over = true;
        sim.control.conclude(&mut sim.world, queue);
        if sim.control.traits.reports_completion {
            engine::run(&mut sim, queue, &mut (), horizon, |sim, _| {
                sim.endless.is_some() || !sim.control.may_report(&sim.world)
            });
            if let Some(error) = sim.endless.take() {
                return Err(error.into());
            }
        }
        record.run.reported_s = sim.reported_s();
    }
    record.statuses = sim.control.take_statuses(queue.now().max(end));
    match sim.control.finish() {
        Some(error) => Err(error.into()),
        None => Ok(record),
    }
}

/// A run in progress.
struct Sim<'s> {
    /// The run's label, for messages.
    label: &'s str,
    scenario: &'s Scenario,
    world: World<'s>,
    control: ControlPlane<'s>,
    progress: Progress,
    /// When the new revision was released. `None`: it is still being pre-pulled.
    released: Option<SimTime>,
    /// The rollout is complete, and nothing happens in the world any more.
    is_world_over: bool,
    /// Finds events that repeat without progress.
    guard: ProgressGuard,
    /// Acts of people, and the release.
    acts: u64,
    /// Its events repeat without progress.
    endless: Option<NoProgress>,
    /// The observed part of a rollout in progress, which this run follows until now.
    past: Option<Past<'s>>,
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
        let run = Run {
            label,
            fleet: scenario.fleet(),
            control_loop: &scenario.control_loop,
            horizon: SimTime::ZERO + scenario.horizon,
            streams,
        };
        let controller = scenario.strategy.controller(run);
        let targets = scenario.world.clusters.len();
        let watch_delay = scenario.control_loop.watch_delay;
        let control = ControlPlane::new(controller, targets, watch_delay, &scenario.changes);
        if control.traits.sees_progress_deadlines {
            world.watch_progress_deadlines();
        }
        let nodes = world.links().map(|(_, _, nodes)| u64::from(nodes)).sum();
        let mut sim = Self {
            label,
            scenario,
            world,
            control,
            progress: Progress::new(targets),
            released: None,
            is_world_over: false,
            guard: ProgressGuard::new(scenario, nodes),
            acts: 0,
            endless: None,
            past: None,
        };
        // A pre-pull comes before the release.
        if scenario.world.distribution.pre_pull.is_none() {
            sim.release(queue);
        }
        sim.control.links(&mut sim.world, queue);
        sim.control.arrive(sim.world.take_reports(), queue);
        sim
    }

    fn release(&mut self, queue: &mut Queue) {
        self.released = Some(queue.now());
        self.control.release(queue);
    }

    fn is_over(&self, queue: &Queue) -> bool {
        if self.control.has_failed() || self.endless.is_some() {
            return true;
        }
        if self.released.is_none() {
            return false;
        }
        if self.progress.is_complete() {
            return true;
        }
        // Without any timer, a controller of this program cannot act. A process may have timers of its own.
        if !self.control.traits.is_process && self.world.is_at_rest(queue, 0) {
            return true;
        }
        // Asked last, and only when it decides: it may cost as much as a pass.
        self.world.is_at_rest(queue, self.control.timers())
            && self.control.controller.is_idle(&self.world)
    }

    /// Counts an event that is about to happen, and finds out whether events repeat without progress.
    fn guard(&mut self, event: &Event, now: SimTime) {
        if !self.guard.count(event) {
            return;
        }
        let mark = ProgressMark {
            promotions: self.control.first_promotions(),
            done: self.progress.most_done(),
            acts: self.acts,
        };
        let kind = match event {
            Event::Driver(DriverEvent::Timer(number)) => {
                self.control.controller.timer_kind(*number)
            }
            _ => None,
        };
        if self
            .guard
            .judge(now, mark, kind.unwrap_or_else(|| event.kind()))
        {
            self.endless = Some(self.guard.error(self.label, now, self.scenario));
        }
    }

    /// When a process must be asked again, unless it acts before. `None`: not before the horizon.
    ///
    /// What is left in a world at rest can advance nothing, and only its failures would be news for a process. So a
    /// process may go ahead of all else that is left there; what it then does happens in its time.
    fn next_for_process(&self, queue: &Queue) -> Option<SimTime> {
        let brings_no_news = self.world.is_at_rest(queue, 0) && !self.world.expects_failures();
        if brings_no_news {
            None
        } else {
            queue.peek_time()
        }
    }

    /// Seconds from the release until the product's own report of completion is true: a product may leave out targets.
    fn reported_s(&self) -> Option<f64> {
        let reported = self
            .control
            .reported()?
            .max(self.progress.reached(1.0).unwrap_or_default());
        Some((reported - self.released?).as_secs_f64())
    }

    /// The targets that could be updated, as the run ends now.
    fn reach(&self) -> Reach {
        let heeds_pause = !self.control.traits.ignores_pause;
        let is_online = |cluster| self.world.is_online(cluster);
        Reach::judge(
            &self.scenario.world.clusters,
            &self.progress,
            heeds_pause,
            is_online,
        )
    }

    /// The rule that blocks an unfinished rollout, and the detail.
    fn held_by(&self, outcome: RunOutcome) -> (String, String) {
        if outcome == RunOutcome::Complete {
            return (String::new(), String::new());
        }
        if let Some(images) = self.world.held_by_pre_pull() {
            let detail =
                format!("the release waits for {images} image(s) that nodes have not pulled yet");
            return ("prePull".to_owned(), detail);
        }
        match self.control.controller.hold() {
            Some(Hold { rule, explanation }) => (rule.into_owned(), explanation),
            None => ("no rule".to_owned(), String::new()),
        }
    }

    fn record(
        &mut self,
        variant: &Variant,
        replicate: u32,
        end: SimTime,
        outcome: RunOutcome,
        events: u64,
    ) -> RunRecord {
        let totals = self.world.finish(end);
        self.world.assert_bytes_are_conserved();
        self.world.assert_littles_law();
        let meter = self.world.meter();
        let (egress_peak_1s, egress_peak_60s) = meter.egress_peaks();
        let (total_peak, other_bytes) = meter.totals_with_others();
        let passes = self.control.take_passes();
        let clusters = self.cluster_rows();
        let [update_p50_s, update_p95_s, update_max_s] =
            update_quantiles(&clusters, [0.5, 0.95, 1.0]);
        let secs = |time: SimTime| time.as_secs_f64();
        let released = self.released.unwrap_or(end);
        let counted = |at: SimTime| (at - released).as_secs_f64();
        let since_release = |share| self.progress.reached(share).map(counted);
        let reach = self.reach();
        let all_ready = reach.all_ready(&self.progress);
        let (pauses, timed) = (self.control.take_pauses(), self.control.take_timed_waits());
        let waits = PeoplesWaits {
            pauses,
            timed,
            approvals: Vec::new(),
        };
        let path = all_ready.map(|ready| self.critical_path((released, ready), &passes, waits));
        let on_path = |part: fn(&RolloutPath) -> SimDuration| {
            path.as_ref().map(|path| part(path).as_secs_f64())
        };
        let (held_by, held_detail) = self.held_by(outcome);
        let count =
            |of: fn(&ClusterRow) -> bool| clusters.iter().filter(|row| of(row)).count() as u64;
        let run = RunRow {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            replicate,
            outcome,
            held_by,
            held_detail,
            release_s: secs(released),
            completion_s: since_release(1.0),
            reachable_ready_s: all_ready.map(counted),
            reported_s: self.reported_s(),
            path_rule_s: on_path(|path| path.rule),
            path_people_s: on_path(|path| path.people),
            path_transfer_s: on_path(|path| path.transfer),
            path_unpack_s: on_path(|path| path.unpack),
            path_start_s: on_path(|path| path.start),
            path_report_s: on_path(|path| path.report),
            t50_s: since_release(0.5),
            t90_s: since_release(0.9),
            t99_s: since_release(0.99),
            update_p50_s,
            update_p95_s,
            update_max_s,
            end_s: secs(end),
            targets: self.progress.targets(),
            targets_done: self.progress.done(),
            reachable_targets: reach.reachable(),
            paused_targets: reach.count(Obstacle::Paused),
            agentless_targets: reach.count(Obstacle::NoAgent),
            offline_targets: reach.count(Obstacle::Offline),
            offline_at_start: count(|row| row.offline),
            defective_targets: count(|row| row.defective),
            peak_pulls: meter.pulls.peak(),
            peak_downloads: meter.downloads.peak(),
            peak_registry_downloads: meter.registry_downloads.peak(),
            peak_pulling_clusters: meter.pulling_clusters.peak(),
            egress_bytes: totals.sent.get(),
            received_bytes: totals.received.get(),
            lost_bytes: totals.lost.get(),
            upstream_bytes: totals.upstream.get(),
            cache_bytes: totals.from_caches.get(),
            peer_bytes: totals.from_peers.get(),
            egress_peak_1s_bytes_per_s: egress_peak_1s,
            egress_peak_60s_bytes_per_s: egress_peak_60s,
            total_egress_peak_1s_bytes_per_s: total_peak,
            other_egress_bytes: other_bytes,
            egress_p95_over_time_bytes_per_s: meter.exceeded_in(0.05),
            egress_p99_over_time_bytes_per_s: meter.exceeded_in(0.01),
            egress_busy_share: self.world.busy_share(end - SimTime::ZERO),
            egress_busy_s: meter.busy().as_secs_f64(),
            egress_busiest_hour_share: meter.busiest_hour_share(),
            requests: totals.requests,
            responses_429: totals.responses_429,
            responses_503: totals.responses_503,
            request_timeouts: totals.timeouts,
            pulls: totals.pulls,
            failed_pulls: totals.failed_pulls.iter().sum(),
            failed_pulls_kubelet_rate: totals.failed_pulls[PullError::KubeletRate as usize],
            failed_pulls_429: totals.failed_pulls[PullError::TooManyRequests as usize],
            failed_pulls_503: totals.failed_pulls[PullError::Unavailable as usize],
            failed_pulls_unreachable: totals.failed_pulls[PullError::Unreachable as usize],
            failed_pulls_no_progress: totals.failed_pulls[PullError::NoProgress as usize],
            backoffs: totals.backoffs,
            crashes: totals.crashes,
            peak_not_ready: meter.peak_not_ready(),
            not_ready_cluster_hours: meter.not_ready_cluster_hours(),
            exposed_targets: self
                .world
                .facts()
                .filter(|facts| facts.defective && facts.instructed.is_some())
                .count() as u64,
            passes: passes.iter().map(|row| row.passes).sum(),
            promotions: passes.iter().map(|pass| pass.promoted).sum(),
            peak_promotions_per_pass: passes.iter().map(|pass| pass.promoted).max().unwrap_or(0),
            events,
        };
        let (bin_s, series) = series(meter);
        let registries = self.registry_rows(end - SimTime::ZERO);
        RunRecord {
            run,
            registries,
            series,
            bin_s,
            clusters,
            passes,
            statuses: Vec::new(),
        }
    }

    /// The critical path between the release and the time when all reachable targets were ready.
    fn critical_path(
        &self,
        span: (SimTime, SimTime),
        passes: &[PassRow],
        mut waits: PeoplesWaits,
    ) -> RolloutPath {
        let facts: Vec<&ClusterFacts> = self.world.facts().collect();
        let mut stopped = span.0;
        for (after, change) in &self.scenario.changes {
            let at = span.0 + *after;
            match change {
                Change::Stop(true) => stopped = at,
                Change::Stop(false) => waits.pauses.push((stopped, at)),
                Change::Approve { .. } => waits.approvals.push(at),
                Change::Release(_) | Change::Labels(..) | Change::Selected(..) => {}
            }
        }
        RolloutPath::of(span, &self.progress, &facts, passes, &waits)
    }

    fn registry_rows(&self, span: SimDuration) -> Vec<RegistryRow> {
        let world = &self.scenario.world;
        let names = std::iter::once("registry")
            .chain(world.registries.iter().map(|other| other.name.as_str()));
        names
            .zip(self.world.registry_totals())
            .map(|(name, totals)| RegistryRow {
                registry: name.to_owned(),
                egress_bytes: totals.sent.get(),
                egress_peak_1s_bytes_per_s: totals.egress_peak,
                egress_busy_share: if span.is_zero() {
                    0.0
                } else {
                    totals.busy.as_secs_f64() / span.as_secs_f64()
                },
                requests: totals.requests,
                responses_429: totals.responses_429,
                responses_503: totals.responses_503,
            })
            .collect()
    }

    fn cluster_rows(&self) -> Vec<ClusterRow> {
        let secs = |time: Option<SimTime>| time.map(SimTime::as_secs_f64);
        let stages = self.control.controller.stages();
        let clusters = self.scenario.world.clusters.iter().zip(self.world.facts());
        clusters
            .zip(self.world.links())
            .zip(stages)
            .map(
                |(((spec, facts), (downlink, rtt, nodes)), stage)| ClusterRow {
                    cluster: spec.name.clone(),
                    stage,
                    group: spec.group.clone(),
                    region: spec.region.map_or_else(String::new, |at| {
                        self.scenario.world.regions[at].name.clone()
                    }),
                    nodes,
                    downlink_bytes_per_s: downlink.get(),
                    rtt_s: rtt.as_secs_f64(),
                    offline: facts.offline,
                    defective: facts.defective,
                    told_s: secs(facts.instructed),
                    applied_s: secs(facts.applied),
                    first_pull_s: secs(facts.first_pull),
                    last_pull_s: secs(facts.last_pull),
                    ready_s: secs(facts.ready),
                    pulls: facts.pulls,
                    failed_pulls: facts.failed_pulls,
                    received_bytes: facts.received.get(),
                },
            )
            .collect()
    }
}

impl engine::Model for Sim<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if self.is_world_over && !matches!(event, Event::Driver(_)) {
            return;
        }
        self.guard(&event, queue.now());
        if let Some(past) = &mut self.past {
            past.reaches(queue.now(), &*self.control.controller);
        }
        match event {
            Event::Distribution(DistributionEvent::Released) => self.release(queue),
            Event::Driver(event) => {
                self.acts += u64::from(matches!(
                    event,
                    DriverEvent::Released | DriverEvent::PersonActs(_)
                ));
                for cluster in self.control.handle(event, &mut self.world, queue) {
                    self.progress.set(
                        cluster,
                        self.control.controller.is_done(cluster),
                        queue.now(),
                    );
                }
            }
            event => {
                if self
                    .past
                    .as_mut()
                    .is_some_and(|past| past.withholds(event, queue))
                {
                    return;
                }
                let is_fault = matches!(event, Event::Fault(_));
                self.world.handle(event, queue);
                if is_fault {
                    self.control.links(&mut self.world, queue);
                }
                self.control.arrive(self.world.take_reports(), queue);
            }
        }
        if self.released.is_some() && self.control.traits.is_process {
            let next = self.next_for_process(queue);
            self.control.follow(next, &mut self.world, queue);
        }
    }
}

/// The meters' series as rows.
fn series(meter: &Meter) -> (f64, Vec<SeriesRow>) {
    let (bin, bins) = meter.series();
    let bin_s = bin.as_secs_f64();
    let rows = bins.iter().enumerate().map(|(at, bin)| {
        let count = |phase: ClusterPhase| bin.phases[phase as usize];
        SeriesRow {
            t_s: at as f64 * bin_s,
            pulls: bin.pulls,
            downloads: bin.downloads,
            egress_bytes_per_s: bin.egress_bytes / bin_s,
            egress_peak_1s_bytes_per_s: bin.egress_peak_second_bytes,
            ready_new: count(ClusterPhase::Ready),
            updating: count(ClusterPhase::Updating),
            not_ready: count(ClusterPhase::NotReady),
            waiting: count(ClusterPhase::Waiting),
        }
    });
    (bin_s, rows.collect())
}

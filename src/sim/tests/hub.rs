//! Several rollouts on one hub. The expected times are computed by hand: n requests at q per second, n syncs of one
//! processor, or passes of one worker that follow each other.

use std::fs;

use crate::control_plane::{Change, ControlPlane, RolloutTargets, SharedHub, TargetStates};
use crate::engine::{self, End, EventQueue, Observer, Streams};
use crate::products::Run;
use crate::results::PassRow;
use crate::rollout::Revision;
use crate::scenario::{self, Overrides, Variant};
use crate::sim::{self, Sim};
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplicationId, DriverEvent, Event, Queue, TargetId};

/// Targets that receive instructions and never report.
struct SilentTargets;

impl TargetStates for SilentTargets {
    fn is_online(&self, _target: TargetId) -> bool {
        true
    }

    fn is_repair_due(&self, _target: TargetId) -> bool {
        false
    }

    fn is_backing_off(&self, _target: TargetId) -> bool {
        false
    }

    fn is_stuck(&self, _target: TargetId) -> bool {
        false
    }
}

impl RolloutTargets for SilentTargets {
    fn instruct(&mut self, _target: TargetId, _revision: Revision, _queue: &mut Queue) {}

    fn push(&mut self, _target: TargetId, _revision: Revision, _queue: &mut Queue) {}
}

/// Counts the turns of applications at the hub.
#[derive(Default)]
struct HubTurns(usize);

impl Observer<Event> for HubTurns {
    fn observe(&mut self, _now: SimTime, event: &Event) {
        self.0 += usize::from(matches!(event, Event::Driver(_, DriverEvent::HubTurn)));
    }
}

/// Loads the first variant of an experiment in which only what the strategy names takes time.
fn variant(fleet: &str, rollouts: &str, strategy: &str) -> Variant {
    let text = format!(
        "name: hub
question: Who waits for whom?
seed: 1
replicates: 1
horizon: 6h
fleet: [{fleet}]
agent: {{instructionDelay: 0 s, apply: 1 ms, applySpread: 0, reportDelay: 0 s}}
{rollouts}
strategies: {{tested: {{{strategy}}}}}
"
    );
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    let mut experiment = scenario::load(folder.path(), &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    experiment.variants.remove(0)
}

const RELEASE: &str = "release: {images: [{name: app, manifest: {layers: [{size: 1 kB}]}}], workloads: [{kind: \
                       Deployment, image: app}]}";

/// The time at which a play ends, although controllers may have timers.
const PLAY_ENDS: SimTime = SimTime::from_secs(10);

/// The passes of applications on one hub, and the number of their turns.
struct HubPlay {
    /// The beginning of each pass in milliseconds, by application.
    passes: Vec<Vec<u64>>,
    turns: usize,
}

/// Rolls out a variant's release several times on one hub. People change the first application.
fn play(
    variant: &Variant,
    hub: &SharedHub,
    applications: u16,
    changes: &[(SimDuration, Change)],
) -> HubPlay {
    let scenario = &variant.scenario;
    let mut queue: Queue = EventQueue::new();
    let mut controls = Vec::new();
    for number in 0..applications {
        let application = ApplicationId(number);
        let controller = scenario.strategy().controller(Run {
            label: "hub",
            fleet: scenario.fleet(),
            control_loop: &scenario.control_loop,
            horizon: SimTime::ZERO + scenario.horizon,
            streams: Streams::new(1, 0),
            hub: hub.seen_by(application),
        });
        let control = ControlPlane::new(
            application,
            controller,
            scenario.targets(),
            scenario.control_loop.watch_delay,
            if number == 0 { changes } else { &[] },
        );
        control.release(SimTime::ZERO, &mut queue);
        controls.push(control);
    }
    let mut turns = HubTurns::default();
    while let Some((now, event)) = queue.pop_until(PLAY_ENDS) {
        turns.observe(now, &event);
        if let Event::Driver(application, event) = event {
            controls[application.index()].handle(event, &mut SilentTargets, &mut queue);
        }
    }
    let mut passes = Vec::new();
    for mut control in controls {
        passes.push(control.take_passes().iter().map(begin_in_ms).collect());
    }
    HubPlay {
        passes,
        turns: turns.0,
    }
}

fn begin_in_ms(pass: &PassRow) -> u64 {
    (pass.t_s * 1000.0).round() as u64
}

/// A bundle for three clusters. Its first pass takes 80 ms: a request for the content, one for each Secret, one for
/// each deployment, and one for the status. A person's change lets another pass follow.
fn bundle() -> Variant {
    let rollouts = format!("{RELEASE}\ncontroller: {{request: 10 ms, watchDelay: 1 ms}}");
    let fleet = "{name: 'c-{1..3}', nodes: 1}";
    variant(fleet, &rollouts, "rancherFleet: {maxUnavailable: 100%}")
}

const RESUMED: (SimDuration, Change) = (SimDuration::from_millis(10), Change::Stop(false));

/// A hub whose bundle controller has one worker instead of 50.
fn hub_with_one_worker() -> SharedHub {
    let hub = SharedHub::of_run();
    hub.limit_workers("bundle controller", 50, 1);
    hub
}

#[test]
fn two_bundles_with_one_worker_pass_one_after_the_other_in_order_of_arrival() {
    let played = play(&bundle(), &hub_with_one_worker(), 2, &[RESUMED]);
    // The second bundle waits since the release. The first returns to the line when its pass ends.
    assert_eq!(played.passes, [vec![0, 160], vec![80]]);
    assert_eq!(played.turns, 2, "each is woken once");
}

#[test]
fn two_bundles_with_enough_workers_do_not_wait() {
    let played = play(&bundle(), &SharedHub::of_run(), 2, &[RESUMED]);
    assert_eq!(played.passes, [vec![0, 80], vec![0]]);
    assert_eq!(played.turns, 0);
}

#[test]
fn one_bundle_has_the_same_passes_with_any_number_of_workers() {
    for hub in [hub_with_one_worker(), SharedHub::of_run()] {
        let played = play(&bundle(), &hub, 1, &[RESUMED]);
        assert_eq!(played.passes, [vec![0, 80]]);
        assert_eq!(played.turns, 0);
    }
}

/// The seconds until the last of 40 clusters has applied the release, and the turns at the hub.
struct AppliedAll {
    seconds: f64,
    turns: usize,
}

const TWO_HALVES: &str = "{name: 'a-{01..20}', nodes: 1, downlink: 10 Gbit/s, rtt: 1 ms, labels: {half: a}}, {name: \
                          'b-{01..20}', nodes: 1, downlink: 10 Gbit/s, rtt: 1 ms, labels: {half: b}}";

/// Returns two applications, each on one half of the clusters.
fn two_applications() -> String {
    format!(
        "applications: {{one: {{clusters: {{matchLabels: {{half: a}}}}, {RELEASE}}}, two: {{clusters: {{matchLabels: \
         {{half: b}}}}, {RELEASE}}}}}"
    )
}

/// Rolls out one application to 40 clusters, or two applications to 20 clusters each.
fn applied(applications: usize, settings: &str, strategy: &str) -> AppliedAll {
    let rollouts = match applications {
        1 => RELEASE.to_owned(),
        _ => two_applications(),
    };
    let variant = variant(TWO_HALVES, &format!("{rollouts}\n{settings}"), strategy);
    let mut turns = HubTurns::default();
    let record = sim::run_observed(&variant, 1, 0, &mut turns).expect("it starts no process");
    assert_eq!(record.clusters.len(), 40);
    let mut seconds: f64 = 0.0;
    for row in &record.clusters {
        seconds = seconds.max(row.applied_s.expect("every cluster applies it"));
    }
    AppliedAll {
        seconds,
        turns: turns.0,
    }
}

/// Asserts that one application on all clusters, and two on half of them each, both take between `least` and `most`
/// seconds, and that only the two have turns.
fn assert_shared(settings: &str, strategy: &str, least: f64, most: f64) {
    for applications in [1, 2] {
        let AppliedAll { seconds, turns } = applied(applications, settings, strategy);
        assert!(
            (least..most).contains(&seconds),
            "{applications} of {strategy}: {seconds} s"
        );
        if applications == 1 {
            assert_eq!(turns, 0, "{strategy}");
        }
    }
}

/// The settings of an application controller in which nothing else takes time.
fn argo_cd(controller: &str) -> String {
    format!(
        "argoCd: {{applicationController: {{sharding: round-robin, comparison: 1 ms, {controller}}}}}"
    )
}

#[test]
fn two_sets_share_the_operation_processors() {
    // 40 operations of at least 1 s, one after the other.
    let slow = "node: {sandbox: 1 ms}";
    let strategy = argo_cd("operationProcessors: 1, clientQps: 0, syncsPerSecond: 1");
    assert_shared(slow, &strategy, 40.0, 42.0);
    let turns = applied(2, slow, &strategy).turns;
    assert!(turns > 10, "the sets take turns: {turns}");
}

#[test]
fn two_sets_share_the_cores_of_the_shards() {
    // 40 syncs of 0.5 s on one core.
    let strategy =
        argo_cd("operationProcessors: 400, clientQps: 0, shards: 2, cpu: 1, cpuPerSync: 0.5 s");
    assert_shared("", &strategy, 20.0, 22.0);
}

#[test]
fn a_set_whose_syncs_the_shared_cores_compute_is_not_idle() {
    // 40 syncs of 60 s on one core. Only the set whose sync ends next has a timer for it.
    let strategy =
        argo_cd("operationProcessors: 400, clientQps: 0, shards: 2, cpu: 1, cpuPerSync: 60 s");
    let variant = variant(TWO_HALVES, &two_applications(), &strategy);
    let mut queue: Queue = EventQueue::new();
    let mut sim = Sim::new(&variant.scenario, "hub", 1, 0, &mut queue);
    let until = SimTime::from_secs(30);
    let end = engine::run(&mut sim, &mut queue, &mut (), until, |_, _| false);
    assert_eq!(end, End::Horizon);
    let mut timers = Vec::new();
    for rollout in &sim.rollouts {
        timers.push(rollout.control.timers());
    }
    assert!(timers.contains(&0), "one set has no timer: {timers:?}");
    for rollout in &sim.rollouts {
        assert!(!rollout.is_idle(&sim.world), "its syncs are computed");
    }
}

#[test]
fn two_sets_share_the_client_of_the_application_controller() {
    // 40 requests at 4 per second: the first immediately.
    let strategy =
        argo_cd("operationProcessors: 400, clientQps: 4, clientBurst: 1, requestsPerSync: 1");
    assert_shared("", &strategy, 9.75, 12.5);
}

#[test]
fn two_sets_share_the_client_of_the_set_controller() {
    // 40 writes of Applications at 2 per second.
    let limit = "controller: {clientQps: 2, clientBurst: 1}";
    assert_shared(limit, &argo_cd("clientQps: 0"), 19.5, 23.0);
}

#[test]
fn two_placements_share_the_client_of_the_hub_agent() {
    // Each of the 40 bindings takes a spec, two conditions and a status: at 4 per second, at least 10 s for each.
    let limit = "controller: {clientQps: 4, clientBurst: 1}";
    let strategy = "kubeFleetRolling: {maxUnavailable: 100%, snapshotDelay: 0 s}";
    let one = applied(1, limit, strategy);
    let two = applied(2, limit, strategy);
    assert_eq!(one.turns, 0);
    let ratio = two.seconds / one.seconds;
    assert!(
        (0.8..1.25).contains(&ratio),
        "{} s, {} s",
        one.seconds,
        two.seconds
    );
}

#[test]
fn a_single_rollout_of_any_product_has_no_turns_at_the_hub() {
    let limit = "controller: {clientQps: 4, clientBurst: 1}";
    for strategy in [
        "rancherFleet: {}",
        "kubeFleetRolling: {}",
        "cloudFoundry: {}",
        "argoCdProposal: {}",
        "allAtOnce: {}",
    ] {
        assert_eq!(applied(1, limit, strategy).turns, 0, "{strategy}");
    }
}

/// A placement on three clusters whose every request takes 10 ms.
fn placement(strategy: &str) -> Variant {
    let rollouts = format!("{RELEASE}\ncontroller: {{request: 10 ms, watchDelay: 1 ms}}");
    variant("{name: 'c-{1..3}', nodes: 1}", &rollouts, strategy)
}

#[test]
fn two_staged_runs_share_the_only_worker() {
    let strategy = "kubeFleetStaged: {snapshotDelay: 0 s, stages: [{name: all, labelSelector: {}, maxConcurrency: 1}]}";
    let placement = placement(strategy);
    let alone = play(&placement, &SharedHub::of_run(), 1, &[]);
    let shared = play(&placement, &SharedHub::of_run(), 2, &[]);
    // A new run takes four requests, its first binding two, and its status one.
    assert_eq!(alone.passes, [vec![0]]);
    assert_eq!(shared.passes, [vec![0], vec![70]]);
}

#[test]
fn two_placements_share_the_workers_of_the_rollout_controller() {
    let placement = placement("kubeFleetRolling: {maxUnavailable: 100%, snapshotDelay: 0 s}");
    let own = play(&placement, &SharedHub::of_run(), 2, &[]);
    let with_one = SharedHub::of_run();
    with_one.limit_workers("rollout controller", 40, 1);
    let shared = play(&placement, &with_one, 2, &[]);
    // The first pass takes three requests: it lists the bindings, writes their specs, and then their statuses.
    for passes in &own.passes {
        assert_eq!(passes[..2], [0, 30], "40 workers are enough");
    }
    // With one worker, the second waits for it, and then the first, which its own writes have queued again. The next
    // pass of the first only lists.
    assert_eq!(shared.passes[0][..2], [0, 60]);
    assert_eq!(shared.passes[1][..2], [30, 70]);
}

/// The passes of the updater over the deployments in progress that begin at the same time.
struct UpdaterPass {
    begins_s: f64,
    /// The ends of each deployment's part.
    ends_s: Vec<f64>,
}

/// Rolls out an app on two clusters, and another one on six that is released at this time. A pass takes 10 s for its
/// queries, and 4 s for each write; the request that creates a deployment takes 14 s.
fn passes_of_two_apps(released_s: u64) -> Vec<UpdaterPass> {
    let fleet = "{name: 'a-{1..2}', nodes: 1, labels: {half: a}}, {name: 'b-{1..6}', nodes: 1, labels: {half: b}}";
    let rollouts = format!(
        "applications: {{one: {{clusters: {{matchLabels: {{half: a}}}}, {RELEASE}}}, two: {{clusters: {{matchLabels: \
         {{half: b}}}}, releases: [{{at: {released_s} s}}], {RELEASE}}}}}\ncontroller: {{request: 1 s}}"
    );
    let variant = variant(fleet, &rollouts, "cloudFoundry: {strategy: rolling}");
    let record = sim::run_observed(&variant, 1, 0, &mut ()).expect("it starts no process");
    let mut passes: Vec<UpdaterPass> = Vec::new();
    for row in record.passes.iter().filter(|row| row.created == 0) {
        let end = row.t_s + row.duration_s;
        match passes.last_mut() {
            Some(pass) if (pass.begins_s - row.t_s).abs() < 1e-9 => pass.ends_s.push(end),
            _ => passes.push(UpdaterPass {
                begins_s: row.t_s,
                ends_s: vec![end],
            }),
        }
    }
    passes
}

/// Fails unless each pass begins when the one before has ended, and no earlier than 5 s after its begin.
fn assert_one_after_the_other(passes: &[UpdaterPass]) {
    for (pass, next) in passes.iter().zip(&passes[1..]) {
        let last = pass.ends_s.iter().fold(0.0_f64, |last, end| last.max(*end));
        assert!(
            (next.begins_s - last.max(pass.begins_s + 5.0)).abs() < 0.01,
            "the pass at {} s ends at {last} s, and the next begins at {} s",
            pass.begins_s,
            next.begins_s
        );
    }
}

#[test]
fn two_apps_share_the_updater_in_a_whole_run() {
    let passes = passes_of_two_apps(0);
    assert_one_after_the_other(&passes);
    let shared = passes.iter().filter(|pass| pass.ends_s.len() == 2).count();
    assert!(shared > 2, "both apps have their parts: {shared}");
}

#[test]
fn an_app_that_is_created_during_a_pass_waits_for_the_next_one() {
    let passes = passes_of_two_apps(12);
    assert_one_after_the_other(&passes);
    // The second deployment exists from 26 s.
    let first_of_both = passes.iter().find(|pass| pass.ends_s.len() == 2);
    let begins_s = first_of_both.expect("they share passes").begins_s;
    let busy = passes
        .iter()
        .find(|pass| pass.begins_s <= 26.0 && 26.0 < pass.ends_s[0]);
    let busy = busy.expect("the updater is busy with the first app");
    assert!((begins_s - busy.ends_s[0]).abs() < 0.01, "{begins_s} s");
}

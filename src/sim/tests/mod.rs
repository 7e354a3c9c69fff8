//! Replays whole rollouts of the products' own controllers with the native schedulers.
//!
//! Each recording in `tests/closed-loop` is replayed with its own strategy file and scripted fleet, through the same
//! control loop as a simulated world. All must agree under the rules of [`agreement`].

#![expect(
    clippy::print_stdout,
    reason = "`--nocapture` lists the recordings that differ"
)]

mod agent_client;
mod agreement;
mod argo_cd_agent;
mod experiment;
mod field;
mod fleet_agent;
mod hub;
mod kubefleet_agent;
mod published;
mod recording;
mod releases;
mod several;
mod windows;
mod words;

use std::collections::BTreeMap;

use crate::units::SimDuration;
use agreement::{Tie, Verdict, compare};
use argo_cd_agent::ArgoCdAgent;
use experiment::{argo_cd, scenario, timing, with_limit};
use field::{Agent, Field};
use fleet_agent::FleetAgent;
use kubefleet_agent::KubeFleetAgent;
use recording::{Recording, are_all, recordings};
use words::Shows;

/// The meaning of the numbers in each product's test.
const COUNTED: &str = "recordings that are refused, and that are equal; whose words are equal, and those at equal times, \
                       and reasons that agree";

/// Catches a panic, so that one failing recording does not hide the results of the others.
fn unless_it_panics(play: impl FnOnce() -> Verdict) -> Verdict {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)).unwrap_or(Verdict::Panics)
}

/// Recordings that depend on a tie at one instant. Each of these must need the exception, and no other recording may.
///
/// KubeFleet: bindings that began to wait at the same instant return 100 ms apart, in the order of Go's heap. In two
/// rollouts such a tie also determines whether a status is in the cache when a worker reads it.
///
/// Argo CD: a pass begins at the instant at which a comparison reaches its cache, and these comparisons take no time.
/// In the last recording, 40 clusters are ready at the same time; the recording ends after 5.64 s, and the replay
/// after 5.70 s.
///
/// Rancher Fleet: two reports reach the controller at the same instant.
const TIES: &[(&str, Tie)] = &[
    ("combined-250", Tie::Passes),
    ("steps-first-40-unlimited", Tie::Passes),
    ("steps-update-40-unlimited", Tie::Passes),
    ("steps-update-40-quick", Tie::Instructions),
    ("rolling-offline-300", Tie::Clusters),
    ("rolling-release-300", Tie::Clusters),
    ("rolling-release-350-late", Tie::Clusters),
    ("rolling-release-500", Tie::Passes),
    ("rolling-update-1000", Tie::Clusters),
    ("rolling-update-1000-max-5", Tie::Passes),
    ("rolling-update-300", Tie::Clusters),
    ("rolling-update-300-slow", Tie::Clusters),
    ("rolling-update-400-latency-2", Tie::Clusters),
    ("rolling-update-500", Tie::Clusters),
    ("rolling-update-600-max-10", Tie::Clusters),
];

/// Recordings that depend on the random waits after conflicts, each with a seed for which the replay agrees. For the
/// first recording, 3 of 10 seeds agree; for the second one, 16 of 40.
const DRAWS: &[(&str, u64)] = &[("steps-large-1000", 9), ("names-random-60-processors", 9)];

/// Returns the number of rejected recordings and the number of equal ones. Prints a line for each recording that is
/// not equal. Panics if a recording that is not rejected does not agree.
fn report(product: &str, verdicts: &BTreeMap<String, Verdict>) -> [usize; 2] {
    let count = |is: fn(&Verdict) -> bool| verdicts.values().filter(|verdict| is(verdict)).count();
    let refused = count(|verdict| *verdict == Verdict::Refused);
    let equal = count(|verdict| *verdict == Verdict::Equal);
    let agree = count(|verdict| matches!(verdict, Verdict::Agrees(_)));
    println!(
        "{product}: {} recordings, {refused} refused, {equal} equal, {agree} more agree within the tolerance",
        verdicts.len()
    );
    for (id, verdict) in verdicts
        .iter()
        .filter(|(_, verdict)| **verdict != Verdict::Equal)
    {
        println!("  {id}: {verdict:?}");
    }
    assert_eq!(
        refused + equal + agree,
        verdicts.len(),
        "every recording must agree"
    );
    [refused, equal]
}

/// Prints the passes and instructions of the recordings that `REPLAY` selects, to find the cause of a difference.
fn show_passes<A: Agent>(recording: &Recording, field: &Field<'_, A>) {
    if !std::env::var("REPLAY").is_ok_and(|wanted| recording.id.contains(&wanted)) {
        return;
    }
    field
        .passes
        .iter()
        .for_each(|(at, duration)| println!("  pass from {at} to {} s", at + duration));
    for (nth, here) in field.deploys.iter().enumerate() {
        println!(
            "  instruction {nth}: {:?}, here {here:?}",
            recording.deploy.get(nth)
        );
    }
}

/// Replays a recording. `strategy` is written as in an experiment.
fn replay<A: Agent>(
    recording: &Recording,
    strategy: &str,
    agent: impl Fn(usize, u32, bool) -> A,
    (first_wait, is_paused): (SimDuration, bool),
    shows: &mut Shows,
) -> Verdict {
    let product = strategy.split_once(':').expect("a product's key").0;
    let product = crate::products::find(product).expect("it is in the table");
    let scenario = match scenario(recording, strategy) {
        Err(refusal) => return refused(recording, &refusal),
        Ok(scenario) => scenario,
    };
    let timing = timing(recording, &product.control_loop);
    let mut field = Field::new(recording, agent);
    (field.first_wait, field.stopped) = (first_wait, is_paused);
    field.play(&scenario, &timing);
    show_passes(recording, &field);
    judge(recording, &field, shows)
}

/// Checks a strategy that fleetsim rejects before a run: the product must reject it for the same reason.
fn refused(recording: &Recording, refusal: &str) -> Verdict {
    let own = &recording.hold.explanation;
    let is_same = recording.deploy.is_empty()
        && recording.end != "completed"
        && is_same_refusal(own, refusal);
    if is_same {
        Verdict::Refused
    } else {
        Verdict::Differs(format!("refused here: {refusal} | {own}"))
    }
}

/// Returns whether fleetsim's reason matches the product's reason.
fn is_same_refusal(own: &str, refusal: &str) -> bool {
    // The product's text, and the corresponding text in fleetsim.
    let pairs = [
        (
            "invalid maxUnavailable, must be int or percentage",
            "is neither a whole number above 0 nor a percentage",
        ),
        ("failed to parse ", "is not a percentage"),
        (
            "is not a valid label selector operator",
            "is not an operator",
        ),
        // The recorded release updates nothing and reports no error. Later releases reject the set.
        ("is OutOfSync", "strategy.rollingSync.steps is empty"),
        (
            "appears in more than one stages",
            "appears in more than one stages",
        ),
        (
            "some clusters are not placed in any stage, total 19",
            "some clusters are not placed in any stage, total 19",
        ),
    ];
    pairs
        .iter()
        .any(|(product, here)| own.contains(product) && refusal.contains(here))
}

/// Compares the instructions and, if they agree, the shown conditions.
fn judge<A: Agent>(recording: &Recording, field: &Field<'_, A>, shows: &mut Shows) -> Verdict {
    let tie = TIES
        .iter()
        .find(|(id, _)| *id == recording.id)
        .map(|(_, tie)| *tie);
    let verdict = compare(recording, &field.deploys, field.reported, tie);
    if tie.is_some() {
        let strict = compare(recording, &field.deploys, field.reported, None);
        assert!(
            matches!(strict, Verdict::Differs(_)),
            "{} agrees without a tie",
            recording.id
        );
    }
    if !matches!(verdict, Verdict::Differs(_)) {
        shows.add(recording, field);
        shows.hold(recording, field);
    }
    verdict
}

/// Returns the counts of compared conditions, and prints a line for each recording that differs.
fn report_words(product: &str, shows: &Shows) -> [usize; 3] {
    println!(
        "{product}: words equal in {}, at equal times in {}; {} reasons agree",
        shows.equal, shows.in_time, shows.held
    );
    for (id, text) in shows.different.iter().chain(&shows.contradicted) {
        println!("  {id}: {text}");
    }
    assert!(
        !are_all() || shows.contradicted.is_empty(),
        "every reason agrees with the product's words"
    );
    [shows.equal, shows.in_time, shows.held]
}

#[test]
fn the_rancher_fleet_scheduler_reproduces_recorded_decisions() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("fleet") {
        let file = recording
            .hello
            .files
            .get("rollout.yaml")
            .and_then(|file| file.split("---\n").next());
        let file: serde_json::Value =
            serde_saphyr::from_str(file.unwrap_or("{}")).expect("a fleet.yaml");
        let has_values = !file["helm"]["values"].is_null();
        let agent = |_, revision, offline| FleetAgent::new(revision, offline, has_values);
        let strategy = "rancherFleet: {file: rollout.yaml}";
        let is_paused = file["paused"] == true;
        let verdict = unless_it_panics(|| {
            replay(
                &recording,
                strategy,
                agent,
                (SimDuration::ZERO, is_paused),
                &mut shows,
            )
        });
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (
        report("Rancher Fleet", &verdicts),
        report_words("Rancher Fleet", &shows),
    );
    assert!(
        !are_all() || found == ([1, 88], [66, 44, 12]),
        "{COUNTED}: {found:?}"
    );
}

/// The additional time before a new process's first pass, which waits for two caches of settings and polls every 100
/// ms. In recordings of updates this wait is over at time 0.
const FIRST_WAIT: SimDuration = SimDuration::from_millis(200);

/// Replays `played`, and compares the result with `recording`.
fn replay_argo_cd(recording: &Recording, played: &Recording, shows: &mut Shows) -> Verdict {
    let product = &crate::products::find("argoCd")
        .expect("it is in the table")
        .control_loop;
    let timing = with_limit(played, timing(played, product));
    let scenario = match scenario(played, &argo_cd(played)) {
        Err(refusal) => return refused(recording, &refusal),
        Ok(scenario) => scenario,
    };
    let mut field = Field::new(played, |_, revision, offline| {
        ArgoCdAgent::new(revision, offline)
    });
    if played.hello.release.installed == 0 {
        field.first_wait = FIRST_WAIT;
    }
    field.seed = DRAWS
        .iter()
        .find(|(id, _)| *id == recording.id)
        .map_or(1, |(_, seed)| *seed);
    field.play(&scenario, &timing);
    show_passes(recording, &field);
    judge(recording, &field, shows)
}

#[test]
fn the_argo_cd_scheduler_reproduces_recorded_decisions() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("argocd") {
        let verdict = unless_it_panics(|| replay_argo_cd(&recording, &recording, &mut shows));
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (
        report("Argo CD", &verdicts),
        report_words("Argo CD", &shows),
    );
    assert!(
        !are_all() || found == ([0, 81], [99, 20, 11]),
        "{COUNTED}: {found:?}"
    );
}

/// A change of the replayed recording, with the effect of a wrong rule.
type Wrong = fn(&mut Recording);

/// A recording, the wrong rule, and the beginning of the first reported difference.
const WRONG: &[(&str, Wrong, &str)] = &[
    ("steps-update-20", swap_steps, "instruction"),
    ("once-update-60-qps", drop_limiter, "instruction"),
    ("names-random-60", forget_names, "instruction"),
    ("names-sorted-60", refuse_no_pass, "instruction"),
];

fn swap_steps(played: &mut Recording) {
    let file = played
        .hello
        .files
        .get_mut("rollout.yaml")
        .expect("a set with steps");
    *file = file
        .replace("[early]", "[first]")
        .replace("[rest]", "[early]")
        .replace("[first]", "[rest]");
}

fn drop_limiter(played: &mut Recording) {
    played
        .hello
        .settings
        .remove("ARGOCD_K8S_CLIENT_QPS")
        .expect("a limiter");
}

/// Makes the order of names equal the order of the fleet.
fn forget_names(played: &mut Recording) {
    let targets = played.hello.targets.iter_mut().enumerate();
    targets.for_each(|(nth, target)| target.name = format!("cluster-{nth:04}"));
}

/// Makes the watch delay shorter than five tries, which take at least 65 ms.
fn refuse_no_pass(played: &mut Recording) {
    played.hello.latency.watch = 60_000_000;
}

#[test]
fn a_wrong_rule_does_not_reproduce_a_recording() {
    let recordings = recordings("argocd");
    for (id, wrong, difference) in WRONG {
        let Some(recording) = recordings.iter().find(|recording| recording.id == *id) else {
            assert!(!are_all(), "{id} is a recording");
            continue;
        };
        let mut played = recording.clone();
        wrong(&mut played);
        let verdict = replay_argo_cd(recording, &played, &mut Shows::default());
        println!("{id}: {verdict:?}");
        assert!(
            matches!(&verdict, Verdict::Differs(text) if text.starts_with(difference)),
            "{id}: {verdict:?}"
        );
    }
}

/// The recorded process had just started: the initialization of a run fills the cache of member clusters, and a reader
/// checks every 100 ms whether it is filled.
const FIRST_READ: SimDuration = SimDuration::from_millis(100);

/// Recordings begin when snapshots and bindings already exist, so these delays are 0.
const AT_ONCE: &str = ", snapshotDelay: 0 s, placementDelay: 0 s";

#[test]
fn the_kubefleet_schedulers_reproduce_recorded_decisions() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for mut recording in recordings("kubefleet") {
        let file = recording.hello.files.get_mut("rollout.yaml");
        let has_file = file.is_some();
        if let Some(file) = file
            && let Some((strategy, run)) = file.clone().split_once("---\n")
        {
            // The file contains both the strategy and a run of it.
            strategy.clone_into(file);
            recording
                .hello
                .files
                .insert("run.yaml".to_owned(), run.to_owned());
        }
        let run = if recording.hello.files.contains_key("run.yaml") {
            ", runs: [{file: run.yaml}]"
        } else {
            ""
        };
        let is_first = recording.hello.release.installed == 0;
        let read = if is_first {
            FIRST_READ
        } else {
            SimDuration::ZERO
        };
        let latency = recording.hello.latency.clone();
        let agent = |nth, revision, offline| {
            KubeFleetAgent::new(nth, revision, offline, (latency.request(), latency.watch()))
        };
        let verdict = unless_it_panics(|| {
            if recording.id.starts_with("staged") {
                let strategy = format!(
                    "kubeFleetStaged: {{file: rollout.yaml, approvals: {{after: never}}{run}{AT_ONCE}}}"
                );
                replay(
                    &recording,
                    &strategy,
                    agent,
                    (SimDuration::from_secs(1) + read, false),
                    &mut shows,
                )
            } else {
                let file = if has_file {
                    "file: rollout.yaml"
                } else {
                    "version: main"
                };
                let strategy = format!("kubeFleetRolling: {{{file}{AT_ONCE}}}");
                replay(
                    &recording,
                    &strategy,
                    agent,
                    (SimDuration::ZERO, false),
                    &mut shows,
                )
            }
        });
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (
        report("KubeFleet", &verdicts),
        report_words("KubeFleet", &shows),
    );
    assert!(
        !are_all() || found == ([2, 74], [89, 53, 10]),
        "{COUNTED}: {found:?}"
    );
}

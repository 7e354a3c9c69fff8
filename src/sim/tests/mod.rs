//! Whole rollouts of the products' own controllers, replayed by the native ones.
//!
//! Each recording of `tests/conformance/closed-loop` is played with its own strategy file and its own scripted fleet
//! through the same control loop as a simulated world. The instructions must be the same, in the same order; their
//! times must agree to [`TOLERANCE`] and one API request.

#![expect(clippy::print_stdout, reason = "`--nocapture` lists the recordings that differ")]

mod argo_cd_agent;
mod field;
mod fleet_agent;
mod kubefleet_agent;
mod recording;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use crate::products::ControlLoop;
use crate::scenario::{Overrides, Scenario, load};
use crate::units::SimDuration;
use argo_cd_agent::ArgoCdAgent;
use field::{Agent, Field};
use fleet_agent::FleetAgent;
use kubefleet_agent::KubeFleetAgent;
use recording::{Recording, are_all, recordings};
use words::Shows;

/// Beside one API request: the real controllers keep the events of one instant apart by nanoseconds.
const TOLERANCE: SimDuration = SimDuration::from_millis(1);

/// What the numbers of a product's test are.
const COUNTED: &str = "recordings that are refused, whose order is equal, and whose times are, too; whose words are equal, \
                       and those at equal times, and reasons that agree";

/// What comes of one recording.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Verdict {
    /// Order and times are equal.
    Equal,
    /// The order is equal; the first instruction whose time differs.
    Late(String),
    /// The first instruction that differs.
    Differs(String),
    /// The strategy is refused before a run, by the product and here for the same reason.
    Refused,
    /// The native loop cannot express the case.
    LeftOut(String),
    /// The native loop fails.
    Panics,
}

/// The recording's fleet and strategy as an experiment. The error: why it is refused.
fn scenario(recording: &Recording, strategy: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "name: replay\nquestion: Is it the same?\nseed: 1\nreplicates: 1\nhorizon: 24h\nfleet:\n".to_owned();
    for target in &recording.hello.targets {
        let labels = serde_json::to_string(&target.labels).expect("labels are text");
        // What is older than the installed revision is old, too.
        let installed = target.revision != Some(0);
        writeln!(text, "  - {{name: {}, labels: {labels}, installed: {installed}}}", target.name).expect("text");
    }
    let kind = if recording.hello.release.installed == 0 { "initial" } else { "update" };
    write!(
        text,
        "release:\n  kind: {kind}\n  images: [{{name: app, manifest: {{layers: [{{size: 1 MB}}]}}}}]\n  \
         workloads: [{{kind: Deployment, image: app}}]\nstrategies:\n  replayed: {{{strategy}}}\n"
    )
    .expect("text");
    let mut groups = Vec::new();
    for (name, content) in &recording.hello.files {
        let documents = content.split("---\n");
        let (given, rest): (Vec<_>, Vec<_>) = documents.partition(|document| document.contains("kind: ClusterGroup\n"));
        groups.extend(given.into_iter().map(cluster_group));
        fs::write(folder.path().join(name), rest.join("---\n")).expect("a file of the strategy");
    }
    if !groups.is_empty() {
        writeln!(text, "clusterGroups: {}", serde_json::Value::from(groups)).expect("text");
    }
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, text).expect("an experiment");
    match load(&file, &Overrides::default()) {
        Ok(mut experiment) => Ok(experiment.variants.remove(0).scenario),
        Err(error) => Err(error.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")),
    }
}

/// A ClusterGroup as an entry of the experiment's `clusterGroups`.
fn cluster_group(document: &str) -> serde_json::Value {
    let group: serde_json::Value = serde_saphyr::from_str(document).expect("a ClusterGroup");
    let (name, labels) = (&group["metadata"]["name"], &group["metadata"]["labels"]);
    let labels = if labels.is_null() { json!({}) } else { labels.clone() };
    json!({"name": name, "labels": labels, "selector": group["spec"]["selector"]})
}

/// The latencies of the recording, with the product's own limit of requests. The recorded API server lets a nanosecond
/// pass after each thing that it does.
fn timing(recording: &Recording, product: &ControlLoop) -> ControlLoop {
    let latency = &recording.hello.latency;
    let between_writes = SimDuration::from_nanos(1);
    ControlLoop { request: latency.request().into(), watch_delay: latency.watch(), between_writes, ..product.clone() }
}

/// One recording that fails does not hide the others.
fn unless_it_panics(play: impl FnOnce() -> Verdict) -> Verdict {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)).unwrap_or(Verdict::Panics)
}

fn compare(recording: &Recording, deploys: &[(u64, usize, u32)], tolerance: SimDuration) -> Verdict {
    let tolerance = (recording.hello.latency.request() + tolerance).as_nanos();
    let mut late = None;
    for (nth, &(at, target, revision)) in recording.deploy.iter().enumerate() {
        match deploys.get(nth) {
            Some(&(found_at, found, found_revision)) if (found, found_revision) == (target, revision) => {
                if found_at.abs_diff(at) > tolerance && late.is_none() {
                    late = Some(format!("instruction {nth}, target {target}: {at} ns, here {found_at} ns"));
                }
            }
            found => {
                return Verdict::Differs(format!(
                    "instruction {nth} of {}: target {target}, revision {revision} at {at} ns, here {found:?}",
                    recording.deploy.len()
                ));
            }
        }
    }
    if let Some(more) = deploys.get(recording.deploy.len()) {
        return Verdict::Differs(format!("all {} and one more: {more:?}", recording.deploy.len()));
    }
    late.map_or(Verdict::Equal, Verdict::Late)
}

/// Recordings that are replayed or refused, those whose order is equal, and those whose times are equal, too. A line is
/// printed for each recording that is not equal.
fn report(product: &str, verdicts: &BTreeMap<String, Verdict>) -> [usize; 3] {
    let count = |is: fn(&Verdict) -> bool| verdicts.values().filter(|verdict| is(verdict)).count();
    let refused = count(|verdict| *verdict == Verdict::Refused);
    let equal = count(|verdict| *verdict == Verdict::Equal);
    let order = equal + count(|verdict| matches!(verdict, Verdict::Late(_)));
    println!(
        "{product}: {} recordings, {refused} refused, order equal in {order}, times equal in {equal}",
        verdicts.len()
    );
    for (id, verdict) in verdicts.iter().filter(|(_, verdict)| **verdict != Verdict::Equal) {
        println!("  {id}: {verdict:?}");
    }
    [refused, order, equal]
}

/// Prints passes and instructions of the recordings that `REPLAY` names, to find the cause of a difference.
fn show_passes<A: Agent>(recording: &Recording, field: &Field<'_, A>) {
    if !std::env::var("REPLAY").is_ok_and(|wanted| recording.id.contains(&wanted)) {
        return;
    }
    field.passes.iter().for_each(|(at, duration)| println!("  pass from {at} to {} s", at + duration));
    for (nth, here) in field.deploys.iter().enumerate() {
        println!("  instruction {nth}: {:?}, here {here:?}", recording.deploy.get(nth));
    }
}

/// Plays a recording. The strategy is written as in an experiment.
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
    match &field.unknown {
        Some(change) => Verdict::LeftOut(format!("{change:?}")),
        None => judge(recording, &field, TOLERANCE, shows),
    }
}

/// A strategy that is refused before a run: so it is by the product, for the same reason.
fn refused(recording: &Recording, refusal: &str) -> Verdict {
    let own = &recording.hold.explanation;
    let is_same = recording.deploy.is_empty() && recording.end != "completed" && is_same_refusal(own, refusal);
    if is_same { Verdict::Refused } else { Verdict::Differs(format!("refused here: {refusal} | {own}")) }
}

/// Whether the program's reason names what the product's reason names.
fn is_same_refusal(own: &str, refusal: &str) -> bool {
    // The product's words, and what stands for them here.
    let pairs = [
        ("invalid maxUnavailable, must be int or percentage", "is neither a whole number above 0 nor a percentage"),
        ("failed to parse ", "is not a percentage"),
        ("is not a valid label selector operator", "is not an operator"),
        // The recorded release updates nothing and says nothing; later ones refuse the set.
        ("is OutOfSync", "strategy.rollingSync.steps is empty"),
        ("appears in more than one stages", "appears in more than one stages"),
        ("some clusters are not placed in any stage, total 19", "some clusters are not placed in any stage, total 19"),
    ];
    pairs.iter().any(|(product, here)| own.contains(product) && refusal.contains(here))
}

/// Compares instructions and, where their order is equal, what the product showed.
fn judge<A: Agent>(recording: &Recording, field: &Field<'_, A>, tolerance: SimDuration, shows: &mut Shows) -> Verdict {
    let verdict = compare(recording, &field.deploys, tolerance);
    if !matches!(verdict, Verdict::Differs(_)) {
        shows.add(recording, field);
        shows.hold(recording, field);
    }
    verdict
}

/// Counts of what was shown, with a line for each recording that differs.
fn report_words(product: &str, shows: &Shows) -> [usize; 3] {
    println!(
        "{product}: words equal in {}, at equal times in {}; {} reasons agree",
        shows.equal, shows.in_time, shows.held
    );
    for (id, text) in shows.different.iter().chain(&shows.contradicted) {
        println!("  {id}: {text}");
    }
    assert!(!are_all() || shows.contradicted.is_empty(), "every reason agrees with the product's words");
    [shows.equal, shows.in_time, shows.held]
}

#[test]
fn rancher_fleet_follows_its_recordings() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("fleet") {
        let file = recording.hello.files.get("rollout.yaml").and_then(|file| file.split("---\n").next());
        let file: serde_json::Value = serde_saphyr::from_str(file.unwrap_or("{}")).expect("a fleet.yaml");
        let has_values = !file["helm"]["values"].is_null();
        let agent = |_, revision, offline| FleetAgent::new(revision, offline, has_values);
        let strategy = "rancherFleet: {file: rollout.yaml}";
        let is_paused = file["paused"] == true;
        let verdict =
            unless_it_panics(|| replay(&recording, strategy, agent, (SimDuration::ZERO, is_paused), &mut shows));
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (report("Rancher Fleet", &verdicts), report_words("Rancher Fleet", &shows));
    assert!(!are_all() || found == ([1, 79, 78], [77, 77, 12]), "{COUNTED}: {found:?}");
}

/// The application controller beside Argo CD's recordings has no limits, and its comparisons take no time.
const ARGO_CD: &str = "argoCd: {file: rollout.yaml, applicationController: {statusProcessors: 100000, \
                       operationProcessors: 100000, kubectlParallelism: 100000, clientQps: 0, \
                       syncsPerSecond: 1000000000000, comparison: 0 s}}";

/// Waits after conflicts are drawn, up to 1 ms for each, and add up.
const DRAWN: SimDuration = SimDuration::from_millis(100);

/// What the first pass of a new process takes more: two caches of settings are waited for, with a poll every 100 ms.
/// Recordings of updates have this behind them at time 0.
const FIRST_WAIT: SimDuration = SimDuration::from_millis(200);

/// The environment of the ApplicationSet controller, as settings of the experiment and of the loop.
fn with_settings(recording: &Recording, strategy: &mut String, timing: &mut ControlLoop) {
    let settings = &recording.hello.settings;
    let number = |value: &String| value.parse::<u32>().expect("a whole number");
    if let Some(qps) = settings.get("ARGOCD_K8S_CLIENT_QPS").map(number) {
        (timing.client_qps, timing.client_burst) = (qps, 2 * qps);
    }
    timing.client_burst = settings.get("ARGOCD_K8S_CLIENT_BURST").map_or(timing.client_burst, number);
    if let Some(updates) = settings.get("ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES") {
        *strategy = strategy.replace("argoCd: {", &format!("argoCd: {{concurrentApplicationUpdates: {updates}, "));
    }
    if let Some(timeout) = settings.get("ARGOCD_K8S_TCP_TIMEOUT") {
        let given = format!("applicationController: {{tcpTimeout: {timeout}, ");
        *strategy = strategy.replace("applicationController: {", &given);
    }
}

fn replay_argo_cd(recording: &Recording, shows: &mut Shows) -> Verdict {
    let product = &crate::products::find("argoCd").expect("it is in the table").control_loop;
    let mut strategy = match recording.hello.files.is_empty() {
        true => ARGO_CD.replace("file: rollout.yaml, ", ""),
        false => ARGO_CD.to_owned(),
    };
    let mut timing = timing(recording, product);
    with_settings(recording, &mut strategy, &mut timing);
    let scenario = match scenario(recording, &strategy) {
        Err(refusal) => return refused(recording, &refusal),
        Ok(scenario) => scenario,
    };
    let mut field = Field::new(recording, |_, revision, offline| ArgoCdAgent::new(revision, offline));
    if recording.hello.release.installed == 0 {
        field.first_wait = FIRST_WAIT;
    }
    field.play(&scenario, &timing);
    show_passes(recording, &field);
    match &field.unknown {
        Some(change) => Verdict::LeftOut(format!("{change:?}")),
        None => judge(recording, &field, DRAWN, shows),
    }
}

#[test]
fn argo_cd_follows_its_recordings() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("argocd") {
        let verdict = unless_it_panics(|| replay_argo_cd(&recording, &mut shows));
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (report("Argo CD", &verdicts), report_words("Argo CD", &shows));
    assert!(!are_all() || found == ([0, 82, 77], [51, 18, 10]), "{COUNTED}: {found:?}");
}

/// The recorded process had just started: a run that is initialized has the cache of member clusters filled, and looks
/// every 100 ms whether it is.
const FIRST_READ: SimDuration = SimDuration::from_millis(100);

#[test]
fn kubefleet_follows_its_recordings() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for mut recording in recordings("kubefleet") {
        let file = recording.hello.files.get_mut("rollout.yaml");
        let has_file = file.is_some();
        if let Some(file) = file
            && let Some((strategy, run)) = file.clone().split_once("---\n")
        {
            // The file has the strategy and a run of it.
            strategy.clone_into(file);
            recording.hello.files.insert("run.yaml".to_owned(), run.to_owned());
        }
        let run = if recording.hello.files.contains_key("run.yaml") { ", runs: [{file: run.yaml}]" } else { "" };
        let is_first = recording.hello.release.installed == 0;
        let read = if is_first { FIRST_READ } else { SimDuration::ZERO };
        let latency = recording.hello.latency.clone();
        let agent =
            |nth, revision, offline| KubeFleetAgent::new(nth, revision, offline, (latency.request(), latency.watch()));
        let verdict = unless_it_panics(|| {
            if recording.id.starts_with("staged") {
                let strategy = format!("kubeFleetStaged: {{file: rollout.yaml, approvals: {{after: never}}{run}}}");
                replay(&recording, &strategy, agent, (SimDuration::from_secs(1) + read, false), &mut shows)
            } else {
                let strategy = if has_file { "kubeFleetRolling: {file: rollout.yaml}" } else { "kubeFleetRolling: {}" };
                replay(&recording, strategy, agent, (SimDuration::ZERO, false), &mut shows)
            }
        });
        verdicts.insert(recording.id.clone(), verdict);
    }
    let found = (report("KubeFleet", &verdicts), report_words("KubeFleet", &shows));
    assert!(!are_all() || found == ([2, 86, 86], [86, 53, 10]), "{COUNTED}: {found:?}");
}

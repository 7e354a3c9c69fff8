//! Whole rollouts of the products' own controllers, replayed by the native ones.
//!
//! Each recording of `tests/conformance/closed-loop` is played with its own strategy file and its own scripted fleet
//! through the same control loop as a simulated world. The instructions must be the same, in the same order; their times
//! must agree to [`TOLERANCE`] and one API request.

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

use crate::products::ControlLoop;
use crate::scenario::{Overrides, Scenario, load};
use crate::units::SimDuration;
use argo_cd_agent::ArgoCdAgent;
use field::{Agent, Field};
use fleet_agent::FleetAgent;
use kubefleet_agent::KubeFleetAgent;
use recording::{Recording, recordings};
use words::Shows;

/// Beside one API request: the real controllers keep the events of one instant apart by nanoseconds.
const TOLERANCE: SimDuration = SimDuration::from_millis(1);

/// What comes of one recording.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Verdict {
    /// Order and times are equal.
    Equal,
    /// The order is equal; the first instruction whose time differs.
    Late(String),
    /// The first instruction that differs.
    Differs(String),
    /// The native loop cannot express the case.
    LeftOut(String),
}

/// The recording's fleet and strategy as an experiment. The error: why it is refused.
fn scenario(recording: &Recording, strategy: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "name: replay\nquestion: Is it the same?\nseed: 1\nreplicates: 1\nhorizon: 24h\nfleet:\n".to_owned();
    for target in &recording.hello.targets {
        let labels = serde_json::to_string(&target.labels).expect("labels are text");
        writeln!(text, "  - {{name: {}, labels: {labels}}}", target.name).expect("text");
    }
    let kind = if recording.hello.release.installed == 0 { "initial" } else { "update" };
    write!(
        text,
        "release:\n  kind: {kind}\n  images: [{{name: app, manifest: {{layers: [{{size: 1 MB}}]}}}}]\n  \
         workloads: [{{kind: Deployment, image: app}}]\nstrategies:\n  replayed: {{{strategy}}}\n"
    )
    .expect("text");
    for (name, content) in &recording.hello.files {
        fs::write(folder.path().join(name), content).expect("a file of the strategy");
    }
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, text).expect("an experiment");
    match load(&file, &Overrides::default()) {
        Ok(mut experiment) => Ok(experiment.variants.remove(0).scenario),
        Err(error) => Err(error.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")),
    }
}

/// The latencies of the recording, with the product's own limit of requests.
fn timing(recording: &Recording, product: &ControlLoop) -> ControlLoop {
    let latency = &recording.hello.latency;
    ControlLoop { request: latency.request().into(), watch_delay: latency.watch(), ..product.clone() }
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

/// Counts, with a line for each recording that is not equal.
fn report(product: &str, verdicts: &BTreeMap<String, Verdict>) -> (usize, usize) {
    let equal = verdicts.values().filter(|verdict| **verdict == Verdict::Equal).count();
    let late = verdicts.values().filter(|verdict| matches!(verdict, Verdict::Late(_))).count();
    println!("{product}: {} recordings, order equal in {}, times equal in {equal}", verdicts.len(), equal + late);
    for (id, verdict) in verdicts.iter().filter(|(_, verdict)| **verdict != Verdict::Equal) {
        println!("  {id}: {verdict:?}");
    }
    (equal + late, equal)
}

/// Prints the passes of the recording that `REPLAY` names, to find the cause of a difference.
fn show_passes(id: &str, passes: &[(f64, f64)]) {
    if std::env::var("REPLAY").is_ok_and(|wanted| wanted == id) {
        passes.iter().for_each(|(at, duration)| println!("  pass from {at} to {} s", at + duration));
    }
}

/// Plays a recording. The strategy is written as in an experiment.
fn replay<A: Agent>(
    recording: &Recording,
    strategy: &str,
    agent: impl Fn(u32, bool) -> A,
    first_wait: SimDuration,
    shows: &mut Shows,
) -> Verdict {
    let installed = recording.hello.release.installed;
    let targets = &recording.hello.targets;
    if targets.iter().any(|target| target.revision.is_some_and(|revision| revision != installed)) {
        return Verdict::LeftOut("targets start with different revisions".to_owned());
    }
    if recording.hello.latency.spread > 0.0 {
        return Verdict::LeftOut("drawn latencies".to_owned());
    }
    let product = strategy.split_once(':').expect("a product's key").0;
    let product = crate::products::find(product).expect("it is in the table");
    let scenario = match scenario(recording, strategy) {
        Err(refusal) if recording.deploy.is_empty() => return Verdict::LeftOut(format!("refused: {refusal}")),
        Err(refusal) => return Verdict::LeftOut(format!("refused here only: {refusal}")),
        Ok(scenario) => scenario,
    };
    let timing = timing(recording, &product.control_loop);
    let mut field = Field::new(recording, agent);
    field.first_wait = first_wait;
    field.play(&scenario, &timing);
    show_passes(&recording.id, &field.passes);
    match &field.unknown {
        Some(change) => Verdict::LeftOut(format!("{change:?}")),
        None => judge(recording, &field, TOLERANCE, shows),
    }
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
    assert!(shows.contradicted.is_empty(), "every reason agrees with the product's words");
    [shows.equal, shows.in_time, shows.held]
}

#[test]
fn rancher_fleet_follows_its_recordings() {
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("fleet") {
        let verdict = if recording.hello.files.values().any(|file| file.contains("values:")) {
            Verdict::LeftOut("Helm values".to_owned())
        } else {
            replay(&recording, "rancherFleet: {file: rollout.yaml}", FleetAgent::new, SimDuration::ZERO, &mut shows)
        };
        verdicts.insert(recording.id.clone(), verdict);
    }
    assert_eq!(report("Rancher Fleet", &verdicts), (66, 66), "order and times equal");
    assert_eq!(report_words("Rancher Fleet", &shows), [46, 29, 12], "words, their times, and reasons");
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

/// Why the native loop cannot express a recording of Argo CD.
fn left_out(recording: &Recording) -> Option<&'static str> {
    let is_any = |test: fn(&recording::News) -> bool| recording.script.iter().any(test);
    if !recording.hello.settings.is_empty() {
        Some("flags of the ApplicationSet controller")
    } else if recording.hello.latency.spread > 0.0 {
        Some("drawn latencies")
    } else if is_any(|news| news.failing.is_some()) {
        Some("clusters that say that they fail")
    } else {
        None
    }
}

#[test]
fn argo_cd_follows_its_recordings() {
    let product = &crate::products::find("argoCd").expect("it is in the table").control_loop;
    let (mut verdicts, mut shows) = (BTreeMap::new(), Shows::default());
    for recording in recordings("argocd") {
        let strategy = match recording.hello.files.is_empty() {
            true => ARGO_CD.replace("file: rollout.yaml, ", ""),
            false => ARGO_CD.to_owned(),
        };
        let verdict = match (left_out(&recording), scenario(&recording, &strategy)) {
            (Some(reason), _) => Verdict::LeftOut(reason.to_owned()),
            (None, Err(refusal)) => Verdict::LeftOut(format!("refused: {refusal}")),
            (None, Ok(scenario)) => {
                let timing = timing(&recording, product);
                let mut field = Field::new(&recording, ArgoCdAgent::new);
                if recording.hello.release.installed == 0 {
                    field.first_wait = FIRST_WAIT;
                }
                field.play(&scenario, &timing);
                show_passes(&recording.id, &field.passes);
                match &field.unknown {
                    Some(change) => Verdict::LeftOut(format!("{change:?}")),
                    None => judge(&recording, &field, DRAWN, &mut shows),
                }
            }
        };
        verdicts.insert(recording.id.clone(), verdict);
    }
    assert_eq!(report("Argo CD", &verdicts), (56, 49), "order and times equal");
    assert_eq!(report_words("Argo CD", &shows), [32, 7, 9], "words, their times, and reasons");
}

/// The recorded process had just started: its cache of member clusters is filled when the first binding asks for one, and
/// looks every 100 ms whether it is. The chain of requests to the first cluster is 5 ms shorter here in return.
const FIRST_READ: SimDuration = SimDuration::from_millis(95);
/// The same of a staged run, which also meets a conflict over the finalizer of the first binding.
const FIRST_READ_STAGED: SimDuration = SimDuration::from_millis(115);

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
        let [read, staged_read] =
            [FIRST_READ, FIRST_READ_STAGED].map(|read| if is_first { read } else { SimDuration::ZERO });
        let verdict = if recording.id.starts_with("staged") {
            let strategy = format!("kubeFleetStaged: {{file: rollout.yaml, approvals: {{after: never}}{run}}}");
            replay(&recording, &strategy, KubeFleetAgent::new, SimDuration::from_secs(1) + staged_read, &mut shows)
        } else {
            let strategy = if has_file { "kubeFleetRolling: {file: rollout.yaml}" } else { "kubeFleetRolling: {}" };
            replay(&recording, strategy, KubeFleetAgent::new, read, &mut shows)
        };
        verdicts.insert(recording.id.clone(), verdict);
    }
    assert_eq!(report("KubeFleet", &verdicts), (69, 61), "order and times equal");
    assert_eq!(report_words("KubeFleet", &shows), [69, 36, 10], "words, their times, and reasons");
}

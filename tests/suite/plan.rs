//! `fleetsim plan` finds the answer given by algebra, an exhaustive search and recorded results, with few runs.
#![expect(
    clippy::print_stdout,
    reason = "`--nocapture` tells the numbers of docs/plan.md"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use fleetsim::results::{CandidateStatus, Journal, Limit, Objective, PlanRecord, RunRow};
use fleetsim::scenario::{Experiment, Overrides, Plan, load, load_plan};
use fleetsim::study::plan::{SearchResult, search, search_among};

use super::common::{fleetsim, folder_with, root, text};

fn planned(text: &str) -> (tempfile::TempDir, Experiment, Plan) {
    let folder = folder_with(&[("experiment.yaml", text)]);
    let experiment =
        load_plan(folder.path(), &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let plan = experiment.plan.clone().expect("it has one");
    (folder, experiment, plan)
}

fn searched(text: &str, exhaustive: bool) -> SearchResult {
    let (_folder, experiment, plan) = planned(text);
    let journal = Journal::unsaved();
    search(&experiment, &plan, exhaustive, &journal, |_| {}).expect("nobody stops it")
}

fn standing(plan: &PlanRecord, setting: &str) -> (CandidateStatus, u64, f64) {
    let mut candidates = plan
        .questions
        .iter()
        .flat_map(|question| &question.candidates);
    let found = candidates
        .find(|candidate| candidate.setting() == setting)
        .expect(setting);
    (found.standing, found.runs, found.load.value)
}

/// 40 clusters of one node behind 100 Mbit/s each, one new layer of 125 MB, and no other traffic on the link.
///
/// By hand: a pull takes 125 MB · 8 / 100 Mbit/s = 10 s if the registry's link has room, which is always so below 1
/// Gbit/s, so m concurrent clusters take m · 100 Mbit/s of it for a second or more. Fleet has at most `maxUnavailable`
/// = m clusters in flight in a fleet of one partition, and begins with m concurrently. m = 5 meets a limit of 550
/// Mbit/s and m = 6 exceeds it. The fewer clusters are concurrent, the later all 40 are done: m = 5 needs 8 waves, m =
/// 4 needs 10.
const BY_HAND: &str = r#"
name: by-hand
seed: 3
replicates: 8
horizon: 24h
fleet: [{name: "c-{01..40}", nodes: 1, downlink: 100 Mbit/s, rtt: 1 ms}]
registry: {egress: 1 Gbit/s, perConnection: unlimited, serviceTime: 1 ms}
node: {sandbox: 0 s, startOverhead: 1 s, startSpread: 0, pullConstant: 100 ms, unpackSpread: 0, disk: {class: none}}
agent: {instructionDelay: 500 ms, apply: 3 s, applySpread: 0, reportDelay: 500 ms, readiness: {delay: 5 s}}
release:
  kind: initial
  images: [{name: shop, manifest: {layers: [{size: 125 MB}]}}]
  workloads: [{kind: DaemonSet, image: shop, start: 4 s, termination: 2 s}]
strategies: {it: {rancherFleet: {maxNew: 1000}}}
plan:
  limits: [registry.egress < 550 Mbit/s]
  search: {strategies.it.rancherFleet.maxUnavailable: [1, 2, 4, 5, 6, 8, 20, 40]}
"#;

#[test]
fn plan_finds_the_setting_that_algebra_predicts() {
    let text = BY_HAND.replace("kind: initial", "kind: update").replace(
        "manifest: {layers: [{size: 125 MB}]}",
        "manifest: {layers: [{digest: new, size: 125 MB}]}, previous: {layers: [{digest: old, size: 125 MB}]}",
    );
    let plan = searched(&text, true).plan;
    assert_eq!(
        plan.questions[0].best.as_deref(),
        Some("it maxUnavailable=5")
    );
    assert!(plan.questions[0].answers[0].is_decided);
    for (clusters, expected) in [
        (1, CandidateStatus::Slower),
        (2, CandidateStatus::Slower),
        (4, CandidateStatus::Slower),
        (5, CandidateStatus::Best),
        (6, CandidateStatus::Breaks),
        (8, CandidateStatus::Breaks),
        (20, CandidateStatus::Breaks),
        (40, CandidateStatus::Breaks),
    ] {
        let (found, runs, egress) = standing(&plan, &format!("maxUnavailable={clusters}"));
        assert_eq!(found, expected, "{clusters} at once");
        let expected = match found {
            CandidateStatus::Breaks => 1,
            CandidateStatus::Best => 59,
            _ => 10,
        };
        assert_eq!(
            runs, expected,
            "a run beyond the limit is proof, ten runs compare, 59 show 95% of all runs"
        );
        // Each cluster receives 100 Mbit/s = 12.5 MB/s, up to the link's 125 MB/s in total.
        let by_hand = (12.5e6 * f64::from(clusters)).min(125e6);
        assert!(
            (egress / by_hand - 1.0).abs() < 0.01,
            "{clusters} at once: {egress} bytes/s, by hand {by_hand}"
        );
    }
    let exhaustive = plan.exhaustive.as_ref().expect("it was asked for");
    assert_eq!(
        exhaustive.answers,
        [(Some("it maxUnavailable=5".to_owned()), true)]
    );
    println!(
        "by hand: {} runs, exhaustively {}",
        plan.runs, exhaustive.runs
    );
}

#[test]
fn plan_finds_the_smallest_link_that_meets_a_limit() {
    // By hand: five concurrent clusters need 5 * 100 Mbit/s. A link of 500 Mbit/s or more does not slow them down. A
    // link of 250 Mbit/s doubles the 10 s of a pull in each of eight waves: 80 s more.
    let plan = BY_HAND.find("plan:").expect("a plan");
    let base = BY_HAND[..plan]
        .replace("maxNew: 1000", "maxNew: 1000, maxUnavailable: 5")
        .replace("initial", "update");
    let base = base.replace(
        "manifest: {layers: [{size: 125 MB}]}",
        "manifest: {layers: [{digest: new, size: 125 MB}]}, previous: {layers: [{digest: old, size: 125 MB}]}",
    );
    let unhindered = searched(
        &format!(
            "{base}plan: {{minimise: registry.egress, limits: [completion < 1d], confirm: 2,\n  search: \
             {{registry.egress: [1 Gbit/s, 2 Gbit/s]}}}}\n"
        ),
        false,
    );
    let time = unhindered.plan.questions[0].candidates[0]
        .time
        .expect("it completes")
        .value;
    let limit = format!("completion_p95 < {:.0}s", time + 20.0);
    let text = format!(
        "{base}plan: {{minimise: registry.egress, limits: [{limit}],\n  search: {{registry.egress: [1 Gbit/s, 250 \
         Mbit/s, 550 Mbit/s, 100 Mbit/s]}}}}\n"
    );
    let plan = searched(&text, true).plan;
    assert_eq!(plan.questions.len(), 1, "links are candidates, not worlds");
    assert_eq!(
        plan.questions[0].best.as_deref(),
        Some("it egress=550 Mbit/s")
    );
    assert!(plan.questions[0].answers[0].is_decided && agrees(&plan));
    let state = |setting: &str| standing(&plan, setting).0;
    assert_eq!(state("egress=100 Mbit/s"), CandidateStatus::Breaks);
    assert_eq!(state("egress=250 Mbit/s"), CandidateStatus::Breaks);
    assert_eq!(state("egress=1 Gbit/s"), CandidateStatus::Slower);
}

#[test]
fn plan_finds_the_largest_fleet_that_completes_in_time_in_99_percent_of_runs() {
    let plan = BY_HAND.find("plan:").expect("a plan");
    let base = BY_HAND[..plan].replace(
        "fleet: [{name: \"c-{01..40}\", nodes: 1,",
        "clusters: 10\nfleet: [{name: \"c-{0001..}\", clusters: 100%, nodes: 1,",
    );
    let base = base.replace("rancherFleet: {maxNew: 1000}", "oneByOne: {}");
    // Clusters are updated one after the other, so the time grows with the fleet.
    let text = format!(
        "{base}plan: {{maximise: clusters, limits: [completion_p99 < 8min], search: {{clusters: [40, 5, 10, 20]}}}}\n"
    );
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    assert_eq!(code, 0, "{told}{error}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Maximise clusters."), "{told}");
    assert!(words.contains("has a greater `clusters`"), "{told}");
    println!("{told}");
    let plan = fs::read(folder.path().join("results/by-hand-plan/plan.json")).expect("written");
    let plan: PlanRecord = serde_json::from_slice(&plan).expect("JSON");
    let candidates = &plan.questions[0].candidates;
    let in_time = |clusters: &str| {
        let found = candidates
            .iter()
            .find(|candidate| candidate.setting() == format!("clusters={clusters}"));
        found
            .and_then(|found| found.time)
            .is_some_and(|time| time.value < 480.0)
    };
    let best = plan.questions[0].answers[0]
        .variant
        .clone()
        .expect("an answer");
    let largest = ["40", "20", "10", "5"]
        .into_iter()
        .find(|clusters| in_time(clusters))
        .expect("one is in time");
    assert_eq!(
        best,
        format!("oneByOne clusters={largest}").replace("oneByOne", "it")
    );
    assert!(
        plan.questions[0].answers[0]
            .kept
            .expect("it was found")
            .runs
            >= 299,
        "99% takes 299 runs"
    );
}

/// A small world with all kinds of randomness, for two link sizes and two strategies.
const NOISY: &str = r#"
name: noisy
seed: 11
replicates: 20
horizon: 24h
fleet: [{name: "c-{01..16}", nodes: 2, downlink: {median: 50 Mbit/s, sigma: 0.3}, rtt: 20 ms}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images:
    - name: shop
      manifest: {layers: [{digest: base, size: 30 MB}, {digest: new, size: 60 MB}]}
      previous: {layers: [{digest: base, size: 30 MB}, {digest: old, size: 60 MB}]}
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 3%}
strategies:
  fleet: {rancherFleet: {}}
  waves: {batches: {size: 2}}
sweep:
  registry.egress: [200 Mbit/s, 1 Gbit/s]
  strategies.fleet.rancherFleet.maxUnavailable: [1, 2, 3, 5, 8, 16]
  strategies.waves.batches.size: [1, 2, 4, 8, 16]
plan: {limits: [peak_pulls <= 12], confirm: 20}
"#;

#[test]
fn an_exhaustive_search_agrees_and_needs_more_runs() {
    let plan = searched(NOISY, true).plan;
    let exhaustive = plan.exhaustive.as_ref().expect("it was asked for");
    println!(
        "noisy: {} runs, exhaustively {}",
        plan.runs, exhaustive.runs
    );
    assert_eq!(plan.questions.len(), 2, "a question for each link");
    assert!(
        plan.questions
            .iter()
            .all(|question| question.answers.len() == 2),
        "an answer for each strategy"
    );
    assert!(
        exhaustive.answers.iter().all(|(_, agrees)| *agrees),
        "{:?}",
        exhaustive.answers
    );
    assert_eq!(exhaustive.runs, 2 * (6 + 5) * 20);
    assert!(
        plan.runs < exhaustive.runs,
        "{} of {}",
        plan.runs,
        exhaustive.runs
    );
}

/// Searches among the recorded runs of an experiment's strategy `from-git`, and compares the choice with that from all
/// recorded runs.
fn among_recorded(name: &str, limit: &str) -> PlanRecord {
    let root = root();
    let experiment = load(&root.join("experiments").join(name), &Overrides::default());
    let mut experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    // The bounds for pacing are left out, because they are not settings.
    experiment
        .variants
        .retain(|variant| variant.strategy == "from-git");
    let mut rows: BTreeMap<String, Vec<RunRow>> = BTreeMap::new();
    let mut table = csv_rows(&root.join("results").join(name).join("runs.csv"));
    table.sort_by_key(|row| row.replicate);
    for row in table {
        rows.entry(row.variant.clone()).or_default().push(row);
    }
    // The plan uses as many runs as were recorded, rather than the 59 that would show more about the limit.
    let plan = Plan {
        limits: vec![Limit::parse(limit).expect("a limit")],
        objective: Objective::parse("completion_median").expect("a time"),
        confidence: 0.95,
        indifference: 0.01,
        confirm: experiment.replicates,
        most: Some(experiment.replicates),
        tries: None,
        runs: None,
    };
    let recorded = |variant: usize, replicate: u32| {
        let runs = &rows[&experiment.variants[variant].label];
        Ok(runs[replicate as usize].clone())
    };
    let plan = search_among(&experiment, &plan, true, recorded)
        .expect("nobody stops it")
        .plan;
    let exhaustive = plan.exhaustive.as_ref().expect("it was asked for");
    let best: Vec<&str> = plan
        .questions
        .iter()
        .map(|question| question.best.as_deref().unwrap_or("none"))
        .collect();
    println!(
        "{name}, {limit}: {} runs, exhaustively {}: {}",
        plan.runs,
        exhaustive.runs,
        best.join("; ")
    );
    plan
}

fn agrees(plan: &PlanRecord) -> bool {
    plan.exhaustive
        .iter()
        .flat_map(|exhaustive| &exhaustive.answers)
        .all(|(_, agrees)| *agrees)
}

#[test]
fn a_plan_over_recorded_runs_finds_the_same_answer_as_the_exhaustive_search() {
    for (limit, expected) in [
        ("peak_pulls < 200", "from-git maxUnavailable=10%"),
        ("peak_pulls < 100", "from-git maxUnavailable=5%"),
    ] {
        let plan = among_recorded("01-max-unavailable", limit);
        assert_eq!(plan.questions[0].best.as_deref(), Some(expected), "{limit}");
        assert!(
            plan.questions[0].answers[0].is_decided && agrees(&plan),
            "{limit}"
        );
        assert!(
            2 * plan.runs <= plan.exhaustive_runs,
            "{limit}: {} of {} runs",
            plan.runs,
            plan.exhaustive_runs
        );
    }
    // Twenty runs cannot confirm a limit on a 95th percentile, whatever their values are.
    let plan = among_recorded("01-max-unavailable", "peak_pulls_p95 < 500");
    assert_eq!(plan.questions[0].best, None);
    let candidates = &plan.questions[0].candidates;
    assert!(
        candidates
            .iter()
            .any(|candidate| candidate.standing == CandidateStatus::Undecided)
    );
}

#[test]
fn a_plan_for_three_fleet_sizes_needs_at_most_half_of_the_runs() {
    for limit in [
        "peak_pulls < 200",
        "peak_pulls < 500",
        "egress_busy_share < 10%",
    ] {
        let plan = among_recorded("06-max-unavailable-sweep", limit);
        assert_eq!(plan.questions.len(), 3, "a question for each size");
        assert!(
            plan.questions
                .iter()
                .all(|question| question.answers[0].is_decided)
                && agrees(&plan),
            "{limit}"
        );
        assert!(
            2 * plan.runs <= plan.exhaustive_runs,
            "{limit}: {} of {} runs",
            plan.runs,
            plan.exhaustive_runs
        );
    }
}

fn csv_rows(path: &Path) -> Vec<RunRow> {
    let mut reader = csv::Reader::from_path(path).expect("recorded results");
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("rows")
}

fn output(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("it runs");
    (
        output.status.code().expect("it ends by itself"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_program_writes_the_same_plan_on_any_number_of_threads_and_reports_it_again() {
    let folder = folder_with(&[(
        "noisy.yaml",
        &NOISY.replace("replicates: 20", "replicates: 6"),
    )]);
    let (code, told, _) =
        output(fleetsim(folder.path()).args(["plan", "noisy.yaml", "--threads", "1"]));
    assert_eq!(code, 0, "{told}");
    let results = folder.path().join("results/noisy-plan");
    for file in [
        "plan.txt",
        "plan.csv",
        "plan.json",
        "runs.csv",
        "charts/front.svg",
        "charts/front.png",
        "provenance.json",
    ] {
        assert!(results.join(file).is_file(), "{file}");
    }
    assert_eq!(
        fs::read_to_string(results.join("plan.txt")).expect("text"),
        told,
        "what is printed is kept"
    );
    assert!(
        told.lines().all(|line| line.chars().count() <= 100),
        "{told}"
    );
    assert!(
        told.contains("rolloutStrategy:\n  maxUnavailable: "),
        "{told}"
    );
    let (code, again, place) =
        output(fleetsim(folder.path()).args(["plan", "noisy.yaml", "--threads", "4"]));
    assert_eq!((code, again), (0, told.clone()));
    assert!(place.contains("reproduced byte for byte"), "{place}");
    let (code, report, place) =
        output(fleetsim(folder.path()).args(["report", "results/noisy-plan"]));
    assert_eq!((code, report), (0, told));
    assert!(place.contains("reproduced byte for byte"), "{place}");
    let (_, json, _) =
        output(fleetsim(folder.path()).args(["plan", "noisy.yaml", "--format", "json"]));
    let plan: PlanRecord = serde_json::from_str(&json).expect("JSON and nothing else");
    assert!(plan.is_answered());
}

/// Thirty clusters, two of them paused, over links of 100 Mbit/s.
const PAUSED: &str = r#"
name: paused
replicates: 3
horizon: 12h
fleet:
  - {name: "c-{001..028}", nodes: 1, downlink: 100 Mbit/s}
  - {name: "p-{1..2}", nodes: 1, paused: true}
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 1}]
strategies: {it: {rancherFleet: {}}}
"#;

#[test]
fn a_limit_on_completion_leaves_out_paused_clusters_as_the_tables_do() {
    let search = "search: {strategies.it.rancherFleet.maxUnavailable: [1, 5, 20]}";
    let plan = format!(
        "{PAUSED}plan: {{limits: [peak_pulls < 10, completion_p95 < 2h, completion_s < 2h], {search}}}\n"
    );
    let folder = folder_with(&[("experiment.yaml", &plan)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    assert_eq!(code, 0, "{told}{error}");
    assert!(told.contains("it maxUnavailable=5: "), "{told}");
    // The table shows the statistic of each limit, with its unit.
    assert!(
        told.contains("[1]") && told.contains("5 pulls") && told.contains("[3]"),
        "{told}"
    );
}

#[test]
fn a_rejected_setting_is_explained_with_its_rule_and_the_number_of_runs() {
    let search = "search: {strategies.it.rancherFleet.maxUnavailable: [1, 2]}";
    // One cluster goes offline permanently, and blocks a rollout that waits for every cluster.
    let fleet = PAUSED.replace("horizon", "faults: {offline: {share: 20%}}\nhorizon");
    let plan =
        format!("{fleet}plan: {{limits: [peak_pulls < 10, completion_p95 < 2h], {search}}}\n");
    let folder = folder_with(&[("experiment.yaml", &plan)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 99, "{told}{error}");
    for setting in ["1", "2"] {
        let reason = format!(
            "maxUnavailable={setting}: 1 of 1 run did not finish, blocked by maxUnavailable."
        );
        assert!(words.contains(&reason), "{told}");
    }
    let slow = fleet.replace(
        "{it: {rancherFleet: {}}}",
        "{it: {rancherFleet: {}}, slow: {rancherFleet: {maxUnavailable: 1}}}",
    );
    let folder = folder_with(&[(
        "experiment.yaml",
        &format!("{slow}plan: {{limits: [peak_pulls < 10]}}\n"),
    )]);
    let (_, told, _) = output(fleetsim(folder.path()).args(["plan", "."]));
    // The text appears twice: in the answer, and in the list below the table.
    assert_eq!(
        told.matches("\nslow: 1 of 1 run did not finish, blocked by maxUnavailable.")
            .count(),
        2,
        "{told}"
    );
}

#[test]
fn an_uncertain_answer_is_not_offered_for_pasting_and_exits_with_99() {
    let text = NOISY.replace("confirm: 20}", "confirm: 20, runs: 30}");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    assert_eq!(code, 99, "{told}{error}");
    assert!(
        error.contains("the runs do not show which setting is the best"),
        "{error}"
    );
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("not certain after") && words.contains("raise `plan.runs`"),
        "{told}"
    );
    assert!(!told.contains("rolloutStrategy:"), "{told}");
    let plan = fs::read(folder.path().join("results/noisy-plan/plan.json")).expect("written");
    let plan: PlanRecord = serde_json::from_slice(&plan).expect("JSON");
    assert!(
        plan.questions
            .iter()
            .all(|question| !question.is_best_shown),
        "the record says so too"
    );
    let answers = || plan.questions.iter().flat_map(|question| &question.answers);
    assert!(answers().all(|answer| answer.is_decided || answer.snippet.is_none()));
    // Fewer runs than `confirm` confirm nothing.
    let text = NOISY.replace("confirm: 20", "confirm: 59");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let (code, told, _) = output(fleetsim(folder.path()).args(["plan", ".", "--replicates", "12"]));
    assert_eq!(code, 99, "{told}");
    assert!(!told.contains("rolloutStrategy:"), "{told}");
}

#[test]
fn a_statement_on_a_mean_names_the_rarest_events_that_it_covers() {
    let search = "search: {strategies.it.rancherFleet.maxUnavailable: [1, 5]}";
    let plan = format!(
        "{PAUSED}plan: {{minimise: completion_mean, limits: [peak_pulls < 10], {search}}}\n"
    );
    let folder = folder_with(&[("experiment.yaml", &plan)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    assert_eq!(code, 0, "{told}{error}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let promise = words
        .split(". ")
        .find(|sentence| sentence.contains("no setting"))
        .expect("a promise");
    assert!(
        promise.contains("for events in at least 5% of the runs"),
        "{promise}"
    );
}

#[test]
fn plan_reports_the_closest_setting_and_exits_with_99_when_none_meets_the_limits() {
    let text = BY_HAND
        .replace("< 550 Mbit/s", "< 50 Mbit/s")
        .replace("[1, 2, 4, 5, 6, 8, 20, 40]", "[2, 4, 40]");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let (code, told, error) = output(fleetsim(folder.path()).args(["plan", "."]));
    assert_eq!(code, 99, "{told}{error}");
    assert!(
        told.contains("no setting meets all limits; the closest, it maxUnavailable=2"),
        "{told}"
    );
    assert!(error.contains("no setting meets every limit"), "{error}");
}

#[test]
fn invalid_plans_are_refused_with_their_line_and_a_fix() {
    let folder = folder_with(&[]);
    let told = |plan: &str| {
        let text = format!("{}{plan}\n", BY_HAND.split("plan:").next().expect("a part"));
        fs::write(folder.path().join("experiment.yaml"), text).expect("written");
        let (code, _, error) = output(fleetsim(folder.path()).args(["plan", "."]));
        assert_eq!(code, 2, "{plan}: {error}");
        error
    };
    let search = "search: {strategies.it.rancherFleet.maxUnavailable: [1, 2]}";
    for (plan, expected) in [
        ("plan: {limits: [peak_pulls < 9]}".to_owned(), "the plan has only one candidate"),
        (String::new(), "without a limit on load or risk"),
        ("plan: {limits: [complexion < 1 h]}".to_owned(), "unknown measure `complexion`"),
        (format!("plan: {{limits: [failed_pulls_max == 0], {search}}}"), "cannot be evaluated for a single run"),
        (format!("plan: {{fastest: t99, {search}}}"), "`fastest` is now `minimise`"),
        (
            format!("plan: {{minimise: peak_pulls, {search}}}"),
            "a plan that optimises `peak_pulls_median` needs a limit",
        ),
        (
            format!("plan: {{maximise: peak_pulls, limits: [completion < 1h], {search}}}"),
            "only a setting can be maximised",
        ),
        (
            format!("plan: {{minimise: registry.egres, limits: [completion < 1h], {search}}}"),
            "write a path of `sweep` or `search`, or a measure",
        ),
        (
            "plan: {minimise: strategies.it.rancherFleet.maxUnavailable, limits: [completion < 1h], \
              search: {strategies.it.rancherFleet.maxUnavailable: [1, 5%]}}"
                .to_owned(),
            "must be numbers of one unit, not 1 and 5%",
        ),
        (format!("plan: {{confidence: 100%, {search}}}"), "`confidence` must be at least 50% and less than 100%"),
        (format!("plan: {{confirm: 0, {search}}}"), "`confirm` must be at least 1"),
        ("plan: {limits: [peak_pulls < 9], search: {}}".to_owned(), "the plan has only one candidate"),
        (format!("plan: {{confidence: 0%, {search}}}"), "`confidence` must be at least 50% and less than 100%"),
        (format!("plan: {{limits: [peak_pulls about 7], {search}}}"), "peak_pulls about 7"),
        (
            "plan: {search: {strategies.it.rancherFleet.maxUnavailable: {from: 9, to: 2, steps: 3}}}".to_owned(),
            "invalid range from 9 to 2",
        ),
        ("plan: {search: {strategies.nobody.rancherFleet.maxUnavailable: [1, 2]}}".to_owned(), "nobody"),
        (format!("plan: {{limits: [], {search}}}"), "without a limit on load or risk"),
        (format!("plan: {{limits: [completion_p95 < 4h], {search}}}"), "without a limit on load or risk"),
        (format!("plan: {{runs: 1, {search}}}"), "`runs` is 1, but there are 2 candidates"),
        ("plan: {search: {registry.egress: [1 Gbit/s]}}".to_owned(), "is not a setting of a strategy"),
        (
            "plan: {search: {strategies.it.rancherFleet.maxUnavailable: {from: 0, to: 9, steps: 3}}}".to_owned(),
            "invalid range from 0 to 9",
        ),
        (
            "plan: {search: {strategies.it.rancherFleet.maxUnavailable: {from: 1, too: 9, steps: 3}}}".to_owned(),
            "unknown field `too`",
        ),
        (
            "plan: {search: {strategies.it.rancherFleet.maxUnavailable: {from: lots, to: 9, steps: 3}}}".to_owned(),
            "`from` and `to` must be numbers",
        ),
        ("plan: {search: {strategies.it.rancherFleet.colour: [1, 2]}}".to_owned(), "colour"),
    ] {
        let error = told(&plan);
        assert!(error.contains(expected), "{plan}: {error}");
        assert!(error.contains("experiment.yaml:"), "it names the line: {error}");
        assert!(error.contains("help: ") || error.contains("expected"), "it says how to mend it: {error}");
    }
}

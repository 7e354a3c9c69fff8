//! `fleetsim plan` with a limited number of tries: it finds the answer that algebra and an exhaustive search give,
//! stays within its budget, and proposes exactly the strategy that it tried.

use std::fs;

use fleetsim::results::{Candidate, CandidateStatus, Journal, PlanRecord};
use fleetsim::scenario::{Overrides, load, load_plan};
use fleetsim::study::plan::search;

use super::common::{blocks, fleetsim, folder_with, root, text, with_outputs};

fn searched(written: &str, exhaustive: bool) -> PlanRecord {
    let folder = folder_with(&[("experiment.yaml", written)]);
    let experiment = load_plan(folder.path(), &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let plan = experiment.plan.clone().expect("it has one");
    let journal = Journal::unsaved();
    search(&experiment, &plan, exhaustive, &journal, |_| {})
        .expect("nobody stops it")
        .plan
}

/// Two stages of 20 clusters, each behind 100 Mbit/s, one new layer of 125 MB, and no spread.
///
/// By hand, as in `plan.rs`: m concurrent clusters take m · 100 Mbit/s, so a limit of 550 Mbit/s allows at most 5. The
/// second stage begins when the first is ready. So the time is the sum of both stages' waves, ⌈20 / m⌉ each, and the
/// best is 5 in both. The current setting, 2 and 1, is not on the front: 2 and 2 has the same maximum load, and needs
/// 20 waves instead of 30. Waves take 18 to 28 s, because agents poll their works; 4 is left out, because 59 runs
/// cannot distinguish it from 5.
const TWO_STAGES: &str = r#"
name: two-stages
seed: 3
replicates: 5
horizon: 24h
fleet:
  - {name: "a-{01..20}", labels: {part: a}, nodes: 1, downlink: 100 Mbit/s, rtt: 1 ms}
  - {name: "b-{01..20}", labels: {part: b}, nodes: 1, downlink: 100 Mbit/s, rtt: 1 ms}
registry: {egress: 2 Gbit/s, perConnection: unlimited, serviceTime: 1 ms}
node: {sandbox: 0 s, startOverhead: 1 s, startSpread: 0, pullConstant: 100 ms, unpackSpread: 0}
agent: {applySpread: 0}
release:
  kind: update
  images:
    - name: shop
      manifest: {layers: [{digest: new, size: 125 MB}]}
      previous: {layers: [{digest: old, size: 125 MB}]}
  workloads: [{kind: DaemonSet, image: shop, start: 4 s, termination: 2 s}]
strategies:
  it:
    kubeFleetStaged:
      stages:
        - {name: a, maxConcurrency: 2, labelSelector: {matchLabels: {part: a}}}
        - {name: b, maxConcurrency: 1, labelSelector: {matchLabels: {part: b}}}
plan:
  limits: [registry.egress < 550 Mbit/s]
  tries: 24
  search:
    strategies.it.kubeFleetStaged.stages.0.maxConcurrency: [1, 2, 3, 5, 6, 8, 10, 20]
    strategies.it.kubeFleetStaged.stages.1.maxConcurrency: [1, 2, 3, 5, 6, 8, 10, 20]
"#;

fn values(candidate: &Candidate) -> Vec<&str> {
    candidate
        .settings
        .iter()
        .map(|setting| setting.value.as_str())
        .collect()
}

fn best(plan: &PlanRecord) -> &Candidate {
    let mut all = plan.questions[0].candidates.iter();
    all.find(|candidate| candidate.standing == CandidateStatus::Best)
        .expect("some setting meets the limit")
}

#[test]
fn two_tuned_settings_equal_those_of_algebra_and_of_an_exhaustive_search() {
    let plan = searched(TWO_STAGES, true);
    assert_eq!(values(best(&plan)), ["5", "5"]);
    assert!(
        plan.questions[0].answers[0].is_decided,
        "{:?}",
        plan.questions[0].answers
    );
    let exhaustive = plan.exhaustive.as_ref().expect("asked for");
    assert!(
        exhaustive.answers.iter().all(|(_, agrees)| *agrees),
        "{exhaustive:?}"
    );
    let tuned = plan.tuned.as_ref().expect("it has tries");
    assert_eq!(
        (tuned.tries, tuned.settings),
        (24, 65),
        "8 · 8, and the present setting"
    );
    assert_eq!(plan.questions[0].candidates.len(), 24);

    let all = searched(&TWO_STAGES.replace("tries: 24", "tries: 1000"), false);
    let untuned = searched(&TWO_STAGES.replace("  tries: 24\n", ""), false);
    assert_eq!(
        all.questions[0].candidates.len(),
        64,
        "a small space is tried as a whole"
    );
    assert_eq!(
        best(&all).variant,
        best(&untuned).variant,
        "which is the search without tries"
    );
    assert!(
        untuned.tuned.is_none()
            && untuned.questions[0]
                .candidates
                .iter()
                .all(|one| one.front.is_none())
    );
}

#[test]
fn the_front_contains_the_best_settings_and_no_dominated_ones() {
    let plan = searched(TWO_STAGES, false);
    let places: Vec<_> = plan.questions[0]
        .candidates
        .iter()
        .filter_map(|one| one.front.map(|at| (one, at)))
        .collect();
    let time = |at: &fleetsim::results::FrontPlace| at.time.unwrap_or(f64::INFINITY);
    for (one, at) in places.iter().filter(|(_, at)| at.is_optimal) {
        let beats = |other: &fleetsim::results::FrontPlace| {
            time(other) < 0.98 * time(at) && other.load <= at.load && other.exposure <= at.exposure
        };
        assert!(
            !places.iter().any(|(_, other)| beats(other)),
            "{} is beaten",
            one.variant
        );
    }
    assert!(
        best(&plan).front.is_some_and(|at| at.is_optimal),
        "nothing that takes less is faster"
    );
    let (present, at) = places
        .iter()
        .find(|(_, at)| at.is_present)
        .expect("it is tried first");
    assert_eq!((present.variant.as_str(), values(present).len()), ("it", 0));
    assert!(!at.is_optimal, "2, 2 is faster at the same load");
}

#[test]
fn the_budgets_of_runs_and_tries_are_respected() {
    for (tries, runs) in [(10, 50), (10, 77), (24, 130)] {
        let written = TWO_STAGES.replace("tries: 24", &format!("tries: {tries}\n  runs: {runs}"));
        let plan = searched(&written, false);
        assert!(plan.runs <= runs, "{} of {runs}", plan.runs);
        assert_eq!(plan.questions[0].candidates.len(), tries);
        assert!(
            plan.questions[0]
                .candidates
                .iter()
                .all(|candidate| candidate.runs >= 5)
        );
    }
}

/// For each product, a strategy whose settings `auto` can find, with the name and the rest of the product's file.
const PRODUCTS: [(&str, &str, &str); 6] = [
    (
        "rancherFleet: {partitions: [{name: a, clusterSelector: {matchLabels: {ring: canary}}}, {name: b, \
         clusterSelector: {matchLabels: {ring: rest}}}]}",
        "rancherFleet",
        "",
    ),
    ("rancherFleet: {maxUnavailable: 1}", "rancherFleet", ""),
    (
        "kubeFleetStaged: {stages: [{name: a, labelSelector: {matchLabels: {ring: canary}}}, {name: b, labelSelector: \
         {matchLabels: {ring: rest}}}]}",
        "kubeFleetStaged",
        "",
    ),
    (
        "kubeFleetRolling: {maxUnavailable: 1}",
        "kubeFleetRolling",
        "",
    ),
    (
        "cloudFoundry: {strategy: rolling, maxInFlight: 1}",
        "cloudFoundry",
        "",
    ),
    (
        "argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: ring, operator: In, \
         values: [canary]}]}, {matchExpressions: [{key: ring, operator: In, values: [rest]}], maxUpdate: 1}]}}}",
        "argoCd",
        "  generators: [{list: {}}]\n  template: {spec: {syncPolicy: {automated: {enabled: true}}}}\n",
    ),
];

#[test]
fn the_proposed_strategy_equals_the_tried_one() {
    for (strategy, product, around) in PRODUCTS {
        let plan = "plan: {limits: [peak_not_ready <= 4], tries: 12, confirm: 5, search: {strategies.it: auto}}";
        let written =
            super::common::canaries_and_stores(5, &format!("{{it: {{{strategy}}}}}"), plan);
        let written = written.replace("release:\n", "release:\n  kind: update\n").replace(
            "{layers: [{size: 10 MB}]}",
            "{layers: [{digest: new, size: 10 MB}]}, previous: {layers: [{digest: old, size: 10 MB}]}",
        );
        let found = searched(&written, false);
        let answer = &found.questions[0].answers[0];
        let snippet = answer
            .snippet
            .as_ref()
            .unwrap_or_else(|| panic!("{product}: {answer:?}"));
        let kind = if around.is_empty() {
            ""
        } else {
            "kind: ApplicationSet\n"
        };
        let own = format!("{kind}{}{around}", snippet.text);
        let entries = if product == "argoCd" {
            "generate: false, "
        } else {
            ""
        };
        let from_file =
            written.replace(strategy, &format!("{product}: {{{entries}file: own.yaml}}"));
        let folder = folder_with(&[
            ("set.yaml", &written),
            ("file.yaml", &from_file),
            ("own.yaml", &own),
        ]);
        let settings = &best(&found).settings;
        assert!(
            !settings.is_empty(),
            "{product}: one at a time is not the fastest"
        );
        let set = settings
            .iter()
            .map(|setting| format!("{}={}", setting.path, setting.value))
            .collect();
        let strategy_of = |file: &str, set: Vec<String>| {
            let overrides = Overrides {
                set,
                ..Overrides::default()
            };
            let experiment = load(&folder.path().join(file), &overrides)
                .unwrap_or_else(|error| panic!("{error}"));
            experiment.variants[0].scenario.strategy().snippet()
        };
        assert_eq!(
            strategy_of("set.yaml", set),
            Some(snippet.clone()),
            "{product}: by --set"
        );
        assert_eq!(
            strategy_of("file.yaml", Vec::new()),
            Some(snippet.clone()),
            "{product}: by its own file"
        );
    }
}

#[test]
fn the_program_writes_the_same_bytes_on_any_number_of_threads() {
    let folder = folder_with(&[("two.yaml", TWO_STAGES)]);
    let plan = |threads: &str| {
        let output = fleetsim(folder.path())
            .args(["plan", "two.yaml", "--threads", threads])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (told, _) = plan("1");
    let (again, place) = plan("3");
    assert_eq!(told, again);
    assert!(place.contains("reproduced byte for byte"), "{place}");
    assert!(
        told.lines().all(|line| line.chars().count() <= 100),
        "{told}"
    );
    for part in [
        "present, slower",
        "The current setting of it is not on the front",
        "less time: it stages[0]",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let results = folder.path().join("results/two-stages-plan");
    for file in ["front.csv", "charts/front.png", "charts/exposure.svg"] {
        assert!(results.join(file).is_file(), "{file}");
    }
    let front = fs::read_to_string(results.join("front.csv")).expect("text");
    assert_eq!(
        front.lines().count(),
        25,
        "a row for each setting that was tried"
    );
}

#[test]
fn the_page_shows_what_the_program_prints() {
    let path = root().join("docs/plan.md");
    let page = fs::read_to_string(&path).expect("the page");
    let file = blocks(&page)
        .into_iter()
        .find(|block| block.text.starts_with("name: tiers"))
        .expect("its file")
        .text;
    let folder = folder_with(&[("tiers.yaml", &file)]);
    let printed = |language: &str, command: &str| {
        let arguments = command
            .strip_prefix("fleetsim ")
            .filter(|_| language == "console")?;
        let output = fleetsim(folder.path())
            .args(arguments.split(' '))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        Some(text(&output.stdout))
    };
    let (now, commands) = with_outputs(&page, printed);
    assert_eq!(commands, 1);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, now).expect("written");
    } else {
        assert!(
            now == page,
            "UPDATE_DOCS=1 writes the page anew. Now:\n{now}"
        );
    }
    // The settings of a product's file are equal to the inline settings.
    let in_place = file
        .split("      maxUnavailablePartitions")
        .nth(1)
        .and_then(|rest| rest.split("plan:").next());
    let own = format!(
        "rolloutStrategy:\n  maxUnavailablePartitions{}",
        in_place.expect("its strategy")
    );
    let own = own.replace("\n      partitions", "\n  partitions");
    let (before, after) = file.split_once("rancherFleet:\n").expect("its strategy");
    let after = after.split_once("plan:").expect("its plan").1;
    let named = format!("{before}rancherFleet: {{file: fleet.yaml}}\nplan:{after}");
    let folder = folder_with(&[
        ("place.yaml", &file),
        ("file.yaml", &named),
        ("fleet.yaml", &own),
    ]);
    let settings = |name: &str| {
        let experiment = load_plan(&folder.path().join(name), &Overrides::default());
        let experiment = experiment.unwrap_or_else(|error| panic!("{}", error.render(false)));
        experiment
            .variants
            .into_iter()
            .map(|variant| variant.label)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        settings("file.yaml").len(),
        865,
        "6 · 6 · 6 · 4, and the present setting"
    );
    assert_eq!(settings("file.yaml"), settings("place.yaml"));
}

#[test]
fn settings_that_cannot_be_searched_are_refused_with_their_line() {
    let two = "strategies.it.kubeFleetStaged.stages.1.maxConcurrency: [1, 2, 3, 5, 6, 8, 10, 20]";
    for (from, to, message) in [
        (two, "strategies.if: auto", "there is no strategy `if`"),
        (
            two,
            "strategies.it.kubeFleetStaged.approvals: auto",
            "`auto` searches a whole strategy",
        ),
        (
            two,
            "strategies.it: automatic",
            "or `auto` for a strategy, found the text `automatic`",
        ),
        (
            two,
            "strategies.it.kubeFleetStaged.stages.7.maxConcurrency: [1]",
            "there is no `strategies.it.kubeFleetStaged.stages[7]`",
        ),
        ("tries: 24", "tries: 2", "`tries` must be at least 5"),
        (
            "tries: 24",
            "tries: 24\n  runs: 100",
            "`runs` is 100, but 24 tries take 120",
        ),
    ] {
        let folder = folder_with(&[("experiment.yaml", &TWO_STAGES.replace(from, to))]);
        let error = load_plan(folder.path(), &Overrides::default())
            .expect_err(to)
            .render(false);
        assert!(
            error.contains(message) && error.contains("experiment.yaml:"),
            "{to}: {error}"
        );
        assert!(
            to.ends_with("automatic") || error.contains("help: "),
            "{to}: {error}"
        );
    }
    let bare = TWO_STAGES.replace(
        "kubeFleetStaged:",
        "argoCd: {}\n  other:\n    kubeFleetStaged:",
    );
    let bare = bare.replace(
        "strategies.it.kubeFleetStaged.stages.0.maxConcurrency: [1, 2, 3, 5, 6, 8, 10, 20]",
        "strategies.it: auto",
    );
    let folder = folder_with(&[("experiment.yaml", &bare.replace(two, ""))]);
    let error = load_plan(folder.path(), &Overrides::default())
        .expect_err("no steps")
        .render(false);
    assert!(
        error.contains("`it` has no `strategy.rollingSync.steps.*.maxUpdate` to search"),
        "{error}"
    );
}

//! `fleetsim assumptions`, `fleetsim sensitivity` and `uncertainty: constants`, as users call them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::common::{contents, fleetsim, folder_with, text};

const EXPERIMENT: &str = r#"
name: small
seed: 7
replicates: 2
horizon: 12h
fleet:
  - {name: "store-{01..12}", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}
release:
  images: [{name: shop, manifest: {layers: [{size: 100 MB}]}}]
  workloads: [{kind: Deployment, image: shop, readiness: {period: 10 s}}]
strategies:
  quick: {allAtOnce: {}}
  careful: {batches: {size: 3}}
assert: [{strategy: careful, limit: completion < 3 min}]
"#;

/// Creates an experiment in its own subfolder, because a recorded command names the folder.
fn experiment(more: &str) -> TempDir {
    let home = folder_with(&[]);
    fs::create_dir(home.path().join("small")).expect("made");
    fs::write(
        home.path().join("small/experiment.yaml"),
        format!("{EXPERIMENT}{more}"),
    )
    .expect("written");
    home
}

/// Returns the standard output of the program, which must succeed.
fn said(folder: &Path, args: &[&str]) -> String {
    let output = fleetsim(folder)
        .args(args)
        .assert()
        .success()
        .get_output()
        .clone();
    text(&output.stdout)
}

const ONLY: [&str; 8] = [
    "sensitivity",
    "small",
    "--constant",
    "fleet[*].downlink",
    "--constant",
    "release.workloads[*].start",
    "--budget",
    "400",
];

#[test]
fn an_analysis_is_equal_on_any_number_of_threads_and_names_the_changed_decisions() {
    let home = experiment("");
    let [one, three] = ["1", "3"].map(|threads| {
        let out = format!("out-{threads}");
        let said = said(
            home.path(),
            &[&ONLY[..], &["--threads", threads, "--out", &out]].concat(),
        );
        (said, contents(&home.path().join(out)))
    });
    assert!(one == three, "the number of threads does not show");
    let (said, files) = one;
    assert!(
        said.contains("careful: completion < 3 min: holds"),
        "{said}"
    );
    assert!(
        said.contains("if fleet[*].downlink < "),
        "a slow link exceeds the limit:\n{said}"
    );
    let runs = said
        .lines()
        .find_map(|line| line.split_once(" runs, "))
        .and_then(|(runs, _)| runs.parse::<u64>().ok());
    assert!(
        runs.is_some_and(|runs| (100..=400).contains(&runs)),
        "the budget is that of all parts: {said}"
    );
    let few = fleetsim(home.path())
        .args(["sensitivity", "small", "--budget", "9"])
        .assert()
        .code(2);
    let error = text(&few.get_output().stderr).replace('\n', " ");
    assert!(
        error.contains("one constant at a time takes ") && error.contains("`--budget` allows 9"),
        "{error}"
    );
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "sensitivity.csv",
        "morris.csv",
        "decisions.csv",
        "sensitivity.txt",
        "charts/decisions.svg",
        "charts/decisions.png",
    ] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    fleetsim(home.path())
        .args(["reproduce", "out-1"])
        .assert()
        .success();
    assert!(self::said(home.path(), &["report", "out-1"]).contains("if fleet[*].downlink < "));
}

#[test]
fn an_unknown_constant_is_rejected_with_a_list_of_known_constants() {
    let home = experiment("");
    let call = fleetsim(home.path())
        .args(["sensitivity", "small", "--constant", "fleet.downlink"])
        .assert();
    let error = text(&call.code(2).get_output().stderr);
    assert!(
        error.contains("`fleet.downlink` is not used") && error.contains("fleet[*].downlink"),
        "{error}"
    );
    let known = experiment("uncertainty: {known: [\"fleet[*].downlink\", node.nik]}\n");
    let call = fleetsim(known.path()).args(["check", "small"]).assert();
    let error = text(&call.code(2).get_output().stderr);
    assert!(
        error.contains("there is no constant `node.nik`")
            && error.contains("did you mean `node.nic`?"),
        "{error}"
    );
}

#[test]
fn assumptions_are_those_of_the_model_or_of_an_experiment() {
    let home = experiment(
        "uncertainty: {known: [\"node.nic\"], ranges: {\"agent.apply\": {low: 2 s, high: 6 s}}}\n",
    );
    let all = said(home.path(), &["assumptions"]);
    assert!(
        all.contains("distribution.cache.rtt") && all.contains("node.nic"),
        "{all}"
    );
    let own = said(home.path(), &["assumptions", "small"]);
    assert!(
        !own.contains("distribution.cache.rtt"),
        "there is no cache:\n{own}"
    );
    assert!(!own.contains("node.nic"), "it is known:\n{own}");
    assert!(
        own.contains("2.8 s, from 2 s to 6 s"),
        "a range of the user's own:\n{own}"
    );
}

#[test]
fn with_drawn_constants_total_intervals_are_reported_as_well() {
    let home = experiment("uncertainty: {draws: 9}\n");
    let said = said(home.path(), &["run", "small", "--out", "out", "--details"]);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("from random numbers alone (33.3%), and in total (80%; 9 draws"),
        "{said}"
    );
    assert!(
        words.contains("`quick` is the first in 9 of 9 draws, and it completes after "),
        "{said}"
    );
    let page = fs::read_to_string(home.path().join("out/report.html")).expect("a page");
    assert!(
        page.contains("<h2 id=\"uncertainty-title\">Uncertainty</h2>"),
        "the page has a section"
    );
    let constants =
        fs::read_to_string(home.path().join("out/constants.csv")).expect("the drawn constants");
    let links = constants
        .lines()
        .filter(|line| line.contains("fleet[*].downlink,"));
    assert_eq!(links.count(), 9, "one for each draw");
    let draws = fs::read_to_string(home.path().join("out/draws.csv"))
        .expect("the runs with drawn constants");
    assert_eq!(draws.lines().count(), 1 + 2 * 9);
    fleetsim(home.path())
        .args(["reproduce", "out"])
        .assert()
        .success();
}

#[test]
fn constants_are_named_as_in_the_users_file() {
    let home = experiment("");
    let file = home.path().join("small/experiment.yaml");
    let listed = fs::read_to_string(&file).expect("readable").replace(
        "fleet:\n  - {name: \"store-{01..12}\", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}\n",
        "inventory: {file: clusters.csv, default: {nodes: 1, downlink: 100 Mbit/s}}\n\
         uncertainty: {draws: 0, known: [inventory.default.rtt]}\n",
    );
    fs::write(file, listed).expect("written");
    let names: String = (1..=12).map(|at| format!("store-{at}\n")).collect();
    fs::write(
        home.path().join("small/clusters.csv"),
        format!("name\n{names}"),
    )
    .expect("written");
    let listed = said(home.path(), &["assumptions", "small"]);
    assert!(
        listed.contains("\ninventory.default.downlink\n") && !listed.contains("fleet[*]"),
        "{listed}"
    );
    assert!(
        !listed.contains("inventory.default.rtt"),
        "it is known: {listed}"
    );
    for name in ["inventory.default.downlink", "fleet[*].downlink"] {
        let found = said(
            home.path(),
            &[
                "sensitivity",
                "small",
                "--constant",
                name,
                "--budget",
                "0",
                "--replace",
            ],
        );
        assert!(
            found.contains("inventory.default.downlink") && !found.contains("fleet[*]"),
            "{found}"
        );
    }
}

#[test]
fn a_run_reports_whether_unstated_links_decide_its_answer() {
    let run = |limit: &str, more: &[&str]| {
        let text = EXPERIMENT
            .replace(", downlink: 100 Mbit/s", "")
            .replace("completion < 3 min", limit);
        let home = folder_with(&[("experiment.yaml", &text)]);
        let out = fleetsim(home.path())
            .args(["run", ".", "--details", "--replicates", "10"])
            .args(more)
            .output()
            .expect("run");
        super::common::text(&out.stdout)
    };
    let decides = run("completion < 3 min", &[]);
    let sentence =
        "`fleet[*].downlink` is a guess and decides here: at 20 Mbit/s, careful: completion <";
    assert!(decides.replace('\n', " ").contains(sentence), "{decides}");
    let holds = run("completion < 3h", &[]);
    let sentence = "The answer stays the same for `fleet[*].downlink` from 20 Mbit/s to 500 Mbit/s, which are not stated";
    assert!(holds.replace('\n', " ").contains(sentence), "{holds}");
    let stated = run(
        "completion < 3 min",
        &["--set", "fleet[0].downlink=100 Mbit/s"],
    );
    assert!(
        !stated.contains("are not stated") && !stated.contains("decides here"),
        "{stated}"
    );
}

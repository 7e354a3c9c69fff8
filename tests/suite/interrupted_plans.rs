//! Searches that are interrupted or killed, run out of budget, or are directed at a folder that does not belong to
//! them: no run is lost, and the text states what happened.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::common::{contents, folder_with, journal_of, state_home, text};

/// The best setting needs 120 runs to be confirmed, which takes long enough to be interrupted in the middle.
const EXPERIMENT: &str = r#"
name: small
seed: 7
replicates: 120
horizon: 12h
fleet:
  - {name: "store-{01..40}", nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{digest: base, size: 60 MB}, {size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%}
strategies:
  careful: {rancherFleet: {}}
plan:
  limits: [peak_pulls < 60]
  search: {strategies.careful.rancherFleet.maxUnavailable: [10%, 25%, 100%]}
  confirm: 120
"#;

fn experiment(text: &str) -> TempDir {
    folder_with(&[("experiment.yaml", text)])
}

fn fleetsim(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", state_home())
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn finished(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("the program is run");
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn until_some_runs_are_kept(folder: &Path, child: &mut Child) {
    let patience = Instant::now() + Duration::from_secs(60);
    while fs::metadata(journal_of(&folder.join("out"))).map_or(0, |file| file.len()) < 4_000 {
        assert!(Instant::now() < patience, "the search keeps its runs");
        assert!(
            child.try_wait().expect("a child").is_none(),
            "the search is long enough to be interrupted"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_interrupted_and_killed_search_resumes_and_ends_with_the_same_bytes() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    let plan = |out| fleetsim(at, &["plan", ".", "--threads", "2", "--out", out]);

    let mut stopped = plan("out").spawn().expect("started");
    until_some_runs_are_kept(at, &mut stopped);
    let (busy, _, told) = finished(plan("out"));
    assert_eq!(busy, Some(1), "{told}");
    assert!(
        told.contains("another fleetsim process is writing to ")
            && told.ends_with("out; wait for it or choose another folder\n")
    );
    let sent = Command::new("kill")
        .args(["-INT", &stopped.id().to_string()])
        .status()
        .expect("there is `kill`");
    assert!(sent.success());
    let output = stopped.wait_with_output().expect("ended");
    let told = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(
        told.contains(" finished runs were saved; run the same command to resume\n"),
        "{told}"
    );
    assert!(
        told.ends_with("interrupted; no results were written\n"),
        "{told}"
    );
    assert!(!at.join("out").exists(), "no half results");

    let mut killed = plan("out").spawn().expect("started");
    std::thread::sleep(Duration::from_millis(50));
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    assert!(!at.join("out").exists(), "no half results");

    let (code, first, told) = finished(plan("out"));
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.starts_with("resuming an unfinished search with ") && told.contains(" saved runs\n"),
        "{told}"
    );
    assert!(
        !journal_of(&at.join("out")).exists(),
        "nothing is left in the user's folder"
    );
    let (code, second, told) = finished(fleetsim(
        at,
        &["plan", ".", "--threads", "1", "--out", "never-interrupted"],
    ));
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(first, second);
    assert!(
        contents(&at.join("out")) == contents(&at.join("never-interrupted")),
        "the same bytes"
    );
}

#[test]
fn a_search_that_ends_at_its_budget_reports_an_uncertain_answer() {
    let folder = experiment(&format!("{EXPERIMENT}  runs: 5\n"));
    let (code, told, error) = finished(fleetsim(folder.path(), &["plan", "."]));
    assert_eq!(code, Some(99), "{error}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not certain after 5 runs"), "{told}");
    assert!(
        words.contains("The search stopped at its budget of 5 runs."),
        "{told}"
    );
    assert!(
        words.contains(" best so far ") && !words.contains("rolloutStrategy"),
        "{told}"
    );
    assert!(
        !words.contains("no setting that meets the limits is faster"),
        "nothing is promised: {told}"
    );
}

#[test]
fn plans_and_results_of_runs_do_not_replace_each_other() {
    let folder = experiment(&EXPERIMENT.replace(" 120", " 2"));
    let at = folder.path();
    for (first, second) in [("run", "plan"), ("plan", "run")] {
        let (code, _, told) = finished(fleetsim(at, &[first, ".", "--out", first]));
        assert_eq!(code, Some(0), "{told}");
        let before = contents(&at.join(first));
        let (code, _, told) = finished(fleetsim(at, &[second, ".", "--out", first]));
        assert_eq!(code, Some(1), "{told}");
        assert!(
            told.contains("`small`") && told.contains("`small-plan`"),
            "{told}"
        );
        assert!(contents(&at.join(first)) == before, "nothing is lost");
    }
    let provenance = fs::read_to_string(at.join("plan/provenance.json")).expect("written");
    assert!(
        provenance.contains("\"command\": \"fleetsim plan "),
        "{provenance}"
    );
}

#[test]
fn plan_reports_that_no_setting_completes() {
    let text = EXPERIMENT
        .replace("[10%, 25%, 100%]", "[0]")
        .replace("120", "3");
    let text = text.replace(
        "  careful: {rancherFleet: {}}",
        "  careful: {rancherFleet: {}}\n  never: {rancherFleet: {maxUnavailable: 0}}",
    );
    let folder = experiment(&text);
    let (code, told, error) = finished(fleetsim(
        folder.path(),
        &["plan", ".", "--replicates", "2", "--seed", "4"],
    ));
    assert_eq!(code, Some(99), "{error}");
    assert!(told.contains("did not finish, blocked by"), "{told}");
    assert!(
        error.ends_with("error: no setting meets every limit and completes in every run\n"),
        "{error}"
    );
    let provenance = fs::read_to_string(folder.path().join("results/small-plan/provenance.json"))
        .expect("written");
    assert!(
        provenance.contains("--replicates 2 --seed 4"),
        "{provenance}"
    );
}

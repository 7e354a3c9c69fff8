//! The real program: its output, the input that it rejects, and the stability of its results for any number of threads
//! and for reruns.

use std::fs;

use fleetsim::results::Provenance;
use tempfile::TempDir;

use super::common::{contents, fleetsim, folder_with, text};

/// Images of two layers, one of which the update changes.
const MANIFEST: &str = r#"{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
  "config": {"digest": "sha256:CONFIG", "size": 8000},
  "layers": [{"digest": "sha256:BASE", "size": 60000000}, {"digest": "sha256:APP", "size": 20000000}]}"#;

fn manifest(app: char) -> String {
    let digest = |c: char| c.to_string().repeat(64);
    MANIFEST
        .replace("CONFIG", &digest(app))
        .replace("BASE", &digest('b'))
        .replace("APP", &digest(app))
}

const EXPERIMENT: &str = r#"
name: small
question: Does the program work?
seed: 7
replicates: 3
horizon: 12h
fleet:
  - {name: "store-{01..30}", labels: {env: prod}, nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms}
registry: {egress: 1 Gbit/s, requests: {rate: 50/s, burst: 100}}
release:
  kind: update
  images: [{name: shop, manifest: shop-v2.json, previous: shop-v1.json}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
  all-at-once: {allAtOnce: {}}
sweep: {strategies.careful.rancherFleet.maxUnavailable: [10%, 50%]}
"#;

/// A folder with a small experiment.
fn experiment() -> TempDir {
    let files = [
        ("experiment.yaml", EXPERIMENT),
        ("shop-v1.json", &manifest('1')),
        ("shop-v2.json", &manifest('2')),
    ];
    folder_with(&files)
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = experiment();
    let run = |threads: &str, out: &str| {
        let output = fleetsim(folder.path())
            .args(["run", ".", "--threads", threads, "--out", out])
            .assert()
            .success();
        (
            contents(&folder.path().join(out)),
            text(&output.get_output().stdout),
        )
    };
    let (one, table_of_one) = run("1", "one");
    let (two, table_of_two) = run("2", "two");
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "runs.csv",
        "summary.csv",
        "timeline.csv",
        "clusters.csv",
        "provenance.json",
        "charts/pulls.svg",
    ] {
        assert!(names.contains(&name), "{name} is among {names:?}");
    }
    for ((name, one), (other, two)) in one.iter().zip(&two) {
        assert_eq!(name, other);
        assert!(one == two, "{name} differs");
    }
    assert_eq!(table_of_one, table_of_two);
}

/// The bytes at the beginning and the end of a Parquet file.
#[cfg(feature = "parquet")]
const PARQUET: &[u8] = b"PAR1";

#[cfg(feature = "parquet")]
#[test]
fn the_series_of_every_run_is_equal_on_any_number_of_threads_and_after_redrawing() {
    let folder = experiment();
    let run = |threads: &str, out: &str| {
        let args = ["run", ".", "--series", "--threads", threads, "--out", out];
        fleetsim(folder.path()).args(args).assert().success();
        contents(&folder.path().join(out))
    };
    let one = run("1", "one");
    assert!(one == run("2", "two"), "no byte differs");
    let file = |wanted: &str| &one.iter().find(|(name, _)| name == wanted).expect(wanted).1;
    let series = file("series.parquet");
    assert!(series.starts_with(PARQUET) && series.ends_with(PARQUET));
    let provenance = text(file("provenance.json"));
    assert!(
        provenance.contains(r#""command": "fleetsim run "#)
            && provenance.contains(r#" --series","#)
    );
    assert!(
        provenance.contains(r#""path": "series.parquet""#),
        "{provenance}"
    );
    fleetsim(folder.path())
        .args(["report", "one"])
        .assert()
        .success();
    assert!(
        contents(&folder.path().join("one")) == one,
        "no byte differs"
    );
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_names_the_fix() {
    let folder = experiment();
    let refused = fleetsim(folder.path())
        .args(["run", ".", "--series"])
        .assert()
        .code(2);
    let stderr = text(&refused.get_output().stderr);
    assert_eq!(
        stderr,
        "error: --series needs a fleetsim with Parquet support; rebuild with `cargo build --release --features \
         parquet`\n"
    );
    assert!(!folder.path().join("results").exists());
}

#[test]
fn results_are_replaced_as_a_whole_or_reported_as_reproduced() {
    let folder = experiment();
    let stderr = |args: &[&str]| {
        let assert = fleetsim(folder.path())
            .arg("run")
            .arg("experiment.yaml")
            .args(args)
            .assert()
            .success();
        text(&assert.get_output().stderr)
    };
    assert_eq!(stderr(&[]), "results: results/small\n");
    assert_eq!(
        stderr(&[]),
        "results: results/small (reproduced byte for byte)\n"
    );
    let replaced = stderr(&["--seed", "8", "--replace"]);
    assert!(
        replaced.starts_with("results: results/small (replaced; changed: "),
        "{replaced}"
    );
    let left: Vec<_> = fs::read_dir(folder.path().join("results"))
        .expect("results")
        .collect();
    assert_eq!(left.len(), 1, "nothing is left beside the results");
}

#[test]
fn set_values_are_recorded_and_used_to_reproduce_results() {
    let folder = folder_with(&[]);
    fs::create_dir(folder.path().join("experiments")).expect("made");
    fs::rename(experiment().keep(), folder.path().join("experiments/small")).expect("moved");
    let run = |args: &[&str]| {
        let output = fleetsim(folder.path())
            .args(["run", "experiments/small"])
            .args(args)
            .output()
            .expect("run");
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(run(&[]).0, Some(0));
    let set = [
        "--set",
        "registry.egress=unlimited",
        "--set",
        "question=Is it the link?",
    ];
    let (code, refused) = run(&set);
    assert!(
        code == Some(1) && refused.contains("add `--out DIR` to keep them"),
        "{code:?} {refused}"
    );
    assert_eq!(
        run(&[&set[..], &["--out", "results/other"]].concat()),
        (Some(0), "results: results/other\n".into())
    );
    let provenance =
        Provenance::of_results(&folder.path().join("results/other")).expect("readable");
    let set = "--set 'registry.egress=unlimited' --set 'question=Is it the link?'";
    assert_eq!(
        provenance.command,
        format!("fleetsim run experiments/small {set}")
    );
    assert_eq!(provenance.variants[0].registry_egress_bytes_per_s, None);
    let output = fleetsim(folder.path())
        .args(["reproduce", "results/other"])
        .output()
        .expect("run");
    assert_eq!(
        text(&output.stderr),
        "results/other: reproduced byte for byte\n"
    );
}

#[test]
fn reproduce_finds_experiments_that_are_together_in_a_folder() {
    let folder = folder_with(&[]);
    fs::create_dir_all(folder.path().join("experiments/incidents")).expect("made");
    let place = "experiments/incidents/small";
    fs::rename(experiment().keep(), folder.path().join(place)).expect("moved");
    fleetsim(folder.path())
        .args(["run", place, "--out", "results/incidents/small"])
        .assert()
        .success();
    let results = folder.path().join("results/incidents/small");
    let provenance = Provenance::of_results(&results).expect("readable");
    assert_eq!(provenance.command, format!("fleetsim run {place}"));
    let output = fleetsim(folder.path())
        .args(["reproduce", "results/incidents"])
        .output()
        .expect("run");
    assert_eq!(
        text(&output.stderr),
        "results/incidents/small: reproduced byte for byte\n"
    );
}

#[test]
fn reproduce_adds_missing_files_and_lists_those_that_differ() {
    let folder = folder_with(&[]);
    fs::create_dir(folder.path().join("experiments")).expect("made");
    fs::rename(experiment().keep(), folder.path().join("experiments/small")).expect("moved");
    fleetsim(folder.path())
        .args(["run", "experiments/small"])
        .assert()
        .success();
    let results = folder.path().join("results/small");
    let complete = contents(&results);
    for name in ["timeline.csv", "report.html", "charts/pulls.png"] {
        fs::remove_file(results.join(name)).expect("it was written");
    }
    let refused = fleetsim(folder.path())
        .args(["report", "results/small"])
        .assert()
        .code(2);
    let missing = text(&refused.get_output().stderr);
    assert!(
        missing
            .ends_with("is missing; run `fleetsim reproduce results/small` to create it again\n"),
        "{missing}"
    );

    let again = || {
        fleetsim(folder.path())
            .args(["reproduce", "results/small"])
            .output()
            .expect("run")
    };
    let output = again();
    assert_eq!(
        text(&output.stderr),
        "results/small: reproduced byte for byte\n"
    );
    assert!(contents(&results) == complete, "all files are there again");

    fs::remove_file(results.join("timeline.csv")).expect("removed");
    fs::write(results.join("runs.csv"), "edited").expect("written");
    let before = contents(&results);
    let output = again();
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("error: results/small: not reproduced; differs in runs.csv\n"),
        "{stderr}"
    );
    assert!(contents(&results) == before, "and nothing was changed");
}

#[test]
fn a_failed_assertion_is_reported_and_the_exit_code_is_99() {
    let folder = experiment();
    let run = |asserted: &str| {
        fs::write(
            folder.path().join("experiment.yaml"),
            format!("{EXPERIMENT}assert: [{asserted}]\n"),
        )
        .expect("written");
        let output = fleetsim(folder.path())
            .args(["run", ".", "--replicates", "1"])
            .output()
            .expect("run");
        let stdout = text(&output.stdout);
        let told = stdout
            .find("\nassert")
            .map_or(String::new(), |at| stdout[at..].to_owned());
        (output.status.code(), told, text(&output.stderr))
    };
    let (code, told, _) =
        run("\"completion_p95 < 6h\", {strategy: careful, limit: targets_done == 30}");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("assert completion_p95 < 6h: holds\n  ok    careful maxUnavailable=10%  "),
        "{told}"
    );
    let (code, told, stderr) = run("completion < 1s");
    assert_eq!(code, Some(99));
    assert!(
        told.contains("  FAIL  all-at-once                 ")
            && told.contains("; 1 of 1 run outside the limit\n"),
        "{told}"
    );
    assert!(
        stderr
            .ends_with("\nerror: an asserted limit was exceeded, or has too few runs to decide\n"),
        "{stderr}"
    );
    let (code, told, stderr) = run("complexion < 1s");
    assert_eq!((code, told.as_str()), (Some(2), ""));
    assert!(
        stderr.contains("experiment.yaml:19:10") && stderr.contains("unknown measure `complexion`"),
        "{stderr}"
    );
}

#[test]
fn charts_are_redrawn_from_the_tables() {
    let folder = experiment();
    let ran = fleetsim(folder.path())
        .args(["run", ".", "--out", "out"])
        .assert()
        .success();
    let comparison = text(&ran.get_output().stdout);
    let before = contents(&folder.path().join("out"));
    fs::remove_file(folder.path().join("out/charts/pulls.svg")).expect("removed");
    fs::remove_file(folder.path().join("experiment.yaml")).expect("removed");
    let again = fleetsim(folder.path())
        .args(["report", "out"])
        .assert()
        .success();
    assert_eq!(text(&again.get_output().stdout), comparison);
    assert_eq!(contents(&folder.path().join("out")), before);
    let refused = fleetsim(folder.path())
        .args(["report", "."])
        .assert()
        .code(2);
    let stderr = text(&refused.get_output().stderr);
    assert_eq!(
        stderr,
        "error: . is not a results folder: provenance.json is missing, damaged or not written by fleetsim; name a folder that `fleetsim run` wrote\n"
    );
}

#[test]
fn runs_account_for_every_byte_that_leaves_the_registry() {
    let folder = experiment();
    // If images were collected, nodes would fetch the configs of failed pulls again.
    let text = EXPERIMENT.replace("faults:", "node: {collectAfter: off}\nfaults:");
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    fleetsim(folder.path())
        .args(["run", ".", "--out", "out"])
        .assert()
        .success();
    let mut reader = csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("runs.csv");
    let runs: Vec<fleetsim::results::RunRow> = reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(runs.len(), 9, "three variants, three runs each");
    for run in runs {
        let to_nodes = run.egress_bytes - run.upstream_bytes + run.cache_bytes + run.peer_bytes;
        assert_eq!(
            to_nodes,
            run.received_bytes + run.lost_bytes,
            "{}",
            run.variant
        );
        // Two nodes per cluster fetch the changed layer and its config; the base layer is present.
        assert_eq!(run.received_bytes, 30 * 2 * 20_008_000, "{}", run.variant);
    }
}

#[test]
fn a_foreign_folder_is_rejected_and_left_unchanged() {
    let folder = experiment();
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/thesis.txt"), "years of work").expect("a file");
    let assert = fleetsim(folder.path())
        .args(["run", ".", "--out", "mine"])
        .assert()
        .code(1);
    let message = text(&assert.get_output().stderr);
    assert!(
        message.starts_with("error: ") && message.contains("mine"),
        "{message}"
    );
    assert_eq!(
        contents(&folder.path().join("mine")),
        [("thesis.txt".to_owned(), b"years of work".to_vec())]
    );
}

#[test]
fn an_unwritable_folder_is_reported_before_the_simulation_starts() {
    let folder = experiment();
    fs::write(folder.path().join("file"), "").expect("a file");
    let assert = fleetsim(folder.path())
        .args(["run", ".", "--out", "file/results"])
        .assert()
        .code(1);
    let message = text(&assert.get_output().stderr);
    assert!(
        message.starts_with("error: ") && message.contains("file"),
        "{message}"
    );
}

/// This test needs root, because only root can mount a folder.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_mount_point_is_refused_before_the_simulation_starts() {
    let folder = experiment();
    for name in ["empty", "full"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    fleetsim(folder.path())
        .args(["run", ".", "--out", "full"])
        .assert()
        .success();
    for name in ["empty", "full"] {
        let script = format!(
            "mount --bind {name} {name} || exit 77; exec {} run . --out {name} --replace --seed 8",
            env!("CARGO_BIN_EXE_fleetsim")
        );
        let mut command = std::process::Command::new("unshare");
        let command = command
            .args(["--mount", "sh", "-c", &script])
            .current_dir(folder.path());
        let Ok(output) = command.output() else {
            return eprintln!("skipped: no `unshare`");
        };
        let message = text(&output.stderr);
        if output.status.code() == Some(77) || message.contains("unshare: ") {
            return eprintln!("skipped: not allowed to mount: {message}");
        }
        assert_eq!(output.status.code(), Some(1), "{message}");
        let start = "error: cannot replace the folder ";
        assert!(
            message.starts_with(start) && message.contains("; use a new folder in it, e.g. `"),
            "{message}"
        );
        let others = contents(folder.path())
            .into_iter()
            .filter(|(name, _)| name.starts_with('.'));
        assert_eq!(others.count(), 0, "nothing is left beside it");
    }
}

#[test]
fn a_junit_report_that_cannot_be_written_is_refused_before_the_simulation_starts() {
    let folder = experiment();
    fs::write(folder.path().join("file"), "").expect("a file");
    for (command, junit) in [
        (&["run", "."][..], "none/limits.xml"),
        (&["run", "."], "file/limits.xml"),
        (&["run", "."], "."),
        (&["run", "."], "experiment.yaml"),
        (&["compare", "none.yaml", "other.yaml"], "none/limits.xml"),
    ] {
        let assert = fleetsim(folder.path())
            .args(command)
            .args(["--junit", junit])
            .assert()
            .code(1);
        let message = text(&assert.get_output().stderr);
        assert!(
            message.starts_with(&format!("error: cannot write {junit}: ")),
            "{message}"
        );
        let left = fs::read_dir(folder.path().join("results"))
            .into_iter()
            .flatten()
            .count();
        assert_eq!(left, 0, "no results, and no runs that were saved");
    }
    // The folder for the results does not exist yet, and is created.
    fleetsim(folder.path())
        .args(["run", ".", "--junit", "results/limits.xml"])
        .assert()
        .success();
}

#[test]
fn check_reports_all_errors_of_an_experiment_with_their_lines() {
    let folder = experiment();
    let wrong = EXPERIMENT
        .replace("egress: 1 Gbit/s", "egress: 1000")
        .replace("pullFailure: 5%", "pullFailure: 500%")
        .replace("replicates: 3", "replicats: 3");
    fs::write(folder.path().join("experiment.yaml"), wrong).expect("a file");
    for command in ["run", "check", "explain"] {
        let assert = fleetsim(folder.path())
            .args([command, "."])
            .assert()
            .code(2);
        let message = text(&assert.get_output().stderr);
        for part in [
            "`1000` has no unit",
            "`500%` is out of range",
            "`replicats`",
            "experiment.yaml:",
        ] {
            assert!(message.contains(part), "{command} says {part}: {message}");
        }
        assert!(
            !folder.path().join("results").exists(),
            "{command} writes nothing"
        );
    }
}

#[test]
fn a_missing_experiment_is_reported_by_name() {
    let folder = experiment();
    let assert = fleetsim(folder.path())
        .args(["run", "nowhere"])
        .assert()
        .code(2);
    let message = text(&assert.get_output().stderr);
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn stdout_contains_only_json() {
    let folder = experiment();
    let assert = fleetsim(folder.path())
        .args(["run", ".", "--replicates", "1", "--format", "json"])
        .assert()
        .success();
    let value: serde_json::Value =
        serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    assert!(value["schema_version"].is_u64());
}

#[test]
fn explain_prints_partitions_and_limits_in_numbers() {
    let folder = experiment();
    let assert = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let explained = text(&assert.get_output().stdout);
    for part in [
        "30 clusters, 60 nodes; registry egress 1 Gbit/s",
        "80 MB; 20 MB of it new to a node",
        "maxUnavailable 3 of 30 clusters",
        "maxUnavailable 15 of 30 clusters",
        "all 30 clusters in the first pass",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    assert!(
        explained.lines().all(|line| line.chars().count() <= 160),
        "lines fit a terminal"
    );
}

/// An ApplicationSet with ten clusters and every kind of step, small enough to check each number by hand.
const SET: &str = r#"
name: steps
question: What would Argo CD do?
seed: 1
replicates: 1
horizon: 1h
fleet:
  - {name: "lab-{1..2}", labels: {env: lab}}
  - {name: "prod-{1..6}", labels: {env: prod}}
  - {name: attic, labels: {env: none}}
  - {name: cellar}
release:
  images: [{name: shop, manifest: {layers: [{size: 5 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
strategies:
  steps:
    argoCd:
      release: parameters
      strategy:
        type: RollingSync
        rollingSync:
          steps:
            - matchExpressions: [{key: env, operator: In, values: [lab]}]
            - matchExpressions: [{key: env, operator: In, values: [prod]}]
              maxUpdate: 35%
            - matchExpressions: [{key: env, operator: In, values: [prod]}]
              maxUpdate: 0
            - matchExpressions: [{key: env, operator: In, values: [nowhere]}]
            - matchExpressions: [{key: env, operator: NotIn, values: [lab, prod, none]}]
              maxUpdate: 0
"#;

#[test]
fn explain_prints_the_steps_of_an_application_set_in_numbers() {
    let folder = folder_with(&[("experiment.yaml", SET)]);
    let assert = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let explained = text(&assert.get_output().stdout);
    assert!(
        explained.contains("image shop: 1 layer, 5 MB;"),
        "{explained}"
    );
    let (_, told) = explained
        .split_once("steps: Argo CD")
        .expect("the strategy is explained");
    let (told, in_force) = told
        .split_once("\nsettings in force\n")
        .expect("the settings follow");
    assert!(
        in_force.contains("  controller of every strategy\n    {clientBurst: 100, clientQps: 50, "),
        "{in_force}"
    );
    // 35 % of 6 is 2.1, which is rounded down. Step 3 has no effect, because the first step that selects an
    // application determines its step.
    assert_eq!(
        told,
        " ApplicationSet of 10 applications, RollingSync
  step 1: 2 applications (lab-1, lab-2), all at once; selected by env In (lab)
  step 2: 6 applications (prod-1, prod-2, prod-3, ...), 2 at once; selected by env In (prod)
  step 3: 6 applications (prod-1, prod-2, prod-3, ...), each counted in an earlier step; selected by env In (prod)
  step 4: 0 applications, all at once; selected by env In (nowhere)
  step 5: 1 application (cellar), none is ever synced by the rollout; selected by env NotIn (lab, prod, none)
  in no step: attic
  note: prod-1 is selected by steps 2, 3: the first counts it in its budget, and all of them wait for it
  note: prod-2 is selected by steps 2, 3: the first counts it in its budget, and all of them wait for it
  note: prod-3 is selected by steps 2, 3: the first counts it in its budget, and all of them wait for it
  note: 3 applications more are selected by several steps
  note: step 4 selects no application and is skipped
  note: in no step, so never synced: 1 application (attic); they count in the budget of step 1
  note: step 3: maxUpdate 0 limits nothing, because earlier steps contain all its applications
  note: step 5: maxUpdate 0 allows no sync; the step completes only when all are synced by hand
  note: syncPolicy.automated is switched off on every application: drift is not corrected, and only the steps sync a commit
  note: the release changes only parameters; on applications that are Synced and Healthy the rollout loses such a \
         change (argoproj/argo-cd#27949)
"
    );
}

#[test]
fn the_schema_is_printed_for_editors() {
    let folder = experiment();
    let assert = fleetsim(folder.path()).arg("schema").assert().success();
    let schema: serde_json::Value =
        serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    assert!(schema["properties"]["strategies"].is_object());
}

#[test]
fn completions_and_manual_pages_contain_the_commands() {
    let folder = folder_with(&[]);
    let printed = |args: &[&str]| {
        let assert = fleetsim(folder.path()).args(args).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).expect("text")
    };
    assert!(printed(&["completions", "bash"]).contains("--replicates"));
    assert!(printed(&["man"]).contains(".TH fleetsim 1"));
    assert!(printed(&["man", "run"]).contains("replicates"));
    let assert = fleetsim(folder.path())
        .args(["man", "rnu"])
        .assert()
        .code(2);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains("unknown command `rnu`"));
}

#[test]
fn a_full_standard_output_is_a_failure_and_a_closed_one_is_not() {
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    let output = command.arg("schema").stdout(full).output().expect("run");
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("error: cannot write to standard output: "),
        "{stderr}"
    );
}

#[test]
fn a_finished_study_is_not_replaced_by_a_smaller_one_unless_asked_for() {
    let folder = experiment();
    let run = |more: &[&str]| {
        fleetsim(folder.path())
            .args(["run", ".", "--out", "out"])
            .args(more)
            .assert()
    };
    run(&[]).success();
    let before = contents(&folder.path().join("out"));
    for more in [["--replicates", "1"], ["--seed", "8"]] {
        let output = run(&more).code(1);
        let stderr = text(&output.get_output().stderr);
        assert!(
            stderr.contains("with 3 replicates and seed 7; add `--out DIR`"),
            "{stderr}"
        );
        assert_eq!(contents(&folder.path().join("out")), before);
    }
    run(&["--replicates", "1", "--replace"]).success();
    run(&["--replicates", "2"]).success();
}

#[test]
fn results_have_a_copy_of_every_input() {
    let folder = experiment();
    fs::create_dir(folder.path().join("out")).expect("an empty folder is fine");
    fleetsim(folder.path())
        .args(["run", ".", "--replicates", "1", "--out", "out"])
        .assert()
        .success();
    for name in ["experiment.yaml", "shop-v1.json", "shop-v2.json"] {
        let copy = fs::read(folder.path().join("out/inputs").join(name)).expect("a copy");
        assert!(
            copy == fs::read(folder.path().join(name)).expect("the input"),
            "{name}"
        );
    }
    let resolved = fs::read_to_string(folder.path().join("out/resolved.yaml")).expect("written");
    for line in [
        "  fleet[0].downlink: 100 Mbit/s  # line 8\n",
        "  registry.egress: 1 Gbit/s  # line 9\n",
        "  registry.perConnection: 88 MB/s  # default: measured\n",
        "    strategies.careful.rancherFleet.maxUnavailable: 10%  # line 16, varied by `sweep`\n",
        "    agent.apply: \"{median: 2.8 s, sigma: 0.4}\"  # default of rancherFleet: measured\n",
    ] {
        assert!(resolved.contains(line), "{line} in {resolved}");
    }
    assert!(
        resolved
            .lines()
            .filter(|line| line.ends_with(": guess"))
            .count()
            > 5,
        "{resolved}"
    );
    // The sigma is measured, not a guess.
    assert!(
        resolved
            .contains("    agent.reportDelay: \"{median: 500 ms, sigma: 0.5}\"  # default of rancherFleet: guess\n")
    );
    let argo_cd = EXPERIMENT.replace("all-at-once: {allAtOnce: {}}", "a: {argoCd: {}}");
    fs::write(folder.path().join("experiment.yaml"), argo_cd).expect("written");
    fleetsim(folder.path())
        .args(["run", ".", "--replicates", "1", "--out", "argo"])
        .assert()
        .success();
    let of_argo_cd = fs::read_to_string(folder.path().join("argo/resolved.yaml")).expect("written");
    let line =
        "    strategies.a.argoCd.applicationController.comparison: 200 ms  # default: guess\n";
    assert!(of_argo_cd.contains(line), "{of_argo_cd}");
    assert!(
        !resolved.contains("\n    fleet"),
        "a strategy's part has its own settings alone: {resolved}"
    );
}

#[test]
fn check_mentions_guessed_links_and_columns_that_do_not_fit() {
    let folder = experiment();
    let check = |folder: &TempDir| {
        text(
            &fleetsim(folder.path())
                .args(["check", "."])
                .output()
                .expect("run")
                .stdout,
        )
    };
    assert!(!check(&folder).contains("is a guess"), "all links are told");
    let guessed = EXPERIMENT.replace(", downlink: 100 Mbit/s, rtt: 30 ms", "");
    let files = [
        ("experiment.yaml", guessed.as_str()),
        ("shop-v1.json", &manifest('1')),
        ("shop-v2.json", &manifest('2')),
    ];
    let guessed = check(&folder_with(&files));
    assert!(
        guessed.contains(
            "note: `downlink` of 30 of 30 clusters is a guess, 100 Mbit/s; set it in `fleet`\n"
        ),
        "{guessed}"
    );
    assert!(
        guessed.contains("note: `rtt` of 30 of 30 clusters is a guess, 30 ms; set it in `fleet`\n"),
        "{guessed}"
    );
}

#[test]
fn check_mentions_container_starts_without_a_probe() {
    let check = |written: &str| {
        let experiment = EXPERIMENT.replace("readiness: {period: 10 s}", written);
        let files = [
            ("experiment.yaml", experiment.as_str()),
            ("shop-v1.json", &manifest('1')),
            ("shop-v2.json", &manifest('2')),
        ];
        let output = fleetsim(folder_with(&files).path())
            .args(["check", "."])
            .output()
            .expect("run");
        text(&output.stdout).replace("\n  ", " ")
    };
    let note =
        "has no effect without `readiness` or `startTimeout`: its pods are ready once started";
    assert!(check("start: 20 s").contains(note));
    assert!(!check("start: 20 s, readiness: {period: 5 s}").contains(note));
}

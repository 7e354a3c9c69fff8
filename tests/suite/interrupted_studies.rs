//! Studies that are killed, run out of disk space, or conflict with another one: nothing is lost, no file is
//! incomplete, and resumed results are byte for byte the same as uninterrupted ones.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fleetsim::results::Provenance;
use tempfile::TempDir;

use super::common::{contents, folder_with, journal_of, state_home};

/// The experiment has some hundred runs, which take long enough to be interrupted in the middle.
const EXPERIMENT: &str = r#"
name: small
question: Does the study go on?
seed: 7
horizon: 12h
fleet:
  - {name: "store-{01..40}", nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{digest: base, size: 60 MB}, {size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%, apply: [{share: 30%, kind: rejected, attempts: 3}]}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
"#;
const REPLICATES: &str = "150";

fn experiment() -> TempDir {
    folder_with(&[("experiment.yaml", EXPERIMENT)])
}

fn study(folder: &Path, out: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", state_home())
        .args(["run", ".", "--replicates", REPLICATES, "--out", out]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finished(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program is run");
    (
        output.status.code(),
        String::from_utf8(output.stderr).expect("text"),
    )
}

/// Waits until the study has saved some runs.
fn until_some_runs_are_kept(folder: &Path, out: &str, child: &mut Child) {
    until_kept(20_000, folder, out, child);
}

fn until_kept(bytes: u64, folder: &Path, out: &str, child: &mut Child) {
    let patience = Instant::now() + Duration::from_secs(60);
    while fs::metadata(journal_of(&folder.join(out))).map_or(0, |file| file.len()) < bytes {
        assert!(Instant::now() < patience, "the study keeps its runs");
        assert!(
            child.try_wait().expect("a child").is_none(),
            "the study is long enough to be interrupted"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_killed_study_resumes_and_ends_with_the_same_bytes() {
    let folder = experiment();
    let at = folder.path();
    let mut killed = study(at, "out").spawn().expect("started");
    until_some_runs_are_kept(at, "out", &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    assert!(!at.join("out").exists(), "no half results");
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.starts_with("resuming an unfinished study with "),
        "{stderr}"
    );
    assert!(
        !journal_of(&at.join("out")).exists(),
        "nothing is left in the user's folder"
    );
    let left: Vec<_> = fs::read_dir(at)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    assert_eq!(left.len(), 2, "the experiment and its results: {left:?}");
    let (code, stderr) = finished(study(at, "never-interrupted"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.ends_with("results: never-interrupted\n"), "{stderr}");
    assert!(
        contents(&at.join("out")) == contents(&at.join("never-interrupted")),
        "the same bytes"
    );
}

/// Three clusters are outside of their window for the first ten minutes.
#[test]
fn a_killed_study_with_windows_resumes_with_the_same_bytes() {
    let windows = "
apiVersion: fleet.cattle.io/v1alpha1
kind: Schedule
metadata: {name: evenings, namespace: fleet-default}
spec:
  schedule: '0 0 18 * * ?'
  duration: 6h
  location: Europe/Berlin
  targets: {clusters: [{clusterName: store-07}, {clusterName: store-11}, {clusterName: store-23}]}
";
    let text = EXPERIMENT
        .replace(
            "seed: 7",
            "seed: 7\nstartsAt: 2026-03-27 17:50 Europe/Berlin",
        )
        .replace(
            "maxUnavailable: 10%",
            "maxUnavailable: 10%, schedules: windows.yaml",
        );
    let folder = folder_with(&[("experiment.yaml", &text), ("windows.yaml", windows)]);
    let at = folder.path();
    let mut killed = study(at, "out").spawn().expect("started");
    until_some_runs_are_kept(at, "out", &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("resuming an unfinished study with "),
        "{stderr}"
    );
    let (code, stderr) = finished(study(at, "never-interrupted"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        contents(&at.join("out")) == contents(&at.join("never-interrupted")),
        "the same bytes"
    );
}

#[test]
fn only_changed_values_of_the_experiment_discard_saved_runs() {
    let folder = experiment();
    let at = folder.path();
    for (text, resumes) in [
        (
            format!(
                "# Comments and spaces are free.\n{}",
                EXPERIMENT.replace("seed: 7", "seed:   7")
            ),
            true,
        ),
        (
            EXPERIMENT.replace("pullFailure: 5%", "pullFailure: 6%"),
            false,
        ),
    ] {
        fs::write(at.join("experiment.yaml"), EXPERIMENT).expect("written");
        let mut killed = study(at, "out").spawn().expect("started");
        until_some_runs_are_kept(at, "out", &mut killed);
        killed.kill().expect("killed");
        killed.wait().expect("dead");
        fs::write(at.join("experiment.yaml"), text).expect("written");
        let (code, stderr) = finished(study(at, "out"));
        assert_eq!(
            (code, stderr.starts_with("resuming an unfinished study")),
            (Some(0), resumes),
            "{stderr}"
        );
        fs::remove_dir_all(at.join("out")).expect("removed");
    }
}

#[test]
fn two_studies_never_write_to_one_folder_simultaneously() {
    let folder = experiment();
    let at = folder.path();
    let mut first = study(at, "out").spawn().expect("started");
    until_some_runs_are_kept(at, "out", &mut first);
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.ends_with("out; wait for it or choose another folder\n"));
    let first = first.wait_with_output().expect("ended");
    assert!(first.status.success(), "the first is not disturbed");
    assert_eq!(
        fs::read_dir(at).expect("a folder").count(),
        2,
        "the experiment and its results"
    );
}

/// A limit on file size simulates the full disk: both make a write fail in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_study_with_a_message_and_loses_no_run() {
    let folder = experiment();
    let at = folder.path();
    let mut full = Command::new("sh");
    full.current_dir(at)
        .env("XDG_STATE_HOME", state_home())
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_fleetsim"),
        ]);
    full.args(["run", ".", "--replicates", REPLICATES, "--out", "out"])
        .stdout(Stdio::null());
    let (code, stderr) = finished(full);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains(" of 150 finished runs were saved; run the same command to resume"),
        "{stderr}"
    );
    assert!(
        stderr.contains("error: cannot save a finished run in "),
        "{stderr}"
    );
    assert!(!at.join("out").exists(), "no half results");
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.starts_with("resuming an unfinished study with "),
        "{stderr}"
    );
}

/// The draws of the constants are runs, too.
#[cfg(unix)]
#[test]
fn the_number_of_all_runs_includes_the_draws() {
    let text = EXPERIMENT.replace("seed: 7\n", "seed: 7\nuncertainty: constants\n");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let mut full = Command::new("sh");
    full.current_dir(folder.path())
        .env("XDG_STATE_HOME", state_home())
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_fleetsim"),
        ]);
    full.args(["run", ".", "--replicates", "2", "--out", "out"])
        .stdout(Stdio::null());
    let (code, stderr) = finished(full);
    assert_eq!(code, Some(1), "{stderr}");
    // Two runs at the defaults, and 39 draws.
    assert!(
        stderr.contains(" of 41 finished runs were saved; run the same command to resume"),
        "{stderr}"
    );
}

/// Two variants. The one without pacing varies less, so they need different numbers of runs.
fn precise_experiment() -> TempDir {
    let text = EXPERIMENT.replace(
        "seed: 7\n",
        "seed: 7\nprecision: {to: 3%, of: [completion, failed_pulls], max: 70}\n",
    );
    let text = text + "  at-once: {allAtOnce: {}}\n  never: {rancherFleet: {maxUnavailable: 0}}\n";
    folder_with(&[("experiment.yaml", &text)])
}

fn precise_study(folder: &Path, out: &str, threads: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", state_home())
        .args(["run", ".", "--threads", threads, "--out", out]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn a_killed_study_with_a_precision_resumes_with_the_same_bytes_on_any_threads() {
    let folder = precise_experiment();
    let at = folder.path();
    let mut killed = precise_study(at, "out", "2").spawn().expect("started");
    // The journal then has more than the ten runs that each variant begins with.
    until_kept(300_000, at, "out", &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    let (code, stderr) = finished(precise_study(at, "out", "2"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.starts_with("resuming an unfinished study with "),
        "{stderr}"
    );
    let (code, told) = finished(precise_study(at, "on-one-thread", "1"));
    assert_eq!(code, Some(0), "{told}");
    assert!(
        contents(&at.join("out")) == contents(&at.join("on-one-thread")),
        "the same bytes"
    );

    let provenance = Provenance::read(&at.join("out"))
        .expect("readable")
        .expect("there");
    assert_eq!(
        (
            provenance.replicates,
            provenance.precision.map(|asked| asked.max)
        ),
        (10, Some(70))
    );
    let found: Vec<_> = provenance
        .variants
        .iter()
        .map(|variant| variant.precision.clone().expect("asked for"))
        .collect();
    let rows = fs::read_to_string(at.join("out/runs.csv")).expect("runs.csv");
    for (variant, found) in provenance.variants.iter().zip(&found) {
        let runs = rows
            .lines()
            .filter(|row| row.starts_with(&format!("{},", variant.variant)))
            .count();
        assert_eq!(runs, found.runs as usize, "{}", variant.variant);
        let is_precise = |half: &Option<f64>| half.is_some_and(|half| half <= 0.03 / 1.03);
        assert!(
            found.runs == 70 || found.half_widths.values().flatten().count() < 2 || found.reached,
            "{found:?}"
        );
        assert!(
            !found.reached
                || found
                    .half_widths
                    .values()
                    .all(|half| half.is_none() || is_precise(half)),
            "{found:?}"
        );
    }
    // A variant whose runs never complete and never fail a pull is settled when the precision is checked for the
    // second time.
    assert_eq!((found[2].runs, found[2].reached), (15, true));
    assert!(found[0].runs > 15, "{found:?}");
    let reached = found.iter().filter(|found| found.reached).count();
    assert!(
        told.starts_with(&format!(
            "precision: {reached} of 3 variants reached ±3% in reachable_ready_s and failed_pulls"
        )),
        "{told}"
    );
}

/// Permission bits do not affect root, so as root the test runs as another user.
#[cfg(unix)]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn a_read_only_folder_is_reported_and_no_run_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65_534;
    let folder = experiment();
    let at = folder.path();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own folder");
    };
    fs::create_dir(at.join("results")).expect("a folder");
    let mut killed = study(at, "results/out").spawn().expect("started");
    until_some_runs_are_kept(&at.join("results"), "out", &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    let kept = fs::read(journal_of(&at.join("results/out"))).expect("kept runs");
    let names = || {
        let entries = fs::read_dir(at.join("results")).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let left = names();

    mode(at, 0o755);
    mode(&at.join("results"), 0o555);
    let mut refused = study(at, "results/out");
    if fs::write(at.join("results/try"), "").is_ok() {
        fs::remove_file(at.join("results/try")).expect("removed");
        refused.uid(NOBODY).gid(NOBODY);
    }
    let refused = refused.output();
    mode(&at.join("results"), 0o755);
    match refused {
        Err(error) => eprintln!("skipped: the program cannot be run as somebody else: {error}"),
        Ok(output) => {
            let stderr = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(
                stderr.starts_with("error: cannot create the folder results/.out.fleetsim-new-"),
                "{stderr}"
            );
            assert!(
                stderr.contains("ermission denied") && stderr.lines().count() == 1,
                "{stderr}"
            );
        }
    }
    assert!(
        fs::read(journal_of(&at.join("results/out"))).expect("still there") == kept,
        "no run is lost"
    );
    assert_eq!(names(), left, "nothing is left beside them");
    let (code, stderr) = finished(study(at, "results/out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.starts_with("resuming an unfinished study with "),
        "{stderr}"
    );
}

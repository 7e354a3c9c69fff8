//! Studies that are killed, run out of disk, or meet another one: nothing is lost, nothing is half written, and what is
//! resumed is byte for byte what was never interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Some hundred runs: long enough to be hit in the middle.
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
faults: {pullFailure: 5%}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
"#;
const REPLICATES: &str = "150";

fn experiment() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("experiment.yaml"), EXPERIMENT).expect("the file is written");
    folder
}

fn study(folder: &Path, out: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command.current_dir(folder).args(["run", ".", "--replicates", REPLICATES, "--out", out]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finished(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program is run");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

fn journal(folder: &Path, out: &str) -> PathBuf {
    folder.join(format!(".{out}.fleetsim-runs"))
}

/// Waits until the study has kept some runs.
fn until_some_runs_are_kept(folder: &Path, out: &str, child: &mut Child) {
    let patience = Instant::now() + Duration::from_secs(60);
    while fs::metadata(journal(folder, out)).map_or(0, |file| file.len()) < 20_000 {
        assert!(Instant::now() < patience, "the study keeps its runs");
        assert!(child.try_wait().expect("a child").is_none(), "the study is long enough to be interrupted");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Names and bytes of the files directly in a folder and in its charts.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = [folder.to_owned(), folder.join("charts")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().expect("named").to_string_lossy().into_owned(), fs::read(&path).expect("read")))
        .collect();
    files.sort();
    files
}

#[test]
fn a_killed_study_goes_on_and_ends_in_the_same_bytes() {
    let folder = experiment();
    let at = folder.path();
    let mut killed = study(at, "out").spawn().expect("started");
    until_some_runs_are_kept(at, "out", &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("dead");
    assert!(!at.join("out").exists(), "no half results");
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with("going on from "), "{stderr}");
    assert!(!journal(at, "out").exists(), "nothing is left beside the results");
    let (code, stderr) = finished(study(at, "never-interrupted"));
    assert_eq!((code, stderr.as_str()), (Some(0), "results: never-interrupted\n"));
    assert!(files(&at.join("out")) == files(&at.join("never-interrupted")), "the same bytes");
}

#[test]
fn two_studies_into_one_folder_do_not_meet() {
    let folder = experiment();
    let at = folder.path();
    let mut first = study(at, "out").spawn().expect("started");
    until_some_runs_are_kept(at, "out", &mut first);
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.ends_with("out is being written by another fleetsim; wait for it, or choose another output folder\n")
    );
    let first = first.wait_with_output().expect("ended");
    assert!(first.status.success(), "the first is not disturbed");
    assert_eq!(fs::read_dir(at).expect("a folder").count(), 2, "the experiment and its results");
}

/// A limit on the size of files stands for the full disk: both make a write fail in its middle.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_study_with_a_message_and_loses_no_run() {
    let folder = experiment();
    let at = folder.path();
    let mut full = Command::new("sh");
    full.current_dir(at).args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_fleetsim")]);
    full.args(["run", ".", "--replicates", REPLICATES, "--out", "out"]).stdout(Stdio::null());
    let (code, stderr) = finished(full);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains(" of 150 runs are kept; the same command goes on from there"), "{stderr}");
    assert!(stderr.contains("error: cannot keep a finished run in "), "{stderr}");
    assert!(!at.join("out").exists(), "no half results");
    let (code, stderr) = finished(study(at, "out"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with("going on from "), "{stderr}");
}

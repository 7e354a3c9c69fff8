//! Shards on several workers: a sweep with Dask survives the death of a worker, and the manifest for Kubernetes and the
//! script for Slurm simulate all shards.
//!
//! The first test needs a Python with `scale-out/requirements.txt`; see [`python_with`](super::common::python_with).
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{contents, fleetsim, folder_with, python_with, root, state_home, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fleetsim");

/// An experiment that takes long enough to kill a worker in the middle: four shards of some seconds each, longer than
/// a worker takes to start, even on a busy machine.
const EXPERIMENT: &str = "
name: sweep
replicates: 800
horizon: 12h
fleet: [{name: \"c-{01..40}\", nodes: 2}]
release:
  kind: update
  images: [{name: app, manifest: {layers: [{digest: base, size: 60 MB}, {size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: app, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%}
strategies:
  fleet: {rancherFleet: {maxUnavailable: 10%}}
";

/// A process that is killed at the end of the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(command: &mut Command) -> Started {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Started(
        quiet
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}")),
    )
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Number of names in a folder that end in `ending`; 0 if the folder does not exist.
fn count(folder: &Path, ending: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(ending))
        .count()
}

#[test]
fn a_sweep_with_dask_survives_a_killed_worker_and_has_the_bytes_of_a_single_run() {
    let Some(python) = python_with("scale-out/requirements.txt") else {
        return;
    };
    let folder = folder_with(&[("sweep.yaml", EXPERIMENT)]);
    let at = folder.path();
    let dask = |args: &[&str]| {
        let mut command = Command::new(&python);
        command
            .current_dir(at)
            .env("XDG_STATE_HOME", state_home())
            .args(["-m", "dask"])
            .args(args)
            .args(["--host", "127.0.0.1", "--scheduler-file", "s"]);
        start(&mut command)
    };
    let _scheduler = dask(&["scheduler", "--no-dashboard", "--port", "0"]);
    let mut workers =
        [(); 2].map(|()| dask(&["worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]));
    fleetsim(at)
        .args(["run", "sweep.yaml", "--out", "single"])
        .assert()
        .success();
    until("the scheduler writes its address", || at.join("s").exists());
    let mut sweep = Command::new(&python);
    sweep
        .current_dir(at)
        .env("XDG_STATE_HOME", state_home())
        .arg(root().join("scale-out/sweep.py"))
        .args(["--program", PROGRAM]);
    sweep.args([
        "--shards",
        "4",
        "--out",
        "shards",
        "--results",
        "merged",
        "--scheduler-file",
        "s",
        "--junit",
        "a.xml",
    ]);
    sweep
        .args(["--", "run", "sweep.yaml", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut sweep = Started(sweep.spawn().expect("started"));
    // Both workers are simulating a shard, and no shard is complete yet.
    until("both workers begin a shard", || {
        count(&at.join("shards"), ".fleetsim-new-study.lock") == 2
    });
    assert_eq!(
        count(&at.join("shards"), "-of-4"),
        0,
        "the sweep is in its middle"
    );
    workers[0].0.kill().expect("killed by its id");
    let status = sweep.0.wait().expect("ended");
    let mut told = String::new();
    std::io::Read::read_to_string(&mut sweep.0.stderr.take().expect("piped"), &mut told)
        .expect("text");
    assert!(status.success(), "{told}");
    assert_eq!(told.matches("shard: shards/").count(), 4, "{told}");
    assert!(
        contents(&at.join("single")) == contents(&at.join("merged")),
        "the same bytes\n{told}"
    );
    assert!(
        at.join("a.xml").exists(),
        "the limits of the merged results"
    );
    assert_eq!(
        workers[1].0.try_wait().expect("a child"),
        None,
        "the other worker lives"
    );
}

/// This test does not need Dask.
#[test]
fn a_sweep_checks_its_arguments_before_it_simulates() {
    let folder = folder_with(&[("sweep.yaml", EXPERIMENT)]);
    let sweep = |options: &[&str], command: &[&str]| {
        let mut sweep = Command::new("python3");
        sweep
            .current_dir(folder.path())
            .arg(root().join("scale-out/sweep.py"))
            .args(["--out", "shards"]);
        sweep
            .args(["--program", PROGRAM])
            .args(options)
            .arg("--")
            .args(command);
        sweep.output()
    };
    if sweep(&[], &[]).is_err() {
        return super::common::not_tested("there is no python3");
    }
    for (options, command, part) in [
        (
            &["--shards", "0"][..],
            &["run", "sweep.yaml"][..],
            "--shards must be at least 1",
        ),
        (
            &["--shards", "2", "--retries", "-1"],
            &["run", "sweep.yaml"],
            "--retries must be at least 0",
        ),
        (
            &["--shards", "2"],
            &["run", "none.yaml"],
            "there is no experiment `none.yaml`",
        ),
        (
            &["--shards", "2"],
            &["run", "--seed", "1", "sweep.yaml"],
            "the experiment must follow `run`",
        ),
        (
            &["--shards", "2"],
            &["run", "sweep.yaml", "--junit", "a.xml"],
            "must not have --junit",
        ),
        (
            &["--shards", "2"],
            &["run", "sweep.yaml", "--out=x"],
            "must not have --out",
        ),
        (
            &["--shards", "2", "--junit", "a.xml"],
            &["plan", "sweep.yaml"],
            "--junit needs the command `run`",
        ),
        (
            &["--shards", "2", "--program", "nothing"],
            &["run", "sweep.yaml"],
            "there is no program `nothing`",
        ),
    ] {
        let output = sweep(options, command).expect("python3");
        let stderr = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{options:?} {command:?}: {stderr}"
        );
        assert!(stderr.contains(part), "{options:?} {command:?}: {stderr}");
    }
    assert_eq!(
        fs::read_dir(folder.path()).expect("a folder").count(),
        1,
        "nothing was simulated"
    );
}

/// A folder with the experiment, and `fleetsim` on the path.
fn command_in(at: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    let programs = Path::new(PROGRAM).parent().expect("a folder").display();
    command.current_dir(at).env(
        "PATH",
        format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()),
    );
    command
        .env("XDG_STATE_HOME", state_home())
        .env_remove("JOB_COMPLETION_INDEX")
        .env_remove("SLURM_ARRAY_TASK_ID");
    command
}

fn succeeds(mut command: Command) {
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        text(&output.stderr)
    );
}

#[test]
fn the_manifest_of_the_job_and_the_script_of_the_array_simulate_all_shards() {
    let folder = folder_with(&[]);
    let at = folder.path();
    fs::create_dir(at.join("experiment")).expect("made");
    let small = EXPERIMENT
        .replace("replicates: 40", "replicates: 7")
        .replace("{01..40}", "{1..4}");
    fs::write(at.join("experiment/experiment.yaml"), small).expect("written");
    fleetsim(at)
        .args(["run", "experiment", "--out", "single"])
        .assert()
        .success();

    let manifest = fs::read_to_string(root().join("scale-out/kubernetes-indexed-job.yaml"))
        .expect("the manifest");
    let line = manifest
        .lines()
        .find_map(|line| line.trim().strip_prefix("command: ["))
        .expect("a command");
    let words: Vec<&str> = line
        .trim_end_matches(']')
        .split(", ")
        .map(|word| word.trim_matches('"'))
        .collect();
    let completions = manifest
        .lines()
        .find_map(|line| line.trim().strip_prefix("completions: "))
        .expect("a number");
    for index in 0..completions.parse::<u32>().expect("a number") {
        let mut pod = command_in(at, words[0]);
        pod.args(&words[1..])
            .env("JOB_COMPLETION_INDEX", index.to_string());
        succeeds(pod);
    }
    let script = root().join("scale-out/slurm-array.sh");
    let lines = fs::read_to_string(&script).expect("the script");
    let array = lines
        .lines()
        .find_map(|line| line.strip_prefix("#SBATCH --array="))
        .expect("an array");
    let (first, last) = array.split_once('-').expect("a range");
    for task in first.parse::<u32>().expect("a number")..=last.parse().expect("a number") {
        let mut array = command_in(at, "bash");
        array
            .arg(&script)
            .args(["array.shards", "run", "experiment"])
            .env("SLURM_ARRAY_TASK_ID", task.to_string());
        succeeds(array);
    }
    for shards in ["sweep.shards", "array.shards"] {
        let mut merge = command_in(at, "fleetsim");
        merge.args([
            "merge",
            shards,
            "--experiment",
            "experiment",
            "--out",
            "merged",
        ]);
        succeeds(merge);
        assert!(
            contents(&at.join("single")) == contents(&at.join("merged")),
            "{shards}: the same bytes"
        );
        fs::remove_dir_all(at.join("merged")).expect("removed");
    }
}

//! Ctrl-C and SIGTERM in the middle of a run, for every command that simulates: the command ends within a second,
//! keeps finished runs, and says how to resume.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::common::{fleetsim, folder_with, text};

/// Maximum time from a signal to the end of the program.
const PROMPT: Duration = Duration::from_secs(1);

/// Processor time after which the program is in the middle of its first run of [`large`], which takes many seconds.
const UNTIL_MID_RUN: Duration = Duration::from_secs(2);

/// A program that uses no processor time for this long is waiting for a reader of its page.
const IDLE: Duration = Duration::from_secs(2);

/// One tick of the processor times in `/proc`: 100 per second for every program on Linux.
const TICK: Duration = Duration::from_millis(10);

/// A rollout to 100,000 clusters, or to the number given in `sweep`.
fn large(name: &str, replicates: u32, more: &str) -> String {
    format!(
        "name: {name}
seed: 1
replicates: {replicates}
horizon: 24h
clusters: 100000
fleet: [{{name: 'site-{{000001..}}', clusters: 100%, nodes: 1, downlink: 10 Mbit/s, rtt: 30 ms}}]
registry: {{egress: 1000 Gbit/s}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 10 MB}}, {{size: 11 MB}}, {{size: 12 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
strategies: {{fleet: {{rancherFleet: {{maxUnavailable: 10%}}}}}}
{more}"
    )
}

fn start(at: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fleetsim"))
        .current_dir(at)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

/// Returns the processor time that a program has used. `None`: there is no `/proc`.
fn processor_time(child: &Child) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name of the program, in brackets, may contain spaces. After it, the 12th and 13th fields are user and system
    // time.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u32 = times.filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    Some(TICK * ticks)
}

/// Waits until the program has used the processor time `work`, or is waiting itself. On a busy machine, this takes
/// longer.
fn let_work(child: &mut Child, work: Duration) {
    let mut most_used = Duration::ZERO;
    let mut last_work = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        let Some(used) = processor_time(child) else {
            std::thread::sleep(work);
            return;
        };
        if used >= work {
            return;
        }
        if used > most_used {
            most_used = used;
            last_work = Instant::now();
        }
        if last_work.elapsed() > IDLE {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal after some processor time, during which the program must not end. Returns its exit code and standard
/// error.
#[track_caller]
fn interrupted(mut child: Child, after: Duration, signal: Signal) -> (Option<i32>, String) {
    let_work(&mut child, after);
    if child.try_wait().expect("a child").is_some() {
        let output = child.wait_with_output().expect("it has ended");
        panic!("it ended too early: {}", text(&output.stderr));
    }
    kill_process(Pid::from_child(&child), signal).expect("it runs");
    let sent = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if sent.elapsed() > PROMPT {
            child.kill().expect("killed");
            child.wait().expect("dead");
            panic!("it runs on {PROMPT:?} after the signal");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it has ended");
    (output.status.code(), text(&output.stderr))
}

/// Fleet's status of a rollout that has just begun, for the given number of clusters.
fn status(clusters: usize) -> String {
    let deployment = |at: usize| {
        json!({
            "kind": "BundleDeployment",
            "metadata": {"labels": {"fleet.cattle.io/cluster": format!("site-{at:06}")}},
            "spec": {"deploymentID": "old", "stagedDeploymentID": "new"},
        })
    };
    let items: Vec<Value> = (1..=clusters).map(deployment).collect();
    json!({"items": items}).to_string()
}

/// Events of pods that each pulled an image.
fn events() -> String {
    let mut events = String::new();
    for at in 1..=4 {
        let pulled = format!(
            "Successfully pulled image \"i{at}\" in {at}.5s ({at}.5s including waiting). Image size: {at}0000000 bytes."
        );
        for (second, reason, message) in [
            (
                0,
                "Scheduled",
                format!("Successfully assigned d/p{at} to n{at}"),
            ),
            (1, "Pulling", format!("Pulling image \"i{at}\"")),
            (9, "Pulled", pulled),
            (10, "Started", "Started container c".to_owned()),
        ] {
            let event = json!({
                "kind": "Event", "reason": reason, "message": message, "source": {"host": format!("n{at}")},
                "eventTime": format!("2026-03-01T10:00:{second:02}.000001Z"),
                "involvedObject": {
                    "kind": "Pod", "namespace": "d", "name": format!("p{at}"), "uid": format!("u{at}"),
                    "fieldPath": "spec.containers{c}",
                },
            });
            events.push_str(&format!("{event}\n"));
        }
    }
    events
}

#[test]
fn a_signal_in_the_middle_of_a_run_ends_every_simulating_command_within_a_second() {
    let plan = "plan: {limits: [crashes < 9], search: {strategies.fleet.rancherFleet.maxUnavailable: [10%, 20%]}}\n";
    let home = folder_with(&[
        ("large.yaml", &large("large", 4, "")),
        ("planned.yaml", &large("planned", 4, plan)),
        (
            "uncertain.yaml",
            &large("uncertain", 4, "uncertainty: {draws: 19}\n"),
        ),
        (
            "seen.yaml",
            &large("seen", 4, "").replace("clusters: 100000", "clusters: 20000"),
        ),
        ("status.json", &status(20_000)),
        ("events.jsonl", &events()),
        ("engine.wasm.gz", ""),
    ]);
    let at = home.path();
    fs::write(at.join("engine.wasm.gz"), [0x1f, 0x8b]).expect("written");
    // These results claim to come from the large experiment.
    let small = large("large", 4, "").replace("clusters: 100000", "clusters: 5");
    fs::write(at.join("small.yaml"), small).expect("written");
    let made = fleetsim(at)
        .args(["run", "small.yaml", "--out", "out"])
        .output();
    assert!(made.expect("run").status.success());
    let provenance = fs::read_to_string(at.join("out/provenance.json")).expect("there");
    fs::write(
        at.join("out/provenance.json"),
        provenance.replace("fleetsim run small.yaml", "fleetsim run large.yaml"),
    )
    .expect("written");

    let now = "2026-03-01T10:00:01Z";
    let forecast = [
        "forecast",
        "seen.yaml",
        "status.json",
        "--released",
        "2026-03-01T10:00:00Z",
        "--now",
        now,
    ];
    let commands = [
        &["run", "large.yaml", "--out", "new/folder/a"][..],
        &["run", "large.yaml", "--out", "a", "--shard", "1/2"],
        &["run", "uncertain.yaml", "--out", "a"],
        &["plan", "planned.yaml", "--out", "a"],
        &["sensitivity", "large.yaml", "--out", "a"],
        &["compare", "large.yaml", "planned.yaml"],
        &["reproduce", "out"],
        &forecast,
        &[
            "calibrate",
            "--events",
            "events.jsonl",
            "--predict",
            "large.yaml",
            "--out",
            "a",
            "--no-charts",
        ],
        &["explore", "large.yaml"],
        &[
            "explore",
            "large.yaml",
            "--page",
            "page.html",
            "--engine",
            "engine.wasm.gz",
        ],
    ];
    let names = || {
        let entries = fs::read_dir(at).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    for command in commands {
        let threads: &[&str] = if command.contains(&"--page") || command[0] == "calibrate" {
            &[]
        } else {
            &["--threads", "1"]
        };
        for signal in [Signal::INT, Signal::TERM] {
            let child = start(at, &[command, threads].concat());
            let (code, messages) = interrupted(child, UNTIL_MID_RUN, signal);
            assert_eq!(code, Some(130), "{command:?}: {messages}");
            let is_told = messages.ends_with("interrupted; no results were written\n");
            assert!(
                is_told || command[0] == "explore",
                "{command:?}: {messages}"
            );
            let mut left = names();
            // The folder for shards is allowed, because it is empty.
            left.retain(|name| {
                !(name == "a"
                    && fs::read_dir(at.join(name)).is_ok_and(|mut all| all.next().is_none()))
            });
            assert_eq!(left, before, "{command:?} leaves nothing");
        }
    }
}

#[test]
fn a_signal_while_runs_of_shards_are_simulated_again_ends_the_merge() {
    // Neither shard knows which of the four runs is displayed, so merging simulates it again.
    let home = folder_with(&[(
        "large.yaml",
        &large("large", 4, "").replace("clusters: 100000", "clusters: 60000"),
    )]);
    let at = home.path();
    for shard in ["1/2", "2/2"] {
        let shard = fleetsim(at)
            .args(["run", "large.yaml", "--shard", shard, "--out", "shards"])
            .output();
        assert!(shard.expect("run").status.success());
    }
    let child = start(at, &["merge", "shards", "--out", "out", "--threads", "1"]);
    let (code, messages) = interrupted(child, Duration::from_millis(700), Signal::INT);
    assert_eq!(code, Some(130), "{messages}");
    assert!(
        messages.ends_with("interrupted; no results were written\n"),
        "{messages}"
    );
    assert!(!at.join("out").exists());
}

#[test]
fn finished_runs_are_kept_when_a_signal_arrives_during_another_run() {
    let home = folder_with(&[(
        "mixed.yaml",
        &large("mixed", 1, "sweep: {clusters: [10, 100000]}\n"),
    )]);
    let at = home.path();
    let run = || start(at, &["run", "mixed.yaml", "--out", "out", "--threads", "2"]);
    let (code, messages) = interrupted(run(), UNTIL_MID_RUN, Signal::INT);
    assert_eq!(code, Some(130), "{messages}");
    let told = "1 of 2 finished runs were saved; run the same command to resume\ninterrupted; no results were written\n";
    assert!(messages.ends_with(told), "{messages}");
    let (code, messages) = interrupted(run(), UNTIL_MID_RUN, Signal::INT);
    assert_eq!(code, Some(130), "{messages}");
    assert!(
        messages.starts_with("resuming an unfinished study with 1 saved run\n")
            && messages.ends_with(told),
        "{messages}"
    );
}

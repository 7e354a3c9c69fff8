//! Experiments and inputs of a few hundred bytes that need more memory or time than a machine has. They are refused
//! before the simulation starts, with the numbers and the option that allows them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use fleetsim::scenario::{Overrides, load};
use fleetsim::study::{MOST_MEMORY, MemoryEstimate};
use serde_json::json;

use super::common::{experiment_folders, fleetsim, folder_with, text};

/// An experiment whose fleet, release and other parts a case replaces.
fn bomb(fleet: &str, release: &str, more: &str) -> String {
    format!("name: bomb\nfleet: [{fleet}]\nrelease:\n  {release}\n{more}\n")
}

const MILLION: &str = "{name: 'c{0000001..1000000}', nodes: 1}";
const RELEASE: &str = "images: [{name: i, manifest: {layers: [{size: 1 MB}]}}]\n  workloads: [{kind: Deployment, image: i}]";
const STRATEGIES: &str = "strategies: {a: {allAtOnce: {}}}";

/// Runs the program with at most 6 GB of address space.
fn called(at: &Path, args: &[&str]) -> Output {
    let mut program = if cfg!(target_os = "linux") {
        let mut shell = assert_cmd::Command::new("sh");
        shell.args([
            "-c",
            "ulimit -v 6000000; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_fleetsim"),
        ]);
        shell.current_dir(at);
        shell
    } else {
        fleetsim(at)
    };
    let began = Instant::now();
    let output = program
        .args(args)
        .timeout(Duration::from_secs(60))
        .output()
        .expect("run");
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{args:?} takes {:?}",
        began.elapsed()
    );
    output
}

#[track_caller]
fn refused(at: &Path, args: &[&str], parts: &[&str]) {
    let output = called(at, args);
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {messages}");
    for part in parts {
        assert!(messages.contains(part), "{args:?}: {messages}");
    }
}

#[test]
fn experiments_that_need_too_much_memory_are_refused_with_the_numbers_and_the_largest_factor() {
    let pods = RELEASE.replace("image: i}", "image: i, replicas: 100000}");
    let runs = "strategies: {s: {kubeFleetStaged: {stages: [{name: a, labelSelector: {}}], runs: [{}, {}, {}, {}, {}]}}}";
    let many = "replicates: 100000\nstrategies: {a: {allAtOnce: {}}, b: {oneByOne: {}}}";
    let ten = MILLION.replace("nodes: 1", "nodes: 10");
    let spegel = format!("distribution: {{spegel: {{}}}}\n{STRATEGIES}");
    for (fleet, release, more, largest) in [
        (
            MILLION,
            pods.as_str(),
            STRATEGIES,
            "for 100,000,000,000 new pods",
        ),
        (MILLION, RELEASE, runs, "for 1,000,000 clusters"),
        (&ten, RELEASE, &spegel, "for 10,000,000 peers"),
        (
            "{name: c, nodes: 1}",
            RELEASE,
            many,
            "for the series of 200,000 runs",
        ),
    ] {
        let text = bomb(fleet, release, more);
        assert!(text.len() < 400, "a bomb is small: {}", text.len());
        let home = folder_with(&[("bomb.yaml", &text)]);
        let parts = [
            "this cannot be simulated: it takes about ",
            "but the limit is 8 GB",
            largest,
            "--memory ",
        ];
        refused(home.path(), &["run", "bomb.yaml", "--out", "out"], &parts);
        assert_eq!(
            fs::read_dir(home.path()).expect("a folder").count(),
            1,
            "nothing is left"
        );
    }
}

#[test]
fn check_reports_the_memory_of_an_experiment_and_the_option_that_allows_it() {
    let pods = RELEASE.replace("image: i}", "image: i, replicas: 100000}");
    let home = folder_with(&[
        ("bomb.yaml", &bomb(MILLION, &pods, STRATEGIES)),
        (
            "small.yaml",
            &bomb("{name: c, nodes: 1}", RELEASE, STRATEGIES),
        ),
    ]);
    let told = |name: &str| text(&called(home.path(), &["check", name]).stdout);
    let bomb = told("bomb.yaml");
    assert!(
        bomb.contains("\nmemory: about 39 TB with one run at a time, and 39 TB more"),
        "{bomb}"
    );
    assert!(bomb.contains("`--memory 39005GB` allows it\n"), "{bomb}");
    let small = told("small.yaml");
    assert!(
        small.contains("\nmemory: about ") && !small.contains("--memory"),
        "{small}"
    );
}

#[test]
fn every_simulating_command_refuses_experiments_that_need_too_much_memory() {
    let pods = RELEASE.replace("image: i}", "image: i, replicas: 100000}");
    let fleet = "{name: 'c{0000001..1000000}', nodes: 1, downlink: 1 Mbit/s, rtt: 1 ms}";
    let planned = "strategies: {f: {rancherFleet: {}}}\n\
                   plan: {limits: [crashes < 9], search: {strategies.f.rancherFleet.maxUnavailable: [1, 2]}}";
    let small = bomb("{name: c, nodes: 1}", RELEASE, STRATEGIES);
    let home = folder_with(&[
        ("bomb.yaml", &bomb(fleet, &pods, STRATEGIES)),
        ("planned.yaml", &bomb(fleet, &pods, planned)),
        ("small.yaml", &small),
        ("status.json", "{}"),
        ("events.jsonl", &instant_events(3, 1)),
    ]);
    let at = home.path();
    let made = called(
        at,
        &["run", "small.yaml", "--out", "out", "--replicates", "2"],
    );
    assert!(made.status.success(), "{}", text(&made.stderr));
    let shard = called(
        at,
        &[
            "run",
            "small.yaml",
            "--out",
            "shards",
            "--replicates",
            "2",
            "--shard",
            "1/1",
        ],
    );
    assert!(shard.status.success(), "{}", text(&shard.stderr));
    for place in ["out/provenance.json", "shards/1-of-1/provenance.json"] {
        let provenance = fs::read_to_string(at.join(place)).expect("there");
        fs::write(
            at.join(place),
            provenance.replace("run small.yaml", "run bomb.yaml"),
        )
        .expect("written");
    }
    for command in [
        &["run", "bomb.yaml"][..],
        &["run", "bomb.yaml", "--shard", "1/100"],
        &["plan", "planned.yaml"],
        &["sensitivity", "bomb.yaml"],
        &["compare", "small.yaml", "bomb.yaml"],
        &["compare", "bomb.yaml", "small.yaml"],
        &["reproduce", "out"],
        &["merge", "shards"],
        &["forecast", "bomb.yaml", "status.json"],
        &["explore", "bomb.yaml"],
        &["explore", "bomb.yaml", "--page", "page.html"],
    ] {
        refused(
            at,
            command,
            &[
                "it takes about ",
                "the limit is 8 GB",
                "100,000,000,000 new pods",
                "--memory ",
            ],
        );
    }
    let predict = [
        "calibrate",
        "--events",
        "events.jsonl",
        "--predict",
        "bomb.yaml",
        "--no-charts",
    ];
    let parts = [
        "it takes about ",
        "the limit is 8 GB",
        "100,000,000,000 new pods",
    ];
    refused(at, &predict, &parts);
}

#[test]
fn combinations_of_values_are_limited_while_an_experiment_is_read() {
    let others: String = (1..20)
        .map(|at| format!(", {{name: 'x{at}-{{0000001..1000000}}'}}"))
        .collect();
    let long = format!("{{name: '{}{{0000001..1000000}}'}}", "x".repeat(10_000));
    let shards = "strategies: {a: {argoCd: {applicationController: {shards: 4000000000}}}}";
    let variants: Vec<String> = (1..200).map(|at| at.to_string()).collect();
    let variants = format!(
        "strategies: {{f: {{rancherFleet: {{}}}}}}\nsweep: {{strategies.f.rancherFleet.maxUnavailable: [{}]}}",
        variants.join(", ")
    );
    let layers = vec!["{size: 1 B}"; 70_000].join(", ");
    let layers = format!(
        "images: [{{name: i, manifest: {{layers: [{layers}]}}}}]\n  workloads: [{{kind: Deployment, image: i}}]"
    );
    let mut relabels = "strategies: {f: {rancherFleet: {}}}\nchanges:\n".to_owned();
    for at in 0..80 {
        relabels += &format!(
            "  - {{after: {at} s, relabel: {{clusters: {{matchLabels: {{a: b}}}}, labels: {{k{at}: v}}}}}}\n"
        );
    }
    for (fleet, release, more, part) in [
        (
            "{name: 'c-{00001..20000}', labels: {a: b}}".to_owned(),
            RELEASE,
            relabels.as_str(),
            "all label changes together set more than 5,000,000 labels",
        ),
        (
            format!("{MILLION}{others}"),
            RELEASE,
            STRATEGIES,
            "the fleet has 2000000 clusters or more",
        ),
        (long, RELEASE, STRATEGIES, "write at most 253"),
        (MILLION.to_owned(), RELEASE, shards, "must be at most 10000"),
        (
            MILLION.to_owned(),
            RELEASE,
            &variants,
            "199 variants of 1000000 clusters",
        ),
        (
            "{name: c}".to_owned(),
            &layers,
            STRATEGIES,
            "at most 32767 images and 65535 layers are simulated",
        ),
    ] {
        let home = folder_with(&[("bomb.yaml", &bomb(&fleet, release, more))]);
        refused(home.path(), &["check", "bomb.yaml"], &[part]);
    }
}

#[test]
fn partitions_and_steps_that_select_every_cluster_count_towards_memory() {
    let partitions: String = (0..600)
        .map(|at| format!("{{name: p{at}, clusterSelector: {{}}}}, "))
        .collect();
    let strategies = format!("strategies: {{f: {{rancherFleet: {{partitions: [{partitions}]}}}}}}");
    let fleet = "{name: 'c-{000001..100000}'}";
    let home = folder_with(&[("bomb.yaml", &bomb(fleet, RELEASE, &strategies))]);
    let part = "2.7 GB for 600 partitions or steps of up to 100,000 clusters each";
    refused(
        home.path(),
        &["run", "bomb.yaml", "--memory", "1GB"],
        &[part],
    );
}

#[test]
fn the_limit_can_be_changed_and_fewer_concurrent_runs_stay_below_it() {
    let fleet = "{name: 'c{0001..2000}', nodes: 1}";
    let home = folder_with(&[("some.yaml", &bomb(fleet, RELEASE, STRATEGIES))]);
    let run = |memory: &str| {
        let args = [
            "run",
            "some.yaml",
            "--replicates",
            "4",
            "--threads",
            "8",
            "--out",
            "out",
            "--memory",
            memory,
        ];
        called(home.path(), &args)
    };
    let needed = {
        let refused = run("1 MB");
        let messages = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{messages}");
        assert!(
            messages.contains("the limit is 1 MB") && messages.contains("--memory 1GB"),
            "{messages}"
        );
        load(
            &home.path().join("some.yaml"),
            &Overrides {
                replicates: Some(4),
                ..Overrides::default()
            },
        )
        .expect("valid")
    };
    let estimate = MemoryEstimate::of_study(&needed, 1);
    let enough = run(&format!("{} B", estimate.with(2).get()));
    let messages = text(&enough.stderr);
    assert!(enough.status.success(), "{messages}");
    assert!(
        messages.contains("note: 2 runs at a time instead of 8"),
        "{messages}"
    );
    let more = run("1 TB");
    assert!(
        !text(&more.stderr).contains("at a time"),
        "{}",
        text(&more.stderr)
    );
}

#[test]
fn the_experiments_of_this_repository_and_a_million_clusters_are_below_the_limit() {
    for folder in experiment_folders() {
        let experiment = load(&folder, &Overrides::default()).expect("valid");
        let estimate = MemoryEstimate::of_study(&experiment, 1);
        // On two cores, the command succeeds without a note.
        assert!(
            estimate.with(2) < MOST_MEMORY,
            "{}: {}",
            folder.display(),
            estimate.with(2)
        );
    }
    for strategy in [
        "allAtOnce: {}",
        "rancherFleet: {maxUnavailable: 10%}",
        "kubeFleetRolling: {}",
        "cloudFoundry: {}",
    ] {
        let home = folder_with(&[(
            "million.yaml",
            &bomb(
                MILLION,
                RELEASE,
                &format!("strategies: {{a: {{{strategy}}}}}\nreplicates: 1"),
            ),
        )]);
        let million =
            load(&home.path().join("million.yaml"), &Overrides::default()).expect("valid");
        let estimate = MemoryEstimate::of_study(&million, 1);
        assert!(
            estimate.with(1) < MOST_MEMORY,
            "{strategy}: {}",
            estimate.with(1)
        );
    }
}

/// Events of `pods` pods on `nodes` nodes, all at the same instant.
fn instant_events(pods: usize, nodes: usize) -> String {
    let mut events = String::new();
    for at in 0..pods {
        let node = at % nodes;
        let took = format!("5.{:03}s", at % 997);
        let pulled = format!(
            "Successfully pulled image \"shop\" in {took} ({took} including waiting). Image size: {} bytes.",
            // The sizes differ enough to fit a rate.
            50_000_000 + 100_000 * at
        );
        for (reason, message) in [
            (
                "Scheduled",
                format!("Successfully assigned d/p{at} to n{node}"),
            ),
            ("Pulling", "Pulling image \"shop\"".to_owned()),
            ("Pulled", pulled),
            ("Started", "Started container c".to_owned()),
        ] {
            let event = json!({
                "kind": "Event", "reason": reason, "message": message, "source": {"host": format!("n{node}")},
                "eventTime": "2026-03-01T10:00:00.000001Z",
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

/// Calibrates with the given events, without charts. Returns the output.
fn calibrated(at: &Path, events: &str, more: &[&str]) -> Output {
    fleetsim(at)
        .args([
            "calibrate",
            "--no-charts",
            "--resamples",
            "20",
            "--events",
            events,
        ])
        .args(more)
        .timeout(Duration::from_secs(60))
        .output()
        .expect("run")
}

/// An earlier version took minutes, because it compared all pairs of pulls, or queried all open pulls at each event.
#[test]
fn a_calibration_of_150000_simultaneous_events_takes_seconds() {
    let events = instant_events(37_500, 1);
    assert_eq!(events.lines().count(), 150_000);
    let home = folder_with(&[
        ("events.jsonl", &events),
        ("on-nodes.jsonl", &instant_events(37_500, 50)),
    ]);
    let at = home.path();
    let fitted = calibrated(at, "events.jsonl", &[]);
    assert!(fitted.status.success(), "{}", text(&fitted.stderr));
    let predicted = calibrated(at, "on-nodes.jsonl", &["--predict"]);
    assert!(predicted.status.success(), "{}", text(&predicted.stderr));
    let refused = calibrated(at, "events.jsonl", &["--predict"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("one node has 37,500 containers"));
}

/// In an earlier version, each node had an entry for each layer, which took 22 GB; and the 32,768th image caused a
/// panic.
#[test]
fn a_prediction_of_too_many_images_on_too_many_nodes_is_refused() {
    let mut events = String::new();
    for (line, event) in instant_events(10_000, 10_000).lines().enumerate() {
        let image = format!("image{}", line / 4);
        events.push_str(&format!("{}\n", event.replace("shop", &image)));
    }
    let home = folder_with(&[("events.jsonl", &events)]);
    let refused = calibrated(home.path(), "events.jsonl", &["--predict"]);
    let messages = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{messages}");
    let part = "10,000 images with 10,000 layers on 10,000 nodes";
    assert!(messages.contains(part), "{messages}");
}

#[test]
fn a_status_file_of_gigabytes_is_refused_before_it_is_read() {
    let home = folder_with(&[(
        "some.yaml",
        &bomb("{name: c, nodes: 1}", RELEASE, STRATEGIES),
    )]);
    let status = home.path().join("status.json");
    File::create(status)
        .and_then(|file| file.set_len(1_900_000_000))
        .expect("a sparse file");
    refused(
        home.path(),
        &["forecast", "some.yaml", "status.json"],
        &["the file has more than 500000000 bytes"],
    );
}

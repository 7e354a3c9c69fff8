//! `fleetsim calibrate` recovers the parameters of generated streams with all pitfalls of real ones, and rejects
//! unreadable input.

mod ordinary;
mod page;
mod pasted;
mod stream;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use super::common::{contents, fleetsim, folder_with, text};
use stream::{CONSTANT_S, PER_LAYER_S, TO_PULLING_S, TO_STARTED_S, UNPACK_BYTES_PER_S, benchmark};

const NAMES: &str = "bench:{layers}-layers-{uncompressed}-bytes";

/// The record that the program prints.
fn calibrated(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = fleetsim(folder);
    command
        .args([
            "calibrate",
            "--format",
            "json",
            "--resamples",
            "20",
            "--no-charts",
            "--out",
            "out",
        ])
        .args(arguments);
    let output = command.assert().success().get_output().clone();
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

fn entry<'v>(list: &'v Value, key: &str, wanted: &str) -> &'v Value {
    let entries = list.as_array().expect("a list");
    entries
        .iter()
        .find(|entry| entry[key] == wanted)
        .unwrap_or_else(|| panic!("{wanted} is in {list}"))
}

fn assert_near(found: f64, expected: f64, bound: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() <= bound,
        "{what}: {found}, not {expected} within {bound}"
    );
}

fn events() -> TempDir {
    folder_with(&[("events.jsonl", &benchmark(1).text())])
}

#[test]
fn latencies_and_rates_of_a_stream_with_all_pitfalls_are_recovered() {
    let home = events();
    let record = calibrated(
        home.path(),
        &[
            "--events",
            "events.jsonl",
            "--image-name",
            NAMES,
            "--predict",
        ],
    );
    // The standard errors of the medians of about 95 values are 1.25 sigma / sqrt(95), which is 1.0% and 1.5%; the
    // bounds are three standard errors.
    for (name, truth, bound) in [
        ("scheduled_to_pulling", TO_PULLING_S, 0.03),
        ("pulled_to_started", TO_STARTED_S, 0.05),
    ] {
        let sample = entry(&record["samples"], "name", name);
        assert_near(number(&sample["median_s"]), truth, bound, name);
        assert!(number(&sample["count"]) >= 94.0, "{sample}");
        assert_ne!(sample["chosen"], "exponential", "{sample}");
    }
    for (name, truth, bound) in [
        ("constant of a pull", CONSTANT_S, 0.15),
        ("part of each layer", PER_LAYER_S, 0.08),
        ("unpack rate", UNPACK_BYTES_PER_S, 0.08),
    ] {
        let parameter = entry(&record["rates"]["parameters"], "name", name);
        assert_near(number(&parameter["value"]), truth, bound, name);
        assert!(
            number(&parameter["low"]) < number(&parameter["value"]),
            "{parameter}"
        );
    }
    assert!(
        entry(&record["rates"]["parameters"], "name", "download rate")["value"].is_null(),
        "nothing shows it"
    );
    assert!(number(&record["rates"]["median_error"]) < 0.05);
    let prediction = &record["prediction"];
    assert_near(
        number(&prediction["predicted_completion_s"]),
        number(&prediction["completion_s"]),
        0.03,
        "completion",
    );
    assert!(
        number(&prediction["median_absolute_error"]) < 0.1,
        "{}",
        prediction["median_absolute_error"]
    );
    let reasons = record["left_out"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["reason"].as_str().expect("text"));
    let reasons: Vec<&str> = reasons.collect();
    for reason in [
        "log line",
        "already present",
        "repetition",
        "restart",
        "without an image size",
        "not in the events",
    ] {
        assert!(
            reasons.iter().any(|found| found.contains(reason)),
            "{reason} is counted: {reasons:?}"
        );
    }
    let names: Vec<String> = contents(&home.path().join("out"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for name in [
        "calibration.csv",
        "containers.csv",
        "images.csv",
        "prediction.csv",
        "settings.yaml",
        "samples/pull.csv",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
}

#[test]
fn lists_compressed_files_and_standard_input_give_the_same_values() {
    let stream = benchmark(2);
    let home = folder_with(&[
        ("events.json", &stream.list()),
        ("events.jsonl", &stream.text()),
    ]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(stream.text().as_bytes())
        .expect("compressed");
    fs::write(
        home.path().join("events.jsonl.gz"),
        packed.finish().expect("compressed"),
    )
    .expect("written");
    let rates = |arguments: &[&str]| {
        let record = calibrated(
            home.path(),
            &[&["--image-name", NAMES][..], arguments].concat(),
        );
        fs::remove_dir_all(home.path().join("out")).expect("removed");
        record["rates"].clone()
    };
    let lines = rates(&["--events", "events.jsonl"]);
    assert_eq!(rates(&["--events", "events.jsonl.gz"]), lines);
    assert_eq!(rates(&["--events", "events.json"]), lines);
    assert_eq!(
        rates(&["--events", "events.json", "--events", "events.jsonl"]),
        lines,
        "each event counts once"
    );
    let mut command = fleetsim(home.path());
    command.args([
        "calibrate",
        "--format",
        "json",
        "--resamples",
        "20",
        "--no-charts",
        "--image-name",
        NAMES,
        "--events",
        "-",
    ]);
    let output = command
        .write_stdin(stream.text())
        .assert()
        .success()
        .get_output()
        .clone();
    let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(record["rates"], lines);
}

#[test]
fn the_settings_can_be_pasted_into_an_experiment() {
    let home = events();
    calibrated(
        home.path(),
        &["--events", "events.jsonl", "--image-name", NAMES],
    );
    let settings = fs::read_to_string(home.path().join("out/settings.yaml")).expect("settings");
    assert!(
        settings.contains("  unpackRate: ") && settings.contains("# calibrated: "),
        "{settings}"
    );
    // The settings of clusters move to the experiment's own group.
    assert!(settings.contains("  - name: calibrated\n"), "{settings}");
    let settings = settings.replace("name: calibrated", "name: \"c-{1..3}\"");
    let experiment = format!(
        "name: pasted\nseed: 1\nreplicates: 1\nrelease:\n  kind: initial\n  images: \
         [{{name: shop, manifest: {{layers: [{{size: 30 MB}}]}}}}]\n  workloads: [{{kind: Deployment, image: shop}}]\n\
         strategies: {{it: {{allAtOnce: {{}}}}}}\n{settings}"
    );
    fs::write(home.path().join("experiment.yaml"), experiment).expect("written");
    for (name, bytes) in contents(&home.path().join("out"))
        .into_iter()
        .filter(|(name, _)| name.starts_with("samples/"))
    {
        fs::create_dir_all(home.path().join("samples")).expect("a folder");
        fs::write(home.path().join(name), bytes).expect("written");
    }
    fleetsim(home.path())
        .args(["check", "experiment.yaml"])
        .assert()
        .success();
    let record = calibrated(
        home.path(),
        &[
            "--events",
            "events.jsonl",
            "--image-name",
            NAMES,
            "--predict",
            "experiment.yaml",
        ],
    );
    assert!(
        record["prediction"]["simulated"]
            .as_str()
            .is_some_and(|text| text.starts_with("pasted"))
    );
    let warnings = record["warnings"].to_string();
    assert!(
        warnings.contains("the simulation starts 3 containers"),
        "{warnings}"
    );
}

#[test]
fn the_same_files_give_the_same_bytes_and_charts_can_be_redrawn() {
    let home = events();
    let arguments = ["--events", "events.jsonl", "--image-name", NAMES];
    calibrated(home.path(), &arguments);
    let first = contents(&home.path().join("out"));
    calibrated(home.path(), &arguments);
    assert!(contents(&home.path().join("out")) == first);
    fleetsim(home.path())
        .args(["report", "out"])
        .assert()
        .success();
    let names: Vec<String> = contents(&home.path().join("out"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for name in ["calibration.txt", "charts/rates.png", "charts/fit-pull.svg"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
}

#[test]
fn a_calibration_can_be_reproduced_from_its_provenance() {
    let home = events();
    fs::rename(
        home.path().join("events.jsonl"),
        home.path().join("of march.jsonl"),
    )
    .expect("renamed");
    let arguments = [
        "--events",
        "of march.jsonl",
        "--image-name",
        NAMES,
        "--rtt",
        "20 ms",
        "--seed",
        "3",
        "--predict",
    ];
    calibrated(home.path(), &arguments);
    let again = || {
        let output = fleetsim(home.path())
            .args(["reproduce", "out"])
            .output()
            .expect("run");
        (output.status.code(), text(&output.stderr))
    };
    fs::remove_file(home.path().join("out/calibration.csv")).expect("removed");
    assert_eq!(
        again(),
        (Some(0), "out: reproduced byte for byte\n".to_owned())
    );
    assert!(
        home.path().join("out/calibration.csv").exists(),
        "what was missing is added"
    );
    fs::write(home.path().join("of march.jsonl"), benchmark(2).text()).expect("written");
    let (code, error) = again();
    assert!(
        code == Some(1) && error.contains("out: not reproduced; differs in "),
        "{code:?} {error}"
    );
}

#[test]
fn prometheus_metrics_and_csv_columns_are_calibrated_together() {
    let response = |result: &str| {
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}"
        )
    };
    let load: Vec<String> = (0..20)
        .map(|at| {
            format!(
                "[{},\"{}\"]",
                1000 + at,
                if at % 2 == 0 { 1.25e8 } else { 1e6 }
            )
        })
        .collect();
    let starts: String = (1..=40)
        .map(|at| format!("{}\n", 3.0 + f64::from(at) * 0.05))
        .collect();
    let home = folder_with(&[
        (
            "egress.json",
            &response(&format!(
                "{{\"metric\":{{}},\"values\":[{}]}}",
                load.join(",")
            )),
        ),
        ("starts.csv", &format!("start_s\n{starts}")),
    ]);
    let record = calibrated(
        home.path(),
        &[
            "--prometheus",
            "egress=egress.json",
            "--durations",
            "starts.csv:start_s=node.startOverhead",
        ],
    );
    assert_near(
        number(&entry(&record["samples"], "name", "start")["median_s"]),
        4.025,
        1e-9,
        "median",
    );
    let egress = entry(&record["values"], "setting", "registry.egress");
    assert_eq!(
        egress["value"], "125 MB/s",
        "it stays at its peak for half of the time"
    );
    let settings = record["snippet"].as_str().expect("text");
    assert!(
        settings.contains("registry:\n") && settings.contains("  startOverhead: "),
        "{settings}"
    );
}

#[test]
fn unreadable_input_is_one_error_with_its_position_and_nothing_is_written() {
    let good = benchmark(3).text();
    let cut = &good[..good.len() - 30];
    let cases: [(&str, &str, &[&str], &str); 11] = [
        (
            "cut.jsonl",
            cut,
            &["--events", "cut.jsonl"],
            "the JSON ends too early",
        ),
        (
            "empty.json",
            "",
            &["--events", "empty.json"],
            "the file is empty",
        ),
        (
            "prom.json",
            "{\"status\":\"success\",\"data\":{}}",
            &["--events", "prom.json"],
            "use `--prometheus",
        ),
        (
            "pods.json",
            "{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}]}",
            &["--events", "pods.json"],
            "this is a Pod",
        ),
        (
            "table",
            "LAST SEEN   TYPE\n",
            &["--events", "table"],
            "add `-o json`",
        ),
        (
            "packed.gz",
            "\u{1f}\u{8b}",
            &["--events", "packed.gz"],
            "not UTF-8|cannot be decompressed|no JSON object",
        ),
        (
            "m.json",
            "{\"manifests\":[]}",
            &["--events", "m.json", "--image", "a=m.json"],
            "no Kubernetes events",
        ),
        (
            "e.json",
            "{\"kind\":\"List\",\"items\":[]}",
            &["--events", "missing.json"],
            "there is no such file",
        ),
        ("c.csv", "a_s\nx\n", &["--durations", "c.csv:a_s"], "a_s"),
        (
            "d.csv",
            "a_s\n1\n",
            &["--durations", "d.csv:b_s"],
            "no column `b_s`",
        ),
        (
            "n.json",
            "{\"data\":{\"resultType\":\"vector\"}}",
            &["--prometheus", "egress=n.json"],
            "a range query returns a matrix",
        ),
    ];
    for (name, content, arguments, message) in cases {
        let home = folder_with(&[(name, content)]);
        let call = fleetsim(home.path())
            .args(["calibrate", "--out", "out"])
            .args(arguments)
            .assert()
            .code(2);
        let error = text(&call.get_output().stderr);
        let found = message
            .split('|')
            .any(|message| error.contains(message.trim_start_matches("use ")));
        assert!(
            found && error.matches("error:").count() == 1 && error.contains("help:"),
            "{name}: {error}"
        );
        assert!(
            !home.path().join("out").exists(),
            "{name}: nothing is written"
        );
    }
    let home = folder_with(&[]);
    for (arguments, message) in [
        (&["calibrate"][..], "nothing to calibrate from"),
        (
            &["calibrate", "--prometheus", "speed=a"],
            "unknown kind `speed`",
        ),
        (&["calibrate", "--durations", "a.csv"], "FILE:COLUMN"),
        (
            &["calibrate", "--durations", "a.csv:a_s=node.startOverhed"],
            "unknown setting `node.startOverhed`",
        ),
        (&["calibrate", "--image", "a"], "IMAGE=FILE"),
    ] {
        let call = fleetsim(home.path()).args(arguments).assert().code(2);
        assert!(
            text(&call.get_output().stderr).contains(message),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_rollout_is_predicted_from_the_events_of_another() {
    let home = folder_with(&[
        ("march.jsonl", &benchmark(1).text()),
        ("april.jsonl", &benchmark(7).text()),
    ]);
    let arguments = [
        "--events",
        "march.jsonl",
        "--image-name",
        NAMES,
        "--predict-events",
        "april.jsonl",
    ];
    let prediction = calibrated(home.path(), &arguments)["prediction"].clone();
    assert_eq!(
        (&prediction["is_in_sample"], &prediction["source"]),
        (&Value::Bool(false), &Value::from("april.jsonl"))
    );
    assert_near(
        number(&prediction["predicted_completion_s"]),
        number(&prediction["completion_s"]),
        0.03,
        "completion",
    );
}

/// Writes a stream to the standard input of `calibrate`, part by part. Returns the peak memory of the process.
#[cfg(target_os = "linux")]
fn memory_for(arguments: &[&str], parts: impl Iterator<Item = String>) -> (usize, u64) {
    let home = folder_with(&[]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command
        .current_dir(home.path())
        .arg("calibrate")
        .args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("it is started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut written = 0;
    for part in parts {
        stdin.write_all(part.as_bytes()).expect("it reads");
        written += part.len();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a number");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    (
        written,
        most.trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .expect("kB")
            * 1024,
    )
}

#[test]
#[cfg(target_os = "linux")]
fn streams_are_never_held_in_memory_as_a_whole() {
    const PARTS: usize = 400;
    // An exporter repeats its events, and so does a list that is merged from several lists.
    let lines = benchmark(1).text();
    let objects: Vec<&str> = lines
        .lines()
        .filter(|line| line.contains("involvedObject"))
        .collect();
    let items = format!("{},\n", objects.join(",\n"));
    let lists = (0..PARTS).map(|at| match at {
        0 => format!("{{\"kind\": \"List\", \"items\": [\n{items}"),
        _ if at + 1 == PARTS => {
            format!("{}], \"metadata\": {{}}}}\n", items.trim_end_matches(",\n"))
        }
        _ => items.clone(),
    });
    let values: String = (0..5_000)
        .map(|at| format!("[{at},\"{}\"],", at % 7))
        .collect();
    let series = format!(
        "{{\"metric\": {{}}, \"values\": [{}]}}",
        values.trim_end_matches(',')
    );
    let response = (0..PARTS).map(|at| match at {
        0 => format!("{{\"status\": \"success\", \"data\": {{\"resultType\": \"matrix\", \"result\": [{series},"),
        _ if at + 1 == PARTS => format!("{series}]}}}}"),
        _ => format!("{series},"),
    });
    let events = ["--events", "-", "--resamples", "20", "--no-charts"];
    // This is the memory of the program itself, which is larger in a test build.
    let (_, program) = memory_for(&events, std::iter::once(lines.clone()));
    for (name, (written, most)) in [
        (
            "lines",
            memory_for(&events, (0..PARTS).map(|_| lines.clone())),
        ),
        ("a list", memory_for(&events, lists)),
        (
            "metrics",
            memory_for(&["--prometheus", "egress=-", "--no-charts"], response),
        ),
    ] {
        let grown = most.saturating_sub(program);
        assert!(
            written > 20_000_000 && grown < written as u64 / 4,
            "{name}: {grown} bytes more for {written}"
        );
    }
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_refused() {
    let home = folder_with(&[]);
    let made = std::process::Command::new("mkfifo")
        .arg(home.path().join("fifo"))
        .status()
        .expect("mkfifo");
    assert!(made.success());
    for arguments in [
        ["--events", "fifo"],
        ["--events", "/dev/zero"],
        ["--prometheus", "egress=fifo"],
        ["--durations", "fifo:start_s"],
        ["--images", "/dev/zero"],
    ] {
        let mut command = fleetsim(home.path());
        command
            .arg("calibrate")
            .args(arguments)
            .timeout(std::time::Duration::from_secs(60));
        if arguments[0] == "--images" {
            command.args(["--durations", "/dev/zero:a"]);
        }
        let call = command.assert().code(2);
        let error = text(&call.get_output().stderr);
        assert!(
            error.contains("not a regular file"),
            "{arguments:?}: {error}"
        );
    }
}

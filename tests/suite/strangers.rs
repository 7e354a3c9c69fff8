//! Untrusted results, shards, experiments and exports: whatever they contain, the program writes only the user's
//! output, follows no link, never waits for a pipe, and sends no control sequence to the terminal.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::common::{contents, fleetsim, folder_with, state_home, text};

const EXPERIMENT: &str = "
name: small
question: \"\\e[2JWho wrote \\u009b31m this?\"
replicates: 2
horizon: 2h
fleet: [{name: 'edge-{1..3}', nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
release:
  images: [{name: shop, manifest: {layers: [{size: 10 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
assert: [peak_pulls < 100]
strategies: {bound: {allAtOnce: {}}}
";

const VICTIM: &str = "what the user must not lose";

/// A folder with the experiment in `small`, its results in `out`, and a file `victim.csv`.
fn results() -> TempDir {
    let home = folder_with(&[("victim.csv", VICTIM)]);
    fs::create_dir(home.path().join("small")).expect("made");
    fs::write(home.path().join("small/experiment.yaml"), EXPERIMENT).expect("written");
    let run = called(home.path(), &["run", "small", "--out", "out"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    home
}

/// Runs the program, which must not wait for input. Returns its output.
fn called(at: &Path, args: &[&str]) -> Output {
    fleetsim(at)
        .args(args)
        .timeout(Duration::from_secs(120))
        .output()
        .expect("run")
}

/// Runs the program, and asserts its exit code and a part of its error. Returns the error.
#[track_caller]
fn refused(at: &Path, args: &[&str], code: i32, part: &str) -> String {
    let output = called(at, args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(stderr.contains(part), "{args:?}: {stderr}");
    stderr
}

/// Forges the provenance of results or of a shard.
fn forge(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("provenance.json");
    let mut provenance: Value =
        serde_json::from_slice(&fs::read(&path).expect("readable")).expect("JSON");
    change(&mut provenance);
    fs::write(path, provenance.to_string()).expect("written");
}

#[track_caller]
fn unharmed(at: &Path) {
    assert_eq!(
        fs::read_to_string(at.join("victim.csv")).expect("there"),
        VICTIM
    );
}

fn names(at: &Path) -> Vec<String> {
    let entries = fs::read_dir(at).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_recorded_command_writes_only_into_the_results() {
    let home = results();
    let at = home.path();
    for option in [
        "--junit victim.csv",
        "--junit=victim.csv",
        "--out victim.csv",
        "--threads 1024",
        "--replace",
    ] {
        forge(&at.join("out"), |provenance| {
            provenance["command"] = json!(format!("fleetsim run small {option}"));
        });
        refused(at, &["reproduce", "out"], 2, "must not have `--");
        unharmed(at);
    }
    for command in [
        "fleetsim export out --to trace",
        "fleetsim import -o x",
        "rm victim.csv",
        "",
    ] {
        forge(&at.join("out"), |provenance| {
            provenance["command"] = json!(command);
        });
        refused(at, &["reproduce", "out"], 2, "recorded command");
    }
    assert_eq!(names(at), ["out", "small", "victim.csv"]);
}

#[test]
fn paths_and_links_in_results_do_not_lead_outside_the_folder() {
    let home = results();
    let (at, out) = (home.path(), home.path().join("out"));
    let sha256 = fleetsim::results::sha256(VICTIM.as_bytes());
    fs::create_dir_all(at.join("deep/er")).expect("made");
    symlink(at.join("deep/er"), out.join("l")).expect("linked");
    let original = fs::read(out.join("provenance.json")).expect("readable");
    for path in [
        "l/../../victim.csv",
        "../victim.csv",
        "l",
        &at.join("victim.csv").display().to_string(),
    ] {
        forge(&out, |provenance| {
            let files = provenance["files"].as_array_mut().expect("a list");
            files.push(json!({"path": format!("{path}.csv").replace(".csv.csv", ".csv"), "sha256": sha256}));
            files.push(json!({"path": "l", "sha256": sha256}));
        });
        for command in [
            &["report", "out"][..],
            &["export", "out", "--to", "trace", "-o", "trace.json"],
        ] {
            let output = called(at, command);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{path}, {command:?}: {}",
                text(&output.stderr)
            );
            unharmed(at);
        }
        fs::write(out.join("provenance.json"), &original).expect("written");
    }
    fs::remove_file(out.join("l")).expect("removed");

    // A table that is a link would be copied into folders that are shared.
    fs::rename(out.join("runs.csv"), at.join("runs.csv")).expect("moved");
    symlink(at.join("runs.csv"), out.join("runs.csv")).expect("linked");
    refused(
        at,
        &["report", "out"],
        2,
        "links in a results folder are not followed",
    );
    refused(
        at,
        &["export", "out", "--to", "trace"],
        2,
        "links in a results folder are not followed",
    );
    fs::rename(at.join("runs.csv"), out.join("runs.csv")).expect("moved back");

    // A copy of an input that is a link would also be copied.
    fs::remove_file(out.join("inputs/experiment.yaml")).expect("removed");
    symlink(at.join("victim.csv"), out.join("inputs/experiment.yaml")).expect("linked");
    refused(
        at,
        &["report", "out"],
        2,
        "links in a results folder are not followed",
    );
    refused(
        at,
        &["reproduce", "out"],
        2,
        "links in a results folder are not followed",
    );
}

#[test]
fn no_file_is_written_through_hidden_links_next_to_results() {
    let home = results();
    let at = home.path();
    let commands = [
        &["reproduce", "out"][..],
        &["run", "small", "--out", "out"],
        &["report", "out"],
    ];
    for hidden in [
        ".out.fleetsim-runs",
        ".out.fleetsim-new-study.lock",
        ".out.fleetsim-new-99-0.lock",
        ".out.fleetsim-new-99-0",
    ] {
        for command in commands {
            if !at.join(hidden).is_symlink() {
                symlink(at.join("victim.csv"), at.join(hidden)).expect("linked");
            }
            let output = called(at, command);
            let stderr = text(&output.stderr);
            assert!(output.status.success(), "{command:?}, {hidden}: {stderr}");
            unharmed(at);
        }
    }
}

#[test]
fn leftovers_of_a_killed_report_are_removed_by_the_next_one() {
    let home = results();
    let at = home.path();
    let (all, results) = (names(at), contents(&at.join("out")));
    // The process was killed before it created its folder, or after it published it.
    fs::write(at.join(".out.fleetsim-new-99-0.lock"), "").expect("written");
    fs::write(at.join(".out.fleetsim-new-study.lock"), "").expect("written");
    fs::create_dir(at.join(".out.fleetsim-new-98-1")).expect("made");
    // The process of this lock is still running.
    let in_use = at.join(".out.fleetsim-new-97-0.lock");
    let lock = File::create(&in_use).expect("written");
    lock.lock().expect("free");
    assert!(called(at, &["report", "out"]).status.success());
    assert!(in_use.exists());
    drop(lock);
    assert!(called(at, &["report", "out"]).status.success());
    assert_eq!(names(at), all);
    for delay in [5, 20, 40, 80, 160, 320] {
        let mut killed = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
        killed.current_dir(at).args(["report", "out"]);
        killed.stdout(Stdio::null()).stderr(Stdio::null());
        let mut killed = killed.spawn().expect("started");
        std::thread::sleep(Duration::from_millis(delay));
        killed.kill().expect("killed");
        killed.wait().expect("dead");
        assert!(called(at, &["report", "out"]).status.success());
        assert_eq!(names(at), all, "after {delay} ms");
        assert!(contents(&at.join("out")) == results, "after {delay} ms");
    }
}

#[test]
fn a_provenance_with_more_variants_than_an_experiment_can_have_is_refused_quickly() {
    let home = results();
    let (at, out) = (home.path(), home.path().join("out"));
    let forge_variants = |count: usize| {
        forge(&out, |provenance| {
            let first = provenance["variants"][0].clone();
            let variant = |number: usize| {
                let setting = json!({"path": "registry.egress", "name": "egress", "value": format!("{number}")});
                let mut variant = first.clone();
                if number > 0 {
                    variant["variant"] = json!(format!("bound egress={number}"));
                }
                variant["settings"] = json!([setting]);
                variant
            };
            provenance["variants"] = (0..count).map(variant).collect();
        });
    };
    forge_variants(200_000);
    let export = &["export", "out", "--to", "trace", "-o", "trace.json"][..];
    for command in [
        &["report", "out"][..],
        &["reproduce", "out"],
        &["merge", "out"],
        &["run", "small", "--out", "out"],
        export,
    ] {
        let began = Instant::now();
        let error = "it must have at most 10000 variants, but it has 200000";
        refused(at, command, 2, error);
        // This used to take more than 20 s; the program is not optimised, and the machine may be busy.
        let took = began.elapsed();
        assert!(took < Duration::from_secs(10), "{command:?}: {took:?}");
    }
    // With the maximum number of variants, no step takes quadratic time.
    forge_variants(10_000);
    for command in [&["report", "out"][..], export] {
        let began = Instant::now();
        let output = called(at, command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{command:?}: {took:?}");
    }
    fs::write(out.join("provenance.json"), vec![b' '; 100_000_001]).expect("written");
    refused(
        at,
        &["report", "out"],
        2,
        "it has more than 100000000 bytes",
    );
}

#[test]
fn an_export_keeps_devices_links_and_files_of_others() {
    let home = results();
    let at = home.path();
    let export = |to: &str| called(at, &["export", "out", "--to", "openmetrics", "-o", to]);
    let stdout = called(at, &["export", "out", "--to", "openmetrics"]).stdout;
    assert_eq!(
        called(at, &["export", "out", "--to", "openmetrics", "-o", "-"]).stdout,
        stdout,
        "- is standard output"
    );
    assert!(!at.join("-").exists());

    // A pipe receives the bytes and stays a pipe, like a device.
    assert!(
        Command::new("mkfifo")
            .arg(at.join("pipe"))
            .status()
            .expect("mkfifo")
            .success()
    );
    let pipe = at.join("pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        File::open(pipe)
            .expect("opened")
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    });
    assert!(export("pipe").status.success());
    assert!(
        fs::symlink_metadata(at.join("pipe"))
            .expect("there")
            .file_type()
            .is_fifo()
    );
    assert_eq!(reader.join().expect("read").expect("bytes"), stdout);

    symlink("target.txt", at.join("link.txt")).expect("linked");
    fs::write(at.join("target.txt"), "old").expect("written");
    fs::write(at.join("link.txt.partial"), "mine").expect("written");
    assert!(export("link.txt").status.success());
    assert!(at.join("link.txt").is_symlink(), "a link stays a link");
    assert_eq!(fs::read(at.join("target.txt")).expect("there"), stdout);
    assert_eq!(
        fs::read_to_string(at.join("link.txt.partial")).expect("there"),
        "mine"
    );

    let before = contents(&at.join("out"));
    for taken in [
        "out/runs.csv",
        "out/new.json",
        "out",
        "small/../out/charts/x",
    ] {
        assert_eq!(export(taken).status.code(), Some(1), "{taken}");
    }
    assert!(
        contents(&at.join("out")) == before,
        "the results are as they were"
    );
    for (option, taken) in [
        ("out/limits.xml", "out"),
        ("small/experiment.yaml", "small"),
    ] {
        let before = contents(&at.join(taken));
        refused(
            at,
            &["run", "small", "--out", "out", "--junit", option],
            1,
            "must not be an input or in a results folder",
        );
        assert!(contents(&at.join(taken)) == before, "{option}");
    }
    refused(
        at,
        &["report", "out", "--junit", "out/runs.csv"],
        1,
        "must not be an input or in a results folder",
    );
}

#[test]
fn an_export_removes_the_leftovers_of_a_killed_export() {
    let home = results();
    let at = home.path();
    let hidden = [
        ".t.json.fleetsim-99-0",
        ".t.json.fleetsim-98-12",
        ".t.json.fleetsim-mine",
        ".t.json.fleetsim-1-0",
    ];
    for name in hidden {
        fs::write(at.join(name), VICTIM).expect("written");
    }
    let writing = File::open(at.join(hidden[3])).expect("readable");
    writing.lock().expect("another process writes it");
    let export = called(at, &["export", "out", "--to", "trace", "-o", "t.json"]);
    assert!(export.status.success(), "{}", text(&export.stderr));
    assert_eq!(
        names(at),
        [hidden[3], hidden[2], "out", "small", "t.json", "victim.csv"]
    );
}

#[test]
fn an_export_of_modified_tables_is_refused() {
    let home = results();
    let table = home.path().join("out/runs.csv");
    let changed = fs::read_to_string(&table)
        .expect("readable")
        .replace("bound", "other");
    fs::write(table, changed).expect("written");
    let at = home.path();
    refused(
        at,
        &["export", "out", "--to", "trace", "-o", "trace.json"],
        2,
        "was modified after fleetsim wrote it",
    );
    assert_eq!(names(at), ["out", "small", "victim.csv"]);
}

#[test]
fn a_table_without_a_hash_is_refused() {
    let home = results();
    forge(&home.path().join("out"), |provenance| {
        provenance["files"] = json!([]);
    });
    for command in [&["report", "out"][..], &["export", "out", "--to", "trace"]] {
        refused(
            home.path(),
            command,
            2,
            "out/variants.csv is not listed in provenance.json",
        );
    }
}

#[test]
fn an_invalid_table_is_named_with_line_and_column() {
    let home = results();
    let table = home.path().join("out/summary.csv");
    let mut rows = csv::Reader::from_path(&table).expect("a table");
    let header = rows.headers().expect("a header").clone();
    let median = header
        .iter()
        .position(|column| column == "median")
        .expect("a column");
    let mut changed = csv::Writer::from_writer(Vec::new());
    changed.write_record(&header).expect("written");
    for row in rows.records() {
        let row = row.expect("a row");
        let cells = row
            .iter()
            .enumerate()
            .map(|(index, cell)| if index == median { "NaN" } else { cell });
        changed.write_record(cells).expect("written");
    }
    let changed = changed.into_inner().expect("written");
    forge(&home.path().join("out"), |provenance| {
        let files = provenance["files"].as_array_mut().expect("a list");
        let listed = files
            .iter_mut()
            .find(|file| file["path"] == "summary.csv")
            .expect("listed");
        listed["sha256"] = json!(fleetsim::results::sha256(&changed));
    });
    fs::write(table, changed).expect("written");
    for command in [&["report", "out"][..], &["export", "out", "--to", "trace"]] {
        let error = "out/summary.csv is not a valid results table: line 2, column `median`: it must be a finite number";
        refused(home.path(), command, 2, &format!("error: {error}"));
    }
}

#[test]
fn missing_or_damaged_inputs_end_with_exit_code_2() {
    let home = results();
    let at = home.path();
    fs::create_dir(at.join("empty")).expect("made");
    for folder in ["nothing", "empty", "victim.csv"] {
        for command in [
            &["report"][..],
            &["reproduce"],
            &["export", "--to", "trace"],
            &["merge"],
        ] {
            let output = called(at, &[command, &[folder]].concat());
            assert_eq!(
                output.status.code(),
                Some(2),
                "{command:?} {folder}: {}",
                text(&output.stderr)
            );
        }
    }
    fs::write(
        at.join("out/provenance.json"),
        "{\"program\": \"fleetsim\", \"schema_version\": 2}",
    )
    .expect("written");
    for command in [
        &["report"][..],
        &["reproduce"],
        &["export", "--to", "trace"],
        &["merge"],
    ] {
        let output = called(at, &[command, &["out"]].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command:?}: {}",
            text(&output.stderr)
        );
    }
    fs::write(
        at.join("small/experiment.yaml"),
        b"name: small\nquestion: caf\xe9\n",
    )
    .expect("written");
    let error = refused(
        at,
        &["check", "small"],
        2,
        "line 2 has an invalid byte; save the file as UTF-8",
    );
    assert!(
        !error.contains("EXPERIMENT must be a folder"),
        "the path is right: {error}"
    );
}

#[test]
fn forged_numbers_of_shards_are_detected_before_shards_are_collected() {
    let home = results();
    let at = home.path();
    let shard = called(at, &["run", "small", "--shard", "1/2", "--out", "shards"]);
    assert!(shard.status.success(), "{}", text(&shard.stderr));
    let folder = at.join("shards/1-of-2");
    let original = fs::read(folder.join("provenance.json")).expect("readable");
    for (field, number, part) in [
        ("round", u32::MAX, "has an invalid shard number"),
        ("round", 0, "has an invalid shard number"),
        ("of", 0, "has an invalid shard number"),
        ("number", 3, "has an invalid shard number"),
        ("of", u32::MAX, "and 4294967274 more are missing"),
        ("round", 1000, "and 1979 more are missing"),
    ] {
        forge(&folder, |provenance| {
            provenance["shard"][field] = json!(number);
        });
        let error = refused(at, &["merge", "shards"], 2, part);
        assert!(error.len() < 2_000, "{field}: {error}");
        fs::write(folder.join("provenance.json"), &original).expect("written");
    }
    for option in [" --junit victim.csv", " --out victim.csv"] {
        for number in ["1", "2"] {
            let shard = format!("{number}/2");
            let again = called(at, &["run", "small", "--shard", &shard, "--out", "shards"]);
            assert!(again.status.success(), "{}", text(&again.stderr));
            forge(&at.join(format!("shards/{number}-of-2")), |provenance| {
                let command = provenance["shard"]["whole_command"]
                    .as_str()
                    .expect("text")
                    .to_owned();
                provenance["shard"]["whole_command"] = json!(command + option);
            });
        }
        refused(
            at,
            &["merge", "shards", "--experiment", "small"],
            2,
            "must not have `--",
        );
        unharmed(at);
        fs::remove_dir_all(at.join("shards")).expect("removed");
    }
}

#[test]
fn names_questions_and_errors_contain_no_control_sequences() {
    let home = results();
    let at = home.path();
    let obeyed = |output: &Output| {
        let all = [text(&output.stdout), text(&output.stderr)].concat();
        assert!(
            !all.contains(|letter: char| letter.is_control() && letter != '\n' && letter != '\t'),
            "{all:?}"
        );
        all
    };
    assert!(
        obeyed(&called(at, &["explain", "small"])).contains("\\u001b[2JWho wrote \\u009b31m this?")
    );
    let json = called(at, &["run", "small", "--out", "json", "--format", "json"]);
    obeyed(&json);
    serde_json::from_slice::<Value>(&json.stdout).expect("still JSON");
    let bad = EXPERIMENT
        .replace("bound:", "\"\\e]0;title\\a\":")
        .replace("horizon: 2h", "horizon: \"\\e[5m\"");
    fs::create_dir(at.join("bad\u{1b}[31m")).expect("made");
    fs::write(at.join("bad\u{1b}[31m/experiment.yaml"), bad).expect("written");
    assert!(
        obeyed(&called(at, &["check", "bad\u{1b}[31m"])).contains("bad\\u001b[31m/experiment.yaml")
    );
    forge(&at.join("out"), |provenance| {
        provenance["command"] = json!("fleetsim \u{1b}[2J");
    });
    obeyed(&called(at, &["reproduce", "out"]));
}

#[test]
fn a_signal_at_any_time_leaves_no_temporary_files() {
    let home = results();
    let at = home.path();
    let all = names(at);
    let results = contents(&at.join("out"));
    let commands = [
        &["report", "out"][..],
        &["reproduce", "out"],
        &["run", "small", "--out", "out", "--replace"],
        &["export", "out", "--to", "trace", "-o", "victim.csv"],
    ];
    for command in commands {
        for delay in [0, 10, 40, 160, 640] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
            child
                .current_dir(at)
                .env("XDG_STATE_HOME", state_home())
                .args(command)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = child.spawn().expect("started");
            std::thread::sleep(Duration::from_millis(delay));
            Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status()
                .expect("kill");
            child.wait().expect("ended");
            assert_eq!(names(at), all, "{command:?} after {delay} ms");
            assert!(
                contents(&at.join("out")) == results,
                "{command:?} after {delay} ms"
            );
        }
    }
}

#[test]
fn results_that_a_killed_process_moved_aside_are_restored() {
    let home = results();
    let at = home.path();
    let results = contents(&at.join("out"));
    for command in [
        &["report", "out"][..],
        &["export", "out", "--to", "trace", "-o", "trace.json"],
        &["reproduce", "out"],
    ] {
        fs::rename(at.join("out"), at.join(".out.fleetsim-old")).expect("moved aside");
        let output = called(at, command);
        assert!(
            output.status.success(),
            "{command:?}: {}",
            text(&output.stderr)
        );
        assert!(contents(&at.join("out")) == results, "{command:?}");
        assert!(!at.join(".out.fleetsim-old").exists(), "{command:?}");
    }
}

#[test]
fn inputs_must_be_regular_files_of_a_limited_size() {
    let home = folder_with(&[(
        "experiment.yaml",
        &EXPERIMENT.replace(
            "bound: {allAtOnce: {}}",
            "fleet: {rancherFleet: {file: fleet.yaml}}",
        ),
    )]);
    let at = home.path();
    assert!(
        Command::new("mkfifo")
            .arg(at.join("fleet.yaml"))
            .status()
            .expect("mkfifo")
            .success()
    );
    refused(at, &["check", "."], 2, "not a regular file");
    for file in ["fleet.yaml", "/dev/zero", "/dev/tty"] {
        refused(
            at,
            &["import", "--fleet", file, "-o", "imported"],
            2,
            "not a regular file",
        );
    }
    fs::remove_file(at.join("fleet.yaml")).expect("removed");
    File::create(at.join("fleet.yaml"))
        .and_then(|file| file.set_len(256_000_001))
        .expect("a sparse file");
    refused(at, &["check", "."], 2, "it has more than 256000000 bytes");
}

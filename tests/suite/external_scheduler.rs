//! Schedulers in separate processes: the documented example, and each rule of the protocol that a process can violate.

use std::path::Path;
use std::time::{Duration, Instant};

use super::common::{blocks, contents, fleetsim, folder_with, root, text};

/// An experiment with six clusters and the given text as its strategy.
pub(crate) fn experiment(strategy: &str) -> String {
    format!(
        "
name: x
replicates: 2
fleet: [{{name: 'c-{{1..6}}', nodes: 1}}]
release:
  images: [{{name: app, manifest: {{layers: [{{size: 10 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies:
  s: {strategy}
"
    )
}

/// The tables that the program writes for the given experiment.
fn tables(experiment: &Path, threads: &str) -> Vec<(String, Vec<u8>)> {
    let out = tempfile::tempdir().expect("a folder");
    let target = out.path().join("results");
    let mut command = fleetsim(root());
    command
        .args(["run", "--allow-commands", "--no-causes"])
        .args(["--threads", threads, "--out"])
        .arg(&target)
        .arg(experiment);
    command.assert().success();
    contents(&target)
        .into_iter()
        .filter(|(name, _)| name.ends_with(".csv"))
        .collect()
}

/// The Python interpreter. `None`: there is none, and the test is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn python() -> Option<String> {
    let python = std::env::var_os("FLEETSIM_PYTHON").unwrap_or_else(|| "python3".into());
    if std::process::Command::new(&python)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Some(python.to_str().expect("a path in UTF-8").to_owned());
    }
    assert!(std::env::var_os("CI").is_none(), "CI has Python");
    eprintln!("skipped: there is no python3");
    None
}

#[test]
fn the_documented_scheduler_gives_the_results_of_batches_byte_for_byte() {
    let Some(python) = python() else { return };
    let example = root().join("examples/external-scheduler");
    let script = std::fs::read_to_string(example.join("scheduler.py")).expect("the example");
    let written = std::fs::read_to_string(example.join("experiment.yaml")).expect("the example");
    let (head, _) = written
        .split_once("strategies:\n")
        .expect("it compares strategies");
    // Targets become ready late and out of order, because offline clusters return.
    let head = format!("{head}strategies:\n").replace(
        "faults: {",
        "faults: {offline: {share: 4%, return: 5 min}, ",
    );
    let external =
        format!("{head}  s: {{external: {{command: [{python:?}, scheduler.py, '20']}}}}\n");
    let native = format!("{head}  s: {{batches: {{size: 20}}}}\n");
    let external = folder_with(&[("experiment.yaml", &external), ("scheduler.py", &script)]);
    let native = folder_with(&[("experiment.yaml", &native)]);
    let wanted = tables(native.path(), "1");
    assert!(
        wanted.iter().any(|(name, _)| name == "runs.csv") && wanted.len() >= 4,
        "tables were written"
    );
    for threads in ["1", "2"] {
        for ((name, found), (_, wanted)) in tables(external.path(), threads).iter().zip(&wanted) {
            assert_eq!(text(found), text(wanted), "{name} with {threads} threads");
        }
    }
}

/// A process with its own loop that updates batches of two: all news reaches it 100 ms late, and its decisions take no
/// time.
const OWN_LOOP: &str = r#"
import json, sys

LATE = 100_000_000
now, heard, shown = 0, [], []
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        assigned, ready = [1] * len(message["targets"]), [True] * len(message["targets"])
        heard = [(LATE, None)] if "--late" in sys.argv else [(0, None)]
        answer = {"ready": {"lookahead": LATE}}
    elif kind == "run":
        for news in message["news"]:
            assert now - LATE <= news["at"] <= now, (now, news)
            heard.append((news["at"] + LATE, news))
        answer = {}
        while heard and heard[0][0] <= message["until"] and not answer:
            now, news = heard.pop(0)
            if news:
                if "offline" in news:
                    state = "False" if news["offline"] else "True"
                    shown.append({"at": now, "object": f"Cluster/{news['target']}", "condition": "Online", "status": state})
                ready[news["target"]] = news["ready"] and news["applied"] == assigned[news["target"]]
            if not any(a == 2 and not r for a, r in zip(assigned, ready)):
                batch = [at for at, a in enumerate(assigned) if a != 2][:2]
                for at in batch:
                    assigned[at], ready[at] = 2, False
                if batch:
                    answer = {"deploy": [{"target": at, "revision": 2} for at in batch], "passes": 3}
                elif all(ready):
                    shown.append({"at": now, "object": "Rollout/app", "condition": "Complete", "status": "True"})
                    answer = {"completed": 2, "passes": 2}
        now = now if answer else message["until"]
        answer, shown = {**answer, "conditions": shown}, []
        answer = {**answer, "now": now, "next": heard[0][0] if heard else 2**63}
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn a_process_with_its_own_loop_has_the_delay_that_it_declares() {
    let Some(python) = python() else { return };
    let own = format!("{{external: {{command: [{python:?}, own_loop.py], loop: process}}}}");
    let faults = "faults: {offline: {share: 20%, return: 3 min}, pullFailure: 10%}\nstrategies:";
    let own = experiment(&own)
        .replace("strategies:", faults)
        .replace("c-{1..6}", "c-{01..60}");
    // A native scheduler whose passes take no time makes the same decisions as the process, if news is not delayed.
    let native = experiment("{batches: {size: 2}}")
        .replace("strategies:", faults)
        .replace("c-{1..6}", "c-{01..60}")
        + "controller: {request: 0 s, watchDelay: 100 ms}\n";
    let own = folder_with(&[("experiment.yaml", &own), ("own_loop.py", OWN_LOOP)]);
    let native = folder_with(&[("experiment.yaml", &native)]);
    let (found, wanted) = (tables(own.path(), "2"), tables(native.path(), "2"));
    let column = |tables: &[(String, Vec<u8>)], name: &str, columns: &[&str]| -> Vec<Vec<String>> {
        let (_, bytes) = tables
            .iter()
            .find(|(file, _)| file == name)
            .expect("the table was written");
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let header = reader.headers().expect("a header").clone();
        let at: Vec<usize> = columns
            .iter()
            .map(|column| {
                header
                    .iter()
                    .position(|name| name == *column)
                    .unwrap_or_else(|| panic!("{column}"))
            })
            .collect();
        reader
            .records()
            .map(|row| {
                let row = row.expect("a row");
                at.iter().map(|&at| row[at].to_owned()).collect()
            })
            .collect()
    };
    for (name, columns) in [
        (
            "clusters.csv",
            &[
                "cluster",
                "instructed_s",
                "applied_s",
                "first_pull_s",
                "ready_s",
            ][..],
        ),
        (
            "runs.csv",
            &[
                "completion_s",
                "t50_s",
                "outcome",
                "targets_done",
                "peak_pulls",
                "egress_bytes",
            ][..],
        ),
    ] {
        assert_eq!(
            column(&found, name, columns),
            column(&wanted, name, columns),
            "{name}"
        );
    }
    // The process reports completion when the news of the last cluster reaches it, which is also when fleetsim learns
    // of the completion.
    let reported = column(&found, "runs.csv", &["completion_s"]);
    assert_eq!(column(&found, "runs.csv", &["reported_s"]), reported);
    assert!(
        reported.iter().all(|row| !row[0].is_empty()),
        "{reported:?}"
    );
    let mut shown = column(
        &found,
        "statuses.csv",
        &["object", "condition", "status", "reason", "message"],
    );
    let last = shown.pop().expect("a row");
    assert_eq!(
        last,
        ["Rollout/app", "Complete", "True", "", ""].map(str::to_owned),
        "what it shows at its end"
    );
    // The process is notified of every cluster that is offline, and of its return.
    let is_offline = |row: &&Vec<String>| row[0] == "true";
    let offline = column(&found, "clusters.csv", &["offline"])
        .iter()
        .filter(is_offline)
        .count();
    let heard = |status: &str| {
        shown
            .iter()
            .filter(|row| row[1] == "Online" && row[2] == status)
            .count()
    };
    assert!(offline > 3, "{offline}");
    assert_eq!((heard("False"), heard("True")), (offline, offline));
    let at = column(&found, "statuses.csv", &["t_s", "replicate"])
        .pop()
        .expect("a row");
    assert!(
        column(&found, "runs.csv", &["reported_s", "replicate"]).contains(&at),
        "{at:?}"
    );
    let passes_of =
        |tables: &[(String, Vec<u8>)]| column(tables, "passes.csv", &["replicate"])[0][0].clone();
    // All passes that one answer reports are one row.
    let passes = column(&found, "passes.csv", &["t_s", "passes"]);
    let times: std::collections::BTreeSet<&str> =
        passes.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(times.len(), passes.len(), "no two rows have the same time");
    assert_eq!(
        passes.iter().filter(|row| row[1] == "3").count(),
        30,
        "each of 30 batches after 3 passes: {passes:?}"
    );
    let total: u64 = passes
        .iter()
        .map(|row| row[1].parse::<u64>().expect("a count"))
        .sum();
    let counted = vec![total.to_string(), passes_of(&found)];
    assert!(
        column(&found, "runs.csv", &["passes", "replicate"]).contains(&counted),
        "up to the end: {counted:?}"
    );
}

/// Runs an experiment whose process is the given shell script. The program must fail with status 1, and leave nothing
/// behind. Returns the error.
fn failure(script: &str) -> String {
    let strategy = format!("{{external: {{command: [sh, -c, {script:?}], timeout: 2 s}}}}");
    let folder = folder_with(&[("experiment.yaml", &experiment(&strategy))]);
    let mut command = fleetsim(folder.path());
    let output = command
        .args(["run", ".", "--allow-commands", "--out", "out"])
        .assert()
        .code(1)
        .get_output()
        .clone();
    assert!(!folder.path().join("out").exists(), "nothing is written");
    let found = text(&output.stderr);
    assert!(
        found.contains("run: s, replicate ") && found.contains("command: sh -c"),
        "{found}"
    );
    found
}

#[test]
fn a_process_that_breaks_a_rule_ends_its_run_with_the_rule_and_the_fix() {
    let hello = r#"read q; echo '{\"ready\": {}}'; read q; "#.replace("\\\"", "\"");
    let cases = [
        (
            "exit 3".to_owned(),
            "the process must run until `bye`, but it ended with exit status: 3 before it answered `hello`",
        ),
        (
            "echo the reason >&2; exit 3".to_owned(),
            "its last lines on standard error:\n    the reason",
        ),
        (
            "read q; echo hello".to_owned(),
            "an answer must be one JSON object on one line",
        ),
        ("read q; echo hello".to_owned(), "line: hello"),
        (
            "read q; printf '{}'".to_owned(),
            "an answer must end with a newline",
        ),
        (
            "read q; echo '[]'".to_owned(),
            "an answer must be one JSON object on one line",
        ),
        (
            "read q; echo '{}'".to_owned(),
            "the answer to `hello` must have a field `ready`",
        ),
        (
            "read q; sleep 60".to_owned(),
            "`hello` must be answered within 2 s of real time",
        ),
        (
            "read q; echo '{\"error\": {\"message\": \"no such ring\"}}'".to_owned(),
            "the process reports an error: no such ring",
        ),
        (
            hello.clone() + "echo '{\"deploy\": [{\"target\": 6, \"revision\": 2}]}'",
            "a target must be a number from 0 to 5, not 6",
        ),
        (
            hello.clone() + "echo '{\"deploy\": [{\"target\": 0, \"revision\": 3}]}'",
            "a revision must be 0 (to remove) or a published one, 1 to 2, not 3",
        ),
        (
            hello.clone() + "echo '{\"deploy\": [{\"target\": -1, \"revision\": 2}]}'",
            "the answer to `pass` is not valid",
        ),
        (
            hello.clone() + "echo '{\"wake\": 0}'",
            "`wake` must be later than `now`, 0",
        ),
        (
            hello + "echo '{}'; read q; exit",
            "before it answered `hold`",
        ),
    ];
    for (script, wanted) in cases {
        let found = failure(&script);
        assert!(found.contains(wanted), "{script}\n{found}\nlacks: {wanted}");
    }
}

#[test]
fn a_nonexistent_program_is_named_in_the_error() {
    let folder = folder_with(&[(
        "experiment.yaml",
        &experiment("{external: {command: [no-such-program]}}"),
    )]);
    let mut command = fleetsim(folder.path());
    let output = command
        .args(["run", ".", "--allow-commands"])
        .assert()
        .code(1)
        .get_output()
        .clone();
    assert!(
        text(&output.stderr).contains("the program `no-such-program` must exist"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn no_process_is_started_without_permission() {
    let folder = folder_with(&[(
        "experiment.yaml",
        &experiment("{external: {command: [touch, started]}}"),
    )]);
    for command in ["run", "check", "explain", "plan"] {
        let output = fleetsim(folder.path())
            .args([command, "."])
            .output()
            .expect("it runs");
        assert!(
            !folder.path().join("started").exists(),
            "{command} starts nothing"
        );
        if command == "run" {
            let found = text(&output.stderr);
            assert!(
                output.status.code() == Some(2) && found.contains("add --allow-commands"),
                "{found}"
            );
        }
    }
}

#[test]
fn after_a_failed_process_the_other_runs_are_finished_and_saved() {
    // The process of the second replicate dies. When the command is repeated, it simulates only that run.
    let script = "read q; case $q in *'replicate 1'*) test -e mended || exit 9;; esac; echo '{\"ready\": {}}'; read q; \
                  echo '{\"deploy\": [{\"target\": 0, \"revision\": 2}]}'; while read q; do case $q in *hold*) \
                  echo '{\"hold\": {}}';; *bye*) echo '{\"bye\": {}}'; exit;; *) echo '{}';; esac; done";
    let strategy = format!("{{external: {{command: [sh, -c, {script:?}]}}}}");
    let folder = folder_with(&[("experiment.yaml", &experiment(&strategy))]);
    let run = || {
        fleetsim(folder.path())
            .args(["run", ".", "--allow-commands", "--out", "out"])
            .output()
            .expect("it runs")
    };
    let failed = run();
    let found = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{found}");
    assert!(found.contains("1 of 2 finished runs were saved"), "{found}");
    assert!(
        found.contains("run: s, replicate 1") && !found.contains("replicate 0"),
        "{found}"
    );
    std::fs::write(folder.path().join("mended"), "").expect("written");
    let resumed = run();
    let found = text(&resumed.stderr);
    assert!(
        resumed.status.success() && found.contains("resuming an unfinished study with 1 saved run"),
        "{found}"
    );
}

#[test]
fn a_silent_process_is_ended() {
    let folder = folder_with(&[(
        "experiment.yaml",
        &experiment(
            "{external: {command: [sh, -c, 'echo $$ >> pids; exec sleep 600'], timeout: 2 s}}",
        ),
    )]);
    let began = Instant::now();
    fleetsim(folder.path())
        .args(["run", ".", "--allow-commands"])
        .assert()
        .code(1);
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "it does not wait for the process"
    );
    for pid in std::fs::read_to_string(folder.path().join("pids"))
        .expect("it was started")
        .lines()
    {
        assert!(
            !Path::new("/proc").join(pid).exists(),
            "process {pid} was ended"
        );
    }
}

/// A scheduler that stores the first message, and instructs every target immediately.
const HELLO: &str = r#"
import json, sys

for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        open("hello.json", "w").write(line)
        count, answer = len(message["targets"]), {"ready": {}}
    elif kind == "pass":
        answer = {"deploy": [{"target": at, "revision": 2} for at in range(count)] if message["now"] == 0 else []}
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn the_first_message_equals_that_of_the_page() {
    let Some(python) = python() else { return };
    let page =
        std::fs::read_to_string(root().join("docs/external-schedulers.md")).expect("the page");
    let example = blocks(&page)
        .into_iter()
        .find(|block| block.language == "json")
        .expect("an example of hello");
    let wanted: serde_json::Value = serde_json::from_str(&example.text).expect("JSON");
    let fragment = blocks(&page)
        .into_iter()
        .find(|block| block.text.contains("rings.txt"))
        .expect("its experiment");
    let fragment = fragment.text.replace("python3", &format!("{python:?}"));
    let release = "release: {images: [{name: app, manifest: {layers: [{size: 10 MB}]}}], \
                   workloads: [{kind: Deployment, image: app}]}";
    let file = format!("name: x\nreplicates: 1\n{release}\n{fragment}");
    let rings = "lab first\n";
    let folder = folder_with(&[
        ("experiment.yaml", &file),
        ("scheduler.py", HELLO),
        ("rings.txt", rings),
    ]);
    fleetsim(folder.path())
        .args(["run", ".", "--allow-commands", "--out", "out"])
        .assert()
        .success();
    let line = std::fs::read_to_string(folder.path().join("hello.json")).expect("it was sent");
    let sent: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(sent, wanted, "{line}");
}

//! External processes that misbehave: they do not read, do not answer, start children, or never let simulated time
//! advance. The run ends with a message, a signal ends the run within two seconds, and no process is left.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::common::{fleetsim, folder_with, state_home, text};
use super::external_scheduler::{experiment, python};

/// Real time after which the program counts as hanging, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Starts `fleetsim run EXPERIMENT` in the given folder.
fn start(folder: &Path, experiment: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    command.env("XDG_STATE_HOME", state_home());
    command.current_dir(folder).args([
        "run",
        experiment,
        "--allow-commands",
        "--threads",
        "2",
        "--out",
        "out",
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().expect("it is started")
}

/// Returns the exit code and the standard error of a program, which must end within `limit`.
fn ended_within(limit: Duration, mut child: Child) -> (Option<i32>, String) {
    let began = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if began.elapsed() > limit {
            child.kill().expect("killed");
            child.wait().expect("dead");
            panic!("it runs for more than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it has ended");
    (output.status.code(), text(&output.stderr))
}

/// Creates the folder of an experiment whose process is the given shell script.
fn scripted(script: &str, more: &str) -> tempfile::TempDir {
    folder_with(&[(
        "experiment.yaml",
        &experiment(&format!(
            "{{external: {{command: [sh, -c, {script:?}]{more}}}}}"
        )),
    )])
}

/// The output of `fleetsim run` for a Python process that breaks a rule.
fn refused(python: &str, program: &str, more: &str) -> String {
    let strategy = format!("{{external: {{command: [{python:?}, program.py]{more}}}}}");
    let folder = folder_with(&[
        ("experiment.yaml", &experiment(&strategy)),
        ("program.py", program),
    ]);
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(1), "{messages}");
    messages
}

/// Returns the ids that processes have written into the file `pids`, once there are `count` of them.
fn started(folder: &Path, count: usize) -> Vec<u32> {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(folder.join("pids")).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() >= count {
            return pids;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{count} processes are started"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A killed process that has not been waited for is a zombie.
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Asserts that all of the processes end soon.
fn none_is_left(folder: &Path, count: usize, why: &str) {
    let began = Instant::now();
    let pids = started(folder, count);
    while pids.iter().any(|pid| is_running(*pid)) {
        if began.elapsed() > Duration::from_secs(5) {
            let left: Vec<&u32> = pids.iter().filter(|pid| is_running(**pid)).collect();
            for pid in &left {
                let _ = kill_process(
                    Pid::from_raw(pid.cast_signed()).expect("a number"),
                    Signal::KILL,
                );
            }
            panic!("{why}: {left:?} of {pids:?} are left");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A script that never answers, and whose children end only on SIGKILL; one of them is in its own session.
const FORKS: &str = "setsid sh -c 'echo $$ >> pids; while :; do sleep 60; done' & \
                     (trap '' HUP INT TERM; echo $(sh -c 'echo $PPID') >> pids; while :; do sleep 60; done) & \
                     echo $$ >> pids; while :; do sleep 60; done";

#[test]
fn a_process_that_never_reads_a_long_message_is_ended_at_its_timeout() {
    let folder = scripted("exec sleep 600", ", timeout: 1 s");
    let file = folder.path().join("experiment.yaml");
    let text = fs::read_to_string(&file)
        .expect("readable")
        .replace("c-{1..6}", "c-{1..20000}");
    fs::write(&file, text).expect("written");
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("`hello` must be read and answered within 1 s of real time"),
        "{messages}"
    );
}

#[test]
fn a_message_must_be_read_before_it_is_answered() {
    let Some(python) = python() else { return };
    let answers = "import sys\nsys.stdout.write('{\"ready\": {}}\\n' + '{}\\n' * 9)\nsys.stdout.flush()\n\
                   import time\ntime.sleep(600)\n";
    let strategy = format!("{{external: {{command: [{python:?}, program.py], timeout: 2 s}}}}");
    let text = experiment(&strategy).replace("c-{1..6}", "c-{1..20000}");
    let folder = folder_with(&[("experiment.yaml", &text), ("program.py", answers)]);
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("`hello` must be read before it is answered"),
        "{messages}"
    );
}

#[test]
fn a_signal_ends_the_run_within_two_seconds_and_leaves_no_process() {
    let answering = "echo $$ >> pids; read q; echo '{\"ready\": {}}'; t=0; \
                     while read q; do t=$((t + 20000000)); echo \"{\\\"wake\\\": $t}\"; done";
    for (script, processes) in [
        (FORKS, 3),
        ("echo $$ >> pids; exec sleep 600", 1),
        (answering, 1),
    ] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let folder = scripted(script, "");
            let child = start(folder.path(), ".");
            started(folder.path(), processes);
            kill_process(Pid::from_child(&child), signal).expect("it runs");
            let (code, messages) = ended_within(Duration::from_secs(2), child);
            assert_eq!(code, Some(130), "{script} {signal:?}\n{messages}");
            assert!(messages.contains("interrupted"), "{messages}");
            none_is_left(folder.path(), processes, script);
        }
    }
}

#[test]
fn children_of_a_process_end_when_the_program_is_killed() {
    let folder = scripted(FORKS, "");
    let mut child = start(folder.path(), ".");
    started(folder.path(), 3);
    child.kill().expect("it runs");
    child.wait().expect("dead");
    none_is_left(folder.path(), 3, "SIGKILL");
}

#[test]
fn children_of_a_process_end_with_its_run() {
    let good = "(trap '' HUP INT TERM; echo $(sh -c 'echo $PPID') >> pids; while :; do sleep 60; done) & \
                read q; echo '{\"ready\": {}}'; read q; echo '{\"deploy\": [{\"target\": 0, \"revision\": 2}]}'; \
                while read q; do case $q in *hold*) echo '{\"hold\": {}}';; *bye*) echo '{\"bye\": {}}'; exit;; \
                *) echo '{}';; esac; done";
    let stops = "echo $$ >> pids; kill -s STOP 0";
    for (script, code) in [(good, 0), (FORKS, 1), (stops, 1)] {
        let folder = scripted(script, ", timeout: 5 s");
        let (found, messages) = ended_within(PATIENCE, start(folder.path(), "."));
        assert_eq!(found, Some(code), "{script}\n{messages}");
        none_is_left(folder.path(), 1, script);
    }
}

/// The beginning of a Python program that answers `hello` as expected, and everything else with `ANSWER`.
fn answering(ready: &str, answer: &str) -> String {
    format!(
        "import json, sys\n\
         for line in sys.stdin:\n    \
             [(kind, message)] = json.loads(line).items()\n    \
             answer = {{'ready': {ready}}} if kind == 'hello' else {{kind: {{}}}} if kind in ('hold', 'bye') else {answer}\n    \
             print(json.dumps(answer), flush=True)\n"
    )
}

#[test]
fn a_process_must_let_simulated_time_advance() {
    let Some(python) = python() else { return };
    let message = refused(
        &python,
        &answering("{}", "{'wake': message['now'] + 1}"),
        "",
    );
    // The limit is 10,000 answers, and one for each of six targets.
    let wanted = "time must advance: 10006 consecutive answers without news took ";
    assert!(message.contains(wanted), "{message}");
    for ends in [
        "'completed': 2",
        "'approvals': [{'stage': 'a', 'when': 'after'}]",
        "'deploy': [{'target': 0, 'revision': 2}]",
    ] {
        let answer =
            format!("{{'now': min(message['until'], globals().setdefault('n', 0)), {ends}}}");
        let message = refused(
            &python,
            &answering("{'lookahead': 5}", &answer),
            ", loop: process",
        );
        assert!(message.contains(wanted), "{ends}: {message}");
    }
}

#[test]
fn a_scheduler_may_wake_up_any_number_of_times_while_time_advances() {
    let Some(python) = python() else { return };
    // The process asks to be called every 20 ms for 10 min, which makes 30,000 passes without news.
    let answer = "{'wake': message['now'] + 20_000_000} if message['now'] < 600_000_000_000 else \
                  {'deploy': [{'target': at, 'revision': 2} for at in range(6)] if message['now'] < 600_010_000_000 else []}";
    let strategy = format!("{{external: {{command: [{python:?}, program.py]}}}}");
    let folder = folder_with(&[
        ("experiment.yaml", &experiment(&strategy)),
        ("program.py", &answering("{}", answer)),
    ]);
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(0), "{messages}");
}

#[test]
fn the_size_of_an_answer_is_limited() {
    let folder = scripted("head -c 150000000 /dev/zero | tr '\\0' x", "");
    let file = folder.path().join("experiment.yaml");
    let text = fs::read_to_string(&file)
        .expect("readable")
        .replace("replicates: 2", "replicates: 1");
    fs::write(&file, text).expect("written");
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.contains("an answer must be shorter than 134217728 bytes"),
        "{messages}"
    );
}

#[test]
fn a_program_next_to_an_experiment_is_found_from_any_folder() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder_with(&[]);
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "mine/experiment.yaml",
        &experiment("{external: {command: [./prog]}}"),
    );
    write(
        "mine/prog",
        "#!/bin/sh\necho '{\"error\": {\"message\": \"here I am\"}}'\n",
    );
    fs::set_permissions(
        folder.path().join("mine/prog"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("own file");
    for (at, experiment) in [
        ("", "mine"),
        ("", "mine/experiment.yaml"),
        ("mine", "."),
        ("mine", "experiment.yaml"),
    ] {
        let output = fleetsim(&folder.path().join(at))
            .args(["run", experiment, "--allow-commands"])
            .output();
        let messages = text(&output.expect("it runs").stderr);
        assert!(
            messages.contains("the process reports an error: here I am"),
            "{at} {experiment}: {messages}"
        );
    }
}

/// The first row of a table in the results of a process with its own loop, by column.
fn row_of(python: &str, fleet: &str, program: &str) -> std::collections::BTreeMap<String, String> {
    let strategy = format!("{{external: {{command: [{python:?}, program.py], loop: process}}}}");
    let text = experiment(&strategy)
        .replace("[{name: 'c-{1..6}', nodes: 1}]", fleet)
        .replace("replicates: 2", "replicates: 1");
    let folder = folder_with(&[("experiment.yaml", &text), ("program.py", program)]);
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(0), "{messages}");
    let mut reader = csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("the table");
    reader.deserialize().next().expect("a row").expect("text")
}

/// A process with its own loop: it instructs all targets immediately, instructs each target once more when the target
/// is ready, and reports completion some time after the last target is ready; with `EARLY`, it reports completion at
/// the start.
const OWN_LOOP: &str = r#"
import json, sys

SECOND = 1_000_000_000
now, done, due, held = 0, set(), None, {}
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        targets, answer = message["targets"], {"ready": {}}
        mine = [at for at, target in enumerate(targets) if not target.get("paused") and target.get("registered", True)]
        skipped = len(targets) - len(mine)
        todo = [{"target": at, "revision": 2} for at in range(len(targets)) if at in mine or ALL]
    elif kind == "run":
        again = []
        for news in message["news"]:
            if news.get("ready") and news["applied"] == 2 and news["target"] not in done:
                done.add(news["target"])
                again.append({"target": news["target"], "revision": 2})
        if len(done) == len(mine) and due is None:
            due = now + 5 * SECOND
        answer = {}
        if todo:
            answer, todo = {"deploy": todo, "passes": 1}, []
            if EARLY:
                answer["completed"] = 2
        elif again and AGAIN:
            answer = {"deploy": again, "passes": 1}
        elif due and due <= message["until"] and not EARLY:
            now, due, answer = due, 2**63, {"completed": 2, "passes": 1}
        now = now if answer else message["until"]
        answer["now"] = now
    else:
        answer = {kind: {"rule": "pausedClusters", "explanation": f"{skipped} are left out"} if kind == "hold" else {}}
    print(json.dumps(answer), flush=True)
"#;

fn own_loop(settings: &str) -> String {
    format!("EARLY, AGAIN, ALL = {settings}\n{OWN_LOOP}")
}

#[test]
fn a_process_reports_completion_but_not_before_the_last_target_is_ready() {
    let Some(python) = python() else { return };
    let fleet = "[{name: 'c-{1..6}', nodes: 1}]";
    let seconds = |row: &std::collections::BTreeMap<String, String>, column: &str| {
        row[column].parse::<f64>().expect(column)
    };
    for (settings, late) in [
        ("False, False, False", 5.0),
        ("False, True, False", 5.0),
        ("True, False, False", 0.0),
    ] {
        let row = row_of(&python, fleet, &own_loop(settings));
        let found = seconds(&row, "reported_s") - seconds(&row, "completion_s");
        assert!((found - late).abs() < 1e-6, "{settings}: {row:?}");
        assert_eq!(row["promotions"], "6", "each target counts once: {row:?}");
    }
}

#[test]
fn a_process_learns_its_unreachable_targets_and_reports_its_hold() {
    let Some(python) = python() else { return };
    let fleet = "[{name: 'c-{1..6}', nodes: 1}, {name: away, registered: false}, {name: frozen, paused: true}]";
    for settings in ["False, False, False", "False, False, True"] {
        let row = row_of(&python, fleet, &own_loop(settings));
        assert_eq!(
            (&*row["held_by"], &*row["held_detail"]),
            ("pausedClusters", "2 are left out"),
            "{row:?}"
        );
        assert_eq!(
            (&*row["targets_done"], &*row["promotions"]),
            ("6", "6"),
            "{row:?}"
        );
    }
}

#[test]
fn a_long_name_of_a_rule_is_shortened() {
    // The explanation has 100 kB, which would be unreadable in a table.
    let script = "read q; echo '{\"ready\": {}}'; while read q; do case $q in *hold*) \
                  echo \"{\\\"hold\\\": {\\\"rule\\\": \\\"$(head -c 100000 /dev/zero | tr '\\0' x)\\\"}}\";; \
                  *bye*) echo '{\"bye\": {}}'; exit;; *) echo '{}';; esac; done";
    let folder = scripted(script, "");
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(0), "{messages}");
    let mut reader = csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("the table");
    let rows: Vec<std::collections::BTreeMap<String, String>> = reader
        .deserialize()
        .collect::<csv::Result<_>>()
        .expect("text");
    assert_eq!(rows[0]["held_by"], "x".repeat(1_000) + "…");
}

/// A process with its own loop that keeps two clusters in flight. Eight seconds after a cluster is ready, by its own
/// timer, it instructs the next one.
const WITH_A_TIMER: &str = r#"
import json, sys

PAUSE, NEVER = 8_000_000_000, 2**63
SAYS_NEXT = "--silent" not in sys.argv
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        count, given, now, ready, timers = len(message["targets"]), 0, 0, set(), [0, 0]
        answer = {"ready": {"lookahead": 1_000_000}}
    elif kind == "run":
        for news in message["news"]:
            if news.get("ready") and news.get("applied") == 2 and news["target"] not in ready:
                ready.add(news["target"])
                timers.append(now + PAUSE)
        timers.sort()
        answer = {}
        if given < count and timers and timers[0] <= message["until"]:
            now = max(now, timers.pop(0))
            answer["deploy"] = [{"target": given, "revision": 2}]
            given += 1
        else:
            now = message["until"]
        answer["now"] = now
        if SAYS_NEXT:
            answer["next"] = max(now, timers[0]) if timers and given < count else NEVER
    elif kind == "hold":
        answer = {"hold": {"rule": "two", "explanation": f"{given} of {count} instructed, {len(ready)} ready"}}
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;

/// The rows of `runs.csv` of an experiment with the process [`WITH_A_TIMER`]: outcome and explanation.
fn runs_with_a_timer(arguments: &str) -> Vec<(String, String)> {
    let python = python().expect("checked by the caller");
    let strategy =
        format!("{{external: {{command: [{python:?}, timer.py{arguments}], loop: process}}}}");
    let text = experiment(&strategy)
        .replace("c-{1..6}", "c-{01..12}")
        .replace(
            "strategies:",
            "faults: {defect: {share: 15%, kind: crashes}}\nhorizon: 2h\nstrategies:",
        )
        .replace("replicates: 2", "replicates: 6")
        .replace("image: app}]", "image: app, readiness: {period: 5 s}}]");
    let folder = folder_with(&[("experiment.yaml", &text), ("timer.py", WITH_A_TIMER)]);
    let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
    assert_eq!(code, Some(0), "{messages}");
    let mut table = csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("the table");
    let names = table.headers().expect("a heading").clone();
    let column = |name: &str| names.iter().position(|column| column == name);
    let (outcome, detail) = (
        column("outcome").expect("a column"),
        column("held_detail").expect("a column"),
    );
    table
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| (row[outcome].to_owned(), row[detail].to_owned()))
        .collect()
}

#[test]
fn a_process_with_a_timer_runs_to_its_end_despite_crashing_clusters() {
    if python().is_none() {
        return;
    }
    // The result does not depend on whether the process announces its next action or is polled until the end.
    for arguments in ["", ", --silent"] {
        let runs = runs_with_a_timer(arguments);
        let mut stalled = 0;
        for (outcome, detail) in &runs {
            let numbers: Vec<u32> = detail
                .split(|letter: char| !letter.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            if let [given, count, ready] = numbers[..] {
                stalled += 1;
                assert_eq!(outcome, "stalled");
                // Two crashed clusters occupy both slots, or all clusters were instructed.
                assert!(given == count || given - ready == 2, "{detail}");
            } else {
                assert_eq!((outcome.as_str(), detail.as_str()), ("complete", ""));
            }
        }
        assert!(stalled > 1, "some clusters crash: {runs:?}");
    }
}

#[test]
fn a_process_with_a_delayed_view_completes_when_it_observes_its_last_target() {
    let Some(python) = python() else { return };
    // The process instructs all targets, and its product sees each of them a minute after it is ready.
    let program = r#"
import json, sys

for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        assert message["seen"] is True
        count, now, due = len(message["targets"]), 0, []
        answer = {"ready": {"sees": "--sees" in sys.argv}}
    elif kind == "run":
        for news in message["news"]:
            if news.get("ready") and news.get("applied") == 2:
                due.append((now + 60_000_000_000, news["target"]))
        due.sort()
        if count:
            answer, count = {"now": now, "deploy": [{"target": at, "revision": 2} for at in range(count)]}, 0
        elif due and due[0][0] <= message["until"] and "--sees" in sys.argv:
            now, target = due.pop(0)
            answer = {"now": now, "seen": [{"target": target, "revision": 2, "ready": True}]}
        else:
            now = message["until"]
            answer = {"now": now}
    else:
        answer = {kind: {}}
    print(json.dumps(answer), flush=True)
"#;
    let completion = |arguments: &str| {
        let strategy =
            format!("{{external: {{command: [{python:?}, late.py{arguments}], loop: process}}}}");
        let folder = folder_with(&[
            ("experiment.yaml", &experiment(&strategy)),
            ("late.py", program),
        ]);
        let (code, messages) = ended_within(PATIENCE, start(folder.path(), "."));
        assert_eq!(code, Some(0), "{messages}");
        let mut table =
            csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("the table");
        let names = table.headers().expect("a heading").clone();
        let column = names.iter().position(|column| column == "completion_s");
        let row = table.records().next().expect("a run").expect("a row");
        row[column.expect("a column")]
            .parse::<f64>()
            .expect("it completes")
    };
    let difference = completion(", --sees") - completion("");
    assert!((difference - 60.0).abs() < 1e-6, "{difference}");
}

//! Watched exports, and the same forecast on any number of threads.

use std::path::Path;

use super::exporter::Exported;
use super::{cut, cut_folder, experiment, inputs, printed, truth};

#[test]
fn the_forecast_does_not_depend_on_the_number_of_threads() {
    let folder = cut_folder(Exported::KubeFleet);
    let arguments = [
        "experiment.yaml",
        "status.json",
        "--draws",
        "19",
        "--threads",
    ];
    let (one, code) = printed(folder.path(), &[&arguments[..], &["1"]].concat());
    assert_eq!(code, 0, "{one}");
    let (three, _) = printed(folder.path(), &[&arguments[..], &["3"]].concat());
    assert_eq!(one, three);
    for part in [
        "Done at 15:",
        " UTC (90%: 15:",
        "8 of 24 member clusters ready",
        "Load to come: ",
        "Based on ",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    let (json, _) = printed(folder.path(), &[&arguments[..], &["1", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&json["schema_version"], &json["seen"]["ready"]),
        (&1.into(), &8.into()),
        "{json}"
    );
}

/// The file is rewritten while the program watches it, first with a truncated text.
#[cfg(unix)]
#[test]
fn a_watched_export_is_read_when_it_changes_and_ctrl_c_ends_the_program() {
    let (folder, varied) = experiment(Exported::Fleet);
    let run = truth(&varied, 3);
    inputs(folder.path(), Exported::Fleet, &run, cut(&run, 0.3), 19);
    let arguments = [
        "forecast",
        "experiment.yaml",
        "status.json",
        "--draws",
        "19",
        "--watch",
    ];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    let command = command.current_dir(folder.path()).args(arguments);
    let (shown, errors) = (folder.path().join("shown"), folder.path().join("errors"));
    let file = |path: &Path| std::fs::File::create(path).expect("created");
    let mut child = command
        .stdout(file(&shown))
        .stderr(file(&errors))
        .spawn()
        .expect("it starts");
    let wait_for = |path: &Path, part: &str| {
        for _ in 0..600 {
            if std::fs::read_to_string(path).is_ok_and(|text| text.contains(part)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let found = [&shown, &errors].map(std::fs::read_to_string);
        panic!("no `{part}` within a minute: {found:?}");
    };
    wait_for(&shown, "Load to come: ");
    let now = cut(&run, 0.6);
    let (_, whole) = Exported::Fleet.export(&run, now).remove(1);
    let ready = run
        .clusters
        .iter()
        .filter(|row| row.ready_s.is_some_and(|ready| ready <= now))
        .count();
    std::fs::write(folder.path().join("status.json"), &whole[..200]).expect("written");
    wait_for(&errors, "the JSON ends too early");
    std::fs::write(folder.path().join("status.json"), &whole).expect("written");
    wait_for(&shown, &format!("{ready} of 24 clusters ready"));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("sent");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[cfg(unix)]
#[test]
fn a_watch_ends_when_its_output_is_closed() {
    let (folder, varied) = experiment(Exported::Fleet);
    let run = truth(&varied, 3);
    inputs(folder.path(), Exported::Fleet, &run, cut(&run, 0.3), 19);
    let arguments = [
        "forecast",
        "experiment.yaml",
        "status.json",
        "--draws",
        "19",
        "--watch",
    ];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fleetsim"));
    let command = command
        .current_dir(folder.path())
        .args(arguments)
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut shown = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut shown, &mut String::new()).expect("a line");
    drop(shown);
    for _ in 0..600 {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            return assert_eq!(status.code(), Some(0));
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().expect("killed");
    panic!("it goes on");
}

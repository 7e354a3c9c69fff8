//! Helpers that the modules share: experiments in temporary folders, runs, and the program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::Command;
use fleetsim::results::{ClusterRow, RunRecord};
use fleetsim::scenario::{Experiment, Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

/// The root of this repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A temporary folder with these files: name and text.
pub(crate) fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

/// The experiment in a folder or file, which must be valid.
pub(crate) fn loaded(path: &Path) -> Experiment {
    load(path, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The first run of the first variant of an experiment that consists of these files.
pub(crate) fn first_run(files: &[(&str, &str)]) -> RunRecord {
    let experiment = loaded(folder_with(files).path());
    sim::run(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process")
}

/// Maximum number of these clusters that are updating at the same time: notified and not yet ready.
pub(crate) fn peak_in_flight<'r>(clusters: impl IntoIterator<Item = &'r ClusterRow>) -> usize {
    let mut changes: Vec<(f64, i32)> = Vec::new();
    for cluster in clusters {
        changes.extend(cluster.told_s.map(|at| (at, 1)));
        changes.extend(cluster.ready_s.map(|at| (at, -1)));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let sums = changes.iter().scan(0, |now, (_, change)| {
        *now += change;
        Some(*now)
    });
    usize::try_from(sums.max().unwrap_or(0)).expect("a cluster is notified before it is ready")
}

/// The program, called in `folder`.
pub(crate) fn fleetsim(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("fleetsim").expect("the program is built");
    command.current_dir(folder);
    command
}

/// Every file below a folder with its bytes, sorted by its path there.
pub(crate) fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").display().to_string();
                found.push((name, fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

/// What the program printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints text")
}

/// Says why a test did not run, straight to the terminal: the test harness would suppress it.
pub(crate) fn not_tested(reason: &str) {
    writeln!(std::io::stderr(), "not tested: {reason}").expect("stderr is open");
}

/// A Python with the packages of a file with requirements: the one that `FLEETSIM_PYTHON` names, else one in
/// `target/python`, else `python3`. Without, it says so, or fails where `CI` or `UPDATE_DOCS` is set.
pub(crate) fn python_with(requirements: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(root().join(requirements)).expect("readable");
    let wanted: Vec<&str> = text.split_whitespace().collect();
    let candidates = match std::env::var_os("FLEETSIM_PYTHON") {
        Some(named) => vec![PathBuf::from(named)],
        None => vec![root().join("target/python/bin/python"), PathBuf::from("python3")],
    };
    let found = candidates.iter().find(|python| has_packages(python, &wanted)).cloned();
    if found.is_none() {
        let fix = format!(
            "{candidates:?}: none has {}; make one with\n  python3 -m venv target/python && \
             target/python/bin/pip install -r {requirements}",
            wanted.join(", ")
        );
        let must = std::env::var_os("CI").is_some() || std::env::var_os("UPDATE_DOCS").is_some();
        assert!(!must, "{fix}");
        not_tested(&fix);
    }
    found
}

/// Whether a Python has these packages, `name==version`.
fn has_packages(python: &Path, wanted: &[&str]) -> bool {
    let check = "import importlib.metadata as m, sys\n\
        sys.exit(any(m.version(r.split('==')[0]) != r.split('==')[1] for r in sys.argv[1:]))";
    let mut command = std::process::Command::new(python);
    command.arg("-c").arg(check).args(wanted).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

//! Helpers shared by the modules: experiments in temporary folders, runs, and the program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;
use fleetsim::results::{ClusterRow, RunRecord, sha256};
use fleetsim::scenario::{Experiment, Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

/// The root of this repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders in a folder, sorted.
pub(crate) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    folders
}

/// The folders of all experiments, also of those that are together in one folder.
pub(crate) fn experiment_folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders_in(&root().join("experiments")) {
        let mut candidates = folders_in(&folder);
        candidates.push(folder);
        candidates.retain(|path| path.join("experiment.yaml").exists());
        found.append(&mut candidates);
    }
    assert!(!found.is_empty(), "there are experiments");
    found
}

/// Creates a temporary folder with the given files: name and text.
pub(crate) fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

/// An experiment with one small release to two clusters `ring: canary` and ten `ring: rest`, with `strategies` and
/// other sections of the file.
pub(crate) fn canaries_and_stores(replicates: u32, strategies: &str, others: &str) -> String {
    format!(
        "
name: x
replicates: {replicates}
fleet:
  - {{name: 'canary-{{1..2}}', labels: {{ring: canary}}, nodes: 1}}
  - {{name: 'store-{{01..10}}', labels: {{ring: rest}}, nodes: 1}}
release:
  images: [{{name: app, manifest: {{layers: [{{size: 10 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies: {strategies}
{others}
"
    )
}

/// Loads the experiment in a folder or file, which must be valid.
pub(crate) fn loaded(path: &Path) -> Experiment {
    load(path, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The first run of the first variant of an experiment that consists of the given files.
pub(crate) fn first_run(files: &[(&str, &str)]) -> RunRecord {
    let experiment = loaded(folder_with(files).path());
    sim::run(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process")
}

/// Maximum number of the given clusters that are updating at the same time: instructed and not yet ready.
pub(crate) fn peak_in_flight<'r>(clusters: impl IntoIterator<Item = &'r ClusterRow>) -> usize {
    let mut changes: Vec<(f64, i32)> = Vec::new();
    for cluster in clusters {
        changes.extend(cluster.instructed_s.map(|at| (at, 1)));
        changes.extend(cluster.ready_s.map(|at| (at, -1)));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let sums = changes.iter().scan(0, |now, (_, change)| {
        *now += change;
        Some(*now)
    });
    usize::try_from(sums.max().unwrap_or(0)).expect("a cluster is notified before it is ready")
}

/// The state folder of the program under test, which is never the user's own.
pub(crate) fn state_home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("state")
}

/// The journal of a study whose results go to `out`, which need not exist.
pub(crate) fn journal_of(out: &Path) -> PathBuf {
    let parent = out.parent().expect("a folder above");
    let place = parent
        .canonicalize()
        .expect("it exists")
        .join(out.file_name().expect("a name"));
    let name = sha256(place.as_os_str().as_encoded_bytes());
    state_home().join("fleetsim").join(format!("{name}.runs"))
}

/// A command that calls the program in `folder`.
pub(crate) fn fleetsim(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("fleetsim").expect("the program is built");
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", state_home());
    command
}

/// Returns whether git is installed. Without it a test is skipped, but not in CI.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn has_git() -> bool {
    let is_there = Process::new("git").arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "git must be there in CI");
        eprintln!("skipped: no git");
    }
    is_there
}

/// The output of git in a folder, with an author for commits.
#[track_caller]
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let settings = [
        "user.name=x",
        "user.email=x@example.com",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    ];
    let done = Process::new("git")
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git");
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        text(&done.stderr)
    );
    text(&done.stdout).trim().to_owned()
}

/// Every file below a folder with its bytes, sorted by relative path.
pub(crate) fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .expect("below")
                    .display()
                    .to_string();
                found.push((name, fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

/// The output of a program as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints text")
}

/// A fenced block of a page: its language, its first line, and its text.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// All fenced blocks of a page.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in page.lines().enumerate() {
        open = match (open, text.strip_prefix("```")) {
            (None, Some(language)) => Some(Block {
                language: language.to_owned(),
                line,
                text: String::new(),
            }),
            (None, None) => None,
            (Some(block), Some("")) => {
                found.push(block);
                None
            }
            (Some(block), _) => Some(Block {
                text: block.text + text + "\n",
                ..block
            }),
        };
    }
    assert!(open.is_none(), "the last block of a page is closed");
    found
}

/// The command in a line of a block: in `console`, the text after the prompt; in `sh` or `bash`, every line that has a
/// word.
pub(crate) fn command<'l>(language: &str, line: &'l str) -> Option<&'l str> {
    match language {
        "console" => line.strip_prefix("$ "),
        "sh" | "bash" => {
            Some(line).filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        }
        _ => None,
    }
}

/// The page with the current output of the commands in its `console` blocks, and the number of commands that ran.
/// `run` gets the language of the block and the command, and returns its output, or `None` if the command is not run
/// here.
pub(crate) fn with_outputs(
    page: &str,
    mut run: impl FnMut(&str, &str) -> Option<String>,
) -> (String, usize) {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let mut commands = 0;
    // The outputs are replaced from the last to the first, so that earlier lines keep their numbers; the commands run
    // in their order.
    let mut renewed: Vec<(std::ops::Range<usize>, Vec<String>)> = Vec::new();
    for Block {
        language,
        line,
        text,
    } in blocks(page)
    {
        let (mut now, mut is_shown) = (Vec::new(), true);
        for written in text.lines() {
            let Some(command) = command(&language, written) else {
                now.extend(Some(written.to_owned()).filter(|_| !is_shown || language != "console"));
                continue;
            };
            now.push(written.to_owned());
            let printed = run(&language, command);
            is_shown = printed.is_some();
            commands += usize::from(is_shown);
            if language == "console" {
                now.extend(
                    printed
                        .iter()
                        .flat_map(|printed| printed.lines().map(str::to_owned)),
                );
            }
        }
        renewed.push((line + 1..line + 1 + text.lines().count(), now));
    }
    for (range, now) in renewed.into_iter().rev() {
        lines.splice(range, now);
    }
    (lines.join("\n") + "\n", commands)
}

/// Reports why a test did not run, directly to the terminal, because the test harness would suppress it.
pub(crate) fn not_tested(reason: &str) {
    writeln!(std::io::stderr(), "not tested: {reason}").expect("stderr is open");
}

/// A Python with the packages of a requirements file: the one named by `FLEETSIM_PYTHON`, otherwise one in
/// `target/python`, otherwise `python3`. Without it, reports that, or fails if `CI` or `UPDATE_DOCS` is set.
pub(crate) fn python_with(requirements: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(root().join(requirements)).expect("readable");
    let wanted: Vec<&str> = text.split_whitespace().collect();
    let candidates = match std::env::var_os("FLEETSIM_PYTHON") {
        Some(named) => vec![PathBuf::from(named)],
        None => vec![
            root().join("target/python/bin/python"),
            PathBuf::from("python3"),
        ],
    };
    let found = candidates
        .iter()
        .find(|python| has_packages(python, &wanted))
        .cloned();
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

/// Returns whether a Python has the given packages, written as `name==version`.
fn has_packages(python: &Path, wanted: &[&str]) -> bool {
    let check = "import importlib.metadata as m, sys\n\
        sys.exit(any(m.version(r.split('==')[0]) != r.split('==')[1] for r in sys.argv[1:]))";
    let mut command = std::process::Command::new(python);
    command
        .arg("-c")
        .arg(check)
        .args(wanted)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

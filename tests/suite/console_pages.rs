//! The commands in the `console` blocks of pages run in order in one folder, and print the output that the pages show.
//!
//! `UPDATE_DOCS=1 cargo test --test suite console_pages` writes their current output into the pages. Output on stderr
//! (progress and notes) is not shown. The commands of all other pages are run by other tests, or are listed with the
//! reason why no test runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use super::common::{blocks, folder_with, root, text, with_outputs};

/// The pages in reading order; later pages use the folders that earlier ones made.
const PAGES: [&str; 3] = [
    "docs/first-hour.md",
    "docs/how-do-i.md",
    "docs/scale-out.md",
];

/// Returns the output of a command on stdout. The command must succeed.
fn printed(command: &str, folder: &Path) -> String {
    let binary = cargo_bin("fleetsim");
    let programs = binary
        .parent()
        .expect("the binary lies in a folder")
        .display()
        .to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{programs}:{path}"));
    let output = shell.output().expect("a shell");
    assert!(
        output.status.success(),
        "{command}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn the_commands_of_the_pages_print_the_output_that_the_pages_show() {
    let home = tempfile::tempdir().expect("a temporary folder");
    for page in PAGES {
        let path = root().join(page);
        let written = fs::read_to_string(&path).expect("the page");
        let run = |language: &str, command: &str| {
            (language == "console").then(|| printed(command, home.path()))
        };
        let (now, commands) = with_outputs(&written, run);
        assert!(commands > 3, "{page} has commands");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, now).expect("written");
        } else {
            assert!(
                now == written,
                "{page} shows other outputs; UPDATE_DOCS=1 writes them anew. Now:\n{now}"
            );
        }
    }
}

/// Pages whose own tests run their commands: the page, the language of the block, and the beginning of the commands.
const OWN_TESTS: [(&str, &str, &str); 8] = [
    ("docs/plan.md", "console", "fleetsim plan "),
    ("docs/forecast.md", "console", "fleetsim forecast "),
    ("docs/scale-out.md", "console", ""),
    ("docs/first-hour.md", "console", ""),
    ("docs/how-do-i.md", "console", ""),
    ("docs/calibrate.md", "console", "fleetsim "),
    ("docs/calibrate.md", "sh", "fleetsim "),
    ("docs/import.md", "sh", "fleetsim "),
];

/// Beginnings of commands that no test runs as written, with the reasons.
const NOT_RUN: &[(&str, &str)] = &[
    (
        "cargo ",
        "builds the program; `committed_results` computes the results that these commands make",
    ),
    (
        "FORECAST_EVIDENCE=1 cargo ",
        "takes an hour; `forecast::evidence` runs the quick form",
    ),
    (
        "python3 -m venv ",
        "needs the network; `analysis_page` runs the page's cells",
    ),
    (
        ".venv/bin/pip ",
        "needs the network; `analysis_page` runs the page's cells",
    ),
    (
        "fleetsim run experiments/03-documented-or-shipped --replicates 3 --series",
        "a feature; `analysis_page` runs it",
    ),
    (
        "sweep/bin/python scale-out/sweep.py",
        "needs the network; the tests of `scale-out` run the driver",
    ),
    (
        "maturin ",
        "builds for minutes and needs the network; `python/check` builds and tests the wheel",
    ),
    (
        "pip install ",
        "needs the network; `python/check` installs the wheel",
    ),
    (
        "uvx ",
        "needs the network; `python/check` runs the wheel's command",
    ),
    (
        "pipx ",
        "needs the network; `python/check` runs the wheel's command",
    ),
    ("kubectl ", "needs a cluster"),
    ("curl ", "needs a Prometheus"),
    (
        "fleetsim run examples/external-scheduler",
        "needs Python; `external_scheduler` runs it",
    ),
    ("controllers/build", "needs Go"),
    ("apt-get ", "installs packages"),
    (
        "lab/run ",
        "needs root, a registry and containerd; `.ci/run` emulates one set-up where it may",
    ),
    (
        "fleetsim run my-experiment --allow-commands",
        "needs the built controllers; `upstream_controllers` runs them",
    ),
    (
        "fleetsim explore ",
        "waits for readers, or needs the built simulator; `explore` runs both",
    ),
    (
        "fleetsim sensitivity ",
        "takes minutes in a test's build; `sensitivity` runs smaller ones",
    ),
    ("fleetsim init my-rollout ", "asks; `init` answers"),
    (
        "fleetsim run my-rollout ",
        "needs the answers to `init`, which `init` gives",
    ),
    (
        "fleetsim compare ",
        "needs two versions; the tests of `compare` run it",
    ),
    (
        "fleetsim forecast my-rollout.yaml",
        "needs an export; the tests of `forecast` run it",
    ),
    (
        "fleetsim plan my-rollout ",
        "takes minutes in a test's build; `plan` runs smaller ones",
    ),
];

/// The folder in which the other commands run, with the experiments and the experiment of the front page.
fn workspace() -> tempfile::TempDir {
    let readme = fs::read_to_string(root().join("README.md")).expect("the page");
    let page = blocks(&readme)
        .into_iter()
        .find(|block| block.text.starts_with("name: my-rollout"))
        .expect("it is there");
    let folder = folder_with(&[("my-rollout.yaml", &page.text)]);
    for name in ["shop-v1.json", "shop-v2.json", "fleet.yaml"] {
        let from = root().join("experiments/01-max-unavailable").join(name);
        fs::copy(from, folder.path().join(name)).expect("copied");
    }
    std::os::unix::fs::symlink(
        root().join("experiments"),
        folder.path().join("experiments"),
    )
    .expect("linked");
    folder
}

#[cfg(unix)]
#[test]
fn every_command_of_the_manual_is_run_or_has_a_reason_why_not() {
    let folder = workspace();
    let mut reasons: Vec<bool> = vec![false; NOT_RUN.len()];
    let mut ran = 0;
    for (page, text) in super::pages::pages()
        .into_iter()
        .filter(|(page, _)| page == "README.md" || page.starts_with("docs/"))
    {
        with_outputs(&text, |language, command| {
            let has_test = |(own, of, start): &(&str, &str, &str)| {
                *own == page && *of == language && command.starts_with(start)
            };
            if OWN_TESTS.iter().any(has_test) {
                return None;
            }
            match NOT_RUN
                .iter()
                .position(|(start, _)| command.starts_with(start))
            {
                Some(reason) => reasons[reason] = true,
                None => {
                    printed(command, folder.path());
                    ran += 1;
                }
            }
            None
        });
    }
    assert!(ran >= 3, "{ran} commands ran");
    let unused: Vec<&str> = NOT_RUN
        .iter()
        .zip(&reasons)
        .filter(|(_, is_used)| !**is_used)
        .map(|((start, _), _)| *start)
        .collect();
    assert!(
        unused.is_empty(),
        "no page has these commands: remove them from `NOT_RUN`: {unused:?}"
    );
}

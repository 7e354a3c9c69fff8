//! The commands in the `console` blocks of pages run, one after the other in one folder, and print what the pages show.
//!
//! `UPDATE_DOCS=1 cargo test --test suite console_pages` writes what they print now into the pages. Output on stderr, which
//! is progress and notes, is not shown.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use super::common::{root, text};

/// The pages in the order in which a newcomer reads them; later ones use the folders that earlier ones made.
const PAGES: [&str; 3] = ["docs/first-hour.md", "docs/how-do-i.md", "docs/scale-out.md"];

/// What a command prints on stdout. It must succeed.
fn printed(command: &str, folder: &Path) -> String {
    let binary = cargo_bin("fleetsim");
    let programs = binary.parent().expect("the binary lies in a folder").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", format!("{programs}:{path}"));
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The page with the output of each command as it is now, and the number of commands.
fn renewed(page: &str, folder: &Path) -> (String, usize) {
    let (mut now, mut commands, mut inside) = (String::new(), 0, false);
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        let command = line.strip_prefix("$ ").filter(|_| inside);
        // The old output is left out.
        if !inside || is_fence || command.is_some() {
            now.push_str(line);
            now.push('\n');
        }
        if let Some(command) = command {
            commands += 1;
            now.push_str(&printed(command, folder));
        }
        if is_fence {
            inside = !inside && line == "```console";
        }
    }
    (now, commands)
}

#[test]
fn the_commands_of_the_pages_run_and_print_what_they_show() {
    let home = tempfile::tempdir().expect("a temporary folder");
    for page in PAGES {
        let path = root().join(page);
        let written = fs::read_to_string(&path).expect("the page");
        let (now, commands) = renewed(&written, home.path());
        assert!(commands > 3, "{page} has commands");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, now).expect("written");
        } else {
            assert!(now == written, "{page} shows other outputs; UPDATE_DOCS=1 writes them anew. Now:\n{now}");
        }
    }
}

//! `fleetsim import` as called by four users: their exports, then check and run, which give an answer without editing.

mod argo_cd;
mod bad;
mod exports;
mod page;
mod scope;
mod sources;
mod undecided;
mod ways;
mod windows;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::common::{fleetsim, text};

/// Creates a folder with the given files.
fn folder(files: &[(&str, String)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).expect("values can be written")
}

/// The output of the program for the given arguments.
fn printed(folder: &Path, words: &str) -> String {
    let assert = fleetsim(folder)
        .args(words.split_whitespace())
        .assert()
        .success();
    text(&assert.get_output().stdout)
}

/// The error of a call, with its exit code.
fn refused(folder: &Path, words: &str, input: &[u8]) -> (i32, String) {
    let mut command = fleetsim(folder);
    let output = command
        .args(words.split_whitespace())
        .write_stdin(input)
        .output()
        .expect("run");
    assert!(
        !output.status.success(),
        "{words}: {}",
        text(&output.stdout)
    );
    let code = output.status.code().expect("it ended itself");
    (code, text(&output.stderr))
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable");
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

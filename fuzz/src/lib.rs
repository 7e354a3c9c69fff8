//! Code shared by the fuzz targets: inputs that consist of several files, and the calls that read them.
//!
//! A target calls the public library as the program does, with files in a scratch folder. An input is a text with the
//! files of one call: each begins with a line `=== NAME`. If a known file is missing from the input, its default is
//! used. A crashing input is thus readable text, and the program can be called with its parts.

mod calls;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use calls::{calibrate, experiment, import, inventory, results, with_strategy};

/// The lines that separate the files of an input.
const SEPARATOR: &str = "=== ";

/// The files of an input; the text before the first separator is the file `first`.
#[must_use]
pub fn files<'t>(text: &'t str, first: &'t str) -> BTreeMap<&'t str, &'t str> {
    let mut files = BTreeMap::new();
    let mut insert = |name, text: &'t str| {
        // The input may begin with a separator, and so with another file.
        if name != first || !text.trim().is_empty() {
            files.insert(name, text);
        }
    };
    let (mut name, mut start, mut at) = (first, 0, 0);
    for line in text.split_inclusive('\n') {
        if let Some(next) = line.strip_prefix(SEPARATOR) {
            insert(name, &text[start..at]);
            (name, start) = (next.trim(), at + line.len());
        }
        at += line.len();
    }
    insert(name, &text[start..]);
    files
}

/// Returns true if a text contains a number of 4 to 8 digits. As a number of clusters, nodes or runs it makes a valid
/// but large experiment, and a fuzzer would find little else. Longer numbers exceed every limit.
#[must_use]
pub fn has_large_number(text: &str) -> bool {
    let mut digits = 0_usize;
    text.bytes().chain([b' ']).any(|byte| {
        if byte.is_ascii_digit() {
            digits += 1;
            return false;
        }
        let is_large = (4..=8).contains(&digits);
        digits = 0;
        is_large
    })
}

/// Empties the scratch folder of this process and returns it.
fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("fleetsim-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a scratch folder");
        folder
    })
}

/// Runs `call` in a folder with the given files, and removes the files afterwards.
fn in_folder(files: &BTreeMap<&str, &str>, call: impl FnOnce(&Path)) {
    let folder = scratch();
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("written");
    }
    call(folder);
    for name in files.keys() {
        fs::remove_file(folder.join(name)).expect("removed");
    }
}

/// The files of an input that are named in `known`; a missing file has its default.
fn known<'t>(
    files: BTreeMap<&'t str, &'t str>,
    known: &[&'static str],
    defaults: &[(&'static str, &'static str)],
) -> BTreeMap<&'t str, &'t str> {
    let mut all: BTreeMap<&str, &str> = defaults.iter().copied().collect();
    all.extend(files.into_iter().filter(|(name, _)| known.contains(name)));
    all
}

//! What a suite of recorded cases is, and how its files are read.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Recorded cases of one kind, held against our code.
pub struct Suite {
    /// `<product>/<kind>`.
    pub name: String,
    /// How many cases were compared.
    pub cases: usize,
    /// One text for each case that disagrees: its id, where, what was expected, what came out.
    pub disagreements: Vec<String>,
}

/// The files of `folder` whose name begins with `prefix` and ends in `.json` or `.json.gz`, by name.
///
/// # Panics
/// If one cannot be read or is not JSON: recorded data that is broken must not pass for data that agrees.
pub fn read_files(folder: &Path, prefix: &str) -> Vec<(String, Value)> {
    read_files_as(folder, prefix)
}

/// The same, of a type that says what every file holds.
///
/// # Panics
/// Also if a file does not hold that.
pub fn read_files_as<T: DeserializeOwned>(folder: &Path, prefix: &str) -> Vec<(String, T)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix) && (name.ends_with(".json") || name.ends_with(".json.gz")))
        .collect();
    names.sort_unstable();
    names.into_iter().map(|name| (name.clone(), read(&folder.join(name)))).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let fail = |why: &dyn std::fmt::Display| -> ! { panic!("{}: {why}", path.display()) };
    let mut file = File::open(path).unwrap_or_else(|error| fail(&error));
    let mut text = String::new();
    let read = if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_string(&mut text)
    } else {
        file.read_to_string(&mut text)
    };
    read.unwrap_or_else(|error| fail(&error));
    serde_json::from_str(&text).unwrap_or_else(|error| fail(&error))
}

//! A suite of recorded cases, and the reader of its files.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Compares one case. The error contains the location, the expected value and the actual value.
pub type Check = fn(&Value) -> Result<(), String>;

/// Recorded cases of one kind, compared with our code.
pub struct Suite {
    /// The suite's name: `<product>/<kind>`.
    pub name: String,
    /// Number of cases that were compared.
    pub cases: usize,
    /// One text for each case that disagrees, with its id, the location, the expected value and the actual value.
    pub disagreements: Vec<String>,
}

/// Returns the suites of `product` for which `folder` has files. For each kind, `kinds` has its name, the name of the
/// list of cases in its files, and the function that compares a case.
///
/// # Panics
/// If a file has no such list or cannot be read.
pub fn suites_of(product: &str, folder: &Path, kinds: &[(&str, &str, Check)]) -> Vec<Suite> {
    let mut suites = Vec::new();
    for (kind, list, check) in kinds {
        let files = read_files(folder, kind);
        if files.is_empty() {
            continue;
        }
        let mut suite = Suite {
            name: format!("{product}/{kind}"),
            cases: 0,
            disagreements: Vec::new(),
        };
        for (file, content) in files {
            let cases = content[list]
                .as_array()
                .unwrap_or_else(|| panic!("{file}: no list of {list}"));
            for (index, case) in cases.iter().enumerate() {
                suite.cases += 1;
                if let Err(why) = check(case) {
                    let id = case["id"]
                        .as_str()
                        .map_or_else(|| format!("#{index}"), str::to_owned);
                    suite.disagreements.push(format!("{file} {id}: {why}"));
                }
            }
        }
        suites.push(suite);
    }
    suites
}

/// Deserializes a part of a record.
///
/// # Panics
/// If the part does not have the requested type.
pub fn parse<T: for<'de> Deserialize<'de>>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// Compares an actual with a recorded value.
///
/// # Errors
/// The location and both values, if they differ.
pub fn differ(place: &str, expected: &Value, got: &Value) -> Result<(), String> {
    if expected == got {
        Ok(())
    } else {
        Err(format!("{place}\nexpected {expected}\ngot      {got}"))
    }
}

/// Returns the files of `folder` whose name begins with `prefix` and ends in `.json` or `.json.gz`, by name.
///
/// # Panics
/// If a file cannot be read or is not JSON: broken recorded data must not count as agreement.
pub fn read_files(folder: &Path, prefix: &str) -> Vec<(String, Value)> {
    read_files_as(folder, prefix)
}

/// Like [`read_files`], but deserializes the content of every file.
///
/// # Panics
/// In addition, if the content of a file does not have this type.
pub fn read_files_as<T: DeserializeOwned>(folder: &Path, prefix: &str) -> Vec<(String, T)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            name.starts_with(prefix) && (name.ends_with(".json") || name.ends_with(".json.gz"))
        })
        .collect();
    names.sort_unstable();
    names
        .into_iter()
        .map(|name| (name.clone(), read(&folder.join(name))))
        .collect()
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

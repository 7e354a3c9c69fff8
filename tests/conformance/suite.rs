//! What the suites of all products have in common.

use std::io::Read;
use std::path::Path;

/// One suite and how it went.
pub(crate) struct Suite {
    pub name: String,
    pub cases: usize,
    pub disagreements: Vec<String>,
}

/// Files of `folder` whose names begin with `prefix` and end in .json or .json.gz, sorted, with their names.
///
/// # Panics
/// With the file's name when one cannot be read.
pub(crate) fn read_files(folder: &Path, prefix: &str) -> Vec<(String, serde_json::Value)> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(prefix) && (name.ends_with(".json") || name.ends_with(".json.gz")))
        .collect();
    names.sort();
    let read = |name: String| {
        let bytes = std::fs::read(folder.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut text = String::new();
        let read = if name.ends_with(".gz") {
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)
        } else {
            (&bytes[..]).read_to_string(&mut text)
        };
        read.unwrap_or_else(|error| panic!("{name}: {error}"));
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, value)
    };
    names.into_iter().map(read).collect()
}

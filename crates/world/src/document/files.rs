//! The files that an experiment is read from. Each file is read once and recorded with its hash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::kept::kept_as;
use super::named_file::NamedFile;
use super::problem::{Problem, Source};
use super::tree;
use super::wording::Wording;
use fleetsim_units::io::{MOST_BYTES, in_words, read_file};

/// A file that an experiment was read from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InputFile {
    /// The file's name in the experiment, relative to the experiment's folder.
    pub path: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
    /// The file's bytes.
    pub bytes: Arc<Vec<u8>>,
    /// Whether the whole file is copied into results: the experiment itself, tables, and inputs of a process.
    is_whole: bool,
    /// The YAML that a product's reader extracts from the file, which is copied instead of a part of the text. `None`:
    /// the text is copied.
    read_as: Option<Arc<str>>,
    /// Paths of fields in a product's file that cannot affect the rollout.
    pub neutral_fields: Vec<String>,
    /// The file on this machine, if errors may have to withhold its text. `None`: errors may quote it.
    file: Option<Arc<NamedFile>>,
}

impl InputFile {
    /// Creates a file with this content, known as `path`.
    #[must_use]
    pub fn new(path: &str, bytes: Vec<u8>) -> Self {
        Self {
            path: path.to_owned(),
            sha256: sha256(&bytes),
            bytes: Arc::new(bytes),
            is_whole: false,
            read_as: None,
            neutral_fields: Vec::new(),
            file: None,
        }
    }

    fn source(&self, name: String) -> Result<Arc<Source>, String> {
        match text_of(&self.bytes).filter(|text| !text.contains('\0')) {
            Some(text) => Ok(Arc::new(Source::of_file(name, text, self.file.clone()))),
            None => Err(not_utf8(&self.bytes)),
        }
    }

    /// Returns the bytes that are copied into results, and the names of the omitted fields, which have no effect.
    #[must_use]
    pub fn copy(&self) -> (Arc<Vec<u8>>, Vec<String>) {
        let part = if self.is_whole {
            None
        } else {
            kept_as(
                &self.path,
                text_of(&self.bytes).unwrap_or_default(),
                self.read_as.as_deref(),
            )
        };
        match part {
            Some((text, left_out)) => (Arc::new(text.into_bytes()), left_out),
            None => (Arc::clone(&self.bytes), Vec::new()),
        }
    }

    /// Returns the SHA-256 of the values in a YAML file, which does not depend on comments and spaces. For any other
    /// file, returns the SHA-256 of its bytes.
    #[must_use]
    pub fn values_sha256(&self) -> String {
        of_values(&self.path, &self.bytes).unwrap_or_else(|| self.sha256.clone())
    }
}

/// The type of functions that read the file at a path, or explain why this fails.
pub type OpenFile = fn(&Path) -> Result<Vec<u8>, String>;

/// Files by their name in the experiment, relative to its folder.
#[derive(Clone, Debug)]
pub struct Files {
    /// The function that opens files. `None`: files are read from the file system.
    open: Option<OpenFile>,
    folder: PathBuf,
    read: BTreeMap<String, Result<Arc<Source>, String>>,
    inputs: Vec<InputFile>,
}

impl Files {
    /// Creates files from the file system; relative paths start at `folder`.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::opened_by(None, folder)
    }

    /// Creates files that `open` provides instead of the file system.
    pub fn opened_by(open: Option<OpenFile>, folder: PathBuf) -> Self {
        Self {
            open,
            folder,
            read: BTreeMap::new(),
            inputs: Vec::new(),
        }
    }

    /// Creates a set of exactly these files, whatever the file system contains.
    pub fn closed(folder: PathBuf, inputs: &[InputFile]) -> Self {
        let mut files = Self::opened_by(Some(open_nothing), folder);
        files.inputs = inputs.to_vec();
        for input in inputs {
            let source = input.source(input.path.clone());
            files.read.insert(input.path.clone(), source);
        }
        files
    }

    /// Returns the folder that names are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether `name` is a file in the folder.
    pub fn is_file(&self, name: &str) -> bool {
        if self.read.get(name).is_some_and(Result::is_ok) {
            return true;
        }
        let path = self.folder.join(name);
        match self.open {
            Some(open) => open(&path).is_ok(),
            None => path.is_file(),
        }
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    /// If the file cannot be read or is not text. The error is a message.
    pub fn read(&mut self, name: &str) -> Result<Arc<Source>, String> {
        let path = self.folder.join(name);
        self.read_as(name, &path)
    }

    /// Returns the text of the file at `path`, known as `name`.
    ///
    /// # Errors
    /// Same as [`Files::read`].
    pub fn read_as(&mut self, name: &str, path: &Path) -> Result<Arc<Source>, String> {
        if let Some(known) = self.read.get(name) {
            return known.clone();
        }
        let read = self.read_first(name, path);
        self.read.insert(name.to_owned(), read.clone());
        read
    }

    /// Adds a file whose text a program brings along, known as `name`. Errors show it as `path`. It is copied as a
    /// whole into results. A file that was read before stays as it is.
    pub fn bring(&mut self, name: &str, path: &Path, text: &str) {
        if self.read.contains_key(name) {
            return;
        }
        let input = InputFile {
            is_whole: true,
            ..InputFile::new(name, text.as_bytes().to_vec())
        };
        let source = input.source(path.display().to_string());
        self.read.insert(name.to_owned(), source);
        self.inputs.push(input);
    }

    /// Reads a file that was not read before.
    fn read_first(&mut self, name: &str, path: &Path) -> Result<Arc<Source>, String> {
        let open = self.open.unwrap_or(read_bytes);
        let bytes = open(path)?;
        let input = InputFile {
            file: self.named_file(path)?,
            ..InputFile::new(name, bytes)
        };
        let source = input.source(path.display().to_string());
        self.inputs.push(input);
        source
    }

    /// Returns the file in the file system that the experiment names. `None`: the bytes of this name have another
    /// source.
    fn named_file(&self, path: &Path) -> Result<Option<Arc<NamedFile>>, String> {
        if self.open.is_some() {
            return Ok(None);
        }
        let named = NamedFile::new(&self.folder, path).map_err(|error| in_words(&error))?;
        Ok(Some(Arc::new(named)))
    }

    /// Marks a file to be copied as a whole into results.
    pub fn copy_whole(&mut self, name: &str) {
        for input in &mut self.inputs {
            if input.path == name {
                input.is_whole = true;
            }
        }
    }

    /// Records the YAML that a product's reader extracts from the file, which has its own notation. `neutral`: fields
    /// of the file that cannot affect the rollout.
    pub fn read_as_product(&mut self, name: &str, yaml: &str, neutral: &[String]) {
        for input in &mut self.inputs {
            if input.path == name {
                input.read_as = Some(yaml.into());
                input.neutral_fields = neutral.to_vec();
            }
        }
    }

    /// Returns every file that was read, in the order of reading.
    pub fn into_inputs(self) -> Vec<InputFile> {
        self.inputs
    }
}

/// Fails for every path: no other file exists.
fn open_nothing(_: &Path) -> Result<Vec<u8>, String> {
    Err("it did not exist when the experiment was read".to_owned())
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    read_file(path, MOST_BYTES).map_err(|error| in_words(&error))
}

/// Returns a file's text, without the byte order mark with which Windows tools often begin a file.
fn text_of(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)).ok()
}

/// Explains why bytes are not UTF-8, with a fix. In UTF-16, an ASCII character is the character's byte and a zero
/// byte.
fn not_utf8(bytes: &[u8]) -> String {
    let mut wrong = match str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0) {
        wrong = wrong.min(zero);
    }
    let line = bytes[..wrong].iter().filter(|byte| **byte == b'\n').count() + 1;
    let utf16 = if bytes[..bytes.len().min(4)].contains(&0) {
        ", but probably UTF-16"
    } else {
        ""
    };
    format!("it is not UTF-8 text{utf16}: line {line} has an invalid byte; save the file as UTF-8")
}

/// Returns the hash of the values in a YAML file. `None`: the file is not YAML, or is invalid.
fn of_values(name: &str, bytes: &[u8]) -> Option<String> {
    if ![".yaml", ".yml"]
        .iter()
        .any(|ending| name.ends_with(ending))
    {
        return None;
    }
    let source = Source::new(name, text_of(bytes)?);
    let tree = tree::parse(&Arc::new(source)).ok()?;
    Some(sha256(&serde_json::to_vec(&tree).ok()?))
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses JSON; an error has its location.
///
/// # Errors
/// If the text is not JSON or lacks a required field.
pub fn read_json<T: serde::de::DeserializeOwned>(source: &Arc<Source>) -> Result<T, Box<Problem>> {
    serde_json::from_str(&source.text).map_err(|error| Box::new(json_problem(source, &error)))
}

/// Converts an error of the JSON reader, which has read the whole text of a file, to a problem with a location.
pub fn json_problem(source: &Arc<Source>, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    // The position at which the reader noticed the error is 1-based, and its column counts bytes.
    let at = source.byte_offset(error.line(), error.column());
    if error.is_eof() {
        let reason = "the JSON ends too early";
        let message = Wording::quoting(format!("{reason}: {message}"), reason);
        let problem = source.at(at..at, "", message);
        return problem.with_help("the file is cut off; rerun the command that wrote it");
    }
    let what = if error.is_data() {
        "the JSON is not valid here"
    } else {
        "not JSON"
    };
    source.at(
        at..at,
        "",
        Wording::quoting(format!("{what}: {message}"), what),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_file_that_is_read_is_listed_once_with_its_hash() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.json"), "abc").expect("written");
        fs::write(folder.path().join("bom.json"), "\u{feff}x").expect("written");
        fs::write(folder.path().join("binary"), b"a\n\xe9").expect("written");
        fs::write(folder.path().join("utf16"), b"\xff\xfea\0").expect("written");
        fs::write(folder.path().join("utf16-unmarked"), b"a\0b\0").expect("written");
        let mut files = Files::in_folder(folder.path().to_owned());
        assert_eq!(
            files.read("a.json").map(|source| source.text.clone()),
            Ok("abc".to_owned())
        );
        assert_eq!(
            files.read("a.json").map(|source| source.text.clone()),
            Ok("abc".to_owned())
        );
        assert_eq!(
            files.read("bom.json").map(|source| source.text.clone()),
            Ok("x".to_owned())
        );
        assert_eq!(files.read("b.json").unwrap_err(), "there is no such file");
        assert_eq!(files.read(".").unwrap_err(), "it is a folder, not a file");
        let invalid = "it is not UTF-8 text: line 2 has an invalid byte; save the file as UTF-8";
        assert_eq!(files.read("binary").unwrap_err(), invalid);
        for utf16 in ["utf16", "utf16-unmarked"] {
            let error = files.read(utf16).unwrap_err();
            assert!(
                error.starts_with("it is not UTF-8 text, but probably UTF-16: line 1 has"),
                "{error}"
            );
        }
        let inputs = files.into_inputs();
        assert_eq!(
            inputs
                .iter()
                .map(|input| input.path.as_str())
                .collect::<Vec<_>>(),
            ["a.json", "bom.json", "binary", "utf16", "utf16-unmarked"]
        );
        // The expected value is the output of `printf abc | sha256sum`.
        assert_eq!(
            inputs[0].sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn comments_and_spaces_do_not_change_the_hash_of_the_values() {
        let hash = |name: &str, text: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join(name), text).expect("written");
            let mut files = Files::in_folder(folder.path().to_owned());
            files.read(name).expect("readable");
            let input = files.into_inputs().remove(0);
            (input.sha256.clone(), input.values_sha256())
        };
        let (bytes, values) = hash("a.yaml", "seed: 1\nfleet: [{clusters: 20}]\n");
        let (of_commented, same) = hash("a.yaml", "seed: 1 # luck\nfleet:\n  - clusters: 20\n");
        assert_ne!(bytes, of_commented);
        assert_eq!(values, same);
        for other in [
            "seed: 2\nfleet: [{clusters: 20}]",
            "seed: 1\nfleet: [{clusters: '20'}]",
            "seed: 1\nfleet: []",
        ] {
            assert_ne!(hash("a.yaml", other).1, values, "{other}");
        }
        let (bytes, values) = hash("a.json", "{}");
        assert_eq!(bytes, values, "of a file that is not YAML");
    }

    #[test]
    fn json_errors_have_a_position() {
        for (text, line, message) in [
            (
                "[1,\n2",
                2,
                "the JSON ends too early: EOF while parsing a list",
            ),
            ("[1,\n2 é]", 2, "not JSON: expected `,` or `]`"),
            (
                "[1,\n-2]",
                2,
                "the JSON is not valid here: invalid value: integer `-2`, expected u32",
            ),
            ("", 1, "the JSON ends too early: EOF while parsing a value"),
        ] {
            let source = Arc::new(Source::new("a.json", text));
            let problem = read_json::<Vec<u32>>(&source).map(|_| ()).expect_err(text);
            assert_eq!(
                (problem.line(), problem.message.as_str()),
                (Some(line), message),
                "{text}"
            );
        }
    }
}

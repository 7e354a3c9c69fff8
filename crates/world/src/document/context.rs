//! A document that is being checked: problems at its values, and the files that it names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::files::Files;
use super::path::Path;
use super::problem::{Problem, Source, did_you_mean, some_of};
use super::reader::{self, ReadError};
use super::tree::{self, Node, Value};
use super::wording::Wording;

/// One reading of a document, and the problems found in it so far.
#[derive(Debug)]
pub struct Context<'a> {
    /// Reads the files that the document names.
    pub files: &'a mut Files,
    /// The text of the document.
    pub source: &'a Arc<Source>,
    /// The values of the document.
    pub tree: &'a Node,
    /// Values that were already reported and are skipped.
    pub struck: &'a [Path],
    /// The problems in the order in which they were found.
    pub problems: Vec<Problem>,
    /// Notes on valid input that readers of the results must know; one sentence each.
    pub notes: Vec<String>,
}

impl Context<'_> {
    /// Creates a problem at a value of the document.
    pub fn at(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.source
            .at(self.tree.place(path), path.to_string(), message)
    }

    /// Adds a problem at a value of the document, with a way to fix it.
    pub fn report(&mut self, path: &Path, message: impl Into<Wording>, help: &str) {
        let problem = self.at(path, message).with_help(help.to_owned());
        self.problems.push(problem);
    }

    /// Returns the result of `read`, and discards its problems and notes, which another read reports.
    pub fn unreported<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let problems = self.problems.len();
        let notes = self.notes.len();
        let value = read(self);
        self.problems.truncate(problems);
        self.notes.truncate(notes);
        value
    }

    /// Returns whether the document has a value at `path`.
    pub fn is_set(&self, path: &Path) -> bool {
        self.tree.get(path).is_some()
    }

    /// Returns the keys of the map at `path`; empty if there is no map.
    pub fn keys(&self, path: &Path) -> Vec<String> {
        let entries = self.tree.get(path).map(Node::entries).unwrap_or_default();
        entries.iter().map(|(key, _)| key.text.clone()).collect()
    }

    /// Returns whether nothing at or below `path` was skipped. If something was skipped, a missing value there is not
    /// an error.
    pub fn is_untouched(&self, path: &Path) -> bool {
        !self.struck.iter().any(|struck| struck.overlaps(path))
    }

    /// Returns whether no entry of the list at `list` was itself skipped. Skipped values inside its entries do not
    /// matter.
    pub fn is_whole(&self, list: &Path) -> bool {
        for struck in self.struck {
            let is_entry = struck.starts_with(list) && struck.0.len() <= list.0.len() + 1;
            if is_entry || list.starts_with(struck) {
                return false;
            }
        }
        true
    }

    /// Returns the value at `path`, and completes it with `base` wherever the document has no value. Errors are not
    /// reported, because reading the document has reported them. `deep`: see [`Node::over`].
    pub fn over<T: Serialize + DeserializeOwned>(&self, path: &Path, base: T, deep: &[&str]) -> T {
        let Some(mut written) = self.tree.get(path).cloned() else {
            return base;
        };
        for struck in self.struck.iter().filter(|struck| struck.starts_with(path)) {
            if struck == path {
                return base;
            }
            written.strike(&Path(struck.0[path.0.len()..].to_vec()));
        }
        if written.is_empty() {
            return base;
        }
        reader::read(written.over(Node::of_value(&base, &written.at), deep))
            .value
            .unwrap_or(base)
    }

    /// Returns the text of the file that the value at `path` names. If the file cannot be read, a problem is reported
    /// at the value.
    pub fn file(&mut self, name: &str, path: &Path) -> Option<Arc<Source>> {
        match self.files.read(name) {
            Ok(source) => Some(source),
            Err(message) => {
                let message = format!("cannot read `{name}`: {message}");
                let help = "paths are relative to the folder of the experiment file";
                self.report(path, message, help);
                None
            }
        }
    }

    /// Returns the YAML or JSON document in the file that the value at `path` names. Errors are reported at their
    /// locations in that file.
    pub fn document(&mut self, name: &str, path: &Path) -> Option<Document> {
        let source = self.file(name, path)?;
        match tree::parse(&source) {
            Ok(tree) => Some(Document { source, tree }),
            Err(problem) => {
                self.problems.push(*problem);
                None
            }
        }
    }

    /// Reads the value at `base` of another document. Errors that `counts` selects are reported at their locations in
    /// that document, and other errors are ignored. `None`: an error was reported. Paths passed to `counts` start at
    /// `base`.
    pub fn read_from<T: DeserializeOwned>(
        &mut self,
        document: &Document,
        base: &Path,
        counts: impl Fn(&ReadError) -> bool,
    ) -> Option<T> {
        let reading = reader::read_where(document.tree.get(base)?.clone(), counts);
        for error in &reading.errors {
            let path = base.then(&error.path);
            let problem = document.problem(&path, error.is_of_key(), error.wording());
            self.problems.push(problem.with_optional_help(error.help()));
        }
        // Do not return a value with errors: later checks would report the fields that were skipped.
        if reading.errors.is_empty() {
            reading.value
        } else {
            None
        }
    }

    /// Returns the index of `name` in `known`, the names of the entries of `list`.
    pub fn lookup(
        &mut self,
        path: &Path,
        name: &str,
        list: &Path,
        known: &[String],
    ) -> Option<usize> {
        let found = known.iter().position(|candidate| candidate == name);
        if found.is_none() && self.is_whole(list) {
            let of_list = if known.is_empty() {
                "no entries".to_owned()
            } else {
                some_of(known)
            };
            let help = did_you_mean(name, known.iter().map(String::as_str), || {
                format!("`{list}` has {of_list}")
            });
            self.report(path, format!("there is no `{name}` in `{list}`"), &help);
        }
        found
    }

    /// Reports an entry of a list whose name is already used.
    pub fn unique<'n>(&mut self, list: &Path, named: impl IntoIterator<Item = (usize, &'n str)>) {
        let mut seen = BTreeMap::new();
        for (index, name) in named {
            if let Some(first) = seen.insert(name, index) {
                let path = list.index(index).key("name");
                let message = format!("`{name}` is the name of `{list}[{first}]` already");
                self.report(&path, message, "use a different name for each");
            }
        }
    }
}

/// A document in its own file.
#[derive(Debug)]
pub struct Document {
    source: Arc<Source>,
    /// The values of the document.
    pub tree: Node,
}

impl Document {
    /// Creates a document that was already read.
    pub const fn of(source: Arc<Source>, tree: Node) -> Self {
        Self { source, tree }
    }

    /// Creates a problem at a value of the document.
    pub fn at(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.problem(path, false, message)
    }

    /// Returns the text at `path`; `None` if there is no text.
    pub fn text(&self, path: &Path) -> Option<&str> {
        match &self.tree.get(path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Creates a problem at a key of the document.
    pub fn at_key(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.problem(path, true, message)
    }

    /// Creates a problem at the key (`is_key`) or at the value of `path`.
    pub fn problem(&self, path: &Path, is_key: bool, message: impl Into<Wording>) -> Problem {
        let span = if is_key {
            self.tree.key_place(path)
        } else {
            self.tree.place(path)
        };
        self.source.at(span, path.to_string(), message)
    }
}

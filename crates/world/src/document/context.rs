//! A document while it is checked: problems at the places of its values, and the files that it names.

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
    /// Its values.
    pub tree: &'a Node,
    /// Values that were already reported and left out of the reading.
    pub struck: &'a [Path],
    /// In the order in which they were found.
    pub problems: Vec<Problem>,
    /// Notes on valid input that a reader of results must know; one sentence each.
    pub notes: Vec<String>,
}

impl Context<'_> {
    /// A problem at a value of the document.
    pub fn at(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.source
            .at(self.tree.place(path), path.to_string(), message)
    }

    /// Adds a problem at a value of the document, with a way to fix it.
    pub fn report(&mut self, path: &Path, message: impl Into<Wording>, help: &str) {
        let problem = self.at(path, message).with_help(help.to_owned());
        self.problems.push(problem);
    }

    /// The result of `read`, without its problems and notes, which another reading reports.
    pub fn unreported<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let problems = self.problems.len();
        let notes = self.notes.len();
        let value = read(self);
        self.problems.truncate(problems);
        self.notes.truncate(notes);
        value
    }

    /// Whether the document has a value at `path`.
    pub fn is_set(&self, path: &Path) -> bool {
        self.tree.get(path).is_some()
    }

    /// The keys of the map at `path`; none where there is no map.
    pub fn keys(&self, path: &Path) -> Vec<String> {
        let entries = self.tree.get(path).map(Node::entries).unwrap_or_default();
        entries.iter().map(|(key, _)| key.text.clone()).collect()
    }

    /// Whether nothing at or below `path` was left out. If something was, a missing value there is not an error.
    pub fn is_untouched(&self, path: &Path) -> bool {
        !self.struck.iter().any(|struck| struck.overlaps(path))
    }

    /// Whether no entry of the list at `list` was left out, whatever happened inside its entries.
    pub fn is_whole(&self, list: &Path) -> bool {
        for struck in self.struck {
            let is_entry = struck.starts_with(list) && struck.0.len() <= list.0.len() + 1;
            if is_entry || list.starts_with(struck) {
                return false;
            }
        }
        true
    }

    /// The value at `path`, with `base` for everything that is not written. Errors are not reported: reading the
    /// document has found them. `deep` as in [`Node::over`].
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

    /// The text of the file that the value at `path` names. A file that cannot be read is reported there.
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

    /// The YAML or JSON document in the file that the value at `path` names. Errors are reported at their places in
    /// it.
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

    /// Reads the value at `base` of another document. Errors that `counts` selects are reported at their places in it,
    /// and the others ignored; `None` if any was reported. Paths handed to `counts` start at `base`.
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
        // Otherwise later checks would report the fields that were left out.
        if reading.errors.is_empty() {
            reading.value
        } else {
            None
        }
    }

    /// The index of `name` among `known`, which are the names under `list`.
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

    /// Reports the second of two equal names of a list.
    pub fn unique<'n>(&mut self, list: &Path, named: impl IntoIterator<Item = (usize, &'n str)>) {
        let mut seen = BTreeMap::new();
        for (index, name) in named {
            if let Some(first) = seen.insert(name, index) {
                let path = list.index(index).key("name");
                let message = format!("`{name}` is the name of `{list}[{first}]` already");
                self.report(&path, message, "give each its own name");
            }
        }
    }
}

/// A document in a file of its own.
#[derive(Debug)]
pub struct Document {
    source: Arc<Source>,
    /// Its values.
    pub tree: Node,
}

impl Document {
    /// A document that was read already.
    pub const fn of(source: Arc<Source>, tree: Node) -> Self {
        Self { source, tree }
    }

    /// A problem at a value of the document.
    pub fn at(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.problem(path, false, message)
    }

    /// The text at `path`; `None` for another value, or none.
    pub fn text(&self, path: &Path) -> Option<&str> {
        match &self.tree.get(path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A problem at a key of the document.
    pub fn at_key(&self, path: &Path, message: impl Into<Wording>) -> Problem {
        self.problem(path, true, message)
    }

    /// A problem at the key (`is_key`) or at the value of `path`.
    pub fn problem(&self, path: &Path, is_key: bool, message: impl Into<Wording>) -> Problem {
        let span = if is_key {
            self.tree.key_place(path)
        } else {
            self.tree.place(path)
        };
        self.source.at(span, path.to_string(), message)
    }
}

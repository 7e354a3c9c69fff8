//! `release: {file: typical.yaml}` of an application: the file's content takes the place of the reference.
//!
//! The file has the fields of `release`. It is checked first, so that its problems have their lines. Afterwards its
//! settings are settings of the experiment like those that are written there: they can be swept, and vary with the
//! constants of the model. Files that it names are relative to the experiment's folder.

use std::sync::Arc;

use super::applications::entry_path;
use super::check::Checker;
use super::loader::Loader;
use super::release::ReleaseFile;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::problem::{OrProblem, Problem, Source};
use crate::document::reader::{self, ReadError};
use crate::document::tree::{self, Node};

/// A file with a release that could be read.
struct ReleaseDocument {
    source: Arc<Source>,
    tree: Node,
}

impl Loader {
    /// Replaces each `release: {file: …}` of an application by the content of the file. Problems are reported.
    pub(super) fn put_release_files(&mut self) {
        let mut keys = Vec::new();
        let applications = self.tree.get(&Path::of("applications"));
        for (key, _) in applications.map(Node::entries).unwrap_or_default() {
            keys.push(key.text.clone());
        }
        for key in keys {
            self.put_release_file(&entry_path(&key).key("release"));
        }
    }

    fn put_release_file(&mut self, release: &Path) {
        let at = release.key("file");
        let Some(named) = self.tree.get(&at).cloned() else {
            return;
        };
        if self
            .tree
            .get(release)
            .map_or(0, |node| node.entries().len())
            > 1
        {
            let message = "a release is in a file, or written here";
            let problem = self
                .source
                .at(self.tree.key_place(&at), at.to_string(), message);
            let help = "remove `file`, or the other fields";
            self.problems.push(problem.with_help(help));
            return;
        }
        match self.release_document(&named.short_text(), &at) {
            Ok(document) => {
                if self.is_valid_release(&document) {
                    let content = document.tree.moved(&named.at);
                    // The path exists, so it can be set.
                    let _ = self.tree.set(release, &content, &named.at);
                }
            }
            Err(problem) => self.problems.push(*problem),
        }
    }

    /// Reads the file that the value at a path names.
    fn release_document(&mut self, name: &str, at: &Path) -> OrProblem<ReleaseDocument> {
        let source = self.files.read(name).map_err(|message| {
            let message = format!("cannot read `{name}`: {message}");
            let place = self.tree.place(at);
            let problem = self.source.at(place, at.to_string(), message);
            let help = "paths are relative to the folder of the experiment file";
            Box::new(problem.with_help(help))
        })?;
        self.files.copy_whole(name);
        let tree = tree::parse(&source)?;
        if tree.entries().is_empty() {
            let help = "write `images: […]` and `workloads: […]`, as in `release`";
            let problem = source.at(0..0, "", "the file has no release");
            return Err(Box::new(problem.with_help(help)));
        }
        Ok(ReleaseDocument { source, tree })
    }

    /// Reports the problems of a release in its own file. Returns whether there is none.
    fn is_valid_release(&mut self, document: &ReleaseDocument) -> bool {
        let before = self.problems.len();
        let reading = reader::read::<ReleaseFile>(document.tree.clone());
        for error in &reading.errors {
            let problem = document.problem(error);
            self.problems.push(problem);
        }
        let registries = self.names_of_registries();
        let mut checker = Checker {
            context: Context {
                files: &mut self.files,
                source: &document.source,
                tree: &document.tree,
                struck: &reading.struck,
                problems: Vec::new(),
                notes: Vec::new(),
            },
            inventories: &mut self.inventories,
            changed_labels: &mut self.changed_labels,
            is_drawn: !self.levels.is_empty(),
        };
        let top = Path::default();
        let images = checker.images(&top, reading.value.as_ref(), &registries);
        checker.workloads(&top, reading.value.as_ref(), &images);
        self.problems.extend(checker.context.problems);
        self.problems.len() == before
    }

    /// Returns the names of the registries in the experiment, whose settings are checked later.
    fn names_of_registries(&self) -> Vec<String> {
        let list = Path::of("registries");
        let mut names = Vec::new();
        for registry in self.tree.get(&list).map(Node::items).unwrap_or_default() {
            names.extend(registry.get(&Path::of("name")).map(Node::short_text));
        }
        names
    }
}

impl ReleaseDocument {
    /// Returns an error of reading as a problem at its place in the file.
    fn problem(&self, error: &ReadError) -> Problem {
        let span = if error.is_of_key() {
            self.tree.key_place(&error.path)
        } else {
            self.tree.place(&error.path)
        };
        self.source
            .at(span, error.path.to_string(), error.wording())
            .with_optional_help(error.help())
    }
}

//! The folder of an imported experiment. Like results, it is written to a temporary folder, checked, and published as
//! a whole.
//!
//! An existing folder is replaced only on request, and only if all its files are from an earlier import. If the new
//! files differ, the old folder is kept next to the new one, because its files may have been edited.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::page::{EXPORTED, HEADER, OTHER_PACE};
use crate::io::{MOST_BYTES, create, in_words, read_file};
use crate::results::{ResultsError, StagedFolder};
use crate::scenario::{LoadError, Overrides, Problem, load_with};

/// The file with the experiment.
const EXPERIMENT: &str = "experiment.yaml";

/// The suffix of a replaced folder that is kept.
const KEPT_ENDING: &str = ".before-import";

/// The reason why an import failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The options are wrong or incomplete.
    #[error("{0}")]
    Usage(String),
    /// A file of the import is invalid.
    #[error("the import is invalid")]
    Input(#[from] LoadError),
    /// The folder must not be overwritten, or cannot be written.
    #[error("{0}")]
    Folder(String),
}

/// The result of checking the exported strategy.
#[derive(Default)]
pub(super) struct ExportedStrategy {
    /// Settings that the product accepts but that may be surprising.
    pub(super) warnings: Vec<String>,
    /// Notes about how the file's terms were interpreted.
    pub(super) notes: Vec<String>,
}

/// The folder of an experiment, while it is being written.
pub(super) struct ExperimentFolder(StagedFolder);

impl ExperimentFolder {
    /// Starts a folder that will become `target`, after checking that `target` may be written.
    ///
    /// # Errors
    /// Returns an error if `target` exists and must not be replaced, or its parent folder cannot be written.
    pub(super) fn begin(target: &Path, replace: bool) -> Result<Self, ImportError> {
        if target.file_name().is_none() {
            let message = format!(
                "invalid folder name `{}`; write e.g. `-o my-experiment`",
                target.display()
            );
            return Err(ImportError::Usage(message));
        }
        StagedFolder::begin(target.to_owned(), |target| check_target(target, replace)).map(Self)
    }

    /// Writes one file.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let path = self.0.folder().join(name);
        let written = create(&path).and_then(|mut file| file.write_all(bytes));
        Ok(written.map_err(ResultsError::io("write", &path))?)
    }

    /// Reads the experiment as `fleetsim check` does. Problems are shown with the file names that `origin` maps to.
    /// Returns the warnings and notes about the exported strategy.
    ///
    /// # Errors
    /// Returns every problem of the experiment.
    pub(super) fn check(
        &self,
        origin: impl Fn(&str) -> Option<String>,
    ) -> Result<ExportedStrategy, ImportError> {
        let folder = self.0.folder();
        let experiment = match load_with(read_written, folder, &Overrides::default()) {
            Ok(experiment) => experiment,
            Err(mut error) => {
                self.rename_problems(&mut error.problems, origin);
                return Err(ImportError::Input(error));
            }
        };
        let mut exported = ExportedStrategy::default();
        for variant in &experiment.variants {
            if variant.strategy == EXPORTED {
                let scenario = &variant.scenario;
                let explained = scenario.strategy().explain(scenario.fleet());
                exported.warnings.extend(explained.warnings);
                for application in &scenario.applications {
                    exported.notes.extend(application.file_notes.clone());
                }
            }
        }
        Ok(exported)
    }

    /// Replaces file names in problems with the names of the user's files or of the future folder. Errors in the
    /// user's strategy are also reported in its variant; these duplicates are dropped.
    fn rename_problems(
        &self,
        problems: &mut Vec<Problem>,
        origin: impl Fn(&str) -> Option<String>,
    ) {
        let mut files: Vec<Option<String>> = Vec::new();
        for problem in &*problems {
            files.push(origin(&file_name(problem)));
        }
        let is_of_user = files.iter().any(Option::is_some);
        let variant = format!("strategies.{OTHER_PACE}.");
        let mut renamed = Vec::new();
        for (mut problem, own) in problems.drain(..).zip(files) {
            if is_of_user && own.is_none() && problem.field.starts_with(&variant) {
                continue;
            }
            let in_folder = self.0.target().join(file_name(&problem));
            problem.file = own.unwrap_or_else(|| in_folder.display().to_string());
            renamed.push(problem);
        }
        *problems = renamed;
    }

    /// Renames the folder to the target. An existing target that differs is kept under another name, because it may
    /// contain edits. Returns that name.
    ///
    /// # Errors
    /// Returns an error if that name is taken or the file system fails. The existing target then remains unchanged.
    pub(super) fn publish(self) -> Result<Option<PathBuf>, ImportError> {
        let target = self.0.target();
        let replaces = self.0.replaces();
        if !replaces || is_same(target, self.0.folder()).unwrap_or(false) {
            self.0.publish(replaces, || Ok(()))?;
            return Ok(None);
        }
        let mut kept = target.file_name().unwrap_or_default().to_owned();
        kept.push(KEPT_ENDING);
        let kept = target.with_file_name(kept);
        if fs::symlink_metadata(&kept).is_ok() {
            return Err(ImportError::Folder(format!(
                "{} would be kept as {}, which exists; move or remove it",
                target.display(),
                kept.display()
            )));
        }
        fs::rename(target, &kept).map_err(ResultsError::io("move aside", target))?;
        if let Err(error) = self.0.publish(false, || Ok(())) {
            fs::rename(&kept, target).map_err(ResultsError::io("restore", target))?;
            return Err(error.into());
        }
        Ok(Some(kept))
    }
}

impl From<ResultsError> for ImportError {
    fn from(error: ResultsError) -> Self {
        Self::Folder(error.to_string())
    }
}

/// Returns the name of the file that contains a problem.
fn file_name(problem: &Problem) -> String {
    match Path::new(&problem.file).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => String::new(),
    }
}

/// Rejects any target except an empty folder, and an earlier import that may be replaced.
fn check_target(target: &Path, replace: bool) -> Result<(), ImportError> {
    if !target.exists() {
        return Ok(());
    }
    match reason_to_keep(target, replace)? {
        Some(reason) => Err(ImportError::Folder(format!(
            "{} {reason}",
            target.display()
        ))),
        None => Ok(()),
    }
}

/// Returns the reason why an existing folder must not be overwritten. `None`: it may be overwritten.
fn reason_to_keep(target: &Path, replace: bool) -> Result<Option<String>, ImportError> {
    if !target.is_dir() {
        let reason = "is not a folder; choose another output folder";
        return Ok(Some(reason.to_owned()));
    }
    let names = files_in(target).map_err(ResultsError::io("read", target))?;
    if names.is_empty() {
        return Ok(None);
    }
    let Some(written) = written_files(target) else {
        let reason =
            "exists and was not written by `fleetsim import`; choose another output folder";
        return Ok(Some(reason.to_owned()));
    };
    if !replace {
        let reason = "exists; add --replace, or choose another output folder";
        return Ok(Some(reason.to_owned()));
    }
    for name in names {
        if name != EXPERIMENT && !written.contains(&name) {
            return Ok(Some(format!(
                "has the file `{name}`, which would be lost; move it out of the folder"
            )));
        }
    }
    Ok(None)
}

/// Returns true if two folders contain the same files with the same content.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let mut names = files_in(one)?;
    let mut others = files_in(other)?;
    names.sort();
    others.sort();
    if names != others {
        return Ok(false);
    }
    let mut is_same = true;
    for name in names {
        is_same &= fs::read(one.join(&name))? == fs::read(other.join(&name))?;
    }
    Ok(is_same)
}

/// Returns the names of the files in a folder.
fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns the files that an earlier import wrote in addition to its experiment. `None`: the folder does not come from
/// an import.
fn written_files(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
    let names = text.lines().next()?.strip_prefix(HEADER)?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// Derives the experiment's name from its folder's name: lowercase letters, digits and `-`.
pub(super) fn experiment_name(folder: &Path) -> String {
    let name = match folder.file_name() {
        Some(name) => name.to_string_lossy().to_lowercase(),
        None => String::new(),
    };
    let mut plain = String::new();
    for letter in name.chars() {
        let is_plain = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        plain.push(if is_plain { letter } else { '-' });
    }
    let plain = plain.trim_matches('-');
    let plain: String = plain.chars().take(63).collect();
    if plain.is_empty() {
        "imported".to_owned()
    } else {
        plain
    }
}

/// Reads a file that this import has written. Errors may quote it, wherever the folder is, because it contains text
/// from exports that the user named.
fn read_written(path: &Path) -> Result<Vec<u8>, String> {
    read_file(path, MOST_BYTES).map_err(|error| in_words(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_only_if_an_import_wrote_all_of_it() {
        let root = tempfile::tempdir().expect("a folder");
        let target = root.path().join("out");
        let begin = |replace| {
            ExperimentFolder::begin(&target, replace)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        assert_eq!(begin(false), Ok(()), "it does not exist");
        fs::create_dir(&target).expect("made");
        assert_eq!(begin(false), Ok(()), "it is empty");
        fs::write(target.join("notes.txt"), "x").expect("written");
        assert!(
            begin(true)
                .expect_err("foreign")
                .ends_with("was not written by `fleetsim import`; choose another output folder")
        );
        fs::write(
            target.join(EXPERIMENT),
            format!("{HEADER}a.csv, b.json\nname: x\n"),
        )
        .expect("written");
        assert!(
            begin(false)
                .expect_err("full")
                .ends_with("exists; add --replace, or choose another output folder")
        );
        assert!(
            begin(true)
                .expect_err("foreign")
                .contains("has the file `notes.txt`, which would be lost")
        );
        fs::remove_file(target.join("notes.txt")).expect("removed");
        fs::write(target.join("a.csv"), "x").expect("written");
        assert_eq!(begin(true), Ok(()));
        let left: Vec<_> = files_in(root.path()).expect("read");
        assert_eq!(left, ["out"], "nothing is left behind");
    }

    #[test]
    fn an_experiment_is_named_after_its_folder() {
        for (folder, name) in [
            ("my-experiment", "my-experiment"),
            ("a/B c_1/", "b-c-1"),
            ("..", "imported"),
            ("ä", "imported"),
        ] {
            assert_eq!(experiment_name(Path::new(folder)), name, "{folder}");
        }
    }
}

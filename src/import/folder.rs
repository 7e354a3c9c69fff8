//! The folder of an imported experiment: staged as results are, checked, and published as a whole.
//!
//! An existing folder is replaced only on request, and only where it holds nothing but files that an earlier import
//! wrote. These may have been edited since, so what differs is kept beside the new folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::page::{EXPORTED, HEADER, OTHER_PACE};
use crate::io::{MOST_BYTES, create, in_words, read_file};
use crate::results::{ResultsError, StagedFolder};
use crate::scenario::{LoadError, Overrides, Problem, load_with};

const EXPERIMENT: &str = "experiment.yaml";

/// Ends the name of what a replaced folder is kept as.
const KEPT_ENDING: &str = ".before-import";

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Wrong or missing options.
    #[error("{0}")]
    Usage(String),
    /// A file of the import is invalid.
    #[error("the import is invalid")]
    Input(#[from] LoadError),
    /// The folder must not be written, or cannot be.
    #[error("{0}")]
    Folder(String),
}

/// The folder of an experiment that is being written.
pub(super) struct ExperimentFolder(StagedFolder);

impl ExperimentFolder {
    /// Starts a folder that will become `target`, after checking that it may.
    ///
    /// # Errors
    /// When `target` exists and must not be replaced, or nothing can be written beside it.
    pub(super) fn begin(target: &Path, replace: bool) -> Result<Self, ImportError> {
        if target.file_name().is_none() {
            let message = format!(
                "`{}` is no name for a folder; write e.g. `-o my-experiment`",
                target.display()
            );
            return Err(ImportError::Usage(message));
        }
        StagedFolder::begin(target.to_owned(), |target| check_target(target, replace)).map(Self)
    }

    /// Writes one file.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let path = self.0.folder().join(name);
        let written = create(&path).and_then(|mut file| file.write_all(bytes));
        Ok(written.map_err(ResultsError::io("write", &path))?)
    }

    /// Reads the experiment as `fleetsim check` does. Problems are shown with the names that `origin` gives files.
    /// Returns what the product accepts of the exported strategy but a reader may not expect.
    ///
    /// # Errors
    /// Every problem of the experiment.
    pub(super) fn check(
        &self,
        origin: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, ImportError> {
        let name = |problem: &Problem| {
            let name = Path::new(&problem.file)
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_default()
        };
        let own_name = |problem: &Problem| origin(&name(problem));
        let rename = |problem: &mut Problem| {
            let own = own_name(problem);
            problem.file =
                own.unwrap_or_else(|| self.0.target().join(name(problem)).display().to_string());
        };
        let loaded = load_with(read_written, self.0.folder(), &Overrides::default());
        let experiment = loaded.map_err(|mut error| {
            // An error of the user's strategy is one of its variant too.
            let in_own = |problem: &Problem| own_name(problem).is_some();
            if error.problems.iter().any(in_own) {
                let variant = format!("strategies.{OTHER_PACE}.");
                error
                    .problems
                    .retain(|problem| in_own(problem) || !problem.field.starts_with(&variant));
            }
            error.problems.iter_mut().for_each(rename);
            ImportError::Input(error)
        })?;
        let own = experiment
            .variants
            .iter()
            .filter(|variant| variant.strategy == EXPORTED);
        let scenarios = own.map(|variant| &variant.scenario);
        Ok(scenarios
            .flat_map(|scenario| scenario.strategy.explain(scenario.fleet()).warnings)
            .collect())
    }

    /// Renames the folder to the target. What was there may have edits, so unless it is the same it is kept beside the
    /// target; returns where.
    ///
    /// # Errors
    /// When something is kept there already, or the file system fails; what was there then stays.
    pub(super) fn publish(self) -> Result<Option<PathBuf>, ImportError> {
        let (target, replaces) = (self.0.target(), self.0.replaces());
        if !replaces || is_same(target, self.0.folder()).unwrap_or(false) {
            self.0.publish(replaces, || Ok(()))?;
            return Ok(None);
        }
        let mut kept = target.file_name().unwrap_or_default().to_owned();
        kept.push(KEPT_ENDING);
        let kept = target.with_file_name(kept);
        if fs::symlink_metadata(&kept).is_ok() {
            let (target, kept) = (target.display(), kept.display());
            return Err(ImportError::Folder(format!(
                "{target} would be kept as {kept}, which exists; move or remove it"
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

/// Refuses to write over anything but an empty folder, or an earlier import that may be replaced.
fn check_target(target: &Path, replace: bool) -> Result<(), ImportError> {
    let refuse = |reason: &str| {
        Err(ImportError::Folder(format!(
            "{} {reason}",
            target.display()
        )))
    };
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return refuse("is not a folder; choose another output folder");
    }
    let names = files_in(target).map_err(ResultsError::io("read", target))?;
    if names.is_empty() {
        return Ok(());
    }
    let Some(written) = written_files(target) else {
        return refuse(
            "exists and was not written by `fleetsim import`; choose another output folder",
        );
    };
    if !replace {
        return refuse("exists; add --replace, or choose another output folder");
    }
    match names
        .iter()
        .find(|name| *name != EXPERIMENT && !written.contains(name))
    {
        Some(name) => refuse(&format!(
            "has the file `{name}`, which would be lost; move it out of the folder"
        )),
        None => Ok(()),
    }
}

/// Returns true if two folders have the same files.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut names, mut others) = (files_in(one)?, files_in(other)?);
    names.sort();
    others.sort();
    let same = |name: &String| Ok(fs::read(one.join(name))? == fs::read(other.join(name))?);
    Ok(names == others
        && names
            .iter()
            .map(same)
            .collect::<io::Result<Vec<bool>>>()?
            .into_iter()
            .all(|same| same))
}

fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// The files that an earlier import wrote beside its experiment. `None`: no import wrote this folder.
fn written_files(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
    let names = text.lines().next()?.strip_prefix(HEADER)?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// A name for the experiment from that of its folder: lowercase letters, digits and `-`.
pub(super) fn experiment_name(folder: &Path) -> String {
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_lowercase() || c.is_ascii_digit() {
                c
            } else {
                '-'
            }
        })
        .collect();
    let plain = plain.trim_matches('-');
    let plain: String = plain.chars().take(63).collect();
    if plain.is_empty() {
        "imported".to_owned()
    } else {
        plain
    }
}

/// Reads a file that this import has written. It has the text of exports that the user named, so errors may quote it
/// wherever the folder is.
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

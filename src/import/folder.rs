//! The folder of an imported experiment: written aside, checked, and renamed as a whole.
//!
//! An existing folder is replaced only on request, and only where it holds nothing but what an earlier import wrote.
//! Hidden folders of killed imports are removed by the next import to the same place; one that was killed while it
//! replaced a folder has left it aside, and the next import puts it back.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::page::HEADER;
use crate::scenario::{LoadError, Overrides, Problem, load};

const EXPERIMENT: &str = "experiment.yaml";

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

/// A file of the hidden folder that its process keeps locked; the operating system releases it with the process.
const LOCK: &str = ".lock";

/// A folder that is being written. Dropped before it is published, it leaves nothing behind.
pub(super) struct StagedFolder {
    target: PathBuf,
    staging: PathBuf,
    /// Keeps [`LOCK`] locked.
    lock: fs::File,
}

impl StagedFolder {
    /// Starts a folder that will become `target`, after checking that it may.
    ///
    /// # Errors
    /// When `target` exists and must not be replaced, or nothing can be written beside it.
    pub(super) fn begin(target: &Path, replace: bool) -> Result<Self, ImportError> {
        let name = target.file_name().ok_or_else(|| {
            ImportError::Usage(format!("`{}` is no name for a folder; write e.g. `-o my-experiment`", target.display()))
        })?;
        let aside = target.with_file_name(hidden(name, "old"));
        if !target.exists() && aside.exists() {
            fs::rename(&aside, target).map_err(|error| failed("restore", target, &error))?;
        }
        check_target(target, replace)?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|error| failed("create the folder of", target, &error))?;
        remove_abandoned(parent, name);
        let staging = target.with_file_name(hidden(name, &format!("{NEW}{}", std::process::id())));
        let create = || {
            fs::create_dir(&staging)?;
            let lock = fs::File::create(staging.join(LOCK))?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = create().map_err(|error| failed("create", &staging, &error))?;
        Ok(Self { target: target.to_owned(), staging, lock })
    }

    /// Writes one file.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ImportError> {
        let path = self.staging.join(name);
        let write = || {
            let mut file = fs::File::create(&path)?;
            io::Write::write_all(&mut file, bytes)?;
            file.sync_all()
        };
        write().map_err(|error| failed("write", &path, &error))
    }

    /// Reads the experiment as `fleetsim check` does. Problems are shown with the names that `origin` gives files.
    /// Returns what the product accepts but a reader may not expect.
    ///
    /// # Errors
    /// Every problem of the experiment.
    pub(super) fn check(&self, origin: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, ImportError> {
        let rename = |problem: &mut Problem| {
            let name = Path::new(&problem.file).file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            problem.file = origin(&name).unwrap_or_else(|| self.target.join(name).display().to_string());
        };
        let experiment = load(&self.staging, &Overrides::default()).map_err(|mut error| {
            error.problems.iter_mut().for_each(rename);
            ImportError::Input(error)
        })?;
        let scenarios = experiment.variants.iter().map(|variant| &variant.scenario);
        Ok(scenarios.flat_map(|scenario| scenario.strategy.explain(scenario.fleet()).warnings).collect())
    }

    /// Renames the folder to the target. What was there is removed.
    ///
    /// # Errors
    /// When the file system fails; what was there then stays.
    pub(super) fn publish(self) -> Result<(), ImportError> {
        let target = &self.target;
        let _ = self.lock.unlock();
        let lock = self.staging.join(LOCK);
        fs::remove_file(&lock).map_err(|error| failed("remove", &lock, &error))?;
        let mut aside = None;
        if target.exists() {
            let old = target.with_file_name(hidden(target.file_name().unwrap_or_default(), "old"));
            // What an interrupted import has left there was replaced.
            let _ = fs::remove_dir_all(&old);
            fs::rename(target, &old).map_err(|error| failed("move aside", target, &error))?;
            aside = Some(old);
        }
        if let Err(error) = fs::rename(&self.staging, target) {
            if let Some(old) = &aside {
                let _ = fs::rename(old, target);
            }
            return Err(failed("create", target, &error));
        }
        if let Some(old) = aside {
            let _ = fs::remove_dir_all(old);
        }
        Ok(())
    }
}

/// What the name of a folder that is being written says of it.
const NEW: &str = "new-";

/// The name of a hidden folder beside `name`.
fn hidden(name: &OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".fleetsim-{what}"));
    hidden
}

/// Removes hidden folders whose process has ended. What cannot be removed now stays until the next import.
fn remove_abandoned(parent: &Path, name: &OsStr) {
    let prefix = hidden(name, NEW).to_string_lossy().into_owned();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_staging = entry.file_name().to_string_lossy().starts_with(&prefix);
        let is_in_use = || fs::File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_err());
        if is_staging && !is_in_use() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        // After a rename it no longer exists; otherwise a failure cannot be reported from here.
        let _ = fs::remove_dir_all(&self.staging);
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> ImportError {
    ImportError::Folder(format!("cannot {doing} {}: {error}", path.display()))
}

/// Refuses to write over anything but an empty folder, or an earlier import that may be replaced.
fn check_target(target: &Path, replace: bool) -> Result<(), ImportError> {
    let refuse = |reason: &str| Err(ImportError::Folder(format!("{} {reason}", target.display())));
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return refuse("is not a folder; choose another output folder");
    }
    let names = files_in(target).map_err(|error| failed("read", target, &error))?;
    if names.is_empty() {
        return Ok(());
    }
    let Some(written) = written_files(target) else {
        return refuse("exists and was not written by `fleetsim import`; choose another output folder");
    };
    if !replace {
        return refuse("exists; add --replace, or choose another output folder");
    }
    match names.iter().find(|name| *name != EXPERIMENT && !written.contains(name)) {
        Some(name) => refuse(&format!("has the file `{name}`, which would be lost; move it out of the folder")),
        None => Ok(()),
    }
}

fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The files that an earlier import wrote beside its experiment. `None`: no import wrote this folder.
fn written_files(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
    let names = text.lines().next()?.strip_prefix(HEADER)?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// A name for the experiment from that of its folder: lowercase letters, digits and `-`.
pub(super) fn experiment_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    let plain: String = plain.chars().take(63).collect();
    if plain.is_empty() { "imported".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_only_if_an_import_wrote_all_of_it() {
        let root = tempfile::tempdir().expect("a folder");
        let target = root.path().join("out");
        let begin = |replace| StagedFolder::begin(&target, replace).map(drop).map_err(|error| error.to_string());
        assert_eq!(begin(false), Ok(()), "it does not exist");
        fs::create_dir(&target).expect("made");
        assert_eq!(begin(false), Ok(()), "it is empty");
        fs::write(target.join("notes.txt"), "x").expect("written");
        assert!(
            begin(true)
                .expect_err("foreign")
                .ends_with("was not written by `fleetsim import`; choose another output folder")
        );
        fs::write(target.join(EXPERIMENT), format!("{HEADER}a.csv, b.json\nname: x\n")).expect("written");
        assert!(begin(false).expect_err("full").ends_with("exists; add --replace, or choose another output folder"));
        assert!(begin(true).expect_err("foreign").contains("has the file `notes.txt`, which would be lost"));
        fs::remove_file(target.join("notes.txt")).expect("removed");
        fs::write(target.join("a.csv"), "x").expect("written");
        assert_eq!(begin(true), Ok(()));
        let left: Vec<_> = files_in(root.path()).expect("read");
        assert_eq!(left, ["out"], "nothing is left behind");
    }

    #[test]
    fn an_experiment_is_named_after_its_folder() {
        for (folder, name) in
            [("my-experiment", "my-experiment"), ("a/B c_1/", "b-c-1"), ("..", "imported"), ("ä", "imported")]
        {
            assert_eq!(experiment_name(Path::new(folder)), name, "{folder}");
        }
    }
}

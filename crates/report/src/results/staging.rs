//! Writes a folder under a temporary name on the same file system, and renames it to its target as a whole.
//!
//! The former content of the target is moved aside first and removed afterwards. A killed process may leave behind its
//! hidden folder, the locked file next to it, or both; the next process with the same target removes them: only a file
//! that is still locked shows that its process is running. The target is missing only between the two renames; a
//! process that finds this state restores the former content.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::ResultsError;
use fleetsim_units::io::{NewFolders, Temporary, open_below, open_own, uninterrupted};

/// The suffix of the file that is locked while a process writes to a hidden folder.
const LOCK_ENDING: &str = ".lock";

/// A folder that is being written. If this value is dropped before the folder is published, nothing remains on disk.
#[derive(Debug)]
pub struct StagedFolder {
    target: PathBuf,
    folder: Temporary,
    /// This file is locked while this process writes to `folder`.
    _lock: LockedFile,
    /// This file is locked while this process simulates a study for the target.
    study_lock: Option<LockedFile>,
    /// Parent folders that were created for the target. They are dropped last, after the contents of the folders are
    /// gone.
    _parents: NewFolders,
}

/// An empty file that one process holds locked. The operating system releases the lock when the process ends.
#[derive(Debug)]
struct LockedFile {
    /// The path is dropped before the lock, so that no other process locks a file that is about to be removed.
    _path: Temporary,
    _file: File,
}

impl LockedFile {
    /// Opens the file and locks it. The file may be left over from a killed process; otherwise it is created. `None`:
    /// another process has locked it.
    fn take(path: PathBuf) -> std::io::Result<Option<Self>> {
        uninterrupted(|| {
            loop {
                let file = open_own(&path)?;
                match file.try_lock() {
                    Ok(()) => {}
                    Err(TryLockError::WouldBlock) => return Ok(None),
                    Err(TryLockError::Error(error)) => return Err(error),
                }
                // Another process may have removed the file between the two calls.
                if path.exists() {
                    return Ok(Some(Self {
                        _path: Temporary::new(path),
                        _file: file,
                    }));
                }
            }
        })
    }
}

impl StagedFolder {
    /// Starts a folder that will become `target`, unless `check` returns an error.
    ///
    /// # Errors
    /// Returns the error of `check`, or an error if nothing can be written next to `target`.
    pub fn begin<E: From<ResultsError>>(
        target: PathBuf,
        check: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Self, E> {
        let Some(name) = target.file_name().map(OsStr::to_owned) else {
            return Err(E::from(if target.is_dir() {
                ResultsError::Fixed(target, ErrorKind::ResourceBusy.into())
            } else {
                ResultsError::NotAFolder(target)
            }));
        };
        let parent = target.parent().map(Path::to_owned).unwrap_or_default();
        let parents =
            NewFolders::make(&parent).map_err(ResultsError::io("create the folder", &parent))?;
        restore(&target)?;
        check(&target)?;
        remove_abandoned(&parent, &name);
        let (folder, lock) = staged(&parent, &name)?;
        check_renameable(folder.path(), &target)?;
        Ok(Self {
            target,
            folder,
            _lock: lock,
            study_lock: None,
            _parents: parents,
        })
    }

    /// Prevents other studies with the same target until this value is dropped. Commands that only redraw results do
    /// not need this.
    ///
    /// # Errors
    /// Returns an error if another process has a study with this target, or the file system has no locks.
    pub fn begin_study(&mut self) -> Result<(), ResultsError> {
        let name = self.target.file_name().unwrap_or_default();
        let path = lock_path(&self.target.with_file_name(hidden(name, "new-study")));
        let lock = LockedFile::take(path.clone()).map_err(ResultsError::io("lock", &path))?;
        let Some(lock) = lock else {
            return Err(ResultsError::Busy(self.target.clone()));
        };
        self.study_lock = Some(lock);
        Ok(())
    }

    /// The folder to replace or create.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The folder that is being written. All files in it are published.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns whether the target exists, other than as an empty folder.
    pub fn replaces(&self) -> bool {
        self.target.exists() && !is_empty(&self.target)
    }

    /// Syncs all files to disk, and renames the folder to the target. With `replaces`, an existing target is replaced.
    /// Calls `then` before a signal can end the program.
    ///
    /// # Errors
    /// Returns an error if the file system fails, or the target exists and must not be replaced. It then stays
    /// unchanged.
    pub fn publish(
        &self,
        replaces: bool,
        then: impl FnOnce() -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let target = self.target.as_path();
        let folder = self.folder();
        sync_all(folder)?;
        uninterrupted(|| {
            if replaces {
                swap(target, folder)?;
            } else {
                // The target may be an empty folder, possibly created for this purpose.
                let _ = fs::remove_dir(target);
                fs::rename(folder, target).map_err(ResultsError::io("publish", target))?;
                sync_parent(target)?;
            }
            then()
        })
    }
}

/// Checks, before any work, that `target` can be replaced: renames `staging`, which is empty, to it. The system
/// refuses that for a mount point, and otherwise only if `target` has content, which stays unchanged.
fn check_renameable(staging: &Path, target: &Path) -> Result<(), ResultsError> {
    // Other systems never replace a folder by a rename.
    if !cfg!(unix) || !target.exists() {
        return Ok(());
    }
    uninterrupted(|| match fs::rename(staging, target) {
        Ok(()) => fs::create_dir(staging).map_err(ResultsError::io("create the folder", staging)),
        Err(error) => match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => Ok(()),
            _ => Err(ResultsError::Fixed(target.to_owned(), error)),
        },
    })
}

/// A new hidden folder for the results `name`, with its lock.
fn staged(parent: &Path, name: &OsStr) -> Result<(Temporary, LockedFile), ResultsError> {
    let mut attempt = 0_u32;
    loop {
        let staging = parent.join(hidden(
            name,
            &format!("new-{}-{attempt}", std::process::id()),
        ));
        let lock = LockedFile::take(lock_path(&staging))
            .map_err(ResultsError::io("create the folder", &staging))?;
        match lock {
            Some(lock) if !staging.exists() => return Ok((create_temporary(&staging)?, lock)),
            _ => attempt += 1,
        }
    }
}

/// Creates a folder that is removed when it is dropped.
fn create_temporary(path: &Path) -> Result<Temporary, ResultsError> {
    let created = uninterrupted(|| {
        let folder = Temporary::new(path.to_owned());
        fs::create_dir(folder.path()).map(|()| folder)
    });
    created.map_err(ResultsError::io("create the folder", path))
}

/// The file next to a hidden folder that is locked while a process writes to the folder.
fn lock_path(staging: &Path) -> PathBuf {
    let mut name = staging.file_name().unwrap_or_default().to_owned();
    name.push(LOCK_ENDING);
    staging.with_file_name(name)
}

/// Removes the hidden folders and the locks of killed processes. Anything that cannot be removed now stays until the
/// next run.
fn remove_abandoned(parent: &Path, name: &OsStr) {
    let prefix = hidden(name, "new-").to_string_lossy().into_owned();
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if found.starts_with(&prefix) {
            let folder = found.strip_suffix(LOCK_ENDING).unwrap_or(&found);
            remove_unless_locked(parent, folder);
        }
    }
}

/// Removes a hidden folder and its lock, either of which may be missing, unless its process is still running.
fn remove_unless_locked(parent: &Path, folder: &str) {
    let lock = format!("{folder}{LOCK_ENDING}");
    // This lock is held until both files are removed.
    let file = open_below(parent, &lock);
    if file.as_ref().is_ok_and(|file| file.try_lock().is_err()) {
        return;
    }
    let _ = fs::remove_dir_all(parent.join(folder));
    let _ = fs::remove_file(parent.join(lock));
}

/// The name of a hidden file or folder next to `name`.
pub(super) fn hidden(name: &OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".fleetsim-{what}"));
    hidden
}

/// Restores what a killed process had moved aside.
///
/// # Errors
/// Returns an error if the file system fails.
pub fn restore(target: &Path) -> Result<(), ResultsError> {
    let aside = aside(target);
    let is_aside = fs::symlink_metadata(&aside).is_ok_and(|found| found.is_dir());
    if is_aside && fs::symlink_metadata(target).is_err() {
        fs::rename(&aside, target).map_err(ResultsError::io("restore", target))?;
    }
    Ok(())
}

/// The path of earlier results while new ones replace them.
fn aside(target: &Path) -> PathBuf {
    target.with_file_name(hidden(target.file_name().unwrap_or_default(), "old"))
}

/// Replaces `target` with `staging`. If that fails, `target` stays unchanged.
pub(super) fn swap(target: &Path, staging: &Path) -> Result<(), ResultsError> {
    let aside = aside(target);
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(ResultsError::io("remove", &aside))?;
    }
    fs::rename(target, &aside).map_err(ResultsError::io("move aside", target))?;
    if let Err(error) = fs::rename(staging, target) {
        fs::rename(&aside, target).map_err(ResultsError::io("restore", target))?;
        return Err(ResultsError::io("publish", target)(error));
    }
    sync_parent(target)?;
    // The new results are published. If the earlier ones cannot be removed now, the next run tries again.
    let _ = fs::remove_dir_all(&aside);
    Ok(())
}

/// Returns whether a folder is readable and empty.
pub(super) fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Every file below `folder`, as its relative path with `/` and its full path; sorted by the relative path.
pub(super) fn files_below(folder: &Path) -> Result<BTreeMap<String, PathBuf>, ResultsError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(ResultsError::io("read", &folder))? {
            let entry = entry.map_err(ResultsError::io("read", &folder))?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry
                .file_type()
                .map_err(ResultsError::io("access", &entry.path()))?;
            if kind.is_dir() {
                folders.push((format!("{path}/"), entry.path()));
            } else {
                files.insert(path, entry.path());
            }
        }
    }
    Ok(files)
}

/// Syncs every file and folder below `folder` to disk, so that a rename never publishes empty files.
fn sync_all(folder: &Path) -> Result<(), ResultsError> {
    for file in files_below(folder)?.values() {
        sync(file)?;
        if let Some(parent) = file.parent()
            && parent != folder
        {
            sync(parent)?;
        }
    }
    sync(folder)
}

fn sync_parent(target: &Path) -> Result<(), ResultsError> {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync(parent),
        _ => sync(Path::new(".")),
    }
}

fn sync(path: &Path) -> Result<(), ResultsError> {
    fs::File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(ResultsError::io("sync", path))
}

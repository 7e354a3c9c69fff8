//! Files and folders that exist until something is finished: dropped, or removed at a signal, they leave nothing.
//!
//! A signal ends the program in another thread than the one that works. Both take the same lock, so a signal comes
//! either before a finished folder is renamed or after it, never in between. Left out: `SIGKILL`, which nobody can
//! answer; the next run removes what it leaves.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files and folders that a signal removes.
static LEFT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Folders that go if they are empty in the end, the deeper ones first.
static NEW: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while something is published, and from a signal to the end of the program.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// A file or folder that is removed when this is dropped, or by [`abandon`].
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Takes charge of a path where something is about to be created.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        LEFT.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone());
        Self { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        remove(&self.path);
        left.remove(&self.path);
    }
}

/// Folders that were made for something in them. Those that are empty in the end are removed, also by [`abandon`].
#[derive(Debug)]
pub struct NewFolders {
    /// The deepest comes first.
    folders: Vec<PathBuf>,
}

impl NewFolders {
    /// Makes a folder and those above it that are missing.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn make(folder: &Path) -> std::io::Result<Self> {
        let mut new = Self {
            folders: Vec::new(),
        };
        for above in folder.ancestors() {
            if above.as_os_str().is_empty() || above.exists() {
                break;
            }
            new.folders.push(above.to_owned());
        }
        NEW.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(&new.folders);
        uninterrupted(|| std::fs::create_dir_all(folder))?;
        Ok(new)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        let mut new = NEW.lock().unwrap_or_else(PoisonError::into_inner);
        remove_empty(&self.folders);
        new.retain(|folder| !self.folders.contains(folder));
    }
}

/// Removes folders that have nothing in them; others stay.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Creates a file in a folder that may be temporary, with the folders above it. After a signal nothing is created.
///
/// # Errors
/// When the file system fails.
pub fn create(path: &Path) -> std::io::Result<File> {
    uninterrupted(|| {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        File::create(path)
    })
}

/// Does what a signal must not cut in two.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _guard = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Removes everything that is not finished. From then on nothing is created, published or dropped, so that the program
/// ends by `end` and not by what the other threads miss.
pub fn abandon(end: impl FnOnce()) {
    let _guard = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    for path in left.iter() {
        remove(path);
    }
    remove_empty(&NEW.lock().unwrap_or_else(PoisonError::into_inner));
    end();
}

/// After a rename it no longer exists; otherwise a failure cannot be reported from here.
fn remove(path: &Path) {
    let _ = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
}

//! Files and folders that exist until something is finished. They are removed when dropped or when a signal arrives.
//!
//! Signals are handled in a separate thread, not in the one that does the work. Both take the same lock, so the
//! program ends either before a finished folder is renamed or after it, never in between. Left out: `SIGKILL`, which
//! cannot be caught; the next run removes the files that remain after it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files and folders that a signal removes.
static LEFT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// New folders that [`abandon`] removes if they are empty, deepest first.
static NEW: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while results are published, and from a signal until the program ends.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// A file or folder that is removed when this is dropped, or by [`abandon`].
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Registers a path where something is about to be created.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        LEFT.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone());
        Self { path }
    }

    /// Returns the path.
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

/// New folders for content. When this is dropped, or by [`abandon`], they are removed if they are empty.
#[derive(Debug)]
pub struct NewFolders {
    /// The folders, deepest first.
    folders: Vec<PathBuf>,
}

impl NewFolders {
    /// Creates a folder and its missing parents.
    ///
    /// # Errors
    /// If the file system reports an error.
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

/// Removes the folders that are empty.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Creates a file in a folder that may be temporary, and the folder's missing parents. After a signal it creates
/// nothing.
///
/// # Errors
/// If the file system reports an error.
pub fn create(path: &Path) -> std::io::Result<File> {
    uninterrupted(|| {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        File::create(path)
    })
}

/// Runs work that a signal must not interrupt halfway.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _guard = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Removes everything that is not finished. Afterwards nothing can be created, published or dropped, so the program
/// ends with `end` and not with an error of another thread.
pub fn abandon(end: impl FnOnce()) {
    let _guard = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    for path in left.iter() {
        remove(path);
    }
    remove_empty(&NEW.lock().unwrap_or_else(PoisonError::into_inner));
    end();
}

/// After a rename the path no longer exists. Other failures cannot be reported from here.
fn remove(path: &Path) {
    let _ = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
}

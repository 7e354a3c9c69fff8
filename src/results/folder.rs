//! Publishes a results folder as a whole or not at all.
//!
//! New results are written to a hidden folder beside the target, on the same file system, and renamed to the target
//! once they are complete and on disk. Earlier results of the same experiment are moved aside first and removed
//! afterwards; anything else with the target's name is left untouched. A run that is killed leaves its hidden folder
//! behind, and the next run with the same target removes it: a locked file beside a hidden folder shows that its process
//! still runs. Only between the two renames does the target not exist; a run that finds this state restores the earlier
//! results first.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::provenance::{sha256, to_json};
use super::{
    BuildInfo, CALIBRATION_FILE, FileDigest, PLAN_FILE, PROVENANCE_FILE, Provenance, RESOLVED_FILE, ResultsError,
    SENSITIVITY_FILE, SNIPPET_FILE,
};

/// Ends the name of the file that is locked while a process writes to a hidden folder.
const LOCK_ENDING: &str = ".lock";

/// A results folder that is being written. Dropped without [`Publication::publish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Publication {
    target: PathBuf,
    staging: PathBuf,
    /// Locked while this process writes to `staging`; the operating system releases it with the process.
    lock: (PathBuf, File),
    provenance: Provenance,
}

/// Comparison of published results to those that they replaced.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Published {
    /// There were no earlier results.
    New,
    /// They are identical byte by byte.
    Reproduced,
    /// They differ.
    Differs {
        /// The files that differ or exist on one side only, relative to the folder, sorted.
        files: Vec<String>,
    },
}

impl Publication {
    /// Starts a folder that will become `target`, after checking that it may.
    ///
    /// # Errors
    /// When `target` exists and is not a folder with earlier results of the same experiment, or when no folder can be
    /// created beside it.
    pub fn begin(target: &Path, provenance: Provenance) -> Result<Self, ResultsError> {
        let target = resolve(target)?;
        let name = target.file_name().ok_or_else(|| ResultsError::NotAFolder(target.clone()))?.to_owned();
        let parent = target.parent().map(Path::to_owned).unwrap_or_default();
        fs::create_dir_all(&parent).map_err(ResultsError::io("create the folder", &parent))?;
        let aside = aside(&target);
        if !target.exists() && aside.exists() {
            fs::rename(&aside, &target).map_err(ResultsError::io("restore", &target))?;
        }
        check_replaceable(&target, &provenance.experiment)?;
        remove_abandoned(&parent, &name);
        let (staging, lock) = staged(&parent, &name)?;
        Ok(Self { target, staging, lock, provenance })
    }

    /// Starts a folder that will replace the results in `target`, with the same tables, to redraw what is derived from
    /// them.
    ///
    /// # Errors
    /// When `target` is not a results folder, contains a foreign file or a modified table, or when the file system fails.
    pub fn renew(target: &Path) -> Result<Self, ResultsError> {
        let provenance = Provenance::read(target)?.ok_or_else(|| ResultsError::Foreign(target.to_owned()))?;
        let is_table = |file: &&FileDigest| {
            let is_record = [PLAN_FILE, SENSITIVITY_FILE, CALIBRATION_FILE, SNIPPET_FILE].contains(&file.path.as_str());
            is_record || [".csv", ".parquet"].iter().any(|kind| file.path.ends_with(kind))
        };
        let tables: Vec<FileDigest> = provenance.files.iter().filter(is_table).cloned().collect();
        // Copies of inputs are often left out of what is shared.
        let copies = provenance.inputs.iter().filter_map(FileDigest::copy);
        let copies = copies.chain([RESOLVED_FILE.to_owned()]);
        let inputs: Vec<String> = copies.filter(|copy| target.join(copy).is_file()).collect();
        let renewed = Self::begin(target, provenance)?;
        for copy in inputs {
            renewed.write(&copy, &read(&target.join(&copy))?)?;
        }
        for table in tables {
            renewed.write(&table.path, &unchanged(target, &table)?)?;
        }
        Ok(renewed)
    }

    /// The folder to replace or create, with links resolved.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The folder that is being written: all files in it get published.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.staging
    }

    /// The provenance, to be completed before the folder is published.
    pub const fn provenance_mut(&mut self) -> &mut Provenance {
        &mut self.provenance
    }

    /// Writes one file, and the provenance beside it, so that the folder can be read as results from then on.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        write(&self.staging.join(name), bytes)?;
        write(&self.staging.join(PROVENANCE_FILE), &to_json(&self.provenance))
    }

    /// Writes a file piece by piece.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ResultsError> {
        let path = self.staging.join(name);
        let file = File::create(&path).map_err(ResultsError::io("write", &path))?;
        let mut out = BufWriter::new(file);
        write(&mut out).and_then(|()| out.flush()).map_err(ResultsError::io("write", &path))?;
        self::write(&self.staging.join(PROVENANCE_FILE), &to_json(&self.provenance))
    }

    /// Lists all files in the provenance, syncs them to disk, and renames the folder to the target.
    ///
    /// # Errors
    /// When the file system fails, or `target` has changed in the meantime. Earlier results then stay unchanged.
    pub fn publish(mut self) -> Result<Published, ResultsError> {
        let published = self.complete()?;
        if published == Published::New {
            // An empty folder, perhaps made for the results.
            let _ = fs::remove_dir(&self.target);
            fs::rename(&self.staging, &self.target).map_err(ResultsError::io("publish", &self.target))?;
            sync_parent(&self.target)?;
        } else {
            swap(&self.target, &self.staging)?;
        }
        Ok(published)
    }

    /// Adds missing files to earlier results. When any file differs from what the earlier results hold or list, they
    /// stay as they are.
    ///
    /// # Errors
    /// As for [`Publication::publish`].
    pub fn fill_in(mut self) -> Result<Published, ResultsError> {
        let published = self.complete()?;
        if published == Published::Reproduced {
            swap(&self.target, &self.staging)?;
        }
        Ok(published)
    }

    /// Lists all files in the provenance, writes them to disk, and compares them with earlier results.
    fn complete(&mut self) -> Result<Published, ResultsError> {
        self.provenance.files.clear();
        for (path, file) in files_below(&self.staging)?.into_iter().filter(|(path, _)| path != PROVENANCE_FILE) {
            self.provenance.files.push(FileDigest { path, sha256: sha256(&read(&file)?) });
        }
        write(&self.staging.join(PROVENANCE_FILE), &to_json(&self.provenance))?;
        sync_all(&self.staging)?;
        check_replaceable(&self.target, &self.provenance.experiment)?;
        if self.target.exists() && !is_empty(&self.target) {
            compare(&self.target, &self.staging)
        } else {
            Ok(Published::New)
        }
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        // After a rename it no longer exists; otherwise a failure cannot be reported from here.
        let _ = fs::remove_dir_all(&self.staging);
        let (path, file) = &self.lock;
        let _ = file.unlock();
        let _ = fs::remove_file(path);
    }
}

/// A new hidden folder for the results `name`, with its lock.
fn staged(parent: &Path, name: &OsStr) -> Result<(PathBuf, (PathBuf, File)), ResultsError> {
    let mut attempt = 0_u32;
    loop {
        let staging = parent.join(hidden(name, &format!("new-{}-{attempt}", std::process::id())));
        let lock = lock_path(&staging);
        let file = File::create(&lock).map_err(ResultsError::io("create the folder", &staging))?;
        if file.try_lock().is_ok() {
            match fs::create_dir(&staging) {
                Ok(()) => return Ok((staging, (lock, file))),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = fs::remove_file(&lock);
                    return Err(ResultsError::io("create the folder", &staging)(error));
                }
            }
        }
        attempt += 1;
    }
}

/// The bytes of a table, as fleetsim wrote them.
fn unchanged(folder: &Path, table: &FileDigest) -> Result<Vec<u8>, ResultsError> {
    let path = folder.join(&table.path);
    if !path.exists() {
        return Err(ResultsError::Missing { path, folder: folder.to_owned() });
    }
    let bytes = read(&path)?;
    if sha256(&bytes) == table.sha256 { Ok(bytes) } else { Err(ResultsError::Changed(path)) }
}

/// The file beside a hidden folder that is locked while a process writes to the folder.
fn lock_path(staging: &Path) -> PathBuf {
    let mut name = staging.file_name().unwrap_or_default().to_owned();
    name.push(LOCK_ENDING);
    staging.with_file_name(name)
}

/// Removes hidden folders of killed processes. Whatever cannot be removed now stays until the next run.
fn remove_abandoned(parent: &Path, name: &OsStr) {
    let prefix = hidden(name, "new-").to_string_lossy().into_owned();
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if !found.starts_with(&prefix) || found.ends_with(LOCK_ENDING) {
            continue;
        }
        let lock = lock_path(&entry.path());
        let is_in_use = File::open(&lock).is_ok_and(|file| file.try_lock().is_err());
        if !is_in_use {
            let _ = fs::remove_dir_all(entry.path());
            let _ = fs::remove_file(&lock);
        }
    }
}

/// Resolves links, so that the new folder is created on the file system of the old one.
fn resolve(target: &Path) -> Result<PathBuf, ResultsError> {
    match fs::symlink_metadata(target) {
        Ok(_) => fs::canonicalize(target).map_err(|_| ResultsError::NotAFolder(target.to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(target.to_owned()),
        Err(error) => Err(ResultsError::io("access", target)(error)),
    }
}

pub(super) fn hidden(name: &OsStr, what: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".fleetsim-{what}"));
    hidden
}

/// Where earlier results are kept while new ones replace them.
fn aside(target: &Path) -> PathBuf {
    target.with_file_name(hidden(target.file_name().unwrap_or_default(), "old"))
}

/// Replaces `target` with `staging`. If that fails, `target` stays unchanged.
fn swap(target: &Path, staging: &Path) -> Result<(), ResultsError> {
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
    // The new results are in place. If the earlier ones cannot be removed now, the next run tries again.
    let _ = fs::remove_dir_all(&aside);
    Ok(())
}

/// Refuses to replace anything but earlier results of `experiment`, or a folder with unlisted files.
fn check_replaceable(target: &Path, experiment: &str) -> Result<(), ResultsError> {
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(ResultsError::NotAFolder(target.to_owned()));
    }
    if is_empty(target) {
        return Ok(());
    }
    let earlier = Provenance::read(target)?.ok_or_else(|| ResultsError::Foreign(target.to_owned()))?;
    if earlier.experiment != experiment {
        return Err(ResultsError::OtherExperiment {
            path: target.to_owned(),
            found: earlier.experiment,
            wanted: experiment.to_owned(),
        });
    }
    for (path, file) in files_below(target)? {
        if path != PROVENANCE_FILE && earlier.files.iter().all(|listed| listed.path != path) {
            return Err(ResultsError::UnlistedFile(file));
        }
    }
    Ok(())
}

/// Whether a folder is readable and has nothing in it.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn compare(old: &Path, new: &Path) -> Result<Published, ResultsError> {
    let (old, new) = (checksums(old)?, checksums(new)?);
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let files: Vec<String> = all.into_iter().filter(|path| old.get(*path) != new.get(*path)).cloned().collect();
    Ok(if files.is_empty() { Published::Reproduced } else { Published::Differs { files } })
}

/// The checksum of every file of a results folder; that of the provenance without the build. A file that is not there counts as the provenance lists it, because
/// bulky files are often left out of what is shared.
fn checksums(folder: &Path) -> Result<BTreeMap<String, String>, ResultsError> {
    let listed = Provenance::read(folder)?.map_or_else(Vec::new, |provenance| provenance.files);
    let mut checksums: BTreeMap<String, String> = listed.into_iter().map(|file| (file.path, file.sha256)).collect();
    for (path, file) in files_below(folder)? {
        let is_provenance = path == PROVENANCE_FILE;
        let known = if is_provenance { Provenance::read(folder)? } else { None };
        let bytes = match known {
            // Another build may give the same results.
            Some(known) => to_json(&Provenance { build: BuildInfo::default(), ..known }),
            None => read(&file)?,
        };
        checksums.insert(path, sha256(&bytes));
    }
    Ok(checksums)
}

/// Every file below `folder`: its relative path with `/`, and its path; sorted by the former.
fn files_below(folder: &Path) -> Result<BTreeMap<String, PathBuf>, ResultsError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(ResultsError::io("read", &folder))? {
            let entry = entry.map_err(ResultsError::io("read", &folder))?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(ResultsError::io("access", &entry.path()))?;
            if kind.is_dir() {
                folders.push((format!("{path}/"), entry.path()));
            } else {
                files.insert(path, entry.path());
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, ResultsError> {
    fs::read(path).map_err(ResultsError::io("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ResultsError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(ResultsError::io("create the folder", parent))?;
    }
    fs::write(path, bytes).map_err(ResultsError::io("write", path))
}

/// Syncs every file and folder below `folder` to disk, so that a rename never publishes empty files.
fn sync_all(folder: &Path) -> Result<(), ResultsError> {
    for file in files_below(folder)?.values() {
        sync(file)?;
        if let Some(parent) = file.parent().filter(|parent| *parent != folder) {
            sync(parent)?;
        }
    }
    sync(folder)
}

fn sync_parent(target: &Path) -> Result<(), ResultsError> {
    sync(target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn sync(path: &Path) -> Result<(), ResultsError> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(ResultsError::io("sync", path))
}

#[cfg(test)]
mod tests;

//! Publishes a results folder as a whole or not at all.
//!
//! New results are staged next to the target ([`super::staging`]). Earlier results of the same experiment are
//! replaced; anything else at the target's path is left untouched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::causes::CAUSES_FILE;
use super::journal::Journal;
use super::provenance::{sha256, to_json};
use super::staging::{StagedFolder, files_below, is_empty};
use super::uncertainty::UNCERTAINTY_FILES;
use super::{
    BuildInfo, CALIBRATION_FILE, FileDigest, INPUTS_FOLDER, PLAN_FILE, PROVENANCE_FILE, Provenance,
    RESOLVED_FILE, ResultsError, SENSITIVITY_FILE, SNIPPET_FILE, Tables,
};
use fleetsim_units::io::{create, read_below};

/// Files of results that are checked like tables.
const RECORDS: [&str; 4] = [PLAN_FILE, SENSITIVITY_FILE, CALIBRATION_FILE, SNIPPET_FILE];

/// A results folder that is being written. If this value is dropped without [`Publication::publish`], nothing remains
/// on disk.
#[derive(Debug)]
pub struct Publication {
    staging: StagedFolder,
    provenance: Provenance,
    /// Input copies that the replaced results list, but that their folder does not contain.
    left_out: Vec<FileDigest>,
}

/// Comparison of published results with those that they replaced.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Published {
    /// There were no earlier results.
    New,
    /// The new results are identical to the earlier ones byte by byte.
    Reproduced,
    /// The new results differ from the earlier ones.
    Differs {
        /// The files that differ or exist on one side only, relative to the folder, sorted.
        files: Vec<String>,
    },
}

impl Publication {
    /// Starts a folder that will become `target`, after checking that `target` may be replaced.
    ///
    /// # Errors
    /// Returns an error if `target` exists and is not a folder with earlier results of the same experiment, or if no
    /// folder can be created next to it.
    pub fn begin(target: &Path, provenance: Provenance) -> Result<Self, ResultsError> {
        Ok(Self {
            staging: StagedFolder::begin(resolve(target)?, |target| {
                check_replaceable(target, &provenance.experiment)
            })?,
            provenance,
            left_out: Vec::new(),
        })
    }

    /// Starts a folder that will replace the results in `target`, with the same tables, to redraw the derived files.
    ///
    /// # Errors
    /// Returns an error if `target` is not a results folder, contains a foreign file or a modified table, or if the
    /// file system fails.
    pub fn renew(target: &Path) -> Result<Self, ResultsError> {
        let provenance = Provenance::of_results(target)?;
        // Inputs that the folder contains are kept. Shared folders often leave out copies of inputs.
        let mut inputs: BTreeSet<String> = files_below(target)?.into_keys().collect();
        inputs.retain(|path| is_input_copy(path));
        let tables: Vec<FileDigest> = listed_tables(target, &provenance)?.cloned().collect();
        let mut left_out = provenance.files.clone();
        left_out.retain(|file| is_input_copy(&file.path) && !inputs.contains(&file.path));
        let renewed = Self {
            left_out,
            ..Self::begin(target, provenance)?
        };
        for copy in inputs {
            renewed.write(&copy, &read(target, &copy)?)?;
        }
        for table in tables {
            renewed.write(&table.path, &unchanged(target, &table)?)?;
        }
        Ok(renewed)
    }

    /// Reserves the folder: no other study can use it until this one is published or dropped.
    ///
    /// # Errors
    /// Returns an error if another process has a study that will be published there, or the file system has no locks.
    pub fn begin_study(&mut self) -> Result<(), ResultsError> {
        self.staging.begin_study()
    }

    /// The folder to replace or create, with links resolved.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.staging.target()
    }

    /// The folder that is being written. All files in it are published.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.staging.folder()
    }

    /// The provenance, to be completed before the folder is published.
    pub const fn provenance_mut(&mut self) -> &mut Provenance {
        &mut self.provenance
    }

    /// Writes one file, and the provenance next to it, so that the folder can already be read as results.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        self.write_with(name, |out| out.write_all(bytes))
    }

    /// Writes a file piece by piece.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ResultsError> {
        let path = self.folder().join(name);
        let file = create(&path).map_err(ResultsError::io("write", &path))?;
        let mut out = BufWriter::new(file);
        write(&mut out)
            .and_then(|()| out.flush())
            .map_err(ResultsError::io("write", &path))?;
        self::write(
            &self.folder().join(PROVENANCE_FILE),
            &to_json(&self.provenance),
        )
    }

    /// Lists all files in the provenance, syncs them to disk, and renames the folder to the target.
    ///
    /// # Errors
    /// Returns an error if the file system fails, or `target` has changed in the meantime. Earlier results then stay
    /// unchanged.
    pub fn publish(self) -> Result<Published, ResultsError> {
        self.publish_study(false, None)
    }

    /// Like [`Publication::publish`], but then also removes the journal of the study; no signal is handled in between.
    /// With `only_adds`, missing files are added to earlier results, and nothing changes if any file differs from the
    /// content that the earlier results hold or list.
    ///
    /// # Errors
    /// See [`Publication::publish`].
    pub fn publish_study(
        mut self,
        only_adds: bool,
        journal: Option<Journal>,
    ) -> Result<Published, ResultsError> {
        let published = self.complete()?;
        if !only_adds || published == Published::Reproduced {
            self.staging
                .publish(published != Published::New, || finish(journal))?;
        } else {
            finish(journal)?;
        }
        Ok(published)
    }

    /// Lists all files in the provenance, writes them to disk, and compares them with earlier results.
    fn complete(&mut self) -> Result<Published, ResultsError> {
        self.provenance.files.clear();
        for path in files_below(self.folder())?.into_keys() {
            if path != PROVENANCE_FILE {
                let sha256 = sha256(&read(self.folder(), &path)?);
                self.provenance.files.push(FileDigest { path, sha256 });
            }
        }
        self.provenance.files.append(&mut self.left_out);
        self.provenance.files.sort_by(|a, b| a.path.cmp(&b.path));
        write(
            &self.folder().join(PROVENANCE_FILE),
            &to_json(&self.provenance),
        )?;
        check_replaceable(self.target(), &self.provenance.experiment)?;
        match self.staging.replaces() {
            true => compare(self.target(), self.folder()),
            false => Ok(Published::New),
        }
    }
}

/// Returns whether a file of a results folder is a copy of an input, or the complete experiment.
fn is_input_copy(path: &str) -> bool {
    path == RESOLVED_FILE || Path::new(path).starts_with(INPUTS_FOLDER)
}

/// Removes the journal of a study whose results are published.
fn finish(journal: Option<Journal>) -> Result<(), ResultsError> {
    match journal {
        Some(journal) => journal.finish(),
        None => Ok(()),
    }
}

/// Checks that the tables of a results folder are unmodified since fleetsim wrote them.
///
/// # Errors
/// Returns an error if a table is missing or was modified, or there are no results.
pub fn check_tables(folder: &Path) -> Result<(), ResultsError> {
    let provenance = Provenance::of_results(folder)?;
    for table in listed_tables(folder, &provenance)? {
        unchanged(folder, table)?;
    }
    Ok(())
}

/// The tables of a results folder that its provenance lists. fleetsim reads no other tables.
fn listed_tables<'p>(
    folder: &Path,
    provenance: &'p Provenance,
) -> Result<impl Iterator<Item = &'p FileDigest>, ResultsError> {
    let tables = Tables::FILES.iter().map(|(name, _)| *name);
    for name in tables
        .chain(UNCERTAINTY_FILES)
        .chain([CAUSES_FILE])
        .chain(RECORDS)
    {
        let path = folder.join(name);
        let is_listed = provenance.files.iter().any(|file| file.path == name);
        if !is_listed && path.exists() {
            return Err(ResultsError::Unlisted(path));
        }
    }
    Ok(provenance.files.iter().filter(|file| is_table(&file.path)))
}

/// Returns whether a file of a results folder is a table, or is checked like one.
fn is_table(path: &str) -> bool {
    RECORDS.contains(&path) || path.ends_with(".csv") || path.ends_with(".parquet")
}

/// The bytes of a table, as fleetsim wrote them.
fn unchanged(folder: &Path, table: &FileDigest) -> Result<Vec<u8>, ResultsError> {
    let path = folder.join(&table.path);
    if !path.exists() {
        return Err(ResultsError::Missing {
            path,
            folder: folder.to_owned(),
        });
    }
    let bytes = read(folder, &table.path)?;
    if sha256(&bytes) == table.sha256 {
        Ok(bytes)
    } else {
        Err(ResultsError::Changed(path))
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
    let earlier =
        Provenance::read(target)?.ok_or_else(|| ResultsError::Foreign(target.to_owned()))?;
    if earlier.experiment != experiment {
        return Err(ResultsError::OtherExperiment {
            path: target.to_owned(),
            found: earlier.experiment,
            wanted: experiment.to_owned(),
        });
    }
    let mut listed: BTreeSet<&str> = BTreeSet::from([PROVENANCE_FILE]);
    listed.extend(earlier.files.iter().map(|file| file.path.as_str()));
    for (path, file) in files_below(target)? {
        if !listed.contains(path.as_str()) {
            return Err(ResultsError::UnlistedFile(file));
        }
    }
    Ok(())
}

fn compare(old: &Path, new: &Path) -> Result<Published, ResultsError> {
    let old = checksums(old)?;
    let new = checksums(new)?;
    let mut paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    paths.retain(|path| old.get(*path) != new.get(*path));
    let files: Vec<String> = paths.into_iter().cloned().collect();
    Ok(if files.is_empty() {
        Published::Reproduced
    } else {
        Published::Differs { files }
    })
}

/// The checksum of every file of a results folder; the checksum of the provenance excludes the build. A missing file
/// has the checksum that the provenance lists for it, because bulky files are often left out when results are shared.
fn checksums(folder: &Path) -> Result<BTreeMap<String, String>, ResultsError> {
    let known = Provenance::read(folder)?;
    let mut checksums: BTreeMap<String, String> = BTreeMap::new();
    for file in known.iter().flat_map(|provenance| &provenance.files) {
        checksums.insert(file.path.clone(), file.sha256.clone());
    }
    for path in files_below(folder)?.into_keys() {
        let bytes = match &known {
            // The same results may come from another build.
            Some(known) if path == PROVENANCE_FILE => to_json(&Provenance {
                build: BuildInfo::default(),
                ..known.clone()
            }),
            _ => read(folder, &path)?,
        };
        checksums.insert(path, sha256(&bytes));
    }
    Ok(checksums)
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, ResultsError> {
    read_below(folder, name).map_err(ResultsError::io("read", &folder.join(name)))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ResultsError> {
    create(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(ResultsError::io("write", path))
}

#[cfg(test)]
mod tests;

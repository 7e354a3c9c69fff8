//! Saves the finished runs of a study in progress, so that an interrupted or killed study can be resumed.
//!
//! A journal belongs to the user who made it: it is a file in a folder that only this user can write to
//! ([`state_folder`]). It is not next to the results, where it could have arrived with somebody else's experiment or
//! results, and a forged run looks like any other. Its name is the SHA-256 of the path of the results, with links
//! resolved. It starts with the study's key and gets one entry for each finished run, in the order in which runs
//! finish ([`super::saved_runs`]). An entry truncated by a kill or a full disk is removed, and its run is simulated
//! again.
//!
//! Why not sign a journal next to the results? A signature needs cryptography and a secret, which would be in the same
//! folder. Why not one file for each run, written under another name and renamed? A study may have 10,000 runs, and an
//! entry that is verified on reading is equally safe.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::provenance::sha256;
use super::saved_runs::{self, HEAD_BYTES};
use super::shard::{RunId, StudyShard};
use super::staging::hidden;
use super::{ResultsError, RunRecord, SHARD_RUNS_FILE};
use fleetsim_units::io::{open_own, state_folder, uninterrupted};

/// The suffix of every journal's name.
const ENDING: &str = ".runs";

/// A journal that has not been resumed for this duration is removed by the next study, whichever results it belongs
/// to.
const FORGOTTEN: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The finished runs of a study in progress. The file stays on disk when this is dropped; [`Journal::finish`] removes
/// it.
#[derive(Debug)]
pub struct Journal {
    file: Option<JournalFile>,
    /// The runs of a shard without a file.
    in_memory: Mutex<BTreeMap<RunId, RunRecord>>,
    kept: Mutex<HashMap<RunId, RunRecord>>,
    found: usize,
    saved: SavedRuns,
    shard: Option<StudyShard>,
}

/// The runs in a journal's file. Clones refer to the same journal.
#[derive(Clone, Debug, Default)]
pub struct SavedRuns {
    /// The file. `None`: no run is saved.
    journal: Option<PathBuf>,
    count: Arc<AtomicUsize>,
}

impl SavedRuns {
    /// Number of runs so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns whether the results of these runs are published, and the journal is removed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.journal
            .as_ref()
            .is_some_and(|journal| !journal.exists())
    }

    /// Removes a journal without runs. If that fails now, the journal is removed when it expires.
    pub fn remove_if_empty(&self) {
        if let Some(journal) = &self.journal
            && self.count() == 0
        {
            let _ = fs::remove_file(journal);
        }
    }
}

#[derive(Debug)]
struct JournalFile {
    path: PathBuf,
    /// The file, locked so that two studies never write to one journal.
    file: Mutex<File>,
}

impl Journal {
    /// Opens the user's journal of the results at `target`, and reads the runs that an earlier study saved. `key`
    /// identifies runs by program, inputs and seed. Runs saved under another key are discarded.
    ///
    /// # Errors
    /// Returns an error if another study is writing the same results, or the user has no writable state folder.
    pub fn open(target: &Path, key: &[u8]) -> Result<Self, ResultsError> {
        let folder = state_folder().map_err(ResultsError::NoState)?;
        Self::open_in(&folder, target, key)
    }

    /// Like [`Journal::open`], with journals in `folder`, which only the user can write to.
    ///
    /// # Errors
    /// Returns an error if another study is writing the same results, or the file system fails.
    pub fn open_in(folder: &Path, target: &Path, key: &[u8]) -> Result<Self, ResultsError> {
        remove_forgotten(folder);
        let path = folder.join(name_of(target)?);
        let mut file = open_own(&path).map_err(ResultsError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ResultsError::Busy(target.to_owned())),
            Err(TryLockError::Error(source)) => {
                return Err(ResultsError::io("lock", &path)(source));
            }
        }
        let saved = saved_runs::read_file(&mut BufReader::new(&file), key)
            .map_err(ResultsError::io("read", &path))?;
        file.set_len(saved.bytes)
            .map_err(ResultsError::io("truncate", &path))?;
        file.seek(SeekFrom::End(0))
            .map_err(ResultsError::io("read", &path))?;
        if saved.bytes == 0 {
            file.write_all(&saved_runs::head(key))
                .map_err(ResultsError::io("write", &path))?;
        }
        let kept: HashMap<RunId, RunRecord> = saved.runs.into_iter().collect();
        let saved = SavedRuns {
            journal: Some(path.clone()),
            count: Arc::new(AtomicUsize::new(kept.len())),
        };
        Ok(Self {
            found: kept.len(),
            kept: Mutex::new(kept),
            saved,
            file: Some(JournalFile {
                path,
                file: Mutex::new(file),
            }),
            ..Self::unsaved()
        })
    }

    /// Creates a journal without a file: it contains no runs, and saves none for another study.
    #[must_use]
    pub fn unsaved() -> Self {
        Self {
            file: None,
            in_memory: Mutex::default(),
            kept: Mutex::default(),
            found: 0,
            saved: SavedRuns::default(),
            shard: None,
        }
    }

    /// The path of a file with runs next to the results at `target`, where versions before 0.3 had their journals, if
    /// that file exists. The program never reads that file, because somebody else may have added it to the results.
    #[must_use]
    pub fn beside(target: &Path) -> Option<PathBuf> {
        let path = target.with_file_name(hidden(target.file_name()?, "runs"));
        fs::symlink_metadata(&path).is_ok().then_some(path)
    }

    /// Limits the study to the runs of a shard, if there is one.
    #[must_use]
    pub fn limited_to(self, shard: Option<StudyShard>) -> Self {
        Self { shard, ..self }
    }

    /// The shard that the study is limited to.
    #[must_use]
    pub const fn shard(&self) -> Option<StudyShard> {
        self.shard
    }

    /// Returns whether this study simulates a given run if no journal has it.
    #[must_use]
    pub fn owns(&self, id: RunId) -> bool {
        self.shard.is_none_or(|shard| shard.owns(id))
    }

    /// Adds runs that other processes simulated. They are not saved in this journal, and saved runs take precedence.
    pub fn add(&self, runs: Vec<(RunId, RunRecord)>) {
        let mut kept = self.kept.lock().expect("no holder panics");
        for (id, run) in runs {
            kept.entry(id).or_insert(run);
        }
    }

    /// Returns all runs of a shard, simulated now or by an earlier study, as the bytes of a file, and their number.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub fn shard_runs(&self, key: &[u8]) -> Result<(u64, Vec<u8>), ResultsError> {
        let mut runs = self.in_memory.lock().expect("no holder panics").clone();
        if let Some(journal) = &self.file {
            let mut file = journal.file.lock().expect("no holder panics");
            let saved = entries_in(&mut file).map_err(ResultsError::io("read", &journal.path))?;
            // If a run was simulated again for its details, the last of its entries counts.
            runs.extend(saved);
        }
        let bytes = saved_runs::file_of(key, &runs)
            .map_err(ResultsError::io("write", Path::new(SHARD_RUNS_FILE)))?;
        Ok((runs.len() as u64, bytes))
    }

    /// Number of runs that an earlier study saved.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.found
    }

    /// The runs in the journal's file, including those that are saved later.
    #[must_use]
    pub const fn saved(&self) -> &SavedRuns {
        &self.saved
    }

    /// Returns a run if an earlier study saved it; only the first call returns it. The caller must check that it is
    /// the run with this number in the current study.
    #[must_use]
    pub fn take(&self, id: RunId) -> Option<RunRecord> {
        self.kept.lock().expect("no holder panics").remove(&id)
    }

    /// Saves a finished run. A signal is handled before or after the write.
    ///
    /// # Errors
    /// Returns an error if the file system fails, for instance because the disk is full. Runs saved before are kept.
    pub fn keep(&self, id: RunId, run: &RunRecord) -> Result<(), ResultsError> {
        let Some(journal) = &self.file else {
            if self.shard.is_some() {
                let mut in_memory = self.in_memory.lock().expect("no holder panics");
                in_memory.insert(id, run.clone());
            }
            return Ok(());
        };
        self.append(journal, id, run)
            .map_err(ResultsError::io("save a finished run in", &journal.path))
    }

    /// Appends a run to the file. A signal is handled before or after the write.
    fn append(&self, journal: &JournalFile, id: RunId, run: &RunRecord) -> io::Result<()> {
        let entry = saved_runs::entry(id, run)?;
        let mut file = journal.file.lock().expect("no holder panics");
        uninterrupted(|| {
            file.write_all(&entry)?;
            self.saved.count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Removes the journal after the results are published.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub fn finish(self) -> Result<(), ResultsError> {
        match &self.file {
            Some(JournalFile { path, .. }) => {
                fs::remove_file(path).map_err(ResultsError::io("remove", path))
            }
            None => Ok(()),
        }
    }
}

/// Reads the runs of a journal's file; the file position is at the end afterwards.
fn entries_in(file: &mut File) -> io::Result<Vec<(RunId, RunRecord)>> {
    file.seek(SeekFrom::Start(HEAD_BYTES))?;
    let saved = saved_runs::read_entries(&mut BufReader::new(&*file))?;
    file.seek(SeekFrom::End(0))?;
    Ok(saved.runs)
}

/// The name of the journal of the results at `target`: equal for all paths to the same folder.
fn name_of(target: &Path) -> Result<String, ResultsError> {
    let name = target
        .file_name()
        .ok_or_else(|| ResultsError::NotAFolder(target.to_owned()))?;
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let place = parent
        .canonicalize()
        .map_err(ResultsError::io("access", parent))?
        .join(name);
    let digest = sha256(place.as_os_str().as_encoded_bytes());
    Ok(format!("{digest}{ENDING}"))
}

/// Removes the journals of studies that were not resumed. Files that cannot be removed stay.
fn remove_forgotten(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().ends_with(ENDING)
            && is_forgotten(&entry.path()).unwrap_or(false)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether nothing has been written to this journal for a long time, and no study uses it.
fn is_forgotten(path: &Path) -> std::io::Result<bool> {
    let modified = fs::metadata(path)?.modified()?;
    if modified.elapsed().unwrap_or_default() < FORGOTTEN {
        return Ok(false);
    }
    Ok(File::open(path)?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::run_record;

    /// A folder with journals, and the path of results.
    struct Home {
        folder: tempfile::TempDir,
        target: PathBuf,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let target = folder.path().join("waves");
            Self { folder, target }
        }

        fn open(&self, key: &[u8]) -> Result<Journal, ResultsError> {
            Journal::open_in(self.folder.path(), &self.target, key)
        }

        fn opened(&self, key: &[u8]) -> Journal {
            self.open(key).expect("opened")
        }

        fn journal(&self) -> PathBuf {
            let name = name_of(&self.target).expect("a name");
            self.folder.path().join(name)
        }
    }

    #[test]
    fn saved_runs_of_a_killed_study_are_resumed_except_for_a_truncated_run() {
        let home = Home::new();
        let path = home.journal();
        let (one, two) = (run_record(0, 17), run_record(1, 23));
        let journal = home.opened(b"key");
        assert_eq!(journal.found(), 0);
        journal.keep((0, 0), &one).expect("kept");
        let whole = fs::metadata(&path).expect("there").len();
        journal.keep((0, 1), &two).expect("kept");
        drop(journal);
        let end = fs::metadata(&path).expect("there").len();
        for cut in [end - 1, whole + 1, whole] {
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_len(cut))
                .expect("truncate");
            let journal = home.opened(b"key");
            assert_eq!(journal.found(), 1, "cut at {cut} of {end}");
            assert_eq!(journal.take((0, 0)), Some(one.clone()), "to the last bit");
            assert_eq!((journal.take((0, 0)), journal.take((0, 1))), (None, None));
            journal
                .keep((0, 1), &two)
                .expect("kept behind what is whole");
            drop(journal);
            assert_eq!(fs::metadata(&path).expect("there").len(), end);
        }
        let journal = home.opened(b"key");
        assert_eq!(journal.found(), 2);
        journal.finish().expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn saved_runs_with_another_key_or_a_damaged_entry_are_simulated_again() {
        let home = Home::new();
        let found_and_kept = |key: &[u8]| {
            let journal = home.opened(key);
            journal.keep((0, 0), &run_record(0, 1)).expect("kept");
            journal.found()
        };
        assert_eq!(found_and_kept(b"seed 1"), 0);
        assert_eq!(found_and_kept(b"seed 2"), 0, "another seed");
        let mut bytes = fs::read(home.journal()).expect("there");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(home.journal(), bytes).expect("damaged");
        assert_eq!(found_and_kept(b"seed 2"), 0, "a flipped bit");
    }

    #[test]
    fn results_have_one_journal_whatever_the_path_and_other_results_have_another() {
        let home = Home::new();
        let at = home.folder.path();
        fs::create_dir(at.join("deep")).expect("created");
        let same = name_of(&at.join("deep/../waves")).expect("a name");
        assert_eq!(at.join(same), home.journal());
        for other in ["deep/waves", "waves2"] {
            let other = name_of(&at.join(other)).expect("a name");
            assert_ne!(at.join(other), home.journal());
        }
        name_of(&at.join("..")).expect_err("no name");
    }

    #[test]
    fn two_studies_never_write_the_same_results() {
        let home = Home::new();
        let first = home.opened(b"key");
        let error = home.open(b"key").expect_err("it is in use").to_string();
        assert!(
            error.contains("another fleetsim process is writing to "),
            "{error}"
        );
        drop(first);
        home.opened(b"key");
    }

    /// An earlier version read the whole journal before it checked the first byte.
    #[cfg(unix)]
    #[test]
    fn a_journal_that_expands_to_terabytes_is_read_up_to_its_first_damaged_entry() {
        let home = Home::new();
        let journal = home.opened(b"key");
        journal.keep((0, 0), &run_record(0, 1)).expect("kept");
        drop(journal);
        let whole = fs::metadata(home.journal()).expect("there").len();
        File::options()
            .write(true)
            .open(home.journal())
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
        assert_eq!(home.opened(b"key").found(), 1);
        assert_eq!(fs::metadata(home.journal()).expect("there").len(), whole);
    }

    #[test]
    fn a_journal_without_a_file_still_holds_the_runs_of_a_shard() {
        let journal = Journal::unsaved();
        journal.keep((0, 0), &run_record(0, 1)).expect("nothing");
        assert_eq!(journal.saved().count(), 0);
        assert_eq!(journal.shard_runs(b"key").expect("in memory").0, 0);
        let journal = journal.limited_to(StudyShard::new(1, 1));
        journal.keep((0, 0), &run_record(0, 1)).expect("nothing");
        assert_eq!(journal.saved().count(), 0, "no other study finds it");
        let (runs, bytes) = journal.shard_runs(b"key").expect("in memory");
        let saved = saved_runs::read_file(&mut bytes.as_slice(), b"key").expect("in memory");
        assert_eq!(
            (runs, saved.runs),
            (1, vec![((0, 0), run_record(0, 1))]),
            "the shard has it"
        );
        journal.finish().expect("nothing to remove");
    }

    #[test]
    fn unused_journals_are_removed_after_three_months() {
        let home = Home::new();
        let old = |name: &str, age: Duration| {
            let path = home.folder.path().join(name);
            let file = File::create(&path).expect("created");
            let at = std::time::SystemTime::now() - age;
            file.set_modified(at).expect("own file");
            (path, file)
        };
        let (forgotten, file) = old("a.runs", 2 * FORGOTTEN);
        drop(file);
        let (young, _) = old("b.runs", FORGOTTEN / 2);
        let (foreign, _) = old("c.txt", 2 * FORGOTTEN);
        let (in_use, locked) = old("d.runs", 2 * FORGOTTEN);
        locked.lock().expect("another study uses it");
        home.opened(b"key");
        assert!(!forgotten.exists());
        assert!(young.exists() && foreign.exists() && in_use.exists());
    }
}

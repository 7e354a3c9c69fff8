//! Saves the finished runs of a study in progress, so that an interrupted or killed study can be resumed.
//!
//! A journal is one hidden file beside the results folder. It starts with the study's key and gets one entry for each
//! finished run, in the order in which they finish. An entry ends in a checksum, so that an entry truncated
//! by a kill or a full disk is detected; it is removed and its run simulated again. The file is locked while a study
//! writes it, so that two studies never write the same results.
//!
//! Why not one file for each run, written aside and renamed? A study may have 10,000 runs, and an entry that is
//! verified when it is read is equally safe.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crc::{CRC_32_ISCSI, Crc};
use sha2::{Digest, Sha256};

use super::shard::{RunId, StudyShard};
use super::staging::hidden;
use super::{ResultsError, RunRecord};
use crate::io::{open_own, uninterrupted};

/// Starts every journal: the file type, and the version of its entries.
const MAGIC: &[u8; 16] = b"fleetsim-runs-03";
/// The checksum of an entry.
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The finished runs of a study in progress. Dropped, it stays on disk; [`Journal::finish`] removes it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    kept: Mutex<HashMap<RunId, RunRecord>>,
    found: usize,
    saved: SavedRuns,
    shard: Option<StudyShard>,
}

/// The runs that a journal has. Clones follow the same journal.
#[derive(Clone, Debug)]
pub struct SavedRuns {
    journal: PathBuf,
    count: Arc<AtomicUsize>,
}

impl SavedRuns {
    /// Number of runs so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether their results are published, and the journal is removed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !self.journal.exists()
    }

    /// Removes a journal without runs. If it cannot be removed now, the next study does.
    pub fn remove_if_empty(&self) {
        if self.count() == 0 {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

/// The bytes of a file with these runs, in the format of journals.
pub(super) fn encode_runs(key: &[u8], runs: &BTreeMap<RunId, RunRecord>) -> Vec<u8> {
    let mut bytes = head(key);
    bytes.extend(runs.iter().flat_map(encode));
    bytes
}

/// The runs of a file that [`encode_runs`] made with this key. `None` for any other file.
pub(super) fn decode_runs(key: &[u8], bytes: &[u8]) -> Option<Vec<(RunId, RunRecord)>> {
    let (runs, whole) = decode(bytes.strip_prefix(head(key).as_slice())?);
    (head(key).len() + whole == bytes.len()).then_some(runs)
}

fn head(key: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &Sha256::digest(key)].concat()
}

fn encode(entry: (&RunId, &RunRecord)) -> Vec<u8> {
    postcard::to_stdvec_crc32(&entry, CHECKSUM.digest()).expect("plain rows are always encoded")
}

/// The runs up to the first truncated entry, and the number of their bytes.
fn decode(bytes: &[u8]) -> (Vec<(RunId, RunRecord)>, usize) {
    let (mut runs, mut rest) = (Vec::new(), bytes);
    while let Ok((entry, after)) = postcard::take_from_bytes_crc32(rest, CHECKSUM.digest()) {
        runs.push(entry);
        rest = after;
    }
    (runs, bytes.len() - rest.len())
}

impl Journal {
    /// Opens the journal of the results at `target`, and reads the runs that an earlier study saved. `key` identifies
    /// runs: program, inputs, seed. Runs saved under another key are discarded.
    ///
    /// # Errors
    /// When another study is writing the same results, or the file system fails.
    pub fn open(target: &Path, key: &[u8]) -> Result<Self, ResultsError> {
        let name = target
            .file_name()
            .ok_or_else(|| ResultsError::NotAFolder(target.to_owned()))?;
        let path = target.with_file_name(hidden(name, "runs"));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(ResultsError::io("create the folder", parent))?;
        }
        let mut file = open_own(&path).map_err(ResultsError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ResultsError::Busy(target.to_owned())),
            Err(TryLockError::Error(source)) => {
                return Err(ResultsError::io("lock", &path)(source));
            }
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(ResultsError::io("read", &path))?;
        let head = head(key);
        let (mut kept, mut whole) = (HashMap::new(), 0);
        if let Some(rest) = bytes.strip_prefix(head.as_slice()) {
            let (runs, length) = decode(rest);
            kept.extend(runs);
            whole = head.len() + length;
        }
        file.set_len(whole as u64)
            .map_err(ResultsError::io("truncate", &path))?;
        file.seek(SeekFrom::End(0))
            .map_err(ResultsError::io("read", &path))?;
        if whole == 0 {
            file.write_all(&head)
                .map_err(ResultsError::io("write", &path))?;
        }
        let found = kept.len();
        let saved = SavedRuns {
            journal: path.clone(),
            count: Arc::new(AtomicUsize::new(found)),
        };
        Ok(Self {
            path,
            file: Mutex::new(file),
            kept: Mutex::new(kept),
            found,
            saved,
            shard: None,
        })
    }

    /// Limits the study to the runs of a shard, or to none.
    #[must_use]
    pub fn limited_to(self, shard: Option<StudyShard>) -> Self {
        Self { shard, ..self }
    }

    /// The shard to whose runs the study is limited.
    #[must_use]
    pub const fn shard(&self) -> Option<StudyShard> {
        self.shard
    }

    /// Whether this study simulates the run, when it is not there.
    #[must_use]
    pub fn owns(&self, id: RunId) -> bool {
        self.shard.is_none_or(|shard| shard.owns(id))
    }

    /// Adds runs that others simulated. They are not saved here, and a saved run takes precedence.
    pub fn add(&self, runs: Vec<(RunId, RunRecord)>) {
        let mut kept = self.kept.lock().expect("no holder panics");
        for (id, run) in runs {
            kept.entry(id).or_insert(run);
        }
    }

    /// All runs that are saved here, by this study and an earlier one, as the bytes of a file, and their number.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn saved_runs(&self, key: &[u8]) -> Result<(u64, Vec<u8>), ResultsError> {
        let bytes = fs::read(&self.path).map_err(ResultsError::io("read", &self.path))?;
        // Of a run that was simulated again for its details, the last entry.
        let runs: BTreeMap<RunId, RunRecord> =
            decode(bytes.get(head(b"").len()..).unwrap_or_default())
                .0
                .into_iter()
                .collect();
        Ok((runs.len() as u64, encode_runs(key, &runs)))
    }

    /// Number of runs that an earlier study saved.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.found
    }

    /// The runs in it, now and later.
    #[must_use]
    pub const fn saved(&self) -> &SavedRuns {
        &self.saved
    }

    /// The run, if an earlier study saved it; only the first call returns it.
    #[must_use]
    pub fn take(&self, id: RunId) -> Option<RunRecord> {
        self.kept.lock().expect("no holder panics").remove(&id)
    }

    /// Saves a finished run. A signal comes before it or after it.
    ///
    /// # Errors
    /// When the file system fails, for instance because the disk is full. Runs saved before stay saved.
    pub fn keep(&self, id: RunId, run: &RunRecord) -> Result<(), ResultsError> {
        let entry = encode((&id, run));
        let mut file = self.file.lock().expect("no holder panics");
        uninterrupted(|| {
            file.write_all(&entry)?;
            self.saved.count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .map_err(ResultsError::io("save a finished run in", &self.path))
    }

    /// Removes the journal, once the results are published.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn finish(self) -> Result<(), ResultsError> {
        fs::remove_file(&self.path).map_err(ResultsError::io("remove", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::run_record;

    #[test]
    fn runs_of_a_killed_study_are_found_again_except_for_a_truncated_one() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let target = home.path().join("results/waves");
        let path = home.path().join("results/.waves.fleetsim-runs");
        let (one, two) = (run_record(0, 17), run_record(1, 23));
        let journal = Journal::open(&target, b"key").expect("opened");
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
            let journal = Journal::open(&target, b"key").expect("opened");
            assert_eq!(journal.found(), 1, "cut at {cut} of {end}");
            assert_eq!(journal.take((0, 0)), Some(one.clone()), "to the last bit");
            assert_eq!((journal.take((0, 0)), journal.take((0, 1))), (None, None));
            journal
                .keep((0, 1), &two)
                .expect("kept behind what is whole");
            drop(journal);
            assert_eq!(fs::metadata(&path).expect("there").len(), end);
        }
        let journal = Journal::open(&target, b"key").expect("opened");
        assert_eq!(journal.found(), 2);
        journal.finish().expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn runs_of_another_key_or_a_damaged_entry_are_simulated_again() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let target = home.path().join("waves");
        let path = home.path().join(".waves.fleetsim-runs");
        let keep = |key: &[u8]| {
            let journal = Journal::open(&target, key).expect("opened");
            let found = journal.found();
            journal.keep((0, 0), &run_record(0, 1)).expect("kept");
            found
        };
        assert_eq!(keep(b"seed 1"), 0);
        assert_eq!(keep(b"seed 2"), 0, "another seed");
        let mut bytes = fs::read(&path).expect("there");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&path, bytes).expect("damaged");
        assert_eq!(keep(b"seed 2"), 0, "a flipped bit");
    }

    #[test]
    fn two_studies_never_write_the_same_results() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let target = home.path().join("waves");
        let first = Journal::open(&target, b"key").expect("opened");
        let error = Journal::open(&target, b"key")
            .expect_err("it is in use")
            .to_string();
        assert!(
            error.contains("another fleetsim process is writing to "),
            "{error}"
        );
        drop(first);
        Journal::open(&target, b"key").expect("free again");
    }
}

//! The format of a file with runs: a journal, or the runs of a shard.
//!
//! The file starts with its type, and the SHA-256 of a key that identifies the runs. Each run is an entry: the length
//! of its bytes, the bytes, and their checksum. The file is untrusted input. It is read entry by entry, a declared
//! length allocates nothing, and a record must have numbers that a run can have. Reading ends at the first entry that
//! is truncated, damaged or invalid.
//!
//! Left out: whether a run belongs to the current study. Only the study can check that, and it does so before it uses
//! the run.

use std::collections::BTreeMap;
use std::io::{Error, Read, Result};

use crc::{CRC_32_ISCSI, Crc};
use sha2::{Digest, Sha256};

use super::RunRecord;
use super::shard::RunId;

/// The beginning of every file: its type, and the version of its entries.
const MAGIC: &[u8; 16] = b"fleetsim-runs-07";
/// The length of a file's header: its type, and a SHA-256.
pub(super) const HEAD_BYTES: u64 = 16 + 32;
/// The checksum of an entry.
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The size limit of one detailed run; a run with a million clusters is smaller.
const MOST_ENTRY_BYTES: u32 = 1_000_000_000;
/// The size limit of a file, as for every file of results. Entries beyond it are not read.
const MOST_FILE_BYTES: u64 = 4_000_000_000;

/// The runs at the start of a file.
#[derive(Debug, Default)]
pub(super) struct RunsOfFile {
    /// The runs in file order. If a run's number occurs several times, the last entry counts.
    pub(super) runs: Vec<(RunId, RunRecord)>,
    /// The length of the valid bytes: the position where reading ended.
    pub(super) bytes: u64,
}

/// The header of a file with the runs that `key` identifies.
pub(super) fn head(key: &[u8]) -> Vec<u8> {
    [MAGIC.as_slice(), &Sha256::digest(key)].concat()
}

/// The entry of one run.
///
/// # Errors
/// Returns an error if the entry would be larger than what can be read back.
pub(super) fn entry(id: RunId, run: &RunRecord) -> Result<Vec<u8>> {
    let bytes = postcard::to_stdvec_crc32(&(id, run), CHECKSUM.digest())
        .expect("plain rows are always encoded");
    match u32::try_from(bytes.len()) {
        Ok(length) if length <= MOST_ENTRY_BYTES => {
            Ok([length.to_le_bytes().as_slice(), &bytes].concat())
        }
        _ => Err(Error::other(format!(
            "one run must have at most {MOST_ENTRY_BYTES} bytes, but it has {}",
            bytes.len()
        ))),
    }
}

/// The bytes of a file with the given runs.
///
/// # Errors
/// See [`entry`].
pub(super) fn file_of(key: &[u8], runs: &BTreeMap<RunId, RunRecord>) -> Result<Vec<u8>> {
    let mut bytes = head(key);
    for (id, run) in runs {
        bytes.extend(entry(*id, run)?);
    }
    Ok(bytes)
}

/// Reads a file with the runs that `key` identifies. A file with another header has no runs, and reading stops after
/// the header.
///
/// # Errors
/// Returns an error if the file system fails.
pub(super) fn read_file(input: &mut impl Read, key: &[u8]) -> Result<RunsOfFile> {
    let mut start = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut start)?;
    if start != head(key) {
        return Ok(RunsOfFile::default());
    }
    let mut saved = read_entries(input)?;
    saved.bytes += HEAD_BYTES;
    Ok(saved)
}

/// Reads the entries after the header of a file.
///
/// # Errors
/// Returns an error if the file system fails.
pub(super) fn read_entries(input: &mut impl Read) -> Result<RunsOfFile> {
    let mut saved = RunsOfFile::default();
    let mut input = input.take(MOST_FILE_BYTES - HEAD_BYTES);
    let mut buffer = Vec::new();
    while let Some(run) = read_entry(&mut input, &mut buffer)? {
        saved.runs.push(run);
        saved.bytes += (size_of::<u32>() + buffer.len()) as u64;
    }
    Ok(saved)
}

/// Reads one entry into `buffer`, without its length. `None`: the file ends here, or the entry was not written by
/// [`entry`].
fn read_entry(input: &mut impl Read, buffer: &mut Vec<u8>) -> Result<Option<(RunId, RunRecord)>> {
    if !read_exactly(input, size_of::<u32>() as u32, buffer)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(buffer[..].try_into().expect("four bytes were read"));
    if length > MOST_ENTRY_BYTES || !read_exactly(input, length, buffer)? {
        return Ok(None);
    }
    let decoded: postcard::Result<((RunId, RunRecord), &[u8])> =
        postcard::take_from_bytes_crc32(buffer, CHECKSUM.digest());
    Ok(match decoded {
        Ok(((id, run), [])) if run.is_valid() => Some((id, run)),
        _ => None,
    })
}

/// Replaces the content of the buffer by the next `length` bytes. The buffer grows with the bytes that exist, not with
/// `length`, which may be forged. Returns false if there are fewer bytes.
fn read_exactly(input: &mut impl Read, length: u32, buffer: &mut Vec<u8>) -> Result<bool> {
    buffer.clear();
    input.take(u64::from(length)).read_to_end(buffer)?;
    Ok(buffer.len() == length as usize)
}

#[cfg(test)]
mod tests {
    use super::super::testing::run_record;
    use super::super::{
        ApplicationBin, ApplicationSeries, ClusterRow, PassRow, RunOutcome, SeriesRow, StatusRow,
    };
    use super::*;

    const KEY: &[u8] = b"key";

    fn file_with(record: RunRecord) -> Vec<u8> {
        let runs = BTreeMap::from([((0, 0), run_record(0, 1)), ((0, 1), record)]);
        file_of(KEY, &runs).expect("small")
    }

    fn runs_in(bytes: &[u8]) -> usize {
        let saved = read_file(&mut &*bytes, KEY).expect("memory can be read");
        assert!(saved.bytes <= bytes.len() as u64);
        saved.runs.len()
    }

    #[test]
    fn saved_runs_read_back_bit_by_bit_and_only_with_their_key() {
        let bytes = file_with(run_record(1, 7));
        let saved = read_file(&mut bytes.as_slice(), KEY).expect("memory can be read");
        assert_eq!(saved.bytes, bytes.len() as u64);
        assert_eq!(
            saved.runs,
            [((0, 0), run_record(0, 1)), ((0, 1), run_record(1, 7))]
        );
        let saved = read_file(&mut bytes.as_slice(), b"other").expect("memory can be read");
        assert_eq!((saved.runs.len(), saved.bytes), (0, 0));
    }

    #[test]
    fn an_excessive_declared_length_allocates_nothing_and_ends_reading() {
        let whole = file_with(run_record(1, 7));
        for length in [0, 1, 3, MOST_ENTRY_BYTES, MOST_ENTRY_BYTES + 1, u32::MAX] {
            for tail in [&b""[..], b"\0\0\0", &[0xff; 64]] {
                let bytes = [&whole, length.to_le_bytes().as_slice(), tail].concat();
                assert_eq!(runs_in(&bytes), 2, "{length}, {tail:?}");
            }
        }
        let mut buffer = Vec::new();
        let is_whole = read_exactly(&mut &b"abc"[..], MOST_ENTRY_BYTES, &mut buffer);
        assert!(!is_whole.expect("memory can be read"));
        assert!(buffer.capacity() < 1_000, "{}", buffer.capacity());
    }

    /// A function that changes a run into an impossible one.
    type Forgery = fn(&mut RunRecord);

    /// Each forgery is a number that no simulation produces, with a valid checksum.
    #[test]
    fn a_run_with_impossible_numbers_is_rejected() {
        let impossible: [(&str, Forgery); 14] = [
            ("an application with a bin that the run lacks", |run| {
                run.application_series = vec![ApplicationSeries {
                    application: "shop".to_owned(),
                    bins: vec![ApplicationBin::default(); run.series.len() + 1],
                }];
            }),
            ("a NaN", |run| run.run.completion_s = Some(f64::NAN)),
            ("a NaN that does not count", |run| {
                run.run.outcome = RunOutcome::Stalled;
                run.run.completion_s = Some(f64::NAN);
            }),
            ("an infinite rate", |run| {
                run.run.egress_peak_1s_bytes_per_s = f64::INFINITY;
            }),
            ("a negative time", |run| run.run.t50_s = Some(-1.0)),
            ("a share above 1", |run| run.run.egress_busy_share = 1.1),
            ("more reachable than all", |run| {
                run.run.reachable_targets = run.run.targets + 1;
            }),
            ("more done than all", |run| {
                run.run.targets_done = run.run.targets + 1;
            }),
            ("a negative bin", |run| run.bin_s = -1.0),
            ("a NaN in the series", |run| {
                run.series = vec![SeriesRow {
                    t_s: f64::NAN,
                    ..SeriesRow::default()
                }];
            }),
            ("a share of a registry above 1", |run| {
                run.registries[0].egress_busy_share = Some(2.0);
            }),
            ("a NaN of a cluster", |run| {
                run.clusters = vec![ClusterRow {
                    ready_s: Some(f64::NAN),
                    ..ClusterRow::default()
                }];
            }),
            ("a negative duration of a pass", |run| {
                run.passes = vec![PassRow {
                    duration_s: -0.5,
                    ..PassRow::default()
                }];
            }),
            ("an infinite time of a status", |run| {
                run.statuses = vec![StatusRow {
                    t_s: f64::INFINITY,
                    ..StatusRow::default()
                }];
            }),
        ];
        for (name, forge) in impossible {
            let mut run = run_record(1, 7);
            forge(&mut run);
            assert_eq!(runs_in(&file_with(run)), 1, "{name}");
        }
    }
}

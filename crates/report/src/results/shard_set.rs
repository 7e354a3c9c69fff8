//! All shards of a study, before they are merged: each complete, none missing, and all from the same study.
//!
//! A shard is a results folder whose provenance names its share. It has copies of the inputs and one file with its
//! runs, and was renamed to its final path when it was complete. Files are compared with the hashes in the provenance,
//! so a damaged or changed file is detected; only the provenance itself has no hash.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use itertools::Itertools;

use super::provenance::sha256;
use super::rows::RunRecord;
use super::saved_runs;
use super::shard::{RunId, ShardInfo, StudyShard};
use super::{FileDigest, PROVENANCE_FILE, Provenance, ResultsError};
use fleetsim_units::io::read_below;

/// The file of a shard with its runs.
pub const SHARD_RUNS_FILE: &str = "runs.bin";

/// Maximum number of missing shards that an error names.
const MOST_NAMED: usize = 20;

/// Maximum number of rounds of a study.
pub const MOST_ROUNDS: u32 = 1_000;

/// The reason why shards cannot be merged. Each message states the requirement and the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// A folder without shards.
    #[error(
        "{} has no shards; run `fleetsim run EXPERIMENT --shard I/N` for every I from 1 to N, or name the folder that \
         contains them", .0.display()
    )]
    None(PathBuf),
    /// Missing shards.
    #[error("all {of} shards are needed, but {missing} {} missing; run `{command}`", if *.is_one { "is" } else { "are" })]
    Missing {
        /// The number of shards.
        of: u32,
        /// The missing shards.
        missing: String,
        /// Whether only one shard is missing.
        is_one: bool,
        /// The command that simulates the first missing shard.
        command: String,
    },
    /// Two folders that contain the same shard.
    #[error("{} and {} are the same shard; pass it only once", .0.display(), .1.display())]
    Twice(PathBuf, PathBuf),
    /// Shards that do not belong together, or not to this experiment and program.
    #[error(
        "all shards must have the same {what}, but it is {found} in {} and {wanted} in {place}; simulate the shards again \
         with the same program and experiment, or keep the shards of each study in a separate folder",
        shard.display()
    )]
    Mixed {
        /// The property that differs between the shards.
        what: &'static str,
        /// The shard whose property differs.
        shard: PathBuf,
        /// The value of the property in this shard.
        found: String,
        /// The folder that the shard is compared with.
        place: String,
        /// The value of the property in that folder.
        wanted: String,
    },
    /// A file that was modified or damaged after it was written.
    #[error("{} {problem}; remove the folder and run `{command}` again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// How the file differs from what was written.
        problem: &'static str,
        /// The command that simulates the shard.
        command: String,
    },
    /// The file system failed, or the provenance is damaged.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// The shards of a study, of one round or several.
#[derive(Debug)]
pub struct ShardSet {
    shards: BTreeMap<ShardKey, FoundShard>,
}

/// Identifies a shard of a study. Shards are sorted by round, then by number.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct ShardKey {
    round: u32,
    number: u32,
}

#[derive(Debug)]
struct FoundShard {
    folder: PathBuf,
    provenance: Provenance,
    info: ShardInfo,
}

impl ShardSet {
    /// Reads the shards in `folders`, each of which is a shard, or contains shards.
    ///
    /// # Errors
    /// Returns an error if there is no shard, if a shard appears twice or does not belong to the others, if files
    /// other than the runs are damaged, or if shards of the started rounds are missing.
    pub fn read(folders: &[PathBuf]) -> Result<Self, ShardError> {
        Self::read_rounds(folders, u32::MAX)
    }

    /// Like [`ShardSet::read`], but reads only the first `rounds` rounds, all of which must exist.
    ///
    /// # Errors
    /// See [`ShardSet::read`].
    pub fn read_rounds(folders: &[PathBuf], rounds: u32) -> Result<Self, ShardError> {
        let mut set = Self {
            shards: BTreeMap::new(),
        };
        for folder in folders {
            for found in shards_in(folder)? {
                if found.info.round <= rounds {
                    set.insert(found)?;
                }
            }
        }
        let Some((last, _)) = set.shards.last_key_value() else {
            return Err(ShardError::None(folders[0].clone()));
        };
        set.check_complete(if rounds == u32::MAX {
            last.round
        } else {
            rounds
        })?;
        for shard in set.shards.values() {
            shard.check_files()?;
        }
        Ok(set)
    }

    /// Adds a shard, which must belong to the same study as the others and must not be among them.
    fn insert(&mut self, found: FoundShard) -> Result<(), ShardError> {
        if let Some((_, first)) = self.shards.first_key_value() {
            found.check(
                &facts(&first.provenance, &first.info),
                &first.folder.display().to_string(),
            )?;
        }
        let key = ShardKey {
            round: found.info.round,
            number: found.info.shard.number,
        };
        if let Some(other) = self.shards.get(&key) {
            return Err(ShardError::Twice(other.folder.clone(), found.folder));
        }
        self.shards.insert(key, found);
        Ok(())
    }

    /// The command that would simulate the whole study.
    #[must_use]
    pub fn whole_command(&self) -> &str {
        &self.first().info.whole_command
    }

    /// Number of shards in each round.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.first().info.shard.of
    }

    /// Number of runs, including those that were simulated again for their details.
    #[must_use]
    pub fn run_count(&self) -> u64 {
        let mut runs: u64 = 0;
        for shard in self.shards.values() {
            runs = runs.saturating_add(shard.info.runs);
        }
        runs
    }

    /// Checks that the shards belong to the study that `provenance` describes, and were simulated by this program.
    ///
    /// # Errors
    /// Returns an error if they belong to another study, or another program simulated them.
    pub fn check_study(
        &self,
        provenance: &Provenance,
        program_sha256: &str,
    ) -> Result<(), ShardError> {
        let first = self.first();
        let info = ShardInfo {
            program_sha256: program_sha256.to_owned(),
            ..first.info.clone()
        };
        first.check(&facts(provenance, &info), "this experiment and program")
    }

    /// All runs of the shards. If a later round simulated a run again for its details, the detailed run comes first.
    ///
    /// # Errors
    /// Returns an error if a file with runs is damaged.
    pub fn runs(&self) -> Result<Vec<(RunId, RunRecord)>, ShardError> {
        let mut runs = Vec::new();
        for shard in self.shards.values().rev() {
            runs.extend(shard.runs()?);
        }
        Ok(runs)
    }

    fn first(&self) -> &FoundShard {
        self.shards.values().next().expect("a set has shards")
    }

    fn check_complete(&self, rounds: u32) -> Result<(), ShardError> {
        let of = self.count();
        // Numbers of shards are untrusted, so only a limited number of missing ones is listed.
        let missing = self.first_missing(rounds, MOST_NAMED);
        let Some(first) = missing.first() else {
            return Ok(());
        };
        let shard = StudyShard {
            number: first.number,
            of,
        };
        let command = self.first().command(shard, first.round);
        let mut names = Vec::new();
        for &ShardKey { round, number } in &missing {
            names.push(StudyShard { number, of }.folder_name(round));
        }
        let mut named = names.join(", ");
        let count = u64::from(rounds) * u64::from(of) - self.shards.len() as u64;
        let unnamed = count - missing.len() as u64;
        if unnamed > 0 {
            named.push_str(&format!(" and {unnamed} more"));
        }
        Err(ShardError::Missing {
            of,
            missing: named,
            is_one: missing.len() == 1,
            command,
        })
    }

    /// The first missing shards of the given rounds, at most `most` of them.
    fn first_missing(&self, rounds: u32, most: usize) -> Vec<ShardKey> {
        let mut missing = Vec::new();
        for round in 1..=rounds {
            for number in 1..=self.count() {
                let key = ShardKey { round, number };
                if self.shards.contains_key(&key) {
                    continue;
                }
                missing.push(key);
                if missing.len() == most {
                    return missing;
                }
            }
        }
        missing
    }
}

/// A property that all shards of a study share, in words.
struct StudyFact {
    what: &'static str,
    value: String,
}

impl StudyFact {
    const fn new(what: &'static str, value: String) -> Self {
        Self { what, value }
    }
}

/// The properties that all shards of a study share, always in the same order.
fn facts(provenance: &Provenance, info: &ShardInfo) -> [StudyFact; 9] {
    let inputs = provenance.inputs.iter().map(input_in_words).join(", ");
    [
        StudyFact::new("number of shards", info.shard.of.to_string()),
        StudyFact::new("experiment", provenance.experiment.clone()),
        StudyFact::new("command", info.whole_command.clone()),
        StudyFact::new("seed", provenance.seed.to_string()),
        StudyFact::new("number of replicates", provenance.replicates.to_string()),
        StudyFact::new("program version", provenance.program_version.clone()),
        StudyFact::new("model version", provenance.model_version.to_string()),
        StudyFact::new("program", info.program_sha256.clone()),
        StudyFact::new("inputs", inputs),
    ]
}

/// An input with enough of its hash to distinguish it from another version.
fn input_in_words(input: &FileDigest) -> String {
    let short_hash = input.sha256.get(..12).unwrap_or(&input.sha256);
    format!("{} ({short_hash})", input.path)
}

impl FoundShard {
    /// Reads the shard in a folder. `None`: the folder is not a shard.
    fn read(folder: &Path) -> Result<Option<Self>, ShardError> {
        let Some(provenance) = Provenance::read(folder)? else {
            return Ok(None);
        };
        let Some(info) = provenance.shard.clone() else {
            return Ok(None);
        };
        let shard = Self {
            folder: folder.to_owned(),
            provenance,
            info,
        };
        let StudyShard { number, of } = shard.info.shard;
        let is_shard =
            StudyShard::new(number, of).is_some() && (1..=MOST_ROUNDS).contains(&shard.info.round);
        if is_shard {
            Ok(Some(shard))
        } else {
            Err(shard.damaged(PROVENANCE_FILE, "has an invalid shard number"))
        }
    }

    /// Checks that the shard's properties equal those of the shard in `place`.
    fn check(&self, wanted: &[StudyFact; 9], place: &str) -> Result<(), ShardError> {
        for (found, wanted) in facts(&self.provenance, &self.info).into_iter().zip(wanted) {
            if found.value != wanted.value {
                return Err(ShardError::Mixed {
                    what: found.what,
                    shard: self.folder.clone(),
                    found: found.value,
                    place: place.to_owned(),
                    wanted: wanted.value.clone(),
                });
            }
        }
        Ok(())
    }

    /// Compares every file with its hash, except for the runs, which are compared when they are read.
    fn check_files(&self) -> Result<(), ShardError> {
        for file in &self.provenance.files {
            if file.path != SHARD_RUNS_FILE {
                self.bytes(&file.path)?;
            }
        }
        Ok(())
    }

    /// The bytes of a file, checked against its hash.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, ShardError> {
        let Some(listed) = self.provenance.files.iter().find(|file| file.path == name) else {
            return Err(self.damaged(PROVENANCE_FILE, "does not list all files"));
        };
        let Ok(bytes) = read_below(&self.folder, name) else {
            return Err(self.damaged(name, "is missing or unreadable"));
        };
        if sha256(&bytes) != listed.sha256 {
            return Err(self.damaged(name, "was modified after it was written"));
        }
        Ok(bytes)
    }

    fn runs(&self) -> Result<Vec<(RunId, RunRecord)>, ShardError> {
        let bytes = self.bytes(SHARD_RUNS_FILE)?;
        let key = self.info.whole_command.as_bytes();
        let saved = saved_runs::read_file(&mut bytes.as_slice(), key)
            .map_err(ResultsError::io("read", &self.folder.join(SHARD_RUNS_FILE)))?;
        let is_whole = saved.bytes == bytes.len() as u64;
        let is_as_stated = saved.runs.len() as u64 == self.info.runs;
        if is_whole && is_as_stated && saved.runs.iter().all(|(id, _)| self.info.shard.owns(*id)) {
            return Ok(saved.runs);
        }
        Err(self.damaged(
            SHARD_RUNS_FILE,
            "does not contain the runs that its provenance lists",
        ))
    }

    fn damaged(&self, name: &str, problem: &'static str) -> ShardError {
        let command = self.command(self.info.shard, self.info.round);
        ShardError::Damaged {
            file: self.folder.join(name),
            problem,
            command,
        }
    }

    /// The command that writes another shard of the same study into a folder next to this shard.
    fn command(&self, shard: StudyShard, round: u32) -> String {
        let command = format!("{} {}", self.info.whole_command, shard.flags(round));
        let home = self.folder.parent().unwrap_or(Path::new(""));
        if home == Path::new("results").join(format!("{}.shards", self.provenance.experiment)) {
            return command;
        }
        let home = if home.as_os_str().is_empty() {
            ".".into()
        } else {
            home.to_string_lossy()
        };
        format!(
            "{command} --out {}",
            shlex::try_quote(&home).unwrap_or(Cow::Borrowed(&home))
        )
    }
}

/// Returns whether a folder has this complete shard: its provenance is `wanted`, apart from files and the number of
/// runs, and all files match their hashes.
#[must_use]
pub fn is_shard_complete(folder: &Path, wanted: &Provenance) -> bool {
    let Ok(Some(found)) = FoundShard::read(folder) else {
        return false;
    };
    without_contents(&found.provenance) == without_contents(wanted)
        && found.check_files().is_ok()
        && found.runs().is_ok()
}

/// The provenance of a shard without its files and the number of its runs.
fn without_contents(provenance: &Provenance) -> Provenance {
    let mut shard = provenance.clone();
    shard.files.clear();
    if let Some(info) = &mut shard.shard {
        info.runs = 0;
    }
    shard
}

/// The shard in this folder, or the shards in its subfolders, sorted by name. Hidden folders belong to shards that are
/// being written.
fn shards_in(folder: &Path) -> Result<Vec<FoundShard>, ShardError> {
    if let Some(shard) = FoundShard::read(folder)? {
        return Ok(vec![shard]);
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ShardError::None(folder.to_owned()));
        }
        entries => entries.map_err(ResultsError::io("read", folder))?,
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries.flatten() {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let path = entry.path();
        if path.is_dir() && !is_hidden {
            paths.push(path);
        }
    }
    paths.sort();
    if let Some(link) = paths.iter().find(|path| path.is_symlink()) {
        let message = "links next to shards are not followed; replace it with the folder, or name that folder";
        return Err(
            ResultsError::io("read", link)(Error::new(ErrorKind::InvalidData, message)).into(),
        );
    }
    let mut shards = Vec::new();
    for path in &paths {
        shards.extend(FoundShard::read(path)?);
    }
    Ok(shards)
}

#[cfg(test)]
mod tests;

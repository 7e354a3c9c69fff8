//! All shards of a study, before they are merged: each whole, none missing, and all of one study.
//!
//! A shard is a results folder whose provenance says which share it is. It has copies of the inputs and one file with
//! its runs, and was renamed to its place when it was complete. Files are compared with the hashes in the provenance,
//! so a damaged or changed file is found; what no hash covers is the provenance itself.

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

/// Most missing shards that an error names.
const MOST_NAMED: usize = 20;

/// Most rounds of a study.
pub const MOST_ROUNDS: u32 = 1_000;

/// Why shards cannot be merged. Each message says what must hold, and how to get there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// A folder without shards.
    #[error(
        "{} has no shards; run `fleetsim run EXPERIMENT --shard I/N` for every I from 1 to N, or name the folder of \
         those that you have", .0.display()
    )]
    None(PathBuf),
    /// Shards that are not there.
    #[error("all {of} shards are needed, but {missing} {} missing; run `{command}`", if *.is_one { "is" } else { "are" })]
    Missing {
        /// The number of shards.
        of: u32,
        /// Those that are not there.
        missing: String,
        /// Whether that is one.
        is_one: bool,
        /// The command that simulates the first of them.
        command: String,
    },
    /// The same shard in two places.
    #[error("{} and {} are the same shard; name it once", .0.display(), .1.display())]
    Twice(PathBuf, PathBuf),
    /// Shards that do not belong together, or not to this experiment and program.
    #[error(
        "all shards must have the same {what}, but it is {found} in {} and {wanted} in {place}; simulate the shards again \
         with one program and the same experiment, or keep the shards of each study in a folder of their own",
        shard.display()
    )]
    Mixed {
        /// The property that differs.
        what: &'static str,
        /// The shard.
        shard: PathBuf,
        /// Its value.
        found: String,
        /// The place that it is compared with.
        place: String,
        /// The value there.
        wanted: String,
    },
    /// A file that is not as it was written.
    #[error("{} {problem}; remove the folder and run `{command}` again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The difference.
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
    /// By round and number.
    shards: BTreeMap<(u32, u32), FoundShard>,
}

#[derive(Debug)]
struct FoundShard {
    folder: PathBuf,
    provenance: Provenance,
    info: ShardInfo,
}

impl ShardSet {
    /// Reads the shards in these folders: each is a shard, or has shards in it.
    ///
    /// # Errors
    /// When there is none, when one is there twice or does not belong to the others, when files other than the runs are
    /// damaged, and when shards of the rounds that were begun are missing.
    pub fn read(folders: &[PathBuf]) -> Result<Self, ShardError> {
        Self::read_rounds(folders, u32::MAX)
    }

    /// As [`ShardSet::read`], but only these first rounds, all of which must be there.
    ///
    /// # Errors
    /// As for [`ShardSet::read`].
    pub fn read_rounds(folders: &[PathBuf], rounds: u32) -> Result<Self, ShardError> {
        let mut shards: BTreeMap<(u32, u32), FoundShard> = BTreeMap::new();
        for folder in folders {
            for found in shards_in(folder)?
                .into_iter()
                .filter(|found| found.info.round <= rounds)
            {
                if let Some((_, first)) = shards.first_key_value() {
                    found.check(
                        &facts(&first.provenance, &first.info),
                        &first.folder.display().to_string(),
                    )?;
                }
                let key = (found.info.round, found.info.shard.number);
                if let Some(other) = shards.get(&key) {
                    return Err(ShardError::Twice(other.folder.clone(), found.folder));
                }
                shards.insert(key, found);
            }
        }
        let set = Self { shards };
        let (last_round, _) = *set
            .shards
            .last_key_value()
            .ok_or_else(|| ShardError::None(folders[0].clone()))?
            .0;
        set.check_complete(if rounds == u32::MAX {
            last_round
        } else {
            rounds
        })?;
        set.shards.values().try_for_each(FoundShard::check_files)?;
        Ok(set)
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
        self.shards
            .values()
            .fold(0, |sum, shard| sum.saturating_add(shard.info.runs))
    }

    /// Checks that the shards belong to the study that `provenance` describes, and were simulated by this program.
    ///
    /// # Errors
    /// When they do not.
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

    /// All runs. Of a run that a later round simulated again for its details, that one comes first.
    ///
    /// # Errors
    /// When a file with runs is damaged.
    pub fn runs(&self) -> Result<Vec<(RunId, RunRecord)>, ShardError> {
        self.shards
            .values()
            .rev()
            .map(FoundShard::runs)
            .flatten_ok()
            .collect()
    }

    fn first(&self) -> &FoundShard {
        self.shards.first_key_value().expect("a set has shards").1
    }

    fn check_complete(&self, rounds: u32) -> Result<(), ShardError> {
        let of = self.count();
        let all = (1..=rounds).flat_map(|round| (1..=of).map(move |number| (round, number)));
        let mut missing = all.filter(|key| !self.shards.contains_key(key));
        let Some((round, number)) = missing.next() else {
            return Ok(());
        };
        let name = |(round, number): (u32, u32)| StudyShard { number, of }.folder_name(round);
        let command = self.first().command(StudyShard { number, of }, round);
        // Numbers of shards are not to be trusted, so few of those that are missing are looked at.
        let further: Vec<String> = missing.by_ref().take(MOST_NAMED - 1).map(name).collect();
        let is_one = further.is_empty();
        let mut named = [vec![name((round, number))], further].concat().join(", ");
        if missing.next().is_some() {
            let count = u64::from(rounds) * u64::from(of) - self.shards.len() as u64;
            named.push_str(&format!(" and {} more", count - MOST_NAMED as u64));
        }
        Err(ShardError::Missing {
            of,
            missing: named,
            is_one,
            command,
        })
    }
}

/// The facts that all shards of a study have in common, in words.
fn facts(provenance: &Provenance, info: &ShardInfo) -> [(&'static str, String); 9] {
    // Enough of a hash to tell two apart.
    let short = |sha256: &String| sha256.get(..12).unwrap_or(sha256).to_owned();
    let input = |input: &FileDigest| format!("{} ({})", input.path, short(&input.sha256));
    [
        ("number of shards", info.shard.of.to_string()),
        ("experiment", provenance.experiment.clone()),
        ("command", info.whole_command.clone()),
        ("seed", provenance.seed.to_string()),
        ("number of replicates", provenance.replicates.to_string()),
        ("program version", provenance.program_version.clone()),
        ("model version", provenance.model_version.to_string()),
        ("program", info.program_sha256.clone()),
        ("inputs", provenance.inputs.iter().map(input).join(", ")),
    ]
}

impl FoundShard {
    /// The shard in a folder. `None`: it has none.
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
            Err(shard.damaged(PROVENANCE_FILE, "does not number its shard"))
        }
    }

    fn check(&self, wanted: &[(&str, String)], place: &str) -> Result<(), ShardError> {
        let (found, place) = (facts(&self.provenance, &self.info), place.to_owned());
        match found
            .into_iter()
            .zip(wanted)
            .find(|(found, wanted)| found.1 != wanted.1)
        {
            None => Ok(()),
            Some(((what, found), (_, wanted))) => Err(ShardError::Mixed {
                what,
                shard: self.folder.clone(),
                found,
                place,
                wanted: wanted.clone(),
            }),
        }
    }

    /// Compares every file but the runs, which are compared when they are read, with its hash.
    fn check_files(&self) -> Result<(), ShardError> {
        let mut files = self
            .provenance
            .files
            .iter()
            .filter(|file| file.path != SHARD_RUNS_FILE);
        files.try_for_each(|file| self.bytes(&file.path).map(drop))
    }

    /// The bytes of a file, as they were written.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, ShardError> {
        let listed = self.provenance.files.iter().find(|file| file.path == name);
        let listed =
            listed.ok_or_else(|| self.damaged(PROVENANCE_FILE, "does not list all files"))?;
        let bytes = read_below(&self.folder, name)
            .map_err(|_| self.damaged(name, "is missing or unreadable"))?;
        let is_as_written = sha256(&bytes) == listed.sha256;
        is_as_written
            .then_some(bytes)
            .ok_or_else(|| self.damaged(name, "has other bytes than were written"))
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
            "does not have the runs that its provenance states",
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

    /// The command that writes a shard of the same study beside this one.
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

/// Whether a folder has this shard, whole: its provenance is this one, apart from files and the number of runs, and all
/// files have the hashes that it lists.
#[must_use]
pub fn is_shard_complete(folder: &Path, wanted: &Provenance) -> bool {
    let Ok(Some(found)) = FoundShard::read(folder) else {
        return false;
    };
    let without = |provenance: &Provenance| {
        let shard = provenance
            .shard
            .clone()
            .map(|info| ShardInfo { runs: 0, ..info });
        Provenance {
            files: Vec::new(),
            shard,
            ..provenance.clone()
        }
    };
    without(&found.provenance) == without(wanted)
        && found.check_files().is_ok()
        && found.runs().is_ok()
}

/// The shard that a folder is, or those in it, by name. Hidden folders belong to shards that are being written.
fn shards_in(folder: &Path) -> Result<Vec<FoundShard>, ShardError> {
    if let Some(shard) = FoundShard::read(folder)? {
        return Ok(vec![shard]);
    }
    let is_missing = |error: &Error| error.kind() == ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Err(error) if is_missing(&error) => return Err(ShardError::None(folder.to_owned())),
        entries => entries.map_err(ResultsError::io("read", folder))?,
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| {
        path.is_dir()
            && !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'))
    });
    paths.sort();
    if let Some(link) = paths.iter().find(|path| path.is_symlink()) {
        let message =
            "links beside shards are not followed; replace it by the folder, or name that folder";
        return Err(
            ResultsError::io("read", link)(Error::new(ErrorKind::InvalidData, message)).into(),
        );
    }
    let shards: Result<Vec<Option<FoundShard>>, ShardError> =
        paths.iter().map(|path| FoundShard::read(path)).collect();
    Ok(shards?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests;

//! `--shard I/N`: simulates a share of a study's runs, for `fleetsim merge`.
//!
//! A shard is published like results: it is written under a temporary name, and renamed when it is complete. A
//! complete shard is not simulated again, so restarting a task costs nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::host::CommandHost;
use fleetsim::results::{
    MOST_ROUNDS, PROVENANCE_FILE, Provenance, ShardInfo, ShardSet, StudyShard, sha256,
};

use super::Failure;

/// The share of the runs to simulate.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct ShardArgs {
    /// Simulate only share I of N (I from 1), for `fleetsim merge`; auto/N takes I from the index of a Kubernetes
    /// Indexed Job or a Slurm array. Writes DIR/I-of-N [default DIR: results/<experiment>.shards]
    #[arg(long, value_name = "I/N", help_heading = "Several machines")]
    pub(super) shard: Option<StudyShard>,
    /// The round of runs: round 1 has the runs that depend on no others; round K has the runs that follow from all
    /// shards of the earlier rounds, which DIR must contain
    #[arg(
        long,
        value_name = "K",
        default_value_t = 1,
        requires = "shard",
        help_heading = "Several machines"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)))]
    round: u32,
}

/// A shard to write.
pub(super) struct ShardPlace {
    shard: StudyShard,
    round: u32,
    /// The folder with all shards.
    home: PathBuf,
}

impl ShardArgs {
    /// Returns where to write the shard for the study with this name. `None`: the whole study is requested.
    pub(super) fn place(
        &self,
        out: Option<&Path>,
        experiment: &str,
    ) -> Result<Option<ShardPlace>, Failure> {
        let Some(shard) = self.shard else {
            return Ok(None);
        };
        let home = match out {
            Some(out) => out.to_owned(),
            None => Path::new("results").join(format!("{experiment}.shards")),
        };
        if home.join(PROVENANCE_FILE).exists() {
            let fix = "name another folder with --out; shards are written into it";
            return Err(Failure::Usage(format!(
                "{} is itself a results folder or a shard; {fix}",
                home.display()
            )));
        }
        Ok(Some(ShardPlace {
            shard,
            round: self.round,
            home,
        }))
    }
}

impl ShardPlace {
    pub(super) fn folder(&self) -> PathBuf {
        self.home.join(self.shard.folder_name(self.round))
    }

    /// Returns the provenance of the shard, given the provenance of the whole study.
    pub(super) fn described(&self, mut whole: Provenance) -> Result<Provenance, Failure> {
        let whole_command = whole.command.clone();
        whole.command = format!("{whole_command} {}", self.shard.flags(self.round));
        whole.shard = Some(ShardInfo {
            shard: self.shard,
            round: self.round,
            whole_command,
            program_sha256: program_sha256()?,
            runs: 0,
        });
        Ok(whole)
    }

    /// Returns the shards of the earlier rounds. `None`: this is the first round.
    pub(super) fn earlier(&self) -> Result<Option<ShardSet>, Failure> {
        let rounds = self.round - 1;
        if rounds == 0 {
            return Ok(None);
        }
        Ok(Some(ShardSet::read_rounds(
            std::slice::from_ref(&self.home),
            rounds,
        )?))
    }
}

/// Returns the file that contains this program. In another program, it is the library that contains the commands.
pub(super) fn program() -> std::io::Result<PathBuf> {
    match CommandHost::program() {
        Some(library) => Ok(library),
        None => std::env::current_exe(),
    }
}

/// Returns the SHA-256 of this program's file, because two builds of one version may simulate differently.
pub(super) fn program_sha256() -> Result<String, Failure> {
    match program().and_then(std::fs::read) {
        Ok(bytes) => Ok(sha256(&bytes)),
        Err(error) => Err(Failure::Machine(format!(
            "cannot read the program's own file, which identifies it: {error}"
        ))),
    }
}

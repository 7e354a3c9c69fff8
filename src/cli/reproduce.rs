//! `fleetsim reproduce`: runs experiments and calibrations again and compares every file with existing results.
//!
//! A folder without results of its own stands for the results in its folders.
//!
//! Results often lack their large files, but `provenance.json` still contains the checksums. Missing files are added
//! if all others are byte for byte identical. Otherwise nothing changes, and the differing files are listed.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::results::{Provenance, restore};

use super::{Again, Command, Failure, recorded};

#[derive(Args, Debug)]
pub(super) struct ReproduceArgs {
    /// Results folders; their commands run in the current folder, which must contain the experiments or exports
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    #[command(flatten)]
    again: Again,
}

pub(super) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for folder in &args.results {
        folders.extend(results_in(folder));
    }
    let mut different = 0;
    for folder in &folders {
        match run_again(folder, &args.again) {
            Err(failure @ Failure::Different { .. }) => {
                failure.print();
                different += 1;
            }
            other => other?,
        }
    }
    let count = folders.len();
    if different == 0 {
        return Ok(());
    }
    Err(Failure::Machine(format!(
        "{different} of {count} results were not reproduced; they were left unchanged"
    )))
}

/// The results in a folder: itself, or its folders with a provenance if it has none and they do.
fn results_in(folder: &Path) -> Vec<PathBuf> {
    let mut below = Vec::new();
    if !has_provenance(folder)
        && let Ok(entries) = fs::read_dir(folder)
    {
        for entry in entries.flatten() {
            below.push(entry.path());
        }
        below.retain(|path| has_provenance(path));
        below.sort();
    }
    if below.is_empty() {
        below.push(folder.to_owned());
    }
    below
}

fn has_provenance(folder: &Path) -> bool {
    folder.join("provenance.json").exists()
}

/// Runs the command that produced the results in `folder`. `again` contains the number of threads and the permission.
fn run_again(folder: &Path, again: &Again) -> Result<(), Failure> {
    restore(folder)?;
    let provenance = Provenance::of_results(folder)?;
    let command = provenance.command;
    if provenance.emulated.is_some() {
        let fix = format!("run `{command}` to measure again");
        return Err(Failure::Usage(format!(
            "{} was measured, and simulating cannot repeat it; {fix}",
            folder.display()
        )));
    }
    if !provenance.guests.is_empty() {
        return Err(Failure::Usage(format!(
            "{} was made by a program that brought along {}, and no command has them; run that program again",
            folder.display(),
            provenance.guests.join(" and ")
        )));
    }
    if provenance.shard.is_some() {
        let fix = format!("run `{command}` again instead");
        return Err(Failure::Usage(format!(
            "{} is a shard, not the results of a study; {fix}",
            folder.display()
        )));
    }
    let mut command = recorded::command(&command)?;
    match &mut command {
        Command::Calibrate(args) => args.again(folder, again.memory),
        command => command
            .simulate()
            .expect("no other command is recorded")
            .again(folder, again),
    }
    command.run()
}

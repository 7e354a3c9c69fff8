//! The command that results or shards record, and its files: all of it may be a stranger's.
//!
//! A recorded command names what to simulate, and nothing else is taken from it: no place to write to, no permission,
//! no number of threads. So every option that it may have is in a list here.

use clap::Parser;

use super::{Cli, Command, Failure, shell};

/// Options that decide results. `--allow-commands` is recorded for readers and has no effect.
const OPTIONS: [&str; 28] = [
    "--allow-commands",
    "--budget",
    "--compare-exhaustive",
    "--compression-ratio",
    "--constant",
    "--durations",
    "--events",
    "--history",
    "--image",
    "--image-name",
    "--images",
    "--limit",
    "--measure",
    "--minimise",
    "--no-charts",
    "--only",
    "--predict",
    "--predict-events",
    "--prometheus",
    "--replicates",
    "--resamples",
    "--rtt",
    "--seed",
    "--series",
    "--service-time",
    "--set",
    "--variant",
    "-",
];

/// The recorded command.
///
/// # Errors
/// When it is not one that fleetsim records.
pub(super) fn command(recorded: &str) -> Result<Command, Failure> {
    let words = shell::words(recorded);
    let option = |word: &&String| word.starts_with('-') && !OPTIONS.contains(&word.split('=').next().unwrap_or(word));
    if let Some(option) = words.iter().find(option) {
        let fix = "run what you need of it yourself";
        return Err(Failure::Usage(format!("the recorded command `{recorded}` must not have `{option}`; {fix}")));
    }
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(command @ (Command::Run(_) | Command::Plan(_) | Command::Sensitivity(_) | Command::Calibrate(_))) => {
            Ok(command)
        }
        _ => Err(Failure::Usage(format!("the recorded command `{recorded}` must be one that this program can run"))),
    }
}

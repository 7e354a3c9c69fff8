//! The command recorded in results or shards, and its files. All of it may come from a stranger.
//!
//! A recorded command has the options that affect results, as the user gave them. Paths are taken from it only for
//! inputs; the output folder, permissions and the number of threads never are.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, Error, FromArgMatches};

use super::{Cli, Command, Failure, shell};

/// Options that decide no result, which a stranger must not choose.
const OWN: [&str; 9] = [
    "out", "replace", "threads", "memory", "format", "shard", "round", "junit", "details",
];

/// An option that does not affect results. It is recorded for readers, and ignored when the command is repeated.
pub(super) const ALLOW_COMMANDS: &str = "allow-commands";

/// Parses a command line, and determines the options that its results will record.
pub(super) fn parsed(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Command, Error> {
    let (mut command, options) = read(words)?;
    if let Some(recorded) = command.recorded() {
        for GivenOption { long, value } in options {
            if !OWN.contains(&long.as_str()) && long != ALLOW_COMMANDS {
                recorded.push(format!("--{long}"));
                recorded.extend(value);
            }
        }
    }
    Ok(command)
}

/// Returns the recorded command.
///
/// # Errors
/// Returns an error if the text is not a command that fleetsim records.
pub(super) fn command(recorded: &str) -> Result<Command, Failure> {
    let words = shell::words(recorded);
    let Ok((_, options)) = read(&words) else {
        return Err(refused(recorded, "be one that this program can run"));
    };
    for GivenOption { long, .. } in options {
        if OWN.contains(&long.as_str()) {
            let why = format!("not have `--{long}`; run it yourself if you need it");
            return Err(refused(recorded, &why));
        }
    }
    if let Ok(mut command) = parsed(words)
        && command.recorded().is_some()
    {
        return Ok(command);
    }
    Err(refused(recorded, "be one that this program can run"))
}

/// Returns the error for a recorded command. `must` describes the form that it must have.
fn refused(recorded: &str, must: &str) -> Failure {
    Failure::Usage(format!("the recorded command `{recorded}` must {must}"))
}

/// An option on the command line, and one of its values.
struct GivenOption {
    long: String,
    value: Option<String>,
}

/// Returns a command, and its options in the given order.
fn read(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<(Command, Vec<GivenOption>), Error> {
    let mut program = Cli::command();
    let matches = program.try_get_matches_from_mut(words)?;
    let command = Cli::from_arg_matches(&matches)?.command;
    let (name, own) = matches.subcommand().expect("a command is required");
    let known = program.find_subcommand(name).expect("it was parsed");
    let mut options = Vec::new();
    for arg in known.get_arguments() {
        options.extend(given(arg, own));
    }
    options.sort_by_key(|(index, _)| *index);
    let options = options.into_iter().map(|(_, option)| option);
    Ok((command, options.collect()))
}

/// Returns the values of an option, each with its index on the command line.
fn given(arg: &Arg, matches: &ArgMatches) -> Vec<(usize, GivenOption)> {
    let id = arg.get_id().as_str();
    let Some(long) = arg.get_long() else {
        return Vec::new();
    };
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    let mut values = Vec::new();
    if arg.get_action().takes_values() {
        for value in matches.get_raw(id).into_iter().flatten() {
            values.push(Some(value.to_string_lossy().into_owned()));
        }
    }
    if values.is_empty() {
        values.push(None);
    }
    // An option without its optional value has no index, and is placed last.
    let indices = matches.indices_of(id).into_iter().flatten();
    let mut given = Vec::new();
    for (index, value) in indices.chain([usize::MAX]).zip(values) {
        let long = long.to_owned();
        given.push((index, GivenOption { long, value }));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any new option must either affect results, or be rejected in a stranger's command.
    #[test]
    fn the_options_that_a_stranger_may_set_are_known() {
        let mut found: Vec<String> = Vec::new();
        for name in ["run", "plan", "sensitivity", "calibrate"] {
            let program = Cli::command();
            let options = program
                .find_subcommand(name)
                .expect("a command")
                .get_arguments();
            found.extend(options.filter_map(|arg| arg.get_long().map(str::to_owned)));
        }
        found.retain(|long| !OWN.contains(&long.as_str()));
        found.sort();
        found.dedup();
        let known = "allow-commands budget compare-exhaustive compression-ratio constant durations events image \
                     image-name images limit measure minimise no-causes no-charts only predict predict-events prometheus \
                     replicates resamples rtt seed series service-time set variant";
        assert_eq!(
            found.join(" "),
            known.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }

    #[test]
    fn options_are_recorded_as_they_were_written() {
        let words = "fleetsim sensitivity e --limit 'egress_busy_share < 10%' --threads 2 --replicates 5 \
                     --limit 'crashes == 0' --budget 0 --out x";
        let recorded = parsed(shell::words(words))
            .expect("valid")
            .recorded()
            .expect("recorded")
            .clone();
        assert_eq!(
            shell::quoted(recorded),
            "--limit 'egress_busy_share < 10%' --replicates 5 --limit 'crashes == 0' --budget 0"
        );
        let words = "fleetsim calibrate --predict --no-charts --events a --events b";
        let recorded = parsed(shell::words(words))
            .expect("valid")
            .recorded()
            .expect("recorded")
            .clone();
        assert_eq!(
            shell::quoted(recorded),
            "--no-charts --events a --events b --predict"
        );
    }
}

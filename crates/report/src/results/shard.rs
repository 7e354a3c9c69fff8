//! Shares of a study that several machines simulate: the assignment of runs to shards, and a shard's description of
//! itself.
//!
//! The shard of a run depends only on the run's variant and replicate, so a shard is the same wherever and however
//! often it is simulated. The runs of a variant are assigned to the shards in turn, and each variant starts with
//! another shard: variants differ in their cost, and a variant's number of runs is seldom a multiple of the number of
//! shards.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable with the index of a pod in a Kubernetes Indexed Job, from 0.
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

/// The environment variable with the index of a task in a Slurm array, as set by `--array`.
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

/// An environment variable with the index of a process among several.
struct IndexVariable {
    name: &'static str,
    /// The index that the variable gives to the first process.
    first: u32,
    /// How to start the processes with indices that correspond to shards.
    fix: &'static str,
}

/// The known variables; the first one that is set determines the shard.
const INDEX_VARIABLES: [IndexVariable; 2] = [
    IndexVariable {
        name: KUBERNETES,
        first: 0,
        fix: "set the Job's completions to N",
    },
    IndexVariable {
        name: SLURM,
        first: 1,
        fix: "submit the array with --array=1-N",
    },
];

impl IndexVariable {
    /// The shard of the process whose index is `value`.
    fn shard(&self, value: String, of: u32) -> Result<StudyShard, ShardTextError> {
        let index: Option<u32> = value.parse().ok();
        let number = index.and_then(|index| index.checked_add(1 - self.first));
        let shard = number.and_then(|number| StudyShard::new(number, of));
        shard.ok_or(ShardTextError::Index {
            name: self.name,
            value,
            of,
            fix: self.fix,
        })
    }
}

/// One run of a study: the number of its variant, and its replicate.
pub type RunId = (u32, u32);

/// One of several shares of a study: `2/7` is the second of seven.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct StudyShard {
    /// The number of the shard, from 1.
    pub number: u32,
    /// The number of shards.
    pub of: u32,
}

/// The description of a shard in its provenance.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ShardInfo {
    /// The shard's number, and the number of shards.
    #[serde(flatten)]
    pub shard: StudyShard,
    /// Number of the round, from 1. Later rounds simulate the runs that depend on the results of earlier ones.
    pub round: u32,
    /// The command that would simulate the whole study.
    pub whole_command: String,
    /// SHA-256 of the program's file, in hexadecimal.
    pub program_sha256: String,
    /// Number of runs in the shard. Filled in when the shard is written.
    pub runs: u64,
}

/// The reason why a text does not name a shard.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ShardTextError {
    /// The text is not `I/N` or `auto/N`, or its numbers are out of range.
    #[error("a shard is I/N with I from 1 to N, such as 2/7, or auto/N")]
    Form,
    /// The environment has no index for this process.
    #[error(
        "auto/N needs {KUBERNETES} (a Kubernetes Indexed Job) or {SLURM} (a Slurm array); write I/N instead"
    )]
    NoIndex,
    /// The index does not correspond to a shard.
    #[error("{name} is {value}, but N is {of}: {fix}")]
    Index {
        /// The name of the environment variable.
        name: &'static str,
        /// The value of the environment variable.
        value: String,
        /// The number of shards.
        of: u32,
        /// How to start the processes with indices that correspond to shards.
        fix: &'static str,
    },
}

impl StudyShard {
    /// Reads `I/N`, or `auto/N` with the index that Kubernetes (from 0) or Slurm (from 1) has set in the environment.
    ///
    /// Slurm's smallest index and its count are not used, because they change when individual tasks are resubmitted.
    ///
    /// # Errors
    /// Returns an error if the text has another form, or no index in the environment determines a shard.
    pub fn parse(
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ShardTextError> {
        let (number, of) = text.split_once('/').ok_or(ShardTextError::Form)?;
        let of: u32 = of.parse().map_err(|_| ShardTextError::Form)?;
        if number != "auto" {
            let number = number.parse().map_err(|_| ShardTextError::Form)?;
            return Self::new(number, of).ok_or(ShardTextError::Form);
        }
        for variable in INDEX_VARIABLES {
            match environment(variable.name) {
                Some(value) if !value.is_empty() => return variable.shard(value, of),
                _ => {}
            }
        }
        Err(ShardTextError::NoIndex)
    }

    /// Creates the shard with this number. `None` unless the number is from 1 to `of`.
    #[must_use]
    pub const fn new(number: u32, of: u32) -> Option<Self> {
        if number >= 1 && number <= of {
            Some(Self { number, of })
        } else {
            None
        }
    }

    /// Returns whether the shard simulates the given run.
    #[must_use]
    pub const fn owns(self, (variant, replicate): RunId) -> bool {
        variant.wrapping_add(replicate) % self.of == self.number - 1
    }

    /// The name of the shard's folder in the given round.
    #[must_use]
    pub fn folder_name(self, round: u32) -> String {
        let Self { number, of } = self;
        if round > 1 {
            format!("{number}-of-{of}.round-{round}")
        } else {
            format!("{number}-of-{of}")
        }
    }

    /// The command-line flags for this shard.
    #[must_use]
    pub fn flags(self, round: u32) -> String {
        if round > 1 {
            format!("--shard {self} --round {round}")
        } else {
            format!("--shard {self}")
        }
    }
}

impl fmt::Display for StudyShard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

impl FromStr for StudyShard {
    type Err = ShardTextError;

    fn from_str(text: &str) -> Result<Self, ShardTextError> {
        Self::parse(text, |name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_count_from_1_and_environment_indices_from_0_or_1() {
        let cases = [
            // text     environment                    shard, or a part of the error
            ("2/7", None, Ok((2, 7))),
            ("7/7", None, Ok((7, 7))),
            ("auto/7", Some((KUBERNETES, "0")), Ok((1, 7))),
            ("auto/7", Some((KUBERNETES, "6")), Ok((7, 7))),
            ("auto/7", Some((SLURM, "1")), Ok((1, 7))),
            ("auto/7", Some((SLURM, "7")), Ok((7, 7))),
            (
                "auto/7",
                Some((KUBERNETES, "7")),
                Err("set the Job's completions to N"),
            ),
            (
                "auto/7",
                Some((SLURM, "0")),
                Err("submit the array with --array=1-N"),
            ),
            (
                "auto/7",
                Some((SLURM, "x")),
                Err("SLURM_ARRAY_TASK_ID is x, but N is 7"),
            ),
            ("auto/7", None, Err("write I/N instead")),
            ("0/7", None, Err("I from 1 to N")),
            ("8/7", None, Err("I from 1 to N")),
            ("1/0", None, Err("I from 1 to N")),
            ("2", None, Err("I from 1 to N")),
            ("-1/3", None, Err("I from 1 to N")),
        ];
        for (text, set, expected) in cases {
            let environment = |name: &str| {
                set.filter(|(known, _)| *known == name)
                    .map(|(_, value): (_, &str)| value.to_owned())
            };
            match (StudyShard::parse(text, environment), expected) {
                (Ok(shard), Ok((number, of))) => {
                    assert_eq!(shard, StudyShard { number, of }, "{text} {set:?}");
                }
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{text} {set:?}: {error}");
                }
                (found, expected) => panic!("{text} {set:?}: {found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn every_run_belongs_to_one_shard_and_runs_of_a_variant_are_spread_evenly() {
        for of in [1, 2, 3, 7] {
            let shards: Vec<StudyShard> =
                (1..=of).map(|number| StudyShard { number, of }).collect();
            let mut runs = vec![0_u32; of as usize];
            for variant in 0..5 {
                let mut of_variant = vec![0_u32; of as usize];
                for replicate in 0..10 {
                    let owners: Vec<usize> = (0..of as usize)
                        .filter(|&at| shards[at].owns((variant, replicate)))
                        .collect();
                    assert_eq!(
                        owners.len(),
                        1,
                        "{variant}, {replicate} of {of}: {owners:?}"
                    );
                    of_variant[owners[0]] += 1;
                    runs[owners[0]] += 1;
                }
                let (least, most) = (of_variant.iter().min(), of_variant.iter().max());
                assert!(
                    most <= least.map(|least| least + 1).as_ref(),
                    "{of}: {of_variant:?}"
                );
            }
            // Ten replicates of five variants: if all variants started with the same shard, the first three of seven
            // shards would have five runs more.
            assert!(
                runs.iter().max() <= runs.iter().min().map(|least| least + 2).as_ref(),
                "{of}: {runs:?}"
            );
        }
    }
}

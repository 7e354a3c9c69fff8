//! Processes that take part in a run: they are asked over pipes, and decide.
//!
//! fleetsim speaks the protocol of `docs/external-schedulers.md` with them: JSON Lines, one answer for each message,
//! virtual time. Each run has a process of its own, which ends with the run. A process that breaks the protocol, ends
//! early or is silent for too long is an error of its run. The limit of silence is the one place where real time
//! counts.
//!
//! Left out: a process that is asked about several runs at once, and connections other than pipes.

mod child;
mod error;
pub(crate) mod protocol;

use std::path::PathBuf;

pub(crate) use child::ChildProcess;
pub use error::ProcessError;
use itertools::Itertools;

/// A command that starts a process.
#[derive(Clone, Debug)]
pub struct ProcessCommand {
    /// The program and its arguments. A program with a `/` is relative to the folder.
    pub words: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// Real time in which every answer must come, in nanoseconds.
    pub timeout_ns: u64,
    /// How to mend a program that does not exist.
    pub remedy: &'static str,
}

impl ProcessCommand {
    /// The command as a person would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        let quoted = |word: &String| if word.contains([' ', '"', '\'']) { format!("{word:?}") } else { word.clone() };
        self.words.iter().map(quoted).join(" ")
    }
}

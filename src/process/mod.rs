//! External processes that make a run's decisions. fleetsim queries them over pipes. An object of a program that uses
//! the library may answer instead ([`Decider`]).
//!
//! The protocol in `docs/external-schedulers.md` uses JSON Lines, one answer for each message, and virtual time. Each
//! run has its own process, which ends with the run. A run fails if its process breaks the protocol, ends early or
//! does not answer in time. This time limit is the only use of real time. When fleetsim ends for any reason, its
//! processes end, too.
//!
//! Left out: a process that serves several runs at once, and connections other than pipes.

mod child;
mod group;
mod guest;
pub(crate) mod protocol;

use std::path::PathBuf;

pub(crate) use child::ChildProcess;
pub use guest::{BegunRun, Decider, RunDecider};
pub use protocol::{
    Approval, ApprovalTime, ClientLimit, Decided, Held, Hello, HelloGroup, Instruction, Latency,
    News, Ready, Release, StageTargets, Target,
};

/// A process broke the protocol, could not be started, ended early, or did not answer in time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{problem}\n  run: {run}\n  command: {command}{}",
    evidence(line, last_words)
)]
pub struct ProcessError {
    /// Label of the run.
    pub run: String,
    /// The command that started the process.
    pub command: String,
    /// The broken rule, and a fix.
    pub problem: String,
    /// The offending line, shortened. Empty: no single line is at fault.
    pub line: String,
    /// The last lines that the process wrote to standard error.
    pub last_words: Vec<String>,
}

fn evidence(line: &str, last_words: &[String]) -> String {
    let mut text = String::new();
    if !line.is_empty() {
        text.push_str(&format!("\n  line: {line}"));
    }
    if !last_words.is_empty() {
        text.push_str("\n  its last lines on standard error:");
    }
    for line in last_words {
        text.push_str(&format!("\n    {line}"));
    }
    text
}

/// A command that starts a process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProcessCommand {
    /// The program and its arguments. A program path with a `/` is relative to `folder`.
    pub words: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// Time limit for every answer in real time, in nanoseconds.
    pub timeout_ns: u64,
    /// The advice if the program does not exist.
    pub remedy: &'static str,
}

impl ProcessCommand {
    /// Returns the command as a user would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut words = Vec::with_capacity(self.words.len());
        for word in &self.words {
            words.push(if word.contains([' ', '"', '\'']) {
                format!("{word:?}")
            } else {
                word.clone()
            });
        }
        words.join(" ")
    }

    /// Returns the path for starting the program. It is absolute, because the process has a different working
    /// directory.
    fn program(&self) -> PathBuf {
        let name = &self.words[0];
        if !name.contains('/') {
            return name.into();
        }
        let path = self.folder.join(name);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Returns the error for a program that does not exist.
    fn not_found(&self) -> String {
        format!(
            "the program `{}` must exist; {}",
            self.words[0], self.remedy
        )
    }

    /// Returns the error if a program path with a `/` does not exist. Other programs are looked up when they are
    /// started.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        (self.words[0].contains('/') && !self.program().exists()).then(|| self.not_found())
    }
}

//! Processes that take part in a run: fleetsim queries them over pipes, and they decide.
//!
//! fleetsim speaks the protocol of `docs/external-schedulers.md` with them: JSON Lines, one answer for each message,
//! virtual time. Each run has its own process, which ends with the run. A process that breaks the protocol, ends early
//! or does not answer in time is an error of its run. This time limit is the only use of real time. However fleetsim
//! ends, its processes end with it.
//!
//! Left out: a process that serves several runs at once, and connections other than pipes.

mod child;
mod group;
pub(crate) mod protocol;

use std::path::PathBuf;

pub(crate) use child::ChildProcess;

/// A process broke the protocol, could not be started, ended early, or did not answer in time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{problem}\n  run: {run}\n  command: {command}{}",
    evidence(line, last_words)
)]
pub struct ProcessError {
    /// Label of the run.
    pub run: String,
    /// The command.
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
    /// The program and its arguments. A program with a `/` is relative to the folder.
    pub words: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// Time limit of every answer in real time, in nanoseconds.
    pub timeout_ns: u64,
    /// The advice in the error about a program that does not exist.
    pub remedy: &'static str,
}

impl ProcessCommand {
    /// Returns the command as a person would type it.
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

    /// Returns the path of the program as it is started. The path is absolute, because the process has another working
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

    /// Returns the error if a program with a `/` does not exist. Others are looked up when they start.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        (self.words[0].contains('/') && !self.program().exists()).then(|| self.not_found())
    }
}

//! Errors of a process that takes part in a run.

use std::fmt;

/// A process broke the protocol, could not be started, ended early, or did not answer in time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProcessError {
    /// Label of the run.
    pub run: String,
    /// The command.
    pub command: String,
    /// The broken rule, and a fix.
    pub problem: String,
    /// The offending line, shortened. Empty: no line is at fault.
    pub line: String,
    /// The last lines that the process wrote to standard error.
    pub last_words: Vec<String>,
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  run: {}\n  command: {}", self.problem, self.run, self.command)?;
        if !self.line.is_empty() {
            write!(f, "\n  line: {}", self.line)?;
        }
        if !self.last_words.is_empty() {
            write!(f, "\n  its last lines on standard error:")?;
        }
        self.last_words.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl std::error::Error for ProcessError {}

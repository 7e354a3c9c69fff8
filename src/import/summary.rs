//! The summary of an import on the terminal: what was read, what was left out, the guesses, and the next commands.

use std::fmt;
use std::path::PathBuf;

use super::guess::Guess;
use crate::document::Problem;
use crate::units::counted;

/// An imported experiment that was written.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The folder of the experiment.
    pub folder: PathBuf,
    /// The files in the folder.
    pub files: Vec<String>,
    /// One line for each item that was read.
    pub read: Vec<String>,
    /// One line for each item that was left out or may be surprising.
    pub notes: Vec<String>,
    /// Warnings about settings that the product accepts but that may be surprising.
    pub warnings: Vec<String>,
    /// Values that no export contains.
    pub guesses: Vec<Guess>,
    /// Fields in the strategy's file that affect the rollout but are not simulated. The experiment is invalid until
    /// the user accepts them.
    pub undecided: Vec<Problem>,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.read {
            writeln!(f, "read {line}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        let folder = self.folder.display();
        writeln!(f, "wrote {folder}: {}", self.files.join(", "))?;
        let count = counted(self.guesses.len(), "assumption");
        writeln!(f, "\n{count}, each with its range in experiment.yaml:")?;
        let mut setting = 0;
        let mut value = 0;
        for guess in &self.guesses {
            setting = setting.max(guess.setting.chars().count());
            value = value.max(guess.value.chars().count());
        }
        for guess in &self.guesses {
            writeln!(
                f,
                "  {:setting$}  {:value$}  {}",
                guess.setting, guess.value, guess.range
            )?;
            writeln!(f, "      replace it with {}", guess.replace_with)?;
        }
        if !self.undecided.is_empty() {
            return writeln!(
                f,
                "\nnext: decide on what is not simulated: remove it from the file, or the `#` of `accept` in \
                 {folder}/experiment.yaml"
            );
        }
        writeln!(f, "\nnext: fleetsim run {folder}")
    }
}

//! Decisions by an object in this process, in place of an external process: the same messages without a pipe.
//!
//! A program that uses the library, such as the Python package, implements [`Decider`]. A run asks the same questions
//! in the same order as it asks a process (`docs/external-schedulers.md`), so equal answers give equal results.
//!
//! Left out: a control loop of its own, and a time limit: a method that never returns cannot be ended from outside.

use std::fmt::Debug;

use super::protocol::{Decided, Held, Hello, News, Ready};

/// A strategy of the program that uses the library. Each run begins with a [`RunDecider`] of its own.
pub trait Decider: Debug + Send + Sync {
    /// Returns the name that errors show in place of a command.
    fn name(&self) -> String;

    /// Begins a run.
    ///
    /// # Errors
    /// Returns a message if the strategy fails. The run then fails with it.
    fn begin(&self, hello: &Hello<'_>) -> Result<BegunRun, String>;
}

/// The strategy of a run that has begun, and its first answer.
#[derive(Debug)]
pub struct BegunRun {
    /// The strategy of this run.
    pub decider: Box<dyn RunDecider>,
    /// The answer to `hello`.
    pub ready: Ready,
}

/// The decisions in one run.
pub trait RunDecider: Debug {
    /// Decides in a pass at `now`, in nanoseconds. `news` contains the changes since the last pass.
    ///
    /// # Errors
    /// Returns a message if the strategy fails. The run then fails with it.
    fn decide(&mut self, now: u64, news: &[News]) -> Result<Decided, String>;

    /// Returns the rule that blocks the rollout.
    ///
    /// # Errors
    /// Returns a message if the strategy fails. The run then fails with it.
    fn hold(&mut self) -> Result<Held, String>;
}

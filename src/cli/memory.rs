//! `--memory`: the memory limit of a simulation. A study that needs more is rejected before the first run.

use std::thread::available_parallelism;

use clap::Args;
use fleetsim::study::{MOST_MEMORY, MemoryEstimate, TooMuchMemory};
use fleetsim::units::{Bytes, WithUnit, counted};

use super::{Failure, output};

/// The memory limit of a command.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct MemoryArgs {
    /// Maximum estimated memory of the simulation; a study that needs more is rejected
    #[arg(long = "memory", value_name = "SIZE", default_value_t = MOST_MEMORY, value_parser = Bytes::parse)]
    pub(super) most: Bytes,
}

impl Default for MemoryArgs {
    fn default() -> Self {
        Self { most: MOST_MEMORY }
    }
}

impl MemoryArgs {
    /// Returns the number of threads: the requested number (by default one for each core), or fewer if they would need
    /// too much memory. Results do not depend on the number.
    ///
    /// # Errors
    /// Returns an error if a single run needs too much memory.
    pub(super) fn threads(
        self,
        estimate: &MemoryEstimate,
        wanted: Option<u16>,
    ) -> Result<Option<u16>, Failure> {
        let cores = || available_parallelism().map_or(1, usize::from);
        let at_once = wanted.map_or_else(cores, usize::from);
        let fitting = estimate
            .runs_within(self.most, at_once)
            .map_err(|refused| too_much(&refused))?;
        if fitting == at_once {
            return Ok(wanted);
        }
        output::err(&format!(
            "note: {} at a time instead of {at_once}, which would take more than {} of memory; `--memory` allows more\n",
            counted(fitting, "run"),
            self.most
        ));
        Ok(u16::try_from(fitting).ok())
    }
}

/// Returns the error, with the option that permits the required memory.
fn too_much(refused: &TooMuchMemory) -> Failure {
    Failure::Usage(format!(
        "this cannot be simulated: {refused}\n  make it smaller, or allow more with `{}`",
        option(refused.needed)
    ))
}

/// Returns the option that permits this memory.
pub(super) fn option(needed: Bytes) -> String {
    let gigabytes = needed.get().div_ceil(1_000_000_000);
    format!("--memory {gigabytes}GB")
}

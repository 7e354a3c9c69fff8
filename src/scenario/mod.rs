//! What users write, checked: an experiment file and the files it names become scenarios that can be run.
//!
//! Three kinds of type and two conversions: the file as written (text, fields left out), the checked [`Scenario`]
//! (units resolved, defaults filled in; nothing past this point asks again), and the running state in `sim`.

mod error;
mod file;
mod files;
mod inventory;
mod manifest;
mod names;
mod path;
mod quantity;
mod read;
mod tree;

use crate::rollout::ControlLoop;
use crate::units::SimDuration;
use crate::world::WorldSpec;

/// A whole experiment: every variant of every strategy, ready to run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name, also of the results folder.
    pub name: String,
    /// What the experiment asks, in one sentence.
    pub question: String,
    /// The root of all luck.
    pub seed: u64,
    /// Runs of every variant.
    pub replicates: u32,
    /// Strategies x sweep, in the file's order; names unique.
    pub variants: Vec<Variant>,
    /// Every file that was read, for provenance.
    pub inputs: Vec<InputFile>,
}

/// A file that an experiment was read from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InputFile {
    /// As the experiment names it, relative to the experiment's folder.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// One strategy with one choice of swept settings.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Strategy and setting in one short text, unique in the experiment.
    pub label: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
    pub setting: String,
    /// What to run.
    pub scenario: Scenario,
}

/// One world and one strategy.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fleet, the registry, the release and what goes wrong.
    pub world: WorldSpec,
    /// Who decides which cluster goes next.
    pub strategy: Strategy,
    /// How its control loop runs.
    pub control_loop: ControlLoop,
    /// When a run is given up.
    pub horizon: SimDuration,
}

/// A rollout scheduler with its configuration.
#[derive(Clone, Debug)]
pub enum Strategy {}

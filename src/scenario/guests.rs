//! Parts of an experiment that another program brings along, and that no file can name: the text of the experiment,
//! strategies and a failure model in this process.
//!
//! A program that uses the library, such as the Python package, passes them with [`Overrides`](super::Overrides).
//! Everything else of the experiment is read and checked as always, so errors have the same text and place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check::CheckedWorld;
use super::loader::Loader;
use crate::document::path::Path;
use crate::process::Decider;
use crate::products::Strategy;
use crate::units::SimDuration;
use crate::world::{GuestFaults, OutageModel};

/// What a program brings along to an experiment.
#[derive(Clone, Debug, Default)]
pub struct Guests {
    /// The text of the experiment, in place of its file. `None`: the file is read.
    pub text: Option<Arc<str>>,
    /// Objects that decide in place of external processes, by the name of their strategy.
    pub strategies: BTreeMap<String, Arc<dyn Decider>>,
    /// A failure model, in addition to the experiment's own faults.
    pub faults: Option<Arc<dyn OutageModel>>,
    /// The source of these objects, as name and text. Results record it like the files of an experiment.
    pub sources: BTreeMap<String, String>,
}

impl Loader {
    /// Adds the failure model of another program to a checked world.
    pub(super) fn with_guest_faults(
        &self,
        mut world: CheckedWorld,
        horizon: SimDuration,
    ) -> CheckedWorld {
        if let Some(model) = &self.guests().faults {
            Arc::make_mut(&mut world.world).faults.guest = Some(GuestFaults {
                model: Arc::clone(model),
                horizon,
            });
        }
        world
    }

    /// Returns the strategy with the object that decides in place of its process, if another program brings one.
    /// `None`: the strategy cannot be decided in this process, which was reported.
    pub(super) fn decided_by_guest(
        &mut self,
        name: &str,
        strategy: Arc<dyn Strategy>,
    ) -> Option<Arc<dyn Strategy>> {
        let Some(decider) = self.guests().strategies.get(name) else {
            return Some(strategy);
        };
        if let Some(decided) = strategy.decided_in_process(decider) {
            return Some(decided);
        }
        let path = Path::of("strategies").key(name);
        let message = format!("`{name}` cannot be decided in this process");
        let place = self.tree.place(&path);
        let problem = self.source.at(place, path.to_string(), message);
        self.problems
            .push(problem.with_help("write `external: {command: […]}` without `loop: process`"));
        None
    }
}

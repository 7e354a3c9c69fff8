//! Parts of an experiment that another program brings along, and that no file can name: the text of the experiment,
//! strategies and a failure model in this process.
//!
//! A program that uses the library, such as the Python package, passes them with [`Overrides`](super::Overrides).
//! Everything else of the experiment is read and checked as always, so errors have the same text and place.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::process::Decider;
use crate::world::OutageModel;

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

impl Guests {
    /// Names the objects of the program for readers of the results: no file and no command has them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for strategy in self.strategies.values() {
            let name = format!("`{}`", strategy.name());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if self.faults.is_some() {
            names.push("a failure model".to_owned());
        }
        names
    }
}

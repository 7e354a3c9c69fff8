//! `controller: upstream`: a product's own controller, unmodified, in the place of the scheduler of this program.
//!
//! The product's file is read and checked as for the native scheduler. A run then starts one of the programs that
//! `controllers/build` makes, and hands it the file. The program keeps its own control loop, with its own agents'
//! delays, in virtual time ([`external`]).
//!
//! Left out: settings in place, which the product's controller could not read, and approvals.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::external::{ExternalStrategy, LoopKeeper};
use super::{Controller, Fleet, Run, Strategy, StrategyExplanation};
use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::tree::Value;
use crate::process::ProcessCommand;
use crate::results::Snippet;
use crate::units::SimDuration;
use crate::world::{AgentSpec, DurationModel, ReadinessSpec};

/// The folder of the programs, unless [`FOLDER_VARIABLE`] names another one.
const FOLDER: &str = "target/controllers";

/// The environment variable that names the folder of the programs.
const FOLDER_VARIABLE: &str = "FLEETSIM_CONTROLLERS";

/// Real time in which an answer must come. A controller of thousands of clusters may take minutes to start.
const TIMEOUT: SimDuration = SimDuration::from_mins(10);

/// The program that decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControllerChoice {
    /// The scheduler of fleetsim.
    #[default]
    Native,
    /// The product's own controller, built by `controllers/build`. It needs `file` and `--allow-commands`.
    Upstream,
}

impl ControllerChoice {
    /// The checked strategy, driven by whichever controller was chosen; `name` is that of the product's
    /// program. `path` is the
    /// strategy's place, and `file` the product's file that it names.
    pub(crate) fn apply(
        self,
        name: &str,
        file: Option<&str>,
        native: Arc<dyn Strategy>,
        path: &Path,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        if self == Self::Native {
            return Some(native);
        }
        let Some(file) = file else {
            let message = "`controller: upstream` needs the strategy in the product's own file";
            context.report(&path.key("controller"), message, "name it with `file`");
            return None;
        };
        for key in other_keys(path, context) {
            let message = format!("`{key}` has no effect with `controller: upstream`, which reads `{file}` alone");
            context.report(&path.key(&key), message, &format!("write it into `{file}`, or remove it"));
        }
        let text = context.file(file, &path.key("file"))?.text.clone();
        let folder = std::env::var_os(FOLDER_VARIABLE).map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
        let program = std::path::absolute(folder.join(name)).unwrap_or_else(|_| folder.join(name));
        let process = ExternalStrategy {
            command: ProcessCommand {
                words: vec![program.to_string_lossy().into_owned()],
                folder: context.files.folder().to_owned(),
                timeout_ns: TIMEOUT.as_nanos(),
                remedy: "build it with `controllers/build`, or name its folder with FLEETSIM_CONTROLLERS",
            },
            files: vec![(file.to_owned(), text)],
            settings: BTreeMap::new(),
            keeper: LoopKeeper::Process,
            // Of the products, Argo CD alone looks at them.
            sees_progress_deadlines: name == "argocd",
        };
        Some(Arc::new(UpstreamStrategy { native, process }))
    }
}

/// Keys of the strategy that the product's controller would not see.
fn other_keys(path: &Path, context: &Context<'_>) -> Vec<String> {
    let Some(Value::Map(entries)) = context.tree.get(path).map(|node| &node.value) else { return Vec::new() };
    let keys = entries.iter().map(|(key, _)| key.text.clone());
    keys.filter(|key| !["file", "controller"].contains(&key.as_str())).collect()
}

/// A strategy whose rollouts the product's own controller drives.
#[derive(Debug)]
struct UpstreamStrategy {
    native: Arc<dyn Strategy>,
    process: ExternalStrategy,
}

impl Strategy for UpstreamStrategy {
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let mut explanation = self.native.explain(fleet);
        explanation
            .lines
            .push("decided by the product's own controller; these lines are fleetsim's reading".to_owned());
        explanation
    }

    fn snippet(&self) -> Option<Snippet> {
        self.native.snippet()
    }

    fn command(&self) -> Option<String> {
        self.process.command()
    }

    /// The program has a model of the agents' part in noticing readiness.
    fn agent(&self, described: AgentSpec) -> AgentSpec {
        let at_once = ReadinessSpec::Delay(DurationModel::Constant(SimDuration::ZERO));
        AgentSpec { readiness: at_once, ..described }
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        self.process.controller(run)
    }
}

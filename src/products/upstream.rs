//! `controller: upstream`: a product's own controller, unmodified, in the place of the scheduler of this program.
//!
//! The product's file is read and checked as for the native scheduler. A run then starts one of the programs that
//! `controllers/build` makes, and hands it the file. The program keeps its own control loop, with its own agents'
//! delays, in virtual time ([`external`]).
//!
//! The acts of people reach the program as news: `changes` of the experiment, and KubeFleet's approvals and states of
//! its run. Left out: settings in place, which the product's controller could not read, other than flags.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Strategy;
use super::external::{ApprovalModel, ExternalStrategy, LoopKeeper};
use crate::control_plane::Change;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::process::ProcessCommand;
use crate::process::protocol::Approval;
use crate::units::SimDuration;
use crate::world::DurationModel;

/// The folder of the programs, unless [`FOLDER_VARIABLE`] names another one.
const FOLDER: &str = "target/controllers";

/// The environment variable that names the folder of the programs.
const FOLDER_VARIABLE: &str = "FLEETSIM_CONTROLLERS";

/// The advice about a program that does not exist.
const BUILD: &str =
    "build it with `controllers/build`, or name its folder with FLEETSIM_CONTROLLERS";

/// The same for KubeFleet, whose Go module the module proxy does not have.
const WITHOUT_MODULE: &str = "`controllers/build` does not make it, because KubeFleet's Go module cannot be \
                              downloaded; name the folder of your own build with FLEETSIM_CONTROLLERS, or use \
                              `controller: native`, which follows recordings of KubeFleet's controllers";

/// Real time in which an answer must come. A controller of thousands of clusters may take minutes to start.
const TIMEOUT: SimDuration = SimDuration::from_mins(10);

/// The program that decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControllerChoice {
    /// The scheduler of fleetsim.
    #[default]
    Native,
    /// The product's own controller, built by `controllers/build`. It needs `file` and `--allow-commands`.
    Upstream,
}

/// A product's own controller as one of the programs that `controllers/build` makes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UpstreamProgram {
    ArgoCd,
    RancherFleet,
    KubeFleet,
}

impl UpstreamProgram {
    /// The name of its file.
    const fn name(self) -> &'static str {
        match self {
            Self::ArgoCd => "argocd",
            Self::RancherFleet => "fleet",
            Self::KubeFleet => "kubefleet",
        }
    }

    /// The advice if it does not exist.
    const fn remedy(self) -> &'static str {
        match self {
            Self::ArgoCd | Self::RancherFleet => BUILD,
            Self::KubeFleet => WITHOUT_MODULE,
        }
    }

    /// The command that starts it in this folder.
    fn command(self, folder: &std::path::Path) -> ProcessCommand {
        let programs =
            std::env::var_os(FOLDER_VARIABLE).map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
        let path = programs.join(self.name());
        let path = std::path::absolute(&path).unwrap_or(path);
        ProcessCommand {
            words: vec![path.to_string_lossy().into_owned()],
            folder: folder.to_owned(),
            timeout_ns: TIMEOUT.as_nanos(),
            remedy: self.remedy(),
        }
    }
}

/// A product's program, and what it is given.
pub(crate) struct Program<'f> {
    pub(crate) kind: UpstreamProgram,
    /// The product's file that the strategy names.
    pub(crate) file: Option<&'f str>,
    /// Keys of the strategy that say what people do, or that are flags of the program; `a.b` is a key below `a`.
    pub(crate) other_keys: &'static [&'static str],
    /// The product's own flags, which the program gets.
    pub(crate) settings: BTreeMap<String, String>,
    /// The acts of people, as the strategy says.
    pub(crate) acts: Vec<(SimDuration, Change)>,
    /// From the request of an approval to the approval. `None`: never.
    pub(crate) approval_delay: Option<DurationModel>,
    /// Approvals that it asks for by its conditions.
    pub(crate) approvals: Vec<Approval>,
}

impl<'f> Program<'f> {
    /// A program for which people do nothing.
    pub(crate) const fn new(kind: UpstreamProgram, file: Option<&'f str>) -> Self {
        Self {
            kind,
            file,
            other_keys: &[],
            settings: BTreeMap::new(),
            acts: Vec::new(),
            approval_delay: None,
            approvals: Vec::new(),
        }
    }

    /// The keys of a strategy. A key of which the program gets only some parts stands for its inner keys.
    fn keys(&self, path: &Path, context: &Context<'_>) -> Vec<String> {
        let mut keys = Vec::new();
        for key in context.keys(path) {
            if self.gets_parts_of(&key) {
                for inner in context.keys(&path.key(&key)) {
                    keys.push(format!("{key}.{inner}"));
                }
            } else {
                keys.push(key);
            }
        }
        keys
    }

    /// Whether the program gets some keys below this one.
    fn gets_parts_of(&self, key: &str) -> bool {
        let prefix = format!("{key}.");
        self.other_keys
            .iter()
            .any(|other| other.starts_with(&prefix))
    }

    /// Reports the keys of a strategy that the program does not read. `file`: the only file that it reads.
    fn report_unread_keys(&self, file: &str, path: &Path, context: &mut Context<'_>) {
        for key in self.keys(path, context) {
            let is_read_here = ["file", "controller", "accept"].contains(&key.as_str());
            if is_read_here || self.other_keys.contains(&key.as_str()) {
                continue;
            }
            let message = format!(
                "`{key}` has no effect with `controller: upstream`, which reads `{file}` alone"
            );
            let place = match Path::parse(&key) {
                Ok(key) => path.then(&key),
                Err(_) => path.key(&key),
            };
            let help = format!("write it into `{file}`, or remove it");
            context.report(&place, message, &help);
        }
    }
}

impl ControllerChoice {
    /// The checked strategy, driven by whichever controller was chosen. `path` is the strategy's place.
    pub(crate) fn apply(
        self,
        program: Program<'_>,
        native: Arc<dyn Strategy>,
        path: &Path,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        if self == Self::Native {
            return Some(native);
        }
        let Some(file) = program.file else {
            let message = "`controller: upstream` needs the strategy in the product's own file";
            context.report(&path.key("controller"), message, "name it with `file`");
            return None;
        };
        program.report_unread_keys(file, path, context);
        let text = context.file(file, &path.key("file"))?.text.clone();
        Some(Arc::new(ExternalStrategy {
            command: program.kind.command(context.files.folder()),
            files: vec![(file.to_owned(), text)],
            settings: program.settings,
            keeper: LoopKeeper::Process,
            approvals: ApprovalModel {
                delay: program.approval_delay,
                by_condition: program.approvals,
            },
            // Of the products, Argo CD alone looks at them.
            sees_progress_deadlines: program.kind == UpstreamProgram::ArgoCd,
            // Of the products, Rancher Fleet alone can pause a cluster.
            heeds_pause: program.kind == UpstreamProgram::RancherFleet,
            native: Some(native),
            acts: program.acts,
        }))
    }
}

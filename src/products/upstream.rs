//! `controller: upstream`: a product's own controller, unmodified, instead of fleetsim's scheduler.
//!
//! The product's file is read and checked as for the native scheduler. A run then starts a program built by
//! `controllers/build`, and passes it the file. The program runs its own control loop, with its own agents' delays, in
//! virtual time ([`external`]).
//!
//! People's actions reach the program as events: `changes` of the experiment, and KubeFleet's approvals and run
//! states. Left out: settings in the experiment other than flags, because the product's controller cannot read them.

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

/// The default folder of the programs, which [`FOLDER_VARIABLE`] overrides.
const FOLDER: &str = "target/controllers";

/// The environment variable that overrides the folder of the programs.
const FOLDER_VARIABLE: &str = "FLEETSIM_CONTROLLERS";

/// The advice if a program does not exist.
const BUILD: &str = "build it with `controllers/build`, or set FLEETSIM_CONTROLLERS to its folder";

/// The advice if KubeFleet's program does not exist. Its Go module is not in the module proxy.
const WITHOUT_MODULE: &str = "`controllers/build` does not build it, because KubeFleet's Go module cannot be \
                              downloaded; set FLEETSIM_CONTROLLERS to the folder of your own build, or use \
                              `controller: native`, which follows recordings of KubeFleet's controllers";

/// Time limit for an answer, in real time. A controller with thousands of clusters may take minutes to start.
const TIMEOUT: SimDuration = SimDuration::from_mins(10);

/// The program that makes the decisions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ControllerChoice {
    /// fleetsim's scheduler.
    #[default]
    Native,
    /// The product's own controller, built by `controllers/build`. It needs `file` and `--allow-commands`.
    Upstream,
}

/// A program built by `controllers/build`: a product's own controller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UpstreamProgram {
    ArgoCd,
    RancherFleet,
    KubeFleet,
}

impl UpstreamProgram {
    /// Returns the name of the program's file.
    const fn name(self) -> &'static str {
        match self {
            Self::ArgoCd => "argocd",
            Self::RancherFleet => "fleet",
            Self::KubeFleet => "kubefleet",
        }
    }

    /// Returns the advice if the program does not exist.
    const fn remedy(self) -> &'static str {
        match self {
            Self::ArgoCd | Self::RancherFleet => BUILD,
            Self::KubeFleet => WITHOUT_MODULE,
        }
    }

    /// Returns the command that starts the program in this folder.
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

/// A product's program and its inputs.
pub(crate) struct Program<'f> {
    pub(crate) kind: UpstreamProgram,
    /// The product's file, as named by the strategy.
    pub(crate) file: Option<&'f str>,
    /// The strategy's keys that contain people's actions or flags of the program; `a.b` is a key below `a`.
    pub(crate) other_keys: &'static [&'static str],
    /// The product's own flags, which are passed to the program.
    pub(crate) settings: BTreeMap<String, String>,
    /// People's actions, according to the strategy.
    pub(crate) acts: Vec<(SimDuration, Change)>,
    /// Delay from the request of an approval to the approval. `None`: approvals are never given.
    pub(crate) approval_delay: Option<DurationModel>,
    /// Approvals that the program requests through its conditions.
    pub(crate) approvals: Vec<Approval>,
}

impl<'f> Program<'f> {
    /// Creates a program without actions by people.
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

    /// Returns the keys of a strategy. If the program receives only parts of a key, its inner keys are listed instead.
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

    /// Returns whether the program receives some keys below this one.
    fn gets_parts_of(&self, key: &str) -> bool {
        let prefix = format!("{key}.");
        self.other_keys
            .iter()
            .any(|other| other.starts_with(&prefix))
    }

    /// Reports the strategy's keys that the program does not read. `file`: the only file that the program reads.
    fn report_unread_keys(&self, file: &str, path: &Path, context: &mut Context<'_>) {
        for key in self.keys(path, context) {
            let is_read_here = ["file", "controller", "accept"].contains(&key.as_str());
            if is_read_here || self.other_keys.contains(&key.as_str()) {
                continue;
            }
            let message = format!(
                "`{key}` has no effect with `controller: upstream`, which reads only `{file}`"
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
    /// Returns the checked strategy with the chosen controller. `path` is the strategy's path.
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
            decider: None,
            files: vec![(file.to_owned(), text)],
            settings: program.settings,
            keeper: LoopKeeper::Process,
            approvals: ApprovalModel {
                delay: program.approval_delay,
                by_condition: program.approvals,
            },
            // Of all products, only Argo CD considers progress deadlines.
            sees_progress_deadlines: program.kind == UpstreamProgram::ArgoCd,
            // Of all products, only Rancher Fleet can pause a cluster.
            heeds_pause: program.kind == UpstreamProgram::RancherFleet,
            native: Some(native),
            acts: program.acts,
        }))
    }
}

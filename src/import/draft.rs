//! A draft of an experiment: the parts that the importers of all products share.

use super::guess::Guess;
use super::images::ImportedImage;
use super::left_out::LeftOut;
use super::target::FleetTarget;
use super::windows::WindowsFile;
use crate::document::problem::Problem;
use crate::products::fields::DecidingField;
use crate::world::SiteKind;

/// Argo CD's key in `strategies`.
pub(super) const ARGO_CD: &str = "argoCd";

/// The key of the proposal for its ApplicationSets.
pub(super) const ARGO_CD_PROPOSAL: &str = "argoCdProposal";

/// The imported experiment, before it is written.
pub(super) struct ExperimentDraft {
    pub(super) fleet: ImportedFleet,
    pub(super) images: Vec<ImportedImage>,
    pub(super) nodes: Option<NodeFacts>,
    /// The kind of site of the clusters.
    pub(super) site: SiteKind,
}

/// The part of an import that a product's own importer reads.
pub(super) struct ImportedFleet {
    /// A short description of the fleet, such as `297 clusters of fleet-default`.
    pub(super) in_words: String,
    /// The file that the fleet comes from, such as `clusters.json`.
    pub(super) origin: String,
    pub(super) targets: Vec<FleetTarget>,
    /// Entries of the export that are not selected. The notes state their number.
    pub(super) left_out: Vec<LeftOut>,
    /// Links that several targets share.
    pub(super) regions: Vec<String>,
    /// Fleet's cluster groups, as `kubectl get clustergroups.fleet.cattle.io -o json` prints them.
    pub(super) cluster_groups: Option<Vec<u8>>,
    pub(super) strategy: StrategyDraft,
    pub(super) workload: WorkloadDraft,
    /// One line for each item that was read.
    pub(super) read: Vec<String>,
    /// One line for each item that was left out or may be surprising.
    pub(super) notes: Vec<String>,
}

/// A strategy for one product.
pub(super) struct StrategyDraft {
    /// The product's key in `strategies`.
    pub(super) product: &'static str,
    /// The product's own file.
    pub(super) file: Option<StrategyFile>,
    /// The windows in which the product updates targets.
    pub(super) windows: Option<WindowsFile>,
    /// Settings that the run needs and exports do not contain. They are written with the strategy's settings.
    pub(super) guesses: Vec<Guess>,
    /// Lines for the settings that an export contains.
    pub(super) shown: Vec<String>,
    /// Names of fields in the strategy's file that affect the rollout but are not simulated. The user has to accept
    /// them.
    pub(super) undecided: Vec<DecidingField>,
    /// Fields of the app in another file that affect the rollout but are not simulated. The user has to accept them.
    pub(super) of_app: Vec<AppField>,
    /// Time limit of a run, if the strategy needs more than the default.
    pub(super) horizon: Option<String>,
}

/// A field of an app that affects the rollout but is not simulated.
pub(super) struct AppField {
    pub(super) field: DecidingField,
    /// The problem with the field, at its position in the user's file.
    pub(super) problem: Problem,
}

impl AppField {
    /// Creates the field. `at` creates a problem from a message and the field's position.
    pub(super) fn of(field: DecidingField, at: impl FnOnce(String) -> Problem) -> Self {
        let message = format!(
            "`{}` is not simulated and can change the answer ({})",
            field.path, field.effect
        );
        let problem = at(message).with_help(DECIDE);
        Self { field, problem }
    }
}

/// The suggested fix for a field that is not simulated.
pub(super) const DECIDE: &str =
    "remove it from the file, or the `#` of `accept` in the experiment that was written";

/// The product's own file that contains the strategy.
pub(super) struct StrategyFile {
    /// The file name of the copy.
    pub(super) name: String,
    /// The file from which the text was read, for messages.
    pub(super) origin: String,
    pub(super) text: String,
}

/// The known facts about the pods of a target.
#[derive(Default)]
pub(super) struct WorkloadDraft {
    /// Whether every target is one instance on one node.
    pub(super) is_one_instance: bool,
    pub(super) readiness: ReadinessFacts,
    /// Time limit for a process to pass its health check, in seconds. `None`: no limit.
    pub(super) start_timeout: Option<u64>,
}

/// The known facts about the readiness probe.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) enum ReadinessFacts {
    /// The readiness probe is unknown.
    #[default]
    Guess,
    /// There is no probe.
    None,
    /// The experiment's `readiness` as YAML.
    Known(String),
}

impl StrategyDraft {
    /// Creates a draft with a product's default strategy.
    pub(super) const fn of(product: &'static str) -> Self {
        Self {
            product,
            file: None,
            windows: None,
            guesses: Vec::new(),
            shown: Vec::new(),
            undecided: Vec::new(),
            of_app: Vec::new(),
            horizon: None,
        }
    }
}

/// The known facts about nodes.
pub(super) struct NodeFacts {
    /// The number of nodes of a typical cluster.
    pub(super) count: u32,
    /// `node.runtime`, if fleetsim supports the runtime.
    pub(super) runtime: Option<String>,
    /// Whether the nodes are machines from a cloud provider.
    pub(super) is_cloud: bool,
}

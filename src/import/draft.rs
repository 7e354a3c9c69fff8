//! An experiment in the making: what the importers of all products have in common.

use super::guess::Guess;
use super::images::ImportedImage;
use super::left_out::LeftOut;
use super::target::FleetTarget;
use crate::document::problem::Problem;
use crate::products::fields::DecidingField;
use crate::world::SiteKind;

/// The key of the product in `strategies`.
pub(super) const ARGO_CD: &str = "argoCd";

/// The key of the proposal for its ApplicationSets.
pub(super) const ARGO_CD_PROPOSAL: &str = "argoCdProposal";

/// The imported experiment, before it is written.
pub(super) struct ExperimentDraft {
    pub(super) fleet: ImportedFleet,
    pub(super) images: Vec<ImportedImage>,
    pub(super) nodes: Option<NodeFacts>,
    /// Where the clusters are.
    pub(super) site: SiteKind,
}

/// The part of an import that the product's own importer reads.
pub(super) struct ImportedFleet {
    /// The fleet in a few words: `297 clusters of fleet-default`.
    pub(super) in_words: String,
    /// Where the fleet comes from: `clusters.json`.
    pub(super) origin: String,
    pub(super) targets: Vec<FleetTarget>,
    /// Entries of the export that nothing selects. Each is counted in the notes.
    pub(super) left_out: Vec<LeftOut>,
    /// Links that several targets share.
    pub(super) regions: Vec<String>,
    /// Fleet's cluster groups, in the form of `kubectl get clustergroups.fleet.cattle.io -o json`.
    pub(super) cluster_groups: Option<Vec<u8>>,
    pub(super) strategy: StrategyDraft,
    pub(super) workload: WorkloadDraft,
    /// One line for each thing that was read.
    pub(super) read: Vec<String>,
    /// One line for each thing that was left out, or that a reader may not expect.
    pub(super) notes: Vec<String>,
}

/// A strategy of one product.
pub(super) struct StrategyDraft {
    /// The product's key in `strategies`.
    pub(super) product: &'static str,
    /// The product's own file.
    pub(super) file: Option<StrategyFile>,
    /// Settings that the run needs and no export contains, as part of the settings.
    pub(super) guesses: Vec<Guess>,
    /// Lines of settings that an export shows.
    pub(super) shown: Vec<String>,
    /// Fields of the file that decide and are not simulated, by name. The user has to accept them.
    pub(super) undecided: Vec<DecidingField>,
    /// The same of the app, which another file describes.
    pub(super) of_app: Vec<AppField>,
    /// Time after which a run is given up, where the strategy itself needs more than the default.
    pub(super) horizon: Option<String>,
}

/// A field of an app that decides and is not simulated.
pub(super) struct AppField {
    pub(super) field: DecidingField,
    /// At its place in the user's file.
    pub(super) problem: Problem,
}

impl AppField {
    /// `at`: the problem at its place, from the message.
    pub(super) fn of(field: DecidingField, at: impl FnOnce(String) -> Problem) -> Self {
        let message = format!(
            "`{}` is not simulated and can change the answer ({})",
            field.path, field.effect
        );
        let problem = at(message).with_help(DECIDE);
        Self { field, problem }
    }
}

/// How a user decides on a field that is not simulated.
pub(super) const DECIDE: &str =
    "remove it from the file, or the `#` of `accept` in the experiment that was written";

/// The product's own file with its strategy.
pub(super) struct StrategyFile {
    /// The name that the copy gets.
    pub(super) name: String,
    /// The file that it was read from, for messages.
    pub(super) origin: String,
    pub(super) text: String,
}

/// The facts that are known of the pods of a target.
#[derive(Default)]
pub(super) struct WorkloadDraft {
    /// Every target is one instance on one node.
    pub(super) is_one_instance: bool,
    pub(super) readiness: ReadinessFacts,
    /// Seconds in which a process must answer. `None`: it has no limit.
    pub(super) start_timeout: Option<u64>,
}

/// The knowledge about the readiness probe.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) enum ReadinessFacts {
    /// Nothing.
    #[default]
    Guess,
    /// There is none.
    None,
    /// `readiness` as YAML.
    Known(String),
}

impl StrategyDraft {
    /// A product's default strategy.
    pub(super) const fn of(product: &'static str) -> Self {
        Self {
            product,
            file: None,
            guesses: Vec::new(),
            shown: Vec::new(),
            undecided: Vec::new(),
            of_app: Vec::new(),
            horizon: None,
        }
    }
}

/// The facts that are known of nodes.
pub(super) struct NodeFacts {
    /// Nodes of a typical cluster.
    pub(super) count: u32,
    /// `node.runtime`, where fleetsim knows it.
    pub(super) runtime: Option<String>,
    /// They are machines of a cloud provider.
    pub(super) is_cloud: bool,
}

//! What users write, checked: an experiment file and the files it names become scenarios that can be run.
//!
//! Three kinds of type and two conversions: the file as written (text, fields left out), the checked [`Scenario`]
//! (units resolved, defaults filled in; nothing past this point asks again), and the running state in `sim`.

mod argo_cd;
mod assertion;
mod check;
mod cloud_foundry_file;
mod distribution_file;
mod faults;
mod file;
mod file_argo_cd;
mod file_plan;
mod file_registry;
mod file_runtime;
mod inventory;
mod kubefleet;
mod load;
mod load_plan;
mod manifest;
mod names;
mod plan;
mod precision;
mod quantity;
mod schema;
mod snippet;
mod spread;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::results::Setting;
use crate::rollout::ControlLoop;
use crate::rollout::argo_cd::proposal::ProposalStrategy;
use crate::rollout::argo_cd::{self as argo_cd_rules, ApplicationSetSpec, ControllerOptions};
use crate::rollout::cloud_foundry::{self, AppQuota, AppView, DeploymentOptions};
use crate::rollout::kubefleet as kubefleet_rules;
use crate::rollout::label_selector::LabelSelector;
use crate::rollout::rancher_fleet::{self, ClusterGroup, FleetCluster, RolloutStrategy, RuleSet, groups_of};
use crate::units::SimDuration;
use crate::world::{
    Backoff, ClusterSpec, CountOrPercent, DurationModel, NEW, OLD, ReleaseKind, Restarter, Restarts, WorldSpec,
    calibration,
};

pub use crate::document::{InputFile, LoadError, Problem};
pub use argo_cd::ArgoCdRelease;
pub use assertion::Assertion;
pub use load::{Overrides, load, load_plan};
pub use plan::Plan;
pub use precision::Precision;
pub use schema::schema;
pub use snippet::snippet;

/// A whole experiment: every variant of every strategy, ready to run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name, also of the results folder.
    pub name: String,
    /// What the experiment asks, in one sentence.
    pub question: String,
    /// The root of all luck.
    pub seed: u64,
    /// Runs of every variant; with a precision the fewest.
    pub replicates: u32,
    /// How precise the results are to be. `None`: as precise as `replicates` runs are.
    pub precision: Option<Precision>,
    /// Strategies x sweep, in the file's order; names unique.
    pub variants: Vec<Variant>,
    /// What the results must keep to.
    pub assertions: Vec<Assertion>,
    /// What a search for settings looks for. `None`: the file does not say, and none is asked for.
    pub plan: Option<Plan>,
    /// Every file that was read, for provenance.
    pub inputs: Vec<InputFile>,
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
    /// The same, one by one, in the order of the sweep.
    pub settings: Vec<Setting>,
    /// What to run.
    pub scenario: Scenario,
}

/// A Fleet cluster group, and which clusters belong to it; without a selector none do.
pub type FleetGroup = (Arc<ClusterGroup>, Option<LabelSelector>);

/// One world and one strategy.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fleet, the registry, the release and what goes wrong; shared by all variants that differ in strategy alone.
    pub world: Arc<WorldSpec>,
    /// Cluster groups, which Fleet's partitions may name; their selectors are right.
    pub groups: Arc<Vec<FleetGroup>>,
    /// Who decides which cluster goes next.
    pub strategy: Strategy,
    /// How its control loop runs.
    pub control_loop: ControlLoop,
    /// How its platform restarts containers that crash.
    pub restarts: Restarts,
    /// When a run is given up.
    pub horizon: SimDuration,
}

impl Scenario {
    /// The clusters as Fleet's rules see them, in the fleet's order.
    #[must_use]
    pub fn fleet_clusters(&self) -> Vec<FleetCluster> {
        fleet_clusters(&self.world.clusters, &self.groups)
    }
}

fn fleet_clusters(clusters: &[ClusterSpec], groups: &[FleetGroup]) -> Vec<FleetCluster> {
    let cluster = |cluster: &ClusterSpec| FleetCluster {
        name: cluster.name.clone(),
        labels: cluster.labels.clone(),
        groups: groups_of(&cluster.labels, groups).expect("selectors are checked before they are kept"),
    };
    clusters.iter().map(cluster).collect()
}

/// A rollout scheduler with its configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Rancher Fleet's bundle rollout.
    RancherFleet {
        /// What the product does, or what its document promises.
        rules: RuleSet,
        /// The product's own configuration; it makes partitions of this scenario's clusters without an error.
        strategy: RolloutStrategy,
    },
    /// Cloud Foundry's deployment updater, for an app with one instance in each cluster.
    CloudFoundry {
        /// The product's own request, and what it meets.
        deployment: Box<CloudFoundryDeployment>,
    },
    /// Argo CD's ApplicationSet.
    ArgoCd {
        /// The product's own configuration, which it would work on.
        spec: ApplicationSetSpec,
        /// How the controller runs.
        options: ControllerOptions,
        /// What of the template names the new release.
        release: ArgoCdRelease,
    },
    /// The strategy that was proposed for Argo CD and never shipped.
    ArgoCdProposal {
        /// Without an error for this scenario's clusters.
        strategy: ProposalStrategy,
    },
    /// Every cluster in the first pass.
    AllAtOnce {},
    /// Batches of a fixed size, each begun when the one before is ready.
    Batches {
        /// Not 0, at most 100 %; a percentage is of all clusters.
        size: CountOrPercent,
    },
    /// One cluster after the other.
    OneByOne {},
    /// A staged update run of KubeFleet over all clusters.
    KubeFleetStaged {
        /// What the product does, or what its documents promise.
        rules: kubefleet_rules::RuleSet,
        /// Which of its mistakes are reproduced.
        defects: kubefleet_rules::KubeFleetBugs,
        /// The product's own configuration, with its defaults; a run of it can be initialized for this fleet.
        strategy: kubefleet_rules::StrategySpec,
        /// From an approval being asked for to its being given. `None`: never.
        approvals: Option<DurationModel>,
    },
    /// The rolling update of a KubeFleet placement that has picked all clusters.
    KubeFleetRolling {
        /// What the product does, or what its documents promise.
        rules: kubefleet_rules::RuleSet,
        /// Which of its mistakes are reproduced.
        defects: kubefleet_rules::KubeFleetBugs,
        /// How many clusters it asks for, never fewer than there are.
        policy: kubefleet_rules::PlacementPolicy,
        /// The product's own limits.
        config: kubefleet_rules::RollingUpdateConfig,
    },
}

impl Strategy {
    /// How the strategy's control loop runs where the experiment does not say. The baselines run like Fleet's.
    #[must_use]
    pub const fn control_loop(&self) -> ControlLoop {
        match self {
            Self::RancherFleet { .. } | Self::AllAtOnce {} | Self::Batches { .. } | Self::OneByOne {} => {
                rancher_fleet::control_loop()
            }
            Self::ArgoCd { .. } | Self::ArgoCdProposal { .. } => argo_cd_rules::control_loop(),
            Self::KubeFleetStaged { .. } | Self::KubeFleetRolling { .. } => kubefleet_rules::control_loop(),
            Self::CloudFoundry { .. } => cloud_foundry::control_loop(),
        }
    }

    /// How the strategy's platform restarts containers that crash, where the experiment does not say. The baselines
    /// run on Kubernetes.
    #[must_use]
    pub const fn restarts(&self) -> Restarts {
        match self {
            Self::CloudFoundry { .. } => Restarts {
                by: Restarter::Diego,
                immediate: cloud_foundry::IMMEDIATE_RESTARTS,
                backoff: Backoff {
                    initial: cloud_foundry::CRASH_BACKOFF_MIN,
                    max: cloud_foundry::CRASH_BACKOFF_MAX,
                    reset: cloud_foundry::CRASH_RESET,
                },
                last: Some(cloud_foundry::MAX_CRASHES),
            },
            Self::RancherFleet { .. }
            | Self::ArgoCd { .. }
            | Self::ArgoCdProposal { .. }
            | Self::KubeFleetStaged { .. }
            | Self::KubeFleetRolling { .. }
            | Self::AllAtOnce {}
            | Self::Batches { .. }
            | Self::OneByOne {} => calibration::RESTARTS,
        }
    }
}

/// A deployment of Cloud Foundry that the product accepts for this fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudFoundryDeployment {
    /// What the product does, or what its proposals promise.
    pub rules: cloud_foundry::RuleSet,
    /// Bugs of the product that are reproduced.
    pub defects: cloud_foundry::CloudFoundryBugs,
    /// A deployment that is on its way when this one is created. `None`: the app is settled.
    pub supersedes: Option<cloud_foundry::Superseded>,
    /// The request's own options; as many instances at the end as before.
    pub options: DeploymentOptions,
    /// What the app's instances must fit into; the first ones do.
    pub quota: AppQuota,
    /// How long a user takes to continue a paused deployment. `None`: it is never continued.
    pub continue_after: Option<DurationModel>,
    /// When a user cancels the deployment, from its creation on. `None`: never.
    pub cancel_after: Option<DurationModel>,
}

impl CloudFoundryDeployment {
    /// The app of `instances` before the request. What a superseded deployment rolls out is old for the clusters.
    #[must_use]
    pub fn app(&self, release: ReleaseKind, instances: u32) -> AppView {
        let mut app = match (release, self.supersedes) {
            (ReleaseKind::Update, None) => AppView::settled(OLD, instances),
            (ReleaseKind::Update, Some(superseded)) => AppView::on_its_way(OLD, OLD, instances, superseded),
            (ReleaseKind::Initial, _) => AppView::stopped(NEW, instances),
        };
        app.quota = self.quota.clone();
        app
    }
}

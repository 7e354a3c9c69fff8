//! Argo CD: an ApplicationSet with its RollingSync, and the RollingUpdate that was proposed for it and never shipped.
//!
//! Every entry of the fleet is one application. With a file, its generators and its template produce the applications
//! of the entries; without a file, an application has the name and the labels of its entry.

mod agent;
mod application_controller;
mod close_races;
mod config;
mod controller;
mod exceptions;
mod explain;
pub(crate) mod generate;
mod glob;
mod hub_cpu;
mod proposal;
mod proposal_adapter;
mod refresh;
mod settings;
mod shard;
mod sync_windows;
mod targets;

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::control_plane::{Change, Controller, RolloutObject};
use crate::products::words::object_limit;
use crate::products::{
    FailureRefusal, Fleet, Run, Strategy, StrategyExplanation, StrategyPart, yaml_snippet,
};
use crate::results::Snippet;
use crate::rollout::argo_cd::{ApplicationSetSpec, Automated, ControllerOptions, TemplateCluster};
use crate::rollout::label_selector::Labels;
use crate::world::{ApplyFailure, ClusterSpec};

pub(crate) use config::{ArgoCdConfig, ProposalConfig};
pub use exceptions::{ApplicationExceptions, KeptStatus};
pub use proposal::{ArgoCdProposal, GeneratedLabels};
pub use settings::{ApplicationControllerSettings, Sharding};
pub use sync_windows::SyncWindows;
pub(crate) use sync_windows::{ExportedWindow, WindowedApplication};
pub(crate) use targets::follows_commits;

/// The part of an application's template that names the new release.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ArgoCdRelease {
    /// `source.targetRevision`: the template of every application names another revision.
    #[default]
    TargetRevision,
    /// A parameter of the source, such as `helm.parameters`; the revision does not change. A RollingSync as shipped
    /// loses such a change on applications that are Synced and Healthy (argoproj/argo-cd#27949).
    Parameters,
    /// A commit on the branch that `targetRevision` names. The set does not change. Without a webhook, each
    /// application is found OutOfSync at its next periodic refresh, within five minutes; with `webhook: true`, after a
    /// few seconds.
    Commit,
}

/// A checked ApplicationSet that the product accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgoCdStrategy {
    /// The product's own configuration.
    pub spec: ApplicationSetSpec,
    /// Flags of the controller.
    pub options: ControllerOptions,
    /// The part of the template that names the new release.
    pub release: ArgoCdRelease,
    /// Flags and costs of the application controller.
    pub application_controller: ApplicationControllerSettings,
    /// The number of applications that the ApplicationSet controller writes concurrently.
    pub concurrent_updates: u32,
    /// The source of the applications.
    pub applications: ApplicationSource,
    /// Whether the repository announces a commit to Argo CD.
    pub has_webhook: bool,
    /// Applications that differ from the template.
    pub exceptions: ApplicationExceptions,
    /// The sync windows of the applications' project. `None`: applications may be synced at any time.
    pub sync_windows: Option<SyncWindows>,
}

/// The source of a set's applications.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ApplicationSource {
    /// Each entry of the fleet is an application, with its own labels and those of the template.
    #[default]
    Entries,
    /// The set's generators and its template produce the applications from the fleet's clusters. The field contains,
    /// for each cluster, the generators' parameters other than its name and labels.
    Generators(Arc<Vec<BTreeMap<String, String>>>),
}

impl ArgoCdStrategy {
    /// Returns the names and labels of a fleet's applications, one for each cluster. The cluster's name is used
    /// because people know it, unless the template's names sort in a different order.
    pub fn applications(&self, clusters: &[ClusterSpec]) -> Vec<(String, Arc<Labels>)> {
        let mut applications: Vec<(String, Arc<Labels>)> = Vec::with_capacity(clusters.len());
        for (index, cluster) in clusters.iter().enumerate() {
            applications.push(self.application(index, &cluster.name, &cluster.labels));
        }
        let mut order: Vec<usize> = (0..clusters.len()).collect();
        order.sort_by_key(|&index| &clusters[index].name);
        if order.is_sorted_by_key(|&index| &applications[index].0) {
            for ((name, _), cluster) in applications.iter_mut().zip(clusters) {
                name.clone_from(&cluster.name);
            }
        }
        applications
    }

    /// Returns the name and labels of an entry's application.
    fn application(&self, index: usize, name: &str, labels: &Arc<Labels>) -> (String, Arc<Labels>) {
        let no_parameters = BTreeMap::new();
        let no_labels = Labels::new();
        let parameters = match &self.applications {
            ApplicationSource::Entries => &no_parameters,
            ApplicationSource::Generators(all) => &all[index],
        };
        let cluster = TemplateCluster {
            name,
            labels,
            parameters,
        };
        match &self.applications {
            ApplicationSource::Generators(_) => self.spec.application(cluster, &no_labels),
            ApplicationSource::Entries if self.spec.template.metadata.labels.is_empty() => {
                let (own_name, _) = self.spec.application(cluster, &no_labels);
                // Entries with identical labels share one allocation.
                (own_name, Arc::clone(labels))
            }
            ApplicationSource::Entries => self.spec.application(cluster, labels),
        }
    }

    /// Returns one line about the sync windows of the entries' applications. `None`: no project is named.
    fn windows_in_words(&self, clusters: &[ClusterSpec]) -> Option<String> {
        let windows = self.sync_windows.as_ref()?;
        let mut names = Vec::new();
        for cluster in clusters {
            names.push(cluster.name.clone());
        }
        Some(windows.in_words(&names))
    }

    /// Returns whether the template enables automated sync.
    fn is_automated(&self) -> bool {
        self.spec.automated().is_some_and(Automated::is_enabled)
    }

    /// Returns an application's automated sync setting if it differs from the template's.
    fn own_automated(&self, index: usize) -> Option<bool> {
        let is_other = self.exceptions.has_other_auto_sync(index);
        is_other.then(|| !self.is_automated())
    }

    /// Returns whether an application is never updated by a rollout: the controller ignores it, or only a user syncs
    /// it.
    fn leaves_alone(&self, index: usize) -> bool {
        let is_manual = !self.is_rolling() && self.own_automated(index) == Some(false);
        is_manual || self.exceptions.is_skipped(index)
    }

    /// Returns true if the set has steps and its controller enforces them.
    fn is_rolling(&self) -> bool {
        self.options.enable_progressive_syncs && matches!(self.spec.steps(), Ok(Some(_)))
    }
}

impl Strategy for ArgoCdStrategy {
    fn lists_of_targets(&self) -> usize {
        self.spec.steps().ok().flatten().map_or(0, <[_]>::len)
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        explain::application_set(self, &fleet.world.clusters)
    }

    /// In a set with a RollingSync, each application has a row of 264 B, and an entry of 204 B in `status.resources`.
    /// Argo CD truncates `status.resources` at 5,000 entries, so a set without a RollingSync always fits.
    fn object_limit(&self, fleet: Fleet<'_>) -> Option<String> {
        if !self.is_rolling() {
            return None;
        }
        object_limit(
            "the status of the ApplicationSet",
            "application",
            264 + 204,
            fleet.len(),
        )
    }

    fn snippet(&self) -> Option<Snippet> {
        let strategy = match &self.spec.strategy {
            Some(strategy) => json!(strategy),
            None => json!({}),
        };
        yaml_snippet(
            "Argo CD, in the ApplicationSet",
            json!({ "spec": { "strategy": strategy } }),
        )
    }

    /// Stopping the rollout sets `maxUpdate: 0` in every step.
    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Stop(_) if !self.is_rolling() => {
                Err("an ApplicationSet that does not roll in steps cannot be stopped".into())
            }
            Change::Stop(_) | Change::Labels(..) | Change::Release(_) => Ok(()),
            Change::Deleted(RolloutObject::ApplicationSet) => self.refuses_deletion(),
            Change::Deleted(RolloutObject::Placement | RolloutObject::Strategy) => Err(
                "Argo CD has no placement, and a strategy is part of its set; write `delete: applicationSet`".into(),
            ),
            _ => Err(
                "fleetsim's own scheduler for Argo CD supports `delete`, `release`, `relabel` and `stop`"
                    .into(),
            ),
        }
    }

    fn notes(&self, fleet: Fleet<'_>) -> Vec<String> {
        let mut notes = Vec::from_iter(self.close_race(&fleet.world.clusters));
        notes.extend(self.windows_in_words(&fleet.world.clusters));
        notes
    }

    fn zero_times(&self) -> Vec<String> {
        self.application_controller.zero_times()
    }

    fn without(&self, part: StrategyPart) -> Option<Arc<dyn Strategy>> {
        let mut strategy = self.clone();
        match part {
            StrategyPart::ClusterController => {
                strategy.application_controller = self.application_controller.lifted();
            }
            StrategyPart::HubCpu => strategy.application_controller.cpu = None,
            StrategyPart::Windows => strategy.sync_windows = None,
            StrategyPart::People => return None,
        }
        (strategy != *self).then(|| Arc::new(strategy) as Arc<dyn Strategy>)
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(controller::ArgoCdController::new(self, &run))
    }
}

impl Strategy for ArgoCdProposal {
    fn refuses_failure(&self, _failure: ApplyFailure) -> Option<FailureRefusal> {
        Some(FailureRefusal {
            message: "the proposal does not say what happens after a failed sync, and no release implements it",
            help: "write the steps as `argoCd`, whose failed syncs are simulated, or remove the strategy",
        })
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        explain::proposal(&self.strategy, &self.applications(&fleet.world.clusters))
    }

    fn snippet(&self) -> Option<Snippet> {
        yaml_snippet(
            "the proposal for Argo CD, which no release has",
            json!({ "spec": { "strategy": self.strategy } }),
        )
    }

    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Edited(fields) => proposal::check_edit(fields),
            Change::Release(_) | Change::Labels(..) => Ok(()),
            _ => Err("the proposal supports `edit`, `release` and `relabel`".into()),
        }
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(proposal_adapter::ProposalController::new(self, &run))
    }
}

/// Returns the applications of a set without a template: one for each cluster, with its name and labels.
pub fn applications(clusters: &[ClusterSpec]) -> Vec<(String, Arc<Labels>)> {
    clusters
        .iter()
        .map(|cluster| (cluster.name.clone(), Arc::clone(&cluster.labels)))
        .collect()
}

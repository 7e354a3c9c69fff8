//! The proposal for ApplicationSets as a checked strategy: its applications, and the user actions that affect its
//! rollouts.
//!
//! The proposal describes a change of the set during a rollout: "the existing rollout is abandoned, the application
//! resources are left in their present state, and the new rollout begins" (argoproj/argo-cd#9437). Users' actions are
//! such changes: a release changes the template, an edit changes the strategy, and new labels move applications to
//! other steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::applications;
use crate::rollout::RuleSet;
use crate::rollout::argo_cd::proposal::{ProposalStrategy, ProposedRollingUpdate};
use crate::rollout::argo_cd::{ApplicationSetSpec, TemplateCluster};
use crate::rollout::label_selector::Labels;
use crate::world::ClusterSpec;

/// A checked ApplicationSet with the proposed strategy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgoCdProposal {
    /// The strategy.
    pub strategy: ProposalStrategy,
    /// The template and the parameters of the generators that give applications their labels. `None`: each entry of
    /// the fleet is an application with its labels.
    pub generated: Option<GeneratedLabels>,
    /// The rules for statuses: no status, because the proposal never shipped, or the condition that the proposal
    /// describes.
    pub statuses: RuleSet,
}

/// The inputs from which a set's template generates labels.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedLabels {
    /// The set.
    pub spec: ApplicationSetSpec,
    /// For each cluster, the parameters of the generators other than its name and labels.
    pub parameters: Arc<Vec<BTreeMap<String, String>>>,
}

impl ArgoCdProposal {
    /// Returns the applications of a fleet: the name of each cluster, and the labels of its application.
    pub fn applications(&self, clusters: &[ClusterSpec]) -> Vec<(String, Arc<Labels>)> {
        let mut applications = applications(clusters);
        for (index, (name, labels)) in applications.iter_mut().enumerate() {
            *labels = self.labels(index, name, labels);
        }
        applications
    }

    /// Returns the labels of a cluster's application. `own` are the labels of the cluster itself.
    pub(super) fn labels(&self, index: usize, name: &str, own: &Arc<Labels>) -> Arc<Labels> {
        let Some(GeneratedLabels { spec, parameters }) = &self.generated else {
            return Arc::clone(own);
        };
        let cluster = TemplateCluster {
            name,
            labels: own,
            parameters: &parameters[index],
        };
        let (_, labels) = spec.application(cluster, &Labels::new());
        labels
    }
}

/// The part of an ApplicationSet's spec that an edit can change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditedSpec {
    strategy: ProposalStrategy,
}

/// Parses an edited strategy.
///
/// # Errors
/// Returns the reason if it is not.
pub(super) fn edited_strategy(fields: &Value) -> Result<ProposalStrategy, String> {
    serde_json::from_value(fields.clone())
        .map(|EditedSpec { strategy }| strategy)
        .map_err(|error| format!("its `edit` has no `strategy` of an ApplicationSet: {error}"))
}

/// Checks that an edit is a valid strategy.
///
/// # Errors
/// Returns the reason if the strategy is invalid.
pub(super) fn check_edit(fields: &Value) -> Result<(), String> {
    let edited = edited_strategy(fields)?;
    ProposedRollingUpdate::new(&edited, &[])
        .map(|_| ())
        .map_err(|error| format!("its `edit` is not valid: {error}"))
}

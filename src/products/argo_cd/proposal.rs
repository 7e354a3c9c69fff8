//! The proposal for ApplicationSets as a checked strategy: its applications, and the acts that its rollouts take.
//!
//! The text knows a change of the set in mid-rollout: "the existing rollout is abandoned, the application resources are
//! left in their present state, and the new rollout begins" (argoproj/argo-cd#9437). Acts of people are such changes: a
//! release changes the template, an edit the strategy, and other labels put applications into other steps.

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

/// A checked ApplicationSet with the strategy that was proposed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgoCdProposal {
    /// The strategy.
    pub strategy: ProposalStrategy,
    /// The template and the parameters of the generators that give applications their labels. `None`: each entry of
    /// the fleet is an application with its labels.
    pub generated: Option<GeneratedLabels>,
    /// Whose words are shown: none, since nothing of it shipped, or the condition of the text.
    pub statuses: RuleSet,
}

/// What a set's template makes labels of.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedLabels {
    /// The set.
    pub spec: ApplicationSetSpec,
    /// For each cluster the parameters of the generators beside its name and labels.
    pub parameters: Arc<Vec<BTreeMap<String, String>>>,
}

impl ArgoCdProposal {
    /// The applications of a fleet: the name of each cluster, and the labels of its application.
    pub fn applications(&self, clusters: &[ClusterSpec]) -> Vec<(String, Arc<Labels>)> {
        let mut applications = applications(clusters);
        for (index, (name, labels)) in applications.iter_mut().enumerate() {
            *labels = self.labels(index, name, labels);
        }
        applications
    }

    /// The labels of the application of a cluster, which has these labels itself.
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

/// The part of an ApplicationSet's spec that somebody edits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditedSpec {
    strategy: ProposalStrategy,
}

/// The strategy that somebody has edited.
///
/// # Errors
/// Why it is none, in words.
pub(super) fn edited_strategy(fields: &Value) -> Result<ProposalStrategy, String> {
    serde_json::from_value(fields.clone())
        .map(|EditedSpec { strategy }| strategy)
        .map_err(|error| format!("its `edit` has no `strategy` of an ApplicationSet: {error}"))
}

/// Returns whether an edit is one of the strategy.
///
/// # Errors
/// Why it is none, in words.
pub(super) fn check_edit(fields: &Value) -> Result<(), String> {
    let edited = edited_strategy(fields)?;
    ProposedRollingUpdate::new(&edited, &[])
        .map(|_| ())
        .map_err(|error| format!("its `edit` is not valid: {error}"))
}

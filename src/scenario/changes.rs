//! `changes`: people's actions during a rollout, as written and as checked.
//!
//! An action is converted to the changes that a controller sees. For example, setting labels becomes one change for
//! each cluster, with all labels of the cluster. Each strategy reports which actions its rollouts support.
//!
//! Left out: actions that depend on the course of the rollout, and clusters that return to a rollout.

#[cfg(test)]
use std::collections::BTreeMap;

use itertools::Itertools;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{CheckedWorld, Checker};
use crate::control_plane::{Change, RolloutObject};
use crate::document::path::Path;
use crate::products::Strategy;
use crate::rollout::label_selector::{LabelSelector, Labels};
use crate::units::{SimDuration, counted};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind, TargetId};

/// A person's action during the rollout. It has exactly one field in addition to `after` and `strategy`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "ChangeFile"))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ChangeFile {
    /// Time from the release to the action.
    after: SimDuration,
    /// The strategy whose rollouts the action affects. Default: all.
    strategy: Option<String>,
    /// Approves a stage.
    approve: Option<ApprovalFile>,
    /// Deletes an object that controls the rollout.
    delete: Option<RolloutObject>,
    /// Replaces fields of the strategy's object by these, in the product's own words.
    #[cfg_attr(test, schemars(with = "Option<BTreeMap<String, serde_json::Value>>"))]
    edit: Option<serde_json::Value>,
    /// Removes the clusters that match this label selector from the rollout.
    deselect: Option<LabelSelector>,
    /// Sets labels on clusters.
    relabel: Option<RelabelFile>,
    /// Publishes this revision as the newest: `installed` rolls back to the old revision.
    release: Option<PublishedRevision>,
    /// Stops the rollout, or resumes it with `false`.
    stop: Option<bool>,
}

/// An approval of a stage.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalFile {
    /// The stage's name.
    stage: String,
    /// Whether the approval is before or after the stage.
    when: ApprovedEnd,
}

/// Whether an approval is before or after its stage.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApprovedEnd {
    /// Before the stage begins.
    Before,
    /// After the stage's last cluster.
    After,
}

/// Labels that a person sets.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RelabelFile {
    /// The clusters, selected by their labels at the start.
    clusters: LabelSelector,
    /// The labels to set. The clusters keep their other labels.
    labels: Labels,
}

/// A revision that is published during a rollout.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum PublishedRevision {
    /// The revision that ran everywhere before the release.
    Installed,
    /// The revision of the release.
    New,
}

/// Maximum number of labels in the changes of all variants. Each label took 245 bytes in 100,000 clusters.
const MOST_LABELS: usize = 5_000_000;

const NO_ACT: &str = "a change must have one of `approve`, `delete`, `deselect`, `edit`, `relabel`, `release` and \
                      `stop`";

impl Checker<'_> {
    /// Returns people's actions in this strategy's rollouts, ordered by time since the release.
    pub(super) fn changes(
        &mut self,
        written: &[ChangeFile],
        name: &str,
        strategy: &dyn Strategy,
        world: &CheckedWorld,
    ) -> Vec<(SimDuration, Change)> {
        let mut changes = strategy.acts();
        // The labels of a large fleet need much memory, so they are collected only if there are changes.
        let changing = if written.is_empty() {
            &[][..]
        } else {
            &world.world.clusters
        };
        let mut labels: Vec<Labels> = changing
            .iter()
            .map(|cluster| (*cluster.labels).clone())
            .collect();
        let mut set_deleted = None;
        for (index, change) in written
            .iter()
            .enumerate()
            .sorted_by_key(|(_, change)| change.after)
        {
            if change.strategy.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            let path = Path::of("changes").index(index);
            if let Some(after) = set_deleted {
                let message = format!(
                    "the ApplicationSet is deleted after {after}, so nothing can change it at {}",
                    change.after
                );
                self.report(
                    &path,
                    message,
                    "write an earlier time, or remove the change",
                );
                break;
            }
            if change.delete == Some(RolloutObject::ApplicationSet) {
                set_deleted = Some(change.after);
            }
            for act in self.acts(change, &path, world, &mut labels) {
                if let Err(reason) = strategy.takes(&act) {
                    let help =
                        "set `strategy` to one that supports this change, or remove the change";
                    self.report(
                        &path,
                        format!("`{name}` does not support this change: {reason}"),
                        help,
                    );
                    break;
                }
                changes.push((change.after, act));
            }
        }
        changes.sort_by_key(|(after, _)| *after);
        changes
    }

    /// Reports problems with the changes that do not depend on the strategy.
    pub(super) fn change_names(
        &mut self,
        written: &[ChangeFile],
        strategies: &[String],
        horizon: SimDuration,
    ) {
        for (index, change) in written.iter().enumerate() {
            let path = Path::of("changes").index(index);
            self.strategy_name(&path, change.strategy.as_ref(), strategies);
            if change.after >= horizon {
                let message = format!(
                    "the change is at {}, but runs end at {}",
                    change.after, horizon
                );
                self.report(
                    &path.key("after"),
                    message,
                    "write an earlier time, or a longer `horizon`",
                );
            }
            let ChangeFile {
                approve,
                delete,
                deselect,
                edit,
                relabel,
                release,
                stop,
                ..
            } = change;
            let acts = [
                approve.is_some(),
                delete.is_some(),
                edit.is_some(),
                deselect.is_some(),
                relabel.is_some(),
                release.is_some(),
                stop.is_some(),
            ];
            if acts.into_iter().filter(|is_set| *is_set).count() != 1 && self.is_untouched(&path) {
                self.report(
                    &path,
                    NO_ACT,
                    "write e.g. `{after: 30 min, stop: true}`, and one entry for each change",
                );
            }
        }
    }

    /// Converts an entry to the changes that controllers see. `labels` are the labels of all clusters before the
    /// entry.
    fn acts(
        &mut self,
        change: &ChangeFile,
        path: &Path,
        world: &CheckedWorld,
        labels: &mut [Labels],
    ) -> Vec<Change> {
        let mut acts = Vec::new();
        if let Some(ApprovalFile { stage, when }) = &change.approve {
            acts.push(Change::Approve {
                stage: stage.clone(),
                before: *when == ApprovedEnd::Before,
            });
        }
        if let Some(selector) = &change.deselect {
            for cluster in self.clusters_of(&path.key("deselect"), selector, world) {
                acts.push(Change::Selected(TargetId(cluster as u32), false));
            }
        }
        if let Some(relabel) = &change.relabel {
            match self.relabelled(relabel, &path.key("relabel"), world, labels) {
                Some(relabelled) => acts.extend(relabelled),
                None => return Vec::new(),
            }
        }
        if change.release == Some(PublishedRevision::Installed)
            && world.world.applications[0].release == ReleaseKind::Initial
        {
            let message = "no revision is installed before a first deployment";
            self.report(
                &path.key("release"),
                message,
                "remove it, or write `release: {kind: update}`",
            );
        }
        match change.release {
            Some(PublishedRevision::Installed) => acts.push(Change::Release(OLD)),
            Some(PublishedRevision::New) => acts.push(Change::Release(NEW)),
            None => {}
        }
        acts.extend(change.stop.map(Change::Stop));
        acts.extend(change.delete.map(Change::Deleted));
        acts.extend(change.edit.clone().map(Change::Edited));
        acts
    }

    /// Converts a change of labels to the changes that controllers see. `labels` are the labels of all clusters before
    /// it. `None`: all changes together have too many labels, which was reported.
    fn relabelled(
        &mut self,
        relabel: &RelabelFile,
        path: &Path,
        world: &CheckedWorld,
        labels: &mut [Labels],
    ) -> Option<Vec<Change>> {
        if *self.changed_labels > MOST_LABELS {
            return None;
        }
        let mut acts = Vec::new();
        for cluster in self.clusters_of(&path.key("clusters"), &relabel.clusters, world) {
            labels[cluster].extend(relabel.labels.clone());
            *self.changed_labels += labels[cluster].len();
            if *self.changed_labels > MOST_LABELS {
                let message = format!(
                    "all label changes together set more than {}: each change counts all labels of its clusters",
                    counted(MOST_LABELS, "label")
                );
                let help = "change the labels of fewer clusters, or write fewer changes";
                self.report(path, message, help);
                return None;
            }
            let id = ClusterId(cluster as u32);
            acts.push(Change::Labels(id, labels[cluster].clone()));
        }
        Some(acts)
    }

    fn clusters_of(
        &mut self,
        path: &Path,
        selector: &LabelSelector,
        world: &CheckedWorld,
    ) -> Vec<usize> {
        let clusters = &world.world.clusters;
        let labels: Vec<&Labels> = clusters.iter().map(|cluster| &*cluster.labels).collect();
        let Some(checked) = self.selector(path, selector, &labels) else {
            return Vec::new();
        };
        (0..clusters.len())
            .filter(|&cluster| checked.matches(labels[cluster]))
            .collect()
    }
}

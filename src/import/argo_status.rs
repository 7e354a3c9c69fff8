//! The status of exported Applications: clusters that Argo CD could not reach, and other problems.
//!
//! Follows `CompareAppState` in `controller/state.go` and `processAppRefreshQueueItem` in
//! `controller/appcontroller.go` of argoproj/argo-cd at 37ee0097. A failed comparison sets the sync status to Unknown,
//! with a condition `ComparisonError`. Its message distinguishes a cluster that does not answer (`failed to get
//! cluster version`, `Failed to load live state`) from a source that cannot be read (`Failed to load target state`). A
//! destination or project that does not exist is an `InvalidSpecError`, with sync status and health Unknown.

use serde::Deserialize;

use super::target::FleetTarget;
use crate::document::problem::some_of;
use crate::scenario::import::object::OrDefault;

/// The relevant part of an Application's status.
#[derive(Default, Deserialize)]
pub(super) struct ApplicationStatusJson {
    health: OrDefault<StatusWord>,
    sync: OrDefault<StatusWord>,
    conditions: OrDefault<Vec<ApplicationCondition>>,
}

#[derive(Default, Deserialize)]
struct StatusWord {
    status: OrDefault<String>,
}

#[derive(Deserialize)]
struct ApplicationCondition {
    #[serde(rename = "type")]
    kind: OrDefault<String>,
    message: OrDefault<String>,
}

/// The state of an application according to its status.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ShownState {
    /// The application has no problem that affects a rollout.
    Usual,
    /// The application's cluster cannot be reached.
    Unreachable,
    /// The application's destination or its project does not exist.
    Invalid,
    /// The application's manifests cannot be generated.
    WithoutManifests,
    /// The application runs, but is degraded.
    Degraded,
    /// The cluster's resources differ from the source.
    OutOfSync,
}

impl ApplicationStatusJson {
    /// Returns `status.sync.status`, which is empty before the first comparison.
    pub(super) fn sync(&self) -> &str {
        &self.sync.status
    }

    /// Returns `status.health.status`.
    pub(super) fn health(&self) -> &str {
        &self.health.status
    }

    /// Returns the state of the application. `is_cut_off`: whether the connection to its cluster has failed.
    pub(super) fn shows(&self, is_cut_off: bool) -> ShownState {
        if is_cut_off {
            return ShownState::Unreachable;
        }
        if self.has_condition("InvalidSpecError", |_| true) {
            return ShownState::Invalid;
        }
        if self.has_condition("ComparisonError", is_of_source) {
            return ShownState::WithoutManifests;
        }
        match (self.sync(), self.health()) {
            ("Unknown", _) | (_, "Unknown") => ShownState::Unreachable,
            (_, "Degraded") => ShownState::Degraded,
            ("OutOfSync", _) => ShownState::OutOfSync,
            _ => ShownState::Usual,
        }
    }

    /// Returns whether the status has a condition of this type with a matching message.
    fn has_condition(&self, kind: &str, is_meant: fn(&str) -> bool) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|condition| *condition.kind == kind && is_meant(&condition.message))
    }
}

/// Returns whether the message of a failed comparison blames the source rather than the cluster.
fn is_of_source(message: &str) -> bool {
    let is_of_cluster = ["failed to get cluster", "Failed to load live state"];
    !is_of_cluster.iter().any(|words| message.contains(words))
        && message.starts_with("Failed to load target state")
}

/// The names of applications with problems, by problem.
#[derive(Default)]
pub(super) struct StateSurvey {
    invalid: Vec<String>,
    without_manifests: Vec<String>,
    degraded: Vec<String>,
    out_of_sync: Vec<String>,
}

impl StateSurvey {
    /// Adds a target, and sets its table columns according to its state.
    pub(super) fn add(&mut self, target: &mut FleetTarget, state: ShownState) {
        let name = target.name.clone();
        match state {
            ShownState::Usual => {}
            ShownState::Unreachable => target.offline = true,
            ShownState::Invalid => {
                target.has_no_agent = true;
                self.invalid.push(name);
            }
            ShownState::WithoutManifests => self.without_manifests.push(name),
            ShownState::Degraded => self.degraded.push(name),
            ShownState::OutOfSync => self.out_of_sync.push(name),
        }
    }

    /// Returns a line for each kind of problem.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.invalid.is_empty() {
            notes.push(format!(
                "not valid (InvalidSpecError), so never written or synced: {}; see column `registered` of \
                 clusters.csv",
                some_of(&self.invalid)
            ));
        }
        if !self.without_manifests.is_empty() {
            notes.push(format!(
                "the manifests of {} cannot be generated now (ComparisonError); simulated as if they could",
                some_of(&self.without_manifests)
            ));
        }
        if !self.degraded.is_empty() {
            notes.push(format!(
                "Degraded now, and simulated as Healthy before the release: {}",
                some_of(&self.degraded)
            ));
        }
        if !self.out_of_sync.is_empty() {
            notes.push(format!(
                "OutOfSync now, and simulated as Synced before the release: {}",
                some_of(&self.out_of_sync)
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> ApplicationStatusJson {
        serde_json::from_str(text).expect("a status")
    }

    #[test]
    fn an_unreachable_cluster_is_distinguished_from_other_errors_by_its_status() {
        use ShownState::{Degraded, Invalid, OutOfSync, Unreachable, Usual, WithoutManifests};
        let failed = |message: &str| {
            format!(
                r#"{{"sync": {{"status": "Unknown"}}, "health": {{"status": "Healthy"}},
                     "conditions": [{{"type": "ComparisonError", "message": "{message}"}}]}}"#
            )
        };
        for (text, state) in [
            (r#"{"sync": {"status": "OutOfSync"}, "health": {"status": "Missing"}}"#.to_owned(), OutOfSync),
            (r#"{"health": null, "conditions": null}"#.to_owned(), Usual),
            (r#"{"sync": {"status": "Unknown"}}"#.to_owned(), Unreachable),
            (r#"{"health": {"status": "Unknown"}}"#.to_owned(), Unreachable),
            (r#"{"health": {"status": "Degraded"}}"#.to_owned(), Degraded),
            (failed("Failed to load live state: dial tcp: i/o timeout"), Unreachable),
            (
                failed("Failed to load target state: failed to get cluster version for cluster x: i/o timeout"),
                Unreachable,
            ),
            (
                failed("Failed to load target state: failed to generate manifest for source 1 of 1"),
                WithoutManifests,
            ),
            (
                r#"{"sync": {"status": "Unknown"}, "conditions": [{"type": "InvalidSpecError", "message": "no cluster"}]}"#
                    .to_owned(),
                Invalid,
            ),
        ] {
            assert_eq!(status(&text).shows(false), state, "{text}");
            assert_eq!(status(&text).shows(true), Unreachable, "{text}");
        }
    }
}

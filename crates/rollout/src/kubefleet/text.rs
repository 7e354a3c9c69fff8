//! Names and numbers in explanations.

use super::super::{TargetId, text};
use super::MemberCluster;

/// Formats `3 clusters (a, b, c) wait`.
pub(super) fn waits(clusters: &[MemberCluster], targets: &[TargetId]) -> String {
    format!(
        "{} {}",
        listed(clusters, targets),
        if targets.len() == 1 { "waits" } else { "wait" }
    )
}

/// Returns the first few names, and the number of further ones.
pub(super) fn names(clusters: &[MemberCluster], targets: &[TargetId]) -> String {
    text::names(
        targets
            .iter()
            .map(|target| clusters[target.index()].name.as_str()),
    )
}

/// Formats `3 clusters (a, b, c)`.
pub(super) fn listed(clusters: &[MemberCluster], targets: &[TargetId]) -> String {
    text::listed(
        targets
            .iter()
            .map(|target| clusters[target.index()].name.as_str()),
        "cluster",
    )
}

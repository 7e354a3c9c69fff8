//! Names and numbers in explanations.

use super::super::TargetId;
use super::MemberCluster;

/// Number of clusters of a group that are named.
pub(super) const NAMED: usize = 3;

/// `1 cluster`, `2 clusters`.
pub(super) fn count(number: usize) -> String {
    format!("{number} cluster{}", if number == 1 { "" } else { "s" })
}

/// `is` or `are`.
pub(super) fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// `waits` or `wait`.
pub(super) fn wait(number: usize) -> &'static str {
    if number == 1 { "waits" } else { "wait" }
}

/// The first few names, and the number of further ones.
pub(super) fn names(clusters: &[MemberCluster], targets: &[TargetId]) -> String {
    let name = |target: &TargetId| clusters[target.index()].name.as_str();
    let named = targets.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    let more = targets.len().saturating_sub(NAMED);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// `3 clusters (a, b, c)`.
pub(super) fn listed(clusters: &[MemberCluster], targets: &[TargetId]) -> String {
    if targets.is_empty() { count(0) } else { format!("{} ({})", count(targets.len()), names(clusters, targets)) }
}

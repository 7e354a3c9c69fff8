//! The status of a bundle and of its GitRepo, in the product's words.
//!
//! Follows `internal/cmd/controller/summary/summary.go` (`ReadyMessage`, `GetSummaryState`),
//! `reconciler/bundle_status.go` and, for the GitRepo, `status/status.go` and
//! `gitops/reconciler/status_controller.go`. The recorded rollouts in `tests/closed-loop/fleet` contain the bundle's
//! status. Left out: the messages of single resources, which follow in a `Ready` message (`deployment.apps default/app
//! [progressing] Available: 0/1`), and the GitRepo's `GitUpdating` while its job runs.

use super::super::ObjectCondition;
use super::status::{BundleState, BundleStatus, BundleSummary};
use super::view::BundleView;
use super::{FleetCluster, RancherFleet};

/// The workspace of the clusters.
const WORKSPACE: &str = "fleet-default";

impl RancherFleet {
    /// Returns the conditions that the bundle called `name` shows after a pass with this status.
    pub fn bundle_conditions(&self, name: &str, status: &BundleStatus) -> Vec<ObjectCondition> {
        let object = format!("Bundle/{name}");
        if let Some(error) = &status.error {
            return vec![ObjectCondition::new(
                &object,
                "Ready",
                "False",
                "Error",
                error.to_string(),
            )];
        }
        let message = ready_message(&self.clusters, status);
        let is_ready = if message.is_empty() { "True" } else { "False" };
        let listed = status.not_ready.iter().map(|(_, state)| *state).max();
        vec![
            ObjectCondition::new(&object, "Ready", is_ready, "", message),
            ObjectCondition::field(
                &object,
                "display.state",
                listed.map(word).unwrap_or_default(),
            ),
            ObjectCondition::field(&object, "display.readyClusters", ready_of(&status.summary)),
            ObjectCondition::field(
                &object,
                "unavailablePartitions",
                status.unavailable_partitions.to_string(),
            ),
        ]
    }

    /// Returns the conditions that the GitRepo called `name` shows for its bundle. The GitRepo copies the bundle's
    /// condition `ready`, and has its own state and counts.
    pub fn git_repo_conditions(
        name: &str,
        ready: &ObjectCondition,
        view: &BundleView,
    ) -> Vec<ObjectCondition> {
        let object = format!("GitRepo/{name}");
        let summary = BundleSummary::of_git_repo(view);
        vec![
            ObjectCondition {
                object: object.clone(),
                ..ready.clone()
            },
            ObjectCondition::field(
                &object,
                "display.state",
                summary.worst().map(word).unwrap_or_default(),
            ),
            ObjectCondition::field(
                &object,
                "display.readyBundleDeployments",
                ready_of(&summary),
            ),
        ]
    }
}

fn word(state: BundleState) -> String {
    format!("{state:?}")
}

fn ready_of(summary: &BundleSummary) -> String {
    let all: u32 = BundleState::ALL
        .map(|state| summary.count(state))
        .iter()
        .sum();
    format!("{}/{all}", summary.count(BundleState::Ready))
}

/// Returns the count of each state that a listed cluster has, with the first such cluster and the message of its
/// failed apply (`ReadyMessage` and `MessageFromDeployment`).
fn ready_message(clusters: &[FleetCluster], status: &BundleStatus) -> String {
    let mut parts = Vec::new();
    for state in BundleState::ALL {
        if let Some((target, _)) = status.not_ready.iter().find(|(_, other)| *other == state) {
            let name = &clusters[target.index()].name;
            let count = status.summary.count(state);
            let failure = status.failures.iter().find(|(other, _)| *other == state);
            let message = match failure {
                Some((_, failure)) => format!(": {failure}"),
                None => String::new(),
            };
            parts.push(format!(
                "{state:?}({count}) [Cluster {WORKSPACE}/{name}{message}]"
            ));
        }
    }
    parts.sort();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::super::{IntOrString, Revision, RuleSet};
    use super::super::{ClusterView, RolloutStrategy};
    use super::*;
    use fleetsim_units::SimTime;

    #[test]
    fn a_bundle_names_a_cluster_for_each_state_among_the_first_ten() {
        let clusters: Vec<FleetCluster> = (0..12)
            .map(|nth| FleetCluster {
                name: format!("c-{nth:02}"),
                ..FleetCluster::default()
            })
            .collect();
        let strategy = RolloutStrategy {
            max_unavailable: Some(IntOrString::Int(3)),
            ..RolloutStrategy::default()
        };
        let mut older = RancherFleet::new(strategy.clone(), RuleSet::Shipped, clusters.clone())
            .judging_wanted(false);
        // A scheduler with other labels and limits, which do not affect statuses.
        older.set_clusters(clusters.clone());
        older.set_strategy(strategy.clone());
        let mut fleet = RancherFleet::new(strategy, RuleSet::Shipped, clusters);
        let cluster = ClusterView {
            wanted: Revision(2),
            ..ClusterView::settled(Revision(1))
        };
        let mut view = BundleView {
            paused: false,
            clusters: vec![cluster; 12],
        };
        let pass = fleet.reconcile(SimTime::ZERO, &view);
        view.store(&pass);
        let words = |list: Vec<ObjectCondition>| -> Vec<String> {
            list.into_iter()
                .map(|it| {
                    format!(
                        "{} {}: {} {}",
                        it.object, it.condition, it.status, it.message
                    )
                })
                .collect()
        };
        // The bundle counts every cluster without the new version, promoted or not. For the GitRepo, clusters that are
        // not promoted are OutOfSync, and no cluster is ready.
        assert_eq!(
            words(fleet.bundle_conditions("app", &pass.status)),
            [
                "Bundle/app Ready: False WaitApplied(12) [Cluster fleet-default/c-00]",
                "Bundle/app display.state: WaitApplied ",
                "Bundle/app display.readyClusters: 0/12 ",
                "Bundle/app unavailablePartitions: 1 ",
            ]
        );
        // Before 0.16, clusters that wait with a staged new version are OutOfSync.
        let status = older.reconcile(SimTime::ZERO, &view).status;
        let [ready, ..] = &words(older.bundle_conditions("app", &status))[..] else {
            panic!("no condition")
        };
        let both = "OutOfSync(9) [Cluster fleet-default/c-03]; WaitApplied(3) [Cluster fleet-default/c-00]";
        assert_eq!(*ready, format!("Bundle/app Ready: False {both}"));
        assert_eq!(
            words(RancherFleet::git_repo_conditions(
                "app",
                &fleet.bundle_conditions("app", &pass.status)[0],
                &view
            )),
            [
                "GitRepo/app Ready: False WaitApplied(12) [Cluster fleet-default/c-00]",
                "GitRepo/app display.state: WaitApplied ",
                "GitRepo/app display.readyBundleDeployments: 0/12 ",
            ]
        );
        // The twelfth cluster is not ready and not among the first ten, so the message does not count it.
        let deployment = view.clusters[11]
            .deployment
            .as_mut()
            .expect("it is settled");
        (deployment.deployed, deployment.applied, deployment.ready) =
            (Some(Revision(2)), Some(Revision(2)), false);
        let pass = fleet.reconcile(SimTime::from_secs(1), &view);
        let [ready, ..] = &words(fleet.bundle_conditions("app", &pass.status))[..] else {
            panic!("no condition")
        };
        assert_eq!(
            ready,
            "Bundle/app Ready: False WaitApplied(11) [Cluster fleet-default/c-00]"
        );
        // All clusters are done, so the bundle is Ready and the state is empty.
        for cluster in &mut view.clusters {
            *cluster = ClusterView::settled(Revision(2));
        }
        let pass = fleet.reconcile(SimTime::from_secs(2), &view);
        let done = words(fleet.bundle_conditions("app", &pass.status));
        assert_eq!(
            done[..3],
            [
                "Bundle/app Ready: True ",
                "Bundle/app display.state:  ",
                "Bundle/app display.readyClusters: 12/12 "
            ]
        );
    }
}

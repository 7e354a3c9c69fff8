//! The status that Fleet shows to its users: states of deployments and their counts, and the status of bundle and
//! GitRepo.
//!
//! Follows `internal/cmd/controller/summary/summary.go`, `target/target.go` (`effectiveDeployment`), and for the
//! GitRepo `status/status.go`. The bundle evaluates a deployment as if the *wanted* id were deployed, so in an update
//! every cluster without the new version is `WaitApplied`, promoted or not. The GitRepo evaluates the deployment
//! unchanged. `conditions.rs` has the texts.

use super::super::{Pass, Revision, TargetId};
use super::partition::StrategyError;
use super::view::{BundleAction, BundleDeployment, BundleView, ClusterView};

/// The state of one deployment, from best to worst in Fleet's ranking.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum BundleState {
    /// The deployment is applied, ready and unmodified.
    Ready,
    /// The deployment is applied, but not ready.
    NotReady,
    /// No deployment exists yet.
    Pending,
    /// The deployed id differs from the staged id.
    OutOfSync,
    /// The deployment is applied and ready, but changed in the cluster.
    Modified,
    /// The deployment is not applied yet.
    WaitApplied,
    /// The deployment is not applied because the apply failed.
    ErrApplied,
}

/// Number of deployments in each state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BundleSummary {
    /// The counts in the order of the declaration of [`BundleState`].
    counts: [u32; 7],
}

/// The bundle's status as a pass writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleStatus {
    /// The reason why the pass failed. A failed pass changed nothing, and all other fields are meaningless.
    pub error: Option<StrategyError>,
    /// Number of unavailable deployments of all targets, including those updated in this pass.
    pub unavailable: i64,
    /// Number of processed partitions that are above their limit.
    pub unavailable_partitions: i64,
    /// Deployments created in this pass, including those of unregistered clusters, which are discarded.
    pub newly_created: i64,
    /// States of all targets before the pass changed anything.
    pub summary: BundleSummary,
    /// The first ten targets by name that are not `Ready`.
    pub not_ready: Vec<(TargetId, BundleState)>,
    /// For each state, the message of the first listed target in this state, if its apply failed.
    pub failures: Vec<(BundleState, &'static str)>,
    /// A number for each partition, in the order of [`Partitioning::partitions`](super::Partitioning::partitions).
    /// Under shipped rules: the partition's unavailable deployments *before* the pass, which is not the number that
    /// the gate compares. Under documented rules: the partition's NotReady clusters after the pass.
    pub partitions: Vec<i64>,
    /// The clusters that [`BundleView::store`] changes, in ascending order.
    pub stored: Vec<u32>,
}

/// The decision of a pass.
pub type BundleDecision = Pass<BundleAction, BundleStatus>;

impl BundleStatus {
    /// Returns the status of a bundle whose targets are all ready.
    pub fn settled(targets: u32) -> Self {
        let mut summary = BundleSummary::default();
        summary.counts[BundleState::Ready as usize] = targets;
        Self {
            summary,
            ..Self::default()
        }
    }
}

impl BundleState {
    /// All states in the order in which Fleet's summaries list them.
    pub const ALL: [Self; 7] = [
        Self::Ready,
        Self::NotReady,
        Self::WaitApplied,
        Self::ErrApplied,
        Self::OutOfSync,
        Self::Pending,
        Self::Modified,
    ];

    /// Returns the state of a deployment whose deployed id is `deployed`.
    #[inline]
    pub(super) fn of(deployment: &BundleDeployment, deployed: Option<Revision>) -> Self {
        if deployment.applied != deployed {
            if deployment.failed {
                Self::ErrApplied
            } else {
                Self::WaitApplied
            }
        } else if !deployment.ready {
            Self::NotReady
        } else if deployed != deployment.staged {
            Self::OutOfSync
        } else if !deployment.non_modified {
            Self::Modified
        } else {
            Self::Ready
        }
    }
}

impl BundleDeployment {
    /// Returns the state of the deployment, regardless of the wanted id.
    pub fn state(&self) -> BundleState {
        BundleState::of(self, self.deployed)
    }
}

impl BundleSummary {
    /// Returns the number of deployments in `state`.
    pub const fn count(&self, state: BundleState) -> u32 {
        self.counts[state as usize]
    }

    /// Counts a deployment in `state`.
    #[inline]
    pub(super) const fn add(&mut self, state: BundleState) {
        self.counts[state as usize] += 1;
    }

    /// Removes a deployment in `state` from the counts.
    #[inline]
    pub(super) const fn remove(&mut self, state: BundleState) {
        self.counts[state as usize] -= 1;
    }

    /// Returns the summary that the GitRepo shows. It counts all stored deployments by their own state, including
    /// those of clusters that are no longer targets. Clusters without a deployment do not appear.
    pub fn of_git_repo(view: &BundleView) -> Self {
        let mut summary = Self::default();
        for cluster in &view.clusters {
            if let Some(deployment) = &cluster.deployment {
                summary.add(deployment.state());
            }
        }
        summary
    }

    /// Returns the worst state that occurs. `None`: there are no deployments, or all are `Ready`.
    pub fn worst(&self) -> Option<BundleState> {
        let mut worst = None;
        for state in BundleState::ALL {
            if state != BundleState::Ready && self.count(state) > 0 {
                worst = worst.max(Some(state));
            }
        }
        worst
    }
}

impl BundleView {
    /// Stores the result of a pass: its actions, and `paused` and `offSchedule` of deployments. A failed pass stores
    /// nothing.
    ///
    /// # Panics
    /// If an action names a cluster that is not in the view or a deployment that does not exist.
    pub fn store(&mut self, pass: &BundleDecision) {
        for action in &pass.actions {
            let ClusterView {
                wanted, deployment, ..
            } = &mut self.clusters[action.target().index()];
            const EXISTS: &str = "a deployment is created before it is changed";
            match *action {
                BundleAction::Create(_) => *deployment = Some(BundleDeployment::default()),
                BundleAction::Delete(_) => *deployment = None,
                BundleAction::Stage(_) => deployment.as_mut().expect(EXISTS).staged = Some(*wanted),
                BundleAction::Deploy(_) => {
                    deployment.as_mut().expect(EXISTS).deployed = Some(*wanted);
                }
            }
        }
        for &index in &pass.status.stored {
            let cluster = &mut self.clusters[index as usize];
            if let Some(deployment) = &mut cluster.deployment
                && cluster.targeted
                && cluster.registered
            {
                deployment.paused = cluster.paused || self.paused;
                deployment.off_schedule = cluster.off_schedule;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_condition_that_holds_decides_the_state() {
        const OLD: Revision = Revision(1);
        const NEW: Revision = Revision(2);
        let good = BundleDeployment::settled(OLD);
        let cases = [
            (good, BundleState::Ready, "all as intended"),
            (
                BundleDeployment {
                    deployed: Some(NEW),
                    ..good
                },
                BundleState::WaitApplied,
                "deployed, not applied",
            ),
            (
                BundleDeployment {
                    deployed: Some(NEW),
                    failed: true,
                    ..good
                },
                BundleState::ErrApplied,
                "it failed",
            ),
            (
                BundleDeployment {
                    failed: true,
                    ..good
                },
                BundleState::Ready,
                "a failure of what is applied is past",
            ),
            (
                BundleDeployment {
                    ready: false,
                    staged: Some(NEW),
                    ..good
                },
                BundleState::NotReady,
                "before OutOfSync",
            ),
            (
                BundleDeployment {
                    staged: Some(NEW),
                    non_modified: false,
                    ..good
                },
                BundleState::OutOfSync,
                "not deployed",
            ),
            (
                BundleDeployment {
                    non_modified: false,
                    ..good
                },
                BundleState::Modified,
                "drifted",
            ),
            (
                BundleDeployment::default(),
                BundleState::NotReady,
                "nothing deployed, nothing applied",
            ),
        ];
        for (deployment, state, why) in cases {
            assert_eq!(
                BundleState::of(&deployment, deployment.deployed),
                state,
                "{deployment:?}: {why}"
            );
        }
    }

    #[test]
    fn the_worst_state_has_the_highest_rank() {
        let mut summary = BundleSummary::default();
        assert_eq!(summary.worst(), None);
        let climb = [
            (BundleState::Ready, None),
            (BundleState::NotReady, Some(BundleState::NotReady)),
            (BundleState::Pending, Some(BundleState::Pending)),
            (BundleState::OutOfSync, Some(BundleState::OutOfSync)),
            (BundleState::Modified, Some(BundleState::Modified)),
            (BundleState::WaitApplied, Some(BundleState::WaitApplied)),
            (BundleState::ErrApplied, Some(BundleState::ErrApplied)),
        ];
        for (state, worst) in climb {
            summary.add(state);
            assert_eq!(summary.worst(), worst, "after {state:?}");
        }
        summary.add(BundleState::NotReady);
        assert_eq!(summary.worst(), Some(BundleState::ErrApplied));
    }
}

//! The time that Helm waits in an apply, and Fleet's reaction to a failed apply.
//!
//! Evidence: the source of rancher/fleet at 3b2c622 with Helm 4.2.3, which its go.mod names; not recorded.
//!
//! - With `helm.timeoutSeconds` above 0 an install or upgrade waits that long for the workloads
//!   (`internal/helmdeployer/deployer.go:103`, `install.go`, `configureInstallAction` and `configureUpgradeAction`).
//!   Otherwise it waits for hooks only. With `helm.atomic` it waits for the workloads even then (helm
//!   `pkg/action/upgrade.go:187`), for 30 s (`pkg/kube/statuswait.go:62`).
//! - Fleet gives up on an apply permanently if the error contains one of the texts of `deployErrPattern`
//!   (`internal/cmd/agent/deployer/deployer.go`). Helm 4's texts for a time-out (`context deadline exceeded`) and for
//!   a rollback (`rollback-on-failure`) are not among them, nor is a rejection by an admission webhook. `Reconcile`
//!   therefore returns the error, and controller-runtime retries after 5 ms, doubled up to 1,000 s.
//! - During the retries the condition `Deployed` is False with Helm's error. The applied id does not change, so the
//!   state is `ErrApplied` (`internal/cmd/controller/summary/summary.go`), which counts as unavailable, and no
//!   readiness is reported.
//! - Fleet before 0.15 uses Helm 3, whose rollback text is in the pattern and ends the apply. That is not simulated.
//!
//! - Among those texts is the rejected change of an immutable field of a StatefulSet (`Forbidden: updates to … spec
//!   for fields other than … are forbidden`), with `atomic` or without. Then `deployErrToStatus` stores the id as
//!   applied, with the condition `Installed` False, `Ready` False and no release: the state is `NotReady`, nothing is
//!   tried again until the id changes (`EnsureInstalled` returns `ErrNoResourceID`), and the cluster is unavailable.
//!
//! Left out: the resources that Helm lists before `context deadline exceeded`, the names of webhooks and hooks, and
//! the other errors that end an apply permanently: an invalid manifest, or a Kubernetes version that the chart does
//! not allow, fails in the same way as an immutable field. Of those fields, the selector of a Deployment (`field is
//! immutable`) is not among the texts, and is a rejection like any other.

use crate::rollout::rancher_fleet::BundleDeployment;
use crate::units::SimDuration;
use crate::world::{AgentSpec, ApplyFailure, ApplyRules, NOTHING, Report};

/// Duration of Helm's wait if only `atomic` requires it. Source: `DefaultStatusWatcherTimeout` in helm/helm v4.2.3
/// `pkg/kube/statuswait.go:62`.
const ATOMIC_WAIT: SimDuration = SimDuration::from_secs(30);

/// The fields of a bundle's `helm` that determine the end of an apply.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HelmWait {
    /// `timeoutSeconds`, if it is greater than 0.
    pub timeout: Option<SimDuration>,
    /// `atomic`: whether a failed apply is rolled back.
    pub atomic: bool,
}

impl HelmWait {
    /// Returns the maximum wait for the workloads. `None`: Helm does not wait for them.
    fn limit(self) -> Option<SimDuration> {
        self.timeout.or(self.atomic.then_some(ATOMIC_WAIT))
    }

    /// Returns the experiment's agent with Helm's wait added.
    pub(super) fn agent(self, described: AgentSpec) -> AgentSpec {
        AgentSpec {
            wait: described.wait || self.limit().is_some(),
            applies: ApplyRules {
                wait_limit: self.limit(),
                rolls_back: self.atomic,
                ..described.applies
            },
            ..described
        }
    }
}

/// Stores the agent's report of the last apply in a deployment.
pub(super) fn store(report: Report, helm_rolls_back: bool, deployment: &mut BundleDeployment) {
    let is_behind = deployment.deployed != Some(report.applied);
    deployment.failed = report.failure.is_some() || (report.degraded && is_behind);
    deployment.failure = report
        .failure
        .map(|failure| message(failure.kind, helm_rolls_back));
    deployment.applied = (report.applied != NOTHING).then_some(report.applied);
    deployment.ready = report.ready;
    deployment.non_modified = true;
    if let Some(failed) = report.failure
        && failed.kind == ApplyFailure::Immutable
    {
        // The id that the agent tried is stored as applied. If the deployment was promoted since then, the agent will
        // apply the new id.
        deployment.failed = false;
        deployment.applied = Some(failed.tried());
        deployment.ready = false;
    }
}

/// Returns the abridged message of a deployment's condition `Deployed`, or `Installed` if the agent has given up the
/// apply.
const fn message(failure: ApplyFailure, is_rolled_back: bool) -> &'static str {
    match (failure, is_rolled_back) {
        (ApplyFailure::Rejected, false) => "admission webhook denied the request",
        (ApplyFailure::Immutable, false) => {
            "not installed: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"
        }
        (ApplyFailure::Hook, false) => "pre-upgrade hooks failed",
        (ApplyFailure::Timeout, false) => "failed calling webhook: context deadline exceeded",
        (ApplyFailure::NotReady, false) => "resource not ready: context deadline exceeded",
        (ApplyFailure::Rejected, true) => {
            "release app failed, and has been rolled back due to rollback-on-failure being set: admission webhook \
             denied the request"
        }
        (ApplyFailure::Immutable, true) => {
            "not installed: release app failed, and has been rolled back due to rollback-on-failure being set: \
             Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"
        }
        (ApplyFailure::Hook, true) => {
            "release app failed, and has been rolled back due to rollback-on-failure being set: pre-upgrade hooks \
             failed"
        }
        (ApplyFailure::Timeout, true) => {
            "release app failed, and has been rolled back due to rollback-on-failure being set: failed calling \
             webhook: context deadline exceeded"
        }
        (ApplyFailure::NotReady, true) => {
            "release app failed, and has been rolled back due to rollback-on-failure being set: resource not ready: \
             context deadline exceeded"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{FailedApply, NEW, OLD, TargetId, later_revision};

    #[test]
    fn the_id_that_was_given_up_is_stored_as_applied_although_another_is_deployed() {
        let fix = later_revision(0);
        let mut deployment = BundleDeployment {
            staged: Some(fix),
            deployed: Some(fix),
            applied: Some(OLD),
            ready: true,
            ..BundleDeployment::default()
        };
        let given_up = Report {
            target: TargetId(0),
            applied: OLD,
            ready: true,
            degraded: false,
            failure: Some(FailedApply::of(NEW, ApplyFailure::Immutable)),
        };
        store(given_up, false, &mut deployment);
        assert_eq!((deployment.applied, deployment.ready), (Some(NEW), false));
        assert!(
            !deployment.failed,
            "`Deployed` is True: the agent has ended the apply"
        );
        let rejected = Report {
            failure: Some(FailedApply::of(NEW, ApplyFailure::Rejected)),
            ..given_up
        };
        store(rejected, false, &mut deployment);
        assert_eq!((deployment.applied, deployment.failed), (Some(OLD), true));
    }
}

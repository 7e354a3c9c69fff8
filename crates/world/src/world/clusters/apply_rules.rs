//! An agent's rules for a failed apply: the time for which it waits for the workloads, whether it rolls back, and its
//! retries. Each product has its own rules, with their sources, in its folder.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fleetsim_rollout::Revision;
use fleetsim_units::SimDuration;

/// The reason why an apply failed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ApplyFailure {
    /// The cluster's API server rejects an object, e.g. because of an admission webhook. Nothing is applied.
    Rejected,
    /// The cluster's API server refuses a change of a field that must not change, e.g. in the spec of a StatefulSet.
    /// Nothing is applied.
    Immutable,
    /// A hook that runs before the apply fails. Nothing is applied.
    Hook,
    /// The cluster's API server, or an admission webhook, does not answer in time. Nothing is applied.
    Timeout,
    /// The objects are applied, but the workloads are not ready within the apply's time-out.
    #[serde(skip)]
    NotReady,
}

/// An apply that failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FailedApply {
    /// The number of the tried revision. Its 16 bits keep events small, of which queues hold many.
    tried: u16,
    /// The reason why it failed.
    pub kind: ApplyFailure,
}

impl FailedApply {
    /// Creates the failure of an apply of this revision.
    ///
    /// # Panics
    /// If the application has more than 65,535 revisions.
    #[must_use]
    pub fn of(Revision(number): Revision, kind: ApplyFailure) -> Self {
        Self {
            tried: u16::try_from(number).expect("an application has fewer than 65 536 revisions"),
            kind,
        }
    }

    /// Returns the revision that the agent tried to apply. The target may have been instructed to run another one since
    /// then.
    #[must_use]
    pub const fn tried(self) -> Revision {
        Revision(self.tried as u32)
    }
}

impl ApplyFailure {
    /// All kinds of failures.
    pub const ALL: [Self; 5] = [
        Self::Rejected,
        Self::Immutable,
        Self::Hook,
        Self::Timeout,
        Self::NotReady,
    ];
}

/// How an agent handles a failed apply.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApplyRules {
    /// Maximum wait for the workloads, if an apply waits for them. `None`: indefinitely.
    pub wait_limit: Option<SimDuration>,
    /// Whether a failed apply is rolled back, to the previous revision or to nothing.
    pub rolls_back: bool,
    /// The rule for retries of a failed apply.
    pub again: ApplyRetry,
    /// Whether an attempt to change an immutable field permanently ends the apply of this revision.
    pub immutable_is_final: bool,
}

impl ApplyRules {
    /// An agent that waits indefinitely, and whose applies do not fail.
    pub const NONE: Self = Self {
        wait_limit: None,
        rolls_back: false,
        again: ApplyRetry::NotSimulated,
        immutable_is_final: false,
    };

    /// Returns whether a failed apply is not repeated until another revision comes.
    pub(crate) const fn is_final(self, failure: ApplyFailure) -> bool {
        self.immutable_is_final && matches!(failure, ApplyFailure::Immutable)
    }
}

/// The rule for retries of a failed apply.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ApplyRetry {
    /// The agent retries after a wait that doubles with each consecutive failure.
    BackOff {
        /// The first wait.
        first: SimDuration,
        /// The longest wait.
        max: SimDuration,
    },
    /// The agent repeats the apply when it checks the workloads, at the intervals that [`crate::world::LookSpec`] has
    /// for unavailable objects.
    AtLooks,
    /// The management cluster repeats the apply by instructing the cluster again. The agent reports each failure.
    ByController,
    /// Applies of this product do not fail in the simulation.
    #[default]
    NotSimulated,
}

impl ApplyRetry {
    /// The default queue of a controller. Source: `DefaultTypedControllerRateLimiter` in kubernetes/client-go
    /// `util/workqueue/default_rate_limiters.go`, which controller-runtime uses.
    pub const CONTROLLER_RUNTIME: Self = Self::BackOff {
        first: SimDuration::from_millis(5),
        max: SimDuration::from_secs(1000),
    };

    /// Returns the wait of a back-off after this number of consecutive failures. `None`: there is no back-off.
    pub(crate) fn back_off(self, failures: u32) -> Option<SimDuration> {
        match self {
            Self::BackOff { first, max } => {
                let factor = 2_u64.saturating_pow(failures.saturating_sub(1));
                let doubled = first.as_nanos().saturating_mul(factor);
                Some(SimDuration::from_nanos(doubled).min(max))
            }
            Self::AtLooks | Self::ByController | Self::NotSimulated => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controllers_wait_doubles_from_5_ms_to_1_000_s() {
        let wait = |failures| {
            let wait = ApplyRetry::CONTROLLER_RUNTIME.back_off(failures);
            wait.expect("it tries again").as_secs_f64()
        };
        for (failures, expected) in [
            (1, 0.005),
            (2, 0.01),
            (11, 5.12),
            (18, 655.36),
            (19, 1000.0),
        ] {
            assert!((wait(failures) - expected).abs() < 1e-9, "{failures}");
        }
        assert!((wait(u32::MAX) - 1000.0).abs() < 1e-9);
    }
}

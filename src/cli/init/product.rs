//! The products that `fleetsim init` supports, each with the setting that the experiment compares.

use clap::ValueEnum;

/// A product's name on the command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ProductChoice {
    /// Rancher Fleet, `rolloutStrategy.maxUnavailable`
    RancherFleet,
    /// Argo CD ApplicationSet, RollingSync
    ArgoCd,
    /// KubeFleet, a staged update run
    KubefleetStaged,
    /// KubeFleet, the rolling update of a placement
    KubefleetRolling,
    /// Cloud Foundry, a rolling deployment
    CloudFoundry,
}

impl ProductChoice {
    /// Returns the setting that the experiment compares, and the suggested values.
    pub(super) const fn setting(self) -> (&'static str, &'static str) {
        match self {
            Self::RancherFleet | Self::KubefleetRolling => {
                ("maxUnavailable", "1, 5%, 10%, 25%, 100%")
            }
            Self::ArgoCd => ("maxUpdate", "1, 5%, 10%, 25%, 100%"),
            Self::KubefleetStaged => ("maxConcurrency", "1, 5%, 10%, 25%, 100%"),
            Self::CloudFoundry => ("maxInFlight", "1, 5, 20, 100"),
        }
    }
}

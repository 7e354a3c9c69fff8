//! What an outage cuts.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fleetsim_units::Share;

/// The connections that an outage cuts.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CutKind {
    /// All traffic into the cluster and out of it.
    #[default]
    All,
    /// Only the link to the management cluster; images can still be pulled.
    Management,
    /// A reduction of the downlink's capacity. In a file it is `downlink`, not `cuts`.
    #[serde(skip)]
    Brownout {
        /// The remaining share of the downlink.
        downlink: Share,
    },
}

impl CutKind {
    /// Returns whether the management cluster cannot reach the cluster during the outage.
    pub const fn is_offline(self) -> bool {
        matches!(self, Self::All | Self::Management)
    }

    /// Returns whether a pull may wait for the end of the outage. In a brownout it continues,
    /// only more slowly, unless nothing of the downlink remains.
    pub(crate) fn is_waited_for(self) -> bool {
        match self {
            Self::All | Self::Management => true,
            Self::Brownout { downlink } => downlink == Share::NONE,
        }
    }
}

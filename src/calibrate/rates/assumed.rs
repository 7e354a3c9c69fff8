//! The world that a fit assumes around its parameters: requests, links, and slots of the container runtime.
//!
//! An experiment with the fitted parameters only reproduces the fit if it has this world too. Its own requests, for
//! example, would otherwise be added to a constant that already contains them. So each of these facts is pasted next
//! to the parameters.
//!
//! Left out: the links that nodes share. A fit uses each pull alone, so whatever was shared is part of its rates.

use super::pipeline::{RequestTimes, SLOTS};
use crate::calibrate::fit::duration as in_words;
use crate::results::CalibratedValue;
use crate::units::display::significant;
use crate::units::{BytesPerSec, Share, SimDuration};
use crate::world::WorldSpec;

/// A link that is not a limit, as experiments write it.
const NO_LIMIT: &str = "100000 Gbit/s";

/// The number of layers that are downloaded at the same time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(in crate::calibrate) enum Downloads {
    /// As many as a runtime has slots.
    #[default]
    InSlots,
    /// One, because one rate describes the image as a whole.
    OneByOne,
}

impl Downloads {
    fn slots(self) -> u32 {
        match self {
            Self::InSlots => SLOTS,
            Self::OneByOne => 1,
        }
    }
}

/// The world around the fitted parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::calibrate) struct AssumedWorld {
    /// The round trip to the registry.
    pub(in crate::calibrate) rtt: SimDuration,
    /// The registry's time for one request.
    pub(in crate::calibrate) service: SimDuration,
    pub(in crate::calibrate) downloads: Downloads,
}

impl AssumedWorld {
    /// Returns the times of a pull's requests. See `world/nodes/runtime/request.rs`: seven requests, three new
    /// connections with two round trips each, and two more round trips for each blob. The time of an answer is that of
    /// the API host.
    pub(super) fn requests(&self) -> RequestTimes {
        let rtt = self.rtt.as_secs_f64();
        let service = self.service.as_secs_f64();
        RequestTimes {
            of_pull: 13.0 * rtt + 6.0 * service,
            of_layer: 2.0 * rtt + service,
        }
    }

    /// Replaces the settings of a world with those that the fit assumes.
    pub(in crate::calibrate) fn apply(&self, world: &mut WorldSpec) {
        let endless = BytesPerSec::new(1e13);
        for cluster in &mut world.clusters {
            cluster.rtt = self.rtt.into();
            cluster.downlink = endless.into();
            cluster.loss = Share::NONE;
            cluster.gaps = None;
        }
        world.registry.api.service_time = self.service.into();
        world.registry.token.service_time = self.service.into();
        world.registry.blobs.host.service_time = SimDuration::ZERO.into();
        world.registry.tokens = true;
        world.node.nic = endless.into();
        world.node.runtime.download_slots = self.downloads.slots();
        world.node.unpack_slots = 1;
    }

    /// Returns the settings to paste.
    pub(super) fn values(&self) -> Vec<CalibratedValue> {
        let mut values = Vec::new();
        for fact in [NIC, UNPACK_SLOTS, TOKENS, DOWNLINK, LOSS] {
            values.push(fact.value());
        }
        for (fact, value) in [
            (DOWNLOAD_SLOTS, self.downloads.slots().to_string()),
            (SERVICE_TIME, in_words(self.service.as_secs_f64())),
            (RTT, in_words(self.rtt.as_secs_f64())),
        ] {
            values.push(CalibratedValue {
                value,
                ..fact.value()
            });
        }
        values
    }
}

/// A fact that a fit assumes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssumedFact {
    setting: &'static str,
    quantity: &'static str,
    /// The value in the experiment file's notation; empty if it depends on the fit.
    value: &'static str,
    note: &'static str,
}

const NO_LINK: &str = "no link was a limit by itself: the fitted rates contain it";

const NIC: AssumedFact = AssumedFact::of("node.nic", "network card", NO_LIMIT, NO_LINK);
const DOWNLOAD_SLOTS: AssumedFact =
    AssumedFact::of("node.downloadSlots", "downloads at once", "", "");
const UNPACK_SLOTS: AssumedFact =
    AssumedFact::of("node.unpackSlots", "layers unpacked at once", "1", "");
const SERVICE_TIME: AssumedFact =
    AssumedFact::of("registry.serviceTime", "time of a request", "", "");
const TOKENS: AssumedFact = AssumedFact::of("registry.tokens", "requests for tokens", "true", "");
const RTT: AssumedFact = AssumedFact::of("fleet[*].rtt", "round trip to the registry", "", "");
const DOWNLINK: AssumedFact = AssumedFact::of("fleet[*].downlink", "downlink", NO_LIMIT, NO_LINK);
const LOSS: AssumedFact = AssumedFact::of("fleet[*].loss", "lost segments", "0%", NO_LINK);

/// The disk of a fit whose rates contain it.
pub(super) const DISK: AssumedFact = AssumedFact::of(
    "node.disk",
    "disk",
    "{class: none}",
    "the rates above include it",
);

/// The spread of a fit with too few nodes.
pub(super) const SPREAD: AssumedFact = AssumedFact::of(
    "node.unpackSpread",
    "spread between nodes",
    "0",
    "these nodes do not determine how much others differ",
);

/// The registry's rate, if the pulls do not determine the rate of a connection.
pub(super) const EGRESS: AssumedFact = AssumedFact::of(
    "registry.egress",
    "rate of the registry",
    "unlimited",
    "these pulls do not determine it; write your registry's limit if you know it",
);

/// Returns the assumed ratio of uncompressed to compressed bytes.
pub(super) fn ratio(ratio: f64) -> CalibratedValue {
    const RATIO: AssumedFact = AssumedFact::of(
        "release.images[*].compressionRatio",
        "ratio of sizes",
        "",
        "of layers whose size on disk is not known",
    );
    CalibratedValue {
        value: significant(ratio, 4),
        ..RATIO.value()
    }
}

impl AssumedFact {
    const fn of(
        setting: &'static str,
        quantity: &'static str,
        value: &'static str,
        note: &'static str,
    ) -> Self {
        Self {
            setting,
            quantity,
            value,
            note,
        }
    }

    /// Returns the fact as a value to paste.
    pub(super) fn value(self) -> CalibratedValue {
        CalibratedValue {
            setting: self.setting.to_owned(),
            quantity: self.quantity.to_owned(),
            value: self.value.to_owned(),
            note: self.note.to_owned(),
            ..CalibratedValue::default()
        }
    }
}

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
            Self::InSlots => SLOTS as u32,
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
        let slots = self.downloads.slots().to_string();
        let rtt = in_words(self.rtt.as_secs_f64());
        let service = in_words(self.service.as_secs_f64());
        let link = "no link was a limit by itself: the fitted rates contain it";
        vec![
            fact("node.nic", "network card", NO_LIMIT, link),
            fact("node.downloadSlots", "downloads at once", &slots, ""),
            fact("node.unpackSlots", "layers unpacked at once", "1", ""),
            fact("registry.serviceTime", "time of a request", &service, ""),
            fact("registry.tokens", "requests for tokens", "true", ""),
            fact("fleet[*].rtt", "round trip to the registry", &rtt, ""),
            fact("fleet[*].downlink", "downlink", NO_LIMIT, link),
            fact("fleet[*].loss", "lost segments", "0%", link),
        ]
    }
}

/// Returns a fact that the fit assumes, as a value to paste.
pub(super) fn fact(setting: &str, quantity: &str, value: &str, note: &str) -> CalibratedValue {
    CalibratedValue {
        setting: setting.to_owned(),
        quantity: quantity.to_owned(),
        value: value.to_owned(),
        note: note.to_owned(),
        ..CalibratedValue::default()
    }
}

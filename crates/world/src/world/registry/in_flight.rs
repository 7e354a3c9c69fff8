//! Requests on their way to a host with limits, and in it.
//!
//! A request that no limit holds back is answered as by a host without limits: at the same time, and in the same order
//! among the events of one instant. Its response is therefore scheduled when it is sent. When it arrives, the host
//! decides; a request that it refuses, or that waits, loses this response and gets another one.
//!
//! The order of events at equal times is the order in which they were scheduled. A response that were scheduled on
//! arrival would come after others of its instant, for no other reason than that there is a limit.

use std::collections::HashMap;

use fleetsim_units::SimDuration;

use crate::engine::EventId;
use crate::world::ids::PullId;
use crate::world::registry::request::{HostRole, Request};

/// One request of a pull to one host of a registry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct HostRequest {
    pub(crate) pull: PullId,
    pub(crate) request: Request,
    pub(crate) host: HostRole,
}

/// A request between its sending and the end of its service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// The event of its response. `None`: it waits, or has waited, and gets its response after its service.
    pub(crate) response: Option<EventId>,
    /// The time to serve it, as drawn when it was sent.
    pub(crate) service: SimDuration,
    /// The number of that draw among those of its node.
    pub(crate) draw: u64,
    /// The event at which the host has served it, while the host serves it.
    pub(crate) service_end: Option<EventId>,
}

/// The requests in flight to the limited hosts of one registry.
///
/// Used only for lookups; the order of the map has no effect.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight(HashMap<HostRequest, InFlight>);

impl RequestsInFlight {
    /// A request is sent.
    pub(crate) fn insert(&mut self, asked: HostRequest, in_flight: InFlight) {
        self.0.insert(asked, in_flight);
    }

    /// A request that is in flight.
    pub(crate) fn get_mut(&mut self, asked: HostRequest) -> Option<&mut InFlight> {
        self.0.get_mut(&asked)
    }

    /// A request is not in flight any more. Returns whether it was.
    pub(crate) fn remove(&mut self, asked: HostRequest) -> bool {
        !self.0.is_empty() && self.0.remove(&asked).is_some()
    }
}

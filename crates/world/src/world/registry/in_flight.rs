//! Requests in transit to a host with limits, and in the host.
//!
//! A request that no limit delays must be answered as by a host without limits: at the same time, and in the same
//! order among simultaneous events. Its response is therefore scheduled when the request is sent. The host decides
//! when the request arrives. If it refuses the request or lets it wait, this response is cancelled, and another one is
//! scheduled.
//!
//! The order of events at equal times is the order in which they were scheduled. A response that is scheduled on
//! arrival would come after other simultaneous events, only because a limit exists.

use std::collections::HashMap;

use fleetsim_units::SimDuration;

use crate::engine::EventId;
use crate::world::event::{Event, Queue, RequestEvent};
use crate::world::registry::Registry;
use crate::world::registry::request::HostRequest;

impl HostRequest {
    /// Creates an event of this request.
    pub(crate) const fn event(self, event: RequestEvent) -> Event {
        Event::Request(self.pull, self.request, event)
    }
}

/// A request from its sending until it has been served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// The event of the response. `None`: the request waits, or has waited, and gets its response after it is served.
    pub(crate) response: Option<EventId>,
    /// The time to serve the request, drawn when it was sent.
    pub(crate) service: SimDuration,
    /// The number of the draw of `service` on the node.
    pub(crate) draw: u64,
    /// The event at which the host has served the request. `None`: the host is not serving it.
    pub(crate) service_end: Option<EventId>,
}

/// The requests in flight to the limited hosts of one registry.
///
/// Used only for lookups; the order of the map has no effect.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight(HashMap<HostRequest, InFlight>);

impl RequestsInFlight {
    /// Adds a request that is sent.
    pub(crate) fn insert(&mut self, asked: HostRequest, in_flight: InFlight) {
        self.0.insert(asked, in_flight);
    }

    /// Returns a request if it is in flight.
    pub(crate) fn get_mut(&mut self, asked: HostRequest) -> Option<&mut InFlight> {
        self.0.get_mut(&asked)
    }

    /// Removes a request. Returns whether it was in flight.
    pub(crate) fn remove(&mut self, asked: HostRequest) -> bool {
        !self.0.is_empty() && self.0.remove(&asked).is_some()
    }
}

impl Registry<'_> {
    /// Cancels the response that was scheduled when a request was sent.
    pub(crate) fn take_back_response(&mut self, asked: HostRequest, queue: &mut Queue) {
        let in_flight = self.in_flight.get_mut(asked);
        if let Some(response) = in_flight.and_then(|in_flight| in_flight.response.take()) {
            queue.cancel(response);
        }
    }

    /// Removes a request without a response.
    pub(crate) fn drop_request(&mut self, asked: HostRequest, queue: &mut Queue) {
        self.take_back_response(asked, queue);
        self.in_flight.remove(asked);
    }

    /// Serves a request as soon as it has arrived.
    pub(crate) fn serve_immediately(&mut self, asked: HostRequest, queue: &mut Queue) {
        if !self.host(asked.host).holds_requests() {
            self.in_flight.remove(asked);
        } else if let Some(in_flight) = self.in_flight.get_mut(asked) {
            let served = asked.event(RequestEvent::Served(asked.host));
            in_flight.service_end = Some(queue.schedule_in(in_flight.service, served));
        }
    }

    /// Returns the number of the draw for the service time of a waiting request.
    pub(crate) fn draw_of_waiting(&mut self, asked: HostRequest) -> u64 {
        let Some(in_flight) = self.in_flight.get_mut(asked) else {
            unreachable!("a request that waits is in flight: {asked:?}");
        };
        in_flight.draw
    }

    /// Begins to serve a request that has waited; `service` is the time to serve it.
    pub(crate) fn serve_waiting(
        &mut self,
        asked: HostRequest,
        service: SimDuration,
        queue: &mut Queue,
    ) {
        let draw = self.draw_of_waiting(asked);
        let served = asked.event(RequestEvent::Served(asked.host));
        let in_flight = InFlight {
            response: None,
            service,
            draw,
            service_end: Some(queue.schedule_in(service, served)),
        };
        self.in_flight.insert(asked, in_flight);
    }
}

//! Outages and brownouts of a registry, and egress that shrinks under load.
//!
//! A registry that is down does not respond: arriving and waiting requests get no response, and clients reconnect.
//! Transfers stall, and continue when the registry recovers, unless their runtime gives up first. A brownout scales
//! the egress and the rates of all buckets, and serving requests slows down by the same factor.
//!
//! The overload rule is a guess of the simplest form that fits: while more than k blobs are sent, egress is multiplied
//! by max(floor, k/n). Volcano Engine published mean goodputs of 617, 233, 151 and 149 MiB/s for 50, 100, 200 and 500
//! pods that pull from one registry, without naming a cause; k = 50 blobs and a floor of 24% yield 617, 309, 154 and
//! 148.
//!
//! Left out: connection resets when a registry goes down, and TCP's back-off after an outage.

use crate::world::event::{Event, Queue};
use crate::world::registry::request::HostRequest;
use crate::world::registry::{CapacityShares, Registry};
use crate::world::transfers::Transfers;
use fleetsim_units::{BytesPerSec, SimTime};

impl Registry<'_> {
    /// Schedules the starts and ends of the registry's windows.
    pub(crate) fn schedule_windows(&self, queue: &mut Queue) {
        for (window, spec) in (0_u32..).zip(&self.spec.windows) {
            for (at, begins) in [(spec.begins(), true), (spec.ends(), false)] {
                let registry = self.number;
                queue.schedule(
                    at,
                    Event::RegistryWindow {
                        registry,
                        window,
                        begins,
                    },
                );
            }
        }
    }

    /// A window begins or ends. Returns the requests that have lost their place in a host.
    pub(crate) fn window_changes(
        &mut self,
        window: u32,
        begins: bool,
        now: SimTime,
    ) -> Vec<HostRequest> {
        self.windows_ahead -= 1;
        let window = self.spec.windows[window as usize];
        if window.down {
            self.down = begins;
            // When a window ends, no requests are waiting, because a registry that is down admits none.
            let dropped = self.drop_waiting();
            for asked in &dropped {
                self.in_flight.remove(*asked);
            }
            return dropped;
        }
        self.capacity_left = if begins {
            CapacityShares {
                egress: window.egress.get(),
                requests: window.requests.get(),
            }
        } else {
            CapacityShares::ALL
        };
        self.set_rates(now, self.capacity_left.requests);
        Vec::new()
    }

    /// Returns the current capacity of the registry's egress for the fleet and for pulls of another fleet.
    pub(crate) fn capacity(&self) -> BytesPerSec {
        let taken = (self.others_wanted() / self.spec.egress.get()).min(1.0);
        BytesPerSec::new(self.allowed() * (1.0 - taken))
    }

    /// Returns the rate that the steady load of other clients requests now.
    pub(crate) fn steady_load(&self) -> BytesPerSec {
        BytesPerSec::new(self.others_wanted() * self.possible() / self.spec.egress.get())
    }

    /// Returns the rate at which the registry now sends to the steady load of other clients.
    pub(crate) fn sent_steadily(&self) -> BytesPerSec {
        BytesPerSec::new(self.others_wanted() * self.allowed() / self.spec.egress.get())
    }

    /// Returns the rate of other clients' steady load, in bytes per second, if nothing limits the registry.
    fn others_wanted(&self) -> f64 {
        match &self.others {
            Some(others) => others.steady().get(),
            None => 0.0,
        }
    }

    /// Returns the rate at which the registry could send now if its burst were not exhausted.
    fn possible(&self) -> f64 {
        if self.down {
            0.0
        } else {
            self.spec.egress.get() * (self.capacity_left.egress * self.load_share())
        }
    }

    /// Returns the total rate at which the registry may send now.
    fn allowed(&self) -> f64 {
        let egress = self.possible();
        match self.spec.burst {
            Some(burst) if self.burst.as_ref().is_some_and(|burst| burst.is_spent) => {
                egress.min(burst.baseline.get())
            }
            _ => egress,
        }
    }

    /// Returns the share of the egress that remains at the current number of blobs being sent.
    fn load_share(&self) -> f64 {
        let Some(overload) = self.spec.blobs.overload else {
            return 1.0;
        };
        let sending = self.sending.max(1);
        (f64::from(overload.connections) / f64::from(sending)).clamp(overload.floor.get(), 1.0)
    }

    /// Adjusts the egress of a registry that slows down under load to the number of blobs being sent.
    pub(crate) fn follow_load(&self, transfers: &mut Transfers, now: SimTime) {
        if self.spec.blobs.overload.is_none() {
            return;
        }
        let capacity = transfers.links.data(self.capacity());
        let egress = transfers.links.egress[self.index()];
        if capacity != transfers.network.capacity(egress) {
            transfers.network.set_capacity(now, egress, capacity);
        }
    }
}

//! Outages and brownouts of a registry, and egress that falls under load.
//!
//! A registry that is down does not respond: arriving and waiting requests get no response, and clients connect again.
//! Transfers stall and continue when it is back, unless their runtime gives up before. A brownout scales the egress
//! and the rates of all buckets, and serving a request takes longer by the same factor.
//!
//! The overload rule is a guess of the simplest form that fits: while more than k blobs are sent, egress is multiplied
//! by max(floor, k/n). Volcano Engine published mean goodputs of 617, 233, 151 and 149 MiB/s for 50, 100, 200 and 500
//! pods that pull from one registry, without naming a cause; k = 50 blobs and a floor of 24 % yield 617, 309, 154 and
//! 148.
//!
//! Left out: connection resets when a registry goes down, and TCP's back-off after an outage.

use crate::world::World;
use crate::world::event::{Event, Queue};
use crate::world::registry::Registry;
use crate::world::registry::host::Ticket;
use crate::world::registry::in_flight::HostRequest;
use crate::world::registry::request::HostRole;
use fleetsim_units::{BytesPerSec, SimTime};

impl Registry<'_> {
    /// Schedules the beginnings and ends of the windows of this registry, whose number is `registry`.
    pub(crate) fn schedule_windows(&self, registry: u32, queue: &mut Queue) {
        for (window, spec) in (0_u32..).zip(&self.spec.windows) {
            let event = |begins| Event::RegistryWindow {
                registry,
                window,
                begins,
            };
            queue.schedule(spec.begins(), event(true));
            queue.schedule(spec.ends(), event(false));
        }
    }

    /// A window begins or ends. Returns the requests that lose their place in a host.
    fn switch_window(
        &mut self,
        window: u32,
        begins: bool,
        now: SimTime,
    ) -> Vec<(HostRole, Ticket)> {
        self.windows_ahead -= 1;
        let window = self.spec.windows[window as usize];
        if window.down {
            self.down = begins;
            // Nothing waits when it ends: a registry that is down admits nothing.
            return self.drop_waiting();
        }
        self.shares = if begins {
            (window.egress.get(), window.requests.get())
        } else {
            (1.0, 1.0)
        };
        self.set_rates(now, self.shares.1);
        Vec::new()
    }

    /// The current capacity of its egress for the fleet, and for pulls of another one.
    pub(crate) fn capacity(&self) -> BytesPerSec {
        let steady = self
            .others
            .as_ref()
            .map_or(0.0, |others| others.steady().get());
        BytesPerSec::new(self.allowed() * (1.0 - (steady / self.spec.egress.get()).min(1.0)))
    }

    /// The rate that the steady load of others asks for now.
    pub(crate) fn steady_load(&self) -> BytesPerSec {
        let steady = self
            .others
            .as_ref()
            .map_or(0.0, |others| others.steady().get());
        BytesPerSec::new(steady * self.possible() / self.spec.egress.get())
    }

    /// The rate that it sends to the steady load of others now.
    pub(crate) fn sent_steadily(&self) -> BytesPerSec {
        let steady = self
            .others
            .as_ref()
            .map_or(0.0, |others| others.steady().get());
        BytesPerSec::new(steady * self.allowed() / self.spec.egress.get())
    }

    /// The rate that it can send now if its burst lasts.
    fn possible(&self) -> f64 {
        if self.down {
            0.0
        } else {
            self.spec.egress.get() * (self.shares.0 * self.load_share())
        }
    }

    /// The total rate that it may send now.
    fn allowed(&self) -> f64 {
        let egress = self.possible();
        match self.spec.burst {
            Some(burst) if self.burst.as_ref().is_some_and(|burst| burst.is_spent) => {
                egress.min(burst.baseline.get())
            }
            _ => egress,
        }
    }

    /// The share of the egress that is left while it sends so many blobs.
    fn load_share(&self) -> f64 {
        let Some(overload) = self.spec.blobs.overload else {
            return 1.0;
        };
        let sending = self.sending.max(1);
        (f64::from(overload.connections) / f64::from(sending)).clamp(overload.floor.get(), 1.0)
    }
}

impl World<'_> {
    pub(crate) fn registry_window(
        &mut self,
        registry: u32,
        window: u32,
        begins: bool,
        queue: &mut Queue,
    ) {
        let from = registry as usize;
        for (role, (pull, request)) in
            self.registries[from].switch_window(window, begins, queue.now())
        {
            let asked = HostRequest {
                pull,
                request,
                host: role,
            };
            self.registries[from].in_flight.remove(asked);
            self.dial(pull, request, role, queue);
        }
        let all = 0..self.nodes.len();
        let capacity = self.transfers.links.data(self.registries[from].capacity());
        self.set_link(self.transfers.links.egress[from], capacity, all, queue);
    }

    /// Adjusts the egress of registries that slow down under load to the number of blobs that they send.
    pub(crate) fn follow_load(&mut self, now: SimTime) {
        for (registry, &egress) in self.registries.iter().zip(&self.transfers.links.egress) {
            if registry.spec.blobs.overload.is_some() {
                let capacity = self.transfers.links.data(registry.capacity());
                if capacity != self.transfers.network.capacity(egress) {
                    self.transfers.network.set_capacity(now, egress, capacity);
                }
            }
        }
    }
}

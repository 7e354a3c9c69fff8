//! When the registry is out of order: down, or with less egress and slower answers; and egress that falls under load.
//!
//! While it is down nothing is answered: what arrives, and what waits in a host, gets no answer, and clients try to
//! connect again. Transfers under way stand still and go on when it is back, unless their runtime gives up before. A
//! brownout scales the egress, refills all buckets more slowly, and makes serving a request take as much longer.
//!
//! The overload rule is a guess of the simplest form that fits: with more than k blobs sent at once, egress is multiplied
//! by max(floor, k/n). Volcano Engine published mean goodputs of 617, 233, 151 and 149 MiB/s for 50, 100, 200 and 500
//! pods that pull from one registry and named no cause; k = 50 blobs and a floor of 24 % give 617, 309, 154 and 148.
//!
//! Left out: connections that are reset when a registry goes down, and the TCP back-off after it is back.

use crate::units::{BytesPerSec, SimTime};
use crate::world::World;
use crate::world::event::{Event, Queue};
use crate::world::registry::spec::Trouble;

impl World<'_> {
    /// Puts the beginnings and ends of the registry's windows onto the queue.
    pub(crate) fn plan_windows(&self, queue: &mut Queue) {
        for registry in 0..self.registries.len() {
            for (at, window) in (0_u32..).zip(&self.spec.registry_at(registry).windows) {
                let event = |begins| Event::RegistryWindow { registry: registry as u32, window: at, begins };
                queue.schedule(window.from, event(true));
                queue.schedule(window.to, event(false));
            }
        }
    }

    pub(crate) fn registry_window(&mut self, from: u32, window: u32, begins: bool, queue: &mut Queue) {
        let from = from as usize;
        let registry = &mut self.registries[from];
        registry.windows_ahead -= 1;
        match self.spec.registry_at(from).windows[window as usize].trouble {
            Trouble::Down => {
                registry.down = begins;
                // When it ends nothing waits: nothing was let in.
                for (role, (pull, request)) in registry.drop_waiting() {
                    self.dial(pull, request, role, queue);
                }
            }
            Trouble::Brownout { egress, requests } => {
                registry.shares = if begins { (egress.get(), requests.get()) } else { (1.0, 1.0) };
                registry.set_rates(queue.now(), registry.shares.1);
            }
        }
        let capacity = self.egress_now(from);
        self.set_link(self.egress[from], capacity, queue);
    }

    /// What a registry can send now.
    fn egress_now(&self, from: usize) -> BytesPerSec {
        let registry = &self.registries[from];
        let share = if registry.down { 0.0 } else { registry.shares.0 * self.load_share(from) };
        BytesPerSec::new(self.spec.registry_at(from).egress.get() * share)
    }

    /// What the blobs that are sent at once leave of the egress.
    fn load_share(&self, from: usize) -> f64 {
        let Some(overload) = self.spec.registry_at(from).overload else { return 1.0 };
        let sending = self.registries[from].sending.max(1);
        (f64::from(overload.connections) / f64::from(sending)).clamp(overload.floor.get(), 1.0)
    }

    /// Blobs have begun or ended to be sent: lets the egress follow.
    pub(crate) fn follow_load(&mut self, now: SimTime) {
        for from in 0..self.registries.len() {
            if self.spec.registry_at(from).overload.is_some() {
                let capacity = self.egress_now(from);
                if capacity != self.network.capacity(self.egress[from]) {
                    self.network.set_capacity(now, self.egress[from], capacity);
                }
            }
        }
    }
}

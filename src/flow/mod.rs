//! Transfers that share links: exact max-min fair rates, on a forest of links in O(log n) per event.
//!
//! Modelled: a forest of links, from a source's egress down to the receivers, each with a capacity that may change
//! while it is in use; transfers that run over a link and all links above it, or over any set of links, each bounded by
//! its links and by a cap of its own (what one connection can carry). At every instant rates are max-min fair: no transfer's rate can rise without
//! lowering that of one that has no more. This is the fluid model that SimGrid and dslab use as well.
//!
//! Left out: latency, TCP slow start and loss, unfairness between connections, packets.
//!
//! Two solvers share the work. While every transfer in flight runs over a link and all its ancestors, a start, an end or
//! a change of capacity touches one path of the forest, where computing all rates anew would cost O(n) an event and
//! O(n²) a storm; `forest` tells how. A transfer over any other set of links, say from the card of one node to that of
//! another, or from two registries to one cluster, brings in the general solver, `mesh`, for everything: O(n) an event
//! in the transfers that are connected with it. When the last such transfer is gone the forest takes over again, at
//! once if nothing is in flight, else when that is worth it; `switch` states the rule. [`naive`] recomputes everything
//! and is the oracle of the tests; [`check`] holds any state against the definition of max-min fairness.
//!
//! The caller's time is in whole nanoseconds, and a completion is reported at the first one that is not before it. In
//! between, the solver computes in floating point, and what the caller starts when a transfer is reported complete
//! begins where that transfer really ended: `instant` tells why.
//!
//! ```
//! use fleetsim::flow::Network;
//! use fleetsim::units::{Bytes, BytesPerSec, SimTime};
//!
//! let mut network = Network::new();
//! let egress = network.add_link(None, BytesPerSec::new(100.0));
//! let slow = network.add_link(Some(egress), BytesPerSec::new(20.0));
//! let fast = network.add_link(Some(egress), BytesPerSec::new(500.0));
//! let first = network.start(SimTime::ZERO, slow, Bytes::new(100), None); // 20 B/s: its own link bounds it
//! let second = network.start(SimTime::ZERO, fast, Bytes::new(160), None); // 80 B/s: what the egress has left
//!
//! let mut completed = Vec::new();
//! while let Some(next) = network.next_completion() {
//!     network.advance(next, &mut completed);
//! }
//! assert_eq!(completed, [second, first]);
//! ```

pub mod check;
mod forest;
mod heap;
mod instant;
mod mesh;
pub mod naive;
mod switch;
mod tree;

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use crate::units::{Bytes, BytesPerSec, SimTime};
use forest::Forest;
use mesh::Mesh;
use switch::{Solver, cap_of};

/// A link of one [`Network`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(u32);

/// A transfer of one [`Network`]; never used again for another. Ids are ordered as the transfers were started.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TransferId {
    serial: u64,
    slot: u32,
}

impl LinkId {
    /// How many links were added before this one.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TransferId {
    /// How many transfers were started before this one.
    #[must_use]
    pub const fn serial(self) -> u64 {
        self.serial
    }
}

/// A transfer in flight, as [`Network::transfers`] shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferState {
    /// Which transfer.
    pub id: TransferId,
    /// The link that it was started on; of one over a set of links, the last that was named.
    pub link: LinkId,
    /// The most that it may carry; `None`: only the links bound it.
    pub cap: Option<BytesPerSec>,
    /// Its rate now.
    pub rate: BytesPerSec,
    /// What it has delivered by now, rounded down.
    pub delivered: Bytes,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TransferPhase {
    /// The slot is free.
    Unused,
    InFlight,
    /// Complete, and not yet reported.
    Complete,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    serial: u64,
    size: Bytes,
    cap: Option<BytesPerSec>,
    link: LinkId,
    phase: TransferPhase,
    /// Runs over other links than `link` and its ancestors.
    crossing: bool,
}

/// Links, the transfers on them, and a clock that the caller moves forward.
///
/// Every call that takes `now` first completes what is due by then, in order and each at its own time; those
/// transfers are reported by the next [`Network::advance`]. By the general solver, what a change makes due within the
/// very nanosecond in which it was made may wait for that.
#[derive(Debug, Default)]
pub struct Network {
    now: SimTime,
    solver: Solver,
    forest: Forest,
    /// Solves when it is asked.
    mesh: RefCell<Mesh>,
    /// The forest's node of each link.
    nodes: Vec<u32>,
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    started: u64,
    active: usize,
    /// How many of those in flight are crossing.
    crossing: usize,
    /// The mesh's work by when a crossing transfer was last in flight.
    work_when_crossing: u64,
    /// Something was changed since the clock came to `now`.
    changing: bool,
    /// Complete and not yet reported.
    complete: Vec<(SimTime, LinkId, TransferId)>,
    /// Reused.
    ended: Vec<u32>,
}

impl Network {
    /// A network without links, at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link. `parent` is the link nearer the source; `None` makes a root, the egress of a source. A transfer
    /// that is started on a link runs over it and over all its ancestors.
    ///
    /// # Panics
    /// If `parent` is not a link of this network.
    pub fn add_link(&mut self, parent: Option<LinkId>, capacity: BytesPerSec) -> LinkId {
        let id = LinkId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 links"));
        self.nodes.push(self.forest.add_link(parent.map(|parent| self.nodes[parent.index()]), capacity.get()));
        self.mesh.get_mut().add_link(capacity.get());
        id
    }

    /// Changes what a link can carry, from `now` on. With no capacity at all the transfers on it stand still, and go on
    /// where they were once it is back.
    ///
    /// # Panics
    /// If `now` is before an earlier call's.
    pub fn set_capacity(&mut self, now: SimTime, link: LinkId, capacity: BytesPerSec) {
        self.arrive(now);
        self.forest.set_capacity(self.nodes[link.index()], capacity.get());
        self.mesh.get_mut().set_capacity(link.0, capacity.get());
    }

    /// Starts a transfer of `size` bytes over `link` and all its ancestors. `cap` is the most that this connection may
    /// carry; `None`: only the links bound it. A transfer of nothing is complete at `now`.
    ///
    /// # Panics
    /// If `now` is before an earlier call's.
    pub fn start(&mut self, now: SimTime, link: LinkId, size: Bytes, cap: Option<BytesPerSec>) -> TransferId {
        self.arrive(now);
        let id = self.admit(Transfer {
            serial: self.started,
            size,
            cap,
            link,
            phase: TransferPhase::InFlight,
            crossing: false,
        });
        if size > Bytes::ZERO {
            self.launch(id.slot, size.get() as f64);
        }
        id
    }

    /// Starts a transfer over exactly these links, whatever their parents are; name them from the source to the
    /// receiver. One that is named again counts once. Size and cap are as in [`Network::start`], and so is the whole
    /// call if the links are a root, its child and so on down to one link.
    ///
    /// # Panics
    /// If `now` is before an earlier call's, or if there are no links.
    pub fn start_over(&mut self, now: SimTime, links: &[LinkId], size: Bytes, cap: Option<BytesPerSec>) -> TransferId {
        let &link = links.last().expect("a transfer runs over a link at least");
        if self.path_down_to(link).eq(links.iter().rev().copied()) {
            return self.start(now, link, size, cap);
        }
        self.arrive(now);
        let id = self.admit(Transfer {
            serial: self.started,
            size,
            cap,
            link,
            phase: TransferPhase::InFlight,
            crossing: true,
        });
        if size > Bytes::ZERO {
            if self.solver == Solver::Forest {
                self.leave_forest();
            }
            self.crossing += 1;
            let named = links.iter().enumerate().filter(|&(at, link)| !links[..at].contains(link));
            let named = named.map(|(_, link)| link.0);
            self.mesh.get_mut().insert(id.slot, named, cap_of(cap), size.get() as f64);
        }
        id
    }

    /// Ends a transfer early; it is not reported as complete. Returns the bytes that it had delivered by `now`: whole
    /// bytes, rounded down, at most its size.
    ///
    /// # Panics
    /// If `now` is before an earlier call's, or if the transfer was already reported or cancelled.
    pub fn cancel(&mut self, now: SimTime, id: TransferId) -> Bytes {
        self.arrive(now);
        let delivered = self.delivered(id);
        if self.transfer(id).phase == TransferPhase::Complete {
            self.complete.retain(|&(_, _, complete)| complete != id);
        } else {
            match self.solver {
                Solver::Forest => self.forest.remove(id.slot),
                Solver::Mesh => self.mesh.get_mut().remove(id.slot),
            }
            self.leave(id.slot);
        }
        self.release(id.slot);
        self.reconsider();
        delivered
    }

    /// When the next transfer ends, rounded up to the next nanosecond, if nothing else happens. `None`: none is in
    /// flight, or none that is moves.
    #[must_use]
    pub fn next_completion(&self) -> Option<SimTime> {
        let unreported = self.complete.iter().map(|&(time, ..)| time).min();
        unreported.or_else(|| {
            let due = match self.solver {
                Solver::Forest => self.forest.next_due(),
                Solver::Mesh => self.mesh.borrow_mut().next_due(),
            };
            due.map(SimTime::from_nanos)
        })
    }

    /// Moves to `now` and appends every transfer that is complete by then and was not reported before, in the order
    /// of (time of completion, link, id).
    ///
    /// An event loop calls this exactly at [`Network::next_completion`]. A later `now` is as right: completions in
    /// between happen at their own times and free their bandwidth then.
    ///
    /// # Panics
    /// If `now` is before an earlier call's.
    pub fn advance(&mut self, now: SimTime, completed: &mut Vec<TransferId>) {
        self.run_to(now);
        self.complete.sort_unstable();
        for at in 0..self.complete.len() {
            let (_, _, id) = self.complete[at];
            completed.push(id);
            self.release(id.slot);
        }
        self.complete.clear();
    }

    /// How many transfers are in flight: started, not cancelled, not complete.
    #[must_use]
    pub fn active(&self) -> usize {
        self.active
    }

    /// The rate through a link now, the sum over its transfers; for a root of a forest in O(1).
    #[must_use]
    pub fn throughput(&self, link: LinkId) -> BytesPerSec {
        BytesPerSec::new(match self.solver {
            Solver::Forest => self.forest.throughput(self.nodes[link.index()]),
            Solver::Mesh => self.mesh.borrow_mut().throughput(link.0),
        })
    }

    /// What a link can carry now.
    #[must_use]
    pub fn capacity(&self, link: LinkId) -> BytesPerSec {
        BytesPerSec::new(self.forest.capacity(self.nodes[link.index()]))
    }

    /// Whether a link carries all it can, up to the rounding of a sum (a relative 10⁻¹²).
    #[must_use]
    pub fn is_saturated(&self, link: LinkId) -> bool {
        self.throughput(link).get() >= self.capacity(link).get() * (1.0 - 1e-12)
    }

    /// The rate of one transfer now; zero once it is complete.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    #[must_use]
    pub fn rate(&self, id: TransferId) -> BytesPerSec {
        match self.transfer(id).phase {
            TransferPhase::InFlight => BytesPerSec::new(match self.solver {
                Solver::Forest => self.forest.rate_of_transfer(id.slot),
                Solver::Mesh => self.mesh.borrow_mut().rate(id.slot),
            }),
            _ => BytesPerSec::ZERO,
        }
    }

    /// What a transfer has delivered by the latest time that the network was told: whole bytes, rounded down, at most
    /// its size.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    #[must_use]
    pub fn delivered(&self, id: TransferId) -> Bytes {
        let transfer = self.transfer(id);
        match transfer.phase {
            // The cast takes what is below zero to zero.
            TransferPhase::InFlight => transfer.size.saturating_sub(Bytes::new(self.remaining(id.slot).ceil() as u64)),
            _ => transfer.size,
        }
    }

    /// The transfers in flight, in no particular order that means anything (the same in every run).
    pub fn transfers(&self) -> impl Iterator<Item = TransferState> + '_ {
        self.transfers.iter().zip(0..).filter(|(transfer, _)| transfer.phase == TransferPhase::InFlight).map(
            |(&Transfer { serial, cap, link, .. }, slot)| {
                let id = TransferId { serial, slot };
                TransferState { id, link, cap, rate: self.rate(id), delivered: self.delivered(id) }
            },
        )
    }

    /// The links, in the order in which they were added.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.nodes.len() as u32).map(LinkId)
    }

    /// The link nearer the source; `None` for a root.
    #[must_use]
    pub fn parent(&self, link: LinkId) -> Option<LinkId> {
        self.path_down_to(link).nth(1)
    }

    /// The links that a transfer in flight runs over: from the root to the link that it was started on, or those that
    /// were named, in that order.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    #[must_use]
    pub fn path(&self, id: TransferId) -> Vec<LinkId> {
        let transfer = self.transfer(id);
        if transfer.crossing {
            self.mesh.borrow().path(id.slot).map(LinkId).collect()
        } else {
            let mut path: Vec<LinkId> = self.path_down_to(transfer.link).collect();
            path.reverse();
            path
        }
    }

    /// How many links, classes of equal links and, by the general solver, transfers were looked at so far: the cost of
    /// the work done, without a clock.
    #[must_use]
    pub fn visits(&self) -> u64 {
        self.forest.visits() + self.mesh.borrow().visits()
    }

    fn transfer(&self, id: TransferId) -> &Transfer {
        let transfer = &self.transfers[id.slot as usize];
        assert!(
            transfer.serial == id.serial && transfer.phase != TransferPhase::Unused,
            "{id:?} was already reported or cancelled"
        );
        transfer
    }

    fn release(&mut self, slot: u32) {
        self.transfers[slot as usize].phase = TransferPhase::Unused;
        self.free.push(slot);
    }

    /// Enters a transfer; one of nothing is complete.
    fn admit(&mut self, transfer: Transfer) -> TransferId {
        self.started += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(transfer);
            u32::try_from(self.transfers.len() - 1).expect("fewer than 2^32 transfers at a time")
        });
        self.transfers[slot as usize] = transfer;
        let id = TransferId { serial: transfer.serial, slot };
        if transfer.size == Bytes::ZERO {
            self.transfers[slot as usize].phase = TransferPhase::Complete;
            self.complete.push((self.now, transfer.link, id));
        } else {
            self.active += 1;
        }
        id
    }

    /// Moves to `now` before something is changed there.
    fn arrive(&mut self, now: SimTime) {
        // What the first change makes due at this very tick waits until the others are made: one solution serves all.
        let another = self.now == now && self.changing && self.solver == Solver::Mesh;
        if !another {
            self.run_to(now);
            self.changing = true;
        }
    }

    /// Completes what is due by `now`, each at its own time, and moves there.
    fn run_to(&mut self, now: SimTime) {
        assert!(self.now <= now, "time ran backwards: from {} to {now}", self.now);
        (self.now, self.changing) = (now, false);
        loop {
            let due = match self.solver {
                Solver::Forest => self.forest.next_due().filter(|&due| due <= now.as_nanos()),
                Solver::Mesh => self.mesh.get_mut().next_due_by(now.as_nanos()),
            };
            let Some(due) = due else { break };
            match self.solver {
                Solver::Forest => self.forest.complete(&mut self.ended),
                Solver::Mesh => self.mesh.get_mut().complete(&mut self.ended),
            }
            self.count_ended(due);
            self.reconsider();
        }
        match self.solver {
            Solver::Forest => self.forest.move_to(now.as_nanos()),
            Solver::Mesh => self.mesh.get_mut().move_to(now.as_nanos()),
        }
    }

    fn count_ended(&mut self, due: u64) {
        while let Some(slot) = self.ended.pop() {
            let Transfer { serial, link, ref mut phase, .. } = self.transfers[slot as usize];
            *phase = TransferPhase::Complete;
            self.complete.push((SimTime::from_nanos(due), link, TransferId { serial, slot }));
            self.leave(slot);
        }
    }
}

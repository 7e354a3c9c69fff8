//! Transfers that share links, at exact max-min fair rates; O(log n) per event on a forest of links.
//!
//! Modelled: a forest of links from a source's egress down to the receivers, whose capacities may change at any time,
//! and transfers over a link and all links above it, or over any set of links. A transfer is limited by its links and
//! by its own cap (the throughput of one connection). At every instant rates are max-min fair: no transfer's rate can
//! rise without lowering the rate of a transfer that has an equal or lower rate. SimGrid and dslab use the same fluid
//! model. Connections that are not alike have weights: their rates divided by their weights are fair (see
//! `connection`).
//!
//! Left out: latency, TCP slow start and loss, packets.
//!
//! # Invariants at every instant
//! Link *l* has capacity C(l). Transfer *i* has rate x(i), cap c(i) and weight w(i), which is 1 unless connections
//! differ, and uses the links L(i).
//!
//! ```text
//! (1)  the sum of x(i) over all i with l in L(i)  <=  C(l)      for every link l
//! (2)  x(i) <= c(i)                                             for every transfer i
//! (3)  x(i) = c(i), or L(i) has a link l, the bottleneck, for which (1) is an equation
//!      and x(i) / w(i) >= x(j) / w(j) for all j over l          for every transfer i
//! ```
//!
//! Exactly one set of rates satisfies all three (Bertsekas and Gallager, "Data Networks" (1992), section 6.5.2). Take
//! an egress of 100 B/s above links of 20 and 500 B/s with one transfer each. The first has 20 B/s, since its own link
//! is full. The second gets the other 80 B/s: the egress is full, and 80 is at least 20.
//!
//! # How rates are found
//! There are two solvers. While every transfer in flight runs over a link and all its ancestors, a start, an end or a
//! change of capacity touches one path of the forest (see `forest`); recomputing all rates would cost O(n) per event
//! and O(n²) per storm. A transfer over any other set of links, for example between the network cards of two nodes or
//! from two registries to one cluster, activates the general solver, `mesh`, for all transfers. It costs O(log n) per
//! event plus the part of the surroundings that the event changes, a few times the forest's cost. After the last such
//! transfer, the forest takes over again: immediately if nothing is in flight, otherwise when the switch pays off (see
//! `switch`). The tests compare both with a simple reference solver and with the definition of max-min fairness.
//!
//! The caller's time is in whole nanoseconds, and a completion is reported at the first nanosecond at or after it. The
//! solver itself uses floating point, and a transfer that is started when another one is reported complete begins
//! exactly where that one ended (see `instant`).
//!
//! ```
//! use fleetsim_world::flow::Network;
//! use fleetsim_units::{Bytes, BytesPerSec, SimTime};
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

mod connection;
mod forest;
mod instant;
mod mesh;
mod switch;
mod tree;

#[cfg(test)]
mod tests;

use std::cell::RefCell;

pub use connection::{Connection, ShareWeight};
use fleetsim_units::{Bytes, BytesPerSec, SimTime};
use forest::Forest;
use mesh::Mesh;
use switch::Solver;

/// A link of one [`Network`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(u32);

/// A transfer of one [`Network`]. Ids are never reused and are ordered by the start of their transfers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TransferId {
    serial: u64,
    slot: u32,
}

impl TransferId {
    /// Returns the index of the transfer among those in progress. Other transfers may have had it, or get it later.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

impl LinkId {
    /// Returns the number of links added before this one.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TransferId {
    /// Returns the number of transfers started before this one.
    #[must_use]
    pub const fn serial(self) -> u64 {
        self.serial
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TransferPhase {
    /// The slot is free.
    Unused,
    InFlight,
    /// Complete but not reported yet.
    Complete,
}

#[derive(Clone, Copy, Debug)]
struct TransferRecord {
    serial: u64,
    size: Bytes,
    connection: Connection,
    link: LinkId,
    phase: TransferPhase,
    /// Whether the transfer uses links other than `link` and its ancestors.
    crossing: bool,
}

/// Links, the transfers on them, and a clock that the caller advances.
///
/// Every call that takes `now` first completes the transfers due by then, in order and each at its own time; the next
/// [`Network::advance`] reports them. A completion that a change causes within the same nanosecond may be handled only
/// in that next call, by the general solver.
#[derive(Debug, Default)]
pub struct Network {
    now: SimTime,
    solver: Solver,
    forest: Forest,
    /// The general solver, which solves on demand.
    mesh: RefCell<Mesh>,
    /// The forest's node of each link.
    nodes: Vec<u32>,
    transfers: Vec<TransferRecord>,
    free: Vec<u32>,
    started: u64,
    /// Number of transfers in flight: started, not cancelled, not complete.
    active: usize,
    /// Number of crossing transfers in flight.
    crossing: usize,
    /// The work of the general solver when a crossing transfer was last in flight.
    work_when_crossing: u64,
    /// Whether something has changed since the clock reached `now`.
    changing: bool,
    /// Transfers that are complete but not reported yet.
    complete: Vec<(SimTime, LinkId, TransferId)>,
    /// Reused buffer.
    ended: Vec<u32>,
}

impl Network {
    /// Creates a network without links, at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link. `parent` is the link nearer the source; `None` makes a root, the egress of a source. A transfer
    /// started on a link runs over it and all its ancestors.
    ///
    /// # Panics
    /// If `parent` is not a link of this network.
    pub fn add_link(&mut self, parent: Option<LinkId>, capacity: BytesPerSec) -> LinkId {
        let id = LinkId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 links"));
        self.nodes.push(self.forest.add_link(
            parent.map(|parent| self.nodes[parent.index()]),
            capacity.get(),
        ));
        self.mesh.get_mut().allow_for(capacity.get());
        if self.solver == Solver::Mesh {
            self.show_links_to_mesh();
        }
        id
    }

    /// Changes the capacity of a link at `now`. At capacity 0 its transfers pause, and resume once capacity returns.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call.
    pub fn set_capacity(&mut self, now: SimTime, link: LinkId, capacity: BytesPerSec) {
        self.arrive(now);
        self.forest
            .set_capacity(self.nodes[link.index()], capacity.get());
        self.mesh.get_mut().set_capacity(link.0, capacity.get());
    }

    /// Starts a transfer of `size` bytes over `link` and all its ancestors. `connection` is the transfer's cap and
    /// weight; with only a cap, or `None`, the weight is 1. A transfer of 0 bytes is complete at `now`.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call.
    pub fn start(
        &mut self,
        now: SimTime,
        link: LinkId,
        size: Bytes,
        connection: impl Into<Connection>,
    ) -> TransferId {
        self.arrive(now);
        let id = self.admit(link, size, connection.into(), false);
        if size > Bytes::ZERO {
            self.launch(id.slot, size.get() as f64);
        }
        id
    }

    /// Starts a transfer over exactly these links, in order from the source to the receiver; a repeated link counts
    /// once. For size and connection see [`Network::start`]. If the links are a root, its child and so on down to one
    /// link, the two calls are equivalent.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call, or if there are no links.
    pub fn start_over(
        &mut self,
        now: SimTime,
        links: &[LinkId],
        size: Bytes,
        connection: impl Into<Connection>,
    ) -> TransferId {
        let connection = connection.into();
        let &link = links.last().expect("a transfer has at least one link");
        if self.is_path_down(links) {
            return self.start(now, link, size, connection);
        }
        self.arrive(now);
        let id = self.admit(link, size, connection, true);
        if size > Bytes::ZERO {
            if self.solver == Solver::Forest {
                self.leave_forest();
            }
            self.crossing += 1;
            let named = links
                .iter()
                .enumerate()
                .filter(|&(at, link)| !links[..at].contains(link));
            let named = named.map(|(_, link)| link.0);
            self.mesh
                .get_mut()
                .insert(id.slot, named, connection, size.get() as f64);
        }
        id
    }

    /// Ends a transfer early; it is not reported as complete. Returns the bytes delivered by `now`, rounded down and
    /// limited to the transfer's size.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call, or if the transfer was already reported or cancelled.
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

    /// Returns when the next transfer ends if nothing else changes, rounded up to the next nanosecond. `None`: no
    /// transfer is in flight, or all transfers have rate 0.
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

    /// Advances to `now` and appends every transfer that is complete by then and was not reported, ordered by (time
    /// of completion, link, id).
    ///
    /// An event loop calls this exactly at [`Network::next_completion`]. A later `now` is equally correct: completions
    /// in between still happen at their own times, and free their bandwidth at these times.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call.
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

    /// Returns the current throughput of a link, the sum over its transfers; O(1) for a root of a forest.
    #[must_use]
    pub fn throughput(&self, link: LinkId) -> BytesPerSec {
        BytesPerSec::new(match self.solver {
            Solver::Forest => self.forest.throughput(self.nodes[link.index()]),
            Solver::Mesh => self.mesh.borrow_mut().throughput(link.0),
        })
    }

    /// Returns the current capacity of a link.
    #[must_use]
    pub fn capacity(&self, link: LinkId) -> BytesPerSec {
        BytesPerSec::new(self.forest.capacity(self.nodes[link.index()]))
    }

    /// Returns whether a link is at its capacity, up to the rounding of a sum (a relative 10⁻¹²).
    #[must_use]
    pub fn is_saturated(&self, link: LinkId) -> bool {
        self.throughput(link).get() >= self.capacity(link).get() * (1.0 - 1e-12)
    }

    /// Returns the current rate of a transfer; zero once the transfer is complete.
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

    /// Returns the bytes that a transfer has delivered at the network's current time, rounded down and limited to its
    /// size.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    #[must_use]
    pub fn delivered(&self, id: TransferId) -> Bytes {
        let transfer = self.transfer(id);
        match transfer.phase {
            // The cast turns negative values into zero.
            TransferPhase::InFlight => transfer
                .size
                .saturating_sub(Bytes::new(self.remaining(id.slot).ceil() as u64)),
            _ => transfer.size,
        }
    }

    /// Returns the number of links, classes of equal links and (in the general solver) bundles of equal transfers
    /// visited so far: a measure of cost that needs no clock.
    #[must_use]
    pub fn visits(&self) -> u64 {
        self.forest.visits() + self.mesh.borrow().visits()
    }

    fn transfer(&self, id: TransferId) -> &TransferRecord {
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

    /// Registers a transfer; a transfer of 0 bytes is already complete.
    fn admit(
        &mut self,
        link: LinkId,
        size: Bytes,
        connection: Connection,
        crossing: bool,
    ) -> TransferId {
        let phase = TransferPhase::InFlight;
        let transfer = TransferRecord {
            serial: self.started,
            size,
            connection,
            link,
            phase,
            crossing,
        };
        self.started += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(transfer);
            u32::try_from(self.transfers.len() - 1).expect("fewer than 2^32 transfers at a time")
        });
        self.transfers[slot as usize] = transfer;
        let id = TransferId {
            serial: transfer.serial,
            slot,
        };
        if transfer.size == Bytes::ZERO {
            self.transfers[slot as usize].phase = TransferPhase::Complete;
            self.complete.push((self.now, transfer.link, id));
        } else {
            self.active += 1;
        }
        id
    }

    /// Advances to `now` before a change.
    fn arrive(&mut self, now: SimTime) {
        // Completions that the first change causes at this tick wait for the other changes at this tick, so that rates
        // are solved only once.
        let another = self.now == now && self.changing && self.solver == Solver::Mesh;
        if !another {
            self.run_to(now);
            self.changing = true;
        }
    }

    /// Completes the transfers due by `now`, each at its own time, and advances to `now`.
    fn run_to(&mut self, now: SimTime) {
        assert!(
            self.now <= now,
            "time must not go backwards: from {} to {now}",
            self.now
        );
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
            let TransferRecord {
                serial,
                link,
                ref mut phase,
                ..
            } = self.transfers[slot as usize];
            *phase = TransferPhase::Complete;
            self.complete
                .push((SimTime::from_nanos(due), link, TransferId { serial, slot }));
            self.leave(slot);
        }
    }
}

//! The reference for the solvers: the same model, with all rates recomputed at every event by progressive filling.
//!
//! Filling: all rates rise together from zero, each in proportion to its weight. When a link is full, or a transfer
//! reaches its cap, the affected transfers keep their rate and the others continue to rise (Bertsekas and Gallager,
//! *Data Networks*, 2nd edition, section 6.5.2). Filling costs O(links · transfers) per event. The methods have the
//! same meaning as in `Network`.

use crate::flow::instant::Instant;
use crate::flow::{Connection, LinkId, TransferId};
use fleetsim_units::{Bytes, BytesPerSec, SimTime};

#[derive(Clone, Debug)]
struct NaiveLink {
    parent: Option<usize>,
    capacity: f64,
}

#[derive(Clone, Debug)]
struct NaiveTransfer {
    id: TransferId,
    /// The last link of the given path.
    link: LinkId,
    path: Vec<usize>,
    cap: f64,
    weight: f64,
    size: f64,
    left: f64,
    rate: f64,
}

impl NaiveTransfer {
    /// Returns when the transfer ends at its current rate.
    fn due(&self, now: Instant) -> Option<Instant> {
        now.after(if self.left > 0.0 {
            self.left / self.rate * 1e9
        } else {
            0.0
        })
    }
}

/// Links and transfers, as in `Network`, computed in a slow and simple way.
#[derive(Clone, Debug, Default)]
pub(super) struct NaiveNetwork {
    now: Instant,
    links: Vec<NaiveLink>,
    transfers: Vec<NaiveTransfer>,
    started: u64,
    complete: Vec<(u64, LinkId, TransferId)>,
}

impl NaiveNetwork {
    /// Creates a network without links, at time zero.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// See `Network::add_link`.
    pub(super) fn add_link(&mut self, parent: Option<LinkId>, capacity: BytesPerSec) -> LinkId {
        self.links.push(NaiveLink {
            parent: parent.map(LinkId::index),
            capacity: capacity.get(),
        });
        LinkId(self.links.len() as u32 - 1)
    }

    /// See `Network::set_capacity`.
    pub(super) fn set_capacity(&mut self, now: SimTime, link: LinkId, capacity: BytesPerSec) {
        self.run_to(now);
        self.links[link.index()].capacity = capacity.get();
        self.fill();
    }

    /// See `Network::start`.
    pub(super) fn start(
        &mut self,
        now: SimTime,
        link: LinkId,
        size: Bytes,
        connection: Connection,
    ) -> TransferId {
        let path = std::iter::successors(Some(link.index()), |&at| self.links[at].parent).collect();
        self.start_on(now, link, path, size, connection)
    }

    /// See `Network::start_over`.
    ///
    /// # Panics
    /// If there are no links.
    pub(super) fn start_over(
        &mut self,
        now: SimTime,
        links: &[LinkId],
        size: Bytes,
        connection: Connection,
    ) -> TransferId {
        let &last = links.last().expect("a transfer runs over a link at least");
        let mut path: Vec<usize> = links.iter().map(|link| link.index()).collect();
        path.sort_unstable();
        path.dedup();
        self.start_on(now, last, path, size, connection)
    }

    fn start_on(
        &mut self,
        now: SimTime,
        link: LinkId,
        path: Vec<usize>,
        size: Bytes,
        connection: Connection,
    ) -> TransferId {
        self.run_to(now);
        let id = TransferId {
            serial: self.started,
            slot: 0,
        };
        self.started += 1;
        if size == Bytes::ZERO {
            self.complete.push((now.as_nanos(), link, id));
        } else {
            let size = size.get() as f64;
            let cap = connection.cap.map_or(f64::INFINITY, BytesPerSec::get);
            let weight = connection.weight.get();
            self.transfers.push(NaiveTransfer {
                id,
                link,
                path,
                cap,
                weight,
                size,
                left: size,
                rate: 0.0,
            });
            self.fill();
        }
        id
    }

    /// See `Network::cancel`.
    ///
    /// # Panics
    /// If the transfer was already reported or cancelled.
    pub(super) fn cancel(&mut self, now: SimTime, id: TransferId) -> Bytes {
        self.run_to(now);
        let at = self
            .transfers
            .iter()
            .position(|transfer| transfer.id == id)
            .expect("the transfer is in flight");
        let gone = self.transfers.remove(at);
        self.fill();
        Bytes::new((gone.size - gone.left).clamp(0.0, gone.size) as u64)
    }

    /// See `Network::next_completion`.
    pub(super) fn next_completion(&self) -> Option<SimTime> {
        let unreported = self.complete.iter().map(|&(time, ..)| time).min();
        unreported
            .or_else(|| self.next_due().map(Instant::tick))
            .map(SimTime::from_nanos)
    }

    /// See `Network::advance`.
    pub(super) fn advance(&mut self, now: SimTime, completed: &mut Vec<TransferId>) {
        self.run_to(now);
        self.complete.sort_unstable();
        completed.extend(self.complete.drain(..).map(|(_, _, id)| id));
    }

    /// See `Network::throughput`.
    pub(super) fn throughput(&self, link: LinkId) -> BytesPerSec {
        let through = self
            .transfers
            .iter()
            .filter(|transfer| transfer.path.contains(&link.index()));
        BytesPerSec::new(through.map(|transfer| transfer.rate).sum())
    }

    /// See `Network::rate`.
    pub(super) fn rate(&self, id: TransferId) -> BytesPerSec {
        let found = self.transfers.iter().find(|transfer| transfer.id == id);
        found.map_or(BytesPerSec::ZERO, |transfer| {
            BytesPerSec::new(transfer.rate)
        })
    }

    fn next_due(&self) -> Option<Instant> {
        let due = self
            .transfers
            .iter()
            .filter_map(|transfer| transfer.due(self.now));
        due.reduce(|one, other| if other < one { other } else { one })
    }

    fn run_to(&mut self, now: SimTime) {
        while let Some(due) = self.next_due().filter(|due| due.tick() <= now.as_nanos()) {
            let ends = |transfer: &NaiveTransfer| {
                transfer
                    .due(self.now)
                    .is_some_and(|own| due.coincides_with(own))
            };
            let (ended, others) = self.transfers.drain(..).partition(ends);
            let ended: Vec<NaiveTransfer> = ended;
            self.transfers = others;
            self.complete.extend(
                ended
                    .iter()
                    .map(|transfer| (due.tick(), transfer.link, transfer.id)),
            );
            self.pass(due);
            self.fill();
        }
        self.pass(self.now.moved_to(now.as_nanos()));
    }

    fn pass(&mut self, now: Instant) {
        let secs = now.nanos_since(self.now) * 1e-9;
        for transfer in &mut self.transfers {
            transfer.left -= transfer.rate * secs;
        }
        self.now = now;
    }

    /// Computes every rate.
    fn fill(&mut self) {
        let mut rising: Vec<usize> = (0..self.transfers.len()).collect();
        while !rising.is_empty() {
            // For each link: its remaining capacity for the transfers that still rise, and their weight.
            let mut shares: Vec<(f64, f64)> =
                self.links.iter().map(|link| (link.capacity, 0.0)).collect();
            for (at, transfer) in self.transfers.iter().enumerate() {
                for &link in &transfer.path {
                    if rising.contains(&at) {
                        shares[link].1 += transfer.weight;
                    } else {
                        shares[link].0 -= transfer.rate;
                    }
                }
            }
            let share = |link: usize| shares[link].0.max(0.0) / shares[link].1;
            let bound = |at: usize| {
                let transfer = &self.transfers[at];
                transfer
                    .path
                    .iter()
                    .map(|&link| share(link))
                    .fold(transfer.cap / transfer.weight, f64::min)
            };
            let level = rising
                .iter()
                .map(|&at| bound(at))
                .fold(f64::INFINITY, f64::min);
            let (stop, rise): (Vec<usize>, Vec<usize>) =
                rising.iter().partition(|&&at| bound(at) <= level);
            for at in stop {
                self.transfers[at].rate = level * self.transfers[at].weight;
            }
            rising = rise;
        }
    }
}

//! Checkers: whether a network's state is max-min fair, and whether bytes are conserved over a run.
//!
//! They know the definitions, not the algorithm, and look at nothing but the public interface. A check costs
//! O(transfers · links of each).

use super::Network;
use crate::units::{Bytes, SimTime};

/// What rates may differ by, relatively.
const TOLERANCE: f64 = 1e-9;

/// What is wrong with the present rates, each in a sentence; empty when they are the max-min fair ones.
///
/// Checked: no link carries more than it can; a link's throughput is the sum over its transfers; no transfer exceeds its
/// cap; and every transfer is at its cap or has a bottleneck, a full link on which no other has more (Bertsekas and
/// Gallager, *Data Networks*, 2nd edition, section 6.5.2: just then the rates are max-min fair).
#[must_use]
pub fn unfairness(network: &Network) -> Vec<String> {
    let mut faults = Vec::new();
    let mut sums = vec![0.0; network.links().count()];
    let mut largest = vec![0.0_f64; sums.len()];
    for transfer in network.transfers() {
        let rate = transfer.rate.get();
        for link in network.path(transfer.id) {
            sums[link.index()] += rate;
            largest[link.index()] = largest[link.index()].max(rate);
        }
        if let Some(cap) = transfer.cap.filter(|cap| rate > cap.get() * (1.0 + TOLERANCE)) {
            faults.push(format!("{:?} runs at {rate} B/s, above its cap of {} B/s", transfer.id, cap.get()));
        }
    }
    for link in network.links() {
        let (sum, capacity) = (sums[link.index()], network.capacity(link).get());
        if sum > capacity * (1.0 + TOLERANCE) {
            faults.push(format!("{link:?} carries {sum} B/s of {capacity} B/s"));
        }
        let throughput = network.throughput(link).get();
        if (throughput - sum).abs() > capacity * TOLERANCE {
            faults.push(format!("{link:?} has a throughput of {throughput} B/s, its transfers {sum} B/s"));
        }
    }
    for transfer in network.transfers() {
        let rate = transfer.rate.get();
        let at_cap = transfer.cap.is_some_and(|cap| rate >= cap.get() * (1.0 - TOLERANCE));
        let bottleneck = network.path(transfer.id).into_iter().any(|link| {
            sums[link.index()] >= network.capacity(link).get() * (1.0 - TOLERANCE)
                && rate >= largest[link.index()] * (1.0 - TOLERANCE)
        });
        if !at_cap && !bottleneck {
            faults.push(format!("{:?} could run faster than {rate} B/s", transfer.id));
        }
    }
    faults
}

/// Holds what was sent against what arrived: the integral of all rates over time on one side, the bytes of the transfers
/// on the other.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    since: SimTime,
    /// The sum of all rates since `since`, in bytes per second.
    rate: f64,
    sent: f64,
    received: f64,
    /// What rounding may explain: a change of rate is seen up to a nanosecond late, and a byte per cancellation.
    allowed: f64,
}

impl Ledger {
    /// An empty ledger at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes the rates that hold from `now` on. To be called after everything that changes them: the network must
    /// not have been moved past a completion in between.
    pub fn note(&mut self, now: SimTime, network: &Network) {
        self.sent += self.rate * now.since(self.since).as_secs_f64();
        self.since = now;
        let rate: f64 = network.transfers().map(|transfer| transfer.rate.get()).sum();
        self.allowed += (rate - self.rate).abs() * 1e-9;
        self.rate = rate;
    }

    /// Notes that a transfer of `size` is complete.
    pub fn completed(&mut self, size: Bytes) {
        self.received += size.get() as f64;
    }

    /// Notes that a transfer was cancelled, or is looked at in flight, with so much delivered.
    pub fn delivered(&mut self, bytes: Bytes) {
        self.received += bytes.get() as f64;
        self.allowed += 1.0;
    }

    /// The difference between what was sent and what was received, if rounding does not explain it.
    #[must_use]
    pub fn imbalance(&self) -> Option<f64> {
        let difference = self.sent - self.received;
        (difference.abs() > self.allowed + self.sent * TOLERANCE).then_some(difference)
    }
}

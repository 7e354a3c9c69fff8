//! Checkers: max-min fairness of a network's state, and conservation of bytes over a run.
//!
//! The checkers use the definitions, not the algorithm, and only the public interface. A check costs O(transfers ·
//! links per transfer).

use crate::flow::Network;
use fleetsim_units::{Bytes, SimTime};

/// Allowed relative difference of rates.
const TOLERANCE: f64 = 1e-9;

/// Returns violations of max-min fairness by the current rates, one sentence each; empty if the rates are fair.
///
/// Checked: no link exceeds its capacity; a link's throughput is the sum over its transfers; no transfer exceeds its
/// cap; and every transfer is at its cap or has a bottleneck: a full link on which no other transfer has a higher rate
/// per weight. This is equivalent to max-min fairness (Bertsekas and Gallager, *Data Networks*, 2nd edition, section
/// 6.5.2).
pub(super) fn unfairness(network: &Network) -> Vec<String> {
    let mut faults = Vec::new();
    let mut sums = vec![0.0; network.links().count()];
    let mut largest = vec![0.0_f64; sums.len()];
    for transfer in network.transfers() {
        let rate = transfer.rate.get();
        for link in network.path(transfer.id) {
            sums[link.index()] += rate;
            largest[link.index()] =
                largest[link.index()].max(rate / transfer.connection.weight.get());
        }
        if let Some(cap) = transfer
            .connection
            .cap
            .filter(|cap| rate > cap.get() * (1.0 + TOLERANCE))
        {
            faults.push(format!(
                "{:?} runs at {rate} B/s, above its cap of {} B/s",
                transfer.id,
                cap.get()
            ));
        }
    }
    for link in network.links() {
        let (sum, capacity) = (sums[link.index()], network.capacity(link).get());
        if sum > capacity * (1.0 + TOLERANCE) {
            faults.push(format!("{link:?} carries {sum} B/s of {capacity} B/s"));
        }
        let throughput = network.throughput(link).get();
        if (throughput - sum).abs() > capacity * TOLERANCE {
            faults.push(format!(
                "{link:?} has a throughput of {throughput} B/s, its transfers {sum} B/s"
            ));
        }
    }
    for transfer in network.transfers() {
        let rate = transfer.rate.get();
        let at_cap = transfer
            .connection
            .cap
            .is_some_and(|cap| rate >= cap.get() * (1.0 - TOLERANCE));
        let bottleneck = network.path(transfer.id).into_iter().any(|link| {
            sums[link.index()] >= network.capacity(link).get() * (1.0 - TOLERANCE)
                && rate / transfer.connection.weight.get()
                    >= largest[link.index()] * (1.0 - TOLERANCE)
        });
        if !at_cap && !bottleneck {
            faults.push(format!(
                "{:?} could run faster than {rate} B/s",
                transfer.id
            ));
        }
    }
    faults
}

/// Compares sent and received bytes: the integral of all rates over time against the bytes of the transfers.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    since: SimTime,
    /// The sum of all rates since `since`, in bytes per second.
    rate: f64,
    sent: f64,
    received: f64,
    /// Maximum difference due to rounding: a change of rate is recorded up to 1 ns late, and a cancellation rounds to
    /// a byte.
    allowed: f64,
}

impl Ledger {
    /// Creates an empty ledger at time zero.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Records the rates that apply after `now`. Must be called after every change of rates: the network must not be
    /// advanced past a completion in between.
    pub(super) fn note(&mut self, now: SimTime, network: &Network) {
        self.sent += self.rate * now.since(self.since).as_secs_f64();
        self.since = now;
        let rate: f64 = network
            .transfers()
            .map(|transfer| transfer.rate.get())
            .sum();
        self.allowed += (rate - self.rate).abs() * 1e-9;
        self.rate = rate;
    }

    /// Records that a transfer of `size` is complete.
    pub(super) fn completed(&mut self, size: Bytes) {
        self.received += size.get() as f64;
    }

    /// Records the delivered bytes of a transfer that was cancelled or is still in flight.
    pub(super) fn delivered(&mut self, bytes: Bytes) {
        self.received += bytes.get() as f64;
        self.allowed += 1.0;
    }

    /// Returns the difference between sent and received bytes. `None`: rounding explains it.
    pub(super) fn imbalance(&self) -> Option<f64> {
        let difference = self.sent - self.received;
        (difference.abs() > self.allowed + self.sent * TOLERANCE).then_some(difference)
    }
}

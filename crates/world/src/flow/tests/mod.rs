//! Tests of the solvers: cases computed by hand, known pitfalls, random networks against the reference, and cost.

mod check;
mod cost;
mod crossing;
mod crowds;
mod fleets;
mod hand;
mod inspect;
mod naive;
mod oracle;
mod traps;

use super::{Network, TransferId};
use fleetsim_units::{Bytes, BytesPerSec, SimTime};

fn rate(bytes_per_sec: f64) -> BytesPerSec {
    BytesPerSec::new(bytes_per_sec)
}

fn cap(bytes_per_sec: f64) -> Option<BytesPerSec> {
    Some(rate(bytes_per_sec))
}

fn bytes(bytes: u64) -> Bytes {
    Bytes::new(bytes)
}

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

fn nanos(nanos: u64) -> SimTime {
    SimTime::from_nanos(nanos)
}

/// Returns the rates of `ids` in bytes per second, rounded to six digits after the point.
fn rates(network: &Network, ids: &[TransferId]) -> Vec<f64> {
    assert_eq!(check::unfairness(network), Vec::<String>::new());
    ids.iter()
        .map(|&id| (network.rate(id).get() * 1e6).round() / 1e6)
        .collect()
}

/// Advances from completion to completion; returns the times and the completed transfers.
fn run(network: &mut Network) -> Vec<(SimTime, Vec<TransferId>)> {
    let mut steps = Vec::new();
    while let Some(next) = network.next_completion() {
        let mut completed = Vec::new();
        network.advance(next, &mut completed);
        assert!(
            !completed.is_empty(),
            "a completion was announced for {} ns",
            next.as_nanos()
        );
        steps.push((next, completed));
    }
    steps
}

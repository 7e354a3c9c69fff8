//! Transfers that share links max-min fair, without any cluster or registry.
//!
//! Two sites download 1 GB each from a server that sends 10 MB/s. The link of one site carries only 2 MB/s, so the
//! other site gets the remaining 8 MB/s.
//!
//! `cargo run --release --example shared_links`
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use fleetsim::flow::Network;
use fleetsim::units::{Bytes, BytesPerSec, SimTime};

pub(crate) fn main() {
    let mut network = Network::new();
    let server = network.add_link(None, BytesPerSec::new(10e6));
    let wide = network.add_link(Some(server), BytesPerSec::new(100e6));
    let narrow = network.add_link(Some(server), BytesPerSec::new(2e6));
    let sites = [wide, narrow]
        .map(|link| network.start(SimTime::default(), link, Bytes::new(1_000_000_000), None));
    let mut ends = Vec::new();
    while let Some(now) = network.next_completion() {
        let mut completed = Vec::new();
        network.advance(now, &mut completed);
        ends.extend(
            completed
                .into_iter()
                .map(|transfer| (transfer, now.as_secs_f64())),
        );
    }
    // 1 GB / 8 MB/s = 125 s, and 1 GB / 2 MB/s = 500 s.
    assert_eq!(ends, [(sites[0], 125.0), (sites[1], 500.0)]);
    for (transfer, at) in ends {
        println!("{transfer:?} is complete after {at} s");
    }
}

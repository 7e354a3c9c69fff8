//! Weights of connections to registries: on a full link, connections are not equal.
//!
//! Modelled: the weight of each connection, drawn once from a lognormal distribution with median 1. Evidence: our
//! laboratory measurements, in which the first, median and last of many simultaneous pulls differ although all sites
//! are equal (docs/validation.md).
//!
//! Left out: the causes (a connection that begins before the link is full keeps most of its rate), weights that change
//! during a transfer, and unequal connections to caches, mirrors and peers.

use crate::engine::{EntityKey, Streams, dist};
use crate::flow::{Connection, ShareWeight};
use crate::world::ids::NodeId;
use crate::world::registry::spec::TcpSpec;
use crate::world::transfers::Transfers;
use fleetsim_units::BytesPerSec;

impl Transfers {
    /// Draws the weight of a node's next connection to a registry with these settings. `key`: the node's key.
    pub(crate) fn connect(
        &mut self,
        node: NodeId,
        key: EntityKey,
        cap: Option<BytesPerSec>,
        tcp: &TcpSpec,
        streams: &Streams,
    ) -> Connection {
        let Some(sigma) = tcp.weight_spread else {
            return cap.into();
        };
        let nth = self.next_connection(node);
        let mut rng = streams.stream_nth(key, "connection weight", nth);
        Connection {
            cap,
            weight: ShareWeight::near(dist::lognormal(&mut rng, 1.0, sigma)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::world::testing::{bare_world, play};
    use fleetsim_units::{BytesPerSec, SimDuration};

    #[test]
    fn unequal_connections_end_one_by_one_but_no_later_than_equal_ones() {
        let mut world = bare_world(20);
        world.registry.egress = BytesPerSec::new(100e6);
        // The result is in microseconds.
        let ready = |spread, world: &mut crate::world::WorldSpec| {
            world.registry.tcp.weight_spread = spread;
            let ready = play(world, 1, SimDuration::from_hours(1)).ready_s();
            let ready = ready.into_iter().map(|at| at.expect("it became ready"));
            let mut ready: Vec<u64> = ready.map(|at| (at * 1e6).round() as u64).collect();
            ready.sort_unstable();
            ready
        };
        // 20 · 100 MB are sent over 100 MB/s.
        assert_eq!(ready(None, &mut world), [20_000_000; 20]);
        assert_eq!(ready(Some(0.0), &mut world), [20_000_000; 20]);
        let apart = ready(Some(0.5), &mut world);
        assert_eq!(apart[19], 20_000_000, "the link is full until the end");
        // The greatest of 20 weights is about exp(1.9 · 0.5) = 2.6 times the median: this connection needs 0.4 to 0.5
        // times as long.
        assert!((6_000_000..12_000_000).contains(&apart[0]), "{apart:?}");
        assert!(apart[10] < 19_000_000, "{apart:?}");
        // If each site's own link is the bottleneck, weights have no effect.
        world.registry.egress = BytesPerSec::new(1e12);
        assert_eq!(ready(Some(0.5), &mut world), [1_000_000; 20]);
    }
}

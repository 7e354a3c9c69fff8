//! The rate of one TCP connection, and its slow start.
//!
//! Two bounds apply to each connection: the receiver's window divided by the round trip; and with loss p the bound of
//! Mathis, Semke, Mahdavi and Ott (The macroscopic behavior of the TCP congestion avoidance algorithm, CCR 27(3),
//! 1997): MSS/RTT · sqrt(3/2)/sqrt(p), with sqrt(3/2) = 1.22.
//!
//! Slow start delays the full rate r of a transfer. With w bytes in the first round trip (ten segments, RFC 6928) and
//! twice as many in each later one, n = ceil(log2(r·RTT/w)) round trips pass before the bytes of a round trip reach
//! r·RTT. By then w·(2^n - 1) bytes have arrived, so the delay is n·RTT minus the time of those bytes at rate r (after
//! Cardwell, Savage and Anderson, Modeling TCP latency, INFOCOM 2000, without losses and delayed acknowledgements). A
//! smaller blob ends within its last round. r is the rate that the connection, the node's card and the cluster's
//! downlink allow; if other transfers limit the rate further, the limit is reached sooner, which is left out.

use crate::world::registry::spec::{RegistrySpec, TcpSpec};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

/// The square root of 3/2: the constant of Mathis et al. for periodic loss and an acknowledgement for every segment.
const MATHIS: f64 = 1.22;

/// Returns the time to open a connection to a host of a registry.
pub(crate) fn handshake(registry: &RegistrySpec, rtt: SimDuration) -> SimDuration {
    rtt * u64::from(registry.tcp.handshake_round_trips)
}

/// Returns a cap of at most `most` bytes per second.
fn tightened(cap: Option<BytesPerSec>, most: f64) -> Option<BytesPerSec> {
    match cap {
        Some(cap) if cap.get() <= most => Some(cap),
        _ => Some(BytesPerSec::new(most)),
    }
}

/// Returns the maximum rate of one connection between a registry and a cluster.
pub(crate) fn path_cap(
    registry: &RegistrySpec,
    rtt: SimDuration,
    loss: Share,
) -> Option<BytesPerSec> {
    let tcp = registry.tcp;
    let mut cap = registry.per_connection;
    if rtt.is_zero() {
        return cap;
    }
    if let Some(window) = tcp.window {
        cap = tightened(cap, window.get() as f64 / rtt.as_secs_f64());
    }
    if loss > Share::NONE {
        let per_round_trip = tcp.segment.get() as f64 * MATHIS / loss.get().sqrt();
        cap = tightened(cap, per_round_trip / rtt.as_secs_f64());
    }
    cap
}

/// Number of segments in the first round trip of a transfer. Source: RFC 6928.
const INITIAL_SEGMENTS: u32 = 10;

/// Returns the delay due to slow start of a transfer of `size` whose full rate is `rate` bytes per second.
pub(crate) fn slow_start_delay(
    tcp: TcpSpec,
    rtt: SimDuration,
    rate: f64,
    size: Bytes,
) -> SimDuration {
    if !tcp.slow_start {
        return SimDuration::ZERO;
    }
    let rtt = rtt.as_secs_f64();
    let first = f64::from(INITIAL_SEGMENTS) * tcp.segment.get() as f64;
    // Number of rounds until the window fills the path, or until all bytes have arrived.
    let to_rate = libm::log2(rate * rtt / first).ceil().max(0.0);
    let to_end = libm::log2(size.get() as f64 / first + 1.0).ceil();
    let rounds = to_rate.min(to_end);
    let come = (first * (libm::exp2(rounds) - 1.0)).min(size.get() as f64);
    SimDuration::from_secs_f64((rounds * rtt - come / rate).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::testing::{bare_world, fixed, play};

    #[test]
    fn an_older_tls_adds_a_round_trip_to_each_new_connection() {
        for (handshake_round_trips, ready) in [(1, 2.2), (2, 2.5), (3, 2.8)] {
            let mut world = bare_world(1);
            world.clusters[0].rtt = fixed(SimDuration::from_millis(100));
            world.registry.tcp.handshake_round_trips = handshake_round_trips;
            // Connections to API, token service and blob host; one round trip each for the token, for five requests to
            // the API (401, HEAD, index, manifest, config) and for the config's blob, and two for the layer: 9 in
            // total. Then 100 MB are sent at 100 MB/s.
            let found =
                play(&world, 1, SimDuration::from_hours(1)).ready_s()[0].expect("it became ready");
            assert!(
                (found - ready).abs() < 1e-6,
                "{handshake_round_trips} round trips: {found} s"
            );
        }
    }

    #[test]
    fn headers_use_a_share_of_every_link() {
        let mut world = bare_world(1);
        world.clusters[0].rtt = fixed(SimDuration::from_millis(100));
        world.registry.tcp.headers = Some(Share::new(0.2));
        // A run without headers takes 2.5 s. Here, 100 MB at 80 MB/s take 1.25 s instead of 1 s.
        let found =
            play(&world, 1, SimDuration::from_hours(1)).ready_s()[0].expect("it became ready");
        assert!((found - 2.75).abs() < 1e-6, "{found} s");
    }

    #[test]
    fn the_rate_of_a_connection_is_the_minimum_of_cap_window_and_loss() {
        let mut world = bare_world(1);
        let cap = |world: &crate::world::WorldSpec| {
            let rtt = SimDuration::from_millis(80);
            path_cap(&world.registry, rtt, world.clusters[0].loss).map(|cap| cap.get().round())
        };
        assert_eq!(cap(&world), None, "nothing bounds it by default");
        // The window limits the rate to 4 MiB / 80 ms = 52.4 MB/s.
        world.registry.tcp.window = Some(Bytes::new(4_194_304));
        assert_eq!(cap(&world), Some(52_428_800.0));
        // Loss limits the rate to 1460 B / 80 ms · 1.22 / sqrt(1%) = 222,650 B/s.
        world.clusters[0].loss = Share::new(0.01);
        assert_eq!(cap(&world), Some(222_650.0));
        world.registry.per_connection = Some(BytesPerSec::new(100_000.0));
        assert_eq!(cap(&world), Some(100_000.0));
    }

    #[test]
    fn slow_start_adds_its_round_trips_less_the_time_of_the_bytes_sent_meanwhile() {
        let tcp = TcpSpec {
            slow_start: true,
            ..TcpSpec::OFF
        };
        let rtt = SimDuration::from_millis(100);
        let delay = |size: u64| slow_start_delay(tcp, rtt, 10e6, Bytes::new(size)).as_secs_f64();
        // A round trip at full rate transfers 1 MB, the first one 14,600 B: ceil(log2(68.5)) = 7 rounds, in which 127
        // · 14,600 B arrive. At the full rate these would take 0.185 42 s.
        assert!((delay(100_000_000) - (0.7 - 0.185_42)).abs() < 1e-9);
        assert!(
            (delay(14_600) - (0.1 - 0.001_46)).abs() < 1e-9,
            "one round trip"
        );
        assert!(
            (delay(14_601) - (0.2 - 0.001_460_1)).abs() < 1e-9,
            "one byte more takes two"
        );
        let fast = slow_start_delay(tcp, SimDuration::ZERO, 10e6, Bytes::new(100_000_000));
        assert!(fast.is_zero(), "no round trip, no delay");
        assert!(
            slow_start_delay(TcpSpec::OFF, rtt, 10e6, Bytes::new(100_000_000)).is_zero(),
            "off"
        );
    }
}

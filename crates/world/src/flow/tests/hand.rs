//! Cases that are small enough to compute on paper; the algebra is next to each.

use super::*;
use crate::flow::{Connection, ShareWeight};

#[test]
fn one_transfer_on_one_link_takes_its_size_divided_by_the_capacity() {
    let mut network = Network::new();
    let link = network.add_link(None, BytesPerSec::from_gbit(10.0));
    let only = network.start(nanos(5), link, bytes(1 << 30), None);
    // 2^30 B / (10e9 / 8 B/s) = 0.858_993_459_2 s, up to the next ns, after a start at 5 ns.
    assert_eq!(run(&mut network), [(nanos(858_993_465), vec![only])]);
    assert_eq!(network.active, 0);
    assert_eq!(network.throughput(link), BytesPerSec::ZERO);
}

#[test]
fn equal_transfers_share_equally_and_speed_up_when_one_ends() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(90.0));
    let ids = [90, 180, 360].map(|size| network.start(SimTime::ZERO, link, bytes(size), None));
    assert_eq!(rates(&network, &ids), [30.0, 30.0, 30.0]);
    // At 30 B/s each, the first ends at 90/30 = 3 s. Then, at 45 B/s each, the second has 90 B left and ends at 3 +
    // 90/45 = 5 s. The third has 360 - 90 - 90 = 180 B left at 90 B/s and ends at 7 s.
    assert_eq!(
        run(&mut network),
        [
            (secs(3), vec![ids[0]]),
            (secs(5), vec![ids[1]]),
            (secs(7), vec![ids[2]])
        ]
    );
}

#[test]
fn a_transfer_at_its_cap_leaves_the_rest_to_the_others() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(100.0));
    let capped = network.start(SimTime::ZERO, link, bytes(100), cap(10.0));
    let free = network.start(SimTime::ZERO, link, bytes(450), None);
    let loose = network.start(SimTime::ZERO, link, bytes(450), cap(60.0));
    // λ = (100 - 10) / 2 = 45, below the cap of 60.
    assert_eq!(rates(&network, &[capped, free, loose]), [10.0, 45.0, 45.0]);
    assert!(network.is_saturated(link));
    assert_eq!(network.cancel(secs(2), free), bytes(90)); // 2 s · 45 B/s
    // Now both transfers are at their caps, and 30 B/s are unused.
    assert_eq!(rates(&network, &[capped, loose]), [10.0, 60.0]);
    assert_eq!(network.throughput(link), rate(70.0));
    assert!(!network.is_saturated(link));
    // loose: 450 - 90 = 360 left at 60 B/s: 2 + 6 = 8 s; capped: 100/10 = 10 s.
    assert_eq!(
        run(&mut network),
        [(secs(8), vec![loose]), (secs(10), vec![capped])]
    );
}

#[test]
fn every_link_of_a_path_can_be_the_bottleneck() {
    // egress 100 ─ region a 30 ─ x, y (links of 50)
    //            └ region b 90 ─ z (link of 20), w (link of 500), and v on the region itself
    let mut network = Network::new();
    let egress = network.add_link(None, rate(100.0));
    let a = network.add_link(Some(egress), rate(30.0));
    let b = network.add_link(Some(egress), rate(90.0));
    let [x, y] = [a, a].map(|region| network.add_link(Some(region), rate(50.0)));
    let z = network.add_link(Some(b), rate(20.0));
    let w = network.add_link(Some(b), rate(500.0));
    let ids = [x, y, z, w, b].map(|link| network.start(SimTime::ZERO, link, bytes(1000), None));
    // Filling: at 15 B/s region a is full (x, y); at 20 the link of z; at (100 - 30 - 20) / 2 = 25 the egress (w, v).
    assert_eq!(rates(&network, &ids), [15.0, 15.0, 20.0, 25.0, 25.0]);
    for (link, through, full) in [
        (egress, 100.0, true),
        (a, 30.0, true),
        (b, 70.0, false),
        (x, 15.0, false),
        (z, 20.0, true),
        (w, 25.0, false),
    ] {
        assert_eq!(network.throughput(link), rate(through), "{link:?}");
        assert_eq!(network.is_saturated(link), full, "{link:?}");
    }
}

#[test]
fn links_without_a_common_root_are_independent() {
    let mut network = Network::new();
    let [one, two] = [10.0, 20.0].map(|capacity| network.add_link(None, rate(capacity)));
    let ids = [one, two, two].map(|link| network.start(SimTime::ZERO, link, bytes(100), None));
    assert_eq!(rates(&network, &ids), [10.0, 10.0, 10.0]);
    assert_eq!(
        run(&mut network),
        [(secs(10), ids.to_vec())],
        "by link, then by id"
    );
}

#[test]
fn a_brownout_pauses_transfers_and_they_resume_afterwards() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(100.0));
    let down = network.add_link(Some(egress), rate(10.0));
    let one = network.start(SimTime::ZERO, down, bytes(100), None);
    let two = network.start(SimTime::ZERO, egress, bytes(900), cap(50.0));
    network.set_capacity(secs(4), egress, BytesPerSec::ZERO);
    assert_eq!(rates(&network, &[one, two]), [0.0, 0.0]);
    assert_eq!(network.next_completion(), None, "nothing moves");
    assert_eq!(network.throughput(egress), BytesPerSec::ZERO);
    network.set_capacity(secs(10), egress, rate(100.0));
    // one: 40 of 100 B are done by then, and 60 B are left at 10 B/s, until 16 s. two: 200 of 900 B are done, and 700
    // B are left at 50 B/s, until 24 s.
    assert_eq!(
        run(&mut network),
        [(secs(16), vec![one]), (secs(24), vec![two])]
    );
}

#[test]
fn reducing_one_link_gives_its_share_to_the_others() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(60.0));
    let downs = [0; 3].map(|_| network.add_link(Some(egress), rate(100.0)));
    let ids = downs.map(|down| network.start(SimTime::ZERO, down, bytes(600), None));
    assert_eq!(rates(&network, &ids), [20.0, 20.0, 20.0]);
    network.set_capacity(secs(1), downs[0], rate(4.0));
    assert_eq!(
        rates(&network, &ids),
        [4.0, 28.0, 28.0],
        "(60 - 4) / 2 = 28"
    );
    network.set_capacity(secs(2), downs[0], BytesPerSec::ZERO);
    assert_eq!(rates(&network, &ids), [0.0, 30.0, 30.0]);
    network.set_capacity(secs(3), downs[0], rate(21.0));
    assert_eq!(
        rates(&network, &ids),
        [20.0, 20.0, 20.0],
        "21 is above the fair share again"
    );
}

#[test]
fn a_transfer_of_0_bytes_is_complete_when_it_starts() {
    let mut network = Network::new();
    let link = network.add_link(None, BytesPerSec::ZERO);
    let empty = network.start(secs(7), link, Bytes::ZERO, None);
    assert_eq!(
        (network.active, network.next_completion()),
        (0, Some(secs(7)))
    );
    assert_eq!(run(&mut network), [(secs(7), vec![empty])]);
}

#[test]
fn a_transfer_with_a_cap_of_0_never_ends_and_uses_no_bandwidth() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(10.0));
    let stuck = network.start(SimTime::ZERO, link, bytes(1), cap(0.0));
    let free = network.start(SimTime::ZERO, link, bytes(10), None);
    assert_eq!(rates(&network, &[stuck, free]), [0.0, 10.0]);
    assert_eq!(run(&mut network), [(secs(1), vec![free])]);
    assert_eq!(network.cancel(secs(9), stuck), Bytes::ZERO);
    assert_eq!(network.active, 0);
}

#[test]
fn cancelling_returns_whole_bytes_and_never_more_than_the_size() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(3.0));
    let id = network.start(SimTime::ZERO, link, bytes(10), None);
    assert_eq!(
        network.cancel(nanos(1_500_000_000), id),
        bytes(4),
        "1.5 s · 3 B/s = 4.5 B, rounded down"
    );
    let id = network.start(secs(2), link, bytes(10), None);
    assert_eq!(
        network.cancel(secs(60), id),
        bytes(10),
        "it was complete at 5.33 s"
    );
    assert_eq!(
        network.next_completion(),
        None,
        "what was cancelled is not reported"
    );
}

#[test]
#[should_panic(expected = "already reported or cancelled")]
fn an_id_is_not_reused() {
    let mut network = Network::new();
    let link = network.add_link(None, rate(1.0));
    let first = network.start(SimTime::ZERO, link, bytes(1), None);
    network.cancel(SimTime::ZERO, first);
    let second = network.start(SimTime::ZERO, link, bytes(1), None);
    assert_ne!(first, second);
    let _ = network.rate(first);
}

#[test]
#[should_panic(expected = "time must not go backwards")]
fn going_back_in_time_panics() {
    let mut network = Network::new();
    network.advance(secs(2), &mut Vec::new());
    network.advance(secs(1), &mut Vec::new());
}

#[test]
fn connections_share_a_full_link_by_weight() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(100.0));
    let narrow = network.add_link(Some(egress), rate(10.0));
    let weighing = |weight: f64, most: Option<f64>| Connection {
        cap: most.map(rate),
        weight: ShareWeight::near(weight),
    };
    // One transfer is bounded by its own link, one by its cap, and two by the egress: 10 + 15 + 3 · 15 + 2 · 15 = 100.
    let starts = [
        (narrow, 8.0, None),
        (egress, 4.0, Some(15.0)),
        (egress, 3.0, None),
        (egress, 2.0, None),
    ];
    let ids = starts.map(|(link, weight, cap)| {
        network.start(SimTime::ZERO, link, bytes(90), weighing(weight, cap))
    });
    assert_eq!(rates(&network, &ids), [10.0, 15.0, 45.0, 30.0]);
    // The third ends at 2 s; then the last one has 30 + 45 B/s for its remaining 30 B.
    let ends: Vec<f64> = run(&mut network)
        .iter()
        .map(|(at, _)| at.as_secs_f64())
        .collect();
    assert_eq!(ends, [2.0, 2.4, 6.0, 9.0]);
}

#[test]
fn a_weight_is_the_nearest_number_of_sixteenths() {
    let sixteenths =
        [0.0, 0.01, 0.1, 1.0, 2.03, 1e9].map(|weight| ShareWeight::near(weight).steps());
    assert_eq!(sixteenths, [1, 1, 2, 16, 32, 1024 * 16]);
}

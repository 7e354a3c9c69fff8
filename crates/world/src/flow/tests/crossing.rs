//! Transfers over sets of links other than a link and its ancestors, computed by hand.

use super::*;
use crate::flow::LinkId;

fn links<const N: usize>(network: &mut Network, capacities: [f64; N]) -> [LinkId; N] {
    capacities.map(|capacity| network.add_link(None, rate(capacity)))
}

#[test]
fn on_a_parking_lot_the_long_transfer_gets_its_share_of_the_fullest_link() {
    // Three links in a row; one transfer over all of them, two only over the first, and one over each of the other
    // links.
    let mut network = Network::new();
    let row = links(&mut network, [30.0, 40.0, 100.0]);
    let long = network.start_over(secs(0), &row, bytes(100), None);
    let [a1, a2] = [0; 2].map(|_| network.start(secs(0), row[0], bytes(1000), None));
    let b = network.start(secs(0), row[1], bytes(300), None);
    let c = network.start_over(secs(0), &row[2..], bytes(900), cap(80.0));
    // 30 / 3 = 10 on the first; 40 - 10 = 30 on the second; 100 - 10 = 90 on the third, of which the cap allows 80.
    assert_eq!(
        rates(&network, &[long, a1, a2, b, c]),
        [10.0, 10.0, 10.0, 30.0, 80.0]
    );
    assert_eq!(
        row.map(|link| network.throughput(link)),
        [rate(30.0), rate(40.0), rate(90.0)]
    );
    assert_eq!(
        row.map(|link| network.is_saturated(link)),
        [true, true, false]
    );
    // The first two end at 10 s (100 / 10 and 300 / 30), in the order of their last links.
    let steps = run(&mut network);
    assert_eq!(steps[0], (secs(10), vec![b, long]));
    // c: 100 B left at 80 B/s, until 11.25 s. a1, a2: 900 B left at 15 B/s, until 70 s.
    assert_eq!(
        steps[1..],
        [(nanos(11_250_000_000), vec![c]), (secs(70), vec![a1, a2])]
    );
}

#[test]
fn two_sources_fill_one_downlink() {
    // Two registries, 100 and 20, and two clusters; x downloads layers from both, y only from the first.
    let mut network = Network::new();
    let [one, two, x, y] = links(&mut network, [100.0, 20.0, 60.0, 90.0]);
    let ids = [[one, x], [two, x], [one, y]]
        .map(|path| network.start_over(secs(0), &path, bytes(600), None));
    // x would give 30 each, but the second registry is full at 20: 60 - 20 = 40 from the first; y: 100 - 40 = 60.
    assert_eq!(rates(&network, &ids), [40.0, 20.0, 60.0]);
    // The second registry fails: x uses only the first, and x and y share it: 50 each.
    network.set_capacity(secs(3), two, BytesPerSec::ZERO);
    assert_eq!(rates(&network, &ids), [50.0, 0.0, 50.0]);
    assert_eq!(network.cancel(secs(5), ids[1]), bytes(60), "3 s at 20 B/s");
    // y had received 180 B at 3 s: 420 B are left at 50 B/s, until 11.4 s. By then x has 120 + 420 B from the first
    // registry, and 60 B left at 60 B/s, until 12.4 s.
    assert_eq!(
        run(&mut network),
        [
            (nanos(11_400_000_000), vec![ids[2]]),
            (nanos(12_400_000_000), vec![ids[0]])
        ]
    );
}

#[test]
fn in_a_ring_of_peers_each_card_is_shared_by_direction() {
    // Node i sends to node i + 1. Network cards carry 10 in each direction, except that node 0 sends at 4 at most.
    // Node 3 also sends to node 1.
    let mut network = Network::new();
    let out = links(&mut network, [4.0, 10.0, 10.0, 10.0]);
    let into = links(&mut network, [10.0; 4]);
    let ring: Vec<_> = (0..4)
        .map(|node| {
            network.start_over(
                secs(0),
                &[out[node], into[(node + 1) % 4]],
                bytes(100),
                None,
            )
        })
        .collect();
    let extra = network.start_over(secs(0), &[out[3], into[1]], bytes(25), None);
    // out 0 is full at 4; out 3 is full with 5 for each; into 1 carries 4 + 5; each other transfer has a card for
    // itself.
    assert_eq!(rates(&network, &ring), [4.0, 10.0, 10.0, 5.0]);
    assert_eq!(rates(&network, &[extra]), [5.0]);
    let expected = [
        (secs(5), vec![extra]), // 25 / 5
        // Node 3's first transfer has 75 B left at 10 B/s, until 12.5 s.
        (secs(10), vec![ring[1], ring[2]]),
        (nanos(12_500_000_000), vec![ring[3]]),
        (secs(25), vec![ring[0]]), // 100 / 4
    ];
    assert_eq!(run(&mut network), expected);
}

#[test]
fn a_link_that_occurs_twice_in_a_path_counts_once() {
    let mut network = Network::new();
    let [a, b] = links(&mut network, [10.0, 20.0]);
    let id = network.start_over(secs(0), &[b, a, b, a], bytes(30), None);
    assert_eq!(network.path(id), [b, a]);
    assert_eq!(rates(&network, &[id]), [10.0]);
    assert_eq!(run(&mut network), [(secs(3), vec![id])]);
}

#[test]
fn a_whole_path_is_equivalent_to_its_last_link() {
    let mut network = Network::new();
    let egress = network.add_link(None, rate(10.0));
    let down = network.add_link(Some(egress), rate(20.0));
    let whole = network.start_over(secs(0), &[egress, down], bytes(30), None);
    assert_eq!(
        network.path(whole),
        network.path(network.transfers().next().expect("one").id)
    );
    // Without its parent, the downlink is not a path of the forest.
    let part = network.start_over(secs(0), &[down], bytes(60), None);
    assert_eq!(
        (network.path(whole), network.path(part)),
        (vec![egress, down], vec![down])
    );
    assert_eq!(rates(&network, &[whole, part]), [10.0, 10.0]);
    // whole: 30 / 10 = 3 s; part: 30 B left at 20 B/s, until 4.5 s.
    assert_eq!(
        run(&mut network),
        [(secs(3), vec![whole]), (nanos(4_500_000_000), vec![part])]
    );
}

#[test]
fn switching_solvers_back_and_forth_changes_no_bytes() {
    // A tree of 60 downlinks that are always in use, and two of them that occasionally exchange data as peers.
    let mut network = Network::new();
    let egress = network.add_link(None, rate(1000.0));
    let downs: Vec<_> = (0..60)
        .map(|i| network.add_link(Some(egress), rate(10.0 + f64::from(i % 7))))
        .collect();
    let mut ledger = super::check::Ledger::new();
    // The transfers take about 100 s each, and all durations differ.
    let size = |at: u64| bytes(1000 + at * 7919 % 1000);
    let start = |network: &mut Network, now: SimTime, at: u64| {
        let id = match at {
            500 | 900 => network.start_over(now, &[downs[3], downs[50]], size(at), None),
            _ => network.start(
                now,
                downs[at as usize % 60],
                size(at),
                cap(5.0 + (at % 11) as f64),
            ),
        };
        assert_eq!(id.serial(), at);
    };
    (0..100).for_each(|at| start(&mut network, SimTime::ZERO, at));
    let (mut now, mut ended, mut solvers) = (SimTime::ZERO, 0, Vec::new());
    while ended < 1500 {
        assert_eq!(super::check::unfairness(&network), Vec::<String>::new());
        ledger.note(now, &network);
        if solvers.last() != Some(&network.solver) {
            solvers.push(network.solver);
        }
        now = network.next_completion().expect("all moves");
        let mut completed = Vec::new();
        network.advance(now, &mut completed);
        for id in completed {
            ledger.completed(size(id.serial()));
            ended += 1;
            if ended <= 1400 {
                start(&mut network, now, 99 + ended);
            }
        }
    }
    ledger.note(now, &network);
    assert_eq!((network.active, ledger.imbalance()), (0, None));
    use crate::flow::Solver::{Forest, Mesh};
    assert_eq!(
        solvers,
        [Forest, Mesh, Forest, Mesh, Forest],
        "there and back, once per exchange"
    );
}

//! The cost of an event, counted in visited nodes, so that it does not depend on the machine.

use super::*;
use crate::flow::LinkId;

/// Ends and replaces `events` transfers, one after the other, and returns the visits per event.
fn visits_per_event(network: &mut Network, links: &[LinkId], events: usize) -> f64 {
    let mut link_of = std::collections::BTreeMap::new();
    for (&link, size) in links.iter().zip(0..) {
        link_of.insert(network.start(SimTime::ZERO, link, bytes(1_000_000 + size * 37 % 1_000_000), None), link);
    }
    let before = network.visits();
    let (mut completed, mut done) = (Vec::new(), 0);
    while done < events {
        let now = network.next_completion().expect("transfers are in flight");
        network.advance(now, &mut completed);
        for id in completed.drain(..) {
            let link = link_of.remove(&id).expect("it was started");
            let id = network.start(now, link, bytes(1_000_000 + done as u64 * 7919 % 1_000_000), None);
            link_of.insert(id, link);
            done += 1;
        }
    }
    (network.visits() - before) as f64 / done as f64
}

#[test]
fn an_event_visits_as_many_nodes_with_10_000_transfers_as_with_100() {
    // (what, capacity of the egress for n transfers, capacity of link i)
    type Capacity = fn(f64) -> f64;
    let cases: [(&str, Capacity, Capacity); 4] = [
        ("the egress binds all", |_| 1e6, |_| 1e9),
        ("the links bind all", |n| n * 1e9, |_| 1e6),
        ("equal links, and the fair share hovers around them", |n| (n - 0.5) * 1e6, |_| 1e6),
        ("links of all sizes, half of them bound", |n| n * 1e6, |i| 1e5 * (1.0 + i * 7919.0 % 40.0)),
    ];
    for (what, egress, down) in cases {
        let [few, many] = [100_u32, 10_000].map(|n| {
            let mut network = Network::new();
            let egress = network.add_link(None, rate(egress(f64::from(n))));
            let links: Vec<_> = (0..n).map(|i| network.add_link(Some(egress), rate(down(f64::from(i))))).collect();
            visits_per_event(&mut network, &links, 5000)
        });
        assert!(many < 30.0 && many < 2.0 * few + 4.0, "{what}: {few} visits with 100, {many} with 10 000");
    }
}

#[test]
fn equal_links_with_a_common_cap_per_connection_are_rebalanced_as_one() {
    // The window of a rollout: k clusters with three connections each and the same cap, each below its own link; the
    // fair share crosses the cap whenever a cluster starts or ends.
    for k in [10_u32, 1000] {
        let mut network = Network::new();
        let egress = network.add_link(None, rate(3.0 * (f64::from(k) - 0.5) * 10.0));
        let clusters: Vec<_> = (0..k).map(|_| network.add_link(Some(egress), rate(1e6))).collect();
        let nodes: Vec<_> = clusters.iter().map(|&cluster| network.add_link(Some(cluster), rate(1e5))).collect();
        let mut ids: Vec<_> =
            nodes.iter().map(|&node| [0; 3].map(|_| network.start(secs(0), node, bytes(1 << 40), cap(10.0)))).collect();
        let before = network.visits();
        for round in 0..100 {
            let at = round * 7 % nodes.len();
            for id in ids[at] {
                network.cancel(secs(round as u64), id);
            }
            assert_eq!(network.rate(ids[(at + 1) % nodes.len()][0]), rate(10.0));
            ids[at] = [0; 3].map(|_| network.start(secs(round as u64), nodes[at], bytes(1 << 40), cap(10.0)));
            assert!(network.rate(ids[at][0]) < rate(10.0));
        }
        let visits = (network.visits() - before) as f64 / 600.0;
        assert!(visits < 40.0, "{visits} visits per event with {k} clusters");
    }
}

#[test]
fn the_general_solver_visits_only_the_component_of_an_event_and_only_once() {
    // Ten pairs of links, thirty transfers over each pair.
    let mut network = Network::new();
    let pairs: Vec<_> = (0..10).map(|_| [0; 2].map(|_| network.add_link(None, rate(1e6)))).collect();
    let mut sizes = (0_u64..).map(|at| bytes(1_000_000 + at * 7919 % 1_000_000));
    let mut pair_of = std::collections::BTreeMap::new();
    for at in 0..300 {
        let pair = pairs[at % 10];
        pair_of.insert(network.start_over(secs(0), &pair, sizes.next().expect("endless"), None), pair);
    }
    assert!(network.next_completion().is_some());
    // All starts at one instant are solved together: 300 transfers and 20 links.
    assert_eq!(network.visits(), 320);
    let mut completed = Vec::new();
    for event in 1..=50 {
        let now = network.next_completion().expect("all moves");
        network.advance(now, &mut completed);
        assert_eq!(completed.len(), 1);
        let pair = pair_of.remove(&completed.pop().expect("one")).expect("it was started");
        pair_of.insert(network.start_over(now, &pair, sizes.next().expect("endless"), None), pair);
        assert!(network.next_completion().is_some());
        // An end and an immediately following start are solved together: 30 transfers and 2 links.
        assert_eq!(network.visits(), 320 + 32 * event);
    }
}

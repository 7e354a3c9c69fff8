//! The cost of an event, measured in visited nodes so that it does not depend on the machine.

use super::*;
use crate::flow::LinkId;

/// Ends and replaces `events` transfers, one after the other, and returns the visits per event.
fn visits_per_event(network: &mut Network, links: &[LinkId], events: usize) -> f64 {
    let mut link_of = std::collections::BTreeMap::new();
    for (&link, size) in links.iter().zip(0..) {
        link_of.insert(
            network.start(
                SimTime::ZERO,
                link,
                bytes(1_000_000 + size * 37 % 1_000_000),
                None,
            ),
            link,
        );
    }
    let before = network.visits();
    let (mut completed, mut done) = (Vec::new(), 0);
    while done < events {
        let now = network.next_completion().expect("transfers are in flight");
        network.advance(now, &mut completed);
        for id in completed.drain(..) {
            let link = link_of.remove(&id).expect("it was started");
            let id = network.start(
                now,
                link,
                bytes(1_000_000 + done as u64 * 7919 % 1_000_000),
                None,
            );
            link_of.insert(id, link);
            done += 1;
        }
    }
    (network.visits() - before) as f64 / done as f64
}

#[test]
fn an_event_visits_the_same_number_of_nodes_with_10_000_and_100_transfers() {
    // description, capacity of the egress for n transfers, capacity of link i
    type Capacity = fn(f64) -> f64;
    let cases: [(&str, Capacity, Capacity); 4] = [
        ("the egress binds all", |_| 1e6, |_| 1e9),
        ("the links bind all", |n| n * 1e9, |_| 1e6),
        (
            "equal links, and the fair share hovers around them",
            |n| (n - 0.5) * 1e6,
            |_| 1e6,
        ),
        (
            "links of all sizes, half of them bound",
            |n| n * 1e6,
            |i| 1e5 * (1.0 + i * 7919.0 % 40.0),
        ),
    ];
    for (what, egress, down) in cases {
        let [few, many] = [100_u32, 10_000].map(|n| {
            let mut network = Network::new();
            let egress = network.add_link(None, rate(egress(f64::from(n))));
            let links: Vec<_> = (0..n)
                .map(|i| network.add_link(Some(egress), rate(down(f64::from(i)))))
                .collect();
            visits_per_event(&mut network, &links, 5000)
        });
        assert!(
            many < 30.0 && many < 2.0 * few + 4.0,
            "{what}: {few} visits with 100, {many} with 10 000"
        );
    }
}

#[test]
fn equal_links_with_equal_caps_per_connection_are_rebalanced_together() {
    // A rollout with k concurrent clusters, each with three connections and the same cap, below its own link; the fair
    // share crosses the cap whenever a cluster starts or ends.
    for k in [10_u32, 1000] {
        let mut network = Network::new();
        let egress = network.add_link(None, rate(3.0 * (f64::from(k) - 0.5) * 10.0));
        let clusters: Vec<_> = (0..k)
            .map(|_| network.add_link(Some(egress), rate(1e6)))
            .collect();
        let nodes: Vec<_> = clusters
            .iter()
            .map(|&cluster| network.add_link(Some(cluster), rate(1e5)))
            .collect();
        let mut ids: Vec<_> = nodes
            .iter()
            .map(|&node| [0; 3].map(|_| network.start(secs(0), node, bytes(1 << 40), cap(10.0))))
            .collect();
        let before = network.visits();
        for round in 0..100 {
            let at = round * 7 % nodes.len();
            for id in ids[at] {
                network.cancel(secs(round as u64), id);
            }
            assert_eq!(network.rate(ids[(at + 1) % nodes.len()][0]), rate(10.0));
            ids[at] = [0; 3]
                .map(|_| network.start(secs(round as u64), nodes[at], bytes(1 << 40), cap(10.0)));
            assert!(network.rate(ids[at][0]) < rate(10.0));
        }
        let visits = (network.visits() - before) as f64 / 600.0;
        assert!(visits < 40.0, "{visits} visits per event with {k} clusters");
    }
}

#[test]
fn replacing_a_transfer_needs_no_work_by_the_general_solver() {
    // Ten pairs of links, with a bundle of thirty transfers over each pair.
    let mut network = Network::new();
    let pairs: Vec<_> = (0..10)
        .map(|_| [0; 2].map(|_| network.add_link(None, rate(1e6))))
        .collect();
    let mut sizes = (0_u64..).map(|at| bytes(1_000_000 + at * 7919 % 1_000_000));
    let mut pair_of = std::collections::BTreeMap::new();
    for at in 0..300 {
        let pair = pairs[at % 10];
        pair_of.insert(
            network.start_over(secs(0), &pair, sizes.next().expect("endless"), None),
            pair,
        );
    }
    assert!(network.next_completion().is_some());
    // All starts at one instant are solved together, so each of the 20 links is visited at most twice: when it is
    // queued, and when it is full.
    let visits = network.visits();
    assert!(visits <= 40, "{visits} visits");
    let mut completed = Vec::new();
    for _ in 1..=50 {
        let now = network.next_completion().expect("all moves");
        network.advance(now, &mut completed);
        assert_eq!(completed.len(), 1);
        let pair = pair_of
            .remove(&completed.pop().expect("one"))
            .expect("it was started");
        pair_of.insert(
            network.start_over(now, &pair, sizes.next().expect("endless"), None),
            pair,
        );
        assert!(network.next_completion().is_some());
        assert_eq!(
            network.visits(),
            visits,
            "a bundle has as many transfers as before"
        );
    }
    // If the transfer is not replaced, only its pair of links is visited.
    let now = network.next_completion().expect("all moves");
    network.advance(now, &mut completed);
    assert!(network.next_completion().is_some());
    let more = network.visits() - visits;
    assert!((1..=6).contains(&more), "{more} visits");
}

/// Keeps one transfer in flight to each of `n` receivers, over a path that `path` draws for each transfer, and returns
/// the visits per transfer.
fn visits_of_general_solver(
    network: &mut Network,
    n: usize,
    path: impl Fn(usize, u64) -> Vec<LinkId>,
) -> f64 {
    let size = |receiver: usize, nth: u64| {
        bytes(1_000_000 + (nth * 7919 + receiver as u64 * 104_729) % 1_000_000)
    };
    let mut receiver_of = std::collections::BTreeMap::new();
    for receiver in 0..n {
        let id = network.start_over(SimTime::ZERO, &path(receiver, 0), size(receiver, 0), None);
        receiver_of.insert(id, receiver);
    }
    assert!(network.next_completion().is_some());
    let (before, mut completed, mut done) = (network.visits(), Vec::new(), 0);
    while done < 3000 {
        let now = network.next_completion().expect("transfers are in flight");
        network.advance(now, &mut completed);
        for id in completed.drain(..) {
            done += 1;
            let receiver = receiver_of.remove(&id).expect("it was started");
            let id = network.start_over(now, &path(receiver, done), size(receiver, done), None);
            receiver_of.insert(id, receiver);
        }
    }
    (network.visits() - before) as f64 / done as f64
}

#[test]
fn two_registries_and_a_swarm_need_as_many_visits_with_3_000_receivers_as_with_100() {
    let links = |network: &mut Network, n: usize, capacity: &dyn Fn(usize) -> f64| -> Vec<LinkId> {
        (0..n)
            .map(|at| network.add_link(None, rate(capacity(at))))
            .collect()
    };
    let of_all_sizes = |at: usize| 1e5 * (1.0 + (at * 7919 % 40) as f64);
    let [registries, swarm] = [0, 1].map(|case| {
        [100, 3000].map(|n| {
            let mut network = Network::new();
            let near = links(&mut network, n, &of_all_sizes);
            if case == 0 {
                // Both egresses bind some clusters; the other clusters are bound by their downlinks.
                let far = links(&mut network, 2, &|at| n as f64 * [3e5, 6e5][at]);
                visits_of_general_solver(&mut network, n, |at, nth| {
                    vec![far[(at as u64 + nth) as usize % 2], near[at]]
                })
            } else {
                let out = links(&mut network, n, &of_all_sizes);
                let peer = |at: usize, nth: u64| (at * 31 + nth as usize * 17) % n;
                visits_of_general_solver(&mut network, n, |at, nth| {
                    vec![out[peer(at, nth)], near[at]]
                })
            }
        })
    });
    for (what, [few, many]) in [("registries", registries), ("swarm", swarm)] {
        assert!(
            many < 60.0 && many < 2.0 * few + 4.0,
            "{what}: {few} visits with 100, {many} with 3,000"
        );
    }
}

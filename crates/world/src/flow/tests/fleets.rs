//! Random fleets: two registries, mirrors of regions and swarms inside clusters, compared with progressive filling.
//!
//! Every transfer has a path as in `world/`: from a registry over its egress, a region, a downlink and a network card;
//! from a mirror over its egress, a downlink and a card; or from the network card of one node of a cluster to that of
//! another. Links fail, recover and change, connections have caps, and pulls are cancelled.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::naive::NaiveNetwork;
use super::oracle::{
    Route, Script, ScriptStep, amount, capacity, differences, leftovers, run_script, size, wait,
    weights,
};
use super::*;

/// Numbers of links by kind.
#[derive(Clone, Debug)]
struct Fleet {
    regions: usize,
    /// The region of each cluster, and its number of nodes.
    clusters: Vec<(usize, usize)>,
}

const REGISTRIES: usize = 2;

impl Fleet {
    fn mirror(&self, region: usize) -> usize {
        REGISTRIES + self.regions + region
    }

    fn downlink(&self, cluster: usize) -> usize {
        REGISTRIES + 2 * self.regions + cluster
    }

    /// Returns the incoming link of a node; the next link is the node's outgoing link.
    fn card(&self, cluster: usize, node: usize) -> usize {
        let before: usize = self.clusters[..cluster]
            .iter()
            .map(|&(_, nodes)| nodes)
            .sum();
        REGISTRIES + 2 * self.regions + self.clusters.len() + 2 * (before + node)
    }

    /// Returns the parent of each link: the links are a tree, as in `world/`, and the first registry is its root.
    fn parents(&self) -> Vec<Option<usize>> {
        let mut parents = vec![None; REGISTRIES];
        parents.extend((0..self.regions).map(|_| Some(0)));
        parents.extend((0..self.regions).map(|_| None));
        parents.extend(
            self.clusters
                .iter()
                .map(|&(region, _)| Some(REGISTRIES + region)),
        );
        for (cluster, &(_, nodes)) in self.clusters.iter().enumerate() {
            parents.extend((0..nodes).flat_map(|_| [Some(self.downlink(cluster)), None]));
        }
        parents
    }

    /// Returns a path to a node: from a registry, from the mirror of the node's region, or from another node of its
    /// cluster.
    fn route(&self, sender: usize, cluster: usize, node: usize, peer: usize) -> Route {
        let cluster = cluster % self.clusters.len();
        let (region, nodes) = self.clusters[cluster];
        let card = self.card(cluster, node % nodes);
        match sender {
            0 => Route::Down(card),
            1 => Route::Over(vec![1, REGISTRIES + region, self.downlink(cluster), card]),
            2 => Route::Over(vec![self.mirror(region), self.downlink(cluster), card]),
            _ => Route::Over(vec![self.card(cluster, peer % nodes) + 1, card]),
        }
    }
}

fn fleet() -> impl Strategy<Value = Fleet> {
    (1usize..3).prop_flat_map(|regions| {
        prop::collection::vec((0..regions, 1usize..4), 1..6)
            .prop_map(move |clusters| Fleet { regions, clusters })
    })
}

fn script() -> impl Strategy<Value = Script> {
    fleet().prop_flat_map(|fleet| {
        let parents = fleet.parents();
        let links = parents.len();
        let capacities = prop::collection::vec(capacity(), links);
        let layers = prop::collection::vec(size(), 1..5);
        let ends = (0usize..4, 0usize..8, 0usize..4, 0usize..4);
        let pull = (ends, layers, 1usize..4, prop::option::of(amount()), weights());
        let pull = pull.prop_map(move |((sender, cluster, node, peer), layers, parallel, cap, weights)| {
            let route = fleet.route(sender, cluster, node, peer);
            ScriptStep::Pull { route, layers, parallel, cap, weights }
        });
        let step = prop_oneof![
            8 => pull,
            1 => (0usize..20).prop_map(|pull| ScriptStep::GiveUp { pull }),
            2 => (0..links, capacity()).prop_map(|(link, capacity)| ScriptStep::SetCapacity { link, capacity }),
            // An egress fails or recovers.
            1 => (0..REGISTRIES, capacity()).prop_map(|(link, capacity)| ScriptStep::SetCapacity { link, capacity }),
        ];
        let steps = prop::collection::vec((wait(), step), 1..24);
        (Just(parents), capacities, steps).prop_map(|(parents, capacities, steps)| Script {
            links: parents.into_iter().zip(capacities).collect(),
            steps,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn fleets_with_two_registries_mirrors_and_swarms_agree_with_progressive_filling(
        script in script(),
        hubs_above in prop::sample::select(vec![0, 1, 2, 3, 5, 24]),
    ) {
        let fast = run_script(Network::with_hubs_above(hubs_above), &script);
        let slow = run_script(NaiveNetwork::new(), &script);
        prop_assert_eq!(differences(&fast, &slow), Vec::<String>::new());
        prop_assert_eq!(leftovers(&fast), Vec::<String>::new());
    }
}

//! Random networks and random scripts: the solvers compared with progressive filling and with each other.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::check::{Ledger, unfairness};
use super::naive::NaiveNetwork;
use super::*;
use crate::flow::{Connection, LinkId, ShareWeight, TransferId};

/// The interface that all solvers share.
pub(super) trait NetworkUnderTest {
    fn add_link(&mut self, parent: Option<LinkId>, capacity: BytesPerSec) -> LinkId;
    fn set_capacity(&mut self, now: SimTime, link: LinkId, capacity: BytesPerSec);
    fn start(
        &mut self,
        now: SimTime,
        link: LinkId,
        size: Bytes,
        connection: Connection,
    ) -> TransferId;
    fn start_over(
        &mut self,
        now: SimTime,
        links: &[LinkId],
        size: Bytes,
        connection: Connection,
    ) -> TransferId;
    fn cancel(&mut self, now: SimTime, id: TransferId) -> Bytes;
    fn next_completion(&self) -> Option<SimTime>;
    fn advance(&mut self, now: SimTime, completed: &mut Vec<TransferId>);
    fn rate(&self, id: TransferId) -> BytesPerSec;
    fn throughput(&self, link: LinkId) -> BytesPerSec;
    /// Called after every change of rates.
    fn check(&self, _now: SimTime, _ledger: &mut Ledger) {}
}

macro_rules! forward {
    ($network:ty { $($check:item)? }) => {
        impl NetworkUnderTest for $network {
            fn add_link(&mut self, parent: Option<LinkId>, capacity: BytesPerSec) -> LinkId {
                self.add_link(parent, capacity)
            }
            fn set_capacity(&mut self, now: SimTime, link: LinkId, capacity: BytesPerSec) {
                self.set_capacity(now, link, capacity);
            }
            fn start(&mut self, now: SimTime, link: LinkId, size: Bytes, connection: Connection) -> TransferId {
                self.start(now, link, size, connection)
            }
            fn start_over(
                &mut self,
                now: SimTime,
                links: &[LinkId],
                size: Bytes,
                connection: Connection,
            ) -> TransferId {
                self.start_over(now, links, size, connection)
            }
            fn cancel(&mut self, now: SimTime, id: TransferId) -> Bytes {
                self.cancel(now, id)
            }
            fn next_completion(&self) -> Option<SimTime> {
                self.next_completion()
            }
            fn advance(&mut self, now: SimTime, completed: &mut Vec<TransferId>) {
                self.advance(now, completed);
            }
            fn rate(&self, id: TransferId) -> BytesPerSec {
                self.rate(id)
            }
            fn throughput(&self, link: LinkId) -> BytesPerSec {
                self.throughput(link)
            }
            $($check)?
        }
    };
}

forward!(NaiveNetwork {});
forward!(Network {
    fn check(&self, now: SimTime, ledger: &mut Ledger) {
        assert_eq!(unfairness(self), Vec::<String>::new(), "at {} ns", now.as_nanos());
        ledger.note(now, self);
    }
});

#[derive(Clone, Debug)]
pub(super) enum Route {
    /// Over a link and its ancestors.
    Down(usize),
    /// Over exactly these links.
    Over(Vec<usize>),
}

#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    /// Downloads layers of these sizes on one route, `parallel` at a time; each starts when an earlier one ends.
    /// Consecutive connections have these weights, cyclically.
    Pull {
        route: Route,
        layers: Vec<u64>,
        parallel: usize,
        cap: Option<f64>,
        weights: Vec<f64>,
    },
    /// Cancels all transfers in flight of an earlier pull.
    GiveUp {
        pull: usize,
    },
    SetCapacity {
        link: usize,
        capacity: f64,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The parent of each link (always an earlier link) and its capacity.
    pub(super) links: Vec<(Option<usize>, f64)>,
    /// The steps, with the wait before each.
    pub(super) steps: Vec<(u64, ScriptStep)>,
}

/// The outcome of one layer of one pull.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LayerEnd {
    Complete { at: f64 },
    GivenUp { delivered: f64 },
}

type Layer = (usize, usize);

/// The connections of a pull, the sizes of its layers, and the next layer to start.
struct PullProgress {
    route: Route,
    sizes: Vec<u64>,
    cap: Option<f64>,
    weights: Vec<f64>,
    next: usize,
}

pub(super) struct ScriptRun<S> {
    solver: S,
    ledger: Ledger,
    /// Layers in flight.
    layer_of: BTreeMap<TransferId, Layer>,
    links: Vec<LinkId>,
    pulls: Vec<PullProgress>,
    ends: BTreeMap<Layer, LayerEnd>,
    /// Rates and throughputs, recorded after each step.
    samples: Vec<f64>,
}

impl<S: NetworkUnderTest> ScriptRun<S> {
    fn begin_next_layer(&mut self, now: SimTime, pull: usize) {
        let PullProgress {
            route,
            sizes,
            cap,
            weights,
            next,
        } = &mut self.pulls[pull];
        if let Some(&size) = sizes.get(*next) {
            let size = bytes(size);
            let weight = weights
                .get(*next % weights.len().max(1))
                .map_or(ShareWeight::ONE, |&weight| ShareWeight::near(weight));
            let connection = Connection {
                cap: cap.map(rate),
                weight,
            };
            let id = match route {
                Route::Down(link) => self.solver.start(now, self.links[*link], size, connection),
                Route::Over(links) => {
                    let links: Vec<LinkId> = links.iter().map(|&link| self.links[link]).collect();
                    self.solver.start_over(now, &links, size, connection)
                }
            };
            self.layer_of.insert(id, (pull, *next));
            *next += 1;
            self.solver.check(now, &mut self.ledger);
        }
    }

    /// Runs from completion to completion until `until`; each completed layer starts the next one.
    fn run_until(&mut self, until: SimTime) {
        let mut completed = Vec::new();
        while let Some(now) = self.solver.next_completion().filter(|&next| next <= until) {
            self.solver.advance(now, &mut completed);
            assert!(
                !completed.is_empty(),
                "a completion was announced for {} ns",
                now.as_nanos()
            );
            for id in &completed {
                let layer = self.layer_of[id];
                self.ledger
                    .completed(bytes(self.pulls[layer.0].sizes[layer.1]));
                self.ends.insert(
                    layer,
                    LayerEnd::Complete {
                        at: now.as_nanos() as f64,
                    },
                );
            }
            self.solver.check(now, &mut self.ledger);
            for id in completed.drain(..) {
                let (pull, _) = self.layer_of.remove(&id).expect("it was in flight");
                self.begin_next_layer(now, pull);
            }
        }
    }

    fn step(&mut self, now: SimTime, step: &ScriptStep) {
        match step {
            ScriptStep::Pull {
                route,
                layers,
                parallel,
                cap,
                weights,
            } => {
                let (route, sizes, weights) = (route.clone(), layers.clone(), weights.clone());
                self.pulls.push(PullProgress {
                    route,
                    sizes,
                    cap: *cap,
                    weights,
                    next: 0,
                });
                for _ in 0..*parallel {
                    self.begin_next_layer(now, self.pulls.len() - 1);
                }
            }
            ScriptStep::GiveUp { pull } => {
                let Some(pull) = self
                    .pulls
                    .len()
                    .checked_sub(1)
                    .map(|last| pull % (last + 1))
                else {
                    return;
                };
                let ids: Vec<_> = self
                    .layer_of
                    .iter()
                    .filter(|(_, layer)| layer.0 == pull)
                    .map(|(&id, &layer)| (layer, id))
                    .collect();
                for (layer, id) in ids {
                    let delivered = self.solver.cancel(now, id);
                    self.ledger.delivered(delivered);
                    self.solver.check(now, &mut self.ledger);
                    self.layer_of.remove(&id);
                    self.ends.insert(
                        layer,
                        LayerEnd::GivenUp {
                            delivered: delivered.get() as f64,
                        },
                    );
                }
            }
            ScriptStep::SetCapacity { link, capacity } => {
                self.solver
                    .set_capacity(now, self.links[*link], rate(*capacity));
                self.solver.check(now, &mut self.ledger);
            }
        }
    }
}

pub(super) fn run_script<S: NetworkUnderTest>(solver: S, script: &Script) -> ScriptRun<S> {
    let mut run = ScriptRun {
        solver,
        ledger: Ledger::new(),
        layer_of: BTreeMap::new(),
        links: Vec::new(),
        pulls: Vec::new(),
        ends: BTreeMap::new(),
        samples: Vec::new(),
    };
    for &(above, capacity) in &script.links {
        let link = run
            .solver
            .add_link(above.map(|above| run.links[above]), rate(capacity));
        run.links.push(link);
    }
    let mut now = SimTime::ZERO;
    for (wait, step) in &script.steps {
        now = now + fleetsim_units::SimDuration::from_nanos(*wait);
        run.run_until(now);
        // Completions up to `now` were handled one at a time; this only advances to `now`.
        run.solver.advance(now, &mut Vec::new());
        run.step(now, step);
        let by_layer: BTreeMap<Layer, TransferId> = run
            .layer_of
            .iter()
            .map(|(&id, &layer)| (layer, id))
            .collect();
        run.samples
            .extend(by_layer.values().map(|&id| run.solver.rate(id).get()));
        run.samples.extend(
            run.links
                .iter()
                .map(|&link| run.solver.throughput(link).get()),
        );
    }
    run.run_until(SimTime::MAX);
    run
}

/// Generates one of a few values, so that levels often tie, or any value.
pub(super) fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![4 => prop::sample::select(vec![5.0, 10.0, 20.0, 25.0, 50.0, 100.0]), 3 => 1.0..300.0f64]
}

pub(super) fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 9 => amount(), 1 => Just(1e12)]
}

pub(super) fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => prop::sample::select(vec![0, 100, 100, 200, 400]), 4 => 1u64..1000]
}

/// The share of pulls that use an arbitrary set of links.
#[derive(Clone, Copy, Debug)]
enum Crossing {
    Never,
    Sometimes,
    Often,
}

fn route(links: usize, crossing: Crossing) -> impl Strategy<Value = Route> {
    let (down, over) = match crossing {
        Crossing::Never => (1, 0),
        Crossing::Sometimes => (9, 1),
        Crossing::Often => (1, 2),
    };
    prop_oneof![
        down => (0..links).prop_map(Route::Down),
        over => prop::collection::vec(0..links, 1..6).prop_map(Route::Over),
    ]
}

/// Generates weights that are all equal, or that vary: one of a few values, so that levels often tie, or any value.
pub(super) fn weights() -> impl Strategy<Value = Vec<f64>> {
    let weight =
        prop_oneof![3 => prop::sample::select(vec![0.5, 1.0, 2.0, 4.0]), 2 => 0.01..20.0f64];
    prop_oneof![2 => Just(Vec::new()), 3 => prop::collection::vec(weight, 1..4)]
}

fn step(links: usize, crossing: Crossing) -> impl Strategy<Value = ScriptStep> {
    let layers = prop::collection::vec(size(), 1..6);
    prop_oneof![
        6 => (route(links, crossing), layers, 1usize..4, prop::option::of(amount()), weights())
            .prop_map(|(route, layers, parallel, cap, weights)| {
                ScriptStep::Pull { route, layers, parallel, cap, weights }
            }),
        1 => (0usize..20).prop_map(|pull| ScriptStep::GiveUp { pull }),
        2 => (0..links, capacity()).prop_map(|(link, capacity)| ScriptStep::SetCapacity { link, capacity }),
    ]
}

/// Generates waits that are zero, or such that no step coincides with a completion: otherwise rounding would decide
/// which comes first.
pub(super) fn wait() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 3 => (1u64..10_000).prop_map(|ms| ms * 1_000_123 + 457)]
}

fn script(crossing: Crossing) -> impl Strategy<Value = Script> {
    // Nearby parents give deep forests, and distant parents wide ones.
    let link = (
        prop::option::weighted(0.85, (any::<prop::sample::Index>(), any::<bool>())),
        capacity(),
    );
    prop::collection::vec(link, 1..10)
        .prop_map(|links| {
            let above = |at: usize, (index, near): (prop::sample::Index, bool)| {
                if near { at - 1 } else { index.index(at) }
            };
            let links = links.into_iter().enumerate();
            links
                .map(|(at, (up, capacity))| {
                    (up.filter(|_| at > 0).map(|up| above(at, up)), capacity)
                })
                .collect()
        })
        .prop_flat_map(move |links: Vec<_>| {
            let steps = prop::collection::vec((wait(), step(links.len(), crossing)), 1..20);
            (Just(links), steps).prop_map(|(links, steps)| Script { links, steps })
        })
}

fn near(one: f64, other: f64, absolute: f64) -> bool {
    (one - other).abs() <= absolute + 1e-9 * one.abs().max(other.abs())
}

/// Creates a network that uses the general solver, because a transfer at rate 0 runs over two separate roots.
fn general() -> Network {
    let mut network = Network::new();
    let aside = [0; 2].map(|_| network.add_link(None, rate(1.0)));
    network.start_over(SimTime::ZERO, &aside, bytes(1), cap(0.0));
    network
}

/// Compares two runs of the same script: the ends of all layers, and the rates after each step. Returns the
/// differences.
pub(super) fn differences<S, O>(one: &ScriptRun<S>, other: &ScriptRun<O>) -> Vec<String> {
    let mut differences = Vec::new();
    if !one.ends.keys().eq(other.ends.keys()) {
        differences.push(format!("ends: {:?} and {:?}", one.ends, other.ends));
        return differences;
    }
    for (layer, end) in &one.ends {
        let same = match (*end, other.ends[layer]) {
            (LayerEnd::Complete { at: one }, LayerEnd::Complete { at: other }) => {
                near(one, other, 1.0)
            }
            (LayerEnd::GivenUp { delivered: one }, LayerEnd::GivenUp { delivered: other }) => {
                near(one, other, 1.0)
            }
            _ => false,
        };
        if !same {
            differences.push(format!(
                "layer {layer:?}: {end:?} and {:?}",
                other.ends[layer]
            ));
        }
    }
    assert_eq!(one.samples.len(), other.samples.len());
    let samples = one.samples.iter().zip(&other.samples);
    differences.extend(
        samples
            .filter(|&(&one, &other)| !near(one, other, 1e-9))
            .map(|(one, other)| format!("rates {one} and {other}")),
    );
    differences
}

/// Checks that only transfers at rate 0 are left, and that every sent byte was received. Returns violations.
pub(super) fn leftovers(run: &ScriptRun<Network>) -> Vec<String> {
    let mut ledger = run.ledger.clone();
    let mut leftovers = Vec::new();
    for transfer in run.solver.transfers() {
        if transfer.rate > BytesPerSec::ZERO {
            leftovers.push(format!("{transfer:?} has a rate above 0"));
        }
        ledger.delivered(transfer.delivered);
    }
    leftovers.extend(
        ledger
            .imbalance()
            .map(|bytes| format!("{bytes} more bytes were sent than received")),
    );
    leftovers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn the_solver_agrees_with_progressive_filling(script in script(Crossing::Never)) {
        let fast = run_script(Network::new(), &script);
        let slow = run_script(NaiveNetwork::new(), &script);
        prop_assert_eq!(differences(&fast, &slow), Vec::<String>::new());
        prop_assert_eq!(leftovers(&fast), Vec::<String>::new());
        // Compare with the general solver.
        let general = run_script(general(), &script);
        prop_assert_eq!(differences(&general, &slow), Vec::<String>::new());
        prop_assert_eq!(differences(&general, &fast), Vec::<String>::new());
        prop_assert_eq!(leftovers(&general), Vec::<String>::new());
    }

    /// Most of these scripts switch from the forest to the general solver and back.
    #[test]
    fn transfers_over_any_links_agree_with_progressive_filling(
        script in prop_oneof![script(Crossing::Sometimes), script(Crossing::Often)],
        hubs_above in 0usize..5,
    ) {
        let fast = run_script(Network::new(), &script);
        let slow = run_script(NaiveNetwork::new(), &script);
        prop_assert_eq!(differences(&fast, &slow), Vec::<String>::new());
        prop_assert_eq!(leftovers(&fast), Vec::<String>::new());
        // If nearly every link is a hub, hubs depend on each other in all ways.
        let hubs = run_script(Network::with_hubs_above(hubs_above), &script);
        prop_assert_eq!(differences(&hubs, &slow), Vec::<String>::new());
        prop_assert_eq!(leftovers(&hubs), Vec::<String>::new());
    }

    /// Advancing directly to a later time gives the same result, to the last bit, as stopping at each completion; and
    /// querying rates in between has no effect.
    #[test]
    fn one_large_step_gives_the_same_result_as_a_step_to_each_completion(
        script in prop_oneof![script(Crossing::Never), script(Crossing::Sometimes), script(Crossing::Often)],
    ) {
        let [stepped, jumped] = [true, false].map(|step_through| {
            let mut network = Network::new();
            let mut links: Vec<LinkId> = Vec::new();
            for &(above, capacity) in &script.links {
                links.push(network.add_link(above.map(|above| links[above]), rate(capacity)));
            }
            let (mut now, mut completed, mut trace) = (SimTime::ZERO, Vec::new(), Vec::new());
            for (wait, step) in &script.steps {
                now = now + fleetsim_units::SimDuration::from_nanos(*wait);
                while let Some(next) = network.next_completion().filter(|&next| step_through && next < now) {
                    network.advance(next, &mut completed);
                }
                match step {
                    ScriptStep::Pull { route, layers, cap, .. } => {
                        for &size in layers {
                            if step_through {
                                let _ = (network.next_completion(), network.throughput(links[0]));
                            }
                            match route {
                                Route::Down(link) => network.start(now, links[*link], bytes(size), cap.map(rate)),
                                Route::Over(over) => {
                                    let over: Vec<LinkId> = over.iter().map(|&link| links[link]).collect();
                                    network.start_over(now, &over, bytes(size), cap.map(rate))
                                }
                            };
                        }
                    }
                    ScriptStep::GiveUp { .. } => network.advance(now, &mut completed),
                    ScriptStep::SetCapacity { link, capacity } => network.set_capacity(now, links[*link], rate(*capacity)),
                }
                trace.extend(network.transfers().map(|transfer| (transfer.id.serial(), transfer.rate)));
            }
            network.advance(now + fleetsim_units::SimDuration::from_hours(1000), &mut completed);
            (completed.iter().map(|id| id.serial()).collect::<Vec<_>>(), trace, network.active)
        });
        prop_assert_eq!(stepped.0, jumped.0, "completed");
        prop_assert_eq!(stepped.2, jumped.2, "in flight");
        let sorted = |mut trace: Vec<(u64, BytesPerSec)>| { trace.sort_by_key(|&(serial, _)| serial); trace };
        prop_assert_eq!(sorted(stepped.1), sorted(jumped.1), "rates");
    }
}

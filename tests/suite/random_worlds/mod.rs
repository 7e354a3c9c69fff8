//! Invariants of every run, checked in random experiments of every product: bytes are conserved, every started pull
//! ends, every run ends with a reason, every product respects its own limits ([`products`]), and the same seed gives
//! the same run.
//!
//! A failure prints its seed and product; `FLEETSIM_SEED=<seed> cargo test --test suite random_worlds` runs that
//! seed's world under every product, and `FLEETSIM_SEEDS=<n>` runs n seeds instead of the usual ones, each under one
//! product.

mod applications;
mod applies;
mod causes;
mod luck;
mod prices;
mod products;
mod releases;
mod strategies;
mod unbinding_limits;
mod windows;
mod world;
mod zero_times;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetsim::engine::Streams;
use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::rollout::baseline::Baseline;
use fleetsim::scenario::{ApplicationRollout, Scenario, Variant};
use fleetsim::sim;
use fleetsim::units::{SimDuration, SimTime};
use fleetsim::world::{AgentEvent, Event, NEW, PullEvent};
use rayon::prelude::*;

use luck::Luck;
use products::Seen;
use strategies::Product;

/// Default number of experiments.
const SEEDS: u64 = 300;
/// Additional seeds that once revealed a fault, here or in another test.
const FOUND_FAULTS: [(u64, Product); 6] = [
    // A long request delays the first pass, which also delays the beat of later passes.
    (515, Product::CloudFoundry),
    // Several pulls of one node want the same blob, which is discarded after unpacking.
    (555, Product::FleetOrBaseline),
    (1333, Product::FleetOrBaseline),
    // A node fails in a cluster without an agent.
    (1281, Product::FleetOrBaseline),
    // Passes over a changed spec that must not be written continued endlessly.
    (847, Product::ArgoCd),
    // A run that had succeeded before a cluster crashed had no reason for its end.
    (1851, Product::KubeFleetStaged),
];

fn variant(seed: u64, product: Product) -> Variant {
    let mut luck = Luck(Streams::new(seed, 0).stream("random world", "shape"));
    let mut faults = Luck(Streams::new(seed, 0).stream("random world", "faults"));
    let mut extras = Luck(Streams::new(seed, 0).stream("random world", "extras"));
    let mut collector = Luck(Streams::new(seed, 0).stream("random world", "collector"));
    let mut failures = Luck(Streams::new(seed, 0).stream("random world", "applies"));
    let mut opening = Luck(Streams::new(seed, 0).stream("random world", "windows"));
    let mut sandbox = Luck(Streams::new(seed, 0).stream("random world", "sandbox"));
    let mut room = Luck(Streams::new(seed, 0).stream("random world", "room"));
    let mut costs = Luck(Streams::new(seed, 0).stream("random world", "prices"));
    let (mut world, mut platform) = world::world(&mut luck, &mut extras, &mut faults);
    world::limit_room(&mut room, &mut world);
    let after = SimDuration::from_secs(u64::from(collector.number(0, 20)));
    world.node.sandbox = sandbox.duration(1.0);
    world.node.runtime.collect_after = collector.chance(0.3).then_some(after);
    applies::fail(&mut failures, product, &mut world, &mut platform.agent);
    let mut scenario = Scenario {
        world: Arc::new(world),
        groups: Arc::new(Vec::new()),
        calendar: None,
        applications: vec![ApplicationRollout::only(Arc::new(Baseline::AllAtOnce))],
        product: "random",
        is_bound: false,
        control_loop: product.control_loop(),
        platform,
        horizon: SimDuration::from_hours(6),
        operator: Vec::new(),
        price: None,
    };
    let strategy = product.strategy(&mut luck, &scenario);
    scenario.set_strategy(strategy);
    windows::add(&mut opening, &mut scenario);
    prices::add(&mut costs, &mut scenario);
    Variant {
        label: "random".to_owned(),
        strategy: "random".to_owned(),
        setting: String::new(),
        settings: Vec::new(),
        scenario,
    }
}

/// A run that satisfies all invariants.
#[derive(Debug, PartialEq)]
struct CheckedRun {
    record: RunRecord,
    failed_applies: u64,
    has_windows: bool,
}

/// Runs one experiment and checks its invariants.
fn check(seed: u64, product: Product) -> CheckedRun {
    let mut failed_applies = 0;
    let variant = variant(seed, product);
    let mut last = SimTime::ZERO;
    let mut pulled = 0_u64;
    let mut ready = vec![None; variant.scenario.world.clusters.len()];
    let mut watch = |now: SimTime, event: &Event| {
        assert!(now >= last, "time runs forward");
        last = now;
        match event {
            Event::Pull(_, PullEvent::Completed) => pulled += 1,
            Event::Agent(AgentEvent::ApplyFails(..) | AgentEvent::WaitEnds(_)) => {
                failed_applies += 1;
            }
            Event::Agent(AgentEvent::ReportArrives(report))
                if report.ready && report.applied == NEW =>
            {
                ready[report.target.index()].get_or_insert(now.as_secs_f64());
            }
            _ => {}
        }
    };
    let record =
        sim::run_observed(&variant, seed, 0, &mut watch).expect("the strategy starts no process");
    check_run(&variant, &record, pulled);
    check_passes(&record);
    prices::check(&variant.scenario, &record);
    products::check(&Seen {
        scenario: &variant.scenario,
        outcome: record.run.outcome,
        told: record
            .clusters
            .iter()
            .map(|cluster| cluster.instructed_s)
            .collect(),
        ready,
        release: record.run.release_s,
        passes: &record.passes,
    });
    CheckedRun {
        record,
        failed_applies,
        has_windows: windows::has_some(&variant.scenario),
    }
}

/// Checks the invariants that do not depend on the product.
fn check_run(variant: &Variant, record: &RunRecord, pulled: u64) {
    let run = &record.run;
    let to_nodes = run.egress_bytes - run.upstream_bytes + run.cache_bytes + run.peer_bytes;
    assert_eq!(
        to_nodes,
        run.received_bytes + run.lost_bytes,
        "bytes are conserved"
    );
    let in_rows: u64 = record
        .clusters
        .iter()
        .map(|cluster| cluster.received_bytes)
        .sum();
    assert_eq!(
        to_nodes, in_rows,
        "what registry, caches and peers send to nodes arrives in some cluster"
    );
    let in_bins: f64 = record
        .series
        .iter()
        .map(|bin| bin.egress_bytes_per_s * record.bin_s)
        .sum();
    let egress = run.egress_bytes as f64;
    // The bytes of a cancelled transfer are rounded down to a whole byte; a failed pull cancels its config or the
    // downloads in its slots.
    let rounding = (run.failed_pulls
        * u64::from(variant.scenario.world.node.runtime.download_slots + 1))
        as f64;
    assert!(
        (in_bins - egress).abs() <= egress * 1e-6 + 1000.0 + rounding,
        "the series adds up: {in_bins} of {egress}"
    );
    let world = &variant.scenario.world;
    let others = world.registries.iter().map(|other| other.spec.egress.get());
    let capacity = world.registry.egress.get() + others.sum::<f64>();
    assert!(
        run.egress_peak_1s_bytes_per_s <= capacity * (1.0 + 1e-9),
        "the egress link is not exceeded"
    );
    assert!(
        run.peak_downloads
            >= record
                .series
                .iter()
                .map(|bin| bin.downloads)
                .max()
                .unwrap_or(0)
    );
    for bin in &record.series {
        let clusters = bin.ready_new + bin.updating + bin.not_ready + bin.waiting;
        assert_eq!(
            clusters, run.targets,
            "every cluster is in one state at {} s",
            bin.t_s
        );
    }
    match run.outcome {
        RunOutcome::Complete => {
            assert_eq!(run.targets_done, run.targets);
            assert_eq!(run.held(), "");
            assert!(
                record
                    .clusters
                    .iter()
                    .all(|cluster| cluster.ready_s.is_some())
            );
        }
        RunOutcome::Stalled | RunOutcome::Horizon => {
            assert!(run.targets_done < run.targets);
            assert!(
                !run.held().is_empty() && run.held() != "no rule",
                "{:?}: {}",
                run.outcome,
                run.held()
            );
        }
    }
    if run.outcome == RunOutcome::Stalled {
        // At the end no attempt is in progress, so every attempt has either succeeded or failed.
        assert!(
            pulled + run.failed_pulls >= run.pulls,
            "{pulled} + {} of {}",
            run.failed_pulls,
            run.pulls
        );
    }
}

/// Checks that the passes of a controller do not overlap.
fn check_passes(record: &RunRecord) {
    for pair in record.passes.windows(2) {
        assert!(
            pair[1].t_s >= pair[0].t_s + pair[0].duration_s - 1e-6,
            "one pass after the other: {pair:?}"
        );
    }
}

#[test]
fn invariants_hold_in_random_runs() {
    let number = |name: &str| -> Option<u64> {
        std::env::var(name).ok().map(|text| {
            text.parse()
                .unwrap_or_else(|_| panic!("{name}={text} is no number"))
        })
    };
    let only = number("FLEETSIM_SEED");
    let count = number("FLEETSIM_SEEDS").unwrap_or(SEEDS);
    let of_seed = |seed: u64| {
        (
            seed,
            Product::ALL[(seed % Product::ALL.len() as u64) as usize],
        )
    };
    let runs: Vec<(u64, Product)> = match only {
        Some(seed) => Product::ALL.map(|product| (seed, product)).into(),
        None => (0..count).map(of_seed).chain(FOUND_FAULTS).collect(),
    };
    let checked: Vec<_> = runs
        .par_iter()
        .map(|&(seed, product)| std::panic::catch_unwind(|| check(seed, product)))
        .collect();
    let mut outcomes: BTreeMap<(Product, String), usize> = BTreeMap::new();
    let mut failed = Vec::new();
    let mut outlived: BTreeMap<Product, usize> = BTreeMap::new();
    let mut through_windows: BTreeMap<Product, usize> = BTreeMap::new();
    for ((seed, product), result) in runs.into_iter().zip(checked) {
        match result {
            Ok(CheckedRun {
                record,
                failed_applies,
                has_windows,
            }) => {
                let outcome = format!("{:?}", record.run.outcome);
                let is_complete = record.run.outcome == RunOutcome::Complete;
                if is_complete && failed_applies > 0 {
                    *outlived.entry(product).or_default() += 1;
                }
                if is_complete && has_windows {
                    *through_windows.entry(product).or_default() += 1;
                }
                *outcomes.entry((product, outcome)).or_default() += 1;
            }
            Err(_) => failed.push(format!("{product:?} with FLEETSIM_SEED={seed}")),
        }
    }
    assert!(
        failed.is_empty(),
        "to see it again, cargo test --test suite random_worlds: {failed:#?}"
    );
    if only.is_none() {
        // The generator would be useless if all worlds were trivial, or no rollout could succeed.
        for product in [
            Product::FleetOrBaseline,
            Product::ArgoCd,
            Product::KubeFleetStaged,
            Product::KubeFleetRolling,
        ] {
            let seen = outlived.get(&product).copied().unwrap_or_default();
            assert!(
                seen >= 2,
                "{seen} rollouts of {product:?} outlive a failed apply"
            );
        }
        for product in [Product::FleetOrBaseline, Product::ArgoCd] {
            let seen = through_windows.get(&product).copied().unwrap_or_default();
            assert!(seen >= 2, "{seen} rollouts of {product:?} with windows end");
        }
        for product in Product::ALL {
            for outcome in ["Complete", "Stalled"] {
                let seen = outcomes
                    .get(&(product, outcome.to_owned()))
                    .copied()
                    .unwrap_or(0);
                assert!(seen >= 5, "{product:?} {outcome}: {outcomes:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for product in Product::ALL {
        for seed in 0..8 {
            assert_eq!(
                check(seed, product),
                check(seed, product),
                "{product:?}, seed {seed}"
            );
        }
    }
}

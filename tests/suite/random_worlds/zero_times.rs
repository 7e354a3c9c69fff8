//! Runs in which some actions take no time still end, or are reported as a failure: no run continues without progress.
//!
//! Each product runs in random worlds in which some randomly drawn times are zero: times of the controllers, the
//! agents, the kubelets and Argo CD's application controller. Equal seeds set the same times to zero.

use std::any::Any;
use std::sync::Arc;

use fleetsim::engine::Streams;
use fleetsim::products::argo_cd::ArgoCdStrategy;
use fleetsim::rollout::baseline::Baseline;
use fleetsim::scenario::Variant;
use fleetsim::sim::{self, RunFailure};
use fleetsim::units::{Factor, Share, SimDuration};
use fleetsim::world::{Backoff, DefectKind, DefectSpec, DurationModel, ReadinessSpec};

use super::luck::Luck;
use super::strategies::Product;
use super::variant;

/// Number of worlds for each product; in the first world, all times are zero.
const WORLDS: u64 = 12;

const ZERO: DurationModel = DurationModel::Constant(SimDuration::ZERO);

/// Times of a run that may be zero.
const TIMES: [fn(&mut Variant); 9] = [
    |variant| variant.scenario.control_loop.request = ZERO,
    |variant| variant.scenario.control_loop.watch_delay = SimDuration::ZERO,
    |variant| variant.scenario.control_loop.client_qps = 0,
    |variant| {
        let agent = &mut variant.scenario.platform.agent;
        (agent.instruction_delay, agent.report_delay) = (ZERO, ZERO);
    },
    |variant| {
        let agent = &mut variant.scenario.platform.agent;
        (agent.apply, agent.readiness) = (ZERO, ReadinessSpec::Delay(ZERO));
    },
    |variant| {
        let node = &mut Arc::make_mut(&mut variant.scenario.world).node;
        (node.error_requeue, node.start_overhead) = (ZERO, ZERO);
        node.sandbox = ZERO;
        (node.pull_constant, node.unpack_per_layer) = (ZERO, ZERO);
    },
    |variant| {
        // The first wait of a back-off must be greater than zero; here it is as short as possible, and all later waits
        // are the maximum.
        let shortest = Backoff {
            initial: SimDuration::from_nanos(1),
            max: SimDuration::ZERO,
            ..Backoff::default()
        };
        variant.scenario.platform.restarts.backoff = shortest;
        let world = Arc::make_mut(&mut variant.scenario.world);
        world.node.image_backoff = shortest;
        world.faults.defect.crash_after = ZERO;
    },
    |variant| {
        let world = Arc::make_mut(&mut variant.scenario.world);
        for workload in &mut world.applications[0].workloads {
            (workload.start, workload.readiness) = (ZERO, None);
            workload.termination = ZERO;
        }
        for cluster in &mut world.clusters {
            cluster.rtt = ZERO;
        }
    },
    |variant| {
        let any: &dyn Any = variant.scenario.strategy();
        if let Some(argo_cd) = any.downcast_ref::<ArgoCdStrategy>() {
            let mut argo_cd = argo_cd.clone();
            let settings = &mut argo_cd.application_controller;
            (settings.comparison, settings.idle_sync) = (SimDuration::ZERO, SimDuration::ZERO);
            settings.tcp_timeout = SimDuration::ZERO;
            settings.client_qps = 0;
            settings.syncs_per_second = Factor::new(1e12);
            variant.scenario.set_strategy(Arc::new(argo_cd));
        }
    },
];

/// The result of a run in which some times are zero.
fn outcome(product: Product, seed: u64) -> Result<(), RunFailure> {
    let mut variant = variant(seed, product);
    let mut luck = Luck(Streams::new(seed, 0).stream("zero times", "which"));
    for set_to_zero in TIMES {
        if seed == 0 || luck.chance(0.6) {
            set_to_zero(&mut variant);
        }
    }
    sim::run(&variant, seed, 0).map(drop)
}

#[test]
fn every_run_with_zero_durations_ends_or_is_reported() {
    for product in Product::ALL {
        for seed in 0..WORLDS {
            match outcome(product, seed) {
                Ok(()) => {}
                Err(RunFailure::NoProgress(found)) => {
                    assert!(!found.zero.is_empty(), "{product:?}, {seed}: {found}");
                    assert!(!found.kinds.is_empty(), "{product:?}, {seed}: {found}");
                }
                Err(error) => panic!("{product:?}, seed {seed}: {error}"),
            }
        }
    }
}

/// The world itself can also repeat events: containers that crash at their start are restarted immediately, while
/// other clusters still pull.
#[test]
fn containers_that_crash_and_restart_in_no_time_are_reported() {
    let mut variant = variant(0, Product::FleetOrBaseline);
    variant.scenario.set_strategy(Arc::new(Baseline::AllAtOnce));
    variant.scenario.platform.restarts.immediate = u32::MAX;
    let world = Arc::make_mut(&mut variant.scenario.world);
    world.node.start_overhead = ZERO;
    world.node.sandbox = ZERO;
    world.pods.starts_per_second = None;
    world.faults.defect = DefectSpec {
        share: Share::new(0.5),
        kind: DefectKind::Crashes,
        crash_after: ZERO,
        detected_after: None,
    };
    let Err(RunFailure::NoProgress(found)) = sim::run(&variant, 0, 0) else {
        panic!("it ends");
    };
    assert!(found.kinds.contains("crashes of a container"), "{found}");
}

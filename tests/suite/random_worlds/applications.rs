//! Random worlds with 2 to 50 applications of each product: every application keeps the limits of its own strategy,
//! bytes are conserved, and the rows of the applications add up to those of the run.
//!
//! Left out: limits of room on nodes, which would have to be drawn for the pods of all applications; pre-pulls, which
//! several applications cannot have; and the rules about passes, which a run records for all applications together.
//! First and cancelled deployments by Cloud Foundry have only such rules.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use fleetsim::engine::Streams;
use fleetsim::products::cloud_foundry::CloudFoundryDeployment;
use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{ApplicationRollout, Scenario, Variant};
use fleetsim::sim;
use fleetsim::units::{SimDuration, SimTime};
use fleetsim::world::{AgentEvent, ApplicationSpec, Event, NEW, PullEvent, ReleaseKind, WorldSpec};
use rayon::prelude::*;

use super::luck::Luck;
use super::products::{self, Seen};
use super::strategies::Product;
use super::{check_run, variant};

/// Number of random worlds, each under one product.
const WORLDS: u64 = 300;

/// Draws a number of applications.
fn draw_number(luck: &mut Luck) -> u32 {
    if luck.chance(0.05) {
        50
    } else {
        luck.number(2, 8)
    }
}

/// Puts this number of applications into a scenario, each with a strategy, an image and a release time of its own.
pub(crate) fn put_applications(
    luck: &mut Luck,
    number: u32,
    product: Product,
    scenario: &mut Scenario,
) {
    let mut world = WorldSpec::clone(&scenario.world);
    without_room(&mut world);
    let first = world.applications[0].clone();
    let images = world.images.clone();
    let mut applications = Vec::new();
    world.applications.clear();
    world.images.clear();
    for at in 0..number {
        let name = format!("app-{at}");
        let has_own_layers = luck.chance(0.5);
        let mut workloads = first.workloads.clone();
        for workload in &mut workloads {
            workload.image += world.images.len();
        }
        for image in &images {
            let mut own = image.clone();
            own.name = format!("{name}/{}", image.name);
            if has_own_layers {
                for layer in &mut own.layers {
                    layer.digest = format!("{name}/{}", layer.digest);
                }
            }
            world.images.push(own);
        }
        world.applications.push(ApplicationSpec {
            name: name.clone(),
            workloads,
            ..first.clone()
        });
        let strategy = product.strategy(luck, scenario);
        let mut application = ApplicationRollout::only(strategy);
        application.name = name;
        application.released = SimDuration::from_secs(u64::from(luck.number(0, 300)));
        applications.push(application);
    }
    for mirror in &mut world.distribution.mirrors {
        mirror.holds.clear();
    }
    for (at, application) in applications.iter_mut().enumerate() {
        application.view = Some(Arc::new(view(&world, at)));
    }
    scenario.applications = applications;
    scenario.platform.agent.workers = luck.chance(0.5).then(|| luck.number(1, 3));
    scenario.world = Arc::new(world);
    scenario.price = None;
}

/// Removes the limits of room, and a pre-pull.
pub(crate) fn without_room(world: &mut WorldSpec) {
    for cluster in &mut world.clusters {
        cluster.autoscaling = None;
    }
    if let Some(disk) = &mut world.node.disk {
        disk.size = None;
    }
    world.distribution.pre_pull = None;
}

/// Returns the world with only one of its applications.
pub(crate) fn view(world: &WorldSpec, application: usize) -> WorldSpec {
    let mut view = world.clone();
    view.applications = vec![world.applications[application].clone()];
    view
}

/// What was seen of all applications.
struct SeenRun {
    last: SimTime,
    /// The number of completed pulls.
    pulled: u64,
    /// The time at which each target was first reported ready on the new revision, by its number in the world.
    ready: Vec<Option<f64>>,
}

impl SeenRun {
    fn see(&mut self, now: SimTime, event: &Event) {
        assert!(now >= self.last, "time runs forward");
        self.last = now;
        match event {
            Event::Pull(_, PullEvent::Completed) => self.pulled += 1,
            Event::Agent(AgentEvent::ReportArrives(report))
                if report.ready && report.applied == NEW =>
            {
                self.ready[report.target.index()].get_or_insert(now.as_secs_f64());
            }
            _ => {}
        }
    }
}

/// Runs a random world with several applications, and checks it. Returns the outcome.
fn check(seed: u64, product: Product) -> RunOutcome {
    let mut luck = Luck(Streams::new(seed, 0).stream("random world", "applications"));
    let mut variant = variant(seed, product);
    let number = draw_number(&mut luck);
    put_applications(&mut luck, number, product, &mut variant.scenario);
    let clusters = variant.scenario.world.clusters.len();
    let applications = variant.scenario.applications.len();
    let mut seen = SeenRun {
        last: SimTime::ZERO,
        pulled: 0,
        ready: vec![None; clusters * applications],
    };
    let mut watch = |now: SimTime, event: &Event| seen.see(now, event);
    let record =
        sim::run_observed(&variant, seed, 0, &mut watch).expect("the strategy starts no process");
    check_run(&variant, &record, seen.pulled);
    check_sums(&record);
    for at in 0..applications {
        let ready = seen.ready[at * clusters..][..clusters].to_vec();
        check_limits(&variant, &record, at, ready);
    }
    record.run.outcome
}

/// Checks that the rows of the applications add up to the run.
pub(crate) fn check_sums(record: &RunRecord) {
    let run = &record.run;
    let mut targets = 0;
    let mut done = 0;
    let mut pulls = 0;
    let mut failed_pulls = 0;
    let mut received = 0;
    for row in &record.applications {
        targets += row.targets;
        done += row.targets_done;
        pulls += row.pulls;
        failed_pulls += row.failed_pulls;
        received += row.received_bytes;
        assert!(row.peak_pulls <= run.peak_pulls, "{}", row.application);
    }
    assert_eq!(targets, run.targets);
    assert_eq!(done, run.targets_done);
    assert_eq!(pulls, run.pulls);
    assert_eq!(failed_pulls, run.failed_pulls);
    assert_eq!(received, run.received_bytes + run.lost_bytes);
}

/// Checks that one application keeps the limits of its strategy.
fn check_limits(variant: &Variant, record: &RunRecord, at: usize, ready: Vec<Option<f64>>) {
    let application = &variant.scenario.applications[at];
    let mut scenario = variant.scenario.clone();
    scenario.world = Arc::clone(application.view.as_ref().expect("each has a view"));
    scenario.applications = vec![application.clone()];
    if has_only_rules_about_passes(&scenario) {
        return;
    }
    let mut told = Vec::new();
    for row in &record.clusters {
        if row.application == application.name {
            told.push(row.instructed_s);
        }
    }
    products::check(&Seen {
        scenario: &scenario,
        outcome: record.run.outcome,
        told,
        ready,
        release: application.released.as_secs_f64(),
        passes: &[],
    });
}

/// Returns whether a product has no rules about the application of a scenario except those about passes.
pub(crate) fn has_only_rules_about_passes(scenario: &Scenario) -> bool {
    let strategy: &dyn Any = scenario.strategy();
    let Some(deployment) = strategy.downcast_ref::<CloudFoundryDeployment>() else {
        return false;
    };
    let is_first = scenario.world.applications[0].release == ReleaseKind::Initial;
    is_first || deployment.cancel_after.is_some()
}

#[test]
fn every_application_keeps_its_limits() {
    let worlds: Vec<u64> = (0..WORLDS).collect();
    let outcomes: Vec<RunOutcome> = worlds
        .par_iter()
        .map(|seed| check(*seed, Product::ALL[(*seed % 6) as usize]))
        .collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in outcomes {
        *numbers.entry(format!("{outcome:?}")).or_default() += 1;
    }
    // The worlds would be useless if all were stuck, or none could be.
    for outcome in ["Complete", "Stalled"] {
        let seen = numbers.get(outcome).copied().unwrap_or_default();
        assert!(seen >= 20, "{outcome}: {numbers:?}");
    }
}

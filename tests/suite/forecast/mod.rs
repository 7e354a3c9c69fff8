//! Forecasts of rollouts that were cut: simulated ones in worlds that differ from the defaults, as each product shows
//! them.

mod exporter;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fleetsim::forecast::{ForecastInputs, Forecaster};
use fleetsim::results::{ForecastRecord, RunRecord};
use fleetsim::scenario::{Level, Overrides, VariedExperiment};
use fleetsim::sim::{self, RolloutSoFar, SeenTarget};
use fleetsim::units::SimTime;
use tempfile::TempDir;

use super::common::{fleetsim, folder_with, text};
use exporter::{ALL, Exported, time};

/// The shares of targets that are ready at the cuts.
const CUTS: [f64; 4] = [0.1, 0.3, 0.6, 0.9];

/// An experiment of 24 targets.
fn experiment(product: Exported) -> (TempDir, VariedExperiment) {
    let text = format!(
        "
name: shop
seed: 1
replicates: 1
horizon: 24h
fleet:
  - {{name: 'canary-{{1..4}}', labels: {{ring: canary}}, nodes: 1, downlink: 100 Mbit/s}}
  - {{name: 'store-{{01..20}}', labels: {{ring: rest}}, nodes: 1, downlink: 100 Mbit/s}}
registry: {{egress: 1 Gbit/s}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 200 MB}}, {{size: 50 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, replicas: 2}}]
strategies: {{it: {{{}}}}}
",
        product.strategy()
    );
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let varied = VariedExperiment::load(folder.path(), &Overrides::default());
    let varied = varied.unwrap_or_else(|error| panic!("{}", error.render(false)));
    (folder, varied)
}

/// A rollout in a world whose constants are drawn from their ranges.
fn truth(varied: &VariedExperiment, world: u32) -> RunRecord {
    let names: Vec<&str> = varied.constants().iter().map(|constant| constant.name).collect();
    let seed = 1_000 + u64::from(world);
    let shares = sim::draw_shares(&names, seed, 0);
    let levels: Vec<(usize, Level)> = shares.into_iter().map(Level::Quantile).enumerate().collect();
    let experiment = varied.at(&levels).expect("valid");
    sim::run(&experiment.variants[0], seed, 0).expect("no process")
}

/// When a share of the targets was ready.
fn cut(run: &RunRecord, share: f64) -> f64 {
    let mut ready: Vec<f64> = run.clusters.iter().filter_map(|row| row.ready_s).collect();
    ready.sort_by(f64::total_cmp);
    ready[(share * ready.len() as f64) as usize - 1] + 1.0
}

/// Writes the exports of a run, and reads them for a forecast.
fn inputs(folder: &Path, product: Exported, run: &RunRecord, now: f64, draws: u32) -> ForecastInputs {
    let files = product.export(run, now);
    let status = files.iter().map(|(name, text)| {
        std::fs::write(folder.join(name), text).expect("written");
        folder.join(name)
    });
    ForecastInputs {
        status: status.collect(),
        now: Some(time(now)),
        released: Some(time(0.0)),
        clock: time(now),
        draws,
    }
}

fn forecast(forecaster: &Forecaster<'_>) -> ForecastRecord {
    forecaster.forecast(|| {}, &AtomicBool::new(false)).expect("simulated")
}

/// The ends of the interval for the end, in seconds; infinite for never.
fn interval(record: &ForecastRecord) -> (f64, f64) {
    let end = |time: &Option<fleetsim::results::ForecastTime>| time.as_ref().map_or(f64::INFINITY, |time| time.s);
    (end(&record.done.low), end(&record.done.high))
}

/// The forecast before anything has happened.
fn unconditioned(varied: &VariedExperiment, draws: u32) -> (f64, f64) {
    let targets = vec![SeenTarget::default(); 24];
    interval(&forecast(&Forecaster::of_seen(varied, 0, RolloutSoFar { now: SimTime::ZERO, targets }, draws)))
}

/// How many of the intervals at each cut hold the truth, and their mean width as a share of the unconditioned one.
#[expect(clippy::print_stdout, reason = "the measured coverage is what the heavy run is for")]
fn covered(product: Exported, worlds: std::ops::Range<u32>, draws: u32) -> [(u32, f64); 4] {
    let (folder, varied) = experiment(product);
    let (low, high) = unconditioned(&varied, draws);
    let mut found = [(0, 0.0); 4];
    for world in worlds.clone() {
        let run = truth(&varied, world);
        let end = run.run.reachable_ready_s.expect("it completes");
        for (at, share) in CUTS.into_iter().enumerate() {
            let now = cut(&run, share);
            let inputs = inputs(folder.path(), product, &run, now, draws);
            let forecaster = Forecaster::new(&varied, 0, &inputs);
            let forecaster = forecaster.unwrap_or_else(|error| panic!("{}", error.render(false)));
            let (from, to) = interval(&forecast(&forecaster));
            let holds = from <= end && end <= to;
            found[at].0 += u32::from(holds);
            found[at].1 += (to - from) / (high - low) / f64::from(worlds.len() as u32);
            println!("{product:?} {world} {share}: now {now:.0}, done {end:.0}, forecast {from:.0} to {to:.0} {holds}");
        }
    }
    println!("{product:?}: unconditioned {low:.0} to {high:.0}, of {} each: {found:?}", worlds.len());
    found
}

/// `FORECAST_WORLDS=50 FORECAST_DRAWS=100 cargo test --release --test suite forecast::coverage -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes; docs/forecast.md has what it prints"]
fn coverage_of_cut_rollouts() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (worlds, draws) = (number("FORECAST_WORLDS", 50), number("FORECAST_DRAWS", 100));
    let only = std::env::var("FORECAST_PRODUCT").unwrap_or_default();
    for product in ALL.into_iter().filter(|product| format!("{product:?}").contains(&only)) {
        let found = covered(product, 0..worlds, draws);
        let held: u32 = found.iter().map(|(held, _)| held).sum();
        assert!(f64::from(held) >= 0.8 * f64::from(4 * worlds), "{product:?}: {found:?}");
    }
}

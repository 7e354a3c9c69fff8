//! Evidence over many simulated rollouts, in worlds that match the experiment's file and in worlds that do not.
//!
//! Constants of each world are drawn from their ranges. A rollout is cut at one share of ready targets, exported, and
//! forecast from the experiment's file. An answered forecast covers if its interval contains the true end of the
//! targets that it is about: all except failed ones, and except stuck ones if it gives an end without them.
//!
//! The quick form runs in the suite. `FORECAST_EVIDENCE=1` runs the long form, whose counts docs/forecast.md quotes.

use std::ops::AddAssign;

use fleetsim::forecast::Forecaster;
use fleetsim::report::forecast_change;
use fleetsim::results::{ForecastRecord, ForecastSpan, RunRecord};
use fleetsim::scenario::{Overrides, VariedExperiment};
use serde_json::Value;
use tempfile::TempDir;

use super::super::common::folder_with;
use super::exporter::{ALL, Exported, time};
use super::{cut, forecast, inputs, interval, truth};

/// A kind of world, as it differs from the experiment's file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum World {
    Matching,
    /// Every cluster's link is this many times as fast as in the file.
    Links(f64),
    /// A tenth of the clusters is offline at the start and for an hour, which the file does not say.
    Offline,
    /// The apply fails in every eighth cluster, which the file does not say.
    Failures,
    /// The start is given with an error of this many seconds.
    WrongStart(f64),
    /// Two clusters are missing in the export.
    MissingClusters,
}

const DIFFERING: [World; 9] = [
    World::Links(0.3),
    World::Links(0.5),
    World::Links(2.0),
    World::Links(3.0),
    World::Offline,
    World::Failures,
    World::WrongStart(-600.0),
    World::WrongStart(600.0),
    World::MissingClusters,
];

/// The shares of ready targets at which rollouts are cut, in turn.
const SHARES: [f64; 4] = [0.3, 0.6, 0.2, 0.8];

/// The number of outcomes.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    rollouts: u32,
    refused: u32,
    /// Answered with a sentence that the world differs, and a wider interval or a second end.
    widened: u32,
    answered: u32,
    covered: u32,
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.rollouts += other.rollouts;
        self.refused += other.refused;
        self.widened += other.widened;
        self.answered += other.answered;
        self.covered += other.covered;
    }
}

/// The text of an experiment with 24 targets whose links matter.
fn text(product: Exported, link: f64, faults: &str) -> String {
    let link = format!("{} Mbit/s", 50.0 * link);
    format!(
        "
name: shop
seed: 1
replicates: 1
horizon: 24h
fleet:
  - {{name: 'canary-{{1..4}}', labels: {{ring: canary}}, nodes: 1, downlink: {link}}}
  - {{name: 'store-{{01..20}}', labels: {{ring: rest}}, nodes: 1, downlink: {link}}}
registry: {{egress: 2 Gbit/s}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 400 MB}}, {{size: 100 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, replicas: 1}}]
strategies: {{it: {{{}}}}}
{faults}
",
        product.strategy()
    )
}

fn loaded(text: &str, seed: Option<u64>) -> (TempDir, VariedExperiment) {
    let folder = folder_with(&[("experiment.yaml", text)]);
    let overrides = Overrides {
        seed,
        ..Overrides::default()
    };
    let varied = VariedExperiment::load(folder.path(), &overrides);
    let varied = varied.unwrap_or_else(|error| panic!("{}", error.render(false)));
    (folder, varied)
}

/// The true rollout in a world.
fn rollout(product: Exported, world: World, number: u32) -> RunRecord {
    let text = match world {
        World::Links(factor) => text(product, factor, ""),
        World::Offline => text(product, 1.0, "faults: {offline: {share: 10%, return: 1h}}"),
        World::Failures => text(
            product,
            1.0,
            "faults: {apply: [{share: 12%, kind: rejected}]}",
        ),
        World::Matching | World::WrongStart(_) | World::MissingClusters => text(product, 1.0, ""),
    };
    truth(&loaded(&text, None).1, number)
}

/// The time of a cut. It exists although some targets never become ready.
fn cut_of(run: &RunRecord, share: f64) -> f64 {
    if run.run.reachable_ready_s.is_some() {
        return cut(run, share);
    }
    let mut ready: Vec<f64> = run.clusters.iter().filter_map(|row| row.ready_s).collect();
    ready.sort_by(f64::total_cmp);
    let last = (share * run.clusters.len() as f64) as usize;
    ready[last.min(ready.len()) - 1] + 1.0
}

/// Removes two targets from an export.
fn without_two(product: Exported, text: &str) -> String {
    let mut export: Value = serde_json::from_str(text).expect("JSON");
    let list = match product {
        Exported::ArgoCd => &mut export["status"]["applicationStatus"],
        Exported::KubeFleet => &mut export["status"]["stagesStatus"][1]["clusters"],
        Exported::Fleet | Exported::KubeFleetRolling => &mut export["items"],
        Exported::CloudFoundry => &mut export["resources"],
    };
    let list = list.as_array_mut().expect("a list");
    list.truncate(list.len() - 2);
    export.to_string()
}

/// The forecast of a rollout at a cut. `None`: it is refused.
fn answer(
    product: Exported,
    world: World,
    (number, run): (u32, &RunRecord),
    varied: &VariedExperiment,
    draws: u32,
) -> Option<ForecastRecord> {
    let folder = TempDir::new().expect("created");
    let now = cut_of(run, SHARES[number as usize % SHARES.len()]);
    let mut inputs = inputs(folder.path(), product, run, now, draws);
    inputs.released = match world {
        World::WrongStart(error) => Some(time(error)),
        _ => None,
    };
    if product == Exported::ArgoCd || product == Exported::KubeFleetRolling {
        // Late in a rollout, exports of these products do not show the start.
        inputs.released = inputs.released.or(Some(time(0.0)));
    }
    if world == World::MissingClusters {
        let path = inputs.status.last().expect("an export");
        let text = std::fs::read_to_string(path).expect("written");
        std::fs::write(path, without_two(product, &text)).expect("written");
    }
    let forecaster = Forecaster::new(varied, 0, &inputs).ok()?;
    forecaster.forecast(|| {}).ok()
}

/// Whether a forecast's interval contains the true end of the targets that it is about.
fn covers(record: &ForecastRecord, run: &RunRecord) -> bool {
    let mut left_out: Vec<&str> = record.failed.iter().map(String::as_str).collect();
    let span = match &record.done_without_stuck {
        Some(others) => {
            left_out.extend(record.stuck.iter().map(|stuck| stuck.name.as_str()));
            others
        }
        None => &record.done,
    };
    let mut end: f64 = 0.0;
    for row in &run.clusters {
        if !left_out.contains(&row.cluster.as_str()) {
            end = end.max(row.ready_s.unwrap_or(f64::INFINITY));
        }
    }
    let (low, high) = ends(span);
    low <= end && end <= high
}

/// The ends of a span in seconds; infinite for never.
fn ends(span: &ForecastSpan) -> (f64, f64) {
    let [low, high] =
        [&span.low, &span.high].map(|at| at.as_ref().map_or(f64::INFINITY, |at| at.s));
    (low, high)
}

/// Forecasts rollouts of a product in a kind of world.
#[expect(
    clippy::print_stdout,
    reason = "the counts are what the long form is for"
)]
fn outcomes(
    product: Exported,
    world: World,
    numbers: std::ops::Range<u32>,
    draws: u32,
) -> Outcomes {
    let (_folder, varied) = loaded(&text(product, 1.0, ""), None);
    let mut found = Outcomes::default();
    for number in numbers {
        let run = rollout(product, world, number);
        found.rollouts += 1;
        let Some(record) = answer(product, world, (number, &run), &varied, draws) else {
            found.refused += 1;
            continue;
        };
        let is_widened = record.update_ratio.is_some()
            || record.expected_failures.is_some()
            || record.done_without_stuck.is_some();
        let is_covered = covers(&record, &run);
        found.widened += u32::from(is_widened);
        found.answered += 1;
        found.covered += u32::from(is_covered);
        if !is_covered {
            let end = run.run.reachable_ready_s;
            println!(
                "  missed {product:?} {world:?} {number}: {:?} of {end:?}, ratio {:?}, ready {}",
                ends(&record.done),
                record.update_ratio.map(|ratio| ratio.median),
                record.seen.ready
            );
        }
    }
    println!("{product:?} {world:?}: {found:?}");
    found
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the counts are what the long form is for"
)]
fn forecasts_cover_the_end_or_say_that_the_world_differs() {
    let is_long = std::env::var_os("FORECAST_EVIDENCE").is_some();
    let (matching, differing) = if is_long { (24, 4) } else { (1, 1) };
    let draws = 19;
    let only = std::env::var("FORECAST_PRODUCT").unwrap_or_default();
    let mut in_matching = Outcomes::default();
    let mut in_differing = Outcomes::default();
    for (at, product) in ALL.into_iter().enumerate() {
        if !only.is_empty() && only != format!("{product:?}") {
            continue;
        }
        in_matching += outcomes(product, World::Matching, 200..200 + matching, draws);
        for (kind, world) in DIFFERING.into_iter().enumerate() {
            // The quick form tries each kind of world with one product.
            if is_long || kind % ALL.len() == at {
                in_differing += outcomes(product, world, 300..300 + differing, draws);
            }
        }
    }
    println!("matching: {in_matching:?}, differing: {in_differing:?}");
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
    let caught = in_differing.refused + in_differing.widened;
    let covered = in_matching.covered + in_differing.covered;
    let answered = in_matching.answered + in_differing.answered;
    if is_long {
        assert!(share(in_matching.refused, in_matching.rollouts) <= 0.1);
        assert!(share(caught, in_differing.rollouts) >= 0.8);
        assert!((0.85..=0.95).contains(&share(covered, answered)));
    } else {
        assert_eq!(in_matching.refused, 0, "{in_matching:?}");
        assert!(
            share(caught, in_differing.rollouts) >= 0.7,
            "{in_differing:?}"
        );
        assert!(
            share(covered, answered) >= 0.7,
            "{in_matching:?}, {in_differing:?}"
        );
    }
}

/// The draws of two seeds have no random number in common.
#[test]
fn two_seeds_give_nearly_the_same_interval() {
    let product = Exported::KubeFleetRolling;
    let run = rollout(product, World::Matching, 3);
    let mut spans = Vec::new();
    for seed in [1, 2] {
        let (_folder, varied) = loaded(&text(product, 1.0, ""), Some(seed));
        let record = answer(product, World::Matching, (3, &run), &varied, 99);
        spans.push(interval(&record.expect("answered")));
    }
    let [(low, high), (other_low, other_high)] = spans[..] else {
        panic!("two spans");
    };
    // Exports are in whole seconds, so two seconds are no difference.
    let most = (0.1 * (high - low)).max(2.0);
    assert!(
        (low - other_low).abs() < most && (high - other_high).abs() < most,
        "{spans:?}"
    );
}

/// A rollout is watched from its first ready targets to its last ones.
#[test]
fn a_watched_forecast_converges_and_says_why_it_jumps() {
    let product = Exported::Fleet;
    let (folder, varied) = loaded(&text(product, 1.0, ""), None);
    let run = rollout(product, World::Links(0.5), 3);
    let end = run.run.reachable_ready_s.expect("it completes");
    let mut last: Option<ForecastRecord> = None;
    let mut widths = Vec::new();
    for share in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let inputs = inputs(folder.path(), product, &run, cut(&run, share), 19);
        let record = forecast(&Forecaster::new(&varied, 0, &inputs).expect("valid"));
        let (low, high) = interval(&record);
        widths.push(high - low);
        if let Some(last) = &last {
            let (before_low, before_high) = interval(last);
            let median = record.done.median.as_ref().expect("it ends").s;
            let is_jump = median < before_low || median > before_high;
            assert_eq!(is_jump, forecast_change(last, &record).is_some());
        }
        last = Some(record);
    }
    let record = last.expect("five forecasts");
    let median = record.done.median.as_ref().expect("it ends").s;
    assert!((median - end).abs() < 0.1 * end, "{median} of {end}");
    assert!(widths[4] < 0.5 * widths[0], "{widths:?}");
}

//! Evidence over many simulated rollouts, in worlds that match the experiment's file and in worlds that do not.
//!
//! Constants of each world are drawn from their ranges. A rollout is cut at one share of ready targets, exported, and
//! forecast from the experiment's file. An answered forecast covers if its interval contains the true end of the
//! targets that it is about: all except those that fail for good, and except stuck ones if it gives an end without
//! them.
//!
//! A forecast is widened if its interval is a tenth wider than without what the check of the observed updates adds, or
//! if it gives a second end. It has a sentence if it says that the updates or failures differ.
//!
//! The quick form runs in the suite. `FORECAST_EVIDENCE=1` runs the long form, whose tables docs/forecast.md quotes;
//! `FORECAST_PRODUCT` and `FORECAST_WORLD` select a part of it.

use std::ops::AddAssign;

use fleetsim::forecast::Forecaster;
use fleetsim::report::{forecast_change, forecast_text};
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

/// Number of draws of a group.
const DRAWS: u32 = 19;

/// The shares of ready targets at which rollouts are cut, in turn.
const SHARES: [f64; 4] = [0.3, 0.6, 0.2, 0.8];

impl World {
    /// The kind of world in the table.
    const fn kind(self) -> &'static str {
        match self {
            Self::Matching => "as the file says",
            Self::Links(_) => "links of 0.3 to 3 times the file's",
            Self::Offline => "a tenth of the clusters offline for an hour",
            Self::Failures => "the apply fails in an eighth of the clusters",
            Self::WrongStart(_) => "the start given with an error of ten minutes",
            Self::MissingClusters => "two clusters missing in the export",
        }
    }
}

/// The least widening that counts.
const LEAST_WIDENING: f64 = 1.1;

/// The number of outcomes.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    rollouts: u32,
    refused: u32,
    /// Answered with a sentence that the updates or failures differ.
    said: u32,
    /// Answered with a wider interval or a second end.
    widened: u32,
    /// Answered with a sentence, a wider interval or a second end.
    marked: u32,
    answered: u32,
    covered: u32,
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.rollouts += other.rollouts;
        self.refused += other.refused;
        self.said += other.said;
        self.widened += other.widened;
        self.marked += other.marked;
        self.answered += other.answered;
        self.covered += other.covered;
    }
}

/// The outcomes of a kind of world, or of a product in matching worlds, in the order of the table.
#[derive(Default)]
struct Table {
    rows: Vec<(String, Outcomes)>,
}

impl Table {
    fn add(&mut self, name: &str, outcomes: Outcomes) {
        match self.rows.iter_mut().find(|(known, _)| known == name) {
            Some((_, row)) => *row += outcomes,
            None => self.rows.push((name.to_owned(), outcomes)),
        }
    }

    /// The rows in Markdown.
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, row) in &self.rows {
            text += &format!(
                "| {name} | {} | {} | {} | {} | {} | {} of {} |\n",
                row.rollouts,
                row.refused,
                row.said,
                row.widened,
                row.marked,
                row.covered,
                row.answered
            );
        }
        text
    }
}

/// The targets of the long form: 4 canaries and 20 others.
const LARGE: Fleet = Fleet {
    canaries: 4,
    stores: 20,
};

/// The targets of the quick form.
const SMALL: Fleet = Fleet {
    canaries: 2,
    stores: 10,
};

/// The number of targets of each kind.
#[derive(Clone, Copy, Debug)]
struct Fleet {
    canaries: u32,
    stores: u32,
}

/// The text of an experiment whose links matter.
fn text(product: Exported, fleet: Fleet, link: f64, faults: &str) -> String {
    let Fleet { canaries, stores } = fleet;
    let link = format!("{} Mbit/s", 50.0 * link);
    format!(
        "
name: shop
seed: 1
replicates: 1
horizon: 24h
fleet:
  - {{name: 'canary-{{1..{canaries}}}', labels: {{ring: canary}}, nodes: 1, downlink: {link}}}
  - {{name: 'store-{{01..{stores}}}', labels: {{ring: rest}}, nodes: 1, downlink: {link}}}
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
fn rollout(product: Exported, fleet: Fleet, world: World, number: u32) -> RunRecord {
    let text = match world {
        World::Links(factor) => text(product, fleet, factor, ""),
        World::Offline => {
            let faults = "faults: {offline: {share: 10%, return: 1h}}";
            text(product, fleet, 1.0, faults)
        }
        World::Failures => text(
            product,
            fleet,
            1.0,
            "faults: {apply: [{share: 12%, kind: rejected}]}",
        ),
        World::Matching | World::WrongStart(_) | World::MissingClusters => {
            text(product, fleet, 1.0, "")
        }
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
        // A target that fails later is none of those that the end is about, either.
        let fails = row.instructed_s.is_some() && row.ready_s.is_none();
        if !fails && !left_out.contains(&row.cluster.as_str()) {
            end = end.max(row.ready_s.unwrap_or(f64::INFINITY));
        }
    }
    let (low, high) = ends(span);
    low <= end && end <= high
}

/// Whether a forecast says that the updates or failures differ from those of the experiment.
const fn says_a_difference(record: &ForecastRecord) -> bool {
    record.update_ratio.is_some()
        || record.unlearnt_ratio.is_some()
        || record.expected_failures.is_some()
}

/// Whether a forecast is wider than without the check of the updates, or has a second end.
fn is_widened(record: &ForecastRecord) -> bool {
    record.done_without_stuck.is_some()
        || record
            .widening
            .is_some_and(|widening| widening >= LEAST_WIDENING)
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
    fleet: Fleet,
    world: World,
    numbers: std::ops::Range<u32>,
) -> Outcomes {
    let mut found = Outcomes::default();
    for number in numbers {
        // Every rollout is compared with draws of its own.
        let seed = Some(u64::from(number));
        let (_folder, varied) = loaded(&text(product, fleet, 1.0, ""), seed);
        let run = rollout(product, fleet, world, number);
        found.rollouts += 1;
        let Some(record) = answer(product, world, (number, &run), &varied, DRAWS) else {
            found.refused += 1;
            continue;
        };
        let is_covered = covers(&record, &run);
        found.said += u32::from(says_a_difference(&record));
        found.widened += u32::from(is_widened(&record));
        found.marked += u32::from(says_a_difference(&record) || is_widened(&record));
        println!(
            "  {product:?} {world:?} {number}: rare {}, unlearnt {}, failures {}, widening {:?}, \
             disagreement {}, draws {}",
            record.update_ratio.is_some(),
            record.unlearnt_ratio.is_some(),
            record.expected_failures.is_some(),
            record.widening,
            record.disagreement,
            record.draws
        );
        found.answered += 1;
        found.covered += u32::from(is_covered);
        if !is_covered {
            let end = run.run.reachable_ready_s;
            println!(
                "  missed {product:?} {world:?} {number}: {:?} of {end:?}, ratio {:?}, ready {}",
                ends(&record.done),
                record.update_ratio,
                record.seen.ready
            );
        }
    }
    println!("{product:?} {world:?}: {found:?}");
    found
}

/// Whether a product has a kind of world. Cloud Foundry applies nothing in a cluster, so no apply fails.
fn exists(product: Exported, world: World) -> bool {
    product != Exported::CloudFoundry || world != World::Failures
}

/// Whether the environment variable is unset, or selects the value with this debug text.
fn is_selected(variable: &str, text: &str) -> bool {
    match std::env::var(variable) {
        Ok(wanted) => text == wanted || text.starts_with(&format!("{wanted}(")),
        Err(_) => true,
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the tables are what the long form is for"
)]
fn forecasts_cover_the_end_or_say_that_the_world_differs() {
    let is_long = std::env::var_os("FORECAST_EVIDENCE").is_some();
    let (matching, differing) = if is_long { (24, 5) } else { (1, 1) };
    let fleet = if is_long { LARGE } else { SMALL };
    let mut in_matching = Outcomes::default();
    let mut in_differing = Outcomes::default();
    let mut table = Table::default();
    let mut by_product = Table::default();
    for (at, product) in ALL.into_iter().enumerate() {
        if !is_selected("FORECAST_PRODUCT", &format!("{product:?}")) {
            continue;
        }
        if is_selected("FORECAST_WORLD", "Matching") {
            let first = 2000 + 100 * at as u32;
            let found = outcomes(product, fleet, World::Matching, first..first + matching);
            in_matching += found;
            table.add(World::Matching.kind(), found);
            by_product.add(&format!("{product:?}"), found);
        }
        for (kind, world) in DIFFERING.into_iter().enumerate() {
            // The quick form tries each kind of world with one product.
            let is_tried = (is_long || kind % ALL.len() == at) && exists(product, world);
            if is_tried && is_selected("FORECAST_WORLD", &format!("{world:?}")) {
                let first = 3000 + 100 * at as u32 + 10 * kind as u32;
                let found = outcomes(product, fleet, world, first..first + differing);
                in_differing += found;
                table.add(world.kind(), found);
            }
        }
    }
    println!(
        "| world | rollouts | refused | a sentence | wider | either | the end is within |\n{}{}",
        table.text(),
        by_product.text()
    );
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
    let caught = in_differing.refused + in_differing.marked;
    let covered = in_matching.covered + in_differing.covered;
    let answered = in_matching.answered + in_differing.answered;
    assert!(share(in_matching.refused, in_matching.rollouts) <= 0.1);
    if is_long {
        assert!(share(in_matching.said, in_matching.rollouts) <= 0.12);
        assert!(share(caught, in_differing.rollouts) >= 0.8);
        assert!((0.85..=0.95).contains(&share(covered, answered)));
    } else {
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

/// Links of a tenth of the file's: no draw of the constants makes updates as slow.
#[test]
fn a_link_far_slower_than_in_the_file_is_said_and_the_end_is_within() {
    let product = Exported::Fleet;
    let run = rollout(product, SMALL, World::Links(0.1), 300);
    let (_folder, varied) = loaded(&text(product, SMALL, 1.0, ""), None);
    let record = answer(product, World::Links(0.1), (300, &run), &varied, DRAWS);
    let record = record.expect("it is answered");
    let found = record.update_ratio.expect("the links are wrong");
    assert!(found.ratio.low > 1.25 && found.beyond > 0.9, "{found:?}");
    assert!(covers(&record, &run), "{record:?}");
    let shown = forecast_text(&record, 1_000);
    for part in [
        "Updates take ",
        " what the experiment's own values give, slower than in ",
        " of the draws of its constants: compare its links and images with the real ones.",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// The draws of two seeds have no random number in common.
#[test]
fn two_seeds_give_nearly_the_same_interval() {
    let product = Exported::KubeFleetRolling;
    let run = rollout(product, LARGE, World::Matching, 3);
    let mut spans = Vec::new();
    for seed in [1, 2] {
        let (_folder, varied) = loaded(&text(product, LARGE, 1.0, ""), Some(seed));
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
    let (folder, varied) = loaded(&text(product, LARGE, 1.0, ""), None);
    let run = rollout(product, LARGE, World::Links(0.5), 3);
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

//! Forecasts of truncated rollouts: simulated ones in worlds that differ from the defaults, in the format of each
//! product.

mod coverage;
mod evidence;
mod exporter;
mod facts;
mod order;
mod people;
mod refusals;
mod rejected;
mod watched;

use std::path::Path;

use fleetsim::forecast::{ForecastInputs, Forecaster};
use fleetsim::results::{ForecastRecord, RunRecord};
use fleetsim::scenario::{Level, Overrides, VariedExperiment};
use fleetsim::sim;
use tempfile::TempDir;

use super::common::{fleetsim, folder_with, loaded, root, text, with_outputs};
use exporter::{Exported, time};

/// The shares of ready targets at which rollouts are cut off.
const CUTS: [f64; 4] = [0.1, 0.3, 0.6, 0.9];

/// An experiment with 24 targets and the default strategy of the product.
fn experiment(product: Exported) -> (TempDir, VariedExperiment) {
    experiment_with(product.strategy(), &[])
}

/// An experiment with 24 targets, a strategy, and the files of the strategy.
fn experiment_with(strategy: &str, files: &[(&str, &str)]) -> (TempDir, VariedExperiment) {
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
strategies: {{it: {{{strategy}}}}}
"
    );
    let files: Vec<(&str, &str)> = files
        .iter()
        .copied()
        .chain([("experiment.yaml", text.as_str())])
        .collect();
    let folder = folder_with(&files);
    let varied = VariedExperiment::load(folder.path(), &Overrides::default());
    let varied = varied.unwrap_or_else(|error| panic!("{}", error.render(false)));
    (folder, varied)
}

/// Simulates the true rollout, in a world whose constants are drawn from their ranges.
fn truth(varied: &VariedExperiment, world: u32) -> RunRecord {
    let names: Vec<&str> = varied
        .constants()
        .iter()
        .map(|constant| constant.name)
        .collect();
    let seed = 1_000 + u64::from(world);
    let shares = sim::draw_shares(&names, seed, 0);
    let levels: Vec<(usize, Level)> = shares
        .into_iter()
        .map(Level::Quantile)
        .enumerate()
        .collect();
    let experiment = varied.at(&levels).expect("valid");
    sim::run(&experiment.variants[0], seed, 0).expect("no process")
}

/// The time at which a share of the targets was ready. It is before the end of the rollout, even if the last targets
/// become ready together.
fn cut(run: &RunRecord, share: f64) -> f64 {
    let mut ready: Vec<f64> = run.clusters.iter().filter_map(|row| row.ready_s).collect();
    ready.sort_by(f64::total_cmp);
    let end = run.run.reachable_ready_s.expect("it completes");
    (ready[(share * ready.len() as f64) as usize - 1] + 1.0).min(end - 2.0)
}

/// Writes the exports of a run, and reads them for a forecast.
fn inputs(
    folder: &Path,
    product: Exported,
    run: &RunRecord,
    now: f64,
    draws: u32,
) -> ForecastInputs {
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
    forecaster.forecast(|| {}).expect("simulated")
}

/// The interval of the completion time, in seconds; infinite for never.
fn interval(record: &ForecastRecord) -> (f64, f64) {
    let end = |time: &Option<fleetsim::results::ForecastTime>| {
        time.as_ref().map_or(f64::INFINITY, |time| time.s)
    };
    (end(&record.done.low), end(&record.done.high))
}

/// The forecast one second after the release, when no target is ready.
fn unconditioned(
    folder: &Path,
    product: Exported,
    varied: &VariedExperiment,
    draws: u32,
) -> (f64, f64) {
    let inputs = inputs(folder, product, &truth(varied, 0), 1.0, draws);
    let forecaster = Forecaster::new(varied, 0, &inputs);
    interval(&forecast(
        &forecaster.unwrap_or_else(|error| panic!("{}", error.render(false))),
    ))
}

/// The folder of an experiment with the exports of a rollout that is cut at 30 %.
fn cut_folder(product: Exported) -> TempDir {
    let (folder, varied) = experiment(product);
    let run = truth(&varied, 3);
    inputs(folder.path(), product, &run, cut(&run, 0.3), 19);
    folder
}

/// The output of the program, with its exit code.
fn printed(folder: &Path, arguments: &[&str]) -> (String, i32) {
    let output = fleetsim(folder)
        .arg("forecast")
        .args(arguments)
        .output()
        .expect("it starts");
    (
        text(&output.stdout) + &text(&output.stderr),
        output.status.code().expect("it ends"),
    )
}

/// Changes one value in an export of a rollout that is cut at 30 %. Returns the program's output for it.
fn changed(
    product: Exported,
    file: &str,
    change: impl Fn(&mut serde_json::Value),
) -> (String, i32) {
    let folder = cut_folder(product);
    let path = folder.path().join(file);
    let text = std::fs::read_to_string(&path).expect("written");
    let mut export: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    change(&mut export);
    std::fs::write(&path, export.to_string()).expect("written");
    let files: &[&str] = if product == Exported::CloudFoundry {
        &["deployment.json", "stats.json"]
    } else {
        &["status.json"]
    };
    printed(
        folder.path(),
        &[&["experiment.yaml"], files, &["--draws", "19"]].concat(),
    )
}

/// `UPDATE_DOCS=1` writes the export of the example, and the program's output for it.
#[test]
fn the_page_shows_what_the_program_prints() {
    let folder = root().join("examples/forecast");
    let experiment = loaded(&folder);
    let run = sim::run(&experiment.variants[0], 7, 0).expect("no process");
    let (_, status) = Exported::Fleet.export(&run, cut(&run, 0.6)).remove(1);
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let status = format!("{status:#}\n");
    let page = root().join("docs/forecast.md");
    let written = std::fs::read_to_string(&page).expect("the page");
    let is_update = std::env::var_os("UPDATE_DOCS").is_some();
    if is_update {
        std::fs::write(folder.join("status.json"), &status).expect("written");
    }
    let run = |language: &str, command: &str| {
        let arguments: Vec<&str> = command
            .strip_prefix("fleetsim forecast ")?
            .split(' ')
            .collect();
        (language == "console").then(|| {
            let (shown, code) = printed(root(), &arguments);
            assert_eq!(code, 0, "{shown}");
            shown
        })
    };
    let (now, commands) = with_outputs(&written, run);
    assert_eq!(commands, 1, "the page has one command");
    if is_update {
        std::fs::write(&page, now).expect("written");
        return;
    }
    assert!(
        now == written,
        "UPDATE_DOCS=1 writes the page anew. Now:\n{now}"
    );
    let committed = std::fs::read_to_string(folder.join("status.json")).expect("committed");
    assert!(committed == status, "UPDATE_DOCS=1 writes the export anew");
}

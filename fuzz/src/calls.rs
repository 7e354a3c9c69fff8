//! Calls of the library, each with every text that the program would print about the results.

use std::path::Path;

use fleetsim::calibrate::{CalibrationInputs, DurationColumn, MetricKind};
use fleetsim::import::{ImportError, ImportSources};
use fleetsim::report::{self, Results};
use fleetsim::results::{CalibrationRecord, PlanRecord, SensitivityRecord, to_json};
use fleetsim::scenario::{Experiment, Overrides, load, load_plan};
use fleetsim::units::SimDuration;

use super::{files, has_large_number, in_folder, known};

const WIDTH: usize = 100;

/// Image manifests and the beginning of an experiment with 30 clusters, for every product. Strategies name files that
/// the input replaces.
const MANIFEST: &str = include_str!("../../experiments/02-four-products/shop-v2.json");
const PREVIOUS: &str = include_str!("../../experiments/02-four-products/shop-v1.json");

const HEAD: &str = "\
name: fuzz
fleet:
  - {name: \"a-{01..05}\", labels: {ring: canary, env: prod}, nodes: 1, downlink: 100 Mbit/s}
  - {name: \"b-{01..15}\", labels: {ring: early}, nodes: 2, downlink: 50 Mbit/s}
  - {name: \"c-{01..10}\", labels: {ring: rest}, nodes: 2, downlink: 50 Mbit/s}
registry: {egress: 1 Gbit/s}
release: {kind: update, images: [{name: shop, manifest: v2.json, previous: v1.json}], workloads: []}
strategies: {s: {";

/// The files that every experiment may name.
const FILES: [(&str, &str); 2] = [("v2.json", MANIFEST), ("v1.json", PREVIOUS)];

fn explain(experiment: &Experiment) {
    assert!(!experiment.variants.is_empty());
    for variant in experiment.variants.iter().take(3) {
        let (strategy, fleet) = (variant.scenario.strategy(), variant.scenario.fleet());
        let _ = strategy.explain(fleet);
        let _ = strategy.object_limit(fleet);
        let _ = strategy.as_documented(fleet);
    }
}

/// Runs the checks of `fleetsim check`, and of `fleetsim plan` if the experiment has a plan.
fn check(folder: &Path) {
    let has_plan = match load(folder, &Overrides::default()) {
        Ok(experiment) => {
            explain(&experiment);
            experiment.plan.is_some()
        }
        Err(error) => {
            assert!(!error.render(true).is_empty());
            false
        }
    };
    if has_plan && let Err(error) = load_plan(folder, &Overrides::default()) {
        assert!(!error.render(true).is_empty());
    }
}

/// Runs `fleetsim check` on an experiment.
pub fn experiment(text: &str) {
    let names = [
        "experiment.yaml",
        "v2.json",
        "v1.json",
        "fleet.yaml",
        "set.yaml",
        "staged.yaml",
        "placement.yaml",
        "deployment.json",
        "clusters.json",
        "clusters.csv",
        "values.csv",
    ];
    if !has_large_number(text) {
        in_folder(
            &known(files(text, "experiment.yaml"), &names, &FILES),
            check,
        );
    }
}

/// Runs `fleetsim check` on an experiment with each of the given strategies, such as `rancherFleet: {file: input}`.
pub fn with_strategy(strategies: &[&str], input: &str) {
    for strategy in strategies {
        let experiment = format!("{HEAD}{strategy}}}}}\n");
        let mut files = known(Default::default(), &[], &FILES);
        files.insert("experiment.yaml", &experiment);
        files.insert("input", input);
        in_folder(&files, check);
    }
}

/// Runs `fleetsim import`. Each option in `names` is set if the input contains a file of that name; the first file has
/// the name `first`.
pub fn import(text: &str, first: &str, names: &[&'static str]) {
    let files = known(files(text, first), names, &[]);
    in_folder(&files, |folder| {
        let option = |name: &str| files.contains_key(name).then(|| folder.join(name));
        let word = |name: &str| files.get(name).map(|text| text.trim().to_owned());
        let sources = ImportSources {
            fleet: option("fleet"),
            cluster_groups: option("groups"),
            git_repo: option("gitrepo"),
            schedules: option("schedules"),
            inline: false,
            site: None,
            namespace: word("namespace"),
            members: option("members"),
            placement: option("placement"),
            applications: option("applications"),
            clusters: option("clusters"),
            project: option("project"),
            process: option("process"),
            deployment: option("deployment"),
            manifest: option("manifest"),
            app: word("app"),
            nodes: option("nodes"),
            strategy: option("strategy"),
            images: option("image").into_iter().collect(),
            previous: option("previous").into_iter().collect(),
            platform: "linux/amd64".to_owned(),
            clock: None,
        };
        let out = folder.join("out");
        match fleetsim::import::import(&sources, &out, false) {
            Ok(imported) => {
                assert!(!imported.to_string().is_empty());
                std::fs::remove_dir_all(out).expect("removed");
            }
            Err(ImportError::Input(error)) => {
                assert!(!error.render(true).is_empty());
                assert!(!out.exists(), "nothing is written");
            }
            Err(_) => {}
        }
    });
}

/// Runs `fleetsim calibrate`. The files are selected as for [`import`].
pub fn calibrate(text: &str, first: &str, names: &[&'static str]) {
    let files = known(files(text, first), names, &[]);
    in_folder(&files, |folder| {
        let option = |name: &str| files.contains_key(name).then(|| folder.join(name));
        let metric = |kind: MetricKind, name: &str| option(name).map(|path| (kind, path));
        let lines = |name: &str| {
            files
                .get(name)
                .map_or_else(Vec::new, |text| text.lines().map(str::to_owned).collect())
        };
        let column = |file| DurationColumn {
            file,
            column: "start_s".to_owned(),
            setting: Some("node.startOverhead".to_owned()),
        };
        let inputs = CalibrationInputs {
            events: option("events").into_iter().collect(),
            only: None,
            manifests: option("image")
                .map(|path| ("shop:2".to_owned(), path))
                .into_iter()
                .collect(),
            image_tables: option("images").into_iter().collect(),
            image_names: lines("names"),
            compression_ratio: 2.5,
            rtt: SimDuration::ZERO,
            service_time: SimDuration::ZERO,
            prometheus: [
                metric(MetricKind::Egress, "egress"),
                metric(MetricKind::Requests, "requests"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            durations: option("durations").map(column).into_iter().collect(),
            predict: files.contains_key("predict").then_some(None),
            predict_events: Vec::new(),
            seed: 1,
            resamples: 19,
        };
        if inputs.is_empty() {
            return;
        }
        match fleetsim::calibrate::calibrate(&inputs, fleetsim::study::MOST_MEMORY) {
            Ok(calibrated) => {
                assert!(!report::calibration_text(&calibrated.record, WIDTH).is_empty());
                assert!(!calibrated.record.tables().is_empty());
                assert!(!to_json(&calibrated.record).is_empty());
            }
            Err(error) => assert!(!error.render(true).is_empty()),
        }
    });
}

/// Reads a results folder as `report`, `export` and `reproduce` do. The input replaces files of the folder.
pub fn results(text: &str, defaults: &[(&'static str, &'static str)]) {
    let names: Vec<&'static str> = defaults
        .iter()
        .map(|(name, _)| *name)
        .chain(["plan.json", "sensitivity.json", "calibration.json"])
        .collect();
    let files = known(files(text, "runs.csv"), &names, defaults);
    in_folder(&files, |folder| {
        if let Ok(results) = Results::read(folder) {
            let _ = report::table(&results, WIDTH, report::Detail::All);
            let _ = report::json(&results);
            let _ = report::junit(&results);
            let _ = report::verdicts(&results);
            let _ = report::write_trace(&results, &[], &mut std::io::sink());
            let _ = report::write_metrics(&results, &[], 0.0, &mut std::io::sink());
        }
        if let Ok(plan) = PlanRecord::read(folder) {
            let _ = report::plan_text(&plan, WIDTH);
        }
        if let Ok(record) = SensitivityRecord::read(folder) {
            let _ = report::sensitivity_text(&record, WIDTH);
        }
        if let Ok(record) = CalibrationRecord::read(folder) {
            let _ = report::calibration_text(&record, WIDTH);
        }
    });
}

/// Checks an experiment whose fleet is an inventory: a table if the text begins like one, otherwise an export.
pub fn inventory(text: &str) {
    if has_large_number(text) {
        return;
    }
    let is_export = text.trim_start().starts_with(['{', '[', '-']) || text.contains("kind:");
    let name = if is_export {
        "clusters.json"
    } else {
        "clusters.csv"
    };
    let experiment = format!(
        "name: fuzz\ninventory: {{file: {name}, default: {{nodes: 1, downlink: 50 Mbit/s}}}}\nregistry: {{egress: 1 Gbit/s}}\n\
         release: {{kind: update, images: [{{name: shop, manifest: v2.json, previous: v1.json}}], workloads: []}}\n\
         strategies: {{s: {{rancherFleet: {{}}}}}}\n"
    );
    let mut files = known(Default::default(), &[], &FILES);
    files.insert("experiment.yaml", &experiment);
    files.insert(name, text);
    in_folder(&files, check);
}

//! Coverage of the intervals in worlds that match the file, with the native rules and the products' own controllers.

use std::path::Path;

use fleetsim::forecast::Forecaster;
use fleetsim::scenario::VariedExperiment;

use super::super::upstream_controllers::{BUNDLE, SET, programs};
use super::exporter::{ALL, Exported};
use super::{
    CUTS, cut, experiment, experiment_with, forecast, inputs, interval, truth, unconditioned,
};

/// The number of intervals at each cut that contain the true value, and their mean width as a share of the width of
/// the unconditioned interval.
fn covered(product: Exported, worlds: std::ops::Range<u32>, draws: u32) -> [(u32, f64); 4] {
    let (folder, varied) = experiment(product);
    covered_by(product, (folder.path(), &varied), &varied, worlds, draws)
}

/// Like [`covered`], but forecasts use one experiment, and the true rollouts another one.
#[expect(
    clippy::print_stdout,
    reason = "the measured coverage is what the heavy run is for"
)]
fn covered_by(
    product: Exported,
    (folder, varied): (&Path, &VariedExperiment),
    real: &VariedExperiment,
    worlds: std::ops::Range<u32>,
    draws: u32,
) -> [(u32, f64); 4] {
    let (low, high) = unconditioned(folder, product, varied, draws);
    let mut found = [(0, 0.0); 4];
    for world in worlds.clone() {
        let run = truth(real, world);
        let end = run.run.reachable_ready_s.expect("it completes");
        for (at, share) in CUTS.into_iter().enumerate() {
            let now = cut(&run, share);
            let inputs = inputs(folder, product, &run, now, draws);
            let forecaster = Forecaster::new(varied, 0, &inputs);
            let forecaster = forecaster.unwrap_or_else(|error| panic!("{}", error.render(false)));
            let (from, to) = interval(&forecast(&forecaster));
            let holds = from <= end && end <= to;
            found[at].0 += u32::from(holds);
            found[at].1 += (to - from) / (high - low) / f64::from(worlds.len() as u32);
            println!(
                "{product:?} {world} {share}: now {now:.0}, done {end:.0}, forecast {from:.0} to {to:.0} {holds}"
            );
        }
    }
    println!(
        "{product:?}: unconditioned {low:.0} to {high:.0}, of {} each: {found:?}",
        worlds.len()
    );
    found
}

/// `FORECAST_WORLDS=50 FORECAST_DRAWS=39 cargo test --release --test suite forecast::coverage -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes; docs/forecast.md has what it prints"]
fn coverage_of_cut_rollouts() {
    let number = |name: &str, usual| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (worlds, draws) = (number("FORECAST_WORLDS", 50), number("FORECAST_DRAWS", 39));
    let only = std::env::var("FORECAST_PRODUCT").unwrap_or_default();
    for product in ALL
        .into_iter()
        .filter(|product| only.is_empty() || only == format!("{product:?}"))
    {
        // Other worlds than 0 to 49 are used, on which the likelihood was tuned.
        let found = covered(product, 100..100 + worlds, draws);
        let held: u32 = found.iter().map(|(held, _)| held).sum();
        assert!(
            f64::from(held) >= 0.8 * f64::from(4 * worlds),
            "{product:?}: {found:?}"
        );
    }
}

/// Checks one cut of three rollouts of each product. One of ten intervals may miss; [`coverage_of_cut_rollouts`]
/// measures the share.
#[test]
fn forecasts_of_cut_off_rollouts_contain_the_end_and_are_narrower_than_unconditioned_ones() {
    for product in ALL {
        let (folder, varied) = experiment(product);
        let (low, high) = unconditioned(folder.path(), product, &varied, 19);
        let mut held = 0;
        let mut narrow = 0;
        let mut found = Vec::new();
        for world in 3..9 {
            let run = truth(&varied, world);
            let end = run.run.reachable_ready_s.expect("it completes");
            let inputs = inputs(folder.path(), product, &run, cut(&run, 0.3), 19);
            let forecaster = Forecaster::new(&varied, 0, &inputs);
            let record =
                forecast(&forecaster.unwrap_or_else(|error| panic!("{}", error.render(false))));
            let (from, to) = interval(&record);
            let is_narrow = to - from < 0.3 * (high - low);
            // A rollout that nearly all draws exceed may take several times the unconditioned forecast.
            assert!(
                is_narrow || record.update_ratio.is_some(),
                "{product:?}: {from} to {to}, and {low} to {high} before: {record:?}"
            );
            assert!(
                record.is_conditioned && record.seen.ready >= 7,
                "{product:?}: {record:?}"
            );
            let hold = record.hold.as_ref().map(|hold| hold.rule.as_str());
            assert!(
                record.next.is_some() && hold.is_some_and(|rule| is_rule_of_now(product, rule)),
                "{product:?}: {record:?}"
            );
            narrow += u32::from(is_narrow);
            held += u32::from(from <= end && end <= to);
            found.push(format!("{from:.0} to {to:.0}, in truth {end:.0} s"));
        }
        assert!(
            held >= 4 && narrow >= 4,
            "{product:?}: {held} contain the end, {narrow} are narrow: {found:?}, and {low:.0} to {high:.0} before"
        );
    }
}

/// Whether a rule can hold a rollout in which targets are updating.
fn is_rule_of_now(product: Exported, rule: &str) -> bool {
    match product {
        Exported::Fleet | Exported::KubeFleetRolling => rule == "maxUnavailable",
        Exported::ArgoCd => ["maxUpdate", "steps"].contains(&rule),
        Exported::KubeFleet => ["maxConcurrency", "afterStageTasks"].contains(&rule),
        Exported::CloudFoundry => ["max_in_flight", "routable"].contains(&rule),
    }
}

/// The product's own controller decides, and the forecast uses the native rules. The test has two worlds; with
/// `FORECAST_WORLDS=25 FORECAST_DRAWS=39 FORECAST_PRODUCT=Fleet`, this is the run that docs/forecast.md quotes.
#[test]
fn forecasts_of_rollouts_by_the_products_own_controllers_contain_the_end() {
    if programs().is_none() {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (worlds, draws) = (
        number("FORECAST_WORLDS").unwrap_or(2),
        number("FORECAST_DRAWS").unwrap_or(19),
    );
    let only = std::env::var("FORECAST_PRODUCT").unwrap_or_default();
    let files = [("applicationset.yaml", SET), ("fleet.yaml", BUNDLE)];
    let products = [
        (Exported::Fleet, "rancherFleet", "fleet.yaml"),
        (Exported::ArgoCd, "argoCd", "applicationset.yaml"),
    ];
    for (product, key, file) in products {
        if !only.is_empty() && only != format!("{product:?}") {
            continue;
        }
        let (folder, native) = experiment_with(&format!("{key}: {{file: {file}}}"), &files);
        let (_real, upstream) = experiment_with(
            &format!("{key}: {{file: {file}, controller: upstream}}"),
            &files,
        );
        let found = covered_by(
            product,
            (folder.path(), &native),
            &upstream,
            100..100 + worlds,
            draws,
        );
        let held: u32 = found.iter().map(|(held, _)| held).sum();
        assert!(
            f64::from(held) >= 0.75 * f64::from(4 * worlds),
            "{product:?}: {found:?}"
        );
    }
}

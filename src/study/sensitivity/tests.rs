//! Tests with a small experiment whose answer can be computed by hand.

use std::path::Path;

use super::*;
use crate::results::{HALVINGS, READY_TIME, to_json};
use crate::scenario::Overrides;

/// One cluster with one node and negligible delays: the pull of 100 MB over 100 Mbit/s takes 8 s.
const TEXT: &str = "
name: one
seed: 1
replicates: 2
fleet: [{name: \"a-{1..2}\", nodes: 1, downlink: 100 Mbit/s}]
registry: {perConnection: unlimited}
node: {disk: {class: none}}
agent: {readiness: {delay: 0 s}}
release:
  images: [{name: shop, manifest: {layers: [{size: 100 MB, uncompressed: 1 MB}]}}]
  workloads: [{kind: Deployment, image: shop, start: 0 s}]
strategies: {all: {allAtOnce: {}}, one: {oneByOne: {}}}
assert: [{strategy: all, limit: completion < 30 s}]
";

fn varied(folder: &Path) -> VariedExperiment {
    written(folder, TEXT)
}

fn written(folder: &Path, text: &str) -> VariedExperiment {
    std::fs::write(folder.join("experiment.yaml"), text).expect("written");
    VariedExperiment::load(folder, &Overrides::default()).expect("valid")
}

fn rules(only: &[&str], budget: u64) -> SensitivityRules {
    SensitivityRules {
        objective: None,
        limits: None,
        measures: Vec::new(),
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        variants: Vec::new(),
        screening: budget,
        most: None,
        halvings: HALVINGS,
    }
}

fn analysed(threads: usize, only: &[&str], budget: u64) -> SensitivityRecord {
    let home = tempfile::tempdir().expect("a temporary folder");
    of_rules(threads, &varied(home.path()), &rules(only, budget))
}

fn of_rules(
    threads: usize,
    varied: &VariedExperiment,
    rules: &SensitivityRules,
) -> SensitivityRecord {
    let journal = Journal::unsaved();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads");
    pool.install(|| sensitivity(varied, rules, &journal, || {}))
        .expect("analysed")
}

#[test]
fn only_constants_with_an_existing_path_are_analysed() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let varied = varied(home.path());
    let names: Vec<&str> = varied
        .constants()
        .iter()
        .map(|constant| constant.name)
        .collect();
    assert!(
        names.contains(&"fleet[*].downlink") && names.contains(&"agent.apply"),
        "{names:?}"
    );
    for absent in [
        "distribution.cache.rtt",
        "registry.cdn.cold",
        "faults.outages.repair",
        "registry.perConnection",
    ] {
        assert!(!names.contains(&absent), "{absent} takes part");
    }
    assert!(
        !names.contains(&"release.workloads[*].readiness.period"),
        "there is no probe"
    );
    assert!(
        !names.contains(&"release.workloads[*].start"),
        "zero has no factor"
    );
}

#[test]
fn the_downlink_determines_a_time_of_bytes_divided_by_rate() {
    let record = analysed(2, &["fleet[*].downlink", "faults.nodeLoss.grace"], 0);
    let row = record
        .effects
        .iter()
        .find(|row| row.variant == "all" && row.measure == READY_TIME)
        .expect("the downlink takes part");
    assert_eq!(
        (row.low.as_str(), row.value.as_str(), row.high.as_str()),
        ("20 Mbit/s", "100 Mbit/s", "500 Mbit/s")
    );
    let (low, value, high) = (
        row.at_low.expect("done"),
        row.at_value.expect("done"),
        row.at_high.expect("done"),
    );
    // 100 MB take 40 s at 20 Mbit/s, 8 s at 100 Mbit/s, and 1.6 s at 500 Mbit/s; everything else is equal.
    assert!((low - value - 32.0).abs() < 0.01, "{low} {value}");
    assert!((value - high - 6.4).abs() < 0.01, "{value} {high}");
}

#[test]
fn bisection_finds_the_value_at_which_an_assertion_fails() {
    let record = analysed(2, &["fleet[*].downlink"], 0);
    let decision = record
        .decisions
        .iter()
        .find(|decision| decision.decision.contains("< 30 s"))
        .expect("asserted");
    assert_eq!(decision.answer, "holds");
    let low = &decision.ends[0];
    let (share, _) = low
        .changes
        .clone()
        .unwrap_or_else(|| panic!("{decision:?}"));
    assert_eq!(low.answer, "is exceeded");
    // The duration of the worst run without the 8 s of the pull.
    let home = tempfile::tempdir().expect("a temporary folder");
    let varied = varied(home.path());
    let times = (0..2).map(|replicate| {
        let run =
            crate::sim::run(&varied.base().variants[0], 1, replicate).expect("it has no process");
        run.run.completion_s.expect("complete")
    });
    let rest = times.fold(0.0, f64::max) - 8.0;
    // 8 s · 5^share + rest = 30 s, to within 1/64 of the distance.
    let exact = libm::log((30.0 - rest) / 8.0) / libm::log(5.0);
    assert!(exact < 1.0, "{rest}");
    assert!(
        (share - exact).abs() < 1.0 / 64.0 + 1e-9,
        "{share}, not {exact}"
    );
    assert!(decision.ends[1].changes.is_none());
}

#[test]
fn the_screening_equals_a_manual_calculation_on_any_number_of_threads() {
    let only = ["fleet[*].downlink", "node.pullConstant"];
    let record = analysed(1, &only, 2 * 3 * 8);
    assert_eq!(record.trajectories, 8);
    let row = |constant: &str| {
        let found = record
            .screening
            .iter()
            .find(|row| row.constant == constant && row.variant == "all");
        found.expect("screened").clone()
    };
    // The constant of a pull is added, regardless of other constants. Steps of 2/3 of its logarithmic range: 2 ms to
    // 43 ms, or 9 ms to 200 ms. The effects are 0.062 and 0.286 s.
    let constant = row("node.pullConstant");
    assert!(
        (0.061..0.287).contains(&constant.mu) && (constant.mu_star - constant.mu).abs() < 1e-9,
        "{constant:?}"
    );
    let downlink = row("fleet[*].downlink");
    // Steps of 2/3 of the logarithmic range: 40 s to 4.68 s, or 13.7 s to 1.6 s. The effects are -53 and -18 s.
    assert!(downlink.mu < -18.0 && downlink.mu > -54.0, "{downlink:?}");
    assert!(
        (downlink.mu_star + downlink.mu).abs() < 1e-9,
        "a faster link is never slower"
    );
    assert!(
        downlink.sigma > 1.0,
        "the effect is not linear: {downlink:?}"
    );
    assert_eq!(to_json(&analysed(3, &only, 2 * 3 * 8)), to_json(&record));
}

#[test]
fn a_variant_has_the_same_effects_alone_and_together_with_other_products() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let products = "strategies: {fleet: {rancherFleet: {}}, foundry: {cloudFoundry: {}}}\n";
    let world = TEXT.split("strategies").next().expect("a world");
    let varied = written(home.path(), &format!("{world}{products}"));
    let both = SensitivityRules {
        halvings: 0,
        ..rules(&[], 0)
    };
    let together = of_rules(2, &varied, &both);
    let mut runs = 0;
    for variant in ["fleet", "foundry"] {
        let alone = SensitivityRules {
            variants: vec![variant.to_owned()],
            ..both.clone()
        };
        let record = of_rules(1, &varied, &alone);
        let own: Vec<_> = together
            .effects
            .iter()
            .filter(|row| row.variant == variant)
            .collect();
        assert_eq!(own, record.effects.iter().collect::<Vec<_>>());
        assert_eq!(record.runs, alone.least_runs(&varied));
        runs += record.runs;
    }
    assert_eq!(together.runs, runs);
    let of_all = 2 * 2 * (1 + 2 * varied.constants().len() as u64);
    assert!(
        runs < of_all,
        "constants of the other product were simulated too: {runs} of {of_all} runs"
    );
}

#[test]
fn all_parts_of_an_analysis_together_stay_within_the_budget() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let varied = varied(home.path());
    let all = SensitivityRules {
        screening: 500,
        ..rules(&[], 0)
    };
    let least = all.least_runs(&varied);
    let variants = varied.base().variants.len() as u64;
    let each = variants * u64::from(varied.base().replicates);
    for (left, searches, expected) in [
        (0, 2, (0, 0)),
        // Two bisections in each of two searches, and one run remains.
        (4 * each + 1, 2, (2, 1)),
        (13 * each, 2, (6, each.min(500))),
        (10, 0, (6, 10)),
    ] {
        let rules = SensitivityRules {
            most: Some(least + left),
            halvings: 6,
            ..all.clone()
        };
        let further = rules.further_runs(&varied, searches);
        assert_eq!(
            (further.halvings, further.screening),
            expected,
            "{left} {searches}"
        );
    }
    let further = all.further_runs(&varied, 9);
    assert_eq!((further.halvings, further.screening), (all.halvings, 500));
}

//! Answers of synthetic results.

use super::groups::groups;
use super::*;
use crate::report::Results;
use crate::report::synthetic::{Fleet, Wave, grid, six_settings};
use crate::results::Limit;

fn answered(fleet: &Fleet, limits: &[&str]) -> PageAnswer {
    let home = tempfile::tempdir().expect("a temporary folder");
    fleet.publish(&home.path().join("results"));
    let results = Results::read(&home.path().join("results")).expect("readable");
    let variants = results.variants();
    let limit = |limit: &&str| AssertedLimit {
        limit: Limit::parse(limit).expect("a limit"),
        strategy: None,
    };
    let limits: Vec<AssertedLimit> = limits.iter().map(limit).collect();
    answer(&variants, &groups(&variants), &limits, 42)
}

fn wave(name: &str, size: u64, stalls: u32) -> Wave {
    Wave::new(name, size, stalls)
}

fn of_waves(waves: Vec<Wave>) -> Fleet {
    Fleet {
        waves,
        replicates: 6,
        ..six_settings()
    }
}

/// The text of the only part.
fn text(answer: &PageAnswer) -> &str {
    assert_eq!((answer.lead.as_str(), answer.details.len()), ("", 1));
    &answer.details[0].text
}

#[test]
fn without_limits_the_answer_to_a_sweep_names_the_link_and_the_cost_of_each_step() {
    let full = answered(&six_settings(), &[]);
    let said = text(&full);
    assert!(
        said.contains("Step by step, `maxUnavailable=1` takes "),
        "{said}"
    );
    assert!(
        said.contains(" with a peak of 6 concurrent pulls; `maxUnavailable=5%` saves "),
        "{said}"
    );
    assert!(said.contains(" and `maxUnavailable=100%` saves "), "{said}");
    assert!(said.contains("10 Gbit/s link"), "{said}");
    assert!(!said.contains("completes first"), "{said}");
    // A link that the largest setting fills for a minute.
    let home = tempfile::tempdir().expect("a temporary folder");
    six_settings().publish(&home.path().join("results"));
    let mut results = Results::read(&home.path().join("results")).expect("readable");
    let peaks = results
        .tables
        .runs
        .iter()
        .map(|run| run.egress_peak_60s_bytes_per_s);
    let greatest = peaks.fold(0.0, f64::max);
    for variant in &mut results.provenance.variants {
        variant.registry_egress_bytes_per_s = Some(greatest);
    }
    let variants = results.variants();
    let narrow = answer(&variants, &groups(&variants), &[], 42);
    let said = text(&narrow);
    assert!(
        said.contains("is the fastest setting that leaves room on the registry's "),
        "{said}"
    );
    assert!(narrow.best[0].compromise.is_some());
}

#[test]
fn bounds_come_after_the_users_own_strategies_and_name_the_source_of_their_constants() {
    let own = Wave {
        strategy: "mine".to_owned(),
        ..wave("mine", 100, 0)
    };
    let bound = Wave {
        strategy: "all-at-once".to_owned(),
        ..wave("all-at-once", 1000, 0)
    };
    let answer = answered(&of_waves(vec![bound, own]), &[]);
    let text = text(&answer);
    assert!(text.starts_with("`mine` completes after "), "{text}");
    assert!(
        text.contains("Bounds on the effect of pacing: `all-at-once` completes after "),
        "{text}"
    );
    assert!(
        text.ends_with("They have the agents and the control loop of Rancher Fleet."),
        "{text}"
    );
    assert_eq!(answer.best[0].fastest, Some(1));
}

#[test]
fn the_lead_compares_the_users_own_strategies_with_each_other() {
    let worlds = |strategies: &[(&str, u64)]| {
        let path = "faults.pullFailure";
        let of = |(name, size): &(&str, u64)| grid(name, *size, &[(path, &["0%", "1%"])]);
        let home = tempfile::tempdir().expect("a temporary folder");
        of_waves(strategies.iter().flat_map(of).collect()).publish(&home.path().join("results"));
        let mut results = Results::read(&home.path().join("results")).expect("readable");
        results.draws = results.tables.runs.clone();
        let variants = results.variants();
        answer(&variants, &groups(&variants), &[], 42).lead
    };
    assert_eq!(
        worlds(&[("bold", 100), ("careful", 10), ("all-at-once", 500)]),
        "`bold` completes first in both comparisons, and in all of them in 6 of 6 draws of the constants."
    );
    assert_eq!(
        worlds(&[("bold", 100), ("all-at-once", 500)]),
        "",
        "it has no rival"
    );
}

#[test]
fn a_limit_on_a_share_of_runs_becomes_a_single_run_limit_for_draws() {
    let home = tempfile::tempdir().expect("a temporary folder");
    of_waves(vec![wave("bold", 500, 0), wave("open", 500, 2)])
        .publish(&home.path().join("results"));
    let mut results = Results::read(&home.path().join("results")).expect("readable");
    results.draws = results.tables.runs.clone();
    let variants = results.variants();
    let limit = Limit::parse("P(completion < 24h) >= 50%").expect("a limit");
    let found = answer(
        &variants,
        &groups(&variants),
        &[AssertedLimit {
            limit,
            strategy: None,
        }],
        42,
    );
    let text = text(&found);
    let start = "`bold` is the only one of 2 variants that is shown to meet the limit P(completion < 24h) >= 50%: ";
    assert!(text.starts_with(start), "{text}");
    assert!(
        text.contains(" from their ranges, `bold` meets completion < 24h in 6 of 6 draws."),
        "{text}"
    );
}

#[test]
fn the_answer_begins_with_the_users_own_strategy_if_it_stalls() {
    let own = Wave {
        strategy: "mine".to_owned(),
        ..wave("mine", 100, 1)
    };
    let bound = Wave {
        strategy: "all-at-once".to_owned(),
        ..wave("all-at-once", 1000, 0)
    };
    let answer = answered(&of_waves(vec![bound, own]), &[]);
    let text = text(&answer);
    let first = "`mine` never completes: 6 of 6 runs stalled, blocked by maxUnavailable. ";
    assert!(text.starts_with(first), "{text}");
    assert_eq!(text.matches("stalled").count(), 1, "{text}");
}

#[test]
fn with_limits_the_setting_that_meets_them_comes_first() {
    let answer = answered(&six_settings(), &["peak_pulls < 1000", "completion < 24h"]);
    let kept = text(&answer);
    assert!(
        kept.starts_with("`maxUnavailable=25%` is the fastest of the "),
        "{kept}"
    );
    assert!(
        kept.contains(" of 6 variants that meet both limits: complete after "),
        "{kept}"
    );
    assert!(
        kept.contains("The next faster, `maxUnavailable=50%`, completes after "),
        "{kept}"
    );
    assert!(
        kept.contains(", but exceeds peak_pulls < 1000 (1,500 pulls)."),
        "{kept}"
    );
    let answer = answered(&six_settings(), &["peak_pulls < 10"]);
    let only = text(&answer);
    assert!(
        only.starts_with(
            "`maxUnavailable=1` is the only one of 6 variants that meets the limit peak_pulls < 10: complete after "
        ),
        "{only}"
    );
    let answer = answered(&six_settings(), &["peak_pulls < 0"]);
    let none = text(&answer);
    assert!(
        none.starts_with("None of the 6 variants meets the limit peak_pulls < 0. `"),
        "{none}"
    );
    let answer = answered(&six_settings(), &["peak_pulls < 0", "peak_pulls < 10"]);
    let none = text(&answer);
    assert!(
        none.starts_with(
            "None of the 6 variants meets both limits; `maxUnavailable=1` exceeds the fewest (1)."
        ),
        "{none}"
    );
}

#[test]
fn the_users_own_setting_is_compared_with_the_best_of_a_sweep() {
    let own = Wave {
        strategy: "as-exported".to_owned(),
        ..wave("as-exported", 100, 0)
    };
    let swept = six_settings().waves.into_iter().skip(1);
    let answer = answered(
        &of_waves([own].into_iter().chain(swept).collect()),
        &["peak_pulls < 1000"],
    );
    let text = text(&answer);
    assert!(
        text.contains(" `as-exported` takes ") && text.contains("), with a peak of 300 concurrent"),
        "{text}"
    );
}

#[test]
fn a_variant_that_stalls_does_not_count_among_those_that_meet_the_limits() {
    let answer = answered(
        &of_waves(vec![wave("careful", 100, 2), wave("bold", 500, 0)]),
        &["peak_pulls < 9999"],
    );
    let text = text(&answer);
    assert!(
        text.starts_with("`bold` is the only one of 2 variants that completes and meets the limit peak_pulls < 9999"),
        "{text}"
    );
}

#[test]
fn entries_of_a_fleet_are_named_by_the_products_term() {
    let fleet = of_waves(vec![Wave {
        unreachable: 2,
        ..wave("canary", 50, 0)
    }]);
    let home = tempfile::tempdir().expect("a temporary folder");
    fleet.publish(&home.path().join("results"));
    let mut results = Results::read(&home.path().join("results")).expect("readable");
    results.provenance.variants[0].target = "instance".to_owned();
    let variants = results.variants();
    let found = answer(&variants, &groups(&variants), &[], 42);
    assert!(
        text(&found).contains(" instances are ready after "),
        "{found:?}"
    );
    assert!(
        results
            .displayed()
            .is_some_and(|run| run.conditions().contains("instances offline"))
    );
}

#[test]
fn a_variant_that_stalls_is_not_ranked_and_reported_with_its_rule() {
    let answer = answered(
        &of_waves(vec![wave("careful", 100, 1), wave("bold", 500, 0)]),
        &[],
    );
    let text = text(&answer);
    assert!(text.starts_with("`bold` completes first, after "), "{text}");
    let end = "1 of 2 variants does not complete in every run: `careful` (6 of 6 runs stalled, blocked by maxUnavailable).";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(
        answer.best,
        [Best {
            fastest: Some(1),
            lowest: Some(1),
            ..Best::default()
        }]
    );
}

#[test]
fn the_answer_reports_that_no_variant_completes() {
    let answer = answered(
        &of_waves(vec![wave("careful", 100, 1), wave("bold", 500, 1)]),
        &[],
    );
    let text = text(&answer);
    assert!(
        text.starts_with(
            "No variant completes in every run: `careful` and `bold` (each 6 of 6 runs stalled"
        ),
        "{text}"
    );
    assert_eq!(answer.best, [Best::default()]);
}

#[test]
fn every_variant_that_may_be_the_fastest_is_named() {
    let text = |names: &[&str]| {
        let waves = names
            .iter()
            .map(|name| wave(name, if *name == "slow" { 50 } else { 250 }, 0))
            .collect();
        let answer = answered(&of_waves(waves), &[]);
        text(&answer).to_owned()
    };
    let two = text(&["one", "other"]);
    assert!(
        two.contains(" `other` may be as fast (95% confidence)."),
        "{two}"
    );
    assert!(two.ends_with("No other variant has a lower peak."), "{two}");
    let three = text(&["one", "other", "slow"]);
    assert!(
        three.contains(" `other` may be as fast (95% confidence, for all 3 variants together)."),
        "{three}"
    );
}

#[test]
fn no_variants_give_no_answer_and_a_single_variant_gives_its_numbers() {
    assert_eq!(answered(&of_waves(Vec::new()), &[]), PageAnswer::default());
    let answer = answered(&of_waves(vec![wave("all", 1000, 0)]), &[]);
    assert!(text(&answer).contains("` completes after "), "{answer:?}");
}

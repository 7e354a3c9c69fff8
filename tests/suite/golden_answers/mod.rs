//! The answers to eight typical questions, word by word as the terminal prints them.
//!
//! Each experiment states every constant of its world, so a new version of the model's defaults does not move its
//! answer; the test reads the origins of its settings. With `UPDATE_DOCS=1` the tests write the answers, which are then
//! read again.

use std::path::PathBuf;

use super::common::{fleetsim, root, text};

/// Settings whose default the model took from a measurement, from a product's documents, or as a guess.
const BASES: [&str; 3] = [": measured", ": documented", ": guess"];

/// The folder of the experiments and their answers.
fn folder() -> PathBuf {
    root().join("tests/suite/golden_answers")
}

/// Fails unless an experiment has its recorded answer, and states every constant of its world.
fn assert_answers(name: &str) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let experiment = folder().join(format!("{name}.yaml"));
    let run = fleetsim(home.path())
        .arg("run")
        .arg(&experiment)
        .args(["--out", "out"])
        .output()
        .expect("it runs");
    let answer = answer_in(&text(&run.stdout));
    let recorded = folder().join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&recorded, &answer).expect("answers can be written");
    }
    let expected = std::fs::read_to_string(&recorded).expect("an answer");
    assert_eq!(answer, expected, "{name}: {}", text(&run.stderr));
    let resolved =
        std::fs::read_to_string(home.path().join("out/resolved.yaml")).expect("settings");
    for setting in resolved.lines() {
        let is_unstated =
            setting.contains("  # default") && BASES.iter().any(|basis| setting.ends_with(basis));
        assert!(!is_unstated, "{name} does not state {setting}");
    }
}

/// The answer in the output of a run: the lines before the table.
fn answer_in(printed: &str) -> String {
    let mut answer = String::new();
    for line in printed.lines().take_while(|line| !line.is_empty()) {
        answer.push_str(line);
        answer.push('\n');
    }
    assert!(!answer.is_empty(), "{printed}");
    answer
}

#[test]
fn a_sweep_names_the_fastest_setting_that_leaves_room_and_in_how_many_draws() {
    assert_answers("room");
}

#[test]
fn a_cache_is_compared_with_what_people_have_and_with_its_alternatives() {
    assert_answers("merging-cache");
}

#[test]
fn of_products_that_stall_in_a_run_the_fastest_says_so() {
    assert_answers("offline");
}

#[test]
fn a_quota_of_pulls_is_met_or_avoided() {
    assert_answers("quota");
}

#[test]
fn behind_a_limit_of_requests_more_at_once_is_slower() {
    assert_answers("requests");
}

#[test]
fn the_link_of_a_region_is_named() {
    assert_answers("region");
}

#[test]
fn no_mirror_is_needed_where_the_registry_alone_meets_the_limit() {
    assert_answers("mirrors");
}

#[test]
fn pacing_that_hardly_costs_time_is_chosen_where_pulls_fail_without_it() {
    assert_answers("full-link");
}

//! Tests the race with artificial candidates whose true values are known: its number of runs and its rules. [`rates`]
//! measures how often the race is right.

mod rates;

use self::rates::{TimesOf, Truth, raced};
use super::*;
use crate::results::{CandidateStatus, Statistic};

fn rules(demands: Vec<Statistic>) -> RaceRules {
    RaceRules {
        demands,
        objective: Statistic::Quantile(0.5),
        confidence: 0.95,
        indifference: 0.01,
        confirm: 10,
        most: 137,
        most_compared: 137,
    }
}

const fn takes(mean: f64) -> Truth {
    Truth {
        beyond: 0.0,
        stalls: 0.0,
        shape: TimesOf::Normal { mean, own: 10.0 },
    }
}

/// Returns a race with this number of candidates.
fn entered(candidates: usize, rules: RaceRules) -> Race {
    let mut race = Race::new(candidates, false, rules);
    (0..candidates).for_each(|_| race.enter(None));
    race
}

/// Runs a race to its end. Returns the winner, the number of runs, and all states.
fn race(
    truths: &[Truth],
    rules: &RaceRules,
    seed: u64,
) -> (Option<usize>, usize, Vec<CandidateStatus>) {
    let race = raced(entered(truths.len(), rules.clone()), truths, seed);
    let states = race.states();
    let spent = (0..truths.len()).map(|at| race.runs(at)).sum();
    (
        states
            .iter()
            .position(|state| *state == CandidateStatus::Best),
        spent,
        states,
    )
}

#[test]
fn distinct_settings_need_ten_runs_each() {
    // The candidates are 30% apart. Each has its own spread of 1%, and all share a spread of 5%.
    let truths: Vec<Truth> = (0..6)
        .map(|at| takes(1000.0 * libm::pow(1.3, f64::from((at * 5) % 6))))
        .collect();
    let (winner, spent, states) = race(&truths, &rules(Vec::new()), 1);
    assert_eq!(winner, Some(0));
    assert_eq!(
        states
            .iter()
            .filter(|state| **state == CandidateStatus::Slower)
            .count(),
        5,
        "{states:?}"
    );
    assert_eq!(
        spent,
        6 * 10,
        "no comparison rests on fewer than ten runs, and these need no more"
    );
}

#[test]
fn pairs_decide_where_the_shared_noise_is_greater_than_the_difference() {
    let truths = [takes(1000.0), takes(1040.0)];
    let exactly = RaceRules {
        indifference: 0.0,
        ..rules(Vec::new())
    };
    let (winner, spent, states) = race(&truths, &exactly, 2);
    assert_eq!((winner, states[1]), (Some(0), CandidateStatus::Slower));
    assert!(spent < 2 * 137, "{spent}: before the last look");
}

#[test]
fn one_run_is_enough_to_exceed_a_limit_on_every_run() {
    let mut truths = vec![takes(2000.0)];
    truths.extend((1..10).map(|at| Truth {
        beyond: 1.0,
        ..takes(2000.0 - 100.0 * f64::from(at))
    }));
    let (winner, spent, states) = race(&truths, &rules(vec![Statistic::Every]), 1);
    assert_eq!(winner, Some(0));
    assert!(
        states[1..]
            .iter()
            .all(|state| *state == CandidateStatus::Breaks)
    );
    assert_eq!(
        spent,
        9 + 10,
        "one run each of those that are out, and ten to confirm the one that is left"
    );
}

#[test]
fn the_objective_has_a_bound_only_after_enough_runs() {
    let needs = |objective: Statistic, candidates: usize| {
        RaceRules {
            objective,
            ..rules(Vec::new())
        }
        .runs_for_bounds(candidates)
        .objective
    };
    assert_eq!(needs(Statistic::Quantile(0.5), 2), 10);
    // Computed by hand: 0.95^n must be below a quarter of 5%, of which the tenth look has 10/11: 0.0114, less than
    // 0.95^87.
    assert_eq!(needs(Statistic::Quantile(0.95), 2), 109);
    assert_eq!(
        needs(Statistic::Quantile(0.99), 2),
        215,
        "at most; 0.99^215 = 0.115"
    );
    // 0.95^n must be below half of a quarter of 5%: n = 99.
    assert_eq!(needs(Statistic::Mean, 2), 109);
    let limited = RaceRules {
        demands: vec![Statistic::Quantile(0.95)],
        ..rules(Vec::new())
    };
    assert_eq!(
        limited.runs_for_bounds(1).limits,
        69,
        "0.95^69 = 0.029 < 0.05 * 9/10, and 0.95^55 = 0.0595"
    );
}

#[test]
fn a_quantile_is_judged_by_how_many_runs_are_beyond_it() {
    let state = |demand: Statistic, beyond: usize, runs: usize| {
        let mut race = entered(2, rules(vec![demand]));
        for run in 0..runs {
            race.add(
                0,
                Sample {
                    value: 1.0,
                    excess: vec![if run < beyond { 1.0 } else { -1.0 }],
                    left: 0,
                },
            );
        }
        race.add(
            1,
            Sample {
                value: 1.0,
                excess: vec![-1.0],
                left: 0,
            },
        );
        (race.broken(0).is_some(), race.unshown(0).is_none())
    };
    let (broken, shown, open) = ((true, false), (false, true), (false, false));
    assert_eq!(
        state(Statistic::Quantile(0.95), 9, 9),
        open,
        "nine runs are no look"
    );
    assert_eq!(state(Statistic::Quantile(0.95), 10, 10), broken);
    // P(X >= 3 | 10, 0.05) = 0.0115, and the first look has half of 0.025. P(X >= 2) = 0.086.
    assert_eq!(state(Statistic::Quantile(0.95), 3, 10), broken);
    assert_eq!(state(Statistic::Quantile(0.95), 2, 10), open);
    // Each of two candidates has an error of 0.025: 0.95^69 = 0.029, 0.95^87 = 0.012.
    assert_eq!(state(Statistic::Quantile(0.95), 0, 69), open);
    assert_eq!(state(Statistic::Quantile(0.95), 0, 87), shown);
    assert_eq!(
        state(Statistic::Quantile(0.5), 0, 10),
        shown,
        "0.5^10 = 0.001"
    );
    assert_eq!(
        state(Statistic::Every, 1, 50),
        broken,
        "every run must meet it"
    );
    assert_eq!(
        state(Statistic::Mean, 10, 10),
        open,
        "ten runs show no rare event"
    );
    assert_eq!(state(Statistic::Mean, 137, 137), broken);
    assert_eq!(state(Statistic::Mean, 0, 137), shown);
}

#[test]
fn a_setting_stays_undecided_until_the_runs_show_that_it_meets_a_limit() {
    // 30 runs are not sufficient for the 95th percentile. The slower candidate never exceeds the limit either.
    let rules = RaceRules {
        most: 30,
        most_compared: 30,
        ..rules(vec![Statistic::Quantile(0.95)])
    };
    let (winner, _, states) = race(&[takes(1000.0), takes(2000.0)], &rules, 3);
    assert_eq!(
        (winner, states),
        (None, vec![CandidateStatus::Undecided; 2])
    );
}

#[test]
fn a_stalled_candidate_is_excluded_and_without_an_answer_the_closest_is_reported() {
    let truths = [
        Truth {
            stalls: 1.0,
            ..takes(100.0)
        },
        takes(1000.0),
    ];
    let (winner, _, states) = race(&truths, &rules(vec![Statistic::Every]), 3);
    assert_eq!((winner, states[0]), (Some(1), CandidateStatus::Unfinished));

    let mut race = entered(3, rules(vec![Statistic::Every]));
    for (candidate, excess) in [(0, 50.0), (1, 3.0), (2, 20.0)] {
        race.add(
            candidate,
            Sample {
                value: 1.0,
                excess: vec![excess],
                left: 0,
            },
        );
    }
    assert!(race.next().is_empty(), "there is nothing left to look for");
    assert_eq!(race.closest(&[10.0]), Some(1));
}

#[test]
fn a_candidate_that_leaves_more_behind_is_out_however_fast_it_is() {
    let rules = rules(vec![Statistic::Every]);
    let mut race = entered(3, rules);
    // The first is the fastest. The third leaves fewer behind than all, but exceeds a limit.
    for run in 0..10 {
        for (candidate, value, excess, left) in [
            (0, 10.0, -1.0, if run == 7 { 3 } else { 2 }),
            (1, 60.0, -1.0, 2),
            (2, 5.0, 1.0, 0),
        ] {
            let excess = vec![excess];
            race.add(
                candidate,
                Sample {
                    value,
                    excess,
                    left,
                },
            );
        }
        let first = if run < 7 {
            CandidateStatus::Best
        } else {
            CandidateStatus::Leaves
        };
        assert_eq!(race.states()[0], first, "after run {run}");
    }
    assert_eq!(race.states()[1], CandidateStatus::Best);
    assert_eq!(race.states()[2], CandidateStatus::Breaks);
}

#[test]
fn settings_with_leftovers_run_often_enough_to_be_compared() {
    let mut race = Race::new(2, false, rules(vec![Statistic::Every]));
    race.enter(Some(1.0));
    race.enter(Some(2.0));
    for (candidate, left) in [(0, 1), (1, 0)] {
        let excess = vec![-1.0];
        race.add(
            candidate,
            Sample {
                value: 1.0,
                excess,
                left,
            },
        );
    }
    let wanted = race.next();
    assert_eq!(
        wanted,
        [0, 1].map(|candidate| RunsWanted {
            candidate,
            up_to: 3
        })
    );
}

#[test]
fn candidates_are_not_assumed_to_be_monotonic() {
    // Both ends meet the limit, but the middle does not. The fast end is the answer.
    let truths = [
        takes(5000.0),
        Truth {
            beyond: 1.0,
            ..takes(3000.0)
        },
        Truth {
            beyond: 1.0,
            ..takes(2000.0)
        },
        takes(1000.0),
    ];
    assert_eq!(race(&truths, &rules(vec![Statistic::Every]), 5).0, Some(3));
}

#[test]
fn the_best_value_of_a_setting_that_meets_the_limits_is_the_answer() {
    // Of the values 1 to 5, those below 3 exceed the limit. Times do not matter.
    let truths: Vec<Truth> = (1..=5)
        .map(|value| Truth {
            beyond: if value < 3 { 1.0 } else { 0.0 },
            ..takes(f64::from(value))
        })
        .collect();
    let mut race = Race::new(5, false, rules(vec![Statistic::Every]));
    [1.0, 2.0, 3.0, 4.0, 5.0]
        .into_iter()
        .for_each(|value| race.enter(Some(value)));
    let found = raced(race, &truths, 1);
    use CandidateStatus::{Best, Breaks, Slower};
    assert_eq!(found.states(), [Breaks, Breaks, Best, Slower, Slower]);
    assert_eq!(
        (0..5).map(|at| found.runs(at)).collect::<Vec<_>>(),
        [1, 1, 10, 1, 1]
    );
}

#[test]
fn candidates_that_enter_one_by_one_are_equal_if_their_runs_are() {
    let state = |mut race: Race, runs: usize| {
        for (candidate, run) in
            (0..2).flat_map(|candidate| (0..runs).map(move |run| (candidate, run)))
        {
            race.add(
                candidate,
                Sample {
                    value: 100.0 + 7.0 * (run % 5) as f64,
                    excess: Vec::new(),
                    left: 0,
                },
            );
        }
        race.states()[1]
    };
    let rules = RaceRules {
        indifference: 0.0,
        ..rules(Vec::new())
    };
    let (all, mut tuned) = (entered(2, rules.clone()), Race::new(2, true, rules));
    (0..2).for_each(|_| tuned.enter(None));
    assert_eq!(state(tuned.clone(), 10), CandidateStatus::Equal);
    assert_eq!(
        state(tuned, 9),
        CandidateStatus::Undecided,
        "fewer than ten runs show nothing"
    );
    assert_eq!(state(all, 10), CandidateStatus::Undecided);
}

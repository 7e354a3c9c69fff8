//! The race over made-up candidates, whose truth is known: how often it is right, and how many runs it takes.
#![expect(clippy::print_stdout, reason = "`--nocapture` prints the numbers of docs/plan.md")]

use super::*;
use crate::results::{CandidateStatus, Statistic};

/// Pseudo-random numbers: SplitMix64, and normal ones by Box and Muller.
struct SplitMix(u64);

impl SplitMix {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// The true distribution of a candidate.
#[derive(Clone, Copy)]
struct Truth {
    mean: f64,
    /// How much of the spread is its own; the rest is shared by all in a replicate.
    sd: f64,
    /// The probability that a run is beyond the limit.
    beyond: f64,
    /// The probability that a run never gets there.
    stalls: f64,
}

const fn takes(mean: f64) -> Truth {
    Truth { mean, sd: 10.0, beyond: 0.0, stalls: 0.0 }
}

/// Runs a race to its end. Returns the winner and the runs it took.
fn race(truths: &[Truth], rules: &RaceRules, seed: u64) -> (Option<usize>, usize, Vec<CandidateStatus>) {
    let mut race = Race::new(truths.len(), rules.clone());
    let mut spent = 0;
    loop {
        let wanted = race.next();
        if wanted.is_empty() {
            break;
        }
        for (candidate, up_to) in wanted {
            assert!(up_to > race.runs(candidate) && up_to <= rules.most, "a race asks for more runs, up to its most");
            for replicate in race.runs(candidate)..up_to {
                let shared = 50.0 * SplitMix(seed.wrapping_mul(7919) + replicate as u64).normal();
                let mut own = SplitMix(seed.wrapping_mul(104_729) ^ ((candidate as u64) << 32) ^ replicate as u64);
                let truth = truths[candidate];
                let time = truth.mean + shared + truth.sd * own.normal();
                let time = if own.unit() < truth.stalls { f64::INFINITY } else { time };
                let excess = if own.unit() < truth.beyond { 1.0 } else { -1.0 };
                race.add(candidate, Sample { time, excess: vec![excess; rules.demands.len()] });
                spent += 1;
            }
        }
    }
    let states = race.states();
    (states.iter().position(|state| *state == CandidateStatus::Best), spent, states)
}

fn rules(demands: Vec<Statistic>) -> RaceRules {
    RaceRules { demands, fastest: Statistic::Mean, confidence: 0.95, indifference: 0.01, confirm: 10, most: 100 }
}

#[test]
fn the_fastest_wins_as_often_as_promised_with_few_runs() {
    const RACES: u64 = 400;
    // 2% apart, each with a spread of its own of 1%, behind a shared one of 5%.
    let truths: Vec<Truth> = (0..8).map(|at| takes(1000.0 + 20.0 * f64::from((at * 3) % 8))).collect();
    let (mut right, mut runs) = (0, 0);
    for seed in 0..RACES {
        let (winner, spent, _) = race(&truths, &rules(Vec::new()), seed);
        right += u64::from(winner == Some(0));
        runs += spent as u64;
    }
    let mean = runs as f64 / RACES as f64;
    println!("8 candidates: {right} of {RACES} right, {mean:.1} runs on average; exhaustively 160");
    assert!(right * 100 >= RACES * 95, "{right} of {RACES}");
    assert!(mean < 80.0, "{mean} runs on average; 20 of each are 160");
}

#[test]
fn settings_within_the_zone_of_indifference_are_decided() {
    let truths = [takes(1000.0), takes(1001.0), takes(1500.0)];
    let mut spent = 0;
    for seed in 0..100 {
        let (winner, runs, states) = race(&truths, &rules(Vec::new()), seed);
        let winner = winner.expect("one is found");
        assert!(winner < 2, "the third is half as slow again");
        assert!(states.iter().all(|state| *state != CandidateStatus::Undecided), "{states:?}");
        spent += runs;
    }
    // By hand: both have means a difference of 1 s apart, sd 10 sqrt 2 = 14 s, zone 10 s: some 30 pairs are needed.
    assert!(spent / 100 < 100, "{spent}");
}

#[test]
fn one_run_beyond_a_limit_of_every_run_is_enough() {
    let mut truths = vec![takes(2000.0)];
    truths.extend((1..10).map(|at| Truth { beyond: 1.0, ..takes(2000.0 - 100.0 * f64::from(at)) }));
    let (winner, spent, states) = race(&truths, &rules(vec![Statistic::Every]), 1);
    assert_eq!(winner, Some(0));
    assert!(states[1..].iter().all(|state| *state == CandidateStatus::Breaks));
    assert_eq!(spent, 9 + 10, "one run each of those that are out, and ten to confirm the one that is left");
}

#[test]
fn a_setting_that_occasionally_exceeds_its_limits_is_rarely_chosen() {
    const RACES: u64 = 400;
    // The fastest breaks the limit in three runs of ten: ten runs without one have a probability of 0.7^10 = 2.8%.
    let truths = [Truth { beyond: 0.3, ..takes(1000.0) }, takes(1300.0), takes(1600.0)];
    let (mut taken, mut right) = (0, 0);
    for seed in 0..RACES {
        let (winner, ..) = race(&truths, &rules(vec![Statistic::Every]), seed);
        taken += u64::from(winner == Some(0));
        right += u64::from(winner == Some(1));
    }
    // 2.8% of 400 is 11, standard deviation 3.3.
    assert!(taken <= 11 + 14, "taken {taken} times of {RACES}");
    assert_eq!(taken + right, RACES, "the next one is in the race again, and never the slowest wins");
}

#[test]
fn the_stated_share_of_runs_holds_as_often_as_promised() {
    const RACES: u64 = 500;
    // Five candidates, each beyond the limit in 15% of its runs. The stated share of runs that meet the limit is
    // too high in at most 5% of the races.
    let truths: Vec<Truth> = (0..5).map(|at| Truth { beyond: 0.15, ..takes(1000.0 + 30.0 * f64::from(at)) }).collect();
    let mut wrong = 0;
    for seed in 0..RACES {
        let mut found = Race::new(truths.len(), rules(vec![Statistic::Every]));
        loop {
            let wanted = found.next();
            if wanted.is_empty() {
                break;
            }
            for (candidate, up_to) in wanted {
                for replicate in found.runs(candidate)..up_to {
                    let mut own = SplitMix(seed.wrapping_mul(31_337) ^ ((candidate as u64) << 40) ^ replicate as u64);
                    let time = truths[candidate].mean + own.normal();
                    let excess = if own.unit() < truths[candidate].beyond { 1.0 } else { -1.0 };
                    found.add(candidate, Sample { time, excess: vec![excess] });
                }
            }
        }
        if let Some(leader) = found.states().iter().position(|state| *state == CandidateStatus::Best) {
            wrong += u64::from(found.kept(leader).2 > 0.85);
        }
    }
    assert!(wrong * 20 <= RACES, "too much was said in {wrong} of {RACES} races");
}

#[test]
fn a_quantile_is_judged_by_how_many_runs_are_beyond_it() {
    let out = |demand: Statistic, beyond: usize, runs: usize| {
        let excess: Vec<f64> = (0..runs).map(|run| if run < beyond { 1.0 } else { -1.0 }).collect();
        let mut race = Race::new(2, rules(vec![demand]));
        for excess in excess {
            race.add(0, Sample { time: 1.0, excess: vec![excess] });
        }
        race.add(1, Sample { time: 1.0, excess: vec![-1.0] });
        race.states()[0] == CandidateStatus::Breaks
    };
    // The error is 0.025, of which the first look has a half and the second a sixth.
    assert!(out(Statistic::Quantile(0.99), 1, 1), "of a hundred such runs one may be: 0.01 < 0.0125");
    assert!(!out(Statistic::Quantile(0.95), 1, 1), "0.05 is not less");
    assert!(out(Statistic::Quantile(0.95), 2, 2), "0.05^2 = 0.0025 < 0.0042");
    assert!(!out(Statistic::Quantile(0.95), 1, 20), "one of twenty is what a 95th percentile allows");
    assert!(!out(Statistic::Quantile(0.5), 4, 4), "0.5^4 = 0.06");
    assert!(out(Statistic::Every, 1, 50), "every run must meet it");
}

#[test]
fn a_stalled_candidate_is_out_and_without_an_answer_the_closest_is_known() {
    let truths = [Truth { stalls: 1.0, ..takes(100.0) }, takes(1000.0)];
    let (winner, _, states) = race(&truths, &rules(vec![Statistic::Every]), 3);
    assert_eq!((winner, states[0]), (Some(1), CandidateStatus::Unfinished));

    let mut race = Race::new(3, rules(vec![Statistic::Every]));
    for (candidate, excess) in [(0, 50.0), (1, 3.0), (2, 20.0)] {
        race.add(candidate, Sample { time: 1.0, excess: vec![excess] });
    }
    assert!(race.next().is_empty(), "there is nothing left to look for");
    assert_eq!(race.closest(&[10.0]), Some(1));
}

#[test]
fn no_order_is_assumed() {
    // Both ends meet the limit and the middle does not; the fast end is the answer.
    let truths =
        [takes(5000.0), Truth { beyond: 1.0, ..takes(3000.0) }, Truth { beyond: 1.0, ..takes(2000.0) }, takes(1000.0)];
    assert_eq!(race(&truths, &rules(vec![Statistic::Every]), 5).0, Some(3));
}

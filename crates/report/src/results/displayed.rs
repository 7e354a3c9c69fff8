//! The displayed replicate: the one run of every variant that curves, fleets and individual times show.
//!
//! All variants show the same replicate, so that they have the same offline clusters, delays and failures. A chart
//! shows the variants of all worlds side by side, so worlds share the replicate too. The displayed replicate is the
//! one closest to the medians of all variants, which has the smallest sum of rank distances, over the variants and
//! over two measures, the time until all reachable targets are ready and the peak of pulls; ties go to the first.
//! Unfinished runs rank behind all finished ones. Ranks are used instead of values, because one slow variant would
//! outweigh all others.

use std::collections::BTreeMap;

use super::VariantRecord;
use fleetsim_units::stats::ordered;

/// Unit of rank distances: a multiple of common numbers of runs, so that equal distances stay equal when divided.
const RANK: u64 = 5_354_228_880;

/// The replicate that all `variants` with runs show. `None` without runs, or without a common replicate.
#[must_use]
pub fn displayed_replicate(variants: &[VariantRecord]) -> Option<u32> {
    let mut sums: Option<BTreeMap<u32, u64>> = None;
    for variant in variants {
        if variant.runs.is_empty() {
            continue;
        }
        let own = distances(variant);
        sums = Some(match sums {
            Some(sums) => sums_in_both(&sums, &own),
            None => own,
        });
    }
    let closest = sums?
        .into_iter()
        .min_by_key(|&(replicate, sum)| (sum, replicate));
    closest.map(|(replicate, _)| replicate)
}

/// For each replicate that is in both maps, the sum of its two distances.
fn sums_in_both(one: &BTreeMap<u32, u64>, other: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for (&replicate, distance) in one {
        if let Some(further) = other.get(&replicate) {
            sums.insert(replicate, distance + further);
        }
    }
    sums
}

/// Each replicate of a variant with the distance of its ranks from the middle rank.
fn distances(variant: &VariantRecord) -> BTreeMap<u32, u64> {
    let mut ready: Vec<f64> = Vec::new();
    let mut pulls: Vec<f64> = Vec::new();
    for run in &variant.runs {
        ready.push(run.run.reachable_ready_s.unwrap_or(f64::INFINITY));
        pulls.push(run.run.peak_pulls as f64);
    }
    let of_ready = rank_distances(&ready);
    let of_pulls = rank_distances(&pulls);
    let mut distances = BTreeMap::new();
    for (at, run) in variant.runs.iter().enumerate() {
        distances.insert(run.run.replicate, of_ready[at] + of_pulls[at]);
    }
    distances
}

/// The distance of each value's rank from the middle, as a share of all ranks, in units of 1/(2 [`RANK`]). Equal values
/// share the mean of their ranks.
fn rank_distances(values: &[f64]) -> Vec<u64> {
    let sorted = ordered(values);
    let runs = values.len() as u64;
    let mut distances = Vec::new();
    for value in values {
        let below = sorted.partition_point(|other| other.total_cmp(value).is_lt()) as u64;
        let upto = sorted.partition_point(|other| other.total_cmp(value).is_le()) as u64;
        // Twice the mean rank of equal values is `below + upto + 1`, and twice the middle rank is `runs + 1`.
        distances.push((below + upto).abs_diff(runs) * RANK / runs);
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::super::RunRecord;
    use super::super::testing::{run_record, variant};
    use super::*;
    use crate::results::RunRow;

    /// A variant whose runs have the given times (`None`: unfinished) and peaks.
    fn of(runs: &[(Option<f64>, u64)]) -> VariantRecord {
        let run = |(replicate, &(reachable_ready_s, peak)): (u32, &(Option<f64>, u64))| {
            let record = run_record(replicate, peak);
            RunRecord {
                run: RunRow {
                    reachable_ready_s,
                    ..record.run
                },
                ..record
            }
        };
        variant("v", (0..).zip(runs).map(run).collect())
    }

    #[test]
    fn rank_distances_count_from_the_middle_and_equal_values_share_a_rank() {
        let in_ranks = |values: &[f64]| -> Vec<u64> {
            rank_distances(values)
                .iter()
                .map(|distance| distance * values.len() as u64 / RANK)
                .collect()
        };
        // Ranks 1 to 3 around 2, in half ranks.
        assert_eq!(in_ranks(&[7.0, 9.0, 8.0]), [2, 2, 0]);
        // Ranks 1, 2, 3, 4 around 2.5.
        assert_eq!(in_ranks(&[4.0, 1.0, 3.0, f64::INFINITY]), [1, 3, 1, 3]);
        // The two unfinished runs share rank 3.5.
        assert_eq!(
            in_ranks(&[4.0, f64::INFINITY, f64::INFINITY, 1.0]),
            [1, 2, 2, 3]
        );
        assert_eq!(in_ranks(&[5.0; 3]), [0; 3]);
    }

    #[test]
    fn all_variants_show_the_replicate_closest_to_all_medians() {
        // Ranks 5 3 2 4 1: distances 4 0 2 2 4 in half ranks, for times and for peaks.
        let one = of(&[
            (Some(30.0), 30),
            (Some(20.0), 20),
            (Some(10.0), 10),
            (Some(25.0), 25),
            (Some(5.0), 5),
        ]);
        // Ranks 1 5 3 2 4: distances 4 4 0 2 2. Sums of both: 8 4 2 4 6.
        let two = of(&[
            (Some(10.0), 10),
            (Some(50.0), 50),
            (Some(30.0), 30),
            (Some(20.0), 20),
            (Some(40.0), 40),
        ]);
        assert_eq!(displayed_replicate(std::slice::from_ref(&one)), Some(1));
        assert_eq!(displayed_replicate(std::slice::from_ref(&two)), Some(2));
        assert_eq!(displayed_replicate(&[one, two]), Some(2));
    }

    #[test]
    fn unfinished_runs_rank_last_and_ties_go_to_the_first() {
        let mostly_stalled = of(&[(Some(9.0), 4), (None, 4), (None, 4)]);
        assert_eq!(
            displayed_replicate(&[mostly_stalled]),
            Some(1),
            "the median run is unfinished"
        );
        assert_eq!(
            displayed_replicate(&[of(&[(Some(1.0), 5), (Some(1.0), 5)])]),
            Some(0)
        );
        assert_eq!(
            displayed_replicate(&[of(&[]), of(&[(None, 1)])]),
            Some(0),
            "a variant without runs shows nothing"
        );
        assert_eq!(displayed_replicate(&[]), None);
    }

    /// If each replicate were searched for among all others, each pair of variants would take 10^10 steps.
    #[test]
    fn the_displayed_replicate_of_100000_is_found_quickly() {
        let began = std::time::Instant::now();
        let runs: Vec<(Option<f64>, u64)> = (0..100_000)
            .map(|at| (Some(f64::from(at * 7919 % 99_991)), 1))
            .collect();
        let all = [of(&runs), of(&runs), of(&runs)];
        assert!(displayed_replicate(&all).is_some());
        let rows = |variant: &VariantRecord| {
            variant
                .runs
                .iter()
                .map(|run| run.run.clone())
                .collect::<Vec<_>>()
        };
        let rows: Vec<Vec<RunRow>> = all.iter().map(rows).collect();
        let rows: Vec<Vec<&RunRow>> = rows.iter().map(|rows| rows.iter().collect()).collect();
        // Without values, means are not compared, so this measures only the pairing of the replicates.
        assert_eq!(crate::results::contenders(&rows, |_| None, 1).0, 100_000);
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }

    #[test]
    fn variants_with_more_runs_show_a_replicate_that_all_variants_have() {
        let few = of(&[(Some(1.0), 1), (Some(3.0), 3)]);
        let many = of(&[
            (Some(9.0), 9),
            (Some(8.0), 8),
            (Some(5.0), 5),
            (Some(1.0), 1),
            (Some(2.0), 2),
        ]);
        // Distances of the five: 4/5, 2/5, 0, … and of the two 1/2 each, all twice.
        assert_eq!(displayed_replicate(&[few, many]), Some(1));
    }
}

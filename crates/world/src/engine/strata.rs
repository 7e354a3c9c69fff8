//! Stratified numbers: one number between 0 and 1 for each run, spread evenly over any number of runs.
//!
//! Each of 2^k equal intervals contains exactly one number of the first 2^k runs; other numbers of runs are spread
//! nearly as evenly. Each individual number is uniform, so an estimate from these runs has no bias.
//!
//! The method is the van der Corput sequence in base 2, scrambled at random: Owen, "Randomly permuted (t,m,s)-nets and
//! (t,s)-sequences", in: Monte Carlo and Quasi-Monte Carlo Methods in Scientific Computing (1995). Each digit is
//! flipped by a random bit that depends on the digits before it.
//!
//! Left out: joint stratification of several purposes. The numbers of each purpose are independent of the others.

use rand::Rng;

use super::streams::{EntityKey, Streams};

/// Returns the number for run `replicate` and one purpose, in a study with this seed.
///
/// ```
/// use fleetsim_world::engine::stratified_unit;
///
/// let quarter = |run| (stratified_unit(1, "offline", run) * 4.0) as u32;
/// let mut quarters: Vec<u32> = (0..4).map(quarter).collect();
/// quarters.sort_unstable();
/// assert_eq!(quarters, [0, 1, 2, 3]);
/// ```
#[must_use]
pub fn stratified_unit(seed: u64, purpose: impl Into<EntityKey>, replicate: u32) -> f64 {
    let streams = Streams::of_study(seed);
    let purpose = purpose.into();
    let mut number = 0.0;
    let mut width = 1.0;
    for digit in 0..u32::BITS {
        width /= 2.0;
        // The digits before this one, preceded by a 1 so that 0 and 00 differ.
        let before = (1_u64 << digit) | (u64::from(replicate) & ((1 << digit) - 1));
        let flip = streams.stream_nth(purpose, "stratum", before).next_u64() & 1;
        if u64::from(replicate >> digit) & 1 != flip {
            number += width;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_of_runs_is_spread_evenly() {
        for seed in 0..20 {
            for (first, runs) in [(0, 2), (0, 16), (16, 16), (64, 64), (0, 1024)] {
                let mut met = vec![0; runs as usize];
                for run in first..first + runs {
                    met[(stratified_unit(seed, "a", run) * f64::from(runs)) as usize] += 1;
                }
                assert!(
                    met.iter().all(|&count| count == 1),
                    "seed {seed}, runs from {first}: {met:?}"
                );
            }
        }
    }

    #[test]
    fn each_number_is_uniform_and_depends_on_its_purpose() {
        const SEEDS: u64 = 4_000;
        for run in [0, 1, 7, 12] {
            let numbers: Vec<f64> = (0..SEEDS)
                .map(|seed| stratified_unit(seed, "a", run))
                .collect();
            let mean = numbers.iter().sum::<f64>() / SEEDS as f64;
            let square = numbers.iter().map(|number| number * number).sum::<f64>() / SEEDS as f64;
            // The tolerances are five standard errors: deviations of 0.289 and 0.298, divided by the square root of
            // 4,000.
            assert!(
                (mean - 0.5).abs() < 0.023 && (square - 1.0 / 3.0).abs() < 0.024,
                "run {run}: {mean}, {square}"
            );
        }
        assert_ne!(
            stratified_unit(1, "a", 3).to_bits(),
            stratified_unit(1, "b", 3).to_bits()
        );
    }
}

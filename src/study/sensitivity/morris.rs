//! Morris' design: trajectories through a grid of four levels. Each step moves one constant by two thirds of its
//! range, in terms of probability.

use std::collections::HashMap;

use super::sample::SampleRuns;
use crate::results::Measure;
use crate::stats::Indices;

/// Levels of the grid: 0, 1/3, 2/3, 1.
const LEVELS: usize = 4;
/// The distance of each step. With p levels, p / (2 (p - 1)) makes all levels equally likely.
const STEP: f64 = 2.0 / 3.0;

/// A walk through the grid.
pub(super) struct Trajectory {
    /// The points of the walk, one more than there are constants.
    pub(super) points: Vec<Vec<f64>>,
    /// The constants in the order in which they move, one between each two consecutive points.
    order: Vec<usize>,
}

/// Returns the trajectory with this number. `seed` is the experiment's seed.
pub(super) fn trajectory(constants: usize, seed: u64, number: u32) -> Trajectory {
    // The factor differs from the generator's own step, because multiples of that step would be shifts of one
    // sequence.
    let mut indices = Indices::new(
        seed.rotate_left(32) ^ (u64::from(number) + 1).wrapping_mul(0xD134_2543_DE82_EF95),
    );
    let mut point: Vec<f64> = (0..constants)
        .map(|_| indices.below(LEVELS) as f64 / (LEVELS - 1) as f64)
        .collect();
    let mut order: Vec<usize> = (0..constants).collect();
    for at in (1..constants).rev() {
        order.swap(at, indices.below(at + 1));
    }
    let mut points = vec![point.clone()];
    for &moved in &order {
        point[moved] += if point[moved] < 0.5 { STEP } else { -STEP };
        // The points are sums of thirds, which are rounded to the grid.
        point[moved] = (point[moved] * 3.0).round() / 3.0;
        points.push(point.clone());
    }
    Trajectory { points, order }
}

/// Identifies a series of elementary effects.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct EffectKey {
    /// The constant's index among the active constants.
    pub(super) constant: usize,
    /// The variant's index among the chosen variants.
    pub(super) variant: usize,
    /// The measure's index among the measures of the analysis.
    pub(super) measure: usize,
}

/// Elementary effects, each list in the order of trajectories.
pub(super) type Effects = HashMap<EffectKey, Vec<f64>>;

/// Adds the elementary effects along a trajectory, given one run of each variant at each point.
pub(super) fn add_effects(
    effects: &mut Effects,
    trajectory: &Trajectory,
    samples: &[SampleRuns],
    measures: &[Measure],
) {
    for (step, &constant) in trajectory.order.iter().enumerate() {
        let distance = trajectory.points[step + 1][constant] - trajectory.points[step][constant];
        let pairs = samples[step].iter().zip(&samples[step + 1]).enumerate();
        for (variant, (before, after)) in pairs {
            for (measure, of_measure) in measures.iter().enumerate() {
                let before = of_measure.of(&before[0]);
                let after = of_measure.of(&after[0]);
                // If a time is not reached on one side, there is no difference.
                if let (Some(before), Some(after)) = (before, after) {
                    let key = EffectKey {
                        constant,
                        variant,
                        measure,
                    };
                    let effect = (after - before) / distance;
                    effects.entry(key).or_default().push(effect);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constant_moves_once_and_stays_on_the_grid() {
        for number in 0..50 {
            let Trajectory { points, order } = trajectory(7, 3, number);
            assert_eq!(points.len(), 8);
            let mut moved = order.clone();
            moved.sort_unstable();
            assert_eq!(moved, (0..7).collect::<Vec<_>>());
            for (step, &constant) in order.iter().enumerate() {
                for at in 0..7 {
                    let distance = (points[step + 1][at] - points[step][at]).abs();
                    let expected = if at == constant { STEP } else { 0.0 };
                    assert!((distance - expected).abs() < 1e-9, "{points:?}");
                }
            }
            let on_grid =
                |share: &f64| (0.0..=1.0).contains(share) && (share * 3.0).fract().abs() < 1e-9;
            assert!(points.iter().flatten().all(on_grid), "{points:?}");
        }
    }

    #[test]
    fn all_levels_are_equally_likely() {
        let mut counts = [0_u32; LEVELS];
        for number in 0..2_000 {
            for share in trajectory(3, 11, number).points.iter().flatten() {
                counts[(share * 3.0).round() as usize] += 1;
            }
        }
        // 24,000 values in four groups, one for each level: 6,000 each, with a standard error below 130.
        assert!(
            counts.iter().all(|count| count.abs_diff(6_000) < 500),
            "{counts:?}"
        );
    }
}

//! How far apart two distributions are: the distance of Kolmogorov and Smirnov, the greatest difference between two
//! distribution functions. 0 is equal, 1 is apart altogether.

use super::sample::{ecdf, sorted};

/// The distance between two samples. `None` when either is empty.
///
/// # Panics
/// If a value is not finite.
#[must_use]
pub fn ks_distance(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (left, right) = (sorted(left), sorted(right));
    let (mut i, mut j) = (0, 0);
    let mut distance = 0.0_f64;
    // The functions step at values only, so it is enough to look just after each. Past the end of either sample the
    // difference only shrinks.
    while i < left.len() && j < right.len() {
        let value = left[i].min(right[j]);
        while i < left.len() && left[i] <= value {
            i += 1;
        }
        while j < right.len() && right[j] <= value {
            j += 1;
        }
        distance = distance.max((i as f64 / left.len() as f64 - j as f64 / right.len() as f64).abs());
    }
    Some(distance)
}

/// The distance between a sample and the distribution with the continuous distribution function `cdf`. `None` when
/// the sample is empty.
///
/// # Panics
/// If a value is not finite.
#[must_use]
pub fn ks_distance_to(values: &[f64], cdf: impl Fn(f64) -> f64) -> Option<f64> {
    let points = ecdf(values);
    let mut distance = None;
    let mut before = 0.0;
    for (value, share) in points {
        // The sample's function jumps here from `before` to `share`; the distance is greatest at one of the two.
        let expected = cdf(value);
        let here = (share - expected).abs().max((expected - before).abs());
        distance = Some(distance.map_or(here, |distance: f64| distance.max(here)));
        before = share;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn distances_are_those_worked_out_by_hand() {
        let cases: [(&[f64], &[f64], f64, &str); 4] = [
            (&[1.0, 2.0], &[2.0, 1.0], 0.0, "the same values"),
            (&[1.0, 2.0], &[3.0, 4.0], 1.0, "apart"),
            (&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0], 0.5, "after 2: two of four against none"),
            (&[5.0], &[4.0, 5.0, 6.0, 7.0], 0.5, "after 5: all against two of four"),
        ];
        for (left, right, expected, why) in cases {
            for (a, b) in [(left, right), (right, left)] {
                let found = ks_distance(a, b).expect("neither is empty");
                assert!((found - expected).abs() < 1e-12, "{found}: {why}");
            }
        }
        assert_eq!(ks_distance(&[], &[1.0]), None);
    }

    #[test]
    fn a_sample_is_held_against_a_distribution_on_both_sides_of_its_steps() {
        let uniform = |x: f64| x.clamp(0.0, 1.0);
        for (values, expected, why) in [
            (vec![0.5], 0.5, "from 0 to 1 where the function is at half"),
            (vec![0.25, 0.75], 0.25, "a quarter off on either side of each step"),
            (vec![0.9, 0.9], 0.9, "just before the only step"),
            (vec![0.1, 0.1], 0.9, "just after the only step"),
        ] {
            let found = ks_distance_to(&values, uniform).expect("not empty");
            assert!((found - expected).abs() < 1e-12, "{found}: {why}");
        }
        assert_eq!(ks_distance_to(&[], uniform), None);
    }

    proptest! {
        /// The oracle looks at every value of either sample.
        #[test]
        fn the_walk_finds_the_greatest_difference(left in vec(0u8..20, 1..30), right in vec(0u8..20, 1..30)) {
            let share = |values: &[u8], bound: u8| {
                values.iter().filter(|&&value| value <= bound).count() as f64 / values.len() as f64
            };
            let expected = (0..20).map(|at| (share(&left, at) - share(&right, at)).abs()).fold(0.0, f64::max);
            let floats = |values: &[u8]| values.iter().copied().map(f64::from).collect::<Vec<_>>();
            let found = ks_distance(&floats(&left), &floats(&right)).expect("neither is empty");
            prop_assert!((found - expected).abs() < 1e-12, "{} {}", found, expected);
        }
    }
}

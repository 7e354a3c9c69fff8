//! Draws from distributions. Results are identical to the last bit on every platform.
//!
//! Why not the distributions of `rand_distr`? Distributions that need `exp`, `ln` or `powf` use the platform's
//! functions as soon as any dependency enables `num-traits/std`, and their last bits then depend on the platform and
//! the set of dependencies. Here all functions come from `libm`. The normal and the exponential distribution are those
//! of `rand_distr` with recomputed tails (see `ziggurat.rs`). `clippy.toml` forbids the platform's functions
//! everywhere.
//!
//! Left out: distributions that no model uses.

use rand::Rng;

use super::ziggurat::{standard_exponential, standard_normal};

/// Draws uniformly from 0 (inclusive) to 1 (exclusive), in steps of 2⁻⁵³.
pub fn unit<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// Draws uniformly from `[lo, hi)`; rounding can produce `hi`. Returns `lo` if both are equal.
///
/// # Panics
/// If the bounds are not finite or `lo` is above `hi`.
pub fn uniform<R: Rng + ?Sized>(rng: &mut R, lo: f64, hi: f64) -> f64 {
    assert!(
        lo.is_finite() && hi.is_finite() && lo <= hi,
        "not an interval: {lo} to {hi}"
    );
    lo + (hi - lo) * unit(rng)
}

/// Returns true with probability `p`. Uses one random number whatever `p` is, even if it is 0 (never) or 1 (always).
///
/// # Panics
/// If `p` is not between 0 and 1.
pub fn bernoulli<R: Rng + ?Sized>(rng: &mut R, p: f64) -> bool {
    assert!((0.0..=1.0).contains(&p), "not a probability: {p}");
    unit(rng) < p
}

/// Draws from an exponential distribution with this mean.
///
/// # Panics
/// If `mean` is negative or not finite.
pub fn exponential<R: Rng + ?Sized>(rng: &mut R, mean: f64) -> f64 {
    assert!(mean.is_finite() && mean >= 0.0, "not a mean: {mean}");
    mean * standard_exponential(rng)
}

/// Draws from a lognormal distribution with this median; the logarithms of the draws have standard deviation `sigma`.
/// The mean is `median · exp(sigma² / 2)`.
///
/// # Panics
/// If `median` or `sigma` is negative or not finite.
pub fn lognormal<R: Rng + ?Sized>(rng: &mut R, median: f64, sigma: f64) -> f64 {
    assert!(
        median.is_finite() && median >= 0.0,
        "not a median: {median}"
    );
    assert!(
        sigma.is_finite() && sigma >= 0.0,
        "not a standard deviation: {sigma}"
    );
    median * libm::exp(sigma * standard_normal(rng))
}

/// Draws from a Weibull distribution: a draw is above x with probability `exp(-(x / scale)^shape)`.
///
/// # Panics
/// If `scale` is negative, `shape` is not above zero, or either is not finite.
pub fn weibull<R: Rng + ?Sized>(rng: &mut R, scale: f64, shape: f64) -> f64 {
    assert!(scale.is_finite() && scale >= 0.0, "not a scale: {scale}");
    assert!(shape.is_finite() && shape > 0.0, "not a shape: {shape}");
    scale * libm::pow(standard_exponential(rng), 1.0 / shape)
}

/// Draws from a Pareto distribution: a draw is above x ≥ `min` with probability `(min / x)^alpha`.
///
/// # Panics
/// If `min` is negative, `alpha` is not above zero, or either is not finite.
pub fn pareto<R: Rng + ?Sized>(rng: &mut R, min: f64, alpha: f64) -> f64 {
    assert!(min.is_finite() && min >= 0.0, "not a least value: {min}");
    assert!(
        alpha.is_finite() && alpha > 0.0,
        "not a tail index: {alpha}"
    );
    // The logarithm of a Pareto variable over its minimum is exponential with mean 1 / alpha.
    min * libm::exp(standard_exponential(rng) / alpha)
}

/// Draws like [`pareto`], truncated at `most` and renormalised.
///
/// # Panics
/// If `min` is not above zero, `alpha` is not above zero, `most` is below `min`, or one of them is not finite.
pub fn bounded_pareto<R: Rng + ?Sized>(rng: &mut R, min: f64, alpha: f64, most: f64) -> f64 {
    assert!(min.is_finite() && min > 0.0, "not a least value: {min}");
    assert!(
        alpha.is_finite() && alpha > 0.0,
        "not a tail index: {alpha}"
    );
    assert!(most.is_finite() && most >= min, "not a bound: {most}");
    // The inverse of the distribution function, (1 - (min/x)^alpha) / (1 - (min/most)^alpha).
    let beyond = libm::pow(min / most, alpha);
    (min * libm::pow(1.0 - unit(rng) * (1.0 - beyond), -1.0 / alpha)).min(most)
}

/// Draws from a gamma distribution with this mean; the standard deviation is `mean / sqrt(shape)`.
///
/// The method is that of Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000),
/// without their squeeze step, which only saves time. A shape below 1 is drawn with shape + 1 and scaled down, as in
/// their section 6.
///
/// # Panics
/// If `mean` is negative, `shape` is not above zero, or either is not finite.
pub fn gamma<R: Rng + ?Sized>(rng: &mut R, mean: f64, shape: f64) -> f64 {
    assert!(mean.is_finite() && mean >= 0.0, "not a mean: {mean}");
    assert!(shape.is_finite() && shape > 0.0, "not a shape: {shape}");
    let boost = if shape < 1.0 {
        libm::pow(1.0 - unit(rng), 1.0 / shape)
    } else {
        1.0
    };
    let raised = if shape < 1.0 { shape + 1.0 } else { shape };
    let d = raised - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = standard_normal(rng);
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v > 0.0 && libm::log(1.0 - unit(rng)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return mean / shape * d * v * boost;
        }
    }
}

/// Returns a quantile of a sorted sample at a uniformly drawn probability, interpolated linearly between neighbours
/// (type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996: the default of R and NumPy). No draw
/// is outside the sample.
///
/// # Panics
/// If there are no values.
pub fn empirical<R: Rng + ?Sized>(rng: &mut R, len: usize, value: impl Fn(usize) -> f64) -> f64 {
    assert!(len > 0, "an empirical distribution has values");
    let at = unit(rng) * (len - 1) as f64;
    let below = at as usize;
    let share = at - below as f64;
    let low = value(below);
    let high = value((below + 1).min(len - 1));
    low + (high - low) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Stream, Streams};

    fn stream() -> Stream {
        Streams::new(1, 0).stream("golden", "dist")
    }

    type Draw = fn(&mut Stream) -> f64;
    /// A function that returns the share of draws below a point.
    type Below = fn(f64) -> f64;

    /// The name, draw, mean and standard deviation of each distribution; comments have the formulas.
    fn distributions() -> [(&'static str, Draw, f64, f64); 12] {
        [
            ("unit", unit, 0.5, (1.0_f64 / 12.0).sqrt()),
            (
                "uniform 2 to 5",
                |rng| uniform(rng, 2.0, 5.0),
                3.5,
                3.0 * (1.0_f64 / 12.0).sqrt(),
            ),
            (
                "bernoulli 0.3",
                |rng| if bernoulli(rng, 0.3) { 1.0 } else { 0.0 },
                0.3,
                (0.3_f64 * 0.7).sqrt(),
            ),
            ("standard normal", standard_normal, 0.0, 1.0),
            ("exponential, mean 4", |rng| exponential(rng, 4.0), 4.0, 4.0),
            // mean = m exp(s²/2) = 2 · exp(0.18); sd = mean · sqrt(exp(s²) - 1)
            (
                "lognormal 2, 0.6",
                |rng| lognormal(rng, 2.0, 0.6),
                2.394_434_726,
                1.576_232_756,
            ),
            // mean = s Γ(1 + 1/2) = 3 · 0.886 226 925; sd = s sqrt(1 - π/4)
            (
                "weibull 3, 2",
                |rng| weibull(rng, 3.0, 2.0),
                2.658_680_776,
                1.389_754_127,
            ),
            // mean = a m / (a - 1) = 1.25; sd = m sqrt(a / ((a-1)² (a-2))) = sqrt(5 / 48)
            (
                "pareto 1, 5",
                |rng| pareto(rng, 1.0, 5.0),
                1.25,
                0.322_748_612,
            ),
            // sd = mean / sqrt(shape)
            ("gamma 6, 4", |rng| gamma(rng, 6.0, 4.0), 6.0, 3.0),
            (
                "gamma 2, 0.5",
                |rng| gamma(rng, 2.0, 0.5),
                2.0,
                2.828_427_125,
            ),
            // With L = 1, H = 8, a = 1: mean = ln 8 / (1 - 1/8); E x² = (8 - 1) / (1 - 1/8) = 8
            (
                "pareto 1, 1 up to 8",
                |rng| bounded_pareto(rng, 1.0, 1.0, 8.0),
                2.376_504_619,
                1.533_672_165,
            ),
            // Half of the draws are uniform from 1 to 2, half from 2 to 10: mean = (1.5 + 6) / 2, E x² = ((8 - 1) / 3
            // + (1000 - 8) / 24) / 2 = 21.833 333
            (
                "empirical 1 2 10",
                |rng| empirical(rng, 3, |at| [1.0, 2.0, 10.0][at]),
                3.75,
                2.787_621_443,
            ),
        ]
    }

    #[test]
    fn draws_are_bit_identical_to_recorded_ones() {
        // The first four draws of each distribution; no draw is in the tails mentioned in the header.
        let golden: [[u64; 4]; 12] = [
            [
                0x3fed_2755_47f1_a1a3,
                0x3fe9_16ec_ad19_7248,
                0x3fde_7423_4f12_50e4,
                0x3fea_2dbd_0b4f_d897,
            ],
            [
                0x4012_eebf_fafa_9c9d,
                0x4011_6898_c0e9_8adb,
                0x400b_6b8d_3da6_de56,
                0x4011_d126_e43d_f138,
            ],
            [
                0x0000_0000_0000_0000,
                0x0000_0000_0000_0000,
                0x0000_0000_0000_0000,
                0x0000_0000_0000_0000,
            ],
            [
                0x3feb_d746_0bc8_10e5,
                0x3ff5_a3fe_b3cc_9831,
                0xbfc6_9a29_83fa_868a,
                0x3ff0_f752_e479_a3e6,
            ],
            [
                0x400a_21e8_74dd_6ea1,
                0x4026_6292_e614_f030,
                0x402d_4cf9_42f6_b014,
                0x4019_25d6_f980_b739,
            ],
            [
                0x400a_f77f_0fc3_287a,
                0x4012_02bb_1f9b_9cc0,
                0x3ffc_c878_ace3_3533,
                0x400e_3abf_926f_b148,
            ],
            [
                0x4005_b037_26a1_f0b1,
                0x4014_12b9_56f9_f90a,
                0x4016_f728_2f5b_15fe,
                0x400e_16ab_9e76_abe6,
            ],
            [
                0x3ff2_d6b9_1b0a_2c5c,
                0x3ffc_0013_61a6_57d2,
                0x4000_a479_9cd0_521d,
                0x3ff5_e8ec_0386_f6ba,
            ],
            [
                0x4020_cb08_6663_cf3d,
                0x4014_0871_1d6c_67b6,
                0x4005_9938_b42c_311c,
                0x401a_eb8c_f65e_5182,
            ],
            [
                0x3fba_ea65_8073_5544,
                0x3fa3_5d9e_f36b_e73e,
                0x3ffb_8db2_85c3_7282,
                0x3f9d_db73_223b_29cc,
            ],
            [
                0x4013_b88f_f7b9_7610,
                0x4009_7b2c_3f72_16bc,
                0x3ffb_6a02_4d29_428c,
                0x400c_26c5_fb7f_2345,
            ],
            [
                0x4021_2755_47f1_a1a3,
                0x401a_2dd9_5a32_e490,
                0x3fff_3a11_a789_2872,
                0x401c_5b7a_169f_b12e,
            ],
        ];
        for ((name, draw, ..), expected) in distributions().into_iter().zip(golden) {
            let mut rng = stream();
            let found = [(); 4].map(|()| draw(&mut rng).to_bits());
            assert_eq!(found, expected, "{name}: {found:#018x?}");
        }
    }

    #[test]
    fn sampled_means_are_within_five_standard_errors() {
        const DRAWS: u32 = 200_000;
        for (name, draw, mean, sd) in distributions() {
            let mut rng = stream();
            let sum: f64 = (0..DRAWS).map(|_| draw(&mut rng)).sum();
            let tolerance = 5.0 * sd / f64::from(DRAWS).sqrt();
            let found = sum / f64::from(DRAWS);
            assert!(
                (found - mean).abs() < tolerance,
                "{name}: mean {found}, not {mean} within {tolerance}"
            );
        }
    }

    #[test]
    fn sampled_spreads_are_within_five_standard_errors() {
        // Check the shares of draws below a point with a known probability, because the variance of a sample's spread
        // depends on fourth moments.
        const DRAWS: u32 = 200_000;
        let cases: [(&str, Draw, f64, f64); 7] = [
            ("normal below 1", standard_normal, 1.0, 0.841_344_746),
            ("normal below -2", standard_normal, -2.0, 0.022_750_132),
            // 1 - exp(-1)
            (
                "exponential below its mean",
                |rng| exponential(rng, 4.0),
                4.0,
                0.632_120_559,
            ),
            (
                "lognormal below its median",
                |rng| lognormal(rng, 2.0, 0.6),
                2.0,
                0.5,
            ),
            // ln(2 exp(0.6)) is one deviation above ln 2
            (
                "lognormal below one sigma",
                |rng| lognormal(rng, 2.0, 0.6),
                3.644_237_601,
                0.841_344_746,
            ),
            // 1 - exp(-(1.5/3)²)
            (
                "weibull below half its scale",
                |rng| weibull(rng, 3.0, 2.0),
                1.5,
                0.221_199_217,
            ),
            // 1 - (1/2)^5
            (
                "pareto below twice its least",
                |rng| pareto(rng, 1.0, 5.0),
                2.0,
                0.968_75,
            ),
        ];
        for (name, draw, bound, share) in cases {
            let mut rng = stream();
            let below = (0..DRAWS).filter(|_| draw(&mut rng) < bound).count();
            let found = below as f64 / f64::from(DRAWS);
            let tolerance = 5.0 * (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!(
                (found - share).abs() < tolerance,
                "{name}: {found}, not {share} within {tolerance}"
            );
        }
    }

    /// Returns the largest distance between the empirical distribution function of draws and the true one.
    fn kolmogorov_smirnov(draw: Draw, truth: impl Fn(f64) -> f64, draws: u32) -> f64 {
        let mut rng = stream();
        let mut found: Vec<f64> = (0..draws).map(|_| draw(&mut rng)).collect();
        found.sort_by(f64::total_cmp);
        let n = f64::from(draws);
        let gaps = found.iter().enumerate().map(|(at, &x)| {
            let (before, after) = (at as f64 / n, (at + 1) as f64 / n);
            (truth(x) - before).abs().max((truth(x) - after).abs())
        });
        gaps.fold(0.0, f64::max)
    }

    #[test]
    fn sampled_distributions_pass_the_kolmogorov_smirnov_test() {
        const DRAWS: u32 = 100_000;
        // The critical distance, sqrt(-ln(0.0001 / 2) / 2) / sqrt(n), is exceeded by chance once in 10,000 tries.
        let critical = 2.225 / f64::from(DRAWS).sqrt();
        let cases: [(&str, Draw, Below); 8] = [
            (
                "exponential 4",
                |rng| exponential(rng, 4.0),
                |x| 1.0 - libm::exp(-x / 4.0),
            ),
            (
                "weibull 3, 0.75",
                |rng| weibull(rng, 3.0, 0.75),
                |x| 1.0 - libm::exp(-libm::pow(x / 3.0, 0.75)),
            ),
            (
                "weibull 3, 2",
                |rng| weibull(rng, 3.0, 2.0),
                |x| 1.0 - libm::exp(-x * x / 9.0),
            ),
            (
                "pareto 1, 0.8",
                |rng| pareto(rng, 1.0, 0.8),
                |x| 1.0 - libm::pow(x, -0.8),
            ),
            (
                "pareto 1, 0.8 up to 30",
                |rng| bounded_pareto(rng, 1.0, 0.8, 30.0),
                |x| (1.0 - libm::pow(x, -0.8)) / (1.0 - libm::pow(30.0, -0.8)),
            ),
            // Erlang with two phases of mean 3: 1 - (1 + x/3) exp(-x/3)
            (
                "gamma 6, 2",
                |rng| gamma(rng, 6.0, 2.0),
                |x| 1.0 - (1.0 + x / 3.0) * libm::exp(-x / 3.0),
            ),
            // Half a squared normal has shape 1/2 and mean 1/2: erf(sqrt(x))
            (
                "gamma 0.5, 0.5",
                |rng| gamma(rng, 0.5, 0.5),
                |x| libm::erf(x.sqrt()),
            ),
            (
                "empirical 1 2 10",
                |rng| empirical(rng, 3, |at| [1.0, 2.0, 10.0][at]),
                |x| {
                    if x < 2.0 {
                        (x - 1.0) / 2.0
                    } else {
                        0.5 + (x - 2.0) / 16.0
                    }
                },
            ),
        ];
        for (name, draw, truth) in cases {
            let distance = kolmogorov_smirnov(draw, truth, DRAWS);
            assert!(
                distance < critical,
                "{name}: {distance}, more than {critical}"
            );
        }
    }

    fn square(x: f64) -> f64 {
        x * x
    }

    #[test]
    fn sampled_variances_are_right_if_the_fourth_moment_exists() {
        const DRAWS: u32 = 400_000;
        for (name, draw, mean, sd) in distributions() {
            let mut rng = stream();
            let squares: Vec<f64> = (0..DRAWS).map(|_| square(draw(&mut rng) - mean)).collect();
            let n = f64::from(DRAWS);
            let found = squares.iter().sum::<f64>() / n;
            let spread = (squares.iter().map(|&of| square(of - found)).sum::<f64>() / n).sqrt();
            let tolerance = 5.0 * spread / n.sqrt();
            assert!(
                (found - sd * sd).abs() < tolerance,
                "{name}: {found}, not {} within {tolerance}",
                sd * sd
            );
        }
    }

    #[test]
    fn draws_with_probability_0_or_1_are_certain() {
        let mut rng = stream();
        for _ in 0..10_000 {
            assert!(bernoulli(&mut rng, 1.0) && !bernoulli(&mut rng, 0.0));
        }
    }

    #[test]
    fn a_spread_of_zero_gives_the_median() {
        let mut rng = stream();
        assert_eq!(lognormal(&mut rng, 2.0, 0.0).to_bits(), 2.0_f64.to_bits());
        assert_eq!(uniform(&mut rng, 3.0, 3.0).to_bits(), 3.0_f64.to_bits());
        assert_eq!(exponential(&mut rng, 0.0).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    #[should_panic(expected = "not a probability")]
    fn a_probability_is_at_most_one() {
        bernoulli(&mut stream(), 1.5);
    }
}

//! Draws from distributions, the same to the last bit on every platform, but for rare tails.
//!
//! Why not the distributions of `rand_distr`? Those that take `exp`, `ln` or `powf` get them from the platform as
//! soon as any dependency turns on `num-traits/std`, and their last bits then belong to a platform and a set of
//! dependencies. Here the standard normal and exponential come from `rand_distr` (tables and
//! comparisons), and all further functions from `libm`.
//!
//! What is left of the trap: beyond |z| = 3.65 (one normal draw in 3 900) and above 7.70 means (one exponential draw
//! in 2 200) `rand_distr` computes its tail with `ln`, so the last bit of such a draw can differ between platforms.
//! Draws become whole nanoseconds, which hides most of that.
//!
//! Left out: distributions that no model uses.

use rand::{Rng, RngExt};
use rand_distr::{Exp1, StandardNormal};

/// Uniform from 0 inclusive to 1 exclusive, in steps of 2⁻⁵³.
pub fn unit<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// Uniform from `lo` inclusive to `hi`, which rounding can reach; `lo` when both are equal.
///
/// # Panics
/// If the bounds are not finite or `lo` is above `hi`.
pub fn uniform<R: Rng + ?Sized>(rng: &mut R, lo: f64, hi: f64) -> f64 {
    assert!(lo.is_finite() && hi.is_finite() && lo <= hi, "not an interval: {lo} to {hi}");
    lo + (hi - lo) * unit(rng)
}

/// Whether a thing of probability `p` happens. Draws once whatever `p` is; 0 never happens, 1 always does.
///
/// # Panics
/// If `p` is not between 0 and 1.
pub fn bernoulli<R: Rng + ?Sized>(rng: &mut R, p: f64) -> bool {
    assert!((0.0..=1.0).contains(&p), "not a probability: {p}");
    unit(rng) < p
}

/// Normal with mean 0 and standard deviation 1.
pub fn standard_normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    rng.sample(StandardNormal)
}

/// Exponential with this mean.
///
/// # Panics
/// If `mean` is negative or not finite.
pub fn exponential<R: Rng + ?Sized>(rng: &mut R, mean: f64) -> f64 {
    assert!(mean.is_finite() && mean >= 0.0, "not a mean: {mean}");
    mean * standard_exponential(rng)
}

/// Lognormal with this median; the logarithm has standard deviation `sigma`. The mean is `median · exp(sigma² / 2)`.
///
/// # Panics
/// If either is negative or not finite.
pub fn lognormal<R: Rng + ?Sized>(rng: &mut R, median: f64, sigma: f64) -> f64 {
    assert!(median.is_finite() && median >= 0.0, "not a median: {median}");
    assert!(sigma.is_finite() && sigma >= 0.0, "not a standard deviation: {sigma}");
    median * libm::exp(sigma * standard_normal(rng))
}

/// Weibull: above x with probability `exp(-(x / scale)^shape)`.
///
/// # Panics
/// If `scale` is negative, `shape` is not above zero, or either is not finite.
pub fn weibull<R: Rng + ?Sized>(rng: &mut R, scale: f64, shape: f64) -> f64 {
    assert!(scale.is_finite() && scale >= 0.0, "not a scale: {scale}");
    assert!(shape.is_finite() && shape > 0.0, "not a shape: {shape}");
    scale * libm::pow(standard_exponential(rng), 1.0 / shape)
}

/// Pareto: above x with probability `(min / x)^alpha`, for x from `min` on.
///
/// # Panics
/// If `min` is negative, `alpha` is not above zero, or either is not finite.
pub fn pareto<R: Rng + ?Sized>(rng: &mut R, min: f64, alpha: f64) -> f64 {
    assert!(min.is_finite() && min >= 0.0, "not a least value: {min}");
    assert!(alpha.is_finite() && alpha > 0.0, "not a tail index: {alpha}");
    // The logarithm of a Pareto variable over its least value is exponential with mean 1 / alpha.
    min * libm::exp(standard_exponential(rng) / alpha)
}

fn standard_exponential<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    rng.sample(Exp1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Stream, Streams};

    fn stream() -> Stream {
        Streams::new(1, 0).stream("golden", "dist")
    }

    type Draw = fn(&mut Stream) -> f64;

    /// Name, draw, mean, standard deviation; means and deviations from the formulas beside them.
    fn distributions() -> [(&'static str, Draw, f64, f64); 8] {
        [
            ("unit", unit, 0.5, (1.0_f64 / 12.0).sqrt()),
            ("uniform 2 to 5", |rng| uniform(rng, 2.0, 5.0), 3.5, 3.0 * (1.0_f64 / 12.0).sqrt()),
            ("bernoulli 0.3", |rng| if bernoulli(rng, 0.3) { 1.0 } else { 0.0 }, 0.3, (0.3_f64 * 0.7).sqrt()),
            ("standard normal", standard_normal, 0.0, 1.0),
            ("exponential, mean 4", |rng| exponential(rng, 4.0), 4.0, 4.0),
            // mean = m exp(s²/2) = 2 · exp(0.18); sd = mean · sqrt(exp(s²) - 1)
            ("lognormal 2, 0.6", |rng| lognormal(rng, 2.0, 0.6), 2.394_434_726, 1.576_232_756),
            // mean = s Γ(1 + 1/2) = 3 · 0.886 226 925; sd = s sqrt(1 - π/4)
            ("weibull 3, 2", |rng| weibull(rng, 3.0, 2.0), 2.658_680_776, 1.389_754_127),
            // mean = a m / (a - 1) = 1.25; sd = m sqrt(a / ((a-1)² (a-2))) = sqrt(5 / 48)
            ("pareto 1, 5", |rng| pareto(rng, 1.0, 5.0), 1.25, 0.322_748_612),
        ]
    }

    #[test]
    fn draws_never_change_by_a_bit() {
        // The first four draws of each; none falls into a tail that the header speaks of.
        let golden: [[u64; 4]; 8] = [
            [0x3fed_2755_47f1_a1a3, 0x3fe9_16ec_ad19_7248, 0x3fde_7423_4f12_50e4, 0x3fea_2dbd_0b4f_d897],
            [0x4012_eebf_fafa_9c9d, 0x4011_6898_c0e9_8adb, 0x400b_6b8d_3da6_de56, 0x4011_d126_e43d_f138],
            [0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000],
            [0x3feb_d746_0bc8_10e5, 0x3ff5_a3fe_b3cc_9831, 0xbfc6_9a29_83fa_868a, 0x3ff0_f752_e479_a3e6],
            [0x400a_21e8_74dd_6ea1, 0x4026_6292_e614_f030, 0x402d_4cf9_42f6_b014, 0x4019_25d6_f980_b739],
            [0x400a_f77f_0fc3_287a, 0x4012_02bb_1f9b_9cc0, 0x3ffc_c878_ace3_3533, 0x400e_3abf_926f_b148],
            [0x4005_b037_26a1_f0b1, 0x4014_12b9_56f9_f90a, 0x4016_f728_2f5b_15fe, 0x400e_16ab_9e76_abe6],
            [0x3ff2_d6b9_1b0a_2c5c, 0x3ffc_0013_61a6_57d2, 0x4000_a479_9cd0_521d, 0x3ff5_e8ec_0386_f6ba],
        ];
        for ((name, draw, ..), expected) in distributions().into_iter().zip(golden) {
            let mut rng = stream();
            let found = [(); 4].map(|()| draw(&mut rng).to_bits());
            assert_eq!(found, expected, "{name}: {found:#018x?}");
        }
    }

    #[test]
    fn means_are_right_within_five_standard_errors() {
        const DRAWS: u32 = 200_000;
        for (name, draw, mean, sd) in distributions() {
            let mut rng = stream();
            let sum: f64 = (0..DRAWS).map(|_| draw(&mut rng)).sum();
            let tolerance = 5.0 * sd / f64::from(DRAWS).sqrt();
            let found = sum / f64::from(DRAWS);
            assert!((found - mean).abs() < tolerance, "{name}: mean {found}, not {mean} within {tolerance}");
        }
    }

    #[test]
    fn spreads_are_right_within_five_standard_errors() {
        // Shares below a point with a known probability, which pins the shape without needing fourth moments.
        const DRAWS: u32 = 200_000;
        let cases: [(&str, Draw, f64, f64); 7] = [
            ("normal below 1", standard_normal, 1.0, 0.841_344_746),
            ("normal below -2", standard_normal, -2.0, 0.022_750_132),
            // 1 - exp(-1)
            ("exponential below its mean", |rng| exponential(rng, 4.0), 4.0, 0.632_120_559),
            ("lognormal below its median", |rng| lognormal(rng, 2.0, 0.6), 2.0, 0.5),
            // ln(2 exp(0.6)) is one deviation above ln 2
            ("lognormal below one sigma", |rng| lognormal(rng, 2.0, 0.6), 3.644_237_601, 0.841_344_746),
            // 1 - exp(-(1.5/3)²)
            ("weibull below half its scale", |rng| weibull(rng, 3.0, 2.0), 1.5, 0.221_199_217),
            // 1 - (1/2)^5
            ("pareto below twice its least", |rng| pareto(rng, 1.0, 5.0), 2.0, 0.968_75),
        ];
        for (name, draw, bound, share) in cases {
            let mut rng = stream();
            let below = (0..DRAWS).filter(|_| draw(&mut rng) < bound).count();
            let found = below as f64 / f64::from(DRAWS);
            let tolerance = 5.0 * (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
            assert!((found - share).abs() < tolerance, "{name}: {found}, not {share} within {tolerance}");
        }
    }

    #[test]
    fn certain_and_impossible_things_are_so() {
        let mut rng = stream();
        for _ in 0..10_000 {
            assert!(bernoulli(&mut rng, 1.0) && !bernoulli(&mut rng, 0.0));
        }
    }

    #[test]
    fn no_spread_gives_the_middle() {
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

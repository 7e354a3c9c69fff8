//! Special functions for maximum likelihood and distribution functions that `libm` lacks.
//!
//! The considered crates (statrs, special) use the platform's `ln` and `exp`, whose last bits differ between
//! platforms. These functions are a page of textbook formulas, and the tests compare them with published values.

/// The probabilities of values up to a limit and above it, each with full precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calibrate) struct Tails {
    pub(in crate::calibrate) below: f64,
    pub(in crate::calibrate) above: f64,
}

/// The digamma function, for x above 0: recurrence up to 6, then the asymptotic series (Abramowitz, Stegun, 6.3.18).
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    below + libm::log(x) - 0.5 / x - series
}

/// The trigamma function, for x above 0 (Abramowitz, Stegun, 6.4.12).
pub(super) fn trigamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    below + 1.0 / x + 0.5 * y + series / x
}

/// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), each with full precision: the series
/// 6.5.29 of Abramowitz and Stegun below a + 1, the continued fraction 6.5.31 by Lentz's method above.
pub(super) fn incomplete_gamma(a: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return Tails {
            below: 0.0,
            above: 1.0,
        };
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        for step in 1..10_000 {
            term *= x / (a + f64::from(step));
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        let p = (front * sum).min(1.0);
        return Tails {
            below: p,
            above: 1.0 - p,
        };
    }
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for step in 1..10_000 {
        let nth = f64::from(step);
        let numerator = -nth * (nth - a);
        b += 2.0;
        d = numerator * d + b;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = b + numerator / c;
        c = if c.abs() < TINY { TINY } else { c };
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let q = (front * value).min(1.0);
    Tails {
        below: 1.0 - q,
        above: q,
    }
}

/// The standard normal distribution function and its complement.
pub(super) fn normal(x: f64) -> Tails {
    Tails {
        below: 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2),
        above: 0.5 * libm::erfc(x / std::f64::consts::SQRT_2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_functions_equal_published_values() {
        // Minus Euler's constant; ψ(1/2) = -γ - 2 ln 2; table 6.1 of Abramowitz and Stegun.
        for (x, expected) in [
            (1.0, -0.577_215_664_9),
            (0.5, -1.963_510_026_0),
            (2.0, 0.422_784_335_1),
        ] {
            assert!(
                (digamma(x) - expected).abs() < 1e-9,
                "digamma({x}) = {}",
                digamma(x)
            );
        }
        // π²/6, π²/2
        for (x, expected) in [(1.0, 1.644_934_066_8), (0.5, 4.934_802_200_5)] {
            assert!(
                (trigamma(x) - expected).abs() < 1e-9,
                "trigamma({x}) = {}",
                trigamma(x)
            );
        }
        // P(1, x) = 1 - exp(-x); P(1/2, x) = erf(√x); P(2, x) = 1 - (1 + x) exp(-x).
        for x in [0.01, 0.3, 1.0, 2.5, 9.0, 30.0] {
            for (a, expected) in [
                (1.0, 1.0 - libm::exp(-x)),
                (0.5, libm::erf(x.sqrt())),
                (2.0, 1.0 - (1.0 + x) * libm::exp(-x)),
            ] {
                let Tails { below: p, above: q } = incomplete_gamma(a, x);
                assert!(
                    (p - expected).abs() < 1e-13,
                    "P({a}, {x}) = {p}, not {expected}"
                );
                assert!((p + q - 1.0).abs() < 1e-15);
            }
        }
        // The upper tail is exp(-40), which 1 - P would lose.
        assert!((incomplete_gamma(1.0, 40.0).above / libm::exp(-40.0) - 1.0).abs() < 1e-12);
        assert!((normal(1.959_963_985).below - 0.975).abs() < 1e-9);
    }
}

//! Families of duration distributions, fitted by maximum likelihood.
//!
//! The parameters are those of the experiment file: median and sigma of a lognormal, scale and shape of a Weibull,
//! mean and shape of a gamma, mean of an exponential distribution.

use super::special::{Tails, digamma, incomplete_gamma, normal, trigamma};
use crate::engine::{Stream, dist};

/// A family of distributions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::calibrate) enum Family {
    Lognormal,
    Weibull,
    Gamma,
    Exponential,
}

/// A distribution: a family and its parameters, in the order of the experiment file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calibrate) struct FittedLaw {
    pub(in crate::calibrate) family: Family,
    /// The size parameter: median, scale or mean.
    pub(in crate::calibrate) size: f64,
    /// The shape parameter: sigma or shape; 1 for an exponential distribution.
    pub(in crate::calibrate) shape: f64,
}

impl Family {
    pub(in crate::calibrate) const ALL: [Self; 4] = [
        Self::Lognormal,
        Self::Weibull,
        Self::Gamma,
        Self::Exponential,
    ];

    pub(in crate::calibrate) const fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal",
            Self::Weibull => "weibull",
            Self::Gamma => "gamma",
            Self::Exponential => "exponential",
        }
    }

    /// Returns the names of the size and shape parameters in the experiment file.
    pub(in crate::calibrate) const fn parameters(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Lognormal => ("median", Some("sigma")),
            Self::Weibull => ("scale", Some("shape")),
            Self::Gamma => ("mean", Some("shape")),
            Self::Exponential => ("mean", None),
        }
    }

    /// Returns the distribution with the maximum likelihood for these values. `None`: there is none, because all
    /// values are equal, or some are not positive (for an exponential: negative).
    pub(in crate::calibrate) fn fit(self, values: &[f64]) -> Option<FittedLaw> {
        let n = values.len() as f64;
        if values.len() < 2 || values.iter().any(|value| *value < 0.0) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        if self == Self::Exponential {
            return (mean > 0.0).then_some(FittedLaw {
                family: self,
                size: mean,
                shape: 1.0,
            });
        }
        if values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
        let mean_log = logs.iter().sum::<f64>() / n;
        let squares = logs.iter().map(|log| (log - mean_log) * (log - mean_log));
        let variance = squares.sum::<f64>() / n;
        // Equal values have no spread that could be fitted.
        if variance < 1e-16 {
            return None;
        }
        let (size, shape) = match self {
            Self::Lognormal => (libm::exp(mean_log), variance.sqrt()),
            Self::Gamma => (mean, gamma_shape(libm::log(mean) - mean_log)?),
            Self::Weibull => weibull(&logs, mean_log, variance)?,
            Self::Exponential => unreachable!("returned above"),
        };
        let is_usable = size.is_finite() && size > 0.0 && shape.is_finite() && shape > 0.0;
        is_usable.then_some(FittedLaw {
            family: self,
            size,
            shape,
        })
    }
}

/// Solves ln k - ψ(k) = s with Newton's method, starting from Minka's approximation ("Estimating a Gamma
/// distribution", 2002).
fn gamma_shape(s: f64) -> Option<f64> {
    if s <= 0.0 {
        return None;
    }
    let mut k = (3.0 - s + ((s - 3.0) * (s - 3.0) + 24.0 * s).sqrt()) / (12.0 * s);
    for _ in 0..50 {
        let inverse = 1.0 / k + (libm::log(k) - digamma(k) - s) / (k * k * (1.0 / k - trigamma(k)));
        let next = 1.0 / inverse;
        if !(next.is_finite() && next > 0.0) {
            return None;
        }
        let done = (next - k).abs() < 1e-12 * k;
        k = next;
        if done {
            break;
        }
    }
    Some(k)
}

/// Sums over the logarithms of values, each weighted by the k-th power of the value.
struct PowerMeans {
    /// The sum of the weights.
    sum: f64,
    /// The weighted means of the logarithms and of the squared logarithms.
    first: f64,
    second: f64,
}

/// Computes the weighted means. The weights are relative to the largest value, whose logarithm is `most`, to avoid
/// overflow.
fn power_means(logs: &[f64], most: f64, k: f64) -> PowerMeans {
    let mut sum = 0.0;
    let mut first = 0.0;
    let mut second = 0.0;
    for log in logs {
        let power = libm::exp(k * (log - most));
        sum += power;
        first += power * log;
        second += power * log * log;
    }
    PowerMeans {
        sum,
        first: first / sum,
        second: second / sum,
    }
}

/// Returns scale and shape from the logarithms. The shape solves Σ x^k ln x / Σ x^k - 1/k - mean(ln x) = 0, whose left
/// side increases with k, with Newton's method and halving as a safeguard.
fn weibull(logs: &[f64], mean_log: f64, variance: f64) -> Option<(f64, f64)> {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The standard deviation of the logarithm of a Weibull variable is π / (√6 k).
    let mut k = 1.282_549_830_161_864 / variance.sqrt();
    let mut low = 0.0;
    let mut high = f64::INFINITY;
    for _ in 0..100 {
        let PowerMeans { first, second, .. } = power_means(logs, most, k);
        let value = first - 1.0 / k - mean_log;
        if value > 0.0 {
            high = k;
        } else {
            low = k;
        }
        let slope = second - first * first + 1.0 / (k * k);
        let newton = k - value / slope;
        let next = match (newton > low && newton < high, high.is_finite()) {
            (true, _) => newton,
            (false, true) => f64::midpoint(low, high),
            (false, false) => 2.0 * k,
        };
        let done = (next - k).abs() < 1e-12 * k;
        k = next;
        if done {
            break;
        }
    }
    let PowerMeans { sum, .. } = power_means(logs, most, k);
    let scale = libm::exp(most + libm::log(sum / logs.len() as f64) / k);
    Some((scale, k))
}

/// Returns the tail probabilities of an exponential distribution with mean 1.
fn exponential(x: f64) -> Tails {
    Tails {
        below: -libm::expm1(-x),
        above: libm::exp(-x),
    }
}

impl FittedLaw {
    /// Returns the probabilities of values up to `x` and above `x`, each with full precision.
    pub(in crate::calibrate) fn tails(&self, x: f64) -> Tails {
        if x <= 0.0 {
            return Tails {
                below: 0.0,
                above: 1.0,
            };
        }
        match self.family {
            Family::Lognormal => normal((libm::log(x) - libm::log(self.size)) / self.shape),
            Family::Weibull => exponential(libm::pow(x / self.size, self.shape)),
            Family::Gamma => incomplete_gamma(self.shape, x * self.shape / self.size),
            Family::Exponential => exponential(x / self.size),
        }
    }

    /// Draws a value.
    pub(in crate::calibrate) fn draw(&self, rng: &mut Stream) -> f64 {
        match self.family {
            Family::Lognormal => dist::lognormal(rng, self.size, self.shape),
            Family::Weibull => dist::weibull(rng, self.size, self.shape),
            Family::Gamma => dist::gamma(rng, self.size, self.shape),
            Family::Exponential => dist::exponential(rng, self.size),
        }
    }
}

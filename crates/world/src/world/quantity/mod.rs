//! A quantity that is fixed or drawn each time: durations, sizes, rates and factors.
//!
//! All of them have the same form, so that an experiment can draw every value that it can fix. The samplers of
//! [`crate::engine::dist`] are used, so results are equal on every platform. The caller chooses the key of a draw.
//!
//! Left out: truncated distributions (except Pareto, whose mean may not exist otherwise) and mixtures; a file of
//! values can represent both.

mod count_or_percent;
mod described;

mod measured;
mod serial;

use std::fmt::{self, Debug};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::{EntityKey, Stream, Streams, dist};
pub use described::DescribedQuantity;
use fleetsim_units::{Bytes, BytesPerSec, Factor, SimDuration, UnitError, WithUnit, text};

pub use count_or_percent::CountOrPercent;
pub use measured::{ReadColumn, WrongColumn, read_column};

/// A number with a unit that can be drawn.
pub trait Quantity:
    Copy + Debug + DeserializeOwned + DescribedQuantity + PartialEq + Serialize + 'static
{
    /// The name of the quantity with an article, for error messages.
    const KIND: &'static str;
    /// Two example values.
    const EXAMPLES: [&'static str; 2];
    /// Suffixes of the names of columns with bare numbers, each with the unit to append to the numbers.
    const COLUMN_UNITS: &'static [(&'static str, &'static str)];

    /// Returns the value as a number of seconds, bytes or bytes per second, or as a plain number.
    fn to_number(self) -> f64;
    /// Converts a number back, rounded to a value that the type can represent.
    fn from_number(number: f64) -> Self;
    /// Parses a value with its unit.
    ///
    /// # Errors
    /// If the unit is missing or does not fit the quantity; the error has a fix.
    fn read(value: &str) -> Result<Self, UnitError>;
}

impl Quantity for SimDuration {
    const KIND: &'static str = "a duration";
    const EXAMPLES: [&'static str; 2] = ["4 s", "9 s"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[
        ("s", "s"),
        ("seconds", "s"),
        ("ms", "ms"),
        ("milliseconds", "ms"),
        ("us", "us"),
        ("ns", "ns"),
        ("minutes", "m"),
        ("h", "h"),
        ("hours", "h"),
        ("d", "d"),
        ("days", "d"),
    ];

    fn to_number(self) -> f64 {
        self.as_secs_f64()
    }

    fn from_number(number: f64) -> Self {
        Self::from_secs_f64(number)
    }

    fn read(value: &str) -> Result<Self, UnitError> {
        Self::parse(value)
    }
}

impl Quantity for Bytes {
    const KIND: &'static str = "a size";
    const EXAMPLES: [&'static str; 2] = ["10 MB", "90 MB"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[
        ("bytes", "B"),
        ("B", "B"),
        ("kB", "kB"),
        ("MB", "MB"),
        ("GB", "GB"),
        ("KiB", "KiB"),
        ("MiB", "MiB"),
        ("GiB", "GiB"),
    ];

    fn to_number(self) -> f64 {
        self.get() as f64
    }

    fn from_number(number: f64) -> Self {
        Self::new(number.round() as u64)
    }

    fn read(value: &str) -> Result<Self, UnitError> {
        Self::parse(value)
    }
}

impl Quantity for BytesPerSec {
    const KIND: &'static str = "a rate";
    const EXAMPLES: [&'static str; 2] = ["20 Mbit/s", "90 Mbit/s"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[
        ("bytes_per_s", "B/s"),
        ("Mbit/s", "Mbit/s"),
        ("Gbit/s", "Gbit/s"),
        ("MB/s", "MB/s"),
    ];

    fn to_number(self) -> f64 {
        self.get()
    }

    fn from_number(number: f64) -> Self {
        Self::new(number.min(f64::MAX))
    }

    fn read(value: &str) -> Result<Self, UnitError> {
        Self::parse(value)
    }
}

impl Quantity for Factor {
    const KIND: &'static str = "a number";
    const EXAMPLES: [&'static str; 2] = ["3", "9"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[("factor", "")];

    fn to_number(self) -> f64 {
        self.get()
    }

    fn from_number(number: f64) -> Self {
        Self::new(number.min(f64::MAX))
    }

    fn read(value: &str) -> Result<Self, UnitError> {
        text::parse_factor(value)
    }
}

/// A duration that is fixed or drawn each time.
pub type DurationModel = Distribution<SimDuration>;
/// A size that is fixed or drawn.
pub type SizeModel = Distribution<Bytes>;
/// A rate of data that is fixed or drawn.
pub type RateModel = Distribution<BytesPerSec>;
/// A factor that is fixed or drawn.
pub type FactorModel = Distribution<Factor>;

/// A quantity that is fixed or drawn each time.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution<T> {
    /// The same value each time.
    Constant(T),
    /// Lognormal: exp(N(ln median, sigma)).
    LogNormal {
        /// The median.
        median: T,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Exponential: memoryless, with one parameter.
    Exponential {
        /// The mean, which is also the standard deviation.
        mean: T,
    },
    /// Gamma: if `shape` is whole, the sum of `shape` exponentials.
    Gamma {
        /// The mean; the standard deviation is `mean / sqrt(shape)`.
        mean: T,
        /// The shape, above 0; 1 is exponential.
        shape: f64,
    },
    /// Weibull: a draw is above x with probability exp(-(x / scale)^shape).
    Weibull {
        /// The scale: a share of 1 - 1/e of the draws is below it.
        scale: T,
        /// The shape, above 0. 1 is exponential; below 1, the hazard falls with time.
        shape: f64,
    },
    /// Pareto: a draw is above x with probability (least / x)^alpha.
    Pareto {
        /// The lower bound.
        least: T,
        /// The exponent, above 0. Up to 1 the mean is infinite, unless there is a `most`.
        alpha: f64,
        /// The upper bound, at which the tail is truncated.
        most: Option<T>,
    },
    /// Uniform: equally likely between two bounds.
    Uniform {
        /// The lower bound.
        min: T,
        /// The upper bound.
        max: T,
    },
    /// Empirical: distributed like these sorted measured values (at least one), with a linearly interpolated
    /// distribution function.
    Empirical(Arc<[T]>),
    /// Measured values in a file that has not been read yet. A checked scenario has no such values.
    Unread(ValuesFile),
}

/// A column of measured values in a CSV file.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuesFile {
    /// The path, relative to the experiment's folder.
    pub path: String,
    /// The column. `None`: the only column.
    pub column: Option<String>,
}

impl<T: Quantity> From<T> for Distribution<T> {
    fn from(value: T) -> Self {
        Self::Constant(value)
    }
}

impl From<u32> for FactorModel {
    fn from(count: u32) -> Self {
        Factor::new(f64::from(count)).into()
    }
}

impl<T: Quantity> Distribution<T> {
    /// Returns the Weibull distribution with this mean.
    #[must_use]
    pub fn weibull_of_mean(mean: T, shape: f64) -> Self {
        let scale = mean.to_number() / libm::tgamma(1.0 + 1.0 / shape);
        Self::Weibull {
            scale: T::from_number(scale),
            shape,
        }
    }

    /// Returns the distribution of the values multiplied by a factor.
    ///
    /// # Panics
    /// For measured values whose file has not been read.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let by = |value: T| T::from_number(value.to_number() * factor);
        match self {
            Self::Constant(value) => Self::Constant(by(*value)),
            Self::LogNormal { median, sigma } => Self::LogNormal {
                median: by(*median),
                sigma: *sigma,
            },
            Self::Exponential { mean } => Self::Exponential { mean: by(*mean) },
            Self::Gamma { mean, shape } => Self::Gamma {
                mean: by(*mean),
                shape: *shape,
            },
            Self::Weibull { scale, shape } => Self::Weibull {
                scale: by(*scale),
                shape: *shape,
            },
            Self::Pareto { least, alpha, most } => Self::Pareto {
                least: by(*least),
                alpha: *alpha,
                most: most.map(by),
            },
            Self::Uniform { min, max } => Self::Uniform {
                min: by(*min),
                max: by(*max),
            },
            Self::Empirical(values) => {
                Self::Empirical(values.iter().map(|value| by(*value)).collect())
            }
            Self::Unread(values) => unread(values),
        }
    }

    /// Draws a value. A constant does not use the stream.
    #[must_use]
    pub fn sample(&self, rng: &mut Stream) -> T {
        let number = match self {
            Self::Constant(value) => return *value,
            Self::LogNormal { median, sigma } => dist::lognormal(rng, median.to_number(), *sigma),
            Self::Exponential { mean } => dist::exponential(rng, mean.to_number()),
            Self::Gamma { mean, shape } => dist::gamma(rng, mean.to_number(), *shape),
            Self::Weibull { scale, shape } => dist::weibull(rng, scale.to_number(), *shape),
            Self::Pareto {
                least,
                alpha,
                most: None,
            } => dist::pareto(rng, least.to_number(), *alpha),
            Self::Pareto {
                least,
                alpha,
                most: Some(most),
            } => dist::bounded_pareto(rng, least.to_number(), *alpha, most.to_number()),
            Self::Uniform { min, max } => dist::uniform(rng, min.to_number(), max.to_number()),
            Self::Empirical(values) => {
                dist::empirical(rng, values.len(), |at| values[at].to_number())
            }
            Self::Unread(values) => unread(values),
        };
        T::from_number(number)
    }

    /// Draws the sum of `count` draws. If the sum is nearly lognormal itself, this uses a single lognormal draw with
    /// the mean and the variance of the sum, after Fenton (IRE Trans. Commun. Syst. 8 (1960)). The error of the
    /// skewness is then below 0.1.
    #[must_use]
    pub fn sample_sum(&self, count: usize, rng: &mut Stream) -> T {
        const FEWEST: usize = 16;
        const WIDEST: f64 = 0.6;
        let number = match self {
            Self::Constant(value) => value.to_number() * count as f64,
            Self::LogNormal { sigma, .. } if count >= FEWEST && *sigma <= WIDEST => {
                let mean = self.mean() * count as f64;
                let relative_variance = libm::expm1(sigma * sigma) / count as f64;
                let width = libm::log1p(relative_variance).sqrt();
                dist::lognormal(rng, mean / (1.0 + relative_variance).sqrt(), width)
            }
            _ => return T::from_number((0..count).map(|_| self.sample(rng).to_number()).sum()),
        };
        T::from_number(number)
    }

    /// Returns draw number `nth` of `entity` for `purpose`.
    pub fn draw(&self, streams: &Streams, entity: EntityKey, purpose: &'static str, nth: u64) -> T {
        match *self {
            // Opening a stream costs more than everything else for a constant.
            Self::Constant(value) => value,
            _ => self.sample(&mut streams.stream_nth(entity, purpose, nth)),
        }
    }

    /// Returns by how many standard deviations the logarithm of a draw exceeds that of the median. `None`: the
    /// distribution is not lognormal.
    pub(crate) fn score(&self, drawn: T) -> Option<f64> {
        match self {
            Self::LogNormal { median, sigma } if *sigma > 0.0 => {
                Some(libm::log(drawn.to_number() / median.to_number()) / sigma)
            }
            _ => None,
        }
    }

    /// Correlates an independent draw with a value whose score is `with`, if both are lognormal.
    pub(crate) fn correlated(&self, drawn: T, with: Option<f64>, correlation: f64) -> T {
        match (self, self.score(drawn), with) {
            (Self::LogNormal { median, sigma }, Some(own), Some(with)) if correlation != 0.0 => {
                let score = correlation * with + (1.0 - correlation * correlation).sqrt() * own;
                T::from_number(median.to_number() * libm::exp(sigma * score))
            }
            _ => drawn,
        }
    }

    /// Returns the mean, in the unit of [`Quantity::to_number`]; infinite if the mean does not exist.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) => value.to_number(),
            Self::LogNormal { median, sigma } => {
                median.to_number() * libm::exp(sigma * sigma / 2.0)
            }
            Self::Exponential { mean } | Self::Gamma { mean, .. } => mean.to_number(),
            Self::Weibull { scale, shape } => scale.to_number() * libm::tgamma(1.0 + 1.0 / shape),
            Self::Pareto {
                alpha, most: None, ..
            } if *alpha <= 1.0 => f64::INFINITY,
            Self::Pareto {
                least,
                alpha,
                most: None,
            } => alpha * least.to_number() / (alpha - 1.0),
            Self::Pareto {
                least,
                alpha,
                most: Some(most),
            } => {
                let least = least.to_number();
                let most = most.to_number();
                bounded_pareto_mean(least, *alpha, most)
            }
            Self::Uniform { min, max } => f64::midpoint(min.to_number(), max.to_number()),
            Self::Empirical(values) => {
                let numbers: Vec<f64> = values.iter().map(|value| value.to_number()).collect();
                match numbers.as_slice() {
                    [only] => *only,
                    numbers => {
                        let gaps = numbers
                            .windows(2)
                            .map(|pair| f64::midpoint(pair[0], pair[1]));
                        gaps.sum::<f64>() / (numbers.len() - 1) as f64
                    }
                }
            }
            Self::Unread(values) => unread(values),
        }
    }

    /// Returns the lower bound of draws; zero if draws can be arbitrarily small.
    #[must_use]
    pub fn least(&self) -> f64 {
        match self {
            Self::Constant(value) => value.to_number(),
            Self::Pareto { least, .. } => least.to_number(),
            Self::Uniform { min, .. } => min.to_number(),
            Self::Empirical(values) => values[0].to_number(),
            Self::Unread(values) => unread(values),
            Self::LogNormal { .. }
            | Self::Exponential { .. }
            | Self::Gamma { .. }
            | Self::Weibull { .. } => 0.0,
        }
    }

    /// Returns a typical draw, for display: the median if it is a parameter, otherwise the mean.
    #[must_use]
    pub fn typical(&self) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::LogNormal { median, .. } => *median,
            Self::Pareto { least, alpha, .. } => {
                T::from_number(least.to_number() * libm::pow(2.0, 1.0 / alpha).min(1e6))
            }
            Self::Empirical(values) => values[values.len() / 2],
            _ => T::from_number(self.mean()),
        }
    }
}

impl<T: Quantity + fmt::Display> fmt::Display for Distribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = || T::from_number(self.mean());
        match self {
            Self::Constant(value) => fmt::Display::fmt(value, f),
            Self::LogNormal { median, sigma } => write!(f, "a median of {median}, sigma {sigma}"),
            Self::Exponential { mean } => write!(f, "a mean of {mean}"),
            Self::Gamma { mean, shape } => write!(f, "a mean of {mean} (gamma, shape {shape})"),
            Self::Weibull { shape, .. } => {
                write!(f, "a mean of {} (Weibull, shape {shape})", mean())
            }
            Self::Pareto {
                least,
                alpha,
                most: None,
            } => write!(f, "at least {least} (Pareto, alpha {alpha})"),
            Self::Pareto {
                least,
                alpha,
                most: Some(most),
            } => {
                write!(f, "{least} to {most} (Pareto, alpha {alpha})")
            }
            Self::Uniform { min, max } => write!(f, "{min} to {max}"),
            Self::Empirical(values) => write!(
                f,
                "a mean of {} (like {} measured values)",
                mean(),
                values.len()
            ),
            Self::Unread(values) => write!(f, "like the values of `{}`", values.path),
        }
    }
}

fn unread(values: &ValuesFile) -> ! {
    panic!("`{}` is read when the experiment is checked", values.path)
}

/// Returns the mean of the distribution with the density alpha least^alpha x^(-alpha - 1) / (1 - (least / most)^alpha)
/// between the bounds.
fn bounded_pareto_mean(least: f64, alpha: f64, most: f64) -> f64 {
    if most <= least {
        return least;
    }
    let inside = 1.0 - libm::pow(least / most, alpha);
    if (alpha - 1.0).abs() < 1e-9 {
        return least * libm::log(most / least) / inside;
    }
    let power = libm::pow(least / most, alpha - 1.0);
    alpha / (alpha - 1.0) * least * (1.0 - power) / inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: f64) -> SimDuration {
        SimDuration::from_secs_f64(secs)
    }

    /// Returns the largest distance between the empirical distribution functions of two samples.
    fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        let below = |values: &[f64], x: f64| {
            values.partition_point(|value| *value <= x) as f64 / values.len() as f64
        };
        one.iter()
            .map(|&x| (below(&one, x) - below(&other, x)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn sums_from_one_random_number_have_the_distribution_of_sums() {
        const SUMS: usize = 40_000;
        for (sigma, count) in [(0.4, 16), (0.6, 16), (0.4, 1_000)] {
            let model = DurationModel::LogNormal {
                median: secs(0.007),
                sigma,
            };
            let mut rng = Streams::new(1, 0).stream("one", "test");
            let drawn = |_| model.sample_sum(count, &mut rng).as_secs_f64();
            let fast: Vec<f64> = (0..SUMS).map(drawn).collect();
            let mut rng = Streams::new(2, 0).stream("one", "test");
            let added = |_| {
                (0..count)
                    .map(|_| model.sample(&mut rng).as_secs_f64())
                    .sum()
            };
            let slow: Vec<f64> = (0..SUMS).map(added).collect();
            // For equal distributions, the distance exceeds 1.95 · sqrt(2 / n) = 0.0138 in one of a thousand cases
            // (Smirnov).
            let found = distance(fast, slow);
            assert!(found < 0.0138, "{count} of sigma {sigma}: {found}");
        }
        let mut rng = Streams::new(1, 0).stream("one", "test");
        let constant = DurationModel::Constant(SimDuration::from_millis(5));
        assert_eq!(
            constant.sample_sum(7, &mut rng),
            SimDuration::from_millis(35)
        );
    }

    /// The reported mean equals the mean of the draws.
    #[test]
    fn computed_means_equal_the_means_of_draws() {
        let values: Arc<[SimDuration]> = [1.0, 2.0, 10.0].map(secs).into();
        let models = [
            DurationModel::Constant(secs(3.0)),
            DurationModel::LogNormal {
                median: secs(2.0),
                sigma: 0.5,
            },
            DurationModel::Exponential { mean: secs(4.0) },
            DurationModel::Gamma {
                mean: secs(4.0),
                shape: 0.7,
            },
            DurationModel::Weibull {
                scale: secs(4.0),
                shape: 0.75,
            },
            DurationModel::weibull_of_mean(secs(5.0), 0.75),
            DurationModel::Pareto {
                least: secs(1.0),
                alpha: 3.0,
                most: None,
            },
            DurationModel::Pareto {
                least: secs(1.0),
                alpha: 0.8,
                most: Some(secs(20.0)),
            },
            DurationModel::Pareto {
                least: secs(1.0),
                alpha: 1.0,
                most: Some(secs(20.0)),
            },
            DurationModel::Uniform {
                min: secs(1.0),
                max: secs(2.0),
            },
            DurationModel::Empirical(values),
        ];
        for model in models {
            const DRAWS: u64 = 100_000;
            let streams = Streams::new(1, 0);
            let draws: Vec<f64> = (0..DRAWS)
                .map(|nth| {
                    model
                        .draw(&streams, EntityKey::of("some"), "test", nth)
                        .as_secs_f64()
                })
                .collect();
            let mean = draws.iter().sum::<f64>() / DRAWS as f64;
            let sd = (draws
                .iter()
                .map(|draw| (draw - mean) * (draw - mean))
                .sum::<f64>()
                / DRAWS as f64)
                .sqrt();
            let tolerance = 5.0 * sd / (DRAWS as f64).sqrt() + 1e-9;
            assert!(
                (mean - model.mean()).abs() <= tolerance,
                "{model:?}: {mean}, told {}",
                model.mean()
            );
            assert!(draws.iter().all(|draw| *draw >= model.least()), "{model:?}");
        }
    }

    #[test]
    fn a_scaled_quantity_draws_the_same_values_times_the_factor() {
        let values: Arc<[SimDuration]> = [1.0, 2.0, 10.0].map(secs).into();
        for model in [
            DurationModel::Constant(secs(3.0)),
            DurationModel::LogNormal {
                median: secs(2.0),
                sigma: 0.5,
            },
            DurationModel::Exponential { mean: secs(4.0) },
            DurationModel::Gamma {
                mean: secs(4.0),
                shape: 0.7,
            },
            DurationModel::Weibull {
                scale: secs(4.0),
                shape: 0.75,
            },
            DurationModel::Pareto {
                least: secs(1.0),
                alpha: 0.8,
                most: Some(secs(20.0)),
            },
            DurationModel::Uniform {
                min: secs(1.0),
                max: secs(2.0),
            },
            DurationModel::Empirical(values),
        ] {
            let (streams, key) = (Streams::new(1, 0), EntityKey::of("some"));
            let one = model.draw(&streams, key, "test", 0).as_secs_f64();
            let three = model
                .scaled(3.0)
                .draw(&streams, key, "test", 0)
                .as_secs_f64();
            assert!(
                (three - 3.0 * one).abs() < 1e-6 * three,
                "{model:?}: {one} and {three}"
            );
        }
    }

    #[test]
    fn a_weibull_distribution_is_defined_by_its_mean() {
        let model = DurationModel::weibull_of_mean(SimDuration::from_hours(720), 0.75);
        assert!(
            (model.mean() - 720.0 * 3600.0).abs() < 1e-3,
            "{}",
            model.mean()
        );
        // The mean is scale · Γ(1 + 4/3), and Γ(1 + 4/3) = 1.190 639 349
        let DurationModel::Weibull { scale, .. } = model else {
            unreachable!()
        };
        assert!(
            (scale.as_secs_f64() - 720.0 * 3600.0 / 1.190_639_349).abs() < 0.01,
            "{scale}"
        );
    }

    #[test]
    fn a_heavy_tail_has_no_mean_unless_it_is_truncated() {
        assert!(
            DurationModel::Pareto {
                least: secs(1.0),
                alpha: 1.0,
                most: None
            }
            .mean()
            .is_infinite()
        );
    }
}

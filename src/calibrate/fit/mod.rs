//! Fits every family to a measured quantity, and chooses among them by distance.
//!
//! A family `fits` if chance alone gives a larger Anderson-Darling distance in at least 5% of samples. For a large
//! sample usually no family fits in this sense. A family is then `close` if its distribution function differs by at
//! most 5 percentage points everywhere. If no family is close, the measured values themselves are the distribution,
//! with a warning.

mod distance;
mod family;
mod of_nodes;
mod special;
#[cfg(test)]
mod tests;

use family::{Family, FittedLaw};
use of_nodes::ResampledNodes;

use super::by_node;
use crate::results::{FitParameter, FitRecord, SampleRecord};
use crate::stats::{self, Interval};
use crate::units::display::significant;

/// Minimum number of values for a fit. With fewer values, every family would be accepted.
pub(super) const FEWEST: usize = 8;
/// Number of points of each curve in the record.
const CURVE_POINTS: usize = 400;
/// Minimum p-value of an accepted fit.
const ACCEPTED_P: f64 = 0.05;
/// Maximum difference between the distribution functions for a fit to be close.
const CLOSE: f64 = 0.05;

/// The measurements of a quantity, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Measurements {
    /// The name of the quantity, which is also its file name.
    pub(super) name: String,
    pub(super) title: String,
    /// The files with the measurements.
    pub(super) source: String,
    pub(super) values: Vec<f64>,
    /// The node of each value. Empty: the nodes are unknown, and the values count as independent.
    pub(super) nodes: Vec<String>,
    /// The setting that the values calibrate.
    pub(super) setting: Option<String>,
}

impl Measurements {
    /// Returns whether the other measurements are further values of the same quantity.
    pub(super) fn is_same_quantity(&self, other: &Self) -> bool {
        self.name == other.name && self.title == other.title && self.setting == other.setting
    }

    /// Moves the other measurements to these.
    pub(super) fn append(&mut self, other: &mut Self) {
        let are_nodes_known = !self.nodes.is_empty() && !other.nodes.is_empty();
        self.values.append(&mut other.values);
        if are_nodes_known {
            self.nodes.append(&mut other.nodes);
        } else {
            self.nodes.clear();
        }
    }

    /// Returns the name of the column in the quantity's file, which ends in the unit.
    pub(super) fn column(&self) -> String {
        format!("{}_s", self.name)
    }

    /// Returns the fits of the sample. `None`: there are no values.
    pub(super) fn fitted(&self, resamples: u32, seed: u64) -> Option<SampleRecord> {
        let sorted = stats::sorted(&self.values);
        let by_node = ResampledNodes::of(self, resamples, seed);
        let of_values = stats::median_interval(&sorted, 0.95);
        let interval =
            of_values.and_then(|own| by_node::wider(by_node.median_interval(&sorted), Some(own)));
        let mut record = SampleRecord {
            name: self.name.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            count: sorted.len() as u64,
            min_s: *sorted.first()?,
            median_s: stats::quantile_of_sorted(&sorted, 0.5)?,
            p95_s: stats::quantile_of_sorted(&sorted, 0.95)?,
            max_s: *sorted.last()?,
            mean_s: stats::mean(&sorted),
            median_low_s: interval.map(|interval| interval.low),
            median_high_s: interval.map(|interval| interval.high),
            setting: self.setting.clone(),
            curve: curve(&sorted),
            ..SampleRecord::default()
        };
        if sorted.len() >= FEWEST {
            for family in Family::ALL {
                record
                    .fits
                    .extend(fit(family, &sorted, &by_node, resamples, seed));
            }
            record
                .fits
                .sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        }
        self.choose(&mut record, &sorted);
        Some(record)
    }

    /// Chooses the closest fit, or the measured values if no fit describes them.
    fn choose(&self, record: &mut SampleRecord, sorted: &[f64]) {
        if let Some(best) = record.fits.iter().find(|fit| fit.verdict != "does not fit") {
            record.chosen.clone_from(&best.distribution);
            record.expression.clone_from(&best.expression);
            return;
        }
        "empirical".clone_into(&mut record.chosen);
        record.expression = format!(
            "{{file: samples/{}.csv, column: {}}}",
            self.name,
            self.column()
        );
        record.warning = Some(no_fit(sorted, record.fits.first()));
    }
}

/// Returns the Anderson-Darling distance of a fit.
fn distance(fit: &FitRecord) -> f64 {
    fit.ad.unwrap_or(f64::MAX)
}

/// Returns the reason why the measured values themselves are used. `closest`: the closest fit, if any.
fn no_fit(sorted: &[f64], closest: Option<&FitRecord>) -> String {
    let count = sorted.len();
    let zeros = sorted.iter().filter(|value| **value <= 0.0).count();
    let has_spread = sorted.last() > sorted.first();
    if count == 1 {
        return format!("1 value is too few to fit a distribution; at least {FEWEST} are needed");
    }
    if count < FEWEST {
        return format!(
            "{count} values are too few to fit a distribution; at least {FEWEST} are needed"
        );
    }
    if !has_spread {
        return "all values are equal, so there is no distribution to fit".to_owned();
    }
    if zeros > 0 {
        return format!(
            "{zeros} of {count} values are 0, which no lognormal, Weibull or gamma distribution produces; the \
             measured values are used as they are"
        );
    }
    match closest {
        None => {
            "no distribution can be fitted; the measured values are used as they are".to_owned()
        }
        Some(best) => format!(
            "no distribution fits: the closest, {}, differs by up to {:.0} percentage points; the measured values are \
             used as they are, and values beyond them do not occur",
            best.distribution,
            best.ks * 100.0
        ),
    }
}

/// Returns the fit of one family.
fn fit(
    family: Family,
    sorted: &[f64],
    by_node: &ResampledNodes,
    resamples: u32,
    seed: u64,
) -> Option<FitRecord> {
    let law = family.fit(sorted)?;
    let found = distance::distances(&law, sorted);
    let resampled = distance::resample(&law, sorted, resamples, seed);
    let ad_p = resampled.as_ref().map(|resampled| resampled.ad_p);
    let verdict = verdict(ad_p, found.ks);
    let mut intervals = by_node.parameter_intervals(&law);
    let mut ks_p = None;
    if let Some(resampled) = resampled {
        ks_p = Some(resampled.ks_p);
        let sizes = percentiles(law.size, &resampled.sizes);
        intervals.size = by_node::wider(intervals.size, sizes);
        let shapes = percentiles(law.shape, &resampled.shapes);
        intervals.shape = by_node::wider(intervals.shape, shapes);
    }
    Some(FitRecord {
        distribution: family.name().to_owned(),
        parameters: parameters(&law, intervals.size, intervals.shape),
        ks: found.ks,
        ks_p,
        ad: Some(found.ad),
        ad_p,
        verdict: verdict.to_owned(),
        expression: expression(&law),
        curve: law_curve(&law, sorted[0], sorted[sorted.len() - 1]),
    })
}

/// Returns the verdict on whether a fit describes the values.
pub(super) fn verdict(p: Option<f64>, ks: f64) -> &'static str {
    match p {
        Some(p) if p >= ACCEPTED_P => "fits",
        _ if ks <= CLOSE => "close",
        _ => "does not fit",
    }
}

/// Returns the 95% interval of a parameter over the resamples.
fn percentiles(estimate: f64, resampled: &[f64]) -> Option<Interval> {
    let sorted = stats::sorted(resampled);
    Some(Interval {
        estimate,
        low: stats::quantile_of_sorted(&sorted, 0.025)?,
        high: stats::quantile_of_sorted(&sorted, 0.975)?,
    })
}

/// Returns the parameters, each with its interval.
pub(super) fn parameters(
    law: &FittedLaw,
    sizes: Option<Interval>,
    shapes: Option<Interval>,
) -> Vec<FitParameter> {
    let (size, shape) = law.family.parameters();
    let mut parameters = vec![parameter(size, "s", law.size, sizes)];
    if let Some(shape) = shape {
        parameters.push(parameter(shape, "", law.shape, shapes));
    }
    parameters
}

fn parameter(name: &str, unit: &str, value: f64, interval: Option<Interval>) -> FitParameter {
    FitParameter {
        name: name.to_owned(),
        unit: unit.to_owned(),
        value,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
    }
}

/// Returns the distribution in the format of the experiment file.
pub(super) fn expression(law: &FittedLaw) -> String {
    let size = duration(law.size);
    let shape = significant(law.shape, 4);
    match law.family {
        Family::Lognormal => format!("{{median: {size}, sigma: {shape}}}"),
        Family::Weibull => format!("{{weibull: {{scale: {size}, shape: {shape}}}}}"),
        Family::Gamma => format!("{{gamma: {{mean: {size}, shape: {shape}}}}}"),
        Family::Exponential => format!("{{mean: {size}}}"),
    }
}

/// Returns a duration in the format of the experiment file, with four significant digits.
pub(super) fn duration(seconds: f64) -> String {
    if seconds > 0.0 && seconds < 0.001 {
        format!("{} us", significant(seconds * 1e6, 4))
    } else if seconds < 1.0 {
        format!("{} ms", significant(seconds * 1e3, 4))
    } else {
        format!("{} s", significant(seconds, 4))
    }
}

/// Returns points of the empirical distribution function.
fn curve(sorted: &[f64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    let points = n.min(CURVE_POINTS);
    let mut curve = Vec::with_capacity(points);
    for nth in 0..points {
        let at = if n <= CURVE_POINTS {
            nth
        } else {
            nth * (n - 1) / (CURVE_POINTS - 1)
        };
        curve.push((sorted[at], (at + 1) as f64 / n as f64));
    }
    curve
}

/// Returns points of a fitted distribution function, over the range of the values and slightly beyond.
pub(super) fn law_curve(law: &FittedLaw, low: f64, high: f64) -> Vec<(f64, f64)> {
    const POINTS: u32 = 120;
    let first = low.max(high / 1e6) * 0.8;
    let last = high * 1.2;
    let ratio = libm::log(last / first);
    let mut curve = Vec::new();
    for nth in 0..=POINTS {
        let x = first * libm::exp(ratio * f64::from(nth) / f64::from(POINTS));
        curve.push((x, law.tails(x).below));
    }
    curve
}

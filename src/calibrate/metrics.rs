//! Quantities and loads that a monitoring system has recorded, as values with their fits.
//!
//! Where only bins or quantiles are known, the file of measured values has 200 quantiles, spread evenly inside of each
//! bin; nothing is known beyond the last bound.

use super::events::Tally;
use super::fit::{Bins, Measurements, fits_of_quantiles};
use super::input::{Input, short};
use super::prometheus::{self, MeasuredDurations, MeasuredLoad, MetricKind};
use crate::document::problem::OrProblem;
use crate::results::{CalibratedValue, FitRecord, SampleRecord};
use crate::units::display::significant;

/// Values in a file that stands for a histogram.
const VALUES: u32 = 200;

/// What a response gives.
#[derive(Debug, Default)]
pub(super) struct ReadMetric {
    pub(super) has: String,
    pub(super) quantity: Option<(SampleRecord, Measurements)>,
    pub(super) load: Vec<CalibratedValue>,
}

pub(super) fn read(kind: MetricKind, input: &Input, seed: u64, tally: &mut Tally) -> OrProblem<ReadMetric> {
    let source = short(input.name());
    match kind {
        MetricKind::Egress | MetricKind::Requests => {
            let load = prometheus::load(input, tally)?;
            let has = format!("{} samples of a load", load.values.len());
            Ok(ReadMetric { has, quantity: None, load: of_load(kind, &load, &source) })
        }
        MetricKind::Durations => {
            let (has, record, values) = match prometheus::durations(input, tally)? {
                MeasuredDurations::Histogram(bins) => {
                    let has = format!("a histogram of {:.0} durations in {} buckets", bins.total(), bins.bounds.len());
                    let values = (0..VALUES).map(|nth| bins.quantile((f64::from(nth) + 0.5) / f64::from(VALUES)));
                    (has, of_bins(&bins, seed), values.collect())
                }
                MeasuredDurations::Summary(quantiles, count) => {
                    let has = format!("a summary with {} quantiles", quantiles.len());
                    let values = quantiles.iter().map(|(_, value)| *value).collect();
                    (has, of_quantiles(&quantiles, count), values)
                }
            };
            let mut record = SampleRecord { source: source.clone(), ..record };
            let name = "prometheus_durations".to_owned();
            record.name.clone_from(&name);
            record.title = "durations in Prometheus".to_owned();
            choose(&mut record);
            let quantity = Measurements { name, title: record.title.clone(), source, values, setting: None };
            Ok(ReadMetric { has, quantity: Some((record, quantity)), load: Vec::new() })
        }
    }
}

fn of_bins(bins: &Bins, seed: u64) -> SampleRecord {
    let beyond = bins.shares().last().map_or(0.0, |(_, share)| 1.0 - share);
    SampleRecord {
        count: bins.total().round() as u64,
        min_s: bins.quantile(0.0),
        median_s: bins.quantile(0.5),
        p95_s: bins.quantile(0.95),
        max_s: bins.shares().last().map_or(0.0, |(bound, _)| *bound),
        fits: bins.fits(seed),
        curve: bins.shares().into_iter().filter(|(bound, _)| *bound > 0.0).collect(),
        warning: (beyond > 0.02).then(|| {
            format!(
                "{:.0}% of the durations are beyond the last bucket; use a histogram with longer ones",
                beyond * 100.0
            )
        }),
        ..SampleRecord::default()
    }
}

fn of_quantiles(quantiles: &[(f64, f64)], count: Option<f64>) -> SampleRecord {
    let nearest = |p: f64| {
        let found = quantiles.iter().min_by(|a, b| (a.0 - p).abs().total_cmp(&(b.0 - p).abs()));
        found.map_or(0.0, |(_, value)| *value)
    };
    SampleRecord {
        count: count.map_or(quantiles.len() as u64, |count| count.round() as u64),
        min_s: nearest(0.0),
        median_s: nearest(0.5),
        p95_s: nearest(0.95),
        max_s: nearest(1.0),
        fits: fits_of_quantiles(quantiles),
        curve: quantiles.iter().map(|(share, value)| (*value, *share)).collect(),
        ..SampleRecord::default()
    }
}

/// The closest fit, if it describes the durations; otherwise the file of values.
fn choose(record: &mut SampleRecord) {
    let best: Option<FitRecord> = record.fits.iter().find(|fit| fit.verdict != "does not fit").cloned();
    if let Some(best) = best {
        (record.chosen, record.expression) = (best.distribution, best.expression);
        return;
    }
    "empirical".clone_into(&mut record.chosen);
    record.expression = format!("{{file: samples/{0}.csv, column: {0}_s}}", record.name);
    let beyond = record.warning.take().map(|warning| format!("; {warning}")).unwrap_or_default();
    record.warning = Some(format!("no distribution fits; values spread evenly inside of each bucket are used{beyond}"));
}

/// The values of a load: its limit where it stayed at one, otherwise its peak.
fn of_load(kind: MetricKind, load: &MeasuredLoad, source: &str) -> Vec<CalibratedValue> {
    let (name, setting) = match kind {
        MetricKind::Egress => ("egress of the registry", "registry.egress"),
        _ => ("requests to the registry", "registry.requests"),
    };
    let written = |value: f64| match kind {
        MetricKind::Egress => format!("{} MB/s", significant(value / 1e6, 4)),
        _ => format!("{}/s", significant(value, 4)),
    };
    let (mean, p95) = (written(load.mean), written(load.p95));
    let value = |quantity: String, setting: &str, value: f64, note: String| CalibratedValue {
        setting: setting.to_owned(),
        quantity,
        value: match (kind, setting) {
            (MetricKind::Requests, "registry.requests") => format!("{{rate: {}}}", written(value)),
            _ => written(value),
        },
        count: load.values.len() as u64,
        source: source.to_owned(),
        note,
        ..CalibratedValue::default()
    };
    match load.plateau {
        Some((level, share)) => vec![value(
            format!("limit of the {name}"),
            setting,
            level,
            format!(
                "the load stayed within 5% of its peak for {:.0}% of the time; mean {mean}, 95% {p95}",
                share * 100.0
            ),
        )],
        None => vec![value(
            format!("peak of the {name}"),
            "",
            load.peak,
            format!(
                "the load does not stay at its peak, so the limit is not known but not below this; mean {mean}, 95% {p95}"
            ),
        )],
    }
}

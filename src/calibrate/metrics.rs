//! Loads of a registry that a monitoring system has recorded, as values of settings.

use super::events::Tally;
use super::input::short;
use super::json_stream::JsonStream;
use super::prometheus::{self, MeasuredLoad, MetricKind};
use crate::document::problem::OrProblem;
use crate::results::CalibratedValue;
use crate::units::display::significant;

/// What a response gives.
#[derive(Debug, Default)]
pub(super) struct ReadMetric {
    pub(super) has: String,
    pub(super) load: Vec<CalibratedValue>,
}

pub(super) fn read(kind: MetricKind, stream: &mut JsonStream, tally: &mut Tally) -> OrProblem<ReadMetric> {
    let source = short(stream.name());
    let load = prometheus::load(stream, tally)?;
    let has = format!("{} samples of a load", load.values.len());
    Ok(ReadMetric { has, load: of_load(kind, &load, &source) })
}

/// The values of a load: its limit where it stayed at one, otherwise its peak.
fn of_load(kind: MetricKind, load: &MeasuredLoad, source: &str) -> Vec<CalibratedValue> {
    let (name, setting) = match kind {
        MetricKind::Egress => ("egress of the registry", "registry.egress"),
        MetricKind::Requests => ("requests to the registry", "registry.requests"),
    };
    let written = |value: f64| match kind {
        MetricKind::Egress => format!("{} MB/s", significant(value / 1e6, 4)),
        MetricKind::Requests => format!("{}/s", significant(value, 4)),
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

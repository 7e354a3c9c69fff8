//! Converts registry loads recorded by a monitoring system to values of settings.

use super::prometheus::{MeasuredLoad, MetricKind, Plateau};
use crate::results::CalibratedValue;
use crate::units::display::significant;

/// Returns the calibrated value for a load: the limit at which the load stayed, otherwise its peak.
pub(super) fn value_of(kind: MetricKind, load: &MeasuredLoad, source: String) -> CalibratedValue {
    let (name, setting) = match kind {
        MetricKind::Egress => ("egress of the registry", "registry.egress"),
        MetricKind::Requests => ("requests to the registry", "registry.requests"),
    };
    let range = format!(
        "mean {}, 95% {}",
        written(kind, load.mean),
        written(kind, load.p95)
    );
    let value = CalibratedValue {
        count: load.values.len() as u64,
        source,
        ..CalibratedValue::default()
    };
    let Some(Plateau { level, share }) = load.plateau else {
        return CalibratedValue {
            quantity: format!("peak of the {name}"),
            value: written(kind, load.peak),
            note: format!(
                "the load does not stay at its peak, so the limit is unknown, but at least this value; {range}"
            ),
            ..value
        };
    };
    let limit = written(kind, level);
    CalibratedValue {
        setting: setting.to_owned(),
        quantity: format!("limit of the {name}"),
        value: match kind {
            MetricKind::Egress => limit,
            MetricKind::Requests => format!("{{rate: {limit}}}"),
        },
        note: format!(
            "the load stayed within 5% of its peak for {:.0}% of the time; {range}",
            share * 100.0
        ),
        ..value
    }
}

fn written(kind: MetricKind, value: f64) -> String {
    match kind {
        MetricKind::Egress => format!("{} MB/s", significant(value / 1e6, 4)),
        MetricKind::Requests => format!("{}/s", significant(value, 4)),
    }
}

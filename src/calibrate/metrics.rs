//! Loads of a registry that a monitoring system has recorded, as values of settings.

use super::prometheus::{MeasuredLoad, MetricKind};
use crate::results::CalibratedValue;
use crate::units::display::significant;

/// The value of a load: its limit where it stayed at one, otherwise its peak.
pub(super) fn value_of(kind: MetricKind, load: &MeasuredLoad, source: String) -> CalibratedValue {
    let (name, setting) = match kind {
        MetricKind::Egress => ("egress of the registry", "registry.egress"),
        MetricKind::Requests => ("requests to the registry", "registry.requests"),
    };
    let written = |value: f64| match kind {
        MetricKind::Egress => format!("{} MB/s", significant(value / 1e6, 4)),
        MetricKind::Requests => format!("{}/s", significant(value, 4)),
    };
    let (of, value, note) = match load.plateau {
        Some((level, share)) => {
            let note = format!(
                "the load stayed within 5% of its peak for {:.0}% of the time",
                share * 100.0
            );
            ("limit", level, note)
        }
        None => {
            let note =
                "the load does not stay at its peak, so the limit is not known but not below this";
            ("peak", load.peak, note.to_owned())
        }
    };
    let value = written(value);
    CalibratedValue {
        setting: if of == "limit" {
            setting.to_owned()
        } else {
            String::new()
        },
        quantity: format!("{of} of the {name}"),
        value: if of == "limit" && kind == MetricKind::Requests {
            format!("{{rate: {value}}}")
        } else {
            value
        },
        count: load.values.len() as u64,
        source,
        note: format!(
            "{note}; mean {}, 95% {}",
            written(load.mean),
            written(load.p95)
        ),
        ..CalibratedValue::default()
    }
}

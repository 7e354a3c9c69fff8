//! The measures that a sweep shows, each with a suitable axis: logarithmic where values differ by a large factor.

use crate::report::axis::{
    AxisTick, LOG_FROM, Scale, ScaleKind, log_ticks, log_time_ticks, span, ticks_from_zero, time_ticks,
};
use crate::report::data::VariantResults;
use crate::report::format::{RateUnit, TimeUnit};
use crate::report::frame::Area;

/// A capacity is drawn when it is at most this many times the greatest value.
const CAPACITY_SHOWN: f64 = 3.0;

/// One measure with its axis.
pub(super) struct MeasurePanel {
    pub(super) measure: &'static str,
    pub(super) title: String,
    /// Link capacities, drawn as dashed lines.
    pub(super) capacities: Vec<f64>,
    pub(super) scale: Scale,
    pub(super) ticks: Vec<AxisTick>,
}

/// All values that are drawn for a measure.
fn values(variants: &[&VariantResults<'_>], measure: &str) -> Vec<f64> {
    let rows = variants.iter().filter_map(|variant| variant.summary(measure));
    rows.flat_map(|row| [row.p5, row.median, row.p95, row.median_ci95_low, row.median_ci95_high]).flatten().collect()
}

fn log_scale(low: f64, high: f64, area: Area) -> Scale {
    Scale { low: low / 1.3, high: high * 1.3, from: area.bottom, to: area.top, kind: ScaleKind::Log }
}

/// The peak of pulls of each run.
pub(super) fn pulls(variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
    let measure = "peak_pulls";
    let (low, high) = span(&values(variants, measure));
    if low > 0.0 && high > LOG_FROM * low {
        let scale = log_scale(low, high, area);
        let title = "peak concurrent image pulls (logarithmic)".to_owned();
        return MeasurePanel { measure, title, capacities: Vec::new(), scale, ticks: log_ticks(&scale, 24.0) };
    }
    let ticks = ticks_from_zero(high, 5, true);
    let scale = Scale::from_zero(ticks[ticks.len() - 1].value, area.bottom, area.top);
    MeasurePanel { measure, title: "peak concurrent image pulls".to_owned(), capacities: Vec::new(), scale, ticks }
}

/// The peak of the registry's egress of each run.
pub(super) fn egress(variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
    let measure = "egress_peak_1s_bytes_per_s";
    let (low, high) = span(&values(variants, measure));
    let capacities = capacities(variants, high);
    let limit = capacities.iter().copied().fold(0.0, f64::max);
    let unit = RateUnit::for_max(high.max(limit));
    let in_unit = |ticks: Vec<AxisTick>| -> Vec<AxisTick> {
        ticks.into_iter().map(|tick| AxisTick { value: tick.value * unit.bytes_per_s, ..tick }).collect()
    };
    let links: Vec<String> = capacities.iter().map(|capacity| RateUnit::for_max(*capacity).text(*capacity)).collect();
    let dashed = if links.is_empty() { String::new() } else { format!("; dashed: link {}", links.join(", ")) };
    let log = if low > 0.0 && high > LOG_FROM * low { " (logarithmic)" } else { "" };
    let title = format!("peak registry egress over 1 s in {}{log}{dashed}", unit.name);
    if low > 0.0 && high > LOG_FROM * low {
        let scale = log_scale(low, high.max(limit), area);
        let shown = Scale { low: scale.low / unit.bytes_per_s, high: scale.high / unit.bytes_per_s, ..scale };
        return MeasurePanel { measure, title, capacities, scale, ticks: in_unit(log_ticks(&shown, 24.0)) };
    }
    let ticks = in_unit(ticks_from_zero(high.max(limit) / unit.bytes_per_s, 5, false));
    let scale = Scale::from_zero(ticks[ticks.len() - 1].value, area.bottom, area.top);
    MeasurePanel { measure, title, capacities, scale, ticks }
}

/// The distinct capacities that do not flatten values up to `high`.
fn capacities(variants: &[&VariantResults<'_>], high: f64) -> Vec<f64> {
    let mut all: Vec<f64> = variants.iter().filter_map(|variant| variant.info.registry_egress_bytes_per_s).collect();
    all.retain(|capacity| *capacity <= CAPACITY_SHOWN * high);
    all.sort_by(f64::total_cmp);
    all.dedup_by(|a, b| a.total_cmp(b).is_eq());
    all
}

/// The completion time of finished runs.
pub(super) fn completion(variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
    let measure = "completion_s";
    let (low, high) = span(&values(variants, measure));
    if low > 0.0 && high > LOG_FROM * low {
        let scale = log_scale(low, high, area);
        let title = "completion time (logarithmic)".to_owned();
        return MeasurePanel { measure, title, capacities: Vec::new(), scale, ticks: log_time_ticks(&scale, 22.0) };
    }
    let high = if high > 0.0 { high * 1.04 } else { 1.0 };
    let scale = Scale::from_zero(high, area.bottom, area.top);
    let (ticks, unit): (Vec<AxisTick>, TimeUnit) = time_ticks(high, 5);
    MeasurePanel { measure, title: format!("completion time in {}", unit.long), capacities: Vec::new(), scale, ticks }
}

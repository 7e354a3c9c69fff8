//! The measures that a sweep shows, each with a suitable axis: logarithmic where values differ by a large factor.

use crate::report::prelude::*;

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
    let rows = variants
        .iter()
        .filter_map(|variant| variant.summary(measure));
    rows.flat_map(|row| {
        [
            row.p5,
            row.median,
            row.p95,
            row.median_ci95_low,
            row.median_ci95_high,
        ]
    })
    .flatten()
    .collect()
}

/// Room below and above the values of a logarithmic axis, as factors.
const ROOM: [f64; 2] = [1.3, 1.3];

/// The panel of a measure over the runs, or of [`FINISHING`].
pub(super) fn of(
    measure: &'static str,
    variants: &[&VariantResults<'_>],
    area: Area,
) -> MeasurePanel {
    match measure {
        FINISHING => finishing(area),
        EGRESS => egress(variants, area),
        READY_TIME => of_time(
            variants,
            measure,
            ("completion time in {}", "completion time (logarithmic)"),
            area,
        ),
        "egress_busy_s" => {
            let titles = (
                "time with a full registry link in {}",
                "time with a full registry link (logarithmic)",
            );
            of_time(variants, measure, titles, area)
        }
        "exposed_targets" => counted(
            variants,
            measure,
            "clusters exposed to the defective revision",
            area,
        ),
        _ => counted(variants, measure, "peak concurrent image pulls", area),
    }
}

fn counted(
    variants: &[&VariantResults<'_>],
    measure: &'static str,
    title: &str,
    area: Area,
) -> MeasurePanel {
    let values = values(variants, measure);
    let (scale, ticks) = count_scale(
        &values,
        (ROOM, 24.0),
        (span(&values).1, 5),
        (area.bottom, area.top),
    );
    let title = format!("{title}{}", scale.note());
    MeasurePanel {
        measure,
        title,
        capacities: Vec::new(),
        scale,
        ticks,
    }
}

/// The peak of the registry's egress of each run.
pub(super) const EGRESS: &str = "egress_peak_1s_bytes_per_s";

fn egress(variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
    let values = values(variants, EGRESS);
    let (_, high) = span(&values);
    let mut capacities = links(variants.iter().copied());
    capacities.retain(|capacity| *capacity <= CAPACITY_SHOWN * high);
    let top = capacities.iter().copied().fold(high, f64::max);
    let unit = RateUnit::for_max(top);
    let texts = capacities.iter().copied().map(rate).join(", ");
    let dashed = if texts.is_empty() {
        texts
    } else {
        format!("; dashed: link {texts}")
    };
    let (scale, ticks) = match Scale::logarithmic(&values, LOG_FROM, ROOM, area.bottom, area.top) {
        Some(scale) => {
            let scale = Scale {
                high: top * ROOM[1],
                ..scale
            };
            let shown = Scale {
                low: scale.low / unit.bytes_per_s,
                high: scale.high / unit.bytes_per_s,
                ..scale
            };
            (scale, scaled(log_ticks(&shown, 24.0), unit.bytes_per_s))
        }
        None => {
            let (ticks, _) = rate_ticks(top, 5);
            (Scale::to_last(&ticks, area.bottom, area.top), ticks)
        }
    };
    let title = format!(
        "peak registry egress over 1 s in {}{}{dashed}",
        unit.name,
        scale.note()
    );
    MeasurePanel {
        measure: EGRESS,
        title,
        capacities,
        scale,
        ticks,
    }
}

/// The share of runs that finish, which is no measure of a run.
pub(super) const FINISHING: &str = "finishing";

/// The share of runs that finish, with its exact 95% interval.
fn finishing(area: Area) -> MeasurePanel {
    MeasurePanel {
        measure: FINISHING,
        title: "runs that finish, with the 95% CI of their share".to_owned(),
        capacities: Vec::new(),
        scale: Scale::from_zero(1.0, area.bottom, area.top),
        ticks: percent_ticks([0, 25, 50, 75, 100]),
    }
}

/// A time, with the titles of its linear and its logarithmic axis.
fn of_time(
    variants: &[&VariantResults<'_>],
    measure: &'static str,
    titles: (&str, &str),
    area: Area,
) -> MeasurePanel {
    let values = values(variants, measure);
    let scale = Scale::fitting(&values, (LOG_FROM, ROOM), 1.04, (area.bottom, area.top));
    let (ticks, title) = ticks_of_time(&scale, (22.0, 5), titles);
    MeasurePanel {
        measure,
        title,
        capacities: Vec::new(),
        scale,
        ticks,
    }
}

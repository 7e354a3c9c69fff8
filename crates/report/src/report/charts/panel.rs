//! The measures that a sweep shows, each with a suitable axis: logarithmic if values differ by a large factor.

use crate::report::prelude::*;

/// A capacity is drawn if it is at most this many times the maximum value.
const CAPACITY_SHOWN: f64 = 3.0;

/// The panels that the chart of a swept setting may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SweepPanel {
    /// The share of runs that finish, which is not a measure of a run.
    FinishingShare,
    /// Clusters that received the defective revision.
    Exposure,
    /// Peak of concurrent image pulls.
    PeakPulls,
    /// Time for which the registry's link was full.
    FullLinkTime,
    /// Peak of the registry's egress over one second.
    PeakEgress,
    /// Time until all reachable clusters were ready.
    CompletionTime,
}

impl SweepPanel {
    /// The measure of a run that the panel shows. `None`: it shows a share of the runs.
    pub(super) const fn measure(self) -> Option<Measure> {
        match self {
            Self::FinishingShare => None,
            Self::Exposure => Some(Measure::ExposedTargets),
            Self::PeakPulls => Some(Measure::PeakPulls),
            Self::FullLinkTime => Some(Measure::EgressBusy),
            Self::PeakEgress => Some(EGRESS),
            Self::CompletionTime => Some(READY_TIME),
        }
    }

    /// The panel with its axis, for the given variants.
    pub(super) fn laid_out(self, variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
        let values = self.values(variants);
        match self {
            Self::FinishingShare => finishing(area),
            Self::Exposure => {
                let title = "clusters exposed to the defective revision";
                counted(self, &values, title, area)
            }
            Self::PeakPulls => counted(self, &values, "peak concurrent image pulls", area),
            Self::FullLinkTime => {
                let titles = (
                    "time with a full registry link in {}",
                    "time with a full registry link (logarithmic)",
                );
                of_time(self, &values, titles, area)
            }
            Self::PeakEgress => egress(&values, variants, area),
            Self::CompletionTime => {
                let titles = ("completion time in {}", "completion time (logarithmic)");
                of_time(self, &values, titles, area)
            }
        }
    }

    /// All values that are drawn for the panel's measure.
    fn values(self, variants: &[&VariantResults<'_>]) -> Vec<f64> {
        let mut values = Vec::new();
        let Some(measure) = self.measure() else {
            return values;
        };
        for variant in variants {
            let Some(row) = variant.summary(measure) else {
                continue;
            };
            let drawn = [
                row.p5,
                row.median,
                row.p95,
                row.median_ci95_low,
                row.median_ci95_high,
            ];
            values.extend(drawn.into_iter().flatten());
        }
        values
    }
}

/// A panel with its axis.
pub(super) struct MeasurePanel {
    pub(super) shows: SweepPanel,
    pub(super) title: String,
    /// Link capacities, drawn as dashed lines.
    pub(super) capacities: Vec<f64>,
    pub(super) scale: Scale,
    pub(super) ticks: Vec<AxisTick>,
}

/// Room below and above the values of a logarithmic axis, as factors.
const ROOM: [f64; 2] = [1.3, 1.3];

/// The peak of the registry's egress in each run.
pub(super) const EGRESS: Measure = Measure::EgressPeak1s;

/// A panel of counts.
fn counted(shows: SweepPanel, values: &[f64], title: &str, area: Area) -> MeasurePanel {
    let (_, high) = span(values);
    let (scale, ticks) = count_scale(values, (ROOM, 24.0), (high, 5), (area.bottom, area.top));
    MeasurePanel {
        shows,
        title: format!("{title}{}", scale.note()),
        capacities: Vec::new(),
        scale,
        ticks,
    }
}

/// The peak of egress, with the capacities of the links that are not far above it.
fn egress(values: &[f64], variants: &[&VariantResults<'_>], area: Area) -> MeasurePanel {
    let (_, high) = span(values);
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
    let (scale, ticks) = egress_scale(values, top, area);
    let title = format!(
        "peak registry egress over 1 s in {}{}{dashed}",
        unit.name,
        scale.note()
    );
    MeasurePanel {
        shows: SweepPanel::PeakEgress,
        title,
        capacities,
        scale,
        ticks,
    }
}

/// The scale of rates up to `top`, which includes the capacities, with its ticks.
fn egress_scale(values: &[f64], top: f64, area: Area) -> (Scale, Vec<AxisTick>) {
    let Some(fitting) = Scale::logarithmic(values, LOG_FROM, ROOM, area.bottom, area.top) else {
        let (ticks, _) = rate_ticks(top, 5);
        return (Scale::to_last(&ticks, area.bottom, area.top), ticks);
    };
    let unit = RateUnit::for_max(top).bytes_per_s;
    let scale = Scale {
        high: top * ROOM[1],
        ..fitting
    };
    let in_unit = Scale {
        low: scale.low / unit,
        high: scale.high / unit,
        ..scale
    };
    (scale, scaled(log_ticks(&in_unit, 24.0), unit))
}

/// The share of runs that finish, with its exact 95% interval.
fn finishing(area: Area) -> MeasurePanel {
    MeasurePanel {
        shows: SweepPanel::FinishingShare,
        title: "runs that finish, with the 95% CI of their share".to_owned(),
        capacities: Vec::new(),
        scale: Scale::from_zero(1.0, area.bottom, area.top),
        ticks: percent_ticks([0, 25, 50, 75, 100]),
    }
}

/// A panel of times, with the titles of its linear and its logarithmic axis.
fn of_time(shows: SweepPanel, values: &[f64], titles: (&str, &str), area: Area) -> MeasurePanel {
    let scale = Scale::fitting(values, (LOG_FROM, ROOM), 1.04, (area.bottom, area.top));
    let (ticks, title) = ticks_of_time(&scale, (22.0, 5), titles);
    MeasurePanel {
        shows,
        title,
        capacities: Vec::new(),
        scale,
        ticks,
    }
}

//! Scales from values to pixels, and where to put their ticks.

use itertools::Itertools;

use super::format::{RateUnit, TimeUnit, number};
use fleetsim_units::{SimDuration, WithUnit};

/// A scale from `low..=high` to `from..=to` pixels, linear or logarithmic; what lies outside is put at the nearer end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) log: bool,
}

/// A labelled place on a scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTick {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Scale {
    /// A scale from zero; to 1 where nothing is greater than zero.
    pub(super) fn from_zero(high: f64, from: f64, to: f64) -> Self {
        Self {
            low: 0.0,
            high: if high > 0.0 { high } else { 1.0 },
            from,
            to,
            log: false,
        }
    }

    /// A logarithmic scale as [`Self::logarithmic`], or else one from zero to the greatest value and this room above.
    pub(super) fn fitting(
        values: &[f64],
        (factor, room): (f64, [f64; 2]),
        above: f64,
        (from, to): (f64, f64),
    ) -> Self {
        let from_zero = || Self::from_zero(span(values).1 * above, from, to);
        Self::logarithmic(values, factor, room, from, to).unwrap_or_else(from_zero)
    }

    /// A scale from zero to the last of these ticks.
    pub(super) fn to_last(ticks: &[AxisTick], from: f64, to: f64) -> Self {
        Self::from_zero(ticks.last().expect("there are ticks").value, from, to)
    }

    /// A logarithmic scale of values that span more than `factor`, with `room` below the least and above the greatest
    /// as factors. `None` for other values, also for zero.
    pub(super) fn logarithmic(
        values: &[f64],
        factor: f64,
        room: [f64; 2],
        from: f64,
        to: f64,
    ) -> Option<Self> {
        let (low, high) = span(values);
        let is_wide = low > 0.0 && high > factor * low;
        is_wide.then(|| Self {
            low: low / room[0],
            high: high * room[1],
            from,
            to,
            log: true,
        })
    }

    /// A note for the axis title where it is logarithmic.
    pub(super) fn note(&self) -> &'static str {
        if self.log { " (logarithmic)" } else { "" }
    }

    /// Position of `value`; an infinite one lies at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.min(self.high);
        let at = |value: f64| {
            if self.log {
                libm::log(value.max(self.low))
            } else {
                value
            }
        };
        let share = (at(value) - at(self.low)) / (at(self.high) - at(self.low));
        self.from
            + (self.to - self.from)
                * if share.is_finite() {
                    share.clamp(0.0, 1.0)
                } else {
                    0.0
                }
    }
}

/// A step of 1, 2, 2.5 or 5 times a power of ten that cuts `span` into at most `most` parts.
fn nice_step(span: f64, most: usize) -> f64 {
    let rough = span / most.max(1) as f64;
    let power = libm::pow(10.0, libm::log10(rough).floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// Ticks of values in a unit of this size, with their labels, as ticks of values in the recorded unit.
pub(super) fn scaled(ticks: Vec<AxisTick>, unit: f64) -> Vec<AxisTick> {
    ticks
        .into_iter()
        .map(|tick| AxisTick {
            value: tick.value * unit,
            ..tick
        })
        .collect()
}

/// Ticks at these percentages, of a scale of shares.
pub(super) fn percent_ticks<const N: usize>(percents: [u32; N]) -> Vec<AxisTick> {
    percents
        .map(|percent| AxisTick {
            value: f64::from(percent) / 100.0,
            label: format!("{percent}%"),
        })
        .into()
}

/// Ticks of rates from zero to the first one that is not below `max`, with the unit of their labels.
pub(super) fn rate_ticks(max: f64, most: usize) -> (Vec<AxisTick>, RateUnit) {
    let unit = RateUnit::for_max(max);
    (
        scaled(
            ticks_from_zero(max / unit.bytes_per_s, most, false),
            unit.bytes_per_s,
        ),
        unit,
    )
}

/// Ticks from zero to the first one that is not below `max`, at most `most + 1` of them. Steps are whole when values
/// are.
pub(super) fn ticks_from_zero(max: f64, most: usize, whole: bool) -> Vec<AxisTick> {
    if max <= 0.0 {
        return vec![
            AxisTick {
                value: 0.0,
                label: "0".to_owned(),
            },
            AxisTick {
                value: 1.0,
                label: "1".to_owned(),
            },
        ];
    }
    let mut step = nice_step(max, most);
    if whole {
        step = step.max(1.0).ceil();
    }
    let count = (max / step - 1e-9).ceil() as usize;
    (0..=count)
        .map(|at| AxisTick {
            value: at as f64 * step,
            label: number(at as f64 * step),
        })
        .collect()
}

/// Steps that divide units of time as clocks do: the seconds of a unit, and how many of it.
const TIME_STEPS: [(f64, &[f64]); 4] = [
    (1.0, &[1.0, 2.0, 5.0, 10.0, 20.0, 30.0]),
    (60.0, &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0]),
    (3600.0, &[1.0, 2.0, 3.0, 4.0, 6.0, 12.0]),
    (86_400.0, &[1.0, 2.0, 5.0, 10.0, 30.0]),
];

/// Ticks of a linear time axis from zero that ends at `span_s`, and the unit of their labels.
pub(super) fn time_ticks(span_s: f64, most: usize) -> (Vec<AxisTick>, TimeUnit) {
    let unit = TimeUnit::for_span(span_s);
    let rough = span_s / most.max(1) as f64;
    let mut steps = TIME_STEPS
        .into_iter()
        .flat_map(|(unit, steps)| steps.iter().map(move |step| step * unit));
    let of_clocks = if rough <= 1.0 {
        None
    } else {
        steps.find(|&step| step >= rough)
    };
    let step = of_clocks.unwrap_or_else(|| nice_step(span_s, most));
    // A step that is a fraction of the unit, such as 20 min on an axis of hours, has no short labels: take the unit.
    let fraction = step / unit.seconds;
    let step = if fraction < 1.0 && ((1.0 / fraction) - (1.0 / fraction).round()).abs() > 1e-9 {
        unit.seconds
    } else {
        step
    };
    let step = if (step - unit.seconds / 3.0).abs() < 1e-9 {
        unit.seconds / 2.0
    } else {
        step
    };
    let count = (span_s / step + 1e-9).floor() as usize;
    let tick = |at: usize| AxisTick {
        value: at as f64 * step,
        label: number(at as f64 * step / unit.seconds),
    };
    ((0..=count).map(tick).collect(), unit)
}

/// Places of a logarithmic time axis, the rounder ones first.
const LOG_TIMES: [&[&str]; 3] = [
    &[
        "0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d", "10 d", "100 d",
    ],
    &["30 s", "30 min", "3 h", "3 min", "3 s", "3 d"],
    &[
        "2 s", "5 s", "20 s", "2 min", "5 min", "20 min", "2 h", "5 h", "20 h", "2 d", "5 d",
    ],
];

/// Ticks of a logarithmic time axis: the roundest times on it that leave `apart` pixels to each other.
fn log_time_ticks(scale: &Scale, apart: f64) -> Vec<AxisTick> {
    let tick = |label: &&str| {
        let value = SimDuration::parse(label)
            .expect("a time with its unit")
            .as_secs_f64();
        AxisTick {
            value,
            label: (*label).to_owned(),
        }
    };
    with_room(LOG_TIMES.iter().copied().flatten().map(tick), scale, apart)
}

/// Ticks of a time axis, and their unit: `None` for a logarithmic one, whose ticks are `apart` pixels from each other
/// and have their own units. A linear one has at most `most` steps.
fn ticks_and_unit(scale: &Scale, apart: f64, most: usize) -> (Vec<AxisTick>, Option<TimeUnit>) {
    if scale.log {
        return (log_time_ticks(scale, apart), None);
    }
    let (ticks, unit) = time_ticks(scale.high, most);
    (ticks, Some(unit))
}

/// Ticks of a time axis and its title: `linear`, in which `{}` is the unit, or that of a logarithmic one. See
/// [`ticks_and_unit`].
pub(super) fn ticks_of_time(
    scale: &Scale,
    (apart, most): (f64, usize),
    (linear, log): (&str, &str),
) -> (Vec<AxisTick>, String) {
    let (ticks, unit) = ticks_and_unit(scale, apart, most);
    (
        ticks,
        unit.map_or_else(|| log.to_owned(), |unit| linear.replace("{}", unit.long)),
    )
}

/// The ticks of a time axis of a small panel: the last label of a linear one carries the unit.
pub(super) fn ticks_of_short_time(scale: &Scale, apart: f64, most: usize) -> Vec<AxisTick> {
    let (mut ticks, unit) = ticks_and_unit(scale, apart, most);
    if let Some((last, unit)) = ticks.last_mut().zip(unit) {
        last.label = format!("{} {}", last.label, unit.short);
    }
    ticks
}

/// Ticks of a logarithmic axis of counts: powers of ten, with multiples of 3, 2 and 5 where there is room.
pub(super) fn log_ticks(scale: &Scale, apart: f64) -> Vec<AxisTick> {
    let values = [1.0, 3.0, 2.0, 5.0]
        .into_iter()
        .flat_map(|factor| (-3..13).map(move |power| factor * libm::pow(10.0, f64::from(power))));
    with_room(
        values.map(|value| AxisTick {
            value,
            label: number(value),
        }),
        scale,
        apart,
    )
}

/// Those ticks on the axis that leave `apart` pixels to the ones before them, in the order of their values.
fn with_room(
    candidates: impl Iterator<Item = AxisTick>,
    scale: &Scale,
    apart: f64,
) -> Vec<AxisTick> {
    let mut ticks: Vec<AxisTick> = Vec::new();
    for tick in candidates {
        let on_axis =
            tick.value >= scale.low * (1.0 - 1e-9) && tick.value <= scale.high * (1.0 + 1e-9);
        let place = scale.at(tick.value);
        if on_axis
            && ticks
                .iter()
                .all(|other| (scale.at(other.value) - place).abs() >= apart)
        {
            ticks.push(tick);
        }
    }
    ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
    ticks
}

/// A horizontal axis of time with room around the values: logarithmic when they span more than a factor of 30, so that
/// a slow variant does not squash the others. `values` are positive.
pub(super) fn time_scale(values: &[f64], from: f64, to: f64) -> Scale {
    Scale::fitting(values, (LOG_FROM, [1.4, 1.25]), 1.06, (from, to))
}

/// A scale of counts from a place to another, with its ticks. It is logarithmic when values span a large factor, with
/// `room` around them as factors and ticks `apart` pixels from each other; otherwise it goes from zero to the first
/// tick that is not below `end`, in at most `most` steps.
pub(super) fn count_scale(
    values: &[f64],
    (room, apart): ([f64; 2], f64),
    (end, most): (f64, usize),
    (from, to): (f64, f64),
) -> (Scale, Vec<AxisTick>) {
    if let Some(scale) = Scale::logarithmic(values, LOG_FROM, room, from, to) {
        return (scale, log_ticks(&scale, apart));
    }
    let ticks = ticks_from_zero(end, most, true);
    (Scale::to_last(&ticks, from, to), ticks)
}

/// Values that span more than this factor get a logarithmic axis.
pub(super) const LOG_FROM: f64 = 30.0;

/// The corners of a curve that is 0 at first and jumps to each point's second number.
pub(super) fn staircase(
    points: impl Iterator<Item = (f64, f64)>,
    x: &Scale,
    y: &Scale,
) -> Vec<(f64, f64)> {
    let mut before = 0.0;
    points
        .flat_map(|(at, value)| {
            [std::mem::replace(&mut before, value), value].map(|y_at| (x.at(at), y.at(y_at)))
        })
        .collect()
}

/// The least and the greatest; zeros without values.
pub(super) fn span(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    (if low.is_finite() { low } else { 0.0 }, high)
}

/// Points whose curve over time looks as that of all `points`, four for each pixel: the first, lowest, highest and
/// last one in it. Plain thinning would lose peaks. `points` are in pixels and run to the right.
pub(super) fn decimate(points: &[(f64, f64)], per_px: f64) -> Vec<(f64, f64)> {
    let mut thin: Vec<(f64, f64)> = Vec::new();
    let column = |point: &(f64, f64)| (point.0 * per_px).floor() as i64;
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        if group.len() <= 4 {
            thin.extend_from_slice(group);
            continue;
        }
        let extremes = group
            .iter()
            .position_minmax_by(|a, b| a.1.total_cmp(&b.1))
            .into_option();
        let (lowest, highest) = extremes.expect("a group is not empty");
        let kept = [0, lowest.min(highest), lowest.max(highest), group.len() - 1];
        thin.extend(kept.into_iter().dedup().map(|at| group[at]));
    }
    thin
}

/// A curve that swings too often for a line: its highest, lowest and mean place in columns of pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Envelope {
    pub(super) upper: Vec<(f64, f64)>,
    pub(super) lower: Vec<(f64, f64)>,
    pub(super) mean: Vec<(f64, f64)>,
}

/// Width of a column of an [`Envelope`].
const COLUMN: f64 = 5.0;
/// A turn is a swing over more than this share of the curve's height.
const SWING: f64 = 0.25;
/// A line with more turns than this in a column of the curve's width, on average, is ink without a shape.
const TURNS: f64 = 1.5;

/// The level parts of a curve of steps, cut to a column: height and width.
fn levels(points: &[(f64, f64)], from: f64, to: f64) -> Vec<(f64, f64)> {
    let widths = points
        .windows(2)
        .map(|pair| (pair[0].1, pair[1].0.min(to) - pair[0].0.max(from)));
    widths.filter(|(_, width)| *width > 0.0).collect()
}

/// The envelope of a step line that runs to the right, in pixels. `None` where a line shows it better.
pub(super) fn envelope(points: &[(f64, f64)]) -> Option<Envelope> {
    let (first, last) = (points.first()?, points.last()?);
    let (top, bottom) = points
        .iter()
        .map(|point| point.1)
        .minmax_by(f64::total_cmp)
        .into_option()?;
    let columns = ((last.0 - first.0) / COLUMN).ceil().max(1.0) as usize;
    if (turns(points, SWING * (bottom - top)) as f64) <= TURNS * columns as f64 {
        return None;
    }
    let mut envelope = Envelope {
        upper: Vec::new(),
        lower: Vec::new(),
        mean: Vec::new(),
    };
    for column in 0..columns {
        let (from, to) = (
            first.0 + COLUMN * column as f64,
            first.0 + COLUMN * (column + 1) as f64,
        );
        let levels = levels(points, from, to);
        let width: f64 = levels.iter().map(|(_, width)| width).sum();
        let Some((high, low)) = levels
            .iter()
            .map(|(y, _)| *y)
            .minmax_by(f64::total_cmp)
            .into_option()
        else {
            continue;
        };
        let mean = levels.iter().map(|(y, width)| y * width).sum::<f64>() / width;
        let end = to.min(last.0);
        for (edge, y) in [(&mut envelope.upper, high), (&mut envelope.lower, low)] {
            edge.extend([(from, y), (end, y)]);
        }
        envelope.mean.push((f64::midpoint(from, end), mean));
    }
    Some(envelope)
}

/// Changes of direction after a swing of more than `least`.
fn turns(points: &[(f64, f64)], least: f64) -> usize {
    let mut turns = 0;
    // The end of the current swing, and its direction.
    let (mut end, mut up) = (points[0].1, None);
    for &(_, y) in points {
        let away = y - end;
        match up {
            Some(true) if away >= 0.0 => end = y,
            Some(false) if away <= 0.0 => end = y,
            _ if away.abs() > least => {
                turns += usize::from(up.is_some());
                (end, up) = (y, Some(away > 0.0));
            }
            _ => {}
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[AxisTick]) -> String {
        ticks
            .iter()
            .map(|tick| tick.label.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn ticks_are_round_and_reach_beyond_the_greatest_value() {
        assert_eq!(
            labels(&ticks_from_zero(2375.0, 6, true)),
            "0 500 1,000 1,500 2,000 2,500"
        );
        assert_eq!(labels(&ticks_from_zero(0.0, 5, true)), "0 1");
        assert_eq!(labels(&ticks_from_zero(2.0, 5, true)), "0 1 2");
        assert_eq!(labels(&ticks_from_zero(9.4, 5, false)), "0 2 4 6 8 10");
        assert_eq!(labels(&ticks_from_zero(10.0, 5, false)), "0 2 4 6 8 10");
    }

    #[test]
    fn time_ticks_divide_hours_as_clocks_do() {
        let cases = [
            (90.0, "0 20 40 60 80", "s"),
            (3600.0, "0 10 20 30 40 50 60", "min"),
            (10_000.0, "0 0.5 1 1.5 2 2.5", "h"),
            (86_400.0, "0 4 8 12 16 20 24", "h"),
            (0.5, "0 0.1 0.2 0.3 0.4 0.5", "s"),
        ];
        for (span, expected, unit) in cases {
            let (ticks, shown) = time_ticks(span, 6);
            assert_eq!(
                (labels(&ticks).as_str(), shown.short),
                (expected, unit),
                "{span}"
            );
        }
    }

    #[test]
    fn a_wide_span_of_times_gets_a_logarithmic_axis() {
        let wide = time_scale(&[60.0, 36_000.0], 0.0, 600.0);
        assert!(wide.log);
        assert_eq!(
            labels(&log_time_ticks(&wide, 60.0)),
            "1 min 3 min 10 min 1 h 3 h 10 h"
        );
        assert!(!time_scale(&[60.0, 1700.0], 0.0, 600.0).log && !time_scale(&[], 0.0, 600.0).log);
        assert!(
            (wide.at(1e9) - 600.0).abs() < 1e-9 && wide.at(0.0).abs() < 1e-9,
            "outside goes to the ends"
        );
    }

    #[test]
    fn a_curve_that_swings_in_every_pixel_becomes_an_envelope_with_its_mean() {
        let steps = |width: f64, high: f64| -> Vec<(f64, f64)> {
            let level = |at: i32| if at % 2 == 0 { high } else { 0.0 };
            (0..200)
                .flat_map(|at| [(at, at), (at + 1, at)])
                .map(|(x, at)| (f64::from(x) * width, level(at)))
                .collect()
        };
        assert_eq!(
            envelope(&steps(10.0, 8.0)),
            None,
            "a swing every ten pixels is a line"
        );
        assert_eq!(envelope(&steps(1.0, 0.0)), None, "a level line");
        assert_eq!(envelope(&[]), None);
        let dense = envelope(&steps(0.5, 8.0)).expect("ten swings in a column");
        assert_eq!(
            (dense.upper.len(), dense.lower.len(), dense.mean.len()),
            (40, 40, 20)
        );
        assert!(
            dense.upper.iter().all(|point| point.1.abs() < 1e-9),
            "the highest place has the least y"
        );
        assert!(dense.lower.iter().all(|point| (point.1 - 8.0).abs() < 1e-9));
        assert!(
            dense.mean.iter().all(|point| (point.1 - 4.0).abs() < 1e-9),
            "{:?}",
            dense.mean
        );
        assert!((dense.upper[39].0 - 100.0).abs() < 1e-9, "up to the end");
    }

    #[test]
    fn thinning_keeps_the_peaks() {
        let mut points: Vec<(f64, f64)> =
            (0..10_000).map(|at| (f64::from(at) / 100.0, 0.0)).collect();
        points[4321].1 = 5.0;
        points[4322].1 = -5.0;
        let thin = decimate(&points, 1.0);
        assert!(thin.len() <= 400, "{}", thin.len());
        assert!(thin.contains(&points[4321]) && thin.contains(&points[4322]));
        assert!(
            thin.windows(2).all(|pair| pair[0].0 <= pair[1].0),
            "still to the right"
        );
        assert_eq!(decimate(&points[..5], 1000.0), points[..5]);
    }
}

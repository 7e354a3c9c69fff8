//! Scales from values to pixels, and positions of their ticks.

use itertools::Itertools;

use super::format::{RateUnit, TimeUnit, number};
use fleetsim_units::{SimDuration, WithUnit};

/// A scale from `low..=high` to `from..=to` pixels, linear or logarithmic; values outside are clamped to the nearer
/// end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) log: bool,
}

/// A labelled position on a scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTick {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Scale {
    /// A scale from zero to `high`; up to 1 if no value is greater than zero.
    pub(super) fn from_zero(high: f64, from: f64, to: f64) -> Self {
        Self {
            low: 0.0,
            high: if high > 0.0 { high } else { 1.0 },
            from,
            to,
            log: false,
        }
    }

    /// A logarithmic scale as in [`Self::logarithmic`] if the values span more than `factor`, otherwise a linear scale
    /// from zero to the maximum times `above`.
    pub(super) fn fitting(
        values: &[f64],
        (factor, room): (f64, [f64; 2]),
        above: f64,
        (from, to): (f64, f64),
    ) -> Self {
        if let Some(scale) = Self::logarithmic(values, factor, room, from, to) {
            return scale;
        }
        let (_, high) = span(values);
        Self::from_zero(high * above, from, to)
    }

    /// A linear scale from zero to the last of `ticks`.
    pub(super) fn to_last(ticks: &[AxisTick], from: f64, to: f64) -> Self {
        Self::from_zero(ticks.last().expect("there are ticks").value, from, to)
    }

    /// A logarithmic scale for values that span more than `factor`, with `room` below the minimum and above the
    /// maximum as factors. `None` for other values, and if one is zero.
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

    /// A note for the axis title if the scale is logarithmic.
    pub(super) fn note(&self) -> &'static str {
        if self.log { " (logarithmic)" } else { "" }
    }

    /// Position of `value`; infinite values are at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let low = self.measured(self.low);
        let value = self.measured(value.min(self.high));
        let share = (value - low) / (self.measured(self.high) - low);
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.from + (self.to - self.from) * share
    }

    /// A value, or its logarithm on a logarithmic scale.
    fn measured(&self, value: f64) -> f64 {
        if self.log {
            libm::log(value.max(self.low))
        } else {
            value
        }
    }
}

/// A step of 1, 2, 2.5 or 5 times a power of ten that cuts `span` into at most `most` parts.
fn nice_step(span: f64, most: usize) -> f64 {
    let rough = span / most.max(1) as f64;
    let power = libm::pow(10.0, libm::log10(rough).floor());
    for factor in [1.0, 2.0, 2.5, 5.0, 10.0] {
        let step = factor * power;
        if step >= rough * (1.0 - 1e-9) {
            return step;
        }
    }
    10.0 * power
}

/// Converts the positions of ticks from a unit of size `unit` to the recorded unit. Labels stay unchanged.
pub(super) fn scaled(mut ticks: Vec<AxisTick>, unit: f64) -> Vec<AxisTick> {
    for tick in &mut ticks {
        tick.value *= unit;
    }
    ticks
}

/// Ticks at the given percentages, for a scale of shares.
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
    let ticks = ticks_from_zero(max / unit.bytes_per_s, most, false);
    (scaled(ticks, unit.bytes_per_s), unit)
}

/// Ticks from zero to the first one that is not below `max`, at most `most + 1` of them. Steps are whole if values
/// are.
pub(super) fn ticks_from_zero(max: f64, most: usize, whole: bool) -> Vec<AxisTick> {
    if max <= 0.0 {
        return every(1.0, 1, 1.0);
    }
    let mut step = nice_step(max, most);
    if whole {
        step = step.max(1.0).ceil();
    }
    let count = (max / step - 1e-9).ceil() as usize;
    every(step, count, 1.0)
}

/// A tick at zero and at each of `count` steps, labelled in a unit of size `unit`.
fn every(step: f64, count: usize, unit: f64) -> Vec<AxisTick> {
    let mut ticks = Vec::new();
    for at in 0..=count {
        let value = at as f64 * step;
        ticks.push(AxisTick {
            value,
            label: number(value / unit),
        });
    }
    ticks
}

/// Steps that divide units of time as clocks do: the seconds of a unit, and multiples of it.
const TIME_STEPS: [(f64, &[f64]); 4] = [
    (1.0, &[1.0, 2.0, 5.0, 10.0, 20.0, 30.0]),
    (60.0, &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0]),
    (3600.0, &[1.0, 2.0, 3.0, 4.0, 6.0, 12.0]),
    (86_400.0, &[1.0, 2.0, 5.0, 10.0, 30.0]),
];

/// Ticks of a linear time axis from zero that ends at `span_s`, and the unit of their labels.
pub(super) fn time_ticks(span_s: f64, most: usize) -> (Vec<AxisTick>, TimeUnit) {
    let unit = TimeUnit::for_span(span_s);
    let mut step = clock_step(span_s, most);
    // A step that is a fraction of the unit, such as 20 min on an axis of hours, has no short labels: use the unit.
    let fraction = step / unit.seconds;
    if fraction < 1.0 && ((1.0 / fraction) - (1.0 / fraction).round()).abs() > 1e-9 {
        step = unit.seconds;
    }
    if (step - unit.seconds / 3.0).abs() < 1e-9 {
        step = unit.seconds / 2.0;
    }
    let count = (span_s / step + 1e-9).floor() as usize;
    (every(step, count, unit.seconds), unit)
}

/// The shortest clock step that cuts a span into at most `most` parts; a nice number of seconds if the clock steps are
/// too short, or for steps below a second.
fn clock_step(span_s: f64, most: usize) -> f64 {
    let rough = span_s / most.max(1) as f64;
    if rough <= 1.0 {
        return nice_step(span_s, most);
    }
    for (unit, counts) in TIME_STEPS {
        for count in counts {
            let step = count * unit;
            if step >= rough {
                return step;
            }
        }
    }
    nice_step(span_s, most)
}

/// Tick times of a logarithmic time axis, the rounder ones first.
const LOG_TIMES: [&[&str]; 3] = [
    &[
        "0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d", "10 d", "100 d",
    ],
    &["30 s", "30 min", "3 h", "3 min", "3 s", "3 d"],
    &[
        "2 s", "5 s", "20 s", "2 min", "5 min", "20 min", "2 h", "5 h", "20 h", "2 d", "5 d",
    ],
];

/// Ticks of a logarithmic time axis: the roundest times on it that are at least `apart` pixels from each other.
fn log_time_ticks(scale: &Scale, apart: f64) -> Vec<AxisTick> {
    let mut candidates = Vec::new();
    for label in LOG_TIMES.into_iter().flatten() {
        let time = SimDuration::parse(label).expect("a time with its unit");
        candidates.push(AxisTick {
            value: time.as_secs_f64(),
            label: (*label).to_owned(),
        });
    }
    with_room(candidates, scale, apart)
}

/// Ticks of a time axis, and their unit. The unit is `None` for a logarithmic axis, whose ticks are `apart` pixels
/// from each other and have their own units. A linear axis has at most `most` steps.
fn ticks_and_unit(scale: &Scale, apart: f64, most: usize) -> (Vec<AxisTick>, Option<TimeUnit>) {
    if scale.log {
        return (log_time_ticks(scale, apart), None);
    }
    let (ticks, unit) = time_ticks(scale.high, most);
    (ticks, Some(unit))
}

/// Ticks of a time axis and its title: `linear`, in which `{}` is the unit, or the title of a logarithmic axis. See
/// [`ticks_and_unit`].
pub(super) fn ticks_of_time(
    scale: &Scale,
    (apart, most): (f64, usize),
    (linear, log): (&str, &str),
) -> (Vec<AxisTick>, String) {
    let (ticks, unit) = ticks_and_unit(scale, apart, most);
    let title = match unit {
        Some(unit) => linear.replace("{}", unit.long),
        None => log.to_owned(),
    };
    (ticks, title)
}

/// The ticks of a time axis of a small panel: the last label of a linear axis includes the unit.
pub(super) fn ticks_of_short_time(scale: &Scale, apart: f64, most: usize) -> Vec<AxisTick> {
    let (mut ticks, unit) = ticks_and_unit(scale, apart, most);
    if let Some((last, unit)) = ticks.last_mut().zip(unit) {
        last.label = format!("{} {}", last.label, unit.short);
    }
    ticks
}

/// Ticks of a logarithmic axis of counts: powers of ten, with multiples of 3, 2 and 5 if there is room.
pub(super) fn log_ticks(scale: &Scale, apart: f64) -> Vec<AxisTick> {
    let mut candidates = Vec::new();
    for factor in [1.0, 3.0, 2.0, 5.0] {
        for power in -3..13 {
            let value = factor * libm::pow(10.0, f64::from(power));
            let label = number(value);
            candidates.push(AxisTick { value, label });
        }
    }
    with_room(candidates, scale, apart)
}

/// The candidates on the axis that are at least `apart` pixels from earlier candidates, sorted by value.
fn with_room(candidates: Vec<AxisTick>, scale: &Scale, apart: f64) -> Vec<AxisTick> {
    let mut ticks: Vec<AxisTick> = Vec::new();
    for tick in candidates {
        let on_axis =
            tick.value >= scale.low * (1.0 - 1e-9) && tick.value <= scale.high * (1.0 + 1e-9);
        let place = scale.at(tick.value);
        let mut others = ticks.iter().map(|other| scale.at(other.value));
        if on_axis && others.all(|other| (other - place).abs() >= apart) {
            ticks.push(tick);
        }
    }
    ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
    ticks
}

/// A horizontal axis of time with room around the values: logarithmic if the values span more than a factor of 30, so
/// that a slow variant does not squash all others. `values` are positive.
pub(super) fn time_scale(values: &[f64], from: f64, to: f64) -> Scale {
    Scale::fitting(values, (LOG_FROM, [1.4, 1.25]), 1.06, (from, to))
}

/// A scale of counts with its ticks. It is logarithmic if the values span a large factor, with `room` around them as
/// factors and ticks `apart` pixels from each other; otherwise it goes from zero to the first tick that is not below
/// `end`, in at most `most` steps.
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

/// A logarithmic axis is used for values that span more than this factor.
pub(super) const LOG_FROM: f64 = 30.0;

/// The corners of a step curve that starts at 0 and, at the x of each point, jumps to the point's y.
pub(super) fn staircase(
    points: impl Iterator<Item = (f64, f64)>,
    x: &Scale,
    y: &Scale,
) -> Vec<(f64, f64)> {
    let mut before = y.at(0.0);
    let mut corners = Vec::new();
    for (at, value) in points {
        let at = x.at(at);
        let after = y.at(value);
        corners.push((at, before));
        corners.push((at, after));
        before = after;
    }
    corners
}

/// The minimum and the maximum; zeros without values.
pub(super) fn span(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    (if low.is_finite() { low } else { 0.0 }, high)
}

/// Thins out a curve to at most four points per pixel (first, lowest, highest and last), so that it is drawn like
/// `points`. Plain thinning would lose peaks. `points` are in pixels, from left to right.
pub(super) fn decimate(points: &[(f64, f64)], per_px: f64) -> Vec<(f64, f64)> {
    let mut thin: Vec<(f64, f64)> = Vec::new();
    for group in points.chunk_by(|a, b| pixel(a, per_px) == pixel(b, per_px)) {
        if group.len() <= 4 {
            thin.extend_from_slice(group);
            continue;
        }
        let heights = group.iter().map(|(_, y)| *y);
        let extremes = heights.position_minmax_by(f64::total_cmp).into_option();
        let (lowest, highest) = extremes.expect("a group is not empty");
        let mut kept = vec![0, lowest.min(highest), lowest.max(highest), group.len() - 1];
        kept.dedup();
        for at in kept {
            thin.push(group[at]);
        }
    }
    thin
}

/// The index of the column of pixels that contains a point.
fn pixel((x, _): &(f64, f64), per_px: f64) -> i64 {
    (x * per_px).floor() as i64
}

/// A curve with too many swings for a line: its highest, lowest and mean position in columns of pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Envelope {
    pub(super) upper: Vec<(f64, f64)>,
    pub(super) lower: Vec<(f64, f64)>,
    pub(super) mean: Vec<(f64, f64)>,
}

/// Width of a column of an [`Envelope`].
const COLUMN: f64 = 5.0;
/// Minimum swing that counts as a turn, as a share of the curve's height.
const SWING: f64 = 0.25;
/// Mean number of turns per column above which a line would be drawn as a solid block.
const TURNS: f64 = 1.5;

/// A level part of a step curve.
struct LevelPart {
    y: f64,
    width: f64,
}

/// The level parts of a step curve, cut to a column.
fn levels(points: &[(f64, f64)], from: f64, to: f64) -> Vec<LevelPart> {
    let mut levels = Vec::new();
    for pair in points.windows(2) {
        let [(start, y), (end, _)] = [pair[0], pair[1]];
        let width = end.min(to) - start.max(from);
        if width > 0.0 {
            levels.push(LevelPart { y, width });
        }
    }
    levels
}

/// The envelope of a step curve from left to right, in pixels. `None` if a line shows it better.
pub(super) fn envelope(points: &[(f64, f64)]) -> Option<Envelope> {
    let (first, _) = *points.first()?;
    let (last, _) = *points.last()?;
    let heights = points.iter().map(|(_, y)| *y);
    let (top, bottom) = heights.minmax_by(f64::total_cmp).into_option()?;
    let columns = ((last - first) / COLUMN).ceil().max(1.0) as usize;
    if (turns(points, SWING * (bottom - top)) as f64) <= TURNS * columns as f64 {
        return None;
    }
    let mut envelope = Envelope {
        upper: Vec::new(),
        lower: Vec::new(),
        mean: Vec::new(),
    };
    for column in 0..columns {
        let from = first + COLUMN * column as f64;
        let to = first + COLUMN * (column + 1) as f64;
        let levels = levels(points, from, to);
        let heights = levels.iter().map(|level| level.y);
        let Some((high, low)) = heights.minmax_by(f64::total_cmp).into_option() else {
            continue;
        };
        let width: f64 = levels.iter().map(|level| level.width).sum();
        let mean = levels
            .iter()
            .map(|level| level.y * level.width)
            .sum::<f64>()
            / width;
        let end = to.min(last);
        for (edge, y) in [(&mut envelope.upper, high), (&mut envelope.lower, low)] {
            edge.extend([(from, y), (end, y)]);
        }
        envelope.mean.push((f64::midpoint(from, end), mean));
    }
    Some(envelope)
}

/// The number of changes of direction after a swing of more than `least`.
fn turns(points: &[(f64, f64)], least: f64) -> usize {
    let mut turns = 0;
    // The end of the current swing, and its direction.
    let (_, mut end) = points[0];
    let mut up = None;
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

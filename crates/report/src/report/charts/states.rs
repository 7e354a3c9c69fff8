//! Cluster states over time in the displayed run, stacked, so that they always add up to the fleet. Fleets of
//! different sizes are shown as shares, so that small ones are readable.

use crate::report::charts::over_time::{
    Heading, SHARED_TIME, panel_frame, panel_names, panel_time,
};
use crate::report::prelude::*;
use crate::report::spans::TimeSpans;
use crate::results::TimelineRow;

/// The cluster counts of a bin in the order of the stack, from the bottom.
fn stack(row: &TimelineRow) -> [u64; 4] {
    [row.ready_new, row.updating, row.not_ready, row.waiting]
}

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let time = TimeSpans::of(&variants, variants.iter().map(settled_after).collect());
    let spans = &time.ends;
    let longest = spans.iter().copied().fold(0.0, f64::max);
    let alike = spans.iter().all(|span| span * SHARED_TIME >= longest);
    let fleets: Vec<f64> = variants.iter().map(fleet_size).collect();
    let (ticks, one_size) = values(&fleets);
    let axes = if alike {
        ""
    } else {
        "; time axes differ between panels"
    };
    let subtitle = extent(&variants) + &results.replicate_of("shown") + axes + time.note();
    let (areas, height) = panels(results.sheet(), variants.len(), None);
    let head = Head {
        subject: "Cluster states over time",
        findings: findings::updating(&variants),
        note: subtitle,
    };
    let mut canvas = page_of_run(results, &head, height);
    legend(&mut canvas, (MARGIN, TOP - 2.0), &STATES);
    let clock = results.clock();
    let names = panel_names(&variants, &areas);
    for (at, (&area, variant)) in areas.iter().zip(&variants).enumerate() {
        let span = if alike { longest } else { spans[at] };
        let x = Scale::from_zero(span, area.left, area.right);
        let y = Scale::from_zero(one_size.unwrap_or(fleets[at]), area.bottom, area.top);
        let heading = Heading {
            name: &names[at],
            detail: &detail(variant),
            labelled: area.left < MARGIN + 60.0,
        };
        let ticks = scaled(ticks.clone(), y.high);
        panel_frame(&mut canvas, area, &y, &ticks, &heading);
        fill(&mut canvas, variant, &x, &y);
        panel_time(&mut canvas, area, &x, clock.as_ref());
        if time.goes_on[at] {
            arrow(&mut canvas, area);
        }
    }
    canvas
}

/// Clusters in the stack; at least 1.
fn fleet_size(variant: &VariantResults<'_>) -> f64 {
    variant
        .timeline
        .iter()
        .map(|row| stack(row).iter().sum::<u64>())
        .max()
        .unwrap_or(0)
        .max(1) as f64
}

/// Ticks of the value axis as parts of the fleet, and the common fleet size. If sizes differ, the ticks are shares,
/// and the size is `None`.
fn values(fleets: &[f64]) -> (Vec<AxisTick>, Option<f64>) {
    let sizes = fleets.iter().copied().minmax().into_option();
    let (small, large) = sizes.unwrap_or((1.0, 1.0));
    if small < large {
        return (percent_ticks([0, 50, 100]), None);
    }
    let mut ticks = ticks_from_zero(large, 4, true);
    ticks.retain(|tick| tick.value <= large);
    for tick in &mut ticks {
        tick.value /= large;
    }
    (ticks, Some(large))
}

/// `in this run all ready after 12.3 min`, or how many clusters are ready at the end. The text says `in this run`,
/// because the time of a single run is not the result.
fn detail(variant: &VariantResults<'_>) -> String {
    let Some(last) = variant.timeline.last() else {
        return "no series".to_owned();
    };
    let all: u64 = stack(last).iter().sum();
    if last.ready_new == all {
        // Use the exact time if it is known; otherwise the end of the bin would be reported, which is later.
        let ready = variant
            .clusters
            .iter()
            .filter_map(|cluster| cluster.ready_s)
            .reduce(f64::max);
        return format!(
            "in this run all ready after {}",
            time(ready.unwrap_or_else(|| settled_after(variant)))
        );
    }
    format!(
        "{} of {} ready at the end",
        count(last.ready_new as f64),
        count(all as f64)
    )
}

/// The end of the bin with the last change of any state; at least one bin. 0 without a series.
fn settled_after(variant: &VariantResults<'_>) -> f64 {
    let Some(last) = variant.timeline.last() else {
        return 0.0;
    };
    let mut settled = last;
    for row in variant.timeline.iter().rev() {
        if stack(row) != stack(last) {
            break;
        }
        settled = row;
    }
    settled.t_s + settled.bin_s
}

fn fill(canvas: &mut Canvas, variant: &VariantResults<'_>, x: &Scale, y: &Scale) {
    let mut shown: Vec<&TimelineRow> = variant.timeline.clone();
    shown.retain(|row| row.t_s < x.high);
    if shown.is_empty() {
        return;
    }
    // From the whole stack down to its lowest part: each part covers those below it.
    let ground = vec![(x.at(0.0), y.at(0.0)), (x.to, y.at(0.0))];
    for (upto, (_, colour)) in [1, 2, 3, 4].into_iter().zip(STATES).rev() {
        let edge = upper_edge(&shown, upto, x, y);
        canvas.between(decimate(&edge, 1.0), ground.clone(), colour, 1.0);
    }
}

/// The upper edge of the first `upto` states in the stack. States are those at the end of a bin, so the curve connects
/// the ends of bins; before the first one, all clusters are waiting.
fn upper_edge(shown: &[&TimelineRow], upto: usize, x: &Scale, y: &Scale) -> Vec<Position> {
    let mut points = Vec::new();
    for row in shown {
        let clusters: u64 = stack(row)[..upto].iter().sum();
        let height = y.at(clusters as f64);
        if points.is_empty() {
            let all_wait = upto == 4;
            let start = if all_wait { height } else { y.at(0.0) };
            points.push((x.at(0.0), start));
        }
        points.push((x.at(row.t_s + row.bin_s), height));
    }
    // A variant that settles before the end of the axis keeps its last state.
    if let Some(last) = shown.last()
        && last.t_s + last.bin_s < x.high
        && let Some(&(_, height)) = points.last()
    {
        points.push((x.to, height));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleets_of_equal_size_are_shown_as_counts_and_others_as_shares() {
        let (ticks, size) = values(&[1000.0, 1000.0]);
        assert!(
            size.is_some_and(|size| (size - 1000.0).abs() < 1e-9),
            "{size:?}"
        );
        assert!(
            ticks
                .iter()
                .any(|tick| tick.label == "500" && (tick.value - 0.5).abs() < 1e-9),
            "{ticks:?}"
        );
        let (ticks, size) = values(&[200.0, 1000.0]);
        assert!(size.is_none(), "{size:?}");
        assert_eq!(
            ticks
                .iter()
                .map(|tick| tick.label.as_str())
                .collect::<Vec<_>>(),
            ["0%", "50%", "100%"]
        );
    }
}

//! Cluster states over time in the displayed run, stacked, so that they always add up to the fleet.

use crate::report::charts::over_time::{Heading, SHARED_TIME, panel_frame, panel_names, panel_time};
use crate::report::charts::prelude::*;
use crate::results::TimelineRow;

/// Clusters of a row in the order of the stack, from the ground.
fn stack(row: &TimelineRow) -> [u64; 4] {
    [row.ready_new, row.updating, row.not_ready, row.waiting]
}

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let spans: Vec<f64> = variants.iter().map(settled_after).collect();
    let longest = spans.iter().copied().fold(0.0, f64::max);
    let alike = spans.iter().all(|span| span * SHARED_TIME >= longest);
    let most = results.tables.timeline.iter().map(|row| stack(row).iter().sum::<u64>()).max().unwrap_or(0);
    let ticks = ticks_from_zero(most as f64, 4, true);
    let top_value = (most as f64).max(1.0);
    let ticks: Vec<_> = ticks.into_iter().filter(|tick| tick.value <= top_value).collect();
    let axes = if alike { "" } else { "; time axes differ between panels" };
    let subtitle = extent(&variants) + &results.replicate_of("shown") + axes;
    let (areas, height) = panels(variants.len(), None);
    let head = Head { subject: "Cluster states over time", findings: findings::updating(&variants), note: subtitle };
    let mut canvas = page_of_run(results, head.title(), &head.subtitle(), height);
    legend(&mut canvas);
    let names = panel_names(&variants, &areas);
    for (at, (&area, variant)) in areas.iter().zip(&variants).enumerate() {
        let span = if alike { longest } else { spans[at] };
        let x = Scale::from_zero(if span > 0.0 { span } else { 1.0 }, area.left, area.right);
        let y = Scale::from_zero(top_value, area.bottom, area.top);
        let heading = Heading { name: &names[at], detail: &detail(variant), labelled: area.left < MARGIN + 60.0 };
        panel_frame(&mut canvas, area, &y, &ticks, &heading);
        fill(&mut canvas, variant, &x, &y);
        panel_time(&mut canvas, area, &x);
    }
    canvas
}

fn legend(canvas: &mut Canvas) {
    let mut left = MARGIN;
    write(canvas, "clusters:", (left, TOP - 2.0), SMALL, INK, Align::Left);
    left += text_width("clusters:", SMALL, Weight::Regular) + 14.0;
    for (name, colour) in STATES {
        canvas.rectangle((left, TOP - 13.0), (left + 14.0, TOP + 1.0), colour, 1.0);
        write(canvas, name, (left + 20.0, TOP - 2.0), SMALL, INK, Align::Left);
        left += 20.0 + text_width(name, SMALL, Weight::Regular) + 22.0;
    }
}

/// `in this run all ready after 12.3 min`, or how many are ready at the end: this run's own time is not the result.
fn detail(variant: &VariantResults<'_>) -> String {
    let Some(last) = variant.timeline.last() else { return "no series".to_owned() };
    let all: u64 = stack(last).iter().sum();
    if last.ready_new == all {
        // The exact moment where it is known: the bin ends later.
        let ready = variant.clusters.iter().filter_map(|cluster| cluster.ready_s).reduce(f64::max);
        return format!("in this run all ready after {}", time(ready.unwrap_or_else(|| settled_after(variant))));
    }
    format!("{} of {} ready at the end", count(last.ready_new as f64), count(all as f64))
}

/// When the last change of any state ends its bin; at least one bin. 0 without a series.
fn settled_after(variant: &VariantResults<'_>) -> f64 {
    let Some(last) = variant.timeline.last() else { return 0.0 };
    let settled = variant.timeline.iter().rposition(|row| stack(row) != stack(last)).map_or(0, |at| at + 1);
    let row = variant.timeline[settled.min(variant.timeline.len() - 1)];
    row.t_s + row.bin_s
}

fn fill(canvas: &mut Canvas, variant: &VariantResults<'_>, x: &Scale, y: &Scale) {
    let shown: Vec<_> = variant.timeline.iter().filter(|row| row.t_s < x.high).collect();
    let Some(end) = shown.last().map(|row| row.t_s + row.bin_s) else { return };
    // States are those at the end of a bin, so the curve goes from end to end; before the first one everything waits.
    let edge = |upto: usize| -> Vec<Position> {
        let sum = |row: &TimelineRow| stack(row)[..upto].iter().sum::<u64>() as f64;
        let start = if upto == 4 { sum(shown[0]) } else { 0.0 };
        let mut points = vec![(x.at(0.0), y.at(start))];
        points.extend(shown.iter().map(|row| (x.at(row.t_s + row.bin_s), y.at(sum(row)))));
        // A variant that settles earlier than the axis ends stays as it is.
        if end < x.high {
            points.push((x.to, y.at(sum(shown[shown.len() - 1]))));
        }
        decimate(&points, 1.0)
    };
    for (upto, (_, colour)) in (1..=4).zip(STATES) {
        canvas.between(edge(upto), edge(upto - 1), colour, 1.0);
    }
}

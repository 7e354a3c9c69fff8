//! Rollout progress: the share of clusters that are ready on the new revision over time, in the displayed run of each
//! variant. A curve that ends below 100% has clusters that never became ready, and some may not be reachable. The key
//! has the result over all runs, and the displayed run's own time.

use crate::report::charts::prelude::*;
use crate::report::frame::KEY_INDENT;
use crate::report::names;

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let ready: Vec<Vec<f64>> = variants.iter().map(ready_times).collect();
    let all: Vec<f64> = ready.iter().flatten().copied().filter(|time| *time > 0.0).collect();
    let ends: Vec<f64> = ready.iter().filter_map(|times| times.last().copied()).filter(|end| *end > 0.0).collect();
    let (heading, names) = names::within_or_values(&variants, LABEL, Weight::Bold, KEY_NAME);
    let entries: Vec<KeyEntry> = variants
        .iter()
        .zip(&ready)
        .zip(names)
        .map(|((variant, times), name)| entry(variant, name, times, dash(&variants, variant)))
        .collect();
    let height = (TOP + 86.0 + KEY_LINE * entries.len() as f64 + FOOTER).max(540.0);
    let area = Area::of_page(height, 50.0, key_width(&entries));
    // The ends decide whether slow variants would flatten fast ones; the first cluster of each does not matter.
    let mut x = time_scale(&ends, area.left, area.right);
    if x.log {
        x.low = span(&all).0.max(x.high / 1e5) / 1.2;
        x.high = span(&all).1 * 1.1;
    }
    let subtitle = extent(&variants) + &results.replicate_of("shown");
    let head = Head {
        subject: "Clusters ready on the new revision",
        findings: findings::half_ready(&variants, &ready),
        note: subtitle,
    };
    let mut canvas = page_of_run(results, head.title(), &head.subtitle(), height);
    let y = Scale::from_zero(100.0, area.bottom, area.top);
    let shares: Vec<AxisTick> =
        (0..=5).map(|at| AxisTick { value: f64::from(at) * 20.0, label: format!("{}%", at * 20) }).collect();
    value_axis(&mut canvas, area, &y, &shares, "share of all clusters");
    let start = results.start();
    let (linear, log) = (format!("{{}} since {start}"), format!("time since {start} (logarithmic)"));
    let (ticks, title) = ticks_of_time(&x, (58.0, 8), (&linear, &log));
    bottom_axis(&mut canvas, area, &x, &ticks, &title);
    for (variant, times) in variants.iter().zip(&ready) {
        let Some((&first, &last)) = times.first().zip(times.last()) else { continue };
        let targets = variant.clusters.len();
        let share = |clusters: usize| y.at(100.0 * clusters as f64 / targets as f64);
        let mut points: Vec<Position> = vec![(x.at(first), share(0))];
        for (at, &time) in times.iter().enumerate() {
            points.push((x.at(time), share(at)));
            points.push((x.at(time), share(at + 1)));
        }
        if times.len() < targets {
            points.push((area.right, share(times.len())));
        }
        let colour = variant.style.colour();
        canvas.path(decimate(&points, 2.0), Stroke { colour, width: 2.0, dash: dash(&variants, variant) });
        canvas.dot((x.at(last), share(times.len())), 3.5, colour, 1.0);
    }
    key(&mut canvas, area, entries);
    if let Some(settings) = heading {
        let place = (area.right + KEY_INDENT, area.top - 12.0);
        write_fitted(&mut canvas, &settings, place, SMALL, MUTED, PAGE_WIDTH - 10.0 - place.0);
    }
    canvas
}

/// Curves that may cross often differ by their pattern too.
fn dash(variants: &[VariantResults<'_>], variant: &VariantResults<'_>) -> &'static [f64] {
    if variants.len() > 3 { variant.style.dash_in_grey() } else { variant.style.dash() }
}

fn entry(variant: &VariantResults<'_>, name: String, times: &[f64], dash: &'static [f64]) -> KeyEntry {
    let targets = variant.displayed.map_or(variant.clusters.len(), |run| run.reachable_targets as usize);
    let all = times.len() == targets;
    KeyEntry {
        // The fastest curve is the topmost, so its entry is the first; the more clusters are missing, the later.
        value: match times.last() {
            Some(last) if all => -last,
            _ => -1e12 * targets.saturating_sub(times.len()) as f64,
        },
        colour: variant.style.colour(),
        dash,
        name,
        detail: match times.last() {
            Some(&last) if all => format!("{}this run {}", result(variant), time(last)),
            Some(_) => format!("{} of {} ready", count(times.len() as f64), count(targets as f64)),
            None => "none ready".to_owned(),
        },
    }
}

/// `5.23 min [5.21–5.38]; `: the median over runs with its interval.
fn result(variant: &VariantResults<'_>) -> String {
    let of_interval = |median: f64| match variant.median_interval(READY_TIME) {
        Some((low, high)) if low < high => time_with_interval(median, low, high),
        _ => time(median),
    };
    variant.ready_time().map_or_else(String::new, |median| format!("{}; ", of_interval(median)))
}

/// When each cluster that ever was ready on the new revision was, sorted.
fn ready_times(variant: &VariantResults<'_>) -> Vec<f64> {
    variant.clusters.iter().filter_map(|cluster| cluster.ready_s).sorted_by(f64::total_cmp).collect()
}

//! How the fleet comes round: the share of all clusters that are ready on the new revision, over time, in the
//! representative run of each variant. A curve that ends below 100 % has clusters that never got there.

use crate::report::axis::{Kind, Tick, log_time_ticks, span, time_scale, time_ticks};
use crate::report::data::{Results, Variant, extent};
use crate::report::format::{count, time};
use crate::report::frame::{Area, FOOTER, KEY_WIDTH, KeyEntry, TOP, bottom_axis, key, page, value_axis};
use crate::report::scene::{Point, Scene, Stroke};
use crate::report::style::{MARGIN, PAGE_WIDTH, series_colour, series_dash};

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Scene {
    let variants = results.variants();
    let ready: Vec<Vec<f64>> = variants.iter().map(ready_times).collect();
    let all: Vec<f64> = ready.iter().flatten().copied().filter(|time| *time > 0.0).collect();
    let ends: Vec<f64> = ready.iter().filter_map(|times| times.last().copied()).filter(|end| *end > 0.0).collect();
    let height = 540.0;
    let area =
        Area { left: MARGIN + 50.0, top: TOP + 28.0, right: PAGE_WIDTH - KEY_WIDTH, bottom: height - FOOTER - 58.0 };
    // Slow variants squash fast ones when their ends lie far apart; the first cluster of each says nothing about that.
    let mut x = time_scale(&ends, area.left, area.right);
    if x.kind == Kind::Log {
        x.low = span(&all).0.max(x.high / 1e5) / 1.2;
        x.high = span(&all).1 * 1.1;
    }
    let subtitle = format!("{}; shown: the run with the median peak of pulls", extent(&variants));
    let mut scene = page(&results.provenance, "Clusters ready on the new revision", &subtitle, height);
    let y = crate::report::axis::Scale::from_zero(100.0, area.bottom, area.top);
    let shares: Vec<Tick> =
        (0..=5).map(|at| Tick { value: f64::from(at) * 20.0, label: format!("{} %", at * 20) }).collect();
    value_axis(&mut scene, area, &y, &shares, "share of all clusters");
    if x.kind == Kind::Log {
        bottom_axis(&mut scene, area, &x, &log_time_ticks(&x, 58.0), "time since the rollout began (logarithmic)");
    } else {
        let (ticks, unit) = time_ticks(x.high, 8);
        bottom_axis(&mut scene, area, &x, &ticks, &format!("{} since the rollout began", unit.long));
    }
    let mut entries = Vec::new();
    for (variant, times) in variants.iter().zip(&ready) {
        let targets = variant.clusters.len();
        let dash = if variants.len() > 3 { series_dash(variant.index) } else { &[] };
        let mut points: Vec<Point> = vec![(area.left, y.at(0.0))];
        for (at, &time) in times.iter().enumerate() {
            points.push((x.at(time), y.at(100.0 * at as f64 / targets as f64)));
            points.push((x.at(time), y.at(100.0 * (at + 1) as f64 / targets as f64)));
        }
        points.push((area.right, points.last().expect("the start is there").1));
        let points = crate::report::axis::decimate(&points, 2.0);
        scene.path(points, Stroke { colour: series_colour(variant.index), width: 2.0, dash });
        entries.push(KeyEntry {
            // The fastest curve is the topmost, so its entry is the first; never comes last.
            value: if times.len() == targets {
                -times.last().copied().unwrap_or(f64::INFINITY)
            } else {
                f64::NEG_INFINITY
            },
            colour: series_colour(variant.index),
            dash: Some(dash),
            name: variant.name().to_owned(),
            detail: match times.last() {
                Some(&last) if times.len() == targets => format!("all after {}", time(last)),
                Some(_) => format!("{} of {} ready", count(times.len() as f64), count(targets as f64)),
                None => "none ready".to_owned(),
            },
        });
    }
    key(&mut scene, area, entries);
    scene
}

/// When each cluster that ever was ready on the new revision was, sorted.
fn ready_times(variant: &Variant<'_>) -> Vec<f64> {
    let mut times: Vec<f64> = variant.clusters.iter().filter_map(|cluster| cluster.ready_s).collect();
    times.sort_by(f64::total_cmp);
    times
}

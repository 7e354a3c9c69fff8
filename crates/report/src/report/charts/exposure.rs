//! The blast radius: how many clusters received a defective revision before the scheduler stopped.
//!
//! One row for each variant, the least exposed first: every run, the median and its interval, and the time of the last
//! exposed cluster in the displayed run.

use super::completion::{RunDots, dots};
use super::curves::{self, Axes, Curve, rising};
use super::rows::RowLayout;
use crate::report::prelude::*;

const ROW: f64 = 46.0;
/// Maximum widths of the columns of names and numbers, as shares of the page.
const COLUMNS_MAX: [f64; 2] = [0.36, 0.34];

/// Draws the chart. `None` if no cluster received a defective revision.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let mut variants = results.variants();
    if !variants.iter().any(VariantResults::exposed) {
        return None;
    }
    variants.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let numbers = variants
        .iter()
        .map(|variant| [headline(variant), note(variant)])
        .collect();
    let rows = RowLayout::lay_out(
        results.sheet(),
        &variants,
        numbers,
        (TOP + 4.0, ROW),
        COLUMNS_MAX,
    );
    let area = rows.area;
    let mut exposed: Vec<f64> = Vec::new();
    let mut targets = 1;
    for run in &results.tables.runs {
        exposed.push(run.exposed_targets as f64);
        targets = targets.max(run.targets);
    }
    let (x, ticks) = scale(&exposed, targets, area);
    let subtitle = format!(
        "{}; dot: median, line: its 95% CI, small dots: single runs",
        extent(&variants)
    );
    let subject = "Clusters exposed to the defective revision";
    let head = Head {
        subject,
        findings: findings::exposure(&variants),
        note: subtitle,
    };
    let mut canvas = page_of_run(results, &head, area.bottom + 56.0 + FOOTER);
    bottom_grid(
        &mut canvas,
        area,
        &x,
        &ticks,
        &format!("exposed clusters{}", x.note()),
    );
    for (at, variant) in variants.iter().enumerate() {
        let middle = rows.middle(at);
        rows.write(&mut canvas, at);
        let stroke = Stroke {
            colour: AXIS,
            width: 0.8,
            dash: &[1.5, 3.0],
        };
        canvas.line((area.left, middle), (x.at(median(variant)), middle), stroke);
        let runs = RunDots {
            measure: Measure::ExposedTargets,
            values: variant
                .runs
                .iter()
                .map(|run| run.exposed_targets as f64)
                .collect(),
            below: 14.0,
        };
        dots(&mut canvas, variant, &runs, &x, middle);
    }
    Some(canvas)
}

/// Draws the number of exposed clusters over time, in the displayed run of each variant. `None` if no cluster received
/// a defective revision.
pub(in crate::report) fn over_time(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let exposed: Vec<Vec<f64>> = variants.iter().map(exposed_times).collect();
    let mut all: Vec<f64> = exposed.iter().flatten().copied().collect();
    all.retain(|time| *time > 0.0);
    let mut counts: Vec<f64> = exposed.iter().map(|times| times.len() as f64).collect();
    counts.retain(|count| *count > 0.0);
    let most = exposed.iter().map(Vec::len).max()?;
    if most == 0 {
        return None;
    }
    let x = time_scale(&all, 0.0, 1.0);
    let (y, y_ticks) = count_scale(&counts, ([1.4, 1.25], 24.0), (most as f64, 5), (0.0, 190.0));
    let last: Vec<Option<f64>> = exposed.iter().map(|times| times.last().copied()).collect();
    let titles = (
        "{} since the rollout started",
        "time since the rollout started (logarithmic)",
    );
    let axes = Axes {
        clock: results.clock(),
        head: Head {
            subject: "Clusters exposed to the defective revision over time",
            findings: findings::times(
                &variants,
                "The last exposed cluster receives the defect after",
                &last,
            ),
            note: extent(&variants) + &results.replicate_of("shown"),
        },
        x,
        y,
        x_titles: titles,
        y_title: &format!("exposed clusters{}", y.note()),
        y_ticks,
        reference: None,
    };
    let curves: Vec<Curve> = exposed.iter().map(|times| curve(times, x.high)).collect();
    Some(curves::draw(results, &axes, &curves))
}

/// The curve of the number of exposed clusters: it rises by one at each of `times`, and continues until `end`.
fn curve(times: &[f64], end: f64) -> Curve {
    let exposed = times.len() as f64;
    Curve {
        points: rising(times, (!times.is_empty()).then_some(end)),
        end: times.last().map(|&last| (last, exposed)),
        detail: format!("{} exposed", count(exposed)),
        order: exposed,
    }
}

/// The times at which clusters were instructed to run a revision that is defective there, sorted.
fn exposed_times(variant: &VariantResults<'_>) -> Vec<f64> {
    let defective = variant.clusters.iter().filter(|cluster| cluster.defective);
    defective
        .filter_map(|cluster| cluster.instructed_s)
        .sorted_by(f64::total_cmp)
        .collect()
}

/// The scale of exposures: logarithmic if they differ by a large factor and none is zero.
fn scale(exposed: &[f64], targets: u64, area: Area) -> (Scale, Vec<AxisTick>) {
    let (_, high) = span(exposed);
    // The axis ends at the fleet size if exposures are close to it.
    let end = if high * 2.0 >= targets as f64 {
        targets as f64
    } else {
        high * 1.04
    };
    count_scale(
        exposed,
        ([1.4, 1.25], 46.0),
        (end, 6),
        (area.left, area.right),
    )
}

/// The median number of exposed clusters.
fn median(variant: &VariantResults<'_>) -> f64 {
    variant.median(Measure::ExposedTargets).unwrap_or(0.0)
}

/// `120 [100–140], 12% of the fleet`.
fn headline(variant: &VariantResults<'_>) -> String {
    if variant.runs.iter().all(|run| run.exposed_targets == 0) {
        return "none".to_owned();
    }
    let mut text = count(median(variant));
    if let Some((low, high)) = variant
        .median_interval(Measure::ExposedTargets)
        .filter(|(low, high)| low < high)
    {
        text.push_str(&format!(" [{}–{}]", count(low), count(high)));
    }
    let targets = variant.median(Measure::Targets).unwrap_or(0.0);
    if targets > 0.0 {
        text.push_str(&format!(
            ", {} of the fleet",
            percent(median(variant) / targets)
        ));
    }
    text
}

/// How the variant's runs ended, and the time of the last exposed cluster.
fn note(variant: &VariantResults<'_>) -> String {
    let last = exposed_times(variant).last().copied();
    let last = last.map_or_else(String::new, |last| {
        format!("; last one after {} in this run", time(last))
    });
    let finished = variant.finished();
    let runs = variant.runs.len();
    let end = match variant.unfinished() {
        None => "completed".to_owned(),
        Some(run) if finished == 0 => ended(run.outcome).to_owned(),
        Some(run) => format!(
            "{} in {} of {runs} runs",
            ended(run.outcome),
            runs - finished
        ),
    };
    format!("{end}{last}")
}

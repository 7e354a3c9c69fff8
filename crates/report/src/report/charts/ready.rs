//! Rollout progress: the share of clusters that are ready on the new revision over time, in the displayed run of each
//! variant. A curve that ends below 100% has clusters that never became ready; some may be unreachable. The key shows
//! the result over all runs, and the displayed run's own time.

use super::curves::{self, Axes, Curve, rising};
use crate::report::prelude::*;

/// The words for the targets of the rollouts.
struct TargetWords {
    subject: &'static str,
    half_ready: &'static str,
    share: &'static str,
}

impl TargetWords {
    const CLUSTERS: Self = Self {
        subject: "Clusters ready on the new revision",
        half_ready: "Half of the clusters are ready after",
        share: "share of all clusters",
    };
    /// With several applications, a target is one of them on a cluster.
    const DEPLOYMENTS: Self = Self {
        subject: "Deployments ready on the new revision",
        half_ready: "Half of the deployments are ready after",
        share: "share of all deployments",
    };
}

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let ready: Vec<Vec<f64>> = variants.iter().map(ready_times).collect();
    let mut all: Vec<f64> = ready.concat();
    all.retain(|time| *time > 0.0);
    let mut ends: Vec<f64> = ready
        .iter()
        .filter_map(|times| times.last().copied())
        .collect();
    ends.retain(|end| *end > 0.0);
    // Only the ends of the rollouts decide whether slow variants would squash fast ones on a linear axis; the times of
    // the first ready clusters do not.
    let mut x = time_scale(&ends, 0.0, 1.0);
    if x.log {
        let (first, last) = span(&all);
        x.low = first.max(x.high / 1e5) / 1.2;
        x.high = last * 1.1;
    }
    let mut half_ready: Vec<Option<f64>> = Vec::new();
    for (variant, times) in variants.iter().zip(&ready) {
        let half = variant.clusters.len().div_ceil(2);
        half_ready.push(half.checked_sub(1).and_then(|at| times.get(at).copied()));
    }
    let words = if variants.iter().any(|one| !one.applications.is_empty()) {
        TargetWords::DEPLOYMENTS
    } else {
        TargetWords::CLUSTERS
    };
    let head = Head {
        subject: words.subject,
        findings: findings::times(&variants, words.half_ready, &half_ready),
        note: extent(&variants) + &results.replicate_of("shown"),
    };
    let start = results.start();
    let titles = (
        format!("{{}} since {start}"),
        format!("time since {start} (logarithmic)"),
    );
    let axes = Axes {
        head,
        clock: results.clock(),
        x,
        y: Scale::from_zero(1.0, 0.0, 1.0),
        x_titles: (&titles.0, &titles.1),
        y_title: words.share,
        y_ticks: percent_ticks([0, 20, 40, 60, 80, 100]),
        reference: None,
    };
    let curves: Vec<Curve> = variants
        .iter()
        .zip(&ready)
        .map(|(variant, times)| curve(variant, times, x.high))
        .collect();
    curves::draw(results, &axes, &curves)
}

fn curve(variant: &VariantResults<'_>, times: &[f64], end: f64) -> Curve {
    let clusters = variant.clusters.len();
    let goes_on = times.len() < clusters && !times.is_empty();
    let mut points: Vec<Position> = Vec::new();
    for (time, ready) in rising(times, goes_on.then_some(end)) {
        points.push((time, ready / clusters as f64));
    }
    let targets = variant
        .displayed
        .map_or(clusters, |run| run.reachable_targets as usize);
    let all = times.len() == targets;
    Curve {
        points,
        end: times
            .last()
            .map(|&last| (last, times.len() as f64 / clusters as f64)),
        // The fastest curve is the topmost, so its entry is first. The more clusters are missing, the later the entry.
        order: match times.last() {
            Some(last) if all => -last,
            _ => -1e12 * targets.saturating_sub(times.len()) as f64,
        },
        detail: match times.last() {
            Some(&last) if all => variant
                .ready_text()
                .into_iter()
                .chain([format!("this run {}", time(last))])
                .join("; "),
            Some(_) => format!(
                "{} of {} ready",
                count(times.len() as f64),
                count(targets as f64)
            ),
            None => "none ready".to_owned(),
        },
    }
}

/// The times at which clusters became ready on the new revision, sorted.
fn ready_times(variant: &VariantResults<'_>) -> Vec<f64> {
    variant
        .clusters
        .iter()
        .filter_map(|cluster| cluster.ready_s)
        .sorted_by(f64::total_cmp)
        .collect()
}

//! Simulates a past rollout with the fitted pull model and compares it with the events.
//!
//! There are two methods. `replay` uses the events alone: they determine pods, nodes, images and schedule times.
//! `experiment` runs an experiment with the calibrated settings. Both use the simulator's world.
//!
//! The starts of containers are compared, because events do not report readiness.

mod experiment;
pub(super) mod pasted;
mod replay;
#[cfg(test)]
mod tests;

pub(super) use experiment::{CalibratedNode, of_experiment};
pub(super) use replay::{ReplaySettings, is_parallel, of_events};

use super::events::ContainerStart;
use super::time::{Nanos, seconds_between};
use crate::results::{PredictedPod, PredictedStarts, PredictionRecord};
use crate::stats;

/// Number of runs of a prediction.
pub(super) const RUNS: u32 = 20;
/// Maximum number of points of a curve.
const POINTS: usize = 300;

/// A pod of the past rollout with a known schedule time and start time.
#[derive(Clone, Copy, Debug)]
struct RealPod<'e> {
    start: &'e ContainerStart,
    scheduled: Nanos,
    started: Nanos,
}

/// Returns the first container of each pod with a known schedule and start, ordered by schedule time.
fn real_pods(starts: &[ContainerStart]) -> Vec<RealPod<'_>> {
    let mut pods = Vec::new();
    for start in starts.iter().filter(|start| start.is_first) {
        if let (Some(scheduled), Some(started)) = (start.scheduled, start.started)
            && started.at >= scheduled.at
        {
            pods.push(RealPod {
                start,
                scheduled: scheduled.at,
                started: started.at,
            });
        }
    }
    pods.sort_by(|a, b| (a.scheduled, &a.start.pod).cmp(&(b.scheduled, &b.start.pod)));
    pods
}

/// Returns the real curve: the number of started pods over the seconds since the first schedule.
fn real_curve(pods: &[RealPod<'_>]) -> Vec<(f64, f64)> {
    let Some(first) = pods.first() else {
        return Vec::new();
    };
    let mut times = Vec::with_capacity(pods.len());
    for pod in pods {
        times.push(seconds_between(first.scheduled, pod.started));
    }
    times.sort_by(f64::total_cmp);
    let mut curve = Vec::with_capacity(times.len());
    for (at, time) in times.into_iter().enumerate() {
        curve.push((time, (at + 1) as f64));
    }
    curve
}

/// Returns the predicted curve: the time at which each number of pods has started, as median, 5th and 95th percentile
/// over runs. Each run is a sorted list of start times.
fn predicted_curve(runs: &[Vec<f64>]) -> Vec<PredictedStarts> {
    let most = runs.iter().map(Vec::len).min().unwrap_or(0);
    let step = most.div_ceil(POINTS).max(1);
    let mut curve = Vec::new();
    for at in (0..most).filter(|at| at % step == 0 || at + 1 == most) {
        let times: Vec<f64> = runs.iter().map(|run| run[at]).collect();
        let times = stats::sorted(&times);
        let [median, low, high] =
            [0.5, 0.05, 0.95].map(|share| stats::quantile_of_sorted(&times, share));
        if let (Some(median), Some(low), Some(high)) = (median, low, high) {
            curve.push(PredictedStarts {
                pods: (at + 1) as f64,
                median_s: median,
                p5_s: low,
                p95_s: high,
            });
        }
    }
    curve
}

/// Returns the record without its texts. `rows` may be empty if pods cannot be matched.
fn record(
    pods: &[RealPod<'_>],
    runs: &[Vec<f64>],
    rows: Vec<PredictedPod>,
) -> Option<PredictionRecord> {
    let real = real_curve(pods);
    let predicted = predicted_curve(runs);
    let (completion_s, _) = *real.last()?;
    let end = *predicted.last()?;
    let mut errors = Vec::new();
    let mut absolute = Vec::new();
    for row in &rows {
        let took = row.started_s - row.scheduled_s;
        if row.started_s > row.scheduled_s {
            let error = (row.predicted_s - row.scheduled_s) / took - 1.0;
            errors.push(error);
            absolute.push(error.abs());
        }
    }
    let step = real.len().div_ceil(4 * POINTS).max(1);
    let mut thinned = Vec::new();
    for (at, point) in real.iter().enumerate() {
        if at % step == 0 || at + 1 == real.len() {
            thinned.push(*point);
        }
    }
    Some(PredictionRecord {
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        pods: pods.len() as u64,
        completion_s,
        predicted_completion_s: end.median_s,
        predicted_completion_p5_s: end.p5_s,
        predicted_completion_p95_s: end.p95_s,
        median_error: stats::median(&errors),
        median_absolute_error: stats::median(&absolute),
        real: thinned,
        predicted,
        rows,
        ..PredictionRecord::default()
    })
}

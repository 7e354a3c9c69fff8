//! A past rollout, simulated with the fitted pull model, beside reality.
//!
//! Two ways: from the events alone (`replay`: the pods, nodes, images and times of schedule are those of the events),
//! or an experiment with the calibrated settings in place of its own (`experiment`). Both use the simulator's world.
//!
//! Compared are starts of containers, as events do not tell readiness.

mod experiment;
pub(super) mod pasted;
mod replay;
#[cfg(test)]
mod tests;

pub(super) use experiment::{CalibratedNode, of_experiment};
pub(super) use replay::{Latencies, is_parallel, of_events};

use super::events::ContainerStart;
use super::time::{Nanos, seconds_between};
use crate::results::{PredictedPod, PredictionRecord};
use crate::stats;

/// Runs of a prediction.
pub(super) const RUNS: u32 = 20;
/// Most points of a curve.
const POINTS: usize = 300;

/// A pod of the past rollout whose schedule and start are known.
#[derive(Clone, Copy, Debug)]
struct RealPod<'e> {
    start: &'e ContainerStart,
    scheduled: Nanos,
    started: Nanos,
}

/// The first container of each pod whose schedule and start are known, in the order of their schedules.
fn real_pods(starts: &[ContainerStart]) -> Vec<RealPod<'_>> {
    let known = starts
        .iter()
        .filter(|start| start.is_first)
        .filter_map(|start| {
            let (scheduled, started) = (start.scheduled?, start.started?);
            Some(RealPod {
                start,
                scheduled: scheduled.at,
                started: started.at,
            })
        });
    let mut pods: Vec<RealPod<'_>> = known.filter(|pod| pod.started >= pod.scheduled).collect();
    pods.sort_by(|a, b| (a.scheduled, &a.start.pod).cmp(&(b.scheduled, &b.start.pod)));
    pods
}

/// Reality: seconds from the first schedule at which one more pod had started.
fn real_curve(pods: &[RealPod<'_>]) -> Vec<(f64, f64)> {
    let Some(first) = pods.first().map(|pod| pod.scheduled) else {
        return Vec::new();
    };
    let mut times: Vec<f64> = pods
        .iter()
        .map(|pod| seconds_between(first, pod.started))
        .collect();
    times.sort_by(f64::total_cmp);
    times
        .iter()
        .enumerate()
        .map(|(at, time)| (*time, (at + 1) as f64))
        .collect()
}

/// The prediction: for each number of started pods the time, as median and 5th and 95th percentile over runs. Each run
/// has the sorted times of its starts.
fn predicted_curve(runs: &[Vec<f64>]) -> Vec<(f64, f64, f64, f64)> {
    let most = runs.iter().map(Vec::len).min().unwrap_or(0);
    let step = most.div_ceil(POINTS).max(1);
    let counts = (0..most).filter(|at| at % step == 0 || at + 1 == most);
    counts
        .filter_map(|at| {
            let times = stats::sorted(&runs.iter().map(|run| run[at]).collect::<Vec<_>>());
            let of = |p| stats::quantile_of_sorted(&times, p);
            Some(((at + 1) as f64, of(0.5)?, of(0.05)?, of(0.95)?))
        })
        .collect()
}

/// The record without its texts. `rows` may be empty where pods cannot be told apart.
fn record(
    pods: &[RealPod<'_>],
    runs: &[Vec<f64>],
    rows: Vec<PredictedPod>,
) -> Option<PredictionRecord> {
    let real = real_curve(pods);
    let predicted = predicted_curve(runs);
    let (completion_s, _) = *real.last()?;
    let (_, predicted_completion_s, low, high) = *predicted.last()?;
    let errors: Vec<f64> = rows
        .iter()
        .filter(|row| row.started_s > row.scheduled_s)
        .map(|row| (row.predicted_s - row.scheduled_s) / (row.started_s - row.scheduled_s) - 1.0)
        .collect();
    let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let step = real.len().div_ceil(4 * POINTS).max(1);
    let last = real.len() - 1;
    Some(PredictionRecord {
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        pods: pods.len() as u64,
        completion_s,
        predicted_completion_s,
        predicted_completion_p5_s: low,
        predicted_completion_p95_s: high,
        median_error: stats::median(&errors),
        median_absolute_error: stats::median(&absolute),
        real: real
            .into_iter()
            .enumerate()
            .filter(|(at, _)| at % step == 0 || *at == last)
            .map(|(_, point)| point)
            .collect(),
        predicted,
        rows,
        ..PredictionRecord::default()
    })
}

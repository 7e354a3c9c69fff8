//! `predicted.csv` and `measured.csv`: simulated and emulated runs of the set-ups, with the same measures.
//!
//! The pull time of a cluster is from the beginning of its first pull to the end of its last. The curves are the
//! shares of clusters whose pulls have ended, over time.

use std::fs;
use std::path::Path;

use fleetsim::results::{EMULATED, RunRecord};
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// One run of a set-up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct MeasuredRow {
    /// The set-up.
    pub(crate) setup: String,
    /// The variant, without the ending that marks emulated variants.
    pub(crate) variant: String,
    /// The kind of run: `simulated` or `emulated`.
    pub(crate) kind: String,
    /// The replicate.
    pub(crate) replicate: u32,
    /// Shortest, median, 95th percentile and longest pull time of a cluster, in seconds.
    pub(crate) first_pull_s: f64,
    pub(crate) median_pull_s: f64,
    pub(crate) p95_pull_s: f64,
    pub(crate) last_pull_s: f64,
    /// The time at which the last pull ended.
    pub(crate) end_s: f64,
    /// The time at which all clusters were ready. Empty if some clusters were not ready.
    pub(crate) completion_s: Option<f64>,
    /// Bytes that left the registry.
    pub(crate) bytes: u64,
    /// Requests to the registry.
    pub(crate) requests: u64,
    /// Maximum number of simultaneous pulls.
    pub(crate) peak_pulls: u64,
    /// Number of failed pulls.
    pub(crate) failed_pulls: u64,
    /// Largest vertical distance between the run's curve and that of the simulated run. Empty for the simulated run.
    pub(crate) distance: Option<f64>,
    /// Share of the machine's processors that was used. Empty for simulated runs.
    pub(crate) busy_share: Option<f64>,
    /// Whether the run was measured although the machine was not quiet.
    pub(crate) anyway: bool,
}

impl MeasuredRow {
    /// The row that describes a run.
    pub(crate) fn of(setup: &str, variant: &str, is_emulated: bool, run: &RunRecord) -> Self {
        let spans =
            |row: &fleetsim::results::ClusterRow| Some(row.last_pull_s? - row.first_pull_s?);
        let mut spans: Vec<f64> = run.clusters.iter().filter_map(spans).collect();
        spans.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            spans
                .get(((spans.len() as f64 * share).ceil() as usize).max(1) - 1)
                .copied()
        };
        let at = |share: f64| quantile(share).unwrap_or(0.0);
        Self {
            setup: setup.to_owned(),
            variant: variant.to_owned(),
            kind: if is_emulated { EMULATED } else { "simulated" }.to_owned(),
            replicate: run.run.replicate,
            first_pull_s: at(0.0),
            median_pull_s: at(0.5),
            p95_pull_s: at(0.95),
            last_pull_s: at(1.0),
            end_s: ends(run).last().copied().unwrap_or(0.0),
            completion_s: run.run.completion_s,
            bytes: run.run.egress_bytes,
            requests: run.run.requests,
            peak_pulls: run.run.peak_pulls,
            failed_pulls: run.run.failed_pulls,
            distance: None,
            busy_share: None,
            anyway: false,
        }
    }
}

/// The ends of the clusters' last pulls, sorted.
fn ends(run: &RunRecord) -> Vec<f64> {
    let mut ends: Vec<f64> = run
        .clusters
        .iter()
        .filter_map(|row| row.last_pull_s)
        .collect();
    ends.sort_by(f64::total_cmp);
    ends
}

/// The largest vertical distance of the curves of two runs.
pub(crate) fn distance(one: &RunRecord, other: &RunRecord) -> f64 {
    distance_of(&ends(one), &ends(other))
}

/// The Kolmogorov-Smirnov distance of two lists of end times. Clusters that never end count too.
fn distance_of(one: &[f64], other: &[f64]) -> f64 {
    let all = one.len().max(other.len()).max(1) as f64;
    let by = |ends: &[f64], at: f64| ends.partition_point(|end| *end <= at) as f64 / all;
    one.iter()
        .chain(other)
        .map(|at| (by(one, *at) - by(other, *at)).abs())
        .fold(0.0, f64::max)
}

/// Reads a table; empty if the file does not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<MeasuredRow>, LabError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let damaged = |error: csv::Error| LabError::Machine(format!("{}: {error}", path.display()));
    csv::Reader::from_path(path)
        .map_err(damaged)?
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(damaged)
}

/// Replaces the rows of a set-up in a table.
pub(crate) fn replace(path: &Path, setup: &str, rows: Vec<MeasuredRow>) -> Result<(), LabError> {
    let mut all: Vec<MeasuredRow> = read(path)?
        .into_iter()
        .filter(|row| row.setup != setup)
        .collect();
    all.extend(rows);
    all.sort_by(|a, b| a.setup.cmp(&b.setup));
    let mut writer = csv::Writer::from_writer(Vec::new());
    all.iter()
        .try_for_each(|row| writer.serialize(row))
        .expect("writes to memory do not fail");
    let bytes = writer.into_inner().expect("writes to memory do not fail");
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, bytes))
        .map_err(LabError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_largest_share_of_clusters_by_which_one_run_is_ahead() {
        // After 2.5 s, 2 of 4 have ended in the first run, and 0 in the second.
        assert_eq!(
            distance_of(&[1.0, 2.0, 3.0, 4.0], &[3.0, 3.0, 3.0, 4.0]),
            0.5
        );
        assert_eq!(distance_of(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
    }
}

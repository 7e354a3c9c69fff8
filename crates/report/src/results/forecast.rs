//! The record of a forecast: when a rollout in progress will be done, what is next, what holds it, and its load.

use serde::Serialize;

/// The results of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastRecord {
    /// Of this format.
    pub schema_version: u32,
    /// The variant of the experiment.
    pub variant: String,
    /// The word for a target: `cluster` or `instance`.
    pub target: String,
    /// When the rollout began.
    pub released: ForecastTime,
    /// The time that the export shows.
    pub now: ForecastTime,
    /// Targets by what was seen of them.
    pub seen: SeenCounts,
    /// Whether a target has finished, so that the pace was learnt.
    pub is_conditioned: bool,
    /// Draws of the constants behind the intervals.
    pub draws: u32,
    /// The probability that the intervals hold the truth, if the model is right.
    pub level: f64,
    /// When all targets but failed ones are ready.
    pub done: ForecastSpan,
    /// The share of draws in which that never happens before the horizon.
    pub unfinished: f64,
    /// The stage or target that begins next.
    pub next: Option<ForecastNext>,
    /// Targets that take longest, the longest first.
    pub slow: Vec<SlowTarget>,
    /// The rule that holds waiting targets.
    pub hold: Option<ForecastHold>,
    /// The greatest rate at which the registry sends from now on for a second, in bytes per second.
    pub egress_peak_bytes_per_s: ForecastEstimate,
    /// Bytes that the registry sends from now on.
    pub egress_bytes: ForecastEstimate,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastTime {
    /// In RFC 3339, in UTC.
    pub at: String,
    /// Seconds since the release.
    pub s: f64,
}

/// A time with its interval; `None` is after the horizon, or never.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastSpan {
    /// Median.
    pub median: Option<ForecastTime>,
    /// The lower end.
    pub low: Option<ForecastTime>,
    /// The upper end.
    pub high: Option<ForecastTime>,
}

/// Targets by what was seen of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SeenCounts {
    /// All.
    pub targets: usize,
    /// Ready on the new revision.
    pub ready: usize,
    /// Instructed and not ready.
    pub updating: usize,
    /// Not instructed.
    pub waiting: usize,
    /// Failed.
    pub failed: usize,
}

/// The stage or target that begins next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastNext {
    /// The stage, partition or step; empty: the next target.
    pub stage: String,
    /// The target that begins it.
    pub first: String,
    /// When.
    pub begins: ForecastSpan,
}

/// A target that is being updated for long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowTarget {
    /// Its name.
    pub name: String,
    /// Seconds since it was instructed.
    pub for_s: f64,
    /// The share of updates that are over, or were expected to be, by then.
    pub longer_than: f64,
}

/// A rule that holds the rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastHold {
    /// Its name.
    pub rule: String,
    /// In words.
    pub explanation: String,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastEstimate {
    /// Median.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

//! The record of a forecast: when a rollout in progress will be complete, the next step, the blocking rule, and the
//! load.

use serde::Serialize;

/// The results of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastRecord {
    /// Version of this format.
    pub schema_version: u32,
    /// The variant of the experiment.
    pub variant: String,
    /// The word for a target: `cluster` or `instance`.
    pub target: String,
    /// Time when the rollout began.
    pub released: ForecastTime,
    /// The time at which the export was made.
    pub now: ForecastTime,
    /// Observed states of the targets.
    pub seen: SeenCounts,
    /// Whether a target has finished, so that the pace was learned.
    pub is_conditioned: bool,
    /// Number of draws of the constants behind the intervals.
    pub draws: u32,
    /// The number of different draws that the draws are worth, after those that fit were repeated.
    pub effective_draws: f64,
    /// The share of the interval's width by which an end may differ with another seed.
    pub disagreement: f64,
    /// The probability that the intervals contain the true value, if the model is right.
    pub level: f64,
    /// Time when all targets except failed ones are ready.
    pub done: ForecastSpan,
    /// Time when the others are ready, if the stuck targets stay away. `None`: no target is stuck.
    pub done_without_stuck: Option<ForecastSpan>,
    /// The share of draws in which a target that has not failed is not ready before the horizon.
    pub unfinished: f64,
    /// The share of draws in which a later release supersedes the observed one. `done` is then the end of the last
    /// release.
    pub superseded: f64,
    /// The stage or target that is next.
    pub next: Option<ForecastNext>,
    /// The targets that take longest, the longest first.
    pub slow: Vec<SlowTarget>,
    /// The names of the failed targets.
    pub failed: Vec<String>,
    /// The targets that are updating or have failed.
    pub begun: Vec<BegunTarget>,
    /// The targets that may come back or stay away.
    pub stuck: Vec<StuckTarget>,
    /// The observed durations of updates as a ratio to those with the experiment's own values, if nearly all draws of
    /// the constants are faster, or slower. `None`: the observed durations are not rare.
    pub update_ratio: Option<UpdateRatio>,
    /// The observed durations of updates as a ratio to those of the draws that fit them best. `None`: these agree.
    pub unlearnt_ratio: Option<ForecastEstimate>,
    /// The width of the interval as a multiple of that of the draws alone, without the uncertainty that the check of
    /// the observed updates adds. `None`: the rollout is over, or an interval is endless.
    pub widening: Option<f64>,
    /// The number of failures that 95 % of the draws do not exceed. `None`: no more targets have failed.
    pub expected_failures: Option<usize>,
    /// The rule that blocks waiting targets.
    pub hold: Option<ForecastHold>,
    /// The product's messages about targets that are updating or have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownMessage>,
    /// The future maximum rate at which the registry sends over one second, in bytes per second.
    pub egress_peak_bytes_per_s: ForecastEstimate,
    /// Number of bytes that the registry will still send.
    pub egress_bytes: ForecastEstimate,
}

/// Durations of updates that are rare in rollouts of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UpdateRatio {
    /// The ratio of the observed durations to those with the experiment's own values.
    pub ratio: ForecastEstimate,
    /// The share of the draws of the constants whose updates are faster, or slower if the observed ones are fast.
    pub beyond: f64,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastTime {
    /// The time in RFC 3339, in UTC.
    pub at: String,
    /// Seconds since the release.
    pub s: f64,
}

/// A time with its interval; `None` means after the horizon, or never.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastSpan {
    /// The median of the time.
    pub median: Option<ForecastTime>,
    /// The lower end of the interval.
    pub low: Option<ForecastTime>,
    /// The upper end of the interval.
    pub high: Option<ForecastTime>,
}

/// Number of targets by observed state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SeenCounts {
    /// Number of all targets.
    pub targets: usize,
    /// Number of targets that are ready on the new revision.
    pub ready: usize,
    /// Number of targets that are instructed but not ready.
    pub updating: usize,
    /// Number of targets that are not instructed.
    pub waiting: usize,
    /// Number of failed targets.
    pub failed: usize,
}

/// The stage or target that is next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastNext {
    /// The stage, partition or step; empty if only the next target is known.
    pub stage: String,
    /// The first target of the stage.
    pub first: String,
    /// Time when the stage or target begins.
    pub begins: ForecastSpan,
}

/// A target whose update takes long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowTarget {
    /// The name of the target.
    pub name: String,
    /// Seconds since the target was instructed.
    pub for_s: f64,
    /// The share of updates that had finished, or were expected to finish, in less time.
    pub longer_than: f64,
}

/// A target that is updating or has failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BegunTarget {
    /// The name of the target.
    pub name: String,
    /// Since when, if the product shows it.
    pub since: Option<ForecastTime>,
}

/// A target that may come back or stay away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StuckTarget {
    /// The name of the target.
    pub name: String,
    /// The last sign of life of its agent, or the time of the instruction.
    pub since: ForecastTime,
    /// Whether its agent is silent; otherwise its update takes far longer than all finished ones.
    pub is_silent: bool,
}

/// The message of the product about a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownMessage {
    /// The name of the target.
    pub name: String,
    /// `updating` or `failed`.
    pub state: String,
    /// The message in the export.
    pub message: String,
}

/// A rule that blocks the rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastHold {
    /// The name of the rule.
    pub rule: String,
    /// The explanation of the rule in words. Empty if the numbers in no draw are those of the export.
    pub explanation: String,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastEstimate {
    /// The median of the number.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

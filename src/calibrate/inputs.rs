//! What to calibrate from.

use std::path::PathBuf;

use super::prometheus::MetricKind;
use crate::units::SimDuration;

/// What to calibrate from.
#[derive(Clone, Debug)]
pub struct CalibrationInputs {
    /// Files with Kubernetes events.
    pub events: Vec<PathBuf>,
    /// Only events of pods whose namespace and name contain this text.
    pub only: Option<String>,
    /// Images with their manifests.
    pub manifests: Vec<(String, PathBuf)>,
    /// Tables of images.
    pub image_tables: Vec<PathBuf>,
    /// Patterns of names that state an image's layers and sizes.
    pub image_names: Vec<String>,
    /// Uncompressed over compressed bytes where the former are not known.
    pub compression_ratio: f64,
    /// Round trip to the registry.
    pub rtt: SimDuration,
    /// The registry's time for one request.
    pub service_time: SimDuration,
    /// Range queries of Prometheus.
    pub prometheus: Vec<(MetricKind, PathBuf)>,
    /// Columns of durations.
    pub durations: Vec<DurationColumn>,
    /// The rollout to predict.
    pub predict: Predict,
    /// Seed of the resampling.
    pub seed: u64,
    /// Samples that each p-value and each interval of a distribution's parameters rests on.
    pub resamples: u32,
}

/// A column of durations in a CSV file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DurationColumn {
    /// The file.
    pub file: PathBuf,
    /// The name of the column.
    pub column: String,
    /// The setting that the durations are for, a path of the experiment file.
    pub setting: Option<String>,
}

/// Which rollout to predict.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Predict {
    /// None.
    #[default]
    Nothing,
    /// That of the events that the fit uses.
    SameEvents,
    /// That of other events.
    Events(Vec<PathBuf>),
    /// That of the events, by an experiment with the calibrated settings.
    Experiment(PathBuf),
}

impl CalibrationInputs {
    /// Whether there is nothing to calibrate from.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.events.is_empty() && self.prometheus.is_empty() && self.durations.is_empty()
    }
}

//! The record of a calibration: its input, the fits, the values to paste, and a prediction compared with reality.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ResultsError;
use super::provenance::{VersionedRecord, read_record};
use super::tables::{header, to_csv};

/// The file of a results folder with its calibration.
pub const CALIBRATION_FILE: &str = "calibration.json";

/// The file with the settings to paste into an experiment.
pub const SNIPPET_FILE: &str = "settings.yaml";

/// The folder of the measured values, a file for each quantity.
pub const SAMPLES_FOLDER: &str = "samples";

/// A calibration as stored in `calibration.json`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CalibrationRecord {
    /// The version of this format.
    pub schema_version: u32,
    /// Seed of the resampling.
    pub seed: u64,
    /// Number of samples behind each p-value and each interval of a distribution's parameters.
    pub resamples: u32,
    /// The files that were read.
    pub sources: Vec<SourceRow>,
    /// The inputs that were left out, with the reasons.
    pub left_out: Vec<LeftOutRow>,
    /// The measured quantities with their fits.
    pub samples: Vec<SampleRecord>,
    /// The rates of image pulls.
    pub rates: Option<RatesRecord>,
    /// The calibrated values.
    pub values: Vec<CalibratedValue>,
    /// The prediction of a past rollout.
    pub prediction: Option<PredictionRecord>,
    /// Facts that a reader must know before using the values.
    pub warnings: Vec<String>,
    /// Settings to paste into an experiment, as YAML.
    pub snippet: String,
    /// The containers, stored only in their table.
    #[serde(skip)]
    pub containers: Vec<ContainerRow>,
}

/// A file that was read.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SourceRow {
    /// The name of the file as given on the command line.
    pub file: String,
    /// The kind of file: `events`, `manifest`, `prometheus` or `durations`.
    pub kind: String,
    /// A summary of the file's content.
    pub has: String,
}

/// A kind of input that was left out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct LeftOutRow {
    /// The kind of input that was left out.
    pub kind: String,
    /// The reason why the input was left out.
    pub reason: String,
    /// Number of inputs of this kind that were left out for this reason.
    pub count: u64,
}

/// A measured quantity with its fits.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SampleRecord {
    /// The name of the quantity, which is also the name of its file and of its chart.
    pub name: String,
    /// The meaning of the quantity, in a few words.
    pub title: String,
    /// The files that it was measured from.
    pub source: String,
    /// Number of values.
    pub count: u64,
    /// The minimum of the values, in seconds.
    pub min_s: f64,
    /// The median of the values, in seconds.
    pub median_s: f64,
    /// The 95th percentile of the values, in seconds.
    pub p95_s: f64,
    /// The maximum of the values, in seconds.
    pub max_s: f64,
    /// The mean of the values, in seconds. `None` if only bins are known.
    pub mean_s: Option<f64>,
    /// The lower end of the 95% interval of the median; `None` for fewer than six values, and for bins.
    pub median_low_s: Option<f64>,
    /// The upper end of the 95% interval of the median; `None` for fewer than six values, and for bins.
    pub median_high_s: Option<f64>,
    /// The setting that the distribution is for, a path of the experiment file.
    pub setting: Option<String>,
    /// The chosen distribution: the name of a fit, or `empirical`.
    pub chosen: String,
    /// The chosen distribution in the experiment file's notation.
    pub expression: String,
    /// The reason why the chosen distribution must be used with care.
    pub warning: Option<String>,
    /// Fits, the best first.
    pub fits: Vec<FitRecord>,
    /// Points of the empirical distribution function: seconds and share.
    pub curve: Vec<(f64, f64)>,
}

/// A distribution fitted to a measured quantity.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FitRecord {
    /// `lognormal`, `weibull`, `gamma` or `exponential`.
    pub distribution: String,
    /// The parameters of the distribution, with their names in the experiment file.
    pub parameters: Vec<FitParameter>,
    /// Kolmogorov and Smirnov's distance: the largest difference of the distribution functions.
    pub ks: f64,
    /// Share of samples of the fitted distribution whose Kolmogorov–Smirnov distance is at least `ks`. `None`: not
    /// computed.
    pub ks_p: Option<f64>,
    /// Anderson and Darling's distance, which gives more weight to the tails. `None` if only bins are known.
    pub ad: Option<f64>,
    /// Share of samples of the fitted distribution whose Anderson–Darling distance is at least `ad`. `None`: not
    /// computed.
    pub ad_p: Option<f64>,
    /// The verdict on the fit: `fits`, `close` or `does not fit`.
    pub verdict: String,
    /// The distribution in the experiment file's notation.
    pub expression: String,
    /// Points of the distribution function of the fit: seconds and share.
    pub curve: Vec<(f64, f64)>,
}

/// A parameter of a fitted distribution.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FitParameter {
    /// The name of the parameter in the experiment file.
    pub name: String,
    /// The unit of the parameter: `s`, or empty.
    pub unit: String,
    /// The estimate of the parameter.
    pub value: f64,
    /// The lower end of the parameter's 95% interval. `None`: not computed.
    pub low: Option<f64>,
    /// The upper end of the parameter's 95% interval. `None`: not computed.
    pub high: Option<f64>,
}

/// The rates of image pulls, fitted to the durations of pulls of known images.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RatesRecord {
    /// Number of pulls that the rates are fitted to.
    pub pulls: u64,
    /// Number of nodes with pulls that the rates are fitted to.
    pub nodes: u64,
    /// The formula of the pull model in words.
    pub formula: String,
    /// Median over images of the absolute relative error of the fitted duration.
    pub median_error: f64,
    /// Median over images of the absolute relative error of pulls that are simulated with the pasted settings. `None`:
    /// there are no settings to paste.
    #[serde(default)]
    pub simulated_error: Option<f64>,
    /// The largest absolute relative error of pulls that are simulated with the pasted settings, with its image.
    #[serde(default)]
    pub simulated_worst: Option<(f64, String)>,
    /// The parameters of the pull model.
    pub parameters: Vec<RateParameter>,
    /// The pulled images.
    pub images: Vec<ImageRow>,
}

/// A parameter of the pull model.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RateParameter {
    /// The name of the parameter.
    pub name: String,
    /// The unit of the parameter: `s` or `bytes/s`.
    pub unit: String,
    /// The estimate of the parameter. `None`: the pulls do not determine it.
    pub value: Option<f64>,
    /// The lower end of the parameter's 95% interval.
    pub low: Option<f64>,
    /// The upper end of the parameter's 95% interval. `None`: there is no upper end.
    pub high: Option<f64>,
    /// The setting that the parameter is for, a path of the experiment file.
    pub setting: String,
    /// Notes on the parameter.
    pub note: String,
}

/// An image, the durations of its pulls, and the fitted duration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ImageRow {
    /// The name of the image.
    pub image: String,
    /// Number of layers that the nodes lacked.
    pub layers: u64,
    /// Compressed bytes of the layers that the nodes lacked, as downloaded.
    pub compressed_bytes: u64,
    /// Bytes on disk of the layers that the nodes lacked.
    pub uncompressed_bytes: u64,
    /// Number of pulls of the image that are used for the fit.
    pub pulls: u64,
    /// The minimum duration of a pull.
    pub pull_s_min: f64,
    /// The median duration of the pulls.
    pub pull_s_median: f64,
    /// The maximum duration of a pull.
    pub pull_s_max: f64,
    /// The duration of a pull according to the fitted model.
    pub fitted_s: f64,
}

/// A calibrated value: a row of `calibration.csv`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CalibratedValue {
    /// The setting, a path of the experiment file; empty for a value without one.
    pub setting: String,
    /// The calibrated quantity.
    pub quantity: String,
    /// The value of the quantity in the experiment file's notation.
    pub value: String,
    /// The lower end of the 95% interval, in the notation of `value`; empty if there is none.
    pub low: String,
    /// The upper end of the 95% interval, in the notation of `value`; empty if there is none.
    pub high: String,
    /// Number of measurements; 0 for a fact that a fit assumes.
    pub count: u64,
    /// The files that the measurements come from; empty for a fact that a fit assumes.
    pub source: String,
    /// Notes on the value.
    pub note: String,
}

/// A container: a row of `containers.csv`. Times count from the first event.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ContainerRow {
    /// Namespace and name of the container's pod.
    pub pod: String,
    /// `spec.containers{name}` or `spec.initContainers{name}`.
    pub container: String,
    /// The node of the container.
    pub node: String,
    /// The image of the container.
    pub image: String,
    /// Time when the pod was scheduled.
    pub scheduled_s: Option<f64>,
    /// Time when the kubelet queued the pull of the container's image.
    pub pulling_s: Option<f64>,
    /// Time when the container's image was complete.
    pub pulled_s: Option<f64>,
    /// Time when the container's process first ran.
    pub started_s: Option<f64>,
    /// Duration of the pull, without the wait for other pulls of the node.
    pub pull_s: Option<f64>,
    /// Duration of the pull, including the wait for other pulls of the node.
    pub with_waiting_s: Option<f64>,
    /// Compressed bytes of the image.
    pub size_bytes: Option<u64>,
    /// Number of failed attempts to pull the image before.
    pub failed_attempts: u64,
    /// The reason why the pull is not used to fit rates; empty if it is used.
    pub left_out: String,
}

/// A past rollout and its prediction.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PredictionRecord {
    /// The files with the rollout's events.
    pub source: String,
    /// A description of the simulation.
    pub simulated: String,
    /// Whether the rates were fitted to the same events.
    pub is_in_sample: bool,
    /// Number of simulated runs.
    pub runs: u32,
    /// Number of compared pods.
    pub pods: u64,
    /// Real time from the scheduling of the first pod to the start of the last one.
    pub completion_s: f64,
    /// Predicted time from the scheduling of the first pod to the start of the last one, median over runs.
    pub predicted_completion_s: f64,
    /// Predicted time from the scheduling of the first pod to the start of the last one, 5th percentile over runs.
    pub predicted_completion_p5_s: f64,
    /// Predicted time from the scheduling of the first pod to the start of the last one, 95th percentile over runs.
    pub predicted_completion_p95_s: f64,
    /// Median over pods of the relative error of the time from scheduling to start. `None`: pods cannot be
    /// distinguished.
    pub median_error: Option<f64>,
    /// Median over pods of the absolute relative error of the time from scheduling to start.
    pub median_absolute_error: Option<f64>,
    /// Number of started pods over time, in reality: seconds and pods.
    pub real: Vec<(f64, f64)>,
    /// Number of started pods over time, according to the prediction.
    pub predicted: Vec<PredictedStarts>,
    /// The compared pods.
    pub rows: Vec<PredictedPod>,
}

/// A point of a predicted curve: the time at which this number of pods has started. In files, it is a list of the four
/// numbers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "[f64; 4]", into = "[f64; 4]")]
pub struct PredictedStarts {
    /// Number of started pods.
    pub pods: f64,
    /// Seconds from the scheduling of the first pod until this number of pods has started, median over runs.
    pub median_s: f64,
    /// Seconds from the scheduling of the first pod until this number of pods has started, 5th percentile over runs.
    pub p5_s: f64,
    /// Seconds from the scheduling of the first pod until this number of pods has started, 95th percentile over runs.
    pub p95_s: f64,
}

impl From<[f64; 4]> for PredictedStarts {
    fn from([pods, median_s, p5_s, p95_s]: [f64; 4]) -> Self {
        Self {
            pods,
            median_s,
            p5_s,
            p95_s,
        }
    }
}

impl From<PredictedStarts> for [f64; 4] {
    fn from(point: PredictedStarts) -> Self {
        [point.pods, point.median_s, point.p5_s, point.p95_s]
    }
}

/// A pod of a past rollout, and its prediction.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PredictedPod {
    /// Namespace and name of the pod.
    pub pod: String,
    /// The node of the pod.
    pub node: String,
    /// The image of the pod's first container.
    pub image: String,
    /// Time of the pod's scheduling, in seconds since that of the first pod.
    pub scheduled_s: f64,
    /// Time of the pod's real start, in seconds since the scheduling of the first pod.
    pub started_s: f64,
    /// Time of the pod's predicted start, in seconds since the scheduling of the first pod, median over runs.
    pub predicted_s: f64,
}

impl VersionedRecord for CalibrationRecord {
    const FILE: &'static str = CALIBRATION_FILE;
    const COMMAND: &'static str = "calibrate";
    const EXPECTED_VERSION: u32 = Self::SCHEMA_VERSION;

    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl CalibrationRecord {
    /// The version of the format.
    pub const SCHEMA_VERSION: u32 = 1;

    /// Reads the record of a results folder.
    ///
    /// # Errors
    /// Returns an error if the record is missing, unreadable or damaged, or has another format.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        read_record(folder)
    }

    /// The tables of a calibration with their names.
    #[must_use]
    pub fn tables(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut fits = Vec::new();
        for sample in &self.samples {
            for fit in &sample.fits {
                let is_chosen = fit.distribution == sample.chosen;
                fits.push((
                    &sample.name,
                    sample.count,
                    &fit.distribution,
                    &fit.expression,
                    fit.ks,
                    fit.ks_p,
                    fit.ad,
                    fit.ad_p,
                    &fit.verdict,
                    is_chosen,
                ));
            }
        }
        let mut tables = vec![
            (
                "calibration.csv",
                to_csv(&header::<CalibratedValue>(), &self.values),
            ),
            ("fits.csv", to_csv(FITS, fits)),
            (
                "left_out.csv",
                to_csv(&header::<LeftOutRow>(), &self.left_out),
            ),
        ];
        if !self.containers.is_empty() {
            tables.push(("containers.csv", to_csv("", &self.containers)));
        }
        if let Some(rates) = &self.rates {
            tables.push(("images.csv", to_csv(&header::<ImageRow>(), &rates.images)));
        }
        if let Some(prediction) = &self.prediction {
            tables.push((
                "prediction.csv",
                to_csv(&header::<PredictedPod>(), &prediction.rows),
            ));
        }
        tables
    }
}

const FITS: &str = "quantity,count,distribution,expression,ks,ks_p,ad,ad_p,verdict,is_chosen";

#[cfg(test)]
mod tests {
    use super::super::testing::assert_documented;
    use super::*;

    #[test]
    fn every_column_of_a_calibration_is_documented() {
        let record = CalibrationRecord {
            rates: Some(RatesRecord::default()),
            prediction: Some(PredictionRecord::default()),
            containers: vec![ContainerRow::default()],
            ..CalibrationRecord::default()
        };
        for (name, bytes) in record.tables() {
            assert_documented(name, &bytes);
        }
    }
}

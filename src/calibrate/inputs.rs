//! The inputs of a calibration.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::prometheus::MetricKind;
use crate::scenario::constants::is_setting;
use crate::units::{SimDuration, WithUnit};
use crate::world::calibration::COMPRESSION_RATIO;

/// The inputs of a calibration, as given on the command line.
#[derive(Args, Clone, Debug)]
pub struct CalibrationInputs {
    /// Kubernetes events: `kubectl get events -A -o json`, a watch, or the log of an event exporter, also as .gz; `-`
    /// is standard input; may be repeated
    #[arg(long, value_name = "FILE")]
    pub events: Vec<PathBuf>,
    /// Use only events of pods whose `namespace/name` contains this text
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Layers of an image that was pulled: its name, and its manifest as `crane manifest` prints it; layers may have
    /// `uncompressed` next to `size`; may be repeated
    #[arg(long = "image", value_name = "IMAGE=FILE", value_parser = named_file)]
    pub manifests: Vec<(String, PathBuf)>,
    /// Layers of images: a CSV file with the columns image, layers, compressed_bytes and uncompressed_bytes
    #[arg(long = "images", value_name = "FILE")]
    pub image_tables: Vec<PathBuf>,
    /// Names that contain an image's layers, such as `shop:{layers}-layers-{uncompressed}-bytes`; may be repeated
    #[arg(long = "image-name", value_name = "PATTERN")]
    pub image_names: Vec<String>,
    /// Ratio of uncompressed to compressed bytes of layers whose size on disk is not known
    #[arg(long, value_name = "RATIO", default_value_t = COMPRESSION_RATIO, value_parser = ratio)]
    pub compression_ratio: f64,
    /// Round trip to the registry, used to separate request times from the fitted constants
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = SimDuration::parse)]
    pub rtt: SimDuration,
    /// The registry's time for one request, used in the same way
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = SimDuration::parse)]
    pub service_time: SimDuration,
    /// A range query of Prometheus: `egress` or `requests`, and the JSON of the response; may be repeated
    #[arg(long, value_name = "KIND=FILE", value_parser = metric)]
    pub prometheus: Vec<(MetricKind, PathBuf)>,
    /// Durations in a column of a CSV file, and the setting that they are for; may be repeated
    #[arg(long, value_name = "FILE:COLUMN[=SETTING]", value_parser = column)]
    pub durations: Vec<DurationColumn>,
    /// Predict the rollout of the events with the fitted rates: from the events alone, or with this experiment and the
    /// calibrated settings
    #[arg(long, value_name = "EXPERIMENT", num_args = 0..=1)]
    pub predict: Option<Option<PathBuf>>,
    /// Predict the rollout of these events, which the fit does not use; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "predict")]
    pub predict_events: Vec<PathBuf>,
    /// Seed of the resampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of samples for each p-value and interval of a distribution
    #[arg(long, value_name = "N", default_value_t = 199, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    pub resamples: u32,
}

/// A column of durations in a CSV file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DurationColumn {
    /// The file.
    pub file: PathBuf,
    /// The name of the column.
    pub column: String,
    /// The setting that the durations calibrate, as a path in the experiment file.
    pub setting: Option<String>,
}

impl CalibrationInputs {
    /// Returns whether there is no input to calibrate from.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.events.is_empty() && self.prometheus.is_empty() && self.durations.is_empty()
    }
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(file)))
        }
        _ => Err("write IMAGE=FILE, such as `shop:2=manifest.json`".to_owned()),
    }
}

fn metric(text: &str) -> Result<(MetricKind, PathBuf), String> {
    let fix = "write egress=FILE or requests=FILE";
    match text.split_once('=') {
        Some((kind, file)) if !file.is_empty() => match MetricKind::from_str(kind, false) {
            Ok(kind) => Ok((kind, PathBuf::from(file))),
            Err(_) => Err(format!("unknown kind `{kind}`; {fix}")),
        },
        _ => Err(fix.to_owned()),
    }
}

fn column(text: &str) -> Result<DurationColumn, String> {
    let (path, setting) = match text.split_once('=') {
        Some((path, setting)) => (path, Some(setting)),
        None => (text, None),
    };
    if let Some(setting) = setting
        && !is_setting(setting)
    {
        return Err(format!(
            "unknown setting `{setting}`; write one of an experiment, such as `node.startOverhead`"
        ));
    }
    match path.rsplit_once(':') {
        Some((file, column)) if !file.is_empty() && !column.is_empty() => Ok(DurationColumn {
            file: PathBuf::from(file),
            column: column.to_owned(),
            setting: setting.map(str::to_owned),
        }),
        _ => Err("write FILE:COLUMN, such as `starts.csv:start_s=node.startOverhead`".to_owned()),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.1..=1000.0).contains(&ratio) => Ok(ratio),
        _ => Err("must be a number between 0.1 and 1000".to_owned()),
    }
}

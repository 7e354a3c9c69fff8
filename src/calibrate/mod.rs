//! Calibration of the model's constants from the records of clusters and monitoring systems.
//!
//! [`calibrate`] reads the files in [`CalibrationInputs`] and returns [`Calibrated`]: the record with all fits, and
//! the measured values as tables. It writes nothing. Invalid input causes a [`LoadError`] with its line.
//!
//! | file | contents |
//! |---|---|
//! | `inputs` | the inputs of a calibration |
//! | `run` | one calibration, from the files to the record |
//! | `input`, `json_stream`, `time` | files, consecutive JSON values, points in time |
//! | `events` | Kubernetes events: containers, their pulls and starts |
//! | `measured` | the quantities that container starts measure |
//! | `prometheus`, `metrics` | range queries of a load, and the resulting values |
//! | `columns` | durations in CSV files |
//! | `fit` | distributions fitted to a quantity, with their distances |
//! | `by_node` | intervals that allow for differences between nodes |
//! | `images` | layers of the pulled images |
//! | `rates` | the pull model's rates |
//! | `predict` | a simulation of a past rollout with these rates |
//! | `snippet` | the values as YAML to paste |

mod by_node;
mod columns;
mod events;
mod fit;
mod images;
mod input;
mod inputs;
mod json_stream;
mod measured;
mod metrics;
mod predict;
mod prometheus;
mod rates;
mod run;
mod snippet;
pub(crate) mod time;

pub use inputs::{CalibrationInputs, DurationColumn};
pub use prometheus::MetricKind;

use crate::document::LoadError;
use crate::results::{CalibrationRecord, FileDigest};
use crate::units::Bytes;

/// A finished calibration, ready to be written.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Fits, values and counts.
    pub record: CalibrationRecord,
    /// The measured values of each quantity, as the path and the bytes of a CSV file in the results folder.
    pub samples: Vec<(String, Vec<u8>)>,
    /// The files that were read.
    pub inputs: Vec<FileDigest>,
}

/// Runs a calibration. `memory` limits a prediction with an experiment.
///
/// # Errors
/// Returns an error if a file cannot be read, is damaged, or is of another kind, or if the prediction needs more
/// memory.
pub fn calibrate(inputs: &CalibrationInputs, memory: Bytes) -> Result<Calibrated, LoadError> {
    run::Calibration::within(memory).run(inputs)
}

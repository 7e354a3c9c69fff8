//! Calibration: the model's constants from what clusters and monitoring systems have recorded.
//!
//! [`calibrate`] reads the files of a [`CalibrationInputs`] and returns a [`Calibrated`]: the record with all fits,
//! and the measured values as tables. It writes nothing; what cannot be read is a [`LoadError`] with its line.
//!
//! | file | contents |
//! |---|---|
//! | `input`, `json_stream`, `time` | files, JSON values that follow each other, points in time |
//! | `events` | Kubernetes events: containers, their pulls and starts |
//! | `measured` | the quantities that these measure |
//! | `fit` | distributions fitted to a quantity, with their distances |
//! | `snippet` | the values as YAML to paste |

mod events;
mod fit;
mod input;
mod json_stream;
mod measured;
mod snippet;
mod time;

use std::path::{Path, PathBuf};

use crate::document::LoadError;
use crate::document::problem::Problem;
use crate::results::{
    CalibratedValue, CalibrationRecord, FileDigest, LeftOutRow, SAMPLES_FOLDER, SampleRecord, SourceRow,
};
use fit::Measurements;
use input::Input;

/// What to calibrate from.
#[derive(Clone, Debug)]
pub struct CalibrationInputs {
    /// Files with Kubernetes events.
    pub events: Vec<PathBuf>,
    /// Only events of pods whose namespace and name contain this text.
    pub only: Option<String>,
    /// Seed of the resampling.
    pub seed: u64,
    /// Samples that each p-value and each interval of a distribution's parameters rests on.
    pub resamples: u32,
}

impl CalibrationInputs {
    /// Whether there is nothing to calibrate from.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// A calibration, ready to be written.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Fits, values and counts.
    pub record: CalibrationRecord,
    /// The measured values of each quantity: a path in the results folder, and the bytes of a CSV file.
    pub samples: Vec<(String, Vec<u8>)>,
    /// The files that were read.
    pub inputs: Vec<FileDigest>,
}

/// Calibrates.
///
/// # Errors
/// When a file cannot be read, is damaged, or is of another kind.
pub fn calibrate(inputs: &CalibrationInputs) -> Result<Calibrated, LoadError> {
    Calibration::default().run(inputs).map_err(|problem| LoadError { problems: vec![*problem] })
}

/// A calibration in progress.
#[derive(Debug, Default)]
struct Calibration {
    record: CalibrationRecord,
    quantities: Vec<Measurements>,
    digests: Vec<FileDigest>,
}

impl Calibration {
    fn run(mut self, inputs: &CalibrationInputs) -> Result<Calibrated, Box<Problem>> {
        self.record.schema_version = CalibrationRecord::SCHEMA_VERSION;
        (self.record.seed, self.record.resamples) = (inputs.seed, inputs.resamples);
        self.events(inputs)?;
        let mut samples = Vec::new();
        for quantity in &self.quantities {
            let Some(record) = quantity.fitted(inputs.resamples, inputs.seed) else { continue };
            if let Some(warning) = &record.warning {
                self.record.warnings.push(format!("{}: {warning}", record.name));
            }
            self.record.values.push(value_of(&record));
            samples.push((format!("{SAMPLES_FOLDER}/{}.csv", quantity.name), column(quantity)));
            self.record.samples.push(record);
        }
        self.record.snippet = snippet::of_values(&self.record.values);
        Ok(Calibrated { record: self.record, samples, inputs: self.digests })
    }

    fn read(&mut self, path: &Path) -> Result<Input, Box<Problem>> {
        let input = Input::read(path)?;
        self.digests.push(FileDigest { path: input.name().to_owned(), sha256: input.sha256.clone() });
        Ok(input)
    }

    fn events(&mut self, inputs: &CalibrationInputs) -> Result<(), Box<Problem>> {
        if inputs.events.is_empty() {
            return Ok(());
        }
        let read: Vec<Input> = inputs.events.iter().map(|path| self.read(path)).collect::<Result<_, _>>()?;
        let mut tally = events::Tally::default();
        let starts = events::containers(&read, inputs.only.as_deref(), &mut tally)?;
        let source = names(&read);
        let quantities = measured::of_starts(&starts, &source, &mut tally);
        let pulls = starts.iter().filter(|start| start.is_pull()).count();
        let has = format!("{} events, {} containers, {pulls} pulls", tally.events, starts.len());
        self.record.sources.push(SourceRow { file: source, kind: "events".to_owned(), has });
        for start in &starts {
            if let Some(reason) = start.unused {
                tally.add(reason);
            }
        }
        self.left_out("events", &tally);
        if quantities.is_empty() {
            self.record.warnings.push("events: no container has a pull or a start that can be used".to_owned());
        }
        self.record.containers = measured::rows(&starts);
        self.quantities.extend(quantities);
        Ok(())
    }

    fn left_out(&mut self, kind: &str, tally: &events::Tally) {
        let row = |(reason, count): (&'static str, u64)| LeftOutRow {
            kind: kind.to_owned(),
            reason: reason.to_owned(),
            count,
        };
        self.record.left_out.extend(tally.left_out().map(row));
    }
}

/// The names of files, in one text.
fn names(inputs: &[Input]) -> String {
    inputs.iter().map(|input| short(input.name())).collect::<Vec<_>>().join(", ")
}

/// The last part of a path: where a file lies does not belong into results.
fn short(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// The chosen distribution of a quantity as a calibrated value.
fn value_of(sample: &SampleRecord) -> CalibratedValue {
    let interval = sample.median_low_s.zip(sample.median_high_s);
    let note = match (interval, &sample.warning) {
        (_, Some(warning)) => format!("median {}; {warning}", fit::duration(sample.median_s)),
        (Some((low, high)), None) => format!(
            "median {} (95% interval {} to {})",
            fit::duration(sample.median_s),
            fit::duration(low),
            fit::duration(high)
        ),
        (None, None) => format!("median {}", fit::duration(sample.median_s)),
    };
    CalibratedValue {
        setting: sample.setting.clone().unwrap_or_default(),
        quantity: sample.title.clone(),
        value: sample.expression.clone(),
        low: String::new(),
        high: String::new(),
        count: sample.count,
        source: sample.source.clone(),
        note,
    }
}

/// A quantity's values as a CSV file that an experiment can read.
fn column(quantity: &Measurements) -> Vec<u8> {
    let values = quantity.values.iter().map(|value| format!("{value}\n")).collect::<String>();
    format!("{}\n{values}", quantity.column()).into_bytes()
}

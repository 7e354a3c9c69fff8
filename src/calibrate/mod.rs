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
//! | `images` | layers of the pulled images |
//! | `rates` | the pull model's rates |
//! | `predict` | a past rollout, simulated with them |
//! | `snippet` | the values as YAML to paste |

mod events;
mod fit;
mod images;
mod input;
mod json_stream;
mod measured;
mod predict;
mod rates;
mod snippet;
mod time;

use std::path::{Path, PathBuf};

use crate::document::LoadError;
use crate::document::problem::Problem;
use crate::results::{
    CalibratedValue, CalibrationRecord, FileDigest, LeftOutRow, SAMPLES_FOLDER, SampleRecord, SourceRow,
};
use crate::scenario::{Overrides, load};
use crate::stats;
use crate::units::SimDuration;
use events::ContainerStart;
use fit::Measurements;
use images::KnownImages;
use input::Input;
use predict::{CalibratedNode, Latencies};
use rates::{PullModel, RateSettings};

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
    /// The rollout to predict.
    pub predict: Predict,
    /// Seed of the resampling.
    pub seed: u64,
    /// Samples that each p-value and each interval of a distribution's parameters rests on.
    pub resamples: u32,
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
    Calibration::default().run(inputs)
}

/// A single problem.
#[expect(clippy::needless_pass_by_value, clippy::boxed_local, reason = "as `map_err` hands it over")]
fn refused(problem: Box<Problem>) -> LoadError {
    LoadError { problems: vec![*problem] }
}

/// A calibration in progress.
#[derive(Debug, Default)]
struct Calibration {
    record: CalibrationRecord,
    starts: Vec<ContainerStart>,
    images: KnownImages,
    model: Option<PullModel>,
    of_rates: Vec<CalibratedValue>,
    quantities: Vec<Measurements>,
    digests: Vec<FileDigest>,
}

impl Calibration {
    fn run(mut self, inputs: &CalibrationInputs) -> Result<Calibrated, LoadError> {
        self.record.schema_version = CalibrationRecord::SCHEMA_VERSION;
        (self.record.seed, self.record.resamples) = (inputs.seed, inputs.resamples);
        self.events(inputs).map_err(refused)?;
        self.rates(inputs).map_err(refused)?;
        self.prediction(inputs)?;
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
        self.record.values.extend(self.of_rates);
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
        self.starts = starts;
        Ok(())
    }

    /// The rates of pulls, where something is known about the images.
    fn rates(&mut self, inputs: &CalibrationInputs) -> Result<(), Box<Problem>> {
        for (image, path) in &inputs.manifests {
            let input = self.read(path)?;
            self.images.add_manifest(image, &input)?;
        }
        for path in &inputs.image_tables {
            let input = self.read(path)?;
            self.images.add_table(&input)?;
        }
        for pattern in &inputs.image_names {
            self.images.add_pattern(pattern).map_err(|message| {
                Box::new(Problem::of_file("--image-name", message).with_help("see docs/calibrate.md#pull-rates"))
            })?;
        }
        let settings = RateSettings {
            images: &self.images,
            compression_ratio: inputs.compression_ratio,
            rtt: inputs.rtt.as_secs_f64(),
            service: inputs.service_time.as_secs_f64(),
        };
        let source = self.record.sources.first().map(|source| source.file.clone()).unwrap_or_default();
        let Some(fitted) = rates::fit(&self.starts, &settings, &source) else { return Ok(()) };
        self.record.warnings.extend(fitted.warnings);
        self.record.rates = Some(fitted.record);
        self.of_rates = fitted.values;
        if predict::is_parallel(&self.starts) {
            let note =
                "a node had two pulls in progress at the same time; set `maxParallelImagePulls` if it is limited";
            self.of_rates.push(CalibratedValue {
                setting: "node.serializeImagePulls".to_owned(),
                quantity: "parallel pulls".to_owned(),
                value: "false".to_owned(),
                count: self.record.rates.as_ref().map_or(0, |rates| rates.pulls),
                source: format!("pulls in {source}"),
                note: note.to_owned(),
                ..CalibratedValue::default()
            });
        }
        self.model = Some(fitted.model);
        Ok(())
    }

    /// The values of a quantity, in ascending order.
    fn sorted(&self, name: &str) -> Vec<f64> {
        let found = self.quantities.iter().find(|quantity| quantity.name == name);
        found.map(|quantity| stats::sorted(&quantity.values)).unwrap_or_default()
    }

    /// A past rollout, simulated with the fitted model.
    fn prediction(&mut self, inputs: &CalibrationInputs) -> Result<(), LoadError> {
        if inputs.predict == Predict::Nothing {
            return Ok(());
        }
        let without = |message: &str| {
            let help = "see docs/calibrate.md#prediction-against-reality";
            refused(Box::new(Problem::of_file("--predict", message).with_help(help)))
        };
        let Some(model) = self.model else {
            return Err(without("a prediction needs the pull model, so pulls of images whose sizes are known"));
        };
        let (before, after) = (self.sorted("scheduled_to_pulling"), self.sorted("pulled_to_started"));
        let source = self.record.sources.first().map(|source| source.file.clone()).unwrap_or_default();
        let predicted = match &inputs.predict {
            Predict::Nothing => return Ok(()),
            Predict::Experiment(path) => {
                let experiment = load(path, &Overrides::default())?;
                let start_overhead = self.sorted("start_overhead");
                let settings = CalibratedNode { model: Some(model), start_overhead };
                predict::of_experiment(&self.starts, &experiment, &settings, inputs.seed)
                    .map_err(|message| without(&message))?
                    .map(|record| (record, source, true))
            }
            Predict::SameEvents | Predict::Events(_) => {
                let (starts, source, is_in_sample) = match &inputs.predict {
                    Predict::Events(paths) => {
                        let read: Vec<Input> =
                            paths.iter().map(|path| self.read(path)).collect::<Result<_, _>>().map_err(refused)?;
                        let mut tally = events::Tally::default();
                        let starts = events::containers(&read, inputs.only.as_deref(), &mut tally).map_err(refused)?;
                        (starts, names(&read), false)
                    }
                    _ => (self.starts.clone(), source, true),
                };
                let latencies = Latencies { before: &before, after: &after };
                let ratio = inputs.compression_ratio;
                predict::of_events(&starts, &self.images, ratio, &model, latencies, inputs.seed)
                    .map(|record| (record, source, is_in_sample))
            }
        };
        let Some((mut record, source, is_in_sample)) = predicted else {
            return Err(without("the events have no pod whose schedule, image and start are known"));
        };
        (record.source, record.is_in_sample) = (source, is_in_sample);
        let last = record.predicted.last().map_or(0.0, |(pods, ..)| *pods);
        if (last - record.pods as f64).abs() > 0.5 {
            let warning = format!(
                "prediction: the simulation starts {last:.0} containers, but the events have {} pods",
                record.pods
            );
            self.record.warnings.push(warning);
        }
        self.record.prediction = Some(record);
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

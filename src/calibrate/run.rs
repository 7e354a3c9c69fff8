//! Runs a calibration, from the files to the record.

use std::path::{Path, PathBuf};

use super::events::{self, ContainerStart};
use super::fit::{self, Measurements};
use super::images::{KnownImages, is_image};
use super::input::{Input, OpenInput, names, short};
use super::inputs::CalibrationInputs;
use super::json_stream::JsonStream;
use super::predict::{self, CalibratedNode, ReplaySettings};
use super::prometheus::{self, SERIES};
use super::rates::{self, DiskChoice, FittedRates, LayerBytes, PullModel, RateSettings};
use super::{Calibrated, columns, measured, metrics, snippet};
use crate::document::LoadError;
use crate::document::problem::{OrProblem, Problem};
use crate::results::{
    CalibratedValue, CalibrationRecord, FileDigest, ImageRow, LeftOutRow, PredictionRecord,
    RatesRecord, SAMPLES_FOLDER, SampleRecord, SourceRow,
};
use crate::scenario::{Overrides, load};
use crate::stats;
use crate::study::MemoryEstimate;
use crate::units::{Bytes, counted};

/// Largest difference between a simulated pull and the fit that is not worth a warning. Sizes and rates are rounded.
const MOST_FROM_FIT: f64 = 0.03;

/// A calibration in progress.
#[derive(Debug, Default)]
pub(super) struct Calibration {
    record: CalibrationRecord,
    starts: Vec<ContainerStart>,
    images: KnownImages,
    model: Option<PullModel>,
    of_rates: Vec<CalibratedValue>,
    /// The missing layers of each image in the record's rates.
    layers: Vec<Vec<LayerBytes>>,
    /// Loads of a registry, as calibrated values.
    loads: Vec<CalibratedValue>,
    quantities: Vec<Measurements>,
    /// Files with the measured values.
    samples: Vec<(String, Vec<u8>)>,
    digests: Vec<FileDigest>,
    /// Maximum memory of a prediction.
    memory: Bytes,
}

impl Calibration {
    /// Creates a calibration. `memory` limits a prediction.
    pub(super) fn within(memory: Bytes) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    pub(super) fn run(mut self, inputs: &CalibrationInputs) -> Result<Calibrated, LoadError> {
        self.record.schema_version = CalibrationRecord::SCHEMA_VERSION;
        self.record.seed = inputs.seed;
        self.record.resamples = inputs.resamples;
        self.events(inputs).map_err(refused)?;
        self.rates(inputs).map_err(refused)?;
        self.prediction(inputs)?;
        self.other_inputs(inputs).map_err(refused)?;
        self.fit_quantities(inputs);
        self.record.values.append(&mut self.loads);
        self.drop_assumed_if_measured();
        self.record.values.append(&mut self.of_rates);
        self.record.snippet = snippet::of_values(&self.record.values);
        self.check_pasted();
        Ok(Calibrated {
            record: self.record,
            samples: self.samples,
            inputs: self.digests,
        })
    }

    /// Removes the values of the fitted rates, such as an assumed egress, for which there is a measured value.
    fn drop_assumed_if_measured(&mut self) {
        let measured = &self.record.values;
        self.of_rates.retain(|value| {
            let mut measured = measured.iter();
            value.setting.is_empty() || !measured.any(|other| other.setting == value.setting)
        });
    }

    /// Fits distributions to the measured quantities.
    fn fit_quantities(&mut self, inputs: &CalibrationInputs) {
        for quantity in std::mem::take(&mut self.quantities) {
            let Some(record) = quantity.fitted(inputs.resamples, inputs.seed) else {
                continue;
            };
            if let Some(warning) = &record.warning {
                self.warn(format!("{}: {warning}", record.name));
            }
            self.record.values.push(value_of(&record));
            let file = format!("{SAMPLES_FOLDER}/{}.csv", quantity.name);
            self.samples.push((file, column(&quantity)));
            self.record.samples.push(record);
        }
    }

    fn warn(&mut self, warning: impl Into<String>) {
        self.record.warnings.push(warning.into());
    }

    fn read(&mut self, path: &Path) -> OrProblem<Input> {
        let input = Input::read(path)?;
        self.digests.push(input.digest.clone());
        Ok(input)
    }

    /// Reads the containers from streams of events.
    fn containers(
        &mut self,
        paths: &[PathBuf],
        only: Option<&str>,
        tally: &mut events::Tally,
    ) -> OrProblem<Vec<ContainerStart>> {
        let mut all = events::PodEvents::default();
        for path in paths {
            let mut stream = JsonStream::open(path, events::ITEMS)?;
            events::read(&mut stream, &mut all, tally)?;
            self.digests.push(stream.input.digest());
        }
        Ok(events::containers(all, only, tally))
    }

    fn events(&mut self, inputs: &CalibrationInputs) -> OrProblem<()> {
        if inputs.events.is_empty() {
            return Ok(());
        }
        let mut tally = events::Tally::default();
        let starts = self.containers(&inputs.events, inputs.only.as_deref(), &mut tally)?;
        let source = names(&inputs.events);
        let quantities = measured::of_starts(&starts, &source, &mut tally);
        let pulls = starts.iter().filter(|start| start.is_pull()).count();
        self.record.sources.push(SourceRow {
            file: source,
            kind: "events".to_owned(),
            has: format!(
                "{}, {}, {}",
                counted(tally.events, "event"),
                counted(starts.len(), "container"),
                counted(pulls, "pull")
            ),
        });
        for start in &starts {
            if let Some(reason) = start.unused {
                tally.add(reason);
            }
        }
        self.left_out("events", &tally);
        if quantities.is_empty() {
            self.warn("events: no container has a pull or a start that can be used");
        }
        self.record.containers = measured::rows(&starts);
        self.quantities.extend(quantities);
        self.starts = starts;
        Ok(())
    }

    /// Reads the layers of images from manifests, tables and names.
    fn known_images(&mut self, inputs: &CalibrationInputs) -> OrProblem<()> {
        for (image, path) in &inputs.manifests {
            let input = self.read(path)?;
            self.images.add_manifest(image, &input)?;
        }
        for path in &inputs.image_tables {
            let input = self.read(path)?;
            self.images.add_table(&input)?;
        }
        for pattern in &inputs.image_names {
            if let Err(message) = self.images.add_pattern(pattern) {
                let problem = Problem::of_file("--image-name", message);
                return Err(Box::new(
                    problem.with_help("see docs/calibrate.md#pull-rates"),
                ));
            }
        }
        for (image, _) in &inputs.manifests {
            let mut starts = self.starts.iter();
            if !starts.any(|start| is_image(&start.image, image)) {
                self.warn(format!(
                    "rates: no container in the events has the image `{image}`"
                ));
            }
        }
        Ok(())
    }

    /// Returns the names of the files with the fitted events.
    fn source_of_events(&self) -> String {
        match self.record.sources.first() {
            Some(source) => source.file.clone(),
            None => String::new(),
        }
    }

    /// Fits the rates of pulls, if the images are known.
    fn rates(&mut self, inputs: &CalibrationInputs) -> OrProblem<()> {
        self.known_images(inputs)?;
        let source = self.source_of_events();
        let Some(fitted) = self.fitted_rates(inputs, &source) else {
            if self.starts.iter().any(ContainerStart::is_pull) {
                self.warn(
                    "rates: unknown, because no pulled image has known layers, and the events state no image \
                     sizes (kubelets before 1.30 do not); add `--image IMAGE=manifest.json`",
                );
            }
            return Ok(());
        };
        self.layers = fitted.layers;
        self.record.warnings.extend(fitted.warnings);
        self.of_rates = fitted.values;
        if predict::is_parallel(&self.starts) {
            let pulls = fitted.record.pulls;
            self.of_rates.push(CalibratedValue {
                value: "false".to_owned(),
                note: "a node had two pulls in progress at the same time; set `maxParallelImagePulls` if it is limited"
                    .to_owned(),
                ..rates::of_pulls("node.serializeImagePulls", "parallel pulls", pulls, &source)
            });
        }
        self.record.rates = Some(fitted.record);
        self.model = Some(fitted.model);
        Ok(())
    }

    /// Fits the rates, without a disk if the simulated disk does not give the pulls of the fit.
    fn fitted_rates(&self, inputs: &CalibrationInputs, source: &str) -> Option<FittedRates> {
        let settings = RateSettings {
            images: &self.images,
            compression_ratio: inputs.compression_ratio,
            rtt: inputs.rtt,
            service: inputs.service_time,
            disk: DiskChoice::IfBetter,
            resamples: inputs.resamples,
            seed: inputs.seed,
        };
        let fitted = rates::fit(&self.starts, &settings, source)?;
        let has_disk = fitted.model.disk.is_some();
        if !has_disk || from_fit(&fitted).is_some_and(|difference| difference <= MOST_FROM_FIT) {
            return Some(fitted);
        }
        let without = RateSettings {
            disk: DiskChoice::InTheRates,
            ..settings
        };
        let mut other = rates::fit(&self.starts, &without, source)?;
        other.warnings.push(
            "rates: a disk behind memory explains the pulls better, but downloads are written to it too, and the \
             simulation then differs from the fit; so the rates contain the disk"
                .to_owned(),
        );
        Some(other)
    }

    /// Simulates the pulls with the values to paste, and compares them with the data.
    fn check_pasted(&mut self) {
        let Some(rates) = &mut self.record.rates else {
            return;
        };
        let mut values = self.record.values.iter();
        if !values.any(|value| value.setting == "node.unpackRate") {
            return;
        }
        let snippet = &self.record.snippet;
        let Some(simulated) = predict::pasted::seconds(snippet, &self.samples, &self.layers) else {
            self.warn("rates: the settings to paste could not be simulated");
            return;
        };
        let difference = largest_difference(&rates.images, &simulated);
        note_errors(rates, &simulated);
        let median = rates.simulated_error;
        if median.is_some_and(|error| error > rates::MOST_ERROR) {
            self.warn(
                "rates: pulls that are simulated with the pasted settings differ from the data by more than 25%",
            );
        }
        if difference > MOST_FROM_FIT {
            self.warn(format!(
                "rates: pulls that are simulated with the pasted settings differ from the fit by up to {:.0}%",
                difference * 100.0
            ));
        }
    }

    /// Returns the values of a quantity, in ascending order.
    fn sorted(&self, name: &str) -> Vec<f64> {
        let mut quantities = self.quantities.iter();
        match quantities.find(|quantity| quantity.name == name) {
            Some(quantity) => stats::sorted(&quantity.values),
            None => Vec::new(),
        }
    }

    /// Simulates a past rollout with the fitted model.
    fn prediction(&mut self, inputs: &CalibrationInputs) -> Result<(), LoadError> {
        if inputs.predict.is_none() && inputs.predict_events.is_empty() {
            return Ok(());
        }
        let Some(model) = self.model else {
            return Err(not_predicted(
                "a prediction needs the pull model, which needs pulls of images with known sizes",
            ));
        };
        let predicted = match &inputs.predict {
            Some(Some(experiment)) => {
                self.predicted_by_experiment(experiment, model, inputs.seed)?
            }
            _ if inputs.predict_events.is_empty() => {
                let record = self.predicted_by_replay(&self.starts, &model, inputs)?;
                record.map(|record| PredictionRecord {
                    source: self.source_of_events(),
                    is_in_sample: true,
                    ..record
                })
            }
            _ => {
                let mut tally = events::Tally::default();
                let others = &inputs.predict_events;
                let starts = self.containers(others, inputs.only.as_deref(), &mut tally);
                let starts = starts.map_err(refused)?;
                let record = self.predicted_by_replay(&starts, &model, inputs)?;
                record.map(|record| PredictionRecord {
                    source: names(others),
                    is_in_sample: false,
                    ..record
                })
            }
        };
        let Some(record) = predicted else {
            return Err(not_predicted(
                "the events have no pod whose schedule, image and start are known",
            ));
        };
        let last = record.predicted.last().map_or(0.0, |end| end.pods);
        if (last - record.pods as f64).abs() > 0.5 {
            self.warn(format!(
                "prediction: the simulation starts {}, but the events have {}",
                counted(last.round() as u64, "container"),
                counted(record.pods, "pod")
            ));
        }
        self.record.prediction = Some(record);
        Ok(())
    }

    /// Predicts the rollout of the events with an experiment in which calibrated settings replace the experiment's
    /// own.
    fn predicted_by_experiment(
        &self,
        experiment: &Path,
        model: PullModel,
        seed: u64,
    ) -> Result<Option<PredictionRecord>, LoadError> {
        let experiment = load(experiment, &Overrides::default())?;
        let first = &experiment.variants[..experiment.variants.len().min(1)];
        MemoryEstimate::of_runs(&experiment, first, 1)
            .runs_within(self.memory, 1)
            .map_err(|refused| not_predicted(&refused.to_string()))?;
        let settings = CalibratedNode {
            model,
            sandbox: self.sorted("scheduled_to_pulling"),
            start_overhead: self.sorted("pulled_to_started"),
        };
        let record = predict::of_experiment(&self.starts, &experiment, &settings, seed);
        let record = record.map_err(|message| not_predicted(&message))?;
        Ok(record.map(|record| PredictionRecord {
            source: self.source_of_events(),
            is_in_sample: true,
            ..record
        }))
    }

    /// Predicts the rollout of these events, from the events alone.
    fn predicted_by_replay(
        &self,
        starts: &[ContainerStart],
        model: &PullModel,
        inputs: &CalibrationInputs,
    ) -> Result<Option<PredictionRecord>, LoadError> {
        let before = self.sorted("scheduled_to_pulling");
        let after = self.sorted("pulled_to_started");
        let settings = ReplaySettings {
            images: &self.images,
            compression_ratio: inputs.compression_ratio,
            model,
            before: &before,
            after: &after,
        };
        predict::of_events(starts, settings, inputs.seed).map_err(|message| not_predicted(&message))
    }

    /// Reads metrics and columns of durations.
    fn other_inputs(&mut self, inputs: &CalibrationInputs) -> OrProblem<()> {
        let mut tally = events::Tally::default();
        for (kind, path) in &inputs.prometheus {
            let mut stream = JsonStream::open(path, SERIES)?;
            let load = prometheus::load(&mut stream, &mut tally)?;
            let OpenInput { name, .. } = &stream.input;
            self.digests.push(stream.input.digest());
            self.source(
                name,
                "prometheus",
                format!("{} samples of a load", load.values.len()),
            );
            self.loads
                .push(metrics::value_of(*kind, &load, short(name)));
        }
        self.left_out("prometheus", &tally);
        let mut tally = events::Tally::default();
        for wanted in &inputs.durations {
            let input = self.read(&wanted.file)?;
            let quantity = columns::read(
                &input,
                &wanted.column,
                wanted.setting.as_deref(),
                &mut tally,
            )?;
            let values = counted(quantity.values.len(), "value");
            self.source(
                &input.source.name,
                "durations",
                format!("{values} of {}", wanted.column),
            );
            self.merge(quantity);
        }
        self.left_out("durations", &tally);
        Ok(())
    }

    fn source(&mut self, name: &str, kind: &str, has: String) {
        self.record.sources.push(SourceRow {
            file: short(name),
            kind: kind.to_owned(),
            has,
        });
    }

    /// Adds a quantity to the same quantity from another file, or as a new one.
    fn merge(&mut self, mut quantity: Measurements) {
        let mut known = self.quantities.iter_mut();
        if let Some(known) = known.find(|known| known.is_same_quantity(&quantity)) {
            known.append(&mut quantity);
            if known.source != quantity.source {
                known.source = format!("{}, {}", known.source, quantity.source);
            }
            return;
        }
        let name = quantity.name.clone();
        let mut nth = 2;
        while self.has_quantity(&quantity.name) {
            quantity.name = format!("{name}_{nth}");
            nth += 1;
        }
        self.quantities.push(quantity);
    }

    fn has_quantity(&self, name: &str) -> bool {
        self.quantities.iter().any(|known| known.name == name)
    }

    fn left_out(&mut self, kind: &str, tally: &events::Tally) {
        for (reason, count) in tally.left_out() {
            self.record.left_out.push(LeftOutRow {
                kind: kind.to_owned(),
                reason: reason.to_owned(),
                count,
            });
        }
    }
}

/// Returns the largest difference between the fitted durations and those that are simulated with the settings to
/// paste. `None`: there are no such settings, or they are not valid.
fn from_fit(fitted: &FittedRates) -> Option<f64> {
    let snippet = snippet::of_values(&fitted.values);
    if snippet.is_empty() {
        return Some(0.0);
    }
    let simulated = predict::pasted::seconds(&snippet, &[], &fitted.layers)?;
    Some(largest_difference(&fitted.record.images, &simulated))
}

/// Records the errors of the simulated durations of the images' pulls.
fn note_errors(rates: &mut RatesRecord, simulated: &[f64]) {
    let mut absolute = Vec::with_capacity(simulated.len());
    let mut worst: Option<(f64, &ImageRow)> = None;
    for (row, seconds) in rates.images.iter().zip(simulated) {
        let error = seconds / row.pull_s_median - 1.0;
        absolute.push(error.abs());
        // If errors are equal, the last image is kept.
        if worst.is_none_or(|(most, _)| error.abs().total_cmp(&most.abs()).is_ge()) {
            worst = Some((error, row));
        }
    }
    rates.simulated_worst = worst.map(|(error, row)| (error, row.image.clone()));
    rates.simulated_error = stats::median(&absolute);
}

/// Returns the largest relative difference between the images' fitted and simulated durations.
fn largest_difference(images: &[ImageRow], simulated: &[f64]) -> f64 {
    let mut largest: f64 = 0.0;
    for (row, seconds) in images.iter().zip(simulated) {
        largest = largest.max((seconds / row.fitted_s - 1.0).abs());
    }
    largest
}

/// Creates an error with a single problem.
#[expect(clippy::boxed_local, reason = "as `map_err` hands it over")]
fn refused(problem: Box<Problem>) -> LoadError {
    LoadError {
        problems: vec![*problem],
    }
}

/// Returns the error for a prediction that cannot be made.
fn not_predicted(message: &str) -> LoadError {
    let problem = Problem::of_file("--predict", message);
    refused(Box::new(
        problem.with_help("see docs/calibrate.md#prediction-against-reality"),
    ))
}

/// Returns the chosen distribution of a quantity as a calibrated value.
fn value_of(sample: &SampleRecord) -> CalibratedValue {
    let interval = sample.median_low_s.zip(sample.median_high_s);
    let more = match (interval, &sample.warning) {
        (_, Some(warning)) => format!("; {warning}"),
        (Some((low, high)), None) => format!(
            " (95% interval {} to {})",
            fit::duration(low),
            fit::duration(high)
        ),
        (None, None) => String::new(),
    };
    CalibratedValue {
        setting: sample.setting.clone().unwrap_or_default(),
        quantity: sample.title.clone(),
        value: sample.expression.clone(),
        count: sample.count,
        source: sample.source.clone(),
        note: format!("median {}{more}", fit::duration(sample.median_s)),
        ..CalibratedValue::default()
    }
}

/// Returns a quantity's values as a CSV file that experiments can read.
fn column(quantity: &Measurements) -> Vec<u8> {
    let mut text = format!("{}\n", quantity.column());
    for value in &quantity.values {
        text.push_str(&format!("{value}\n"));
    }
    text.into_bytes()
}

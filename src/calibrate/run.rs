//! One calibration, from the files to the record.

use std::path::{Path, PathBuf};

use super::events::{self, ContainerStart};
use super::fit::{self, Measurements};
use super::images::{KnownImages, is_image};
use super::input::{Input, OpenInput, names, short};
use super::inputs::CalibrationInputs;
use super::json_stream::JsonStream;
use super::predict::{self, CalibratedNode, Latencies};
use super::prometheus::{self, SERIES};
use super::rates::{self, LayerBytes, PullModel, RateSettings};
use super::{Calibrated, columns, measured, metrics, snippet};
use crate::document::LoadError;
use crate::document::problem::{OrProblem, Problem};
use crate::results::{
    CalibratedValue, CalibrationRecord, FileDigest, ImageRow, LeftOutRow, SAMPLES_FOLDER,
    SampleRecord, SourceRow,
};
use crate::scenario::{Overrides, load};
use crate::stats;
use crate::study::MemoryEstimate;
use crate::units::{Bytes, counted};

/// A calibration in progress.
#[derive(Debug, Default)]
pub(super) struct Calibration {
    record: CalibrationRecord,
    starts: Vec<ContainerStart>,
    images: KnownImages,
    model: Option<PullModel>,
    of_rates: Vec<CalibratedValue>,
    /// The layers of each image of the record's rates.
    layers: Vec<Vec<LayerBytes>>,
    /// Loads of a registry.
    loads: Vec<CalibratedValue>,
    quantities: Vec<Measurements>,
    /// Files with measured values.
    samples: Vec<(String, Vec<u8>)>,
    digests: Vec<FileDigest>,
    /// Most memory of a prediction.
    memory: Bytes,
}

impl Calibration {
    /// A calibration whose prediction may take this much memory.
    pub(super) fn within(memory: Bytes) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    pub(super) fn run(mut self, inputs: &CalibrationInputs) -> Result<Calibrated, LoadError> {
        self.record.schema_version = CalibrationRecord::SCHEMA_VERSION;
        (self.record.seed, self.record.resamples) = (inputs.seed, inputs.resamples);
        self.events(inputs).map_err(refused)?;
        self.rates(inputs).map_err(refused)?;
        self.prediction(inputs)?;
        self.other_inputs(inputs).map_err(refused)?;
        for quantity in std::mem::take(&mut self.quantities) {
            let Some(record) = quantity.fitted(inputs.resamples, inputs.seed) else {
                continue;
            };
            if let Some(warning) = &record.warning {
                self.record
                    .warnings
                    .push(format!("{}: {warning}", record.name));
            }
            self.record.values.push(value_of(&record));
            self.samples.push((
                format!("{SAMPLES_FOLDER}/{}.csv", quantity.name),
                column(&quantity),
            ));
            self.record.samples.push(record);
        }
        self.record.values.append(&mut self.loads);
        self.record.values.append(&mut self.of_rates);
        self.record.snippet = snippet::of_values(&self.record.values);
        self.check_pasted(inputs);
        Ok(Calibrated {
            record: self.record,
            samples: self.samples,
            inputs: self.digests,
        })
    }

    fn read(&mut self, path: &Path) -> OrProblem<Input> {
        let input = Input::read(path)?;
        self.digests.push(input.digest.clone());
        Ok(input)
    }

    /// The containers of streams of events.
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
        let (events, containers) = (
            counted(tally.events, "event"),
            counted(starts.len(), "container"),
        );
        let has = format!("{events}, {containers}, {}", counted(pulls, "pull"));
        self.record.sources.push(SourceRow {
            file: source,
            kind: "events".to_owned(),
            has,
        });
        for start in &starts {
            if let Some(reason) = start.unused {
                tally.add(reason);
            }
        }
        self.left_out("events", &tally);
        if quantities.is_empty() {
            self.record
                .warnings
                .push("events: no container has a pull or a start that can be used".to_owned());
        }
        self.record.containers = measured::rows(&starts);
        self.quantities.extend(quantities);
        self.starts = starts;
        Ok(())
    }

    /// The rates of pulls, where something is known about the images.
    fn rates(&mut self, inputs: &CalibrationInputs) -> OrProblem<()> {
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
                Box::new(
                    Problem::of_file("--image-name", message)
                        .with_help("see docs/calibrate.md#pull-rates"),
                )
            })?;
        }
        for (image, _) in &inputs.manifests {
            if !self
                .starts
                .iter()
                .any(|start| is_image(&start.image, image))
            {
                self.record.warnings.push(format!(
                    "rates: no container in the events has the image `{image}`"
                ));
            }
        }
        let settings = RateSettings {
            images: &self.images,
            compression_ratio: inputs.compression_ratio,
            rtt: inputs.rtt.as_secs_f64(),
            service: inputs.service_time.as_secs_f64(),
        };
        let source = self
            .record
            .sources
            .first()
            .map(|source| source.file.clone())
            .unwrap_or_default();
        let Some(fitted) = rates::fit(&self.starts, &settings, &source) else {
            if self.starts.iter().any(ContainerStart::is_pull) {
                self.record.warnings.push(
                    "rates: there is no rate, because no pulled image has known layers, and the events state no image \
                     sizes (kubelets before 1.30 do not); add `--image IMAGE=manifest.json`"
                        .to_owned(),
                );
            }
            return Ok(());
        };
        self.layers = fitted.layers;
        self.record.warnings.extend(fitted.warnings);
        self.record.rates = Some(fitted.record);
        self.of_rates = fitted.values;
        if predict::is_parallel(&self.starts) {
            let note = "a node had two pulls in progress at the same time; set `maxParallelImagePulls` if it is limited";
            let of = (
                self.record.rates.as_ref().map_or(0, |rates| rates.pulls),
                source.as_str(),
            );
            let (setting, value) = ("node.serializeImagePulls", "false".to_owned());
            self.of_rates
                .push(rates::of_pulls(setting, "parallel pulls", value, note, of));
        }
        self.model = Some(fitted.model);
        Ok(())
    }

    /// Simulates the pulls with what is pasted, and compares them with the data.
    fn check_pasted(&mut self, inputs: &CalibrationInputs) {
        let is_pasted = self
            .record
            .values
            .iter()
            .any(|value| value.setting == "node.unpackRate");
        let Some(rates) = self.record.rates.as_mut().filter(|_| is_pasted) else {
            return;
        };
        let of_requests = (inputs.rtt, inputs.service_time);
        let Some(simulated) =
            predict::pasted::seconds(&self.record.snippet, &self.layers, of_requests)
        else {
            self.record
                .warnings
                .push("rates: the settings to paste could not be simulated".to_owned());
            return;
        };
        let error = |(row, seconds): (&ImageRow, &f64)| {
            (seconds / row.pull_s_median - 1.0, row.image.clone())
        };
        let errors: Vec<(f64, String)> = rates.images.iter().zip(&simulated).map(error).collect();
        rates.simulated_error = stats::median(
            &errors
                .iter()
                .map(|(error, _)| error.abs())
                .collect::<Vec<f64>>(),
        );
        rates.simulated_worst = errors
            .into_iter()
            .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        if rates
            .simulated_error
            .is_some_and(|error| error > rates::MOST_ERROR)
        {
            self.record.warnings.push(
                "rates: pulls that are simulated with the pasted settings differ from the data by more than 25%"
                    .to_owned(),
            );
        }
    }

    /// The values of a quantity, in ascending order.
    fn sorted(&self, name: &str) -> Vec<f64> {
        let found = self
            .quantities
            .iter()
            .find(|quantity| quantity.name == name);
        found
            .map(|quantity| stats::sorted(&quantity.values))
            .unwrap_or_default()
    }

    /// A past rollout, simulated with the fitted model.
    fn prediction(&mut self, inputs: &CalibrationInputs) -> Result<(), LoadError> {
        let others = &inputs.predict_events;
        if inputs.predict.is_none() && others.is_empty() {
            return Ok(());
        }
        let without = |message: &str| {
            let help = "see docs/calibrate.md#prediction-against-reality";
            refused(Box::new(
                Problem::of_file("--predict", message).with_help(help),
            ))
        };
        let Some(model) = self.model else {
            return Err(without(
                "a prediction needs the pull model, so pulls of images whose sizes are known",
            ));
        };
        let (before, after) = (
            self.sorted("scheduled_to_pulling"),
            self.sorted("pulled_to_started"),
        );
        let source = self
            .record
            .sources
            .first()
            .map(|source| source.file.clone())
            .unwrap_or_default();
        let predicted = if let Some(Some(path)) = &inputs.predict {
            let experiment = load(path, &Overrides::default())?;
            let first = &experiment.variants[..experiment.variants.len().min(1)];
            MemoryEstimate::of_runs(&experiment, first, 1)
                .runs_within(self.memory, 1)
                .map_err(|refused| without(&refused.to_string()))?;
            let settings = CalibratedNode {
                model,
                start_overhead: self.sorted("start_overhead"),
            };
            predict::of_experiment(&self.starts, &experiment, &settings, inputs.seed)
                .map_err(|message| without(&message))?
                .map(|record| (record, source, true))
        } else {
            let (starts, source, is_in_sample) = if others.is_empty() {
                (self.starts.clone(), source, true)
            } else {
                let mut tally = events::Tally::default();
                let starts = self
                    .containers(others, inputs.only.as_deref(), &mut tally)
                    .map_err(refused)?;
                (starts, names(others), false)
            };
            let latencies = Latencies {
                before: &before,
                after: &after,
            };
            let ratio = inputs.compression_ratio;
            predict::of_events(&starts, &self.images, ratio, &model, latencies, inputs.seed)
                .map_err(|message| without(&message))?
                .map(|record| (record, source, is_in_sample))
        };
        let Some((mut record, source, is_in_sample)) = predicted else {
            return Err(without(
                "the events have no pod whose schedule, image and start are known",
            ));
        };
        (record.source, record.is_in_sample) = (source, is_in_sample);
        let last = record.predicted.last().map_or(0.0, |(pods, ..)| *pods);
        if (last - record.pods as f64).abs() > 0.5 {
            let warning = format!(
                "prediction: the simulation starts {}, but the events have {}",
                counted(last.round() as u64, "container"),
                counted(record.pods, "pod")
            );
            self.record.warnings.push(warning);
        }
        self.record.prediction = Some(record);
        Ok(())
    }

    /// Metrics and columns of durations.
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

    /// Adds a quantity to the same one of another file, or by a name of its own.
    fn merge(&mut self, mut quantity: Measurements) {
        let key = |of: &Measurements| (of.name.clone(), of.title.clone(), of.setting.clone());
        let same = |known: &&mut Measurements| key(known) == key(&quantity);
        if let Some(known) = self.quantities.iter_mut().find(same) {
            known.values.append(&mut quantity.values);
            if known.source != quantity.source {
                known.source = format!("{}, {}", known.source, quantity.source);
            }
            return;
        }
        let name = quantity.name.clone();
        let mut nth = 2;
        while self
            .quantities
            .iter()
            .any(|known| known.name == quantity.name)
        {
            quantity.name = format!("{name}_{nth}");
            nth += 1;
        }
        self.quantities.push(quantity);
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

/// A single problem.
#[expect(clippy::boxed_local, reason = "as `map_err` hands it over")]
fn refused(problem: Box<Problem>) -> LoadError {
    LoadError {
        problems: vec![*problem],
    }
}

/// The chosen distribution of a quantity as a calibrated value.
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

/// A quantity's values as a CSV file that an experiment can read.
fn column(quantity: &Measurements) -> Vec<u8> {
    let values = quantity
        .values
        .iter()
        .map(|value| format!("{value}\n"))
        .collect::<String>();
    format!("{}\n{values}", quantity.column()).into_bytes()
}

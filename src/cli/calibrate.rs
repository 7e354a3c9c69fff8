//! `fleetsim calibrate`: the model's constants from the events and metrics of real clusters.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::calibrate::{CalibrationInputs, DurationColumn, MetricKind, Predict, calibrate as fit};
use fleetsim::report;
use fleetsim::results::{CALIBRATION_FILE, Provenance, Publication, SNIPPET_FILE, to_json};
use fleetsim::units::{SimDuration, WithUnit};
use fleetsim::world::calibration::COMPRESSION_RATIO;

use super::shell::quoted;
use super::simulation::finish;
use super::{Failure, OutputFormat, output};

/// Where results go unless the user says otherwise.
const OUT: &str = "results/calibration";

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  kubectl get events -A -o json > events.json
  fleetsim calibrate --events events.json
  fleetsim calibrate --events events.json --image shop:2=manifest.json --predict
  fleetsim calibrate --events events.json --prometheus egress=egress.json

The page docs/calibrate.md explains each input and each number.")]
pub(super) struct CalibrateArgs {
    /// Kubernetes events: `kubectl get events -A -o json`, a watch, or the log of an event exporter, also as .gz; `-`
    /// is standard input; may be repeated
    #[arg(long, value_name = "FILE")]
    events: Vec<PathBuf>,
    /// Use only events of pods whose `namespace/name` contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Layers of an image that was pulled: its name, and its manifest as `crane manifest` prints it; layers may have
    /// `uncompressed` beside `size`; may be repeated
    #[arg(long = "image", value_name = "IMAGE=FILE", value_parser = named_file)]
    images: Vec<(String, PathBuf)>,
    /// Layers of images: a CSV file with the columns image, layers, compressed_bytes and uncompressed_bytes
    #[arg(long = "images", value_name = "FILE")]
    image_tables: Vec<PathBuf>,
    /// Names that state an image's layers, such as `shop:{layers}-layers-{uncompressed}-bytes`; may be repeated
    #[arg(long = "image-name", value_name = "PATTERN")]
    image_names: Vec<String>,
    /// Uncompressed over compressed bytes of layers whose size on disk is not known
    #[arg(long, value_name = "RATIO", default_value_t = COMPRESSION_RATIO, value_parser = ratio)]
    compression_ratio: f64,
    /// Round trip to the registry, to take the time of requests out of the fitted constants
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = duration)]
    rtt: SimDuration,
    /// The registry's time for one request, likewise
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = duration)]
    service_time: SimDuration,
    /// A range query of Prometheus: `egress` or `requests`, and the JSON of the response; may be repeated
    #[arg(long, value_name = "KIND=FILE", value_parser = metric)]
    prometheus: Vec<(MetricKind, PathBuf)>,
    /// Durations in a column of a CSV file, and the setting that they are for; may be repeated
    #[arg(long, value_name = "FILE:COLUMN[=SETTING]", value_parser = column)]
    durations: Vec<DurationColumn>,
    /// Predict the rollout of the events with the fitted rates: from the events alone, or by this experiment with the
    /// calibrated settings in place of its own
    #[arg(long, value_name = "EXPERIMENT", num_args = 0..=1)]
    predict: Option<Option<PathBuf>>,
    /// Predict the rollout of these events, which the fit does not use; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "predict")]
    predict_events: Vec<PathBuf>,
    /// Output folder: new, or with an earlier calibration [default: results/calibration]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write tables and settings only; `fleetsim report` draws the charts later
    #[arg(long)]
    no_charts: bool,
    /// Seed of the resampling
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Samples behind each p-value and interval of a distribution
    #[arg(long, value_name = "N", default_value_t = RESAMPLES, value_parser = clap::value_parser!(u32).range(19..=10_000))]
    resamples: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, display_order = 100)]
    format: OutputFormat,
    /// Set by `fleetsim reproduce`.
    #[arg(skip)]
    reproduce: bool,
}

/// Default of `--seed`.
const SEED: u64 = 1;
/// Default of `--resamples`.
const RESAMPLES: u32 = 199;

impl CalibrateArgs {
    /// Has the calibration done again, to be compared with the results in `folder`.
    pub(super) fn again(&mut self, folder: &Path) {
        self.out = Some(folder.to_owned());
        self.reproduce = true;
    }

    fn inputs(&self) -> CalibrationInputs {
        CalibrationInputs {
            events: self.events.clone(),
            only: self.only.clone(),
            manifests: self.images.clone(),
            image_tables: self.image_tables.clone(),
            image_names: self.image_names.clone(),
            compression_ratio: self.compression_ratio,
            rtt: self.rtt,
            service_time: self.service_time,
            prometheus: self.prometheus.clone(),
            durations: self.durations.clone(),
            predict: match &self.predict {
                _ if !self.predict_events.is_empty() => Predict::Events(self.predict_events.clone()),
                None => Predict::Nothing,
                Some(None) => Predict::SameEvents,
                Some(Some(path)) => Predict::Experiment(path.clone()),
            },
            seed: self.seed,
            resamples: self.resamples,
        }
    }

    /// The command that reproduces the calibration, with the files as they were named.
    fn command(&self) -> String {
        let mut words = vec!["fleetsim".to_owned(), "calibrate".to_owned()];
        for (option, value) in self.files().into_iter().chain(self.settings()) {
            words.push(format!("--{option}"));
            words.push(value);
        }
        words.extend(self.no_charts.then(|| "--no-charts".to_owned()));
        words.extend(self.predict.as_ref().map(|path| match path {
            Some(path) => format!("--predict={}", path.display()),
            None => "--predict".to_owned(),
        }));
        quoted(words)
    }

    /// Options that name files, with their values.
    fn files(&self) -> Vec<(&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let mut files: Vec<(&'static str, String)> = self.events.iter().map(|file| ("events", path(file))).collect();
        files.extend(self.images.iter().map(|(image, file)| ("image", format!("{image}={}", path(file)))));
        files.extend(self.image_tables.iter().map(|file| ("images", path(file))));
        files.extend(
            self.prometheus.iter().map(|(kind, file)| ("prometheus", format!("{}={}", word(*kind), path(file)))),
        );
        files.extend(self.durations.iter().map(|DurationColumn { file, column, setting }| {
            let setting = setting.as_ref().map(|setting| format!("={setting}")).unwrap_or_default();
            ("durations", format!("{}:{column}{setting}", path(file)))
        }));
        files.extend(self.predict_events.iter().map(|file| ("predict-events", path(file))));
        files
    }

    /// Other options that are not at their defaults, with their values.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings: Vec<(&'static str, String)> = self.only.iter().map(|text| ("only", text.clone())).collect();
        settings.extend(self.image_names.iter().map(|pattern| ("image-name", pattern.clone())));
        if self.compression_ratio.to_bits() != COMPRESSION_RATIO.to_bits() {
            settings.push(("compression-ratio", self.compression_ratio.to_string()));
        }
        for (option, duration) in [("rtt", self.rtt), ("service-time", self.service_time)] {
            if !duration.is_zero() {
                settings.push((option, duration.exact()));
            }
        }
        if self.seed != SEED {
            settings.push(("seed", self.seed.to_string()));
        }
        if self.resamples != RESAMPLES {
            settings.push(("resamples", self.resamples.to_string()));
        }
        settings
    }
}

/// The kinds of range queries, by their words on the command line.
const METRICS: [(&str, MetricKind); 2] = [("egress", MetricKind::Egress), ("requests", MetricKind::Requests)];

fn word(kind: MetricKind) -> &'static str {
    METRICS.iter().find(|(_, known)| *known == kind).map_or("", |(word, _)| word)
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), PathBuf::from(file))),
        _ => Err("write IMAGE=FILE, such as `shop:2=manifest.json`".to_owned()),
    }
}

fn metric(text: &str) -> Result<(MetricKind, PathBuf), String> {
    let fix = "write egress=FILE or requests=FILE";
    let (kind, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or(fix)?;
    match METRICS.iter().find(|(word, _)| *word == kind) {
        Some((_, known)) => Ok((*known, PathBuf::from(file))),
        None => Err(format!("unknown kind `{kind}`; {fix}")),
    }
}

fn column(text: &str) -> Result<DurationColumn, String> {
    let (path, setting) = text.split_once('=').map_or((text, None), |(path, setting)| (path, Some(setting.to_owned())));
    match path.rsplit_once(':') {
        Some((file, column)) if !file.is_empty() && !column.is_empty() => {
            Ok(DurationColumn { file: PathBuf::from(file), column: column.to_owned(), setting })
        }
        _ => Err("write FILE:COLUMN, such as `starts.csv:start_s=node.startOverhead`".to_owned()),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| (0.1..=1000.0).contains(ratio));
    ratio.ok_or_else(|| "must be a number between 0.1 and 1000".to_owned())
}

fn duration(text: &str) -> Result<SimDuration, String> {
    SimDuration::parse(text).map_err(|error| error.to_string())
}

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    let inputs = args.inputs();
    if inputs.is_empty() {
        let message = "nothing to calibrate from; add e.g. `--events events.json` (see `fleetsim calibrate --help`)";
        return Err(Failure::Usage(message.to_owned()));
    }
    let calibrated = fit(&inputs)?;
    let target = args.out.clone().unwrap_or_else(|| Path::new(OUT).to_owned());
    let mut provenance = Provenance::new("calibration", "", args.seed, 1);
    provenance.command = args.command();
    provenance.inputs.clone_from(&calibrated.inputs);
    let publication = Publication::begin(&target, provenance)?;
    for (name, bytes) in &calibrated.samples {
        publication.write(name, bytes)?;
    }
    for (name, bytes) in calibrated.record.tables() {
        publication.write(name, &bytes)?;
    }
    publication.write(SNIPPET_FILE, calibrated.record.snippet.as_bytes())?;
    publication.write(CALIBRATION_FILE, &to_json(&calibrated.record))?;
    if !args.no_charts {
        report::draw_calibration(publication.folder(), report::ChartWidth::default())?;
    }
    if !finish(&target, publication, args.reproduce)? {
        return Ok(());
    }
    output::out(&args.format.record(&calibrated.record, report::calibration_text))
}

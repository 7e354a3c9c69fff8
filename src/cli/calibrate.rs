//! `fleetsim calibrate`: the model's constants from the events and histories of real clusters.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::calibrate::{CalibrationInputs, calibrate as fit};
use fleetsim::report;
use fleetsim::results::{CALIBRATION_FILE, CalibrationRecord, Provenance, Publication, SNIPPET_FILE};

use super::simulation::place_of;
use super::{Failure, OutputFormat, output};

/// Where results go unless the user says otherwise.
const OUT: &str = "results/calibration";

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  kubectl get events -A -o json > events.json
  fleetsim calibrate --events events.json

The page docs/calibrate.md explains each input and each number.")]
pub(super) struct CalibrateArgs {
    /// Kubernetes events: `kubectl get events -A -o json`, a watch, or the log of an event exporter, also as .gz; `-` is
    /// standard input; may be repeated
    #[arg(long, value_name = "FILE")]
    events: Vec<PathBuf>,
    /// Use only events of pods whose `namespace/name` contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Output folder: new, or with an earlier calibration [default: results/calibration]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of the resampling
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Samples behind each p-value and interval of a distribution
    #[arg(long, value_name = "N", default_value_t = 199, value_parser = clap::value_parser!(u32).range(19..=10_000))]
    resamples: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, display_order = 100)]
    format: OutputFormat,
}

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    let inputs = CalibrationInputs {
        events: args.events.clone(),
        only: args.only.clone(),
        seed: args.seed,
        resamples: args.resamples,
    };
    if inputs.is_empty() {
        let message = "nothing to calibrate from; add e.g. `--events events.json` (see `fleetsim calibrate --help`)";
        return Err(Failure::Usage(message.to_owned()));
    }
    let calibrated = fit(&inputs)?;
    let target = args.out.clone().unwrap_or_else(|| Path::new(OUT).to_owned());
    let mut provenance = Provenance::new("calibration", "", args.seed, 1);
    // Where the inputs lie is no part of a result.
    "fleetsim calibrate".clone_into(&mut provenance.command);
    provenance.inputs.clone_from(&calibrated.inputs);
    let publication = Publication::begin(&target, provenance)?;
    for (name, bytes) in &calibrated.samples {
        publication.write(name, bytes)?;
    }
    for (name, bytes) in calibrated.record.tables() {
        publication.write(name, &bytes)?;
    }
    publication.write(SNIPPET_FILE, calibrated.record.snippet.as_bytes())?;
    publication.write(CALIBRATION_FILE, &calibrated.record.to_json())?;
    report::draw_calibration(publication.folder())?;
    let published = publication.publish()?;
    output::err(&place_of(&target, &published));
    output::out(&args.format.calibration(&calibrated.record))
}

impl OutputFormat {
    pub(super) fn calibration(self, record: &CalibrationRecord) -> String {
        match self {
            Self::Text => report::calibration_text(record, output::width()),
            Self::Json => String::from_utf8_lossy(&record.to_json()).into_owned(),
        }
    }
}

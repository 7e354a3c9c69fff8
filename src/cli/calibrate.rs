//! `fleetsim calibrate`: estimates the model's constants from events and metrics of real clusters.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::build_info::build_info;
use fleetsim::calibrate::{CalibrationInputs, calibrate as fit};
use fleetsim::report;
use fleetsim::results::{CALIBRATION_FILE, Provenance, Publication, SNIPPET_FILE, to_json};

use super::memory::MemoryArgs;
use super::shell::quoted;
use super::simulation::finish;
use super::{Failure, OutputFormat, interrupt, output};

/// Default output folder.
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
    #[command(flatten)]
    inputs: CalibrationInputs,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Output folder: new, or with an earlier calibration [default: results/calibration]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write tables and settings only; `fleetsim report` draws the charts later
    #[arg(long)]
    no_charts: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, display_order = 100)]
    format: OutputFormat,
    /// Whether `fleetsim reproduce` runs the command.
    #[arg(skip)]
    reproduce: bool,
    /// The options that the results record, with the file names that the user gave.
    #[arg(skip)]
    pub(super) recorded: Vec<String>,
}

impl CalibrateArgs {
    /// Repeats the calibration for comparison with the results in `folder`.
    pub(super) fn again(&mut self, folder: &Path, memory: MemoryArgs) {
        self.memory = memory;
        self.out = Some(folder.to_owned());
        self.reproduce = true;
    }
}

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    if args.inputs.is_empty() {
        let message = "nothing to calibrate from; add e.g. `--events events.json` (see `fleetsim calibrate --help`)";
        return Err(Failure::Usage(message.to_owned()));
    }
    let calibrated = interrupt::during(|| fit(&args.inputs, args.memory.most))?;
    let target = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new(OUT).to_owned());
    let mut provenance = Provenance::new("calibration", "", args.inputs.seed, 1);
    provenance.build = build_info();
    provenance.command = quoted(
        ["fleetsim", "calibrate"]
            .into_iter()
            .chain(args.recorded.iter().map(String::as_str)),
    );
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
    output::out(
        &args
            .format
            .record(&calibrated.record, report::calibration_text),
    )
}

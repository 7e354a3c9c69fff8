//! `fleetsim forecast`: predicts the completion of a rollout in progress from the state that the product shows.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use fleetsim::forecast::{ForecastInputs, Forecaster, MOST_GROUPS};
use fleetsim::report::{forecast_change, forecast_text};
use fleetsim::results::ForecastRecord;
use fleetsim::scenario::VariedExperiment;
use fleetsim::study::MemoryEstimate;
use indicatif::ProgressBar;
use itertools::Itertools;

use super::memory::MemoryArgs;
use super::simulation::Simulation;
use super::{ExperimentArgs, Failure, OutputFormat, interrupt, output, progress};

/// Interval between checks of watched files.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  kubectl get bundles,bundledeployments,clusters.fleet.cattle.io -A -o json --show-managed-fields > status.json
  fleetsim forecast my-rollout.yaml status.json
  fleetsim forecast my-rollout.yaml status.json --watch")]
pub(super) struct ForecastArgs {
    /// Folder of the experiment, or its experiment.yaml
    #[arg(value_name = "EXPERIMENT")]
    experiment: PathBuf,
    /// State of the product now, from `kubectl -o json`, `kubectl -o yaml` or `cf curl`; `-` is standard input
    #[arg(value_name = "STATUS", required = true)]
    status: Vec<PathBuf>,
    /// Time of the export, such as 2026-03-01T15:04:05Z [default: the latest time in it, or the current time]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// When the rollout began [default: from the export]
    #[arg(long, value_name = "TIME")]
    released: Option<String>,
    /// Forecast again whenever a file changes, for the current time; Ctrl-C ends the program
    #[arg(long, conflicts_with = "now")]
    watch: bool,
    /// The variant of the experiment whose name contains this text, if it has several
    #[arg(long, value_name = "TEXT")]
    variant: Option<String>,
    /// Number of draws of the model's constants in a group; groups are added until two seeds agree
    #[arg(long, value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u32).range(19..=10_000))]
    draws: u32,
    /// Value for a setting of the experiment, such as registry.egress=unlimited; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Seed for all random numbers [default: from the experiment]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of threads; does not affect results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Print JSON for programs, with a `schema_version`
    #[arg(long)]
    json: bool,
}

pub(super) fn forecast(args: &ForecastArgs) -> Result<(), Failure> {
    let asked = ExperimentArgs {
        experiment: args.experiment.clone(),
        seed: args.seed,
        set: args.set.clone(),
        ..ExperimentArgs::default()
    };
    let varied = VariedExperiment::load(&asked.experiment, &asked.overrides())?;
    asked.allow_commands(varied.base())?;
    let variant = args.variant(&varied)?;
    let most_draws = args.draws.saturating_mul(MOST_GROUPS);
    let estimate = MemoryEstimate::of_forecast(varied.base(), variant, most_draws);
    let threads = args.memory.threads(&estimate, args.threads)?;
    if !args.watch {
        let record = args.once(&varied, variant, threads)?;
        return args.print(&record);
    }
    let mut before = None;
    let mut last: Option<ForecastRecord> = None;
    loop {
        let changed: Vec<Option<SystemTime>> =
            args.status.iter().map(|path| modified(path)).collect();
        if before.as_ref() != Some(&changed) {
            // A file that is being written may be incomplete. It is read again when it changes.
            match args.once(&varied, variant, threads) {
                Err(failure @ Failure::Input(_)) => failure.print(),
                record => {
                    let record = record?;
                    args.print_watched(last.as_ref(), &record)?;
                    last = Some(record);
                }
            }
            output::out("\n")?;
            before = Some(changed);
        }
        if !output::wait(LOOK) {
            return Ok(());
        }
    }
}

impl ForecastArgs {
    /// Returns the index of the requested variant.
    fn variant(&self, varied: &VariedExperiment) -> Result<usize, Failure> {
        let variants = &varied.base().variants;
        let mut asked = Vec::new();
        for (number, variant) in variants.iter().enumerate() {
            match &self.variant {
                Some(text) if !variant.label.contains(text.as_str()) => {}
                _ => asked.push(number),
            }
        }
        let wrong = match asked[..] {
            [only] => return Ok(only),
            [] => "no variant has the text of --variant in its label",
            _ => "name one variant with --variant",
        };
        let labels = variants.iter().map(|variant| &variant.label);
        Err(Failure::Usage(format!(
            "{wrong}; the variants are {}",
            labels.format(", ")
        )))
    }

    fn once(
        &self,
        varied: &VariedExperiment,
        variant: usize,
        threads: Option<u16>,
    ) -> Result<ForecastRecord, Failure> {
        let inputs = ForecastInputs {
            status: self.status.clone(),
            now: self.now.clone().or_else(|| self.watch.then(clock)),
            released: self.released.clone(),
            clock: clock(),
            draws: self.draws,
        };
        let forecaster = interrupt::during(|| Forecaster::new(varied, variant, &inputs))?;
        let bar = progress::bar(
            ProgressBar::new(forecaster.runs()),
            "forecasting {wide_bar} {pos}/{len} runs",
        );
        Simulation::behind(&bar, threads, || forecaster.forecast(|| bar.inc(1)))
    }

    fn print(&self, record: &ForecastRecord) -> Result<(), Failure> {
        let format = if self.json {
            OutputFormat::Json
        } else {
            OutputFormat::Text
        };
        output::out(&format.record(record, forecast_text))
    }

    /// Prints a forecast, and why it differs from the last one.
    fn print_watched(
        &self,
        last: Option<&ForecastRecord>,
        record: &ForecastRecord,
    ) -> Result<(), Failure> {
        let change = last.and_then(|last| forecast_change(last, record));
        if let Some(change) = change.filter(|_| !self.json) {
            output::out(&format!("{change}\n"))?;
        }
        self.print(record)
    }
}

/// Returns the current time in RFC 3339.
fn clock() -> String {
    jiff::Timestamp::now().to_string()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

//! `fleetsim export`: exports recorded runs in results as a trace for Perfetto, or as metrics for Prometheus.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fleetsim::report::{Results, write_metrics, write_trace};
use fleetsim::results::{check_tables, restore};

use super::{Failure, output};

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// Folder written by `fleetsim run`
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Format of the export
    #[arg(long = "to", value_enum, value_name = "FORMAT")]
    format: ExportFormat,
    /// Export this variant only; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// Time 0 of a run, such as `2026-03-02T08:00:00Z`, or in seconds since 1970 as `date +%s` prints them; for
    /// openmetrics
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    start: f64,
    /// Write to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = output::STANDARD)]
    output: PathBuf,
}

/// An export format for another program.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ExportFormat {
    /// Events in JSON, for ui.perfetto.dev and chrome://tracing
    Trace,
    /// OpenMetrics text, for `promtool tsdb create-blocks-from openmetrics`
    Openmetrics,
}

/// Parses a time to seconds since 1970.
fn time(text: &str) -> Result<f64, String> {
    let seconds = if let Ok(seconds) = text.parse::<f64>() {
        seconds
    } else if let Ok(time) = text.parse::<jiff::Timestamp>() {
        time.as_nanosecond() as f64 / 1e9
    } else {
        let format = "write a time such as `2026-03-02T08:00:00Z`, or seconds since 1970";
        return Err(format.to_owned());
    };
    if seconds.is_finite() && seconds >= 0.0 {
        Ok(seconds)
    } else {
        Err("must not be before 1970".to_owned())
    }
}

pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    restore(&args.results)?;
    check_tables(&args.results)?;
    let results = Results::read(&args.results)?;
    let inputs = std::slice::from_ref(&args.results);
    let written = output::file(&args.output, inputs, |out| write(args, &results, out));
    written.map_err(|error| failure(&error, &args.output))
}

fn write(args: &ExportArgs, results: &Results, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        ExportFormat::Trace => write_trace(results, &args.variant, out)?,
        ExportFormat::Openmetrics => write_metrics(results, &args.variant, args.start, out)?,
    }
    out.flush()
}

/// An unknown variant is a usage error. Any other error is a failure of the machine.
fn failure(error: &io::Error, place: &Path) -> Failure {
    match error.kind() {
        ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => output::failure(error, place),
    }
}

//! `fleetsim report`: redraw the charts of existing results or of a plan, and print the comparison or the plan.
//!
//! Nothing is simulated: charts and comparison come from the tables, which stay unchanged.

use std::path::PathBuf;

use clap::Args;
use fleetsim::report::{self, ChartWidth};
use fleetsim::results::{
    CALIBRATION_FILE, PLAN_FILE, Provenance, Publication, ResultsError, SENSITIVITY_FILE, restore,
};

use super::simulation::place_of;
use super::{Failure, OutputFormat, output};

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// Folder written by `fleetsim run` or `fleetsim plan`
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Width that charts are drawn for: a column of a paper (85 mm), a page of a report (170 mm), or a slide
    #[arg(long, value_enum, default_value_t)]
    width: ChartWidth,
    /// Write the asserted limits to this file as a JUnit report, for CI; `-` is standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    restore(&args.results)?;
    if Provenance::of_results(&args.results)?.shard.is_some() {
        let fix = "run `fleetsim merge` on all shards to get results";
        return Err(Failure::Usage(format!(
            "{} is a shard, a part of a study's runs; {fix}",
            args.results.display()
        )));
    }
    let publication = Publication::renew(&args.results)?;
    let has = |file: &str| args.results.join(file).exists();
    if args.junit.is_some()
        && [PLAN_FILE, SENSITIVITY_FILE, CALIBRATION_FILE]
            .into_iter()
            .any(has)
    {
        let message = "--junit needs the results of `fleetsim run`; other results assert no limits";
        return Err(Failure::Usage(message.to_owned()));
    }
    let (folder, format, width) = (publication.folder(), args.format, args.width);
    let original = |error: ResultsError| error.of_original(folder, &args.results);
    let text = if has(PLAN_FILE) {
        format.record(
            &report::draw_plan(folder, width).map_err(original)?,
            report::plan_text,
        )
    } else if has(SENSITIVITY_FILE) {
        format.record(
            &report::draw_sensitivity(folder, width).map_err(original)?,
            report::sensitivity_text,
        )
    } else if has(CALIBRATION_FILE) {
        format.record(
            &report::draw_calibration(folder, width).map_err(original)?,
            report::calibration_text,
        )
    } else {
        let results = report::draw_folder(folder, width).map_err(original)?;
        output::junit(
            args.junit.as_deref(),
            &results,
            std::slice::from_ref(&args.results),
        )?;
        format.comparison(&results)
    };
    let published = publication.publish()?;
    output::err(&place_of(&args.results, &published));
    output::out(&text)
}

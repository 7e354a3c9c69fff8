//! `fleetsim report`: redraws the charts of existing results or of a plan, and prints the comparison or the plan.
//!
//! Nothing is simulated: charts and comparison are derived from the tables, which do not change.

use std::path::{Path, PathBuf};

use clap::Args;
use fleetsim::report::{self, ChartWidth};
use fleetsim::results::{
    CALIBRATION_FILE, PLAN_FILE, Provenance, Publication, ResultsError, SENSITIVITY_FILE, restore,
};

use super::simulation::place_of;
use super::{DetailArgs, Failure, OutputFormat, output};

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
    #[command(flatten)]
    detail: DetailArgs,
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
    let kind = ResultsKind::of(&args.results);
    if args.junit.is_some() && kind != ResultsKind::Study {
        let message =
            "--junit needs the results of `fleetsim run`; other results have no asserted limits";
        return Err(Failure::Usage(message.to_owned()));
    }
    let drawn = args.draw(kind, publication.folder());
    let drawn = drawn.map_err(|error| error.of_original(publication.folder(), &args.results))?;
    let text = match drawn {
        DrawnResults::Text(text) => text,
        DrawnResults::Study(results) => {
            let inputs = std::slice::from_ref(&args.results);
            output::junit(args.junit.as_deref(), &results, inputs)?;
            args.format.comparison(&results, args.detail.detail())
        }
    };
    let published = publication.publish()?;
    output::err(&place_of(&args.results, &published));
    output::out(&text)
}

/// The command that wrote a results folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ResultsKind {
    Study,
    Plan,
    Sensitivity,
    Calibration,
}

impl ResultsKind {
    fn of(results: &Path) -> Self {
        if results.join(PLAN_FILE).exists() {
            Self::Plan
        } else if results.join(SENSITIVITY_FILE).exists() {
            Self::Sensitivity
        } else if results.join(CALIBRATION_FILE).exists() {
            Self::Calibration
        } else {
            Self::Study
        }
    }
}

/// Results whose charts have been redrawn.
enum DrawnResults {
    Study(Box<report::Results>),
    /// Other results, printed as text.
    Text(String),
}

impl ReportArgs {
    fn draw(&self, kind: ResultsKind, folder: &Path) -> Result<DrawnResults, ResultsError> {
        let width = self.width;
        Ok(match kind {
            ResultsKind::Plan => {
                let plan = report::draw_plan(folder, width)?;
                DrawnResults::Text(self.format.record(&plan, report::plan_text))
            }
            ResultsKind::Sensitivity => {
                let record = report::draw_sensitivity(folder, width)?;
                DrawnResults::Text(self.format.record(&record, report::sensitivity_text))
            }
            ResultsKind::Calibration => {
                let record = report::draw_calibration(folder, width)?;
                DrawnResults::Text(self.format.record(&record, report::calibration_text))
            }
            ResultsKind::Study => {
                DrawnResults::Study(Box::new(report::draw_folder(folder, width)?))
            }
        })
    }
}

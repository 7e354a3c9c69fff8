//! `fleetsim report`: redraw the charts of existing results or of a plan, and print the comparison or the plan.
//!
//! Nothing is simulated: charts and comparison come from the tables, which stay unchanged.

use std::path::PathBuf;

use clap::Args;
use fleetsim::report;
use fleetsim::results::{
    CALIBRATION_FILE, CalibrationRecord, PLAN_FILE, PROVENANCE_FILE, PlanRecord, Publication, ResultsError,
    SENSITIVITY_FILE, SensitivityRecord,
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
    /// Write the asserted limits to this file as a JUnit report, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    if !args.results.join(PROVENANCE_FILE).is_file() {
        return Err(ResultsError::NoResults { folder: args.results.clone(), file: PROVENANCE_FILE }.into());
    }
    let publication = Publication::renew(&args.results)?;
    let is_of_run =
        ![PLAN_FILE, SENSITIVITY_FILE, CALIBRATION_FILE].iter().any(|file| args.results.join(file).is_file());
    if args.junit.is_some() && !is_of_run {
        let message = "--junit needs the results of `fleetsim run`; other results assert no limits";
        return Err(Failure::Usage(message.to_owned()));
    }
    let text = if args.results.join(PLAN_FILE).is_file() {
        report::draw_plan(publication.folder())?;
        args.format.plan(&PlanRecord::read(publication.folder())?)
    } else if args.results.join(SENSITIVITY_FILE).is_file() {
        report::draw_sensitivity(publication.folder())?;
        args.format.sensitivity(&SensitivityRecord::read(publication.folder())?)
    } else if args.results.join(CALIBRATION_FILE).is_file() {
        report::draw_calibration(publication.folder())?;
        args.format.calibration(&CalibrationRecord::read(publication.folder())?)
    } else {
        let results = report::draw_all::<ResultsError>(publication.folder(), |_| Ok(()))?;
        output::junit(args.junit.as_deref(), &results)?;
        args.format.comparison(&results)
    };
    let published = publication.publish()?;
    output::err(&place_of(&args.results, &published));
    output::out(&text)
}

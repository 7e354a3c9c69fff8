//! `fleetsim report`: redraw the charts of existing results, and print their comparison.
//!
//! Nothing is simulated: charts and comparison come from the tables, which stay unchanged.

use std::path::PathBuf;

use clap::Args;
use fleetsim::report::{self, ReportError};
use fleetsim::results::{PLAN_FILE, PROVENANCE_FILE, Publication};

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
}

pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    if !args.results.join(PROVENANCE_FILE).is_file() {
        return Err(ReportError::NoResults { folder: args.results.clone(), file: PROVENANCE_FILE }.into());
    }
    if args.results.join(PLAN_FILE).is_file() {
        return super::plan::redraw(&args.results, args.format);
    }
    let publication = Publication::renew(&args.results)?;
    report::draw_all(publication.folder())?;
    let results = report::Results::read(publication.folder())?;
    let published = publication.publish()?;
    output::err(&place_of(&args.results, &published));
    output::out(&args.format.render(&results));
    Ok(())
}

//! `fleetsim report`: draw the charts of earlier results again, and print their comparison.
//!
//! Nothing is simulated: charts and comparison come from the tables, which stay as they are.

use std::path::PathBuf;

use clap::Args;
use fleetsim::report::{self, ReportError};
use fleetsim::results::{PLAN_FILE, PROVENANCE_FILE, Publication};

use super::simulation::tell_place;
use super::{Failure, OutputFormat, output};

#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// A folder that `fleetsim run` or `fleetsim plan` wrote
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// How to print the comparison
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(super) fn report(args: &ReportArgs) -> Result<(), Failure> {
    if !args.results.join(PROVENANCE_FILE).is_file() {
        return Err(ReportError::NoResults { path: args.results.join(PROVENANCE_FILE) }.into());
    }
    if args.results.join(PLAN_FILE).is_file() {
        return super::plan::again(&args.results, args.format);
    }
    let publication = Publication::renew(&args.results)?;
    report::draw_all(publication.folder())?;
    let results = report::Results::read(publication.folder())?;
    let published = publication.publish()?;
    output::err(&tell_place(&args.results, &published));
    output::out(&args.format.render(&results));
    Ok(())
}

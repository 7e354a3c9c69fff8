//! Reports: charts and the comparison table, from recorded results only.
//!
//! [`draw_all`] reads a results folder and draws its charts into it, each as SVG and as PNG at twice the size, and the
//! page that shows all of it ([`PAGE_FILE`]).
//! [`Results::read`] with [`table`] gives the comparison that a run prints last, [`json`] the same for programs.
//!
//! Charts say how they were made: run and spread in the subtitle, units at the axes, experiment, version and seed in the
//! footer. The same files give the same bytes. Charts are still; the page has the curves that can be zoomed and chosen.

mod axis;
mod canvas;
mod charts;
mod data;
mod format;
mod frame;
mod html;
mod names;
mod plan;
mod style;
mod swept;
#[cfg(test)]
mod synthetic;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod verdicts;

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::results::ResultsError;
use canvas::Canvas;

pub use data::Results;
pub use html::PAGE_FILE;
pub use plan::{draw_plan, plan_text};
pub use table::{SCHEMA_VERSION, json, table};
pub use verdicts::{Demand, verdicts};

/// The folder of the charts in a results folder.
pub const CHARTS_FOLDER: &str = "charts";

/// Why a report could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The results could not be read.
    #[error(transparent)]
    Record(#[from] ResultsError),
    /// The folder holds no results.
    #[error("{} is missing: this is no results folder; name one that `fleetsim run` wrote", path.display())]
    NoResults {
        /// The file that every results folder has.
        path: PathBuf,
    },
    /// A chart or the page could not be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        reason: String,
    },
}

/// Draws all charts of a results folder into its folder `charts`, writes its page, and returns all paths.
///
/// # Errors
/// When the folder is no results folder, a file in it is missing or damaged, or a chart or the page cannot be written.
pub fn draw_all(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let results = Results::read(folder)?;
    let charts = folder.join(CHARTS_FOLDER);
    let failed = |path: &Path, reason: String| ReportError::Write { path: path.to_owned(), reason };
    std::fs::create_dir_all(&charts).map_err(|error| failed(&charts, error.to_string()))?;
    let mut paths = Vec::new();
    for (name, canvas) in charts_of(&results) {
        paths.extend(write_chart(&charts, &name, &canvas)?);
    }
    let page = folder.join(PAGE_FILE);
    std::fs::write(&page, html::page(&results)).map_err(|error| failed(&page, error.to_string()))?;
    paths.push(page);
    Ok(paths)
}

/// Writes one chart as SVG and as PNG.
fn write_chart(charts: &Path, name: &str, canvas: &Canvas) -> Result<[PathBuf; 2], ReportError> {
    let failed = |path: &Path, reason: String| ReportError::Write { path: path.to_owned(), reason };
    let svg = charts.join(format!("{name}.svg"));
    std::fs::write(&svg, canvas.to_svg()).map_err(|error| failed(&svg, error.to_string()))?;
    let png = charts.join(format!("{name}.png"));
    canvas.write_png(&png).map_err(|reason| failed(&png, reason))?;
    Ok([svg, png])
}

/// The charts with the names of their files; some need more than every experiment has.
fn charts_of(results: &Results) -> Vec<(String, Canvas)> {
    let mut charts_of = vec![
        ("tradeoff".to_owned(), charts::tradeoff::draw(results)),
        ("pulls".to_owned(), charts::over_time::pulls(results)),
        ("egress".to_owned(), charts::over_time::egress(results)),
        ("ready".to_owned(), charts::ready::draw(results)),
        ("completion".to_owned(), charts::completion::draw(results)),
        ("states".to_owned(), charts::states::draw(results)),
    ];
    charts_of.extend(charts::sweep::draw_all(results));
    charts_of.extend(charts::heat::draw(results).map(|canvas| ("heat".to_owned(), canvas)));
    charts_of.extend(charts::exposure::draw(results).map(|canvas| ("exposure".to_owned(), canvas)));
    charts_of.extend(charts::multiples::draw(results).map(|canvas| ("multiples".to_owned(), canvas)));
    charts_of.extend(charts::front::of_results(results).map(|canvas| ("front".to_owned(), canvas)));
    charts_of
}

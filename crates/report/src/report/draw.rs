//! Draws the charts of a results folder and writes them, with the page or the plan's text, into it.

use std::io::Write;
use std::path::Path;

use super::calibration::{self, calibration_text};
use super::canvas::Canvas;
use super::charts::{
    applications, causes, completion, exposure, front, heat, load, multiples, over_time, path,
    ready, stages, states, sweep, tradeoff,
};
use super::data::Results;
use super::html::{self, PAGE_FILE, PageCharts};
use super::plan::plan_text;
use super::raster::Raster;
use super::sensitivity::{self, sensitivity_text};
use super::sheet::{ChartWidth, Sheet};
use crate::results::{CalibrationRecord, PlanRecord, Provenance, ResultsError, SensitivityRecord};
use fleetsim_units::io::create;

/// The folder of the charts in a results folder.
pub const CHARTS_FOLDER: &str = "charts";
/// The file that holds [`plan_text`] in a plan's folder.
const PLAN_TEXT_FILE: &str = "plan.txt";
/// The file that holds [`sensitivity_text`] in the folder of an analysis.
const SENSITIVITY_TEXT_FILE: &str = "sensitivity.txt";
/// The file that holds [`calibration_text`] in the folder of a calibration.
const CALIBRATION_TEXT_FILE: &str = "calibration.txt";
/// Line width of the text files, in characters.
const PLAN_TEXT_WIDTH: usize = 100;

/// Draws all charts of a results folder into its folder `charts`, and writes its page, like [`draw_all`]. Returns the
/// results.
///
/// # Errors
/// Returns an error if the folder is not a results folder, a file in it is missing or damaged, or a chart or the page
/// cannot be written.
pub fn draw_folder(folder: &Path, width: ChartWidth) -> Result<Results, ResultsError> {
    let results = Results {
        width,
        ..Results::read(folder)?
    };
    draw_all(folder, &results, |_| {})?;
    Ok(results)
}

/// Draws all charts of these results into the folder `charts` of their folder, and writes their page. Calls `begins`
/// with the name of each chart, and of the page, before drawing it.
///
/// # Errors
/// Returns an error if a chart or the page cannot be written.
pub fn draw_all(
    folder: &Path,
    results: &Results,
    mut begins: impl FnMut(&str),
) -> Result<(), ResultsError> {
    let charts = folder.join(CHARTS_FOLDER);
    let mut raster = Raster::default();
    let mut drawn = PageCharts::default();
    for (name, canvas) in charts_of(results) {
        begins(&name);
        write_chart(&charts, &name, &canvas, &mut raster)?;
        if name == APPLICATIONS_CHART {
            drawn.applications = canvas.to_svg();
        }
        drawn.names.push(name);
    }
    drop(raster);
    begins("page");
    write(&folder.join(PAGE_FILE), html::page(results, &drawn))
}

/// Draws the charts of a plan's folder, and writes the plan as text next to them.
///
/// # Errors
/// Returns an error if the folder has no plan, or the file system fails.
pub fn draw_plan(folder: &Path, width: ChartWidth) -> Result<PlanRecord, ResultsError> {
    draw_record(folder, width, PlanRecord::read(folder)?)
}

/// Draws the charts of a sensitivity analysis' folder, and writes the analysis as text next to them.
///
/// # Errors
/// Returns an error if the folder has no such analysis, or the file system fails.
pub fn draw_sensitivity(
    folder: &Path,
    width: ChartWidth,
) -> Result<SensitivityRecord, ResultsError> {
    draw_record(folder, width, SensitivityRecord::read(folder)?)
}

/// Draws the charts of a calibration's folder, and writes the calibration as text next to them.
///
/// # Errors
/// Returns an error if the folder has no calibration, or the file system fails.
pub fn draw_calibration(
    folder: &Path,
    width: ChartWidth,
) -> Result<CalibrationRecord, ResultsError> {
    draw_record(folder, width, CalibrationRecord::read(folder)?)
}

/// A record that has charts and a text.
pub(super) trait DrawnRecord {
    /// The file of the text.
    const TEXT_FILE: &'static str;

    /// The charts with the names of their files.
    fn charts(&self, sheet: Sheet<'_>) -> Vec<(String, Canvas)>;

    /// The record in words, in lines of at most `width` characters.
    fn text(&self, width: usize) -> String;
}

impl DrawnRecord for PlanRecord {
    const TEXT_FILE: &'static str = PLAN_TEXT_FILE;

    fn charts(&self, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
        front::charts(self, sheet)
    }

    fn text(&self, width: usize) -> String {
        plan_text(self, width)
    }
}

impl DrawnRecord for SensitivityRecord {
    const TEXT_FILE: &'static str = SENSITIVITY_TEXT_FILE;

    fn charts(&self, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
        sensitivity::charts(self, sheet)
    }

    fn text(&self, width: usize) -> String {
        sensitivity_text(self, width)
    }
}

impl DrawnRecord for CalibrationRecord {
    const TEXT_FILE: &'static str = CALIBRATION_TEXT_FILE;

    fn charts(&self, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
        calibration::charts(self, sheet)
    }

    fn text(&self, width: usize) -> String {
        calibration_text(self, width)
    }
}

/// Draws the charts of a record, and writes the record as text to a file. Returns the record.
fn draw_record<Record: DrawnRecord>(
    folder: &Path,
    width: ChartWidth,
    record: Record,
) -> Result<Record, ResultsError> {
    let charts_folder = folder.join(CHARTS_FOLDER);
    let mut raster = Raster::default();
    let provenance = &Provenance::of_results(folder)?;
    let sheet = Sheet {
        provenance,
        width,
        untitled: false,
    };
    for (name, canvas) in record.charts(sheet) {
        write_chart(&charts_folder, &name, &canvas, &mut raster)?;
    }
    write(
        &folder.join(Record::TEXT_FILE),
        record.text(PLAN_TEXT_WIDTH),
    )?;
    Ok(record)
}

/// The charts of a record, with the names of their files.
pub(super) fn charts_of_record(
    record: &impl DrawnRecord,
    sheet: Sheet<'_>,
) -> Vec<(String, Canvas)> {
    record.charts(sheet)
}

pub(super) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), ResultsError> {
    create(path)
        .and_then(|mut file| file.write_all(bytes.as_ref()))
        .map_err(ResultsError::io("write", path))
}

/// Writes one chart as SVG and as PNG, drawn by `raster`.
fn write_chart(
    charts: &Path,
    name: &str,
    canvas: &Canvas,
    raster: &mut Raster,
) -> Result<(), ResultsError> {
    write(&charts.join(format!("{name}.svg")), canvas.to_svg())?;
    write(&charts.join(format!("{name}.png")), canvas.to_png(raster))
}

/// The name of the chart that the page has, too.
const APPLICATIONS_CHART: &str = "applications";

/// Maximum number of variants with a stack each, of states or of applications; with more, the chart would be too long
/// to read.
const STATES_MAX: usize = 24;

/// The charts with the names of their files. A chart is left out if the experiment lacks what it shows, or if another
/// chart has the same curves or dots.
pub(super) fn charts_of(results: &Results) -> Vec<(String, Canvas)> {
    let multiples = multiples::draw(results);
    let front = front::of_results(results);
    let is_small = results.variants().len() <= STATES_MAX;
    let always = [
        ("egress", over_time::egress(results)),
        ("ready", ready::draw(results)),
        ("completion", completion::draw(results)),
    ];
    let sometimes = [
        ("tradeoff", front.is_none().then(|| tradeoff::draw(results))),
        (
            "pulls",
            multiples.is_none().then(|| over_time::pulls(results)),
        ),
        ("states", is_small.then(|| states::draw(results))),
        (
            APPLICATIONS_CHART,
            is_small.then(|| applications::draw(results)).flatten(),
        ),
        ("heat", heat::draw(results)),
        ("exposure", exposure::draw(results)),
        ("exposure-over-time", exposure::over_time(results)),
        ("load", load::draw(results)),
        ("multiples", multiples),
        ("front", front),
        ("path", path::draw(results)),
        ("causes", causes::draw(results)),
        ("stages", stages::draw(results)),
    ];
    let mut charts: Vec<(String, Canvas)> = always
        .map(|(name, canvas)| (name.to_owned(), canvas))
        .into();
    charts.extend(sweep::draw_all(results));
    charts.extend(
        sometimes
            .into_iter()
            .filter_map(|(name, canvas)| Some((name.to_owned(), canvas?))),
    );
    charts
}

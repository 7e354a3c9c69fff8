//! Charts and texts of a results folder, made by the library.

use std::path::PathBuf;

use clap::ValueEnum;
use fleetsim::report::{self, ChartWidth, Detail, FigureStyle, Results};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::run::in_thread;

/// A chart of the program.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
pub(crate) struct Chart {
    figure: report::Figure,
}

#[pymethods]
impl Chart {
    /// The name of the chart, such as `tradeoff`.
    #[getter]
    fn name(&self) -> &str {
        &self.figure.name
    }

    /// The title, which is also the text for screen readers.
    #[getter]
    fn title(&self) -> &str {
        self.figure.title()
    }

    /// The chart as SVG.
    fn svg(&self) -> String {
        self.figure.svg()
    }

    /// The chart as PNG.
    fn png<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.figure.png())
    }

    /// The chart as PDF.
    fn pdf<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.figure.pdf())
    }
}

/// Returns the width with this name.
fn width_of(name: &str) -> PyResult<ChartWidth> {
    ChartWidth::from_str(name, false).map_err(|_| {
        let mut names = Vec::new();
        for width in ChartWidth::value_variants() {
            let value = width.to_possible_value();
            names.extend(value.map(|value| value.get_name().to_owned()));
        }
        PyValueError::new_err(format!(
            "`width` must be one of {}, not `{name}`",
            names.join(", ")
        ))
    })
}

/// Draws the charts of a results folder in memory.
#[pyfunction]
pub(crate) fn figures(
    py: Python<'_>,
    folder: PathBuf,
    width: &str,
    untitled: bool,
    variants: Vec<String>,
) -> PyResult<Vec<Chart>> {
    let style = FigureStyle {
        width: width_of(width)?,
        untitled,
        variants,
    };
    let drawn = in_thread(py, move || report::figures(&folder, &style))?;
    let figures = drawn.map_err(|error| errors::of_library(py, &error))?;
    Ok(figures.into_iter().map(|figure| Chart { figure }).collect())
}

/// Reads a results folder, and makes a text of it.
fn text_of<T: Send + 'static>(
    py: Python<'_>,
    folder: PathBuf,
    make: impl FnOnce(&Results) -> T + Send + 'static,
) -> PyResult<T> {
    let made = in_thread(py, move || {
        Results::read(&folder).map(|results| make(&results))
    })?;
    made.map_err(|error| errors::of_library(py, &error))
}

/// The comparison as the command prints it.
#[pyfunction]
pub(crate) fn table_text(
    py: Python<'_>,
    folder: PathBuf,
    width: usize,
    details: bool,
) -> PyResult<String> {
    let detail = if details { Detail::All } else { Detail::Answer };
    text_of(py, folder, move |results| {
        let mut text = report::table(results, width, detail);
        if details {
            text.push_str(&report::uncertainty_text(results, width));
        }
        text
    })
}

/// The answer of the results page, as HTML.
#[pyfunction]
pub(crate) fn answer_html(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    text_of(py, folder, report::answer_fragment)
}

/// The comparison as JSON.
#[pyfunction]
pub(crate) fn comparison_json(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    text_of(py, folder, report::json)
}

/// The comparison as a LaTeX table.
#[pyfunction]
pub(crate) fn latex(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    text_of(py, folder, report::latex_table)
}

/// Whether the asserted limits hold, and the verdicts as text.
#[pyfunction]
pub(crate) fn verdicts(py: Python<'_>, folder: PathBuf) -> PyResult<(bool, String)> {
    text_of(py, folder, report::verdicts)
}

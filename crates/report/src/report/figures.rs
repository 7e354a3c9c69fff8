//! Figures for a paper or a talk: the charts of a results folder in another folder, as SVG, PNG and PDF, with their
//! captions and a LaTeX table.
//!
//! The results themselves do not change, so `fleetsim reproduce` still confirms them.

use std::path::{Path, PathBuf};

use super::canvas::Canvas;
use super::data::Results;
use super::draw::{charts_of, charts_of_record, write};
use super::latex;
use super::raster::Raster;
use super::sheet::{ChartWidth, Sheet};
use crate::results::{
    CALIBRATION_FILE, CalibrationRecord, PLAN_FILE, PlanRecord, Provenance, ResultsError,
    SENSITIVITY_FILE, SensitivityRecord,
};

/// The file of the captions: the titles and notes of all figures.
const CAPTIONS_FILE: &str = "captions.txt";
/// The file of the LaTeX table.
const TABLE_FILE: &str = "table.tex";

/// How figures are drawn.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FigureStyle {
    /// The width in print.
    pub width: ChartWidth,
    /// Whether they lack title, note and footer, for a page with a caption.
    pub untitled: bool,
    /// The variants to draw, by name, by strategy, or by a setting such as `maxUnavailable=25%`. Empty: all.
    pub variants: Vec<String>,
}

/// Figures that cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The results are damaged, or the file system fails.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// No variant has this name.
    #[error("no variant is named `{name}`; the variants are {known}")]
    UnknownVariant {
        /// The name that was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// Variants were chosen for results without variants.
    #[error("the charts of a plan, an analysis or a calibration have no variants to choose")]
    NoVariants,
}

/// A chart in memory.
#[derive(Debug)]
pub struct Figure {
    /// The name of its file, without ending.
    pub name: String,
    canvas: Canvas,
    width: ChartWidth,
}

impl Figure {
    /// The title, which is also the text for screen readers.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.canvas.title
    }

    /// The chart as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.canvas.to_svg()
    }

    /// The chart as PNG, at twice its size.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        self.canvas.to_png(&mut Raster::default())
    }

    /// The chart as a PDF of one page.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        self.canvas.to_pdf(self.width)
    }
}

/// Draws the figures of the results in `folder` in memory, like [`draw_figures`].
///
/// # Errors
/// Returns an error if `folder` has no results, or a chosen variant does not exist.
pub fn figures(folder: &Path, style: &FigureStyle) -> Result<Vec<Figure>, FigureError> {
    let drawn = drawn_figures(folder, style)?;
    let mut figures = Vec::new();
    for (name, canvas) in drawn.charts {
        figures.push(Figure {
            name,
            canvas,
            width: style.width,
        });
    }
    Ok(figures)
}

/// The comparison of the results as a LaTeX table.
#[must_use]
pub fn latex_table(results: &Results) -> String {
    latex::table(results)
}

/// Charts before they are written.
struct DrawnFigures {
    charts: Vec<(String, Canvas)>,
    /// The comparison as a LaTeX table. `None`: the results are not those of a study.
    table: Option<String>,
}

/// Draws the figures of the results in `folder`, and writes them to the folder `to`. Returns the files.
///
/// # Errors
/// Returns an error if `folder` has no results, a chosen variant does not exist, or a file cannot be written.
pub fn draw_figures(
    folder: &Path,
    to: &Path,
    style: &FigureStyle,
) -> Result<Vec<PathBuf>, FigureError> {
    let drawn = drawn_figures(folder, style)?;
    let mut files = FigureFiles::new(to, style.width);
    files.add_all(drawn.charts)?;
    if let Some(table) = drawn.table {
        files.write(TABLE_FILE, table.as_bytes())?;
    }
    files.finish()
}

/// Draws the figures of the results in `folder`.
fn drawn_figures(folder: &Path, style: &FigureStyle) -> Result<DrawnFigures, FigureError> {
    let provenance = Provenance::of_results(folder)?;
    let sheet = Sheet {
        provenance: &provenance,
        width: style.width,
        untitled: style.untitled,
    };
    let is_study = ![PLAN_FILE, SENSITIVITY_FILE, CALIBRATION_FILE]
        .iter()
        .any(|name| folder.join(name).exists());
    if !is_study && !style.variants.is_empty() {
        return Err(FigureError::NoVariants);
    }
    let charts = if folder.join(PLAN_FILE).exists() {
        charts_of_record(&PlanRecord::read(folder)?, sheet)
    } else if folder.join(SENSITIVITY_FILE).exists() {
        charts_of_record(&SensitivityRecord::read(folder)?, sheet)
    } else if folder.join(CALIBRATION_FILE).exists() {
        charts_of_record(&CalibrationRecord::read(folder)?, sheet)
    } else {
        let mut results = Results::read(folder)?;
        results.width = style.width;
        results.untitled = style.untitled;
        choose(&mut results, &style.variants)?;
        return Ok(DrawnFigures {
            charts: charts_of(&results),
            table: Some(latex::table(&results)),
        });
    };
    Ok(DrawnFigures {
        charts,
        table: None,
    })
}

/// Keeps the variants that the names select.
fn choose(results: &mut Results, names: &[String]) -> Result<(), FigureError> {
    if names.is_empty() {
        return Ok(());
    }
    let all = &results.provenance.variants;
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        let before = kept.len();
        for info in all {
            let has_setting = info
                .settings
                .iter()
                .any(|setting| *name == format!("{}={}", setting.name, setting.value));
            if *name == info.variant || *name == info.strategy || has_setting {
                kept.push(info.variant.clone());
            }
        }
        if kept.len() == before {
            let known: Vec<&str> = all.iter().map(|info| info.variant.as_str()).collect();
            return Err(FigureError::UnknownVariant {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    results.keep_variants(&|variant| kept.iter().any(|name| name == variant));
    Ok(())
}

/// The files of figures in one folder.
struct FigureFiles<'f> {
    folder: &'f Path,
    width: ChartWidth,
    raster: Raster,
    captions: String,
    written: Vec<PathBuf>,
}

impl<'f> FigureFiles<'f> {
    fn new(folder: &'f Path, width: ChartWidth) -> Self {
        Self {
            folder,
            width,
            raster: Raster::default(),
            captions: String::new(),
            written: Vec::new(),
        }
    }

    fn add_all(&mut self, charts: Vec<(String, Canvas)>) -> Result<(), ResultsError> {
        for (name, canvas) in charts {
            let name = format!("{name}-{}", self.width.name());
            self.captions.push_str(&format!(
                "{name}: {}.\n",
                canvas.title.trim_end_matches('.')
            ));
            self.write(&format!("{name}.svg"), canvas.to_svg().as_bytes())?;
            let png = canvas.to_png(&mut self.raster);
            self.write(&format!("{name}.png"), &png)?;
            self.write(&format!("{name}.pdf"), &canvas.to_pdf(self.width))?;
        }
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        let path = self.folder.join(name);
        write(&path, bytes)?;
        self.written.push(path);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<PathBuf>, FigureError> {
        let captions = std::mem::take(&mut self.captions);
        self.write(CAPTIONS_FILE, captions.as_bytes())?;
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;

    #[test]
    fn chosen_variants_leave_no_trace_of_the_others() {
        let mut results = readable_quietly(&six_settings());
        let all = results.variants().len();
        let name = results.provenance.variants[1].variant.clone();
        choose(&mut results, std::slice::from_ref(&name)).expect("it exists");
        assert!(all > 1 && results.variants().len() == 1);
        assert!(results.tables.runs.iter().all(|run| run.variant == name));
        assert!(
            results
                .tables
                .timeline
                .iter()
                .all(|row| row.variant == name)
        );
        let error = choose(&mut results, &["other".to_owned()]).expect_err("there is none");
        assert_eq!(
            error.to_string(),
            format!("no variant is named `other`; the variants are {name}")
        );
    }

    #[test]
    fn a_figure_without_title_is_smaller_and_readable() {
        let mut results = readable_quietly(&six_settings());
        for width in [ChartWidth::Column, ChartWidth::Page, ChartWidth::Slide] {
            results.width = width;
            results.untitled = false;
            let titled = charts_of(&results);
            results.untitled = true;
            for ((name, bare), (_, whole)) in charts_of(&results).iter().zip(&titled) {
                bare.assert_readable();
                assert!(bare.height < whole.height - 40.0, "{name}");
                let texts = bare.text_boxes();
                assert!(
                    texts.iter().all(|(_, text)| !text.contains("seed")),
                    "{name}: the footer is left out"
                );
            }
        }
    }
}

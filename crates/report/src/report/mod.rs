//! Reports: charts and the comparison table, from recorded results only.
//!
//! [`draw_folder`] reads a results folder and draws its charts into it, each as SVG and as PNG at twice the size, and
//! the page with all results ([`PAGE_FILE`]). [`write_trace`] and [`write_metrics`] export results to other programs.
//! [`Results::read`] with [`table`] gives the comparison that a run prints last, [`json`] the same for programs.
//!
//! Charts state how they were made: the number of runs and the spread in the subtitle, units at the axes, experiment,
//! version and seed in the footer. The same files give the same bytes. Charts are static; on the page, readers can
//! zoom into the curves and choose the variants to show.

mod answer;
mod applications;
mod axis;
#[cfg(not(target_family = "wasm"))]
mod bars;
#[cfg(not(target_family = "wasm"))]
mod calibration;
#[cfg(not(target_family = "wasm"))]
mod canvas;
mod cautions;
#[cfg(not(target_family = "wasm"))]
mod charts;
#[cfg(not(target_family = "wasm"))]
mod clock;
mod columns;
mod data;
#[cfg(not(target_family = "wasm"))]
mod draw;
mod export;
#[cfg(not(target_family = "wasm"))]
mod figures;
mod findings;
mod forecast;
mod format;
#[cfg(not(target_family = "wasm"))]
mod frame;
mod guesses;
mod html;
mod junit;
#[cfg(not(target_family = "wasm"))]
mod latex;
mod limits;
mod names;
#[cfg(not(target_family = "wasm"))]
mod other_load;
#[cfg(not(target_family = "wasm"))]
mod pdf;
mod plan;
#[cfg(not(target_family = "wasm"))]
mod prelude;
#[cfg(not(target_family = "wasm"))]
mod raster;
mod review;
#[cfg(not(target_family = "wasm"))]
mod sensitivity;
mod sheet;
mod spans;
mod style;
#[cfg(not(target_family = "wasm"))]
mod svg;
mod swept;
#[cfg(test)]
mod synthetic;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod uncertainty;
mod wrap;

pub use answer::{bound_text, decisions_by_draw, recommended};
#[cfg(not(target_family = "wasm"))]
pub use calibration::calibration_text;
pub use cautions::{VariantTargets, different_targets};
pub use data::Results;
#[cfg(not(target_family = "wasm"))]
pub use draw::{
    CHARTS_FOLDER, draw_all, draw_calibration, draw_folder, draw_plan, draw_sensitivity,
};
pub use export::{write_metrics, write_trace};
#[cfg(not(target_family = "wasm"))]
pub use figures::{Figure, FigureError, FigureStyle, draw_figures, figures, latex_table};
pub use forecast::{forecast_change, forecast_text};
pub use guesses::deciding_links;
pub use html::{EXPLORED, ExploredPage, PAGE_FILE, answer_fragment, explore_page, explored};
pub use junit::junit;
pub use limits::verdicts;
pub use plan::plan_text;
pub use review::{Review, ReviewSide, SettingChange, review_markdown, review_text};
#[cfg(not(target_family = "wasm"))]
pub use sensitivity::sensitivity_text;
pub use sheet::ChartWidth;
pub use table::{Detail, SCHEMA_VERSION, json, table};
pub use uncertainty::uncertainty_text;
pub use wrap::wrapped;

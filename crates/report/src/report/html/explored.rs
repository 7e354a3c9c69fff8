//! The page of `fleetsim explore`: a rollout before and after a change, drawn over each other.
//!
//! It has the curves and the fleet of the results page, with two variants. After every change, the page's controls and
//! scripts request the data of both variants from an engine: a local server, or a worker in the page.

use serde::Serialize;

use super::markup::{escaped, filled};
use super::{
    OVER_TIME, PageData, STYLE, UPLOT, UPLOT_LICENCE, UPLOT_STYLE, about, is_log, script_json,
    scripts, target_of,
};
use crate::report::applications::{ApplicationMedians, after as duration, shown};
use crate::report::columns::{COLUMNS, Column, REACHABLE};
use crate::report::data::{Results, VariantResults};
use crate::report::format::{count, in_unit};
use crate::report::limits::AssertedLimit;
use crate::report::style::CurveStyle;
use crate::results::SummaryRow;

/// The names of the two variants: the experiment as written, and with the change.
pub const EXPLORED: [&str; 2] = ["before", "after"];

/// Colours of the curve before the change, on light and on dark backgrounds.
const GREY: [&str; 2] = ["#8b94a1", "#98a2ae"];

/// The sources that the page may load from: answers of its server, or its own worker.
const OF_SERVER: &str = "script-src 'unsafe-inline'; connect-src 'self'";
const OF_WORKER: &str = "script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:";

const TEMPLATE: &str = include_str!("../../../assets/page/explore.html");
const STYLE_OF_CONTROLS: &str = include_str!("../../../assets/page/explore.css");
const SCRIPT: &str = include_str!("../../../assets/page/explore.js");

/// One measure or limit before and after, in words.
#[derive(Debug, Default, Serialize)]
struct ExploredRow {
    heading: String,
    note: &'static str,
    /// The value before and after; for a limit, with its verdict.
    values: [String; 2],
    /// Whether each value meets the limit. `None`: there is no limit.
    holds: Option<[bool; 2]>,
    /// The paired difference, with its 95% interval if there are enough runs.
    difference: String,
    interval: String,
    /// The sign of an interval that excludes zero: -1 less, 1 more; otherwise 0.
    sign: i8,
}

/// One of several applications before and after: medians over the runs, in words.
#[derive(Debug, Serialize)]
struct ExploredApplication {
    name: String,
    /// Time from its own release until its reachable targets are ready.
    completion: [String; 2],
    left_behind: [String; 2],
    peak_pulls: [String; 2],
}

/// The data of both variants for the page, as JSON: curves and fleets, the table of measures, and a table of the
/// applications if there are several.
///
/// # Panics
/// Panics if the results are not those of [`EXPLORED`].
#[must_use]
pub fn explored(results: &Results) -> serde_json::Value {
    let variants = results.variants();
    let [before, after] = variants.as_slice() else {
        panic!("two variants have runs")
    };
    let names = [before, after].map(|variant| variant.name().to_owned());
    let mut page = PageData::of(results, &variants, &names, [0, 1]);
    let alone = CurveStyle::of(&[vec![0]], &[after.product()])[0];
    page.variants[0].colours = GREY.map(str::to_owned);
    page.variants[1].colours = [alone.colour().css(), alone.colour_on_dark().css()];
    page.log = is_log(page.variants.iter().map(|variant| variant.end));
    let measures = COLUMNS
        .iter()
        .filter_map(|column| of_measure(column, before, after));
    let limits = AssertedLimit::of_answer(results);
    let rows: Vec<ExploredRow> = limits
        .iter()
        .filter_map(|limit| of_limit(limit, before, after))
        .chain(measures)
        .collect();
    let mut data = serde_json::json!({"page": page, "rows": rows});
    let applications = of_applications(before, after);
    if !applications.is_empty() {
        data["applications"] = serde_json::json!(applications);
    }
    data
}

/// Returns the applications that a table shows, in their order. Empty for a single application.
fn of_applications(
    before: &VariantResults<'_>,
    after: &VariantResults<'_>,
) -> Vec<ExploredApplication> {
    let unchanged = ApplicationMedians::all(before);
    let changed = ApplicationMedians::all(after);
    let mut rows = Vec::new();
    for application in shown(&changed) {
        let same = unchanged.iter().find(|one| one.name == application.name);
        let Some(same) = same else {
            continue;
        };
        let sides = [same, application];
        rows.push(ExploredApplication {
            name: application.name.to_owned(),
            completion: sides.map(|side| duration(side.ready_s)),
            left_behind: sides.map(|side| count(side.left_behind)),
            peak_pulls: sides.map(|side| count(side.peak_pulls)),
        });
    }
    rows
}

fn of_limit(
    limit: &AssertedLimit,
    before: &VariantResults<'_>,
    after: &VariantResults<'_>,
) -> Option<ExploredRow> {
    let verdicts = [limit.judge(before)?, limit.judge(after)?];
    Some(ExploredRow {
        heading: limit.limit.to_string(),
        note: "limit of the experiment",
        holds: Some([verdicts[0].holds, verdicts[1].holds]),
        values: verdicts.map(|verdict| limit.value(verdict)),
        ..ExploredRow::default()
    })
}

/// Returns the row of a measure. `None` if the measure is irrelevant: it is 0 before and after, or all clusters can be
/// updated.
fn of_measure(
    column: &Column,
    before: &VariantResults<'_>,
    after: &VariantResults<'_>,
) -> Option<ExploredRow> {
    let measure = column.measure;
    let rows = [before.summary(measure)?, after.summary(measure)?];
    let is_whole = before.reach().is_whole() && after.reach().is_whole();
    if rows.iter().all(|row| row.max == Some(0.0)) || measure == REACHABLE && is_whole {
        return None;
    }
    let unit = rows[1].unit.as_str();
    let values = rows.map(|row| in_unit(row.median.unwrap_or(f64::INFINITY), unit));
    let row = rows[1];
    // The mean also shows a change in only a few runs; if a run never ends, there is only a median.
    let never = rows
        .iter()
        .all(|row| row.median.is_none_or(f64::is_infinite));
    let change = if never {
        // There is no difference between two times that are never reached.
        PairedChange::default()
    } else {
        PairedChange::of(row)
    };
    let mut explored = ExploredRow {
        heading: column.heading.to_owned(),
        note: measure.definition(),
        values,
        difference: "–".to_owned(),
        ..ExploredRow::default()
    };
    if let Some(difference) = change.difference {
        explored.difference = signed(difference, unit);
    }
    if let Some((low, high)) = change.interval {
        explored.interval = format!("{} to {}", end(low, unit), end(high, unit));
        explored.sign = i8::from(low > 0.0) - i8::from(high < 0.0);
    }
    Some(explored)
}

/// The paired difference of a measure with its 95% interval, if known.
#[derive(Default)]
struct PairedChange {
    difference: Option<f64>,
    interval: Option<(f64, f64)>,
}

impl PairedChange {
    /// The mean difference, or the median if there is no mean.
    fn of(row: &SummaryRow) -> Self {
        let (difference, low, high) = if row.diff_mean.is_some() {
            (
                row.diff_mean,
                row.diff_mean_ci95_low,
                row.diff_mean_ci95_high,
            )
        } else {
            (
                row.diff_median,
                row.diff_median_ci95_low,
                row.diff_median_ci95_high,
            )
        };
        // Sums of the same numbers in another order differ by rounding errors.
        let noise = 1e-6 * row.median.unwrap_or(0.0).abs();
        let [difference, low, high] =
            [difference, low, high].map(|value| Some(without_noise(value?, noise)));
        Self {
            difference,
            interval: low.zip(high),
        }
    }
}

/// Returns 0 for a value that is not larger than the noise.
fn without_noise(value: f64, noise: f64) -> f64 {
    if value.abs() <= noise { 0.0 } else { value }
}

/// A difference with its sign and its unit.
fn signed(difference: f64, unit: &str) -> String {
    let sign = match difference {
        ..0.0 => "−",
        0.0 => "±",
        _ => "+",
    };
    format!("{sign}{}", in_unit(difference.abs(), unit))
}

/// An end of an interval. For counts, only the difference shows the unit.
fn end(value: f64, unit: &str) -> String {
    let text = signed(value, unit);
    match unit {
        "s" | "bytes/s" | "bytes" | "1" => text,
        _ => text.split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// The parts of the page.
#[derive(Debug)]
pub struct ExploredPage<'p> {
    /// The experiment's question, or its name.
    pub title: &'p str,
    /// The first answer, which is drawn when the page opens.
    pub first: &'p Results,
    /// The controls, as JSON.
    pub controls: &'p serde_json::Value,
    /// The experiment's files, as JSON; `null` for a page whose engine is a server.
    pub files: &'p serde_json::Value,
    /// The simulator as WebAssembly, compressed, as base64; empty for a page whose engine is a server.
    pub engine: &'p str,
}

/// The page.
#[must_use]
pub fn explore_page(page: &ExploredPage<'_>) -> String {
    let over_time = filled(
        OVER_TIME,
        &[
            ("displayed", "Lines and squares: replicate 0. "),
            ("released", ""),
            ("square", &about::square(target_of(page.first), 1)),
        ],
    );
    let first = explored(page.first);
    filled(
        TEMPLATE,
        &[
            ("title", &escaped(page.title)),
            (
                "policy",
                if page.engine.is_empty() {
                    OF_SERVER
                } else {
                    OF_WORKER
                },
            ),
            ("over_time", &over_time),
            (
                "style",
                &format!("{UPLOT_STYLE}\n{STYLE}\n{STYLE_OF_CONTROLS}"),
            ),
            ("licence", &escaped(UPLOT_LICENCE)),
            ("data", &script_json(&first["page"])),
            ("rows", &script_json(&first["rows"])),
            ("controls", &script_json(page.controls)),
            ("files", &script_json(page.files)),
            ("engine", page.engine),
            ("uplot", UPLOT),
            (
                "scripts",
                &[scripts(page.first).as_slice(), &[SCRIPT]]
                    .concat()
                    .join("\n"),
            ),
        ],
    )
}

//! The comparison table as HTML: one row a variant, one column a measure in one unit, one column a limit.
//!
//! A cell carries the number that it is sorted by. Times of very different lengths have their unit in the cell, other
//! columns in the heading. A limit stands behind the measure that it judges. With a defective revision the exposed
//! clusters come first. A column in which all variants say the same becomes a sentence below.

use super::answer::Best;
use super::escaped;
use super::groups::CurveStyle;
use super::limits::{Demand, judged};
use crate::report::data::VariantResults;
use crate::report::format::{RateUnit, TimeUnit, apart, count, number};
use crate::report::style::{dash, series_colour, series_colour_on_dark};
use crate::report::verdicts;
use crate::results::SummaryRow;

/// One column of medians over runs.
struct Column {
    measure: &'static str,
    heading: &'static str,
    /// What the column is, for who points at its heading.
    note: &'static str,
    /// Which spread stands beside the median.
    spread: Spread,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Spread {
    None,
    /// The 95 % interval of the median.
    Interval,
    /// The 5th and 95th percentile over runs.
    Percentiles,
}

#[derive(Clone, Copy)]
enum Kind {
    Time,
    Count,
    Rate,
    Gigabytes,
    Percent,
}

/// The measure that comes first where a defective revision was given out.
const EXPOSED: &str = "exposed_targets";

const COLUMNS: [Column; 9] = [
    Column {
        measure: "completion_s",
        heading: "completion",
        note: "time until the last cluster was ready, over finished runs: median [95 % interval of the median]",
        spread: Spread::Interval,
        kind: Kind::Time,
    },
    Column {
        measure: "peak_pulls",
        heading: "peak pulls",
        note: "most image pulls at once: median of the runs' peaks [5th to 95th percentile]",
        spread: Spread::Percentiles,
        kind: Kind::Count,
    },
    Column {
        measure: "egress_peak_1s_bytes_per_s",
        heading: "peak egress",
        note: "highest egress of the registry over 1 s",
        spread: Spread::None,
        kind: Kind::Rate,
    },
    Column {
        measure: "egress_busy_share",
        heading: "link busy",
        note: "share of the time in which the registry's link was full",
        spread: Spread::None,
        kind: Kind::Percent,
    },
    Column {
        measure: "egress_bytes",
        heading: "sent",
        note: "all bytes that left the registry",
        spread: Spread::None,
        kind: Kind::Gigabytes,
    },
    Column {
        measure: "failed_pulls",
        heading: "failed pulls",
        note: "attempts to pull that failed",
        spread: Spread::None,
        kind: Kind::Count,
    },
    Column {
        measure: "responses_429",
        heading: "answers 429",
        note: "requests refused as too many",
        spread: Spread::None,
        kind: Kind::Count,
    },
    Column {
        measure: EXPOSED,
        heading: "exposed",
        note: "clusters that were told to run a release that is defective in them: median [5th to 95th percentile]",
        spread: Spread::Percentiles,
        kind: Kind::Count,
    },
    Column {
        measure: "peak_not_ready",
        heading: "not ready",
        note: "most clusters at once that were not ready, those that are updating included",
        spread: Spread::None,
        kind: Kind::Count,
    },
];

/// A unit's size in the recorded one, and its name; empty for a count. `None` for times that no one unit suits.
fn unit(kind: Kind, values: &[f64]) -> Option<(f64, &'static str)> {
    Some(match kind {
        Kind::Time => {
            let mut units = values.iter().map(|value| TimeUnit::for_span(*value));
            let first = units.next().unwrap_or_else(|| TimeUnit::for_span(0.0));
            return units.all(|unit| unit == first).then_some((first.seconds, first.short));
        }
        Kind::Rate => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let unit = RateUnit::for_max(sorted.get(sorted.len() / 2).copied().unwrap_or(0.0));
            (unit.bytes_per_s, unit.name)
        }
        Kind::Gigabytes => (1e9, "GB"),
        Kind::Percent => (0.01, "%"),
        Kind::Count => (1.0, ""),
    })
}

/// What a variant is called and looks like on the page.
#[derive(Clone, Debug)]
pub(super) struct VariantLabel {
    pub(super) label: String,
    pub(super) look: CurveStyle,
}

/// The table, and the sentence of what all variants have in common.
pub(super) fn table(
    variants: &[VariantResults<'_>],
    names: &[VariantLabel],
    demands: &[Demand],
    best: &[Best],
) -> String {
    let exposing = variants.iter().any(VariantResults::exposed);
    let columns: Vec<Laid> = COLUMNS
        .iter()
        .filter(|column| exposing || column.measure != EXPOSED)
        .filter_map(|column| Laid::out(column, variants))
        .collect();
    let (told, shared): (Vec<Laid>, Vec<Laid>) = columns
        .into_iter()
        .partition(|laid| matches!(laid.column.measure, "completion_s" | "peak_pulls" | EXPOSED) || !laid.all_alike());
    // Where every run completed, the room is better used.
    let all_done = variants.iter().all(|variant| variant.finished() == variant.runs.len());
    let places = placed(&told, demands, all_done);
    let mut html = String::from(
        "<div class=\"wide\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"comparison-title\">\n<table id=\"comparison\">\n<thead><tr>\n",
    );
    html.push_str(&heading("variant", "", "", "strategy and setting", "name"));
    for place in &places {
        html.push_str(&place.heading());
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (at, variant) in variants.iter().enumerate() {
        html.push_str(&format!(
            "<tr data-variant=\"{at}\"><th scope=\"row\" data-sort=\"{at}\"><label title=\"{}\"><input type=\"checkbox\" checked> {} <span>{}</span></label></th>",
            escaped(variant.name()),
            swatch(names[at].look),
            escaped(&names[at].label),
        ));
        for place in &places {
            html.push_str(&match place {
                Place::Done => done(variant),
                Place::Limit(demand) => verdict(variant, demand),
                Place::Measure(laid) => {
                    let is_best = best.iter().any(|best| match laid.column.measure {
                        "completion_s" => best.fastest == Some(at),
                        "peak_pulls" => best.lowest == Some(at),
                        EXPOSED => best.least_exposed.contains(&at),
                        _ => false,
                    });
                    laid.cell(at, is_best)
                }
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></div>\n<p class=\"note sideways\" hidden>There are more columns: move the table sideways.</p>\n");
    let mut told_once: Vec<String> = if all_done { vec!["every run completed".to_owned()] } else { Vec::new() };
    told_once.extend(shared.iter().filter_map(Laid::sentence));
    if !told_once.is_empty() && variants.len() > 1 {
        html.push_str(&format!("<p class=\"note\">The same for all variants: {}.</p>\n", told_once.join("; ")));
    }
    html
}

/// What stands in a column.
enum Place<'t, 'v> {
    Done,
    Limit(&'t Demand),
    Measure(&'t Laid<'v>),
}

/// The columns behind the name, in their order.
fn placed<'t, 'v>(told: &'t [Laid<'v>], demands: &'t [Demand], all_done: bool) -> Vec<Place<'t, 'v>> {
    let judging = |measure: &'static str| {
        demands.iter().filter(move |(limit, _)| limit.measure().name == measure).map(Place::Limit)
    };
    let alone = demands
        .iter()
        .filter(|(limit, _)| told.iter().all(|laid| laid.column.measure != limit.measure().name))
        .map(Place::Limit);
    let (first, others): (Vec<&Laid<'v>>, Vec<&Laid<'v>>) =
        told.iter().partition(|laid| laid.column.measure == EXPOSED);
    let with_limits = |laid: &&'t Laid<'v>| std::iter::once(Place::Measure(laid)).chain(judging(laid.column.measure));
    let mut places: Vec<Place<'t, 'v>> = first.iter().flat_map(with_limits).collect();
    places.extend((!all_done).then_some(Place::Done));
    places.extend(alone);
    places.extend(others.iter().flat_map(with_limits));
    places
}

impl Place<'_, '_> {
    fn heading(&self) -> String {
        match self {
            Self::Done => heading("done", "", "", "runs that completed", ""),
            Self::Limit((limit, strategy)) => {
                let whose = strategy.as_ref().map_or_else(String::new, |strategy| format!(" for {strategy}"));
                let note = format!("limit of the experiment{whose}; beside the mark, the value that is judged");
                heading(&limit.to_string(), "", "", &note, "limit")
            }
            Self::Measure(laid) => {
                let spread = match laid.column.spread {
                    Spread::None => "",
                    _ if !laid.has_spread() => "",
                    Spread::Interval => "[95 %]",
                    Spread::Percentiles => "[p5–p95]",
                };
                heading(laid.column.heading, laid.unit.unwrap_or(""), spread, laid.column.note, "")
            }
        }
    }
}

/// The sample of a variant's line; its colour follows the theme.
pub(super) fn swatch(look: CurveStyle) -> String {
    let dashes: Vec<String> = dash(look.dash).iter().map(|length| format!("{}", length * 0.8)).collect();
    format!(
        "<svg class=\"swatch\" style=\"--light:{};--dark:{}\" width=\"26\" height=\"8\" aria-hidden=\"true\"><line x1=\"0\" y1=\"4\" x2=\"26\" y2=\"4\" stroke-dasharray=\"{}\"/></svg>",
        super::css(series_colour(look.colour)),
        super::css(series_colour_on_dark(look.colour)),
        dashes.join(" ")
    )
}

fn heading(name: &str, unit: &str, spread: &str, note: &str, class: &str) -> String {
    let unit = match (unit, spread) {
        ("", "") => String::new(),
        _ => format!(" <span class=\"unit\">{}</span>", format!("{unit} {spread}").trim()),
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!(
        "<th scope=\"col\" aria-sort=\"none\"{class}><button type=\"button\" title=\"{}\"><span class=\"sorts\">{}</span>{unit}</button></th>\n",
        escaped(note),
        escaped(name)
    )
}

/// How many runs completed.
fn done(variant: &VariantResults<'_>) -> String {
    let (finished, runs) = (variant.finished(), variant.runs.len());
    let class = if finished < runs { " class=\"bad\"" } else { "" };
    format!("<td data-sort=\"{}\"{class}>{finished}/{runs}</td>", finished as f64 / runs.max(1) as f64)
}

/// The mark of a limit and the value that was judged.
fn verdict(variant: &VariantResults<'_>, demand: &Demand) -> String {
    let Some(verdict) = judged(variant, demand) else { return "<td class=\"none\">–</td>".to_owned() };
    let (class, mark, word) = if verdict.holds { ("ok", "✓", "holds") } else { ("bad", "✗", "broken") };
    // A number that JSON and HTML can hold stands for "never".
    let sort = if verdict.value.is_finite() { verdict.value } else { 1e300 };
    format!(
        "<td data-sort=\"{sort}\" class=\"{class}\"><span aria-hidden=\"true\">{mark}</span><span class=\"unseen\">{word}:</span> {}</td>",
        escaped(&verdicts::value(&demand.0, verdict.value))
    )
}

/// A column with its unit and rows.
struct Laid<'v> {
    column: &'static Column,
    size: f64,
    /// The unit of all cells, which the heading tells. `None`: each cell has its own.
    unit: Option<&'static str>,
    rows: Vec<Option<&'v SummaryRow>>,
}

impl<'v> Laid<'v> {
    /// `None` when the results do not have the measure.
    fn out(column: &'static Column, variants: &[VariantResults<'v>]) -> Option<Self> {
        let rows: Vec<Option<&SummaryRow>> = variants.iter().map(|variant| variant.summary(column.measure)).collect();
        let values: Vec<f64> = rows.iter().flatten().filter_map(|row| row.median).collect();
        let (size, unit) = unit(column.kind, &values).map_or((1.0, None), |(size, unit)| (size, Some(unit)));
        rows.iter().any(Option::is_some).then_some(Self { column, size, unit, rows })
    }

    fn median(&self, at: usize) -> Option<f64> {
        self.rows[at]?.median
    }

    fn all_alike(&self) -> bool {
        (1..self.rows.len()).all(|at| self.text(at) == self.text(0))
    }

    fn text(&self, at: usize) -> Option<String> {
        let median = self.median(at)?;
        let value = median / self.size;
        Some(match self.column.kind {
            Kind::Time => self.time(median, self.ends(at).unwrap_or((median, median))).0,
            Kind::Count | Kind::Percent => count(value),
            Kind::Rate | Kind::Gigabytes => number(value),
        })
    }

    /// A time and the ends of its interval; with its unit where the heading has none.
    fn time(&self, middle: f64, (low, high): (f64, f64)) -> (String, [String; 2]) {
        let own = TimeUnit::for_span(middle);
        let size = if self.unit.is_some() { self.size } else { own.seconds };
        let [text, low, high] = apart(middle / size, low / size, high / size);
        let text = if self.unit.is_some() { text } else { format!("{text} {}", own.short) };
        (text, [low, high])
    }

    fn ends(&self, at: usize) -> Option<(f64, f64)> {
        let row = self.rows[at]?;
        let ends = match self.column.spread {
            Spread::None => None,
            Spread::Interval => row.median_ci95_low.zip(row.median_ci95_high),
            Spread::Percentiles => row.p5.zip(row.p95),
        };
        ends.filter(|(low, high)| low < high)
    }

    fn has_spread(&self) -> bool {
        (0..self.rows.len()).any(|at| self.ends(at).is_some())
    }

    fn cell(&self, at: usize, is_best: bool) -> String {
        let Some((median, text)) = self.median(at).zip(self.text(at)) else {
            return "<td class=\"none\">–</td>".to_owned();
        };
        let spread = self.ends(at).map_or_else(String::new, |(low, high)| {
            let [low, high] = match self.column.kind {
                Kind::Time => self.time(median, (low, high)).1,
                _ => [low, high].map(|value| count(value / self.size)),
            };
            format!(" <span class=\"spread\">[{low}–{high}]</span>")
        });
        let class = if is_best { " class=\"best\"" } else { "" };
        format!("<td data-sort=\"{median}\"{class}>{text}{spread}</td>")
    }

    /// `answers 429 0`; `None` where nothing has a value.
    fn sentence(&self) -> Option<String> {
        let unit = self.unit.filter(|unit| !unit.is_empty()).map_or_else(String::new, |unit| format!(" {unit}"));
        Some(format!("{} {}{unit}", self.column.heading, self.text(0)?))
    }
}

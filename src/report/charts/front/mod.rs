//! What time is bought with what load: every setting at its time and its load, the ones that nothing beats in both
//! joined by a staircase. One panel a world, as a bigger fleet is not a worse setting.
//!
//! Of a plan, the ground beyond a limit is shaded, settings that do not keep to the limits are hollow, and those that were
//! dropped early are paler, as their places rest on fewer runs.

mod labels;
mod panel;

use self::panel::{dot, draw_panel};
use crate::report::canvas::{Align, Canvas};
use crate::report::data::{Results, VariantResults, extent};
use crate::report::frame::{Area, FOOTER, TOP, page, write};
use crate::report::style::{MARGIN, MUTED, PAGE_WIDTH, SMALL};
use crate::report::text::{Weight, text_width};
use crate::results::{CandidateStatus, Estimate, LoadAxis, PlanRecord, Provenance, Setting, SummaryRow};

/// Room below a panel's axis: tick labels, title, note.
const BELOW: f64 = 66.0;
/// Room above a panel: its world, and the title of its value axis.
const ABOVE: f64 = 46.0;

/// How a setting is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MarkStyle {
    Chosen,
    Keeps,
    Out,
}

/// One setting.
struct Mark {
    name: String,
    /// `None`: a run never got there.
    time: Option<Estimate>,
    load: Estimate,
    style: MarkStyle,
    /// 0 to 1: how much of what was simulated at most.
    weight: f64,
}

struct WorldPanel {
    title: String,
    marks: Vec<Mark>,
}

/// What all panels share.
struct Front<'f> {
    panels: Vec<WorldPanel>,
    load: &'f LoadAxis,
    /// `completion`, in words.
    time: String,
    /// Whether there is a line that explains the looks.
    has_legend: bool,
}

/// The chart of a plan.
pub(in crate::report) fn of_plan(plan: &PlanRecord, provenance: &Provenance) -> Canvas {
    let all = plan.questions.iter().flat_map(|question| &question.candidates);
    let naming = Naming::of(all.map(|candidate| (candidate.strategy.as_str(), candidate.settings.as_slice())));
    let panels = plan.questions.iter().map(|question| {
        let most = question.candidates.iter().map(|candidate| candidate.runs).max().unwrap_or(1).max(1);
        let marks = question.candidates.iter().map(|candidate| Mark {
            name: naming.name(&candidate.strategy, &candidate.settings),
            time: candidate.time,
            load: candidate.load,
            style: match candidate.standing {
                CandidateStatus::Best => MarkStyle::Chosen,
                CandidateStatus::Breaks | CandidateStatus::Unfinished => MarkStyle::Out,
                CandidateStatus::Equal | CandidateStatus::Slower | CandidateStatus::Undecided => MarkStyle::Keeps,
            },
            weight: candidate.runs as f64 / most as f64,
        });
        WorldPanel { title: question.world.clone(), marks: marks.collect() }
    });
    let panels: Vec<WorldPanel> = panels.collect();
    let key = naming.key();
    let front = Front { panels, load: &plan.load, time: plan.fastest.replace('_', " "), has_legend: true };
    let subtitle = format!(
        "{key}{} runs; lines: least to greatest run; the staircase joins what nothing beats in both",
        plan.runs
    );
    let mut canvas = draw(&front, provenance, "Time against load of the settings that were tried", &subtitle);
    legend(&mut canvas);
    canvas
}

/// Worlds that the chart of plain results has room for.
const MOST_WORLDS: usize = 12;

/// The chart of plain results: all settings alike, at their medians. `None` where it would tell nothing: the settings of
/// one world are the dots of `tradeoff`, and where no two settings of a world get there, there is nothing to choose.
pub(in crate::report) fn of_results(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let all = variants.iter().map(|variant| (variant.info.strategy.as_str(), variant.info.settings.as_slice()));
    let naming = Naming::of(all);
    let mut panels: Vec<WorldPanel> = Vec::new();
    for variant in &variants {
        let world = Setting::in_short(Setting::of_world(&variant.info.settings));
        let mark = mark_of(variant, &naming);
        match panels.iter_mut().find(|panel| panel.title == world) {
            Some(panel) => panel.marks.push(mark),
            None => panels.push(WorldPanel { title: world, marks: vec![mark] }),
        }
    }
    let has_choice = |panel: &&WorldPanel| panel.marks.iter().filter(|mark| mark.time.is_some()).count() > 1;
    if !(2..=MOST_WORLDS).contains(&panels.len()) || panels.iter().filter(has_choice).count() < 2 {
        return None;
    }
    let key = naming.key();
    let load =
        LoadAxis { measure: "peak_pulls".to_owned(), unit: "pulls".to_owned(), at_most: None, time_at_most: None };
    let front = Front { panels, load: &load, time: "completion time".to_owned(), has_legend: false };
    let subtitle = format!(
        "{}; {key}medians; lines: 95 % interval of the median time, 5th to 95th percentile of the load",
        extent(&variants)
    );
    Some(draw(&front, &results.provenance, "What nothing beats in both time and load", &subtitle))
}

fn mark_of(variant: &VariantResults<'_>, naming: &Naming) -> Mark {
    let span = |measure: &str, ends: fn(&SummaryRow) -> (Option<f64>, Option<f64>)| {
        let row = variant.summary(measure)?;
        let value = row.median?;
        let (low, high) = ends(row);
        Some(Estimate { value, low: low.unwrap_or(value), high: high.unwrap_or(value) })
    };
    Mark {
        name: naming.name(&variant.info.strategy, &variant.info.settings),
        time: span("completion_s", |row| (row.median_ci95_low, row.median_ci95_high)),
        load: span("peak_pulls", |row| (row.p5, row.p95)).unwrap_or(Estimate { value: 0.0, low: 0.0, high: 0.0 }),
        style: MarkStyle::Keeps,
        weight: 1.0,
    }
}

/// The names of settings, as short as they can be, and what stands in them.
struct Naming {
    several_strategies: bool,
    /// The searched settings of each strategy, in the order of its names' values.
    keys: Vec<(String, Vec<String>)>,
}

impl Naming {
    fn of<'s>(all: impl Iterator<Item = (&'s str, &'s [Setting])>) -> Self {
        let mut keys: Vec<(String, Vec<String>)> = Vec::new();
        for (strategy, settings) in all {
            if !keys.iter().any(|(known, _)| known == strategy) {
                let names = settings.iter().filter(|setting| setting.is_of_strategy());
                keys.push((strategy.to_owned(), names.map(|setting| setting.name.clone()).collect()));
            }
        }
        Self { several_strategies: keys.len() > 1, keys }
    }

    /// The values of the settings, with the strategy where there are several.
    fn name(&self, strategy: &str, settings: &[Setting]) -> String {
        let values = settings.iter().filter(|setting| setting.is_of_strategy()).map(|setting| setting.value.as_str());
        let values = values.collect::<Vec<_>>().join(", ");
        match (self.several_strategies, values.is_empty()) {
            (_, true) => strategy.to_owned(),
            (true, false) => format!("{strategy} {values}"),
            (false, false) => values,
        }
    }

    /// What the values are of, for the subtitle.
    fn key(&self) -> String {
        let told = self.keys.iter().filter(|(_, names)| !names.is_empty()).map(|(strategy, names)| {
            let names = names.join(", ");
            if self.several_strategies { format!("{strategy} {names}") } else { names }
        });
        let told = told.collect::<Vec<_>>().join("; ");
        if told.is_empty() { told } else { format!("names: {told}; ") }
    }
}

fn draw(front: &Front<'_>, provenance: &Provenance, title: &str, subtitle: &str) -> Canvas {
    let count = front.panels.len().max(1);
    let columns = match count {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let inner = if count == 1 { 380.0 } else { 260.0 };
    let row = ABOVE + inner + BELOW;
    let top = if front.has_legend { TOP + 8.0 } else { TOP - 22.0 };
    let height = top + row * count.div_ceil(columns) as f64 + FOOTER;
    let mut canvas = page(provenance, title, subtitle, height);
    let labels = 58.0;
    let gap = 22.0;
    let width = (PAGE_WIDTH - 2.0 * MARGIN - gap * (columns - 1) as f64) / columns as f64;
    for (at, panel) in front.panels.iter().enumerate() {
        let left = MARGIN + (width + gap) * (at % columns) as f64 + labels;
        let above = top + row * (at / columns) as f64 + ABOVE;
        let right = left - labels + width - 6.0;
        let area = Area { left, top: above, right, bottom: above + inner };
        draw_panel(&mut canvas, front, panel, area);
    }
    canvas
}

/// What the looks mean, above the panels.
fn legend(canvas: &mut Canvas) {
    let mut left = MARGIN + 11.0;
    let y = TOP - 8.0;
    for (style, text) in [
        (MarkStyle::Chosen, "chosen"),
        (MarkStyle::Keeps, "keeps to the limits as far as known"),
        (MarkStyle::Out, "does not"),
    ] {
        dot(canvas, (left, y - 4.0), style, 1.0);
        write(canvas, text, (left + 15.0, y), SMALL, MUTED, Align::Left);
        left += 15.0 + text_width(text, SMALL, Weight::Regular) + 30.0;
    }
    dot(canvas, (left, y - 4.0), MarkStyle::Keeps, 0.35);
    write(canvas, "paler: fewer runs", (left + 15.0, y), SMALL, MUTED, Align::Left);
}

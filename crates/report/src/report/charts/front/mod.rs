//! Completion time against load: every setting at its time and its load, with a staircase through the Pareto-optimal
//! ones. There is one panel for each world, because a bigger fleet is not a worse setting.
//!
//! For a plan, the area beyond a limit is shaded, settings that exceed a limit are hollow, and settings that were
//! dropped early are paler, because their estimates rest on fewer runs.

mod mark;
mod panel;

use self::mark::{Mark, MarkStyle};
use self::panel::{FrontAxes, NOTE_LINE, WorldPanel, draw_panel};
use crate::report::plan::headings;
use crate::report::prelude::*;
use crate::results::{
    Candidate, CandidateStatus, Estimate, LoadAxis, PlanRecord, Question, Setting, SummaryRow,
    grouped,
};

/// Room below a panel's axis: tick labels, title, note.
const BELOW: f64 = 66.0;
/// Room above a panel: its world, and the title of its value axis.
const ABOVE: f64 = 46.0;

/// The charts of a plan with their names. A search with a limited number of tries also shows the exposure.
pub(in crate::report) fn charts(plan: &PlanRecord, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
    let mut charts = vec![(
        "front".to_owned(),
        of_plan(plan, "Completion time against load", sheet),
    )];
    if let Some(tuned) = &plan.tuned {
        let exposed = with_exposure_as_load(plan, tuned.exposure);
        charts.push((
            "exposure".to_owned(),
            of_plan(&exposed, "Completion time against exposure", sheet),
        ));
    }
    charts
}

/// A plan with the exposure instead of the load, and with the values of the front.
fn with_exposure_as_load(plan: &PlanRecord, measure: Measure) -> PlanRecord {
    let mut exposed = plan.clone();
    exposed.load = LoadAxis {
        measure,
        unit: "clusters".to_owned(),
        at_most: None,
        time_at_most: None,
    };
    for question in &mut exposed.questions {
        for candidate in &mut question.candidates {
            if let Some(place) = candidate.front {
                candidate.time = place.time.map(exactly);
                candidate.load = exactly(place.exposure);
            }
        }
    }
    exposed
}

/// An estimate without a range.
const fn exactly(value: f64) -> Estimate {
    Estimate {
        value,
        low: value,
        high: value,
    }
}

/// Returns whether a candidate is the current setting.
fn is_present(candidate: &Candidate) -> bool {
    candidate.front.is_some_and(|place| place.is_present)
}

/// Returns whether a candidate is labelled: if there are many settings, only those on the front are.
fn is_named(candidate: &Candidate) -> bool {
    let is_optimal = match candidate.front {
        Some(place) => place.is_optimal || place.time.is_none(),
        None => true,
    };
    is_optimal || candidate.standing == CandidateStatus::Best
}

/// The label of a candidate; empty if it has no label.
fn name_of(candidate: &Candidate, naming: &Naming) -> String {
    if is_present(candidate) {
        format!("present {}", candidate.strategy)
    } else if is_named(candidate) {
        naming.name(&candidate.strategy, &candidate.settings)
    } else {
        String::new()
    }
}

/// The panel for one world of a plan.
fn panel_of(question: &Question, naming: &Naming) -> WorldPanel {
    let runs = question.candidates.iter().map(|candidate| candidate.runs);
    let most = runs.max().unwrap_or(1).max(1);
    let mut marks = Vec::new();
    for candidate in &question.candidates {
        marks.push(Mark {
            name: name_of(candidate, naming),
            time: candidate.time,
            load: candidate.load,
            style: style_of(candidate.standing),
            weight: candidate.runs as f64 / most as f64,
        });
    }
    WorldPanel {
        title: question.world.clone(),
        marks,
    }
}

/// The names of a plan's searched settings.
fn naming_of(plan: &PlanRecord) -> Naming {
    let mut named: Vec<(&str, &[Setting])> = Vec::new();
    for question in &plan.questions {
        for candidate in &question.candidates {
            if !is_present(candidate) {
                named.push((&candidate.strategy, &candidate.settings));
            }
        }
    }
    Naming::of(named, |_| true)
}

/// The time that a plan minimises, in words; the median if it minimises something else.
fn time_words(plan: &PlanRecord) -> String {
    if plan.unit != "s" {
        return "time until ready (median)".to_owned();
    }
    match plan.objective.strip_prefix("reachable_ready_") {
        Some(statistic) => format!("time until ready ({statistic})"),
        None => plan.objective.replace('_', " "),
    }
}

/// The chart of a plan.
fn of_plan(plan: &PlanRecord, subject: &str, sheet: Sheet<'_>) -> Canvas {
    let naming = naming_of(plan);
    let panels: Vec<WorldPanel> = plan
        .questions
        .iter()
        .map(|question| panel_of(question, &naming))
        .collect();
    let key = if plan.tuned.is_some() {
        naming.short().key()
    } else {
        naming.key()
    };
    let axes = FrontAxes {
        load: &plan.load,
        time: time_words(plan),
        lists_unlabelled: plan.tuned.is_none(),
    };
    let subtitle = format!(
        "{key}{} runs; lines: range over runs; staircase: the settings that are Pareto-optimal",
        count(plan.runs as f64)
    );
    let mut findings = chosen(&plan.questions, &panels);
    if plan.tuned.is_some() {
        for finding in &mut findings {
            *finding = finding.replace("best setting", "best tried setting");
        }
    }
    let head = Head {
        subject,
        findings,
        note: subtitle,
    };
    let explained = if sheet.is_narrow() { 24.0 } else { 8.0 };
    let mut canvas = draw(&panels, &axes, sheet, &head, TOP + explained);
    explain(&mut canvas, is_certain(&plan.questions));
    canvas
}

/// The style of a setting's mark.
const fn style_of(standing: CandidateStatus) -> MarkStyle {
    match standing {
        CandidateStatus::Best => MarkStyle::Chosen,
        CandidateStatus::Breaks | CandidateStatus::Leaves | CandidateStatus::Unfinished => {
            MarkStyle::Exceeds
        }
        CandidateStatus::Equal | CandidateStatus::Slower | CandidateStatus::Undecided => {
            MarkStyle::Meets
        }
    }
}

/// Maximum number of worlds whose settings the title names.
const NAMED_WORLDS: usize = 4;

/// Returns true if the runs show that each chosen setting is the best.
fn is_certain(questions: &[Question]) -> bool {
    questions
        .iter()
        .all(|question| question.best.is_none() || question.is_best_shown)
}

/// The chosen setting of a world.
struct WorldChoice<'p> {
    name: &'p str,
    world: &'p str,
}

impl<'p> WorldChoice<'p> {
    /// Returns the chosen setting of a world. `None`: no setting of the world meets the limits.
    fn of(question: &Question, panel: &'p WorldPanel) -> Option<Self> {
        let best = question.best.as_ref()?;
        let at = question
            .candidates
            .iter()
            .position(|candidate| candidate.variant == *best)?;
        Some(Self {
            name: &panel.marks[at].name,
            world: &panel.title,
        })
    }
}

/// Findings: the chosen setting of each world, or the number of worlds with one.
fn chosen(questions: &[Question], panels: &[WorldPanel]) -> Vec<String> {
    let mut chosen: Vec<WorldChoice<'_>> = Vec::new();
    for (question, panel) in questions.iter().zip(panels) {
        chosen.extend(WorldChoice::of(question, panel));
    }
    let mut names = chosen.iter().map(|choice| choice.name).unique();
    let first = names.next();
    let second = names.next();
    let is_certain = is_certain(questions);
    let (best, doubt) = if is_certain {
        ("best setting that meets the limits", "")
    } else {
        ("best estimate", ", not certain")
    };
    match (panels.len(), chosen.len(), first, second) {
        (_, 0, ..) => vec!["No setting meets the limits".to_owned()],
        (1, _, Some(only), _) => vec![format!("{only} is the {best}{doubt}")],
        (worlds, all, Some(only), None) if all == worlds => {
            vec![format!(
                "{only} is the {best} in all {worlds} worlds{doubt}"
            )]
        }
        (worlds, all, ..) if all == worlds && all <= NAMED_WORLDS => {
            let each = chosen
                .iter()
                .map(|choice| format!("{} for {}", choice.name, choice.world))
                .join(", ");
            if is_certain {
                vec![
                    format!("Best settings that meet the limits: {each}"),
                    format!("Best settings: {each}"),
                ]
            } else {
                vec![format!("Best estimates{doubt}: {each}")]
            }
        }
        (worlds, all, ..) => vec![format!(
            "A setting meets the limits in {all} of {worlds} worlds{doubt}"
        )],
    }
}

/// Maximum number of worlds in the chart of plain results.
const MOST_WORLDS: usize = 12;

/// The chart of plain results: all settings at their medians. `None` for a single world, whose settings are the dots
/// of `tradeoff`, and if no world has two settings that finish.
pub(in crate::report) fn of_results(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let named: Vec<(&str, &[Setting])> = variants
        .iter()
        .map(|variant| (&*variant.info.strategy, &*variant.info.settings))
        .collect();
    let naming = Naming::of(named, Setting::is_of_strategy);
    let is_exposed = variants.iter().any(VariantResults::exposed);
    let (measure, unit) = if is_exposed {
        (Measure::ExposedTargets, "clusters")
    } else {
        (Measure::PeakPulls, "pulls")
    };
    let mut marks: Vec<(String, Mark)> = Vec::new();
    for variant in &variants {
        let world = Setting::in_short(Setting::of_world(&variant.info.settings));
        marks.push((world, mark_of(variant, &naming, measure)));
    }
    let mut panels: Vec<WorldPanel> = Vec::new();
    for (title, marks) in grouped(marks) {
        panels.push(WorldPanel { title, marks });
    }
    let with_choice = panels.iter().filter(|panel| panel.has_choice()).count();
    if !(2..=MOST_WORLDS).contains(&panels.len()) || with_choice < 2 {
        return None;
    }
    let key = naming.key();
    let load = LoadAxis {
        measure,
        unit: unit.to_owned(),
        at_most: None,
        time_at_most: None,
    };
    let axes = FrontAxes {
        load: &load,
        time: "completion time".to_owned(),
        lists_unlabelled: true,
    };
    let subtitle = format!(
        "{}; {key}medians; lines: 95% CI of the median time, p5–p95 of the load",
        extent(&variants)
    );
    let optimal: Vec<(usize, usize)> = panels
        .iter()
        .map(|panel| (mark::pareto_front(&panel.marks).len(), panel.marks.len()))
        .collect();
    let subject = if is_exposed {
        "Pareto-optimal settings: completion time against exposed clusters"
    } else {
        "Pareto-optimal settings: completion time against load"
    };
    let head = Head {
        subject,
        findings: findings::front(&optimal),
        note: subtitle,
    };
    Some(draw(&panels, &axes, results.sheet(), &head, TOP - 22.0))
}

/// The mark of a variant at its medians.
fn mark_of(variant: &VariantResults<'_>, naming: &Naming, measure: Measure) -> Mark {
    let mut mark = Mark {
        name: naming.name(&variant.info.strategy, &variant.info.settings),
        time: None,
        load: exactly(0.0),
        style: MarkStyle::Meets,
        weight: 1.0,
    };
    if let Some(row) = variant.summary(READY_TIME) {
        mark.time = median_within(row, row.median_ci95_low, row.median_ci95_high);
    }
    if let Some(row) = variant.summary(measure)
        && let Some(load) = median_within(row, row.p5, row.p95)
    {
        mark.load = load;
    }
    mark
}

/// The median of a measure with a range from `low` to `high`; a missing end is the median. `None` without a median.
fn median_within(row: &SummaryRow, low: Option<f64>, high: Option<f64>) -> Option<Estimate> {
    let value = row.median?;
    Some(Estimate {
        value,
        low: low.unwrap_or(value),
        high: high.unwrap_or(value),
    })
}

/// Short names of settings.
struct Naming {
    /// The strategies with their searched settings.
    keys: Vec<NameKey>,
    /// Selects the settings that are part of a name.
    shows: fn(&Setting) -> bool,
}

/// The searched settings of a strategy, in the order of the values in its names.
struct NameKey {
    strategy: String,
    settings: Vec<String>,
}

impl Naming {
    /// The naming of the given settings; each entry is a strategy with its settings.
    fn of(named: Vec<(&str, &[Setting])>, shows: fn(&Setting) -> bool) -> Self {
        let mut keys: Vec<NameKey> = Vec::new();
        for (strategy, settings) in named {
            if keys.iter().any(|key| key.strategy == strategy) {
                continue;
            }
            let mut shown: Vec<&Setting> = settings.iter().collect();
            shown.retain(|setting| shows(setting));
            keys.push(NameKey {
                strategy: strategy.to_owned(),
                settings: shown.iter().map(|setting| setting.name.clone()).collect(),
            });
        }
        Self { keys, shows }
    }

    /// Returns whether names need the strategy.
    fn has_several_strategies(&self) -> bool {
        self.keys.len() > 1
    }

    /// Removes the parts that all paths share from the names.
    fn short(mut self) -> Self {
        for key in &mut self.keys {
            let paths: Vec<&str> = key.settings.iter().map(String::as_str).collect();
            key.settings = headings(&paths);
        }
        self
    }

    /// The values of the settings, with the strategy if there are several.
    fn name(&self, strategy: &str, settings: &[Setting]) -> String {
        let mut values: Vec<&str> = Vec::new();
        for setting in settings {
            if (self.shows)(setting) {
                values.push(&setting.value);
            }
        }
        let values = values.join(", ");
        match (self.has_several_strategies(), values.is_empty()) {
            (_, true) => strategy.to_owned(),
            (true, false) => format!("{strategy} {values}"),
            (false, false) => values,
        }
    }

    /// The settings that the names contain, for the subtitle.
    fn key(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for NameKey { strategy, settings } in &self.keys {
            let names = settings.join(", ");
            if settings.is_empty() {
                continue;
            }
            parts.push(if self.has_several_strategies() {
                format!("{strategy} {names}")
            } else {
                names
            });
        }
        let parts = parts.join("; ");
        if parts.is_empty() {
            parts
        } else {
            format!("labels: {parts}; ")
        }
    }
}

/// Position and size of the panels of the worlds.
struct WorldLayout {
    columns: usize,
    width: f64,
    /// Height of a plot.
    inner: f64,
}

impl WorldLayout {
    /// Room for the labels of a value axis.
    const LABELS: f64 = 58.0;
    /// Room between panels.
    const GAP: f64 = 22.0;

    /// The layout of panels for the given number of worlds.
    fn of(sheet: Sheet<'_>, worlds: usize) -> Self {
        let wished = match worlds {
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        let columns = wished.min(if sheet.is_narrow() { 1 } else { 3 });
        Self {
            columns,
            width: (sheet.inner() - Self::GAP * (columns - 1) as f64) / columns as f64,
            inner: if worlds == 1 { 380.0 } else { 260.0 },
        }
    }

    /// The area of the panel at index `at`, whose plot begins at height `top`.
    fn area(&self, at: usize, top: f64) -> Area {
        let column = (at % self.columns) as f64;
        let left = MARGIN + (self.width + Self::GAP) * column + Self::LABELS;
        Area {
            left,
            top,
            right: left - Self::LABELS + self.width - 6.0,
            bottom: top + self.inner,
        }
    }
}

/// Draws the panels of all worlds below `top`.
fn draw(
    panels: &[WorldPanel],
    axes: &FrontAxes<'_>,
    sheet: Sheet<'_>,
    head: &Head<'_>,
    top: f64,
) -> Canvas {
    let worlds = panels.len().max(1);
    let layout = WorldLayout::of(sheet, worlds);
    let mut lines = 1;
    for (at, panel) in panels.iter().enumerate() {
        lines = lines.max(panel.note_lines(layout.area(at, 0.0)));
    }
    let row = ABOVE + layout.inner + BELOW + NOTE_LINE * (lines - 1) as f64;
    let rows = worlds.div_ceil(layout.columns) as f64;
    let mut canvas = page(sheet, head, top + row * rows + FOOTER);
    for (at, panel) in panels.iter().enumerate() {
        let row_top = top + row * (at / layout.columns) as f64;
        draw_panel(&mut canvas, axes, panel, layout.area(at, row_top + ABOVE));
    }
    canvas
}

/// Draws a legend of the marks' styles above the panels.
fn explain(canvas: &mut Canvas, is_certain: bool) {
    let mut left = MARGIN + 11.0;
    let mut y = TOP - 8.0;
    for (style, opacity, text) in [
        (
            MarkStyle::Chosen,
            1.0,
            if is_certain {
                "chosen"
            } else {
                "best estimate"
            },
        ),
        (MarkStyle::Meets, 1.0, "meets the limits so far"),
        (MarkStyle::Exceeds, 1.0, "exceeds a limit or did not finish"),
        (MarkStyle::Meets, 0.35, "paler: fewer runs"),
    ] {
        if left + 15.0 + text_width(text, SMALL, Weight::Regular) > canvas.width - MARGIN {
            (left, y) = (MARGIN + 11.0, y + 17.0);
        }
        style.dot(canvas, (left, y - 4.0), opacity);
        write(
            canvas,
            text,
            (left + 15.0, y),
            TextStyle::new(SMALL, MUTED),
            Align::Left,
        );
        left += 15.0 + text_width(text, SMALL, Weight::Regular) + 30.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a world in which the second setting is the best.
    fn world(title: &str, is_best_shown: bool) -> (Question, WorldPanel) {
        let span = Estimate {
            value: 1.0,
            low: 1.0,
            high: 1.0,
        };
        let names = ["5%", "10%"];
        let candidate = |name: &str| Candidate {
            variant: name.to_owned(),
            strategy: name.to_owned(),
            settings: Vec::new(),
            standing: CandidateStatus::Best,
            reason: String::new(),
            runs: 1,
            round: 1,
            time: Some(span),
            value: None,
            slower_by: None,
            load: span,
            limits: Vec::new(),
            unfinished: Vec::new(),
            front: None,
        };
        let mark = |name: &str| Mark {
            name: name.to_owned(),
            time: Some(span),
            load: span,
            style: MarkStyle::Chosen,
            weight: 1.0,
        };
        let question = Question {
            world: title.to_owned(),
            answers: Vec::new(),
            best: Some("10%".to_owned()),
            is_best_shown,
            bound: String::new(),
            candidates: names.map(candidate).into(),
        };
        (
            question,
            WorldPanel {
                title: title.to_owned(),
                marks: names.map(mark).into(),
            },
        )
    }

    #[test]
    fn an_unconfirmed_choice_is_called_an_estimate() {
        let title = |worlds: &[(&str, bool)]| {
            let (questions, panels): (Vec<_>, Vec<_>) = worlds
                .iter()
                .map(|&(title, shown)| world(title, shown))
                .unzip();
            chosen(&questions, &panels)[0].clone()
        };
        // The best of each strategy is marked; the title names the best of all.
        assert_eq!(
            title(&[("", true)]),
            "10% is the best setting that meets the limits"
        );
        assert_eq!(
            title(&[("", false)]),
            "10% is the best estimate, not certain"
        );
        assert_eq!(
            title(&[("a", true), ("b", false)]),
            "10% is the best estimate in all 2 worlds, not certain"
        );
    }
}

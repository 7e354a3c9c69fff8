//! Completion time against load: every setting at its time and its load, with a staircase through the Pareto-optimal
//! ones. One panel for each world, as a bigger fleet is not a worse setting.
//!
//! For a plan, the area beyond a limit is shaded, settings that exceed a limit are hollow, and settings that were
//! dropped early are paler, as their estimates rest on fewer runs.

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

/// The charts of a plan with their names. A search within a number of tries shows the exposure, too.
pub(in crate::report) fn charts(plan: &PlanRecord, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
    let mut charts = vec![(
        "front".to_owned(),
        of_plan(plan, "Completion time against load", sheet),
    )];
    if let Some(tuned) = &plan.tuned {
        let unit = "clusters".to_owned();
        let load = LoadAxis {
            measure: tuned.exposure.clone(),
            unit,
            at_most: None,
            time_at_most: None,
        };
        let mut exposed = PlanRecord {
            load,
            ..plan.clone()
        };
        for candidate in exposed
            .questions
            .iter_mut()
            .flat_map(|question| &mut question.candidates)
        {
            let span = |value: f64| Estimate {
                value,
                low: value,
                high: value,
            };
            if let Some(place) = candidate.front {
                (candidate.time, candidate.load) = (place.time.map(span), span(place.exposure));
            }
        }
        charts.push((
            "exposure".to_owned(),
            of_plan(&exposed, "Completion time against exposure", sheet),
        ));
    }
    charts
}

/// The chart of a plan.
fn of_plan(plan: &PlanRecord, subject: &str, sheet: Sheet<'_>) -> Canvas {
    let all = plan
        .questions
        .iter()
        .flat_map(|question| &question.candidates);
    let is_present = |candidate: &Candidate| candidate.front.is_some_and(|place| place.is_present);
    let naming = Naming::of(
        all.filter(|candidate| !is_present(candidate))
            .map(|candidate| (candidate.strategy.as_str(), candidate.settings.as_slice())),
        |_| true,
    );
    let panels = plan.questions.iter().map(|question| {
        let most = question
            .candidates
            .iter()
            .map(|candidate| candidate.runs)
            .max()
            .unwrap_or(1)
            .max(1);
        // Of many settings, only those on the front have room for a name.
        let is_named = |candidate: &Candidate| {
            let is_optimal = candidate
                .front
                .is_none_or(|place| place.is_optimal || place.time.is_none());
            is_optimal || candidate.standing == CandidateStatus::Best
        };
        let name = |candidate: &Candidate| match (is_present(candidate), is_named(candidate)) {
            (true, _) => format!("present {}", candidate.strategy),
            (false, true) => naming.name(&candidate.strategy, &candidate.settings),
            (false, false) => String::new(),
        };
        let marks = question.candidates.iter().map(|candidate| Mark {
            name: name(candidate),
            time: candidate.time,
            load: candidate.load,
            style: style_of(candidate.standing),
            weight: candidate.runs as f64 / most as f64,
        });
        WorldPanel {
            title: question.world.clone(),
            marks: marks.collect(),
        }
    });
    let panels: Vec<WorldPanel> = panels.collect();
    let key = if plan.tuned.is_some() {
        naming.short().key()
    } else {
        naming.key()
    };
    let time = match plan
        .objective
        .strip_prefix("reachable_ready_")
        .filter(|_| plan.unit == "s")
    {
        Some(statistic) => format!("time until ready ({statistic})"),
        None if plan.unit == "s" => plan.objective.replace('_', " "),
        None => "time until ready (median)".to_owned(),
    };
    let axes = FrontAxes {
        load: &plan.load,
        time,
        lists_unlabelled: plan.tuned.is_none(),
    };
    let subtitle = format!(
        "{key}{} runs; lines: range over runs; staircase: the settings that are Pareto-optimal",
        count(plan.runs as f64)
    );
    let mut findings = chosen(&plan.questions, &panels);
    if plan.tuned.is_some() {
        findings
            .iter_mut()
            .for_each(|finding| *finding = finding.replace("best setting", "best tried setting"));
    }
    let head = Head {
        subject,
        findings,
        note: subtitle,
    };
    let mut canvas = draw(
        &panels,
        &axes,
        sheet,
        &head,
        TOP + if sheet.is_narrow() { 24.0 } else { 8.0 },
    );
    explain(&mut canvas, is_certain(&plan.questions));
    canvas
}

const fn style_of(standing: CandidateStatus) -> MarkStyle {
    match standing {
        CandidateStatus::Best => MarkStyle::Chosen,
        CandidateStatus::Breaks | CandidateStatus::Unfinished => MarkStyle::Exceeds,
        CandidateStatus::Equal | CandidateStatus::Slower | CandidateStatus::Undecided => {
            MarkStyle::Meets
        }
    }
}

/// Most worlds whose settings the title names.
const NAMED_WORLDS: usize = 4;

/// Returns true if the runs show that each setting that a plan chose is the best.
fn is_certain(questions: &[Question]) -> bool {
    questions
        .iter()
        .all(|question| question.best.is_none() || question.is_best_shown)
}

/// Findings: the setting that a plan chose in each world, or the number of worlds in which it chose one.
fn chosen(questions: &[Question], panels: &[WorldPanel]) -> Vec<String> {
    let choice = |(question, panel): (&Question, &WorldPanel)| {
        let best = question.best.as_ref()?;
        let at = question
            .candidates
            .iter()
            .position(|candidate| candidate.variant == *best)?;
        Some((panel.marks[at].name.clone(), panel.title.clone()))
    };
    let chosen: Vec<(String, String)> = questions.iter().zip(panels).filter_map(choice).collect();
    let mut names = chosen.iter().map(|(name, _)| name).unique();
    let (first, second) = (names.next(), names.next());
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
                .map(|(name, world)| format!("{name} for {world}"))
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

/// Most worlds in the chart of plain results.
const MOST_WORLDS: usize = 12;

/// The chart of plain results: all settings at their medians. `None` for a single world, whose settings are the dots
/// of `tradeoff`, and where fewer than two settings of a world finish.
pub(in crate::report) fn of_results(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let all = variants.iter().map(|variant| {
        (
            variant.info.strategy.as_str(),
            variant.info.settings.as_slice(),
        )
    });
    let naming = Naming::of(all, Setting::is_of_strategy);
    let (measure, unit) = match variants.iter().any(VariantResults::exposed) {
        true => ("exposed_targets", "clusters"),
        false => ("peak_pulls", "pulls"),
    };
    let world =
        |variant: &VariantResults<'_>| Setting::in_short(Setting::of_world(&variant.info.settings));
    let worlds = grouped(
        variants
            .iter()
            .map(|variant| (world(variant), mark_of(variant, &naming, measure))),
    );
    let panels: Vec<WorldPanel> = worlds
        .into_iter()
        .map(|(title, marks)| WorldPanel { title, marks })
        .collect();
    let has_choice = |panel: &&WorldPanel| {
        panel
            .marks
            .iter()
            .filter(|mark| mark.time.is_some())
            .count()
            > 1
    };
    if !(2..=MOST_WORLDS).contains(&panels.len()) || panels.iter().filter(has_choice).count() < 2 {
        return None;
    }
    let key = naming.key();
    let load = LoadAxis {
        measure: measure.to_owned(),
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
    let subject = match measure {
        "peak_pulls" => "Pareto-optimal settings: completion time against load",
        _ => "Pareto-optimal settings: completion time against exposed clusters",
    };
    let head = Head {
        subject,
        findings: findings::front(&optimal),
        note: subtitle,
    };
    Some(draw(&panels, &axes, results.sheet(), &head, TOP - 22.0))
}

fn mark_of(variant: &VariantResults<'_>, naming: &Naming, measure: &str) -> Mark {
    let span = |measure: &str, ends: fn(&SummaryRow) -> (Option<f64>, Option<f64>)| {
        let row = variant.summary(measure)?;
        let value = row.median?;
        let (low, high) = ends(row);
        Some(Estimate {
            value,
            low: low.unwrap_or(value),
            high: high.unwrap_or(value),
        })
    };
    Mark {
        name: naming.name(&variant.info.strategy, &variant.info.settings),
        time: span(READY_TIME, |row| {
            (row.median_ci95_low, row.median_ci95_high)
        }),
        load: span(measure, |row| (row.p5, row.p95)).unwrap_or(Estimate {
            value: 0.0,
            low: 0.0,
            high: 0.0,
        }),
        style: MarkStyle::Meets,
        weight: 1.0,
    }
}

/// Short names of settings.
struct Naming {
    several_strategies: bool,
    /// The searched settings of each strategy, in the order of its names' values.
    keys: Vec<(String, Vec<String>)>,
    /// The settings that names consist of.
    shows: fn(&Setting) -> bool,
}

impl Naming {
    fn of<'s>(
        all: impl Iterator<Item = (&'s str, &'s [Setting])>,
        shows: fn(&Setting) -> bool,
    ) -> Self {
        let names = |settings: &[Setting]| -> Vec<String> {
            settings
                .iter()
                .filter(|setting| shows(setting))
                .map(|setting| setting.name.clone())
                .collect()
        };
        let firsts = all.unique_by(|(strategy, _)| *strategy);
        let keys: Vec<_> = firsts
            .map(|(strategy, settings)| (strategy.to_owned(), names(settings)))
            .collect();
        Self {
            several_strategies: keys.len() > 1,
            keys,
            shows,
        }
    }

    /// With names that leave out what all paths share.
    fn short(mut self) -> Self {
        for (_, names) in &mut self.keys {
            *names = headings(&names.iter().map(String::as_str).collect::<Vec<_>>());
        }
        self
    }

    /// The values of the settings, with the strategy where there are several.
    fn name(&self, strategy: &str, settings: &[Setting]) -> String {
        let values = settings
            .iter()
            .filter(|setting| (self.shows)(setting))
            .map(|setting| &setting.value)
            .join(", ");
        match (self.several_strategies, values.is_empty()) {
            (_, true) => strategy.to_owned(),
            (true, false) => format!("{strategy} {values}"),
            (false, false) => values,
        }
    }

    /// The settings that the names consist of, for the subtitle.
    fn key(&self) -> String {
        let part = |(strategy, names): &(String, Vec<String>)| {
            let names = names.join(", ");
            if self.several_strategies {
                format!("{strategy} {names}")
            } else {
                names
            }
        };
        let parts = self
            .keys
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(part)
            .join("; ");
        if parts.is_empty() {
            parts
        } else {
            format!("labels: {parts}; ")
        }
    }
}

fn draw(
    panels: &[WorldPanel],
    axes: &FrontAxes<'_>,
    sheet: Sheet<'_>,
    head: &Head<'_>,
    top: f64,
) -> Canvas {
    let worlds = panels.len().max(1);
    let columns = match worlds {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
    .min(if sheet.is_narrow() { 1 } else { 3 });
    let inner = if worlds == 1 { 380.0 } else { 260.0 };
    let labels = 58.0;
    let gap = 22.0;
    let width = (sheet.inner() - gap * (columns - 1) as f64) / columns as f64;
    let place = |at: usize, above: f64| {
        let left = MARGIN + (width + gap) * (at % columns) as f64 + labels;
        Area {
            left,
            top: above,
            right: left - labels + width - 6.0,
            bottom: above + inner,
        }
    };
    let lines = panels
        .iter()
        .enumerate()
        .map(|(at, panel)| panel.note_lines(place(at, 0.0)))
        .max()
        .unwrap_or(1);
    let row = ABOVE + inner + BELOW + NOTE_LINE * (lines - 1) as f64;
    let height = top + row * worlds.div_ceil(columns) as f64 + FOOTER;
    let mut canvas = page(sheet, head, height);
    for (at, panel) in panels.iter().enumerate() {
        let area = place(at, top + row * (at / columns) as f64 + ABOVE);
        draw_panel(&mut canvas, axes, panel, area);
    }
    canvas
}

/// Explains the styles, above the panels.
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
        write(canvas, text, (left + 15.0, y), SMALL, MUTED, Align::Left);
        left += 15.0 + text_width(text, SMALL, Weight::Regular) + 30.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world whose best of these settings is the second.
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
    fn a_choice_that_the_runs_do_not_show_is_an_estimate() {
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

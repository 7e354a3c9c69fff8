//! What a plan found, in words: the answer for each world with how sure it is, every candidate, and the settings to
//! paste.

mod paste;
mod table;

use std::collections::BTreeSet;
use std::path::Path;

use super::charts::front;
use super::format::{RateUnit, count, number, time};
use super::table::wrapped;
use super::{CHARTS_FOLDER, ReportError, write_chart};
use crate::results::{
    Candidate, CandidateStatus, Limit, PLAN_FILE, PlanRecord, Provenance, Question, Statistic, StrategyAnswer,
};

/// The file that holds [`plan_text`] in a plan's folder.
const TEXT_FILE: &str = "plan.txt";
/// Width of that file's lines.
const TEXT_WIDTH: usize = 100;

/// Draws the chart of a plan's folder, and writes the plan in words beside it.
///
/// # Errors
/// When the folder holds no plan, or the file system refuses.
pub fn draw_plan(folder: &Path) -> Result<(), ReportError> {
    let missing = |file: &str| ReportError::NoResults { path: folder.join(file) };
    let provenance = Provenance::read(folder)?.ok_or_else(|| missing(crate::results::PROVENANCE_FILE))?;
    let plan = PlanRecord::read(folder)?.ok_or_else(|| missing(PLAN_FILE))?;
    let charts = folder.join(CHARTS_FOLDER);
    let failed =
        |path: &Path, error: &std::io::Error| ReportError::Write { path: path.to_owned(), reason: error.to_string() };
    std::fs::create_dir_all(&charts).map_err(|error| failed(&charts, &error))?;
    write_chart(&charts, "front", &front::of_plan(&plan, &provenance))?;
    let path = folder.join(TEXT_FILE);
    std::fs::write(&path, plan_text(&plan, TEXT_WIDTH)).map_err(|error| failed(&path, &error))
}

/// The plan in words: for each world the answer, how sure it is, all candidates, and what to paste.
#[must_use]
pub fn plan_text(plan: &PlanRecord, width: usize) -> String {
    let mut text = head(plan, width);
    for question in &plan.questions {
        text.push('\n');
        if !question.world.is_empty() {
            text.push_str(&format!("{}\n", question.world));
        }
        text.push_str(&answers(plan, question, width));
        text.push('\n');
        text.push_str(&table::candidates(plan, question));
    }
    text.push('\n');
    text.push_str(&how_sure(plan, width));
    text.push_str(&effort(plan, width));
    text.push_str(&paste::snippets(plan, width));
    text
}

fn head(plan: &PlanRecord, width: usize) -> String {
    let limits: Vec<String> =
        plan.limits.iter().enumerate().map(|(at, limit)| format!("[{}] {limit}", at + 1)).collect();
    let limits = if limits.is_empty() { "no limits".to_owned() } else { format!("limits {}", limits.join(", ")) };
    wrapped(&format!("Least {}; {limits}.", plan.fastest), width, "  ")
}

/// The best of all, and of each strategy where there are several.
fn answers(plan: &PlanRecord, question: &Question, width: usize) -> String {
    let several = question.answers.len() > 1;
    let mut text = String::new();
    for answer in &question.answers {
        let is_best = several && answer.variant.is_some() && answer.variant == question.best;
        let mark = if is_best { " (best of all)" } else { "" };
        text.push_str(&wrapped(&sentence(plan, question, answer, mark), width, "  "));
    }
    text
}

fn candidate<'q>(question: &'q Question, variant: &str) -> Option<&'q Candidate> {
    question.candidates.iter().find(|candidate| candidate.variant == variant)
}

/// A candidate's name below the heading of its world.
fn name(candidate: &Candidate) -> String {
    format!("{} {}", candidate.strategy, candidate.setting()).trim_end().to_owned()
}

fn sentence(plan: &PlanRecord, question: &Question, answer: &StrategyAnswer, mark: &str) -> String {
    let Some((found, kept)) = answer.variant.as_ref().and_then(|variant| candidate(question, variant)).zip(answer.kept)
    else {
        let closest = answer.closest.as_ref().and_then(|variant| candidate(question, variant));
        let closest =
            closest.map(|closest| format!("; closest comes {}, which {}", name(closest), failing(plan, closest)));
        // Without a second setting there is none to be close.
        let of_strategy = question.candidates.iter().filter(|candidate| candidate.strategy == answer.strategy);
        let tried: Vec<&Candidate> = of_strategy.collect();
        if let [only] = tried[..] {
            return format!("{}: {}.", name(only), failing(plan, only));
        }
        if tried.iter().all(|candidate| candidate.standing == CandidateStatus::Unfinished) {
            let held: BTreeSet<&str> = tried.iter().map(|candidate| candidate.reason.as_str()).collect();
            let held = held.into_iter().filter(|rule| !rule.is_empty()).collect::<Vec<_>>().join(" or ");
            let held = if held.is_empty() { held } else { format!(", held by {held}") };
            return format!("{}: each setting has a run that never got there{held}.", answer.strategy);
        }
        return format!("{}: no setting keeps to the limits{}.", answer.strategy, closest.unwrap_or_default());
    };
    let at = found.time.map(|span| time(span.value)).unwrap_or_default();
    let mut text = format!("{}{mark}: {} {at}", name(found), plan.fastest);
    if !plan.limits.is_empty() {
        text.push_str(&format!(
            "; kept to all limits in {} of {} runs: with {} confidence at least {} of all runs do",
            kept.kept,
            kept.runs,
            percent(plan.confidence),
            percent_down(kept.share_at_least),
        ));
    }
    if !answer.is_decided {
        text.push_str("; not certain: other settings were not told apart from it, or its limits not confirmed");
    }
    text.push('.');
    text
}

/// Why a candidate is out, with the value.
fn failing(plan: &PlanRecord, candidate: &Candidate) -> String {
    match candidate.standing {
        CandidateStatus::Unfinished if candidate.reason.is_empty() => "has a run that never got there".to_owned(),
        CandidateStatus::Unfinished => format!("has a run that never got there, held by {}", candidate.reason),
        _ => {
            let limit = plan.limits.iter().position(|limit| *limit == candidate.reason);
            let value = limit.and_then(|at| {
                let (value, _) = candidate.limits.get(at)?;
                let unit = Limit::parse(&plan.limits[at]).ok()?.measure().unit;
                Some(format!(" with {}", in_unit((*value)?, unit)))
            });
            format!("breaks {}{}", candidate.reason, value.unwrap_or_default())
        }
    }
}

fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" => time(value),
        "bytes/s" => RateUnit::for_max(value).text(value),
        "bytes" => format!("{} GB", number(value / 1e9)),
        "1" => format!("{} %", number(value * 100.0)),
        _ => count(value),
    }
}

/// With a space that no line ends at.
fn percent(share: f64) -> String {
    format!("{}\u{a0}%", number(share * 100.0))
}

/// A whole percentage that promises no more than the share.
fn percent_down(share: f64) -> String {
    format!("{:.0}\u{a0}%", (share * 100.0).floor())
}

/// What the words mean, and what few runs cannot say.
fn how_sure(plan: &PlanRecord, width: usize) -> String {
    let confidence = percent(plan.confidence);
    let found = || plan.questions.iter().flat_map(|question| &question.answers).filter(|a| a.variant.is_some());
    let mut text = String::new();
    if found().any(|answer| answer.is_decided) {
        let whose = if found().all(|answer| answer.is_decided) { "each answer" } else { "each answer that is certain" };
        let zone = percent(plan.indifference);
        let kept = if plan.limits.is_empty() { "" } else { " that keeps to the limits" };
        let promise = format!(
            "With {confidence} confidence in {whose}, no setting{kept} is faster than the best by more than {zone}."
        );
        text.push_str(&wrapped(&promise, width, ""));
    }
    let columns = format!(
        "Slower by: mean difference to the best in the same replicates, with its {confidence} interval. Times and loads \
         are those of few runs."
    );
    text.push_str(&wrapped(&columns, width, ""));
    for limit in plan.limits.iter().filter_map(|limit| Limit::parse(limit).ok()) {
        if let Some(Statistic::Quantile(p)) = limit.demand()
            && p > 0.5
        {
            // Without a run beyond it, n runs say that at least a share p keeps to it when p^n <= 1 - confidence.
            let runs = ((1.0 - plan.confidence).ln() / p.ln()).ceil();
            let note = format!(
                "`{limit}` is judged by the runs there are; that it holds for {} of all runs takes {} runs without one \
                 beyond it (`confirm: {runs}`).",
                percent(p),
                count(runs)
            );
            text.push_str(&wrapped(&note, width, ""));
        }
    }
    text
}

fn effort(plan: &PlanRecord, width: usize) -> String {
    let times = plan.exhaustive_runs as f64 / plan.runs.max(1) as f64;
    let mut text = format!(
        "{} runs; all candidates with {} replicates each take {}, {times:.1} times as many.",
        count(plan.runs as f64),
        plan.replicates,
        count(plan.exhaustive_runs as f64),
    );
    if let Some(most) = plan.stopped_at {
        text.push_str(&format!(" The search was stopped by its budget of {} runs.", count(most as f64)));
    }
    if let Some(exhaustive) = &plan.exhaustive {
        let agreed = exhaustive.answers.iter().filter(|(_, agrees)| *agrees).count();
        text.push_str(&format!(
            " The exhaustive search, {} runs, agrees in {agreed} of {} answers",
            count(exhaustive.runs as f64),
            exhaustive.answers.len()
        ));
        let found = plan.questions.iter().flat_map(|question| &question.answers);
        for (answer, (chosen, agrees)) in found.zip(&exhaustive.answers) {
            let shown = |variant: &Option<String>| variant.clone().unwrap_or_else(|| "no setting".to_owned());
            if answer.variant != *chosen {
                let how = if *agrees { "as good as" } else { "NOT" };
                text.push_str(&format!("; {how} {}: it chose {}", shown(&answer.variant), shown(chosen)));
            }
        }
        text.push('.');
    }
    wrapped(&text, width, "")
}

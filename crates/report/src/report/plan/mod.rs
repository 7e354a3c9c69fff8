//! A plan in words: the answer for each world with its confidence, every candidate, and the settings to paste.

mod front;
mod snippets;
mod table;

pub(in crate::report) use front::headings;

use super::format::{count, in_unit, percent, time};
use super::limits::of_single_runs;
use super::wrap::wrapped;
use crate::results::{
    Candidate, CandidateStatus, ExhaustiveSearch, Limit, PlanRecord, Question, Statistic,
    StrategyAnswer,
};
use fleetsim_units::counted;

/// Maximum number of listed candidates with unfinished runs.
const LOSING_MAX: usize = 12;

/// The plan in words: for each world the answer with its confidence and all candidates, then the settings to paste.
#[must_use]
pub fn plan_text(plan: &PlanRecord, width: usize) -> String {
    let mut text = head(plan, width);
    for question in &plan.questions {
        text.push('\n');
        if !question.world.is_empty() {
            text.push_str(&format!("{}\n", question.world));
        }
        text.push_str(&answers(plan, question, width));
        if !question.bound.is_empty() {
            let bound = format!("What holds the best setting back: {}.", question.bound);
            text.push_str(&wrapped(&bound, width, "  "));
        }
        text.push('\n');
        match &plan.tuned {
            Some(tuned) => text.push_str(&front::front(plan, tuned, question, width)),
            None => {
                text.push_str(&table::candidates(plan, question));
                text.push_str(&losing(question, width));
            }
        }
    }
    text.push('\n');
    text.push_str(&how_sure(plan, width));
    text.push_str(&effort(plan, width));
    text.push_str(&snippets::snippets(plan, width));
    text
}

/// The objective and the limits.
fn head(plan: &PlanRecord, width: usize) -> String {
    let limits: Vec<String> = plan
        .limits
        .iter()
        .enumerate()
        .map(|(at, limit)| format!("[{}] {limit}", at + 1))
        .collect();
    let limits = if limits.is_empty() {
        "No limits.".to_owned()
    } else {
        format!("Limits: {}.", limits.join(", "))
    };
    let verb = if plan.is_maximised {
        "Maximise"
    } else {
        "Minimise"
    };
    let allowed = if plan.allowed_left.is_none() {
        String::new()
    } else {
        format!(" {} may stay behind.", plan.allowed_left.text())
    };
    wrapped(
        &format!("{verb} {}. {limits}{allowed}", plan.objective),
        width,
        "  ",
    )
}

/// The best setting of each strategy, with a mark on the best overall.
fn answers(plan: &PlanRecord, question: &Question, width: usize) -> String {
    let several = question.answers.len() > 1;
    let mut text = String::new();
    for answer in &question.answers {
        let is_best = several && answer.variant.is_some() && answer.variant == question.best;
        let mark = match (is_best, question.is_best_shown) {
            (false, _) => "",
            (true, true) => " (best overall)",
            (true, false) => " (best overall by its estimate, not certain)",
        };
        text.push_str(&wrapped(
            &sentence(plan, question, answer, mark),
            width,
            "  ",
        ));
    }
    text
}

/// The candidate of a variant.
fn candidate<'q>(question: &'q Question, variant: &str) -> Option<&'q Candidate> {
    question
        .candidates
        .iter()
        .find(|candidate| candidate.variant == variant)
}

/// Returns whether the best setting of a world is uncertain.
fn is_open(question: &Question) -> bool {
    question.best.is_some() && !question.is_decided()
}

/// A candidate's name, as used below the heading of its world.
fn name(candidate: &Candidate) -> String {
    let setting = match candidate.front {
        Some(_) => front::setting(candidate),
        None => candidate.setting(),
    };
    format!("{} {setting}", candidate.strategy)
        .trim_end()
        .to_owned()
}

/// The answer of a strategy, with a mark after its setting.
fn sentence(plan: &PlanRecord, question: &Question, answer: &StrategyAnswer, mark: &str) -> String {
    let chosen = answer.variant.as_ref();
    let chosen = chosen.and_then(|variant| candidate(question, variant));
    let Some((found, kept)) = chosen.zip(answer.kept) else {
        return nothing_found(plan, question, answer);
    };
    let at = found.time.map(|span| time(span.value)).unwrap_or_default();
    let objective = match (plan.unit.as_str(), found.value) {
        ("s", _) => format!("{} {at}", plan.objective),
        (unit, Some(value)) => format!(
            "{} {}, ready in {at} (median)",
            plan.objective,
            in_unit(value.value, unit)
        ),
        (_, None) => format!("ready in {at} (median)"),
    };
    let mut text = if answer.is_decided {
        format!("{}{mark}: {objective}.", name(found))
    } else {
        let runs = of_strategy(question, answer).map(|candidate| candidate.runs);
        let runs = counted(runs.sum::<u64>(), "run");
        let strategy = &answer.strategy;
        format!(
            "{strategy}: not certain after {runs}. The best estimate is {}{mark}: {objective}.",
            name(found)
        )
    };
    if !plan.limits.is_empty() {
        let limits = limits_of(plan);
        let which = of_single_runs(&limits.iter().collect::<Vec<_>>(), "all limits");
        text.push_str(&format!(
            " It met {which} in {} of {}; with {} confidence, at least {} of all runs do.",
            kept.kept,
            counted(kept.runs, "run"),
            percent(plan.confidence),
            percent_down(kept.share_at_least),
        ));
    }
    text + &answer.reach.note() + &doubts(plan, question, answer)
}

/// The limits of a plan.
fn limits_of(plan: &PlanRecord) -> Vec<Limit> {
    plan.limits
        .iter()
        .filter_map(|limit| Limit::parse(limit).ok())
        .collect()
}

/// The candidates of a strategy.
fn of_strategy<'q>(
    question: &'q Question,
    answer: &StrategyAnswer,
) -> impl Iterator<Item = &'q Candidate> {
    question
        .candidates
        .iter()
        .filter(|candidate| candidate.strategy == answer.strategy)
}

/// The reasons why an answer is uncertain.
fn doubts(plan: &PlanRecord, question: &Question, answer: &StrategyAnswer) -> String {
    let mut open: Vec<String> = Vec::new();
    for candidate in of_strategy(question, answer) {
        if candidate.standing == CandidateStatus::Undecided {
            open.push(name(candidate));
        }
    }
    let mut doubts = Vec::new();
    if !answer.is_confirmed {
        doubts.push("its runs do not show yet that it meets all limits".to_owned());
    }
    match open.as_slice() {
        [] => {}
        [first, second, _, more @ ..] if !more.is_empty() => {
            doubts.push(format!(
                "{first}, {second} and {} others may be better",
                more.len() + 1
            ));
        }
        all => doubts.push(format!("{} may be better", all.join(", "))),
    }
    if doubts.is_empty() {
        return String::new();
    }
    format!(
        " With {} confidence, {}.",
        percent(plan.confidence),
        doubts.join(", and ")
    )
}

/// The reason why a strategy has no answer.
fn nothing_found(plan: &PlanRecord, question: &Question, answer: &StrategyAnswer) -> String {
    let tried: Vec<&Candidate> = of_strategy(question, answer).collect();
    let setting = if plan.tuned.is_some() {
        "setting that was tried"
    } else {
        "setting"
    };
    if let [only] = tried[..] {
        let colon = if only.standing == CandidateStatus::Unfinished {
            ":"
        } else {
            ""
        };
        return format!("{}{colon} {}.", name(only), failing(plan, only));
    }
    let mut standings = tried.iter().map(|candidate| candidate.standing);
    if standings.all(|standing| standing == CandidateStatus::Unfinished) {
        let mut rules: Vec<&str> = tried.iter().map(|tried| tried.reason.as_str()).collect();
        rules.retain(|rule| !rule.is_empty());
        rules.sort_unstable();
        rules.dedup();
        let rules = rules.join(" or ");
        return format!(
            "{}: no {setting} finishes in every run{}. If some clusters may stay behind, write `minimise: t99_median`.",
            answer.strategy,
            blocked_by(&rules)
        );
    }
    let closest = answer.closest.as_ref();
    let closest = match closest.and_then(|variant| candidate(question, variant)) {
        Some(closest) => format!(
            "; the closest, {}, {}",
            name(closest),
            failing(plan, closest)
        ),
        None => String::new(),
    };
    let mut standings = tried.iter().map(|candidate| candidate.standing);
    let is_open = standings.any(|standing| standing == CandidateStatus::Undecided);
    let meets = if is_open { "is shown to meet" } else { "meets" };
    format!(
        "{}: no {setting} {meets} all limits{}.",
        answer.strategy, closest
    )
}

/// The rules that block runs, for the end of a sentence.
fn blocked_by(rules: &str) -> String {
    if rules.is_empty() {
        String::new()
    } else {
        format!(", blocked by {rules}")
    }
}

/// `2 of 10 runs did not finish, blocked by maxUnavailable`. `None`: all of them finished.
fn unfinished(candidate: &Candidate) -> Option<String> {
    let mut unfinished: u64 = 0;
    let mut rules: Vec<&str> = Vec::new();
    for (rule, runs) in &candidate.unfinished {
        unfinished += runs;
        if !rule.is_empty() {
            rules.push(rule);
        }
    }
    if unfinished == 0 {
        return None;
    }
    Some(format!(
        "{unfinished} of {} did not finish{}",
        counted(candidate.runs, "run"),
        blocked_by(&rules.join(" or "))
    ))
}

/// Returns why a candidate is excluded, with the statistic of the limit and the runs: `exceeds peak_pulls_p95 < 200
/// (212 pulls; 3 of 10 runs exceed it)`.
fn failing(plan: &PlanRecord, candidate: &Candidate) -> String {
    if candidate.standing == CandidateStatus::Unfinished {
        let rule = blocked_by(&candidate.reason);
        return unfinished(candidate).unwrap_or_else(|| format!("did not finish in a run{rule}"));
    }
    let verb = if candidate.standing == CandidateStatus::Undecided {
        "is not shown to meet"
    } else {
        "exceeds"
    };
    let facts = limit_facts(plan, candidate).unwrap_or_default();
    format!("{verb} {}{facts}", candidate.reason)
}

/// `(212 pulls; 3 of 10 runs exceed it)`, for the limit that a candidate exceeds. `None`: the limit is not known.
fn limit_facts(plan: &PlanRecord, candidate: &Candidate) -> Option<String> {
    let at = plan
        .limits
        .iter()
        .position(|limit| *limit == candidate.reason)?;
    let (value, beyond) = *candidate.limits.get(at)?;
    let limit = Limit::parse(&plan.limits[at]).ok()?;
    let value = match value {
        Some(value) => in_unit(value, limit.unit()),
        None => "not reached before the horizon".to_owned(),
    };
    let runs = match unfinished(candidate) {
        Some(unfinished) if limit.unit() == "s" => unfinished,
        _ => format!("{beyond} of {} exceed it", counted(candidate.runs, "run")),
    };
    Some(format!(" ({value}; {runs})"))
}

/// Candidates that leave more behind than another, and those with unfinished runs: the rules that blocked them, and
/// the number of runs.
fn losing(question: &Question, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for candidate in &question.candidates {
        if candidate.standing == CandidateStatus::Leaves {
            let reason = &candidate.reason;
            lines.push(format!(
                "{}: {reason}, more than another setting.",
                name(candidate)
            ));
        } else if let Some(unfinished) = unfinished(candidate) {
            lines.push(format!("{}: {unfinished}.", name(candidate)));
        }
    }
    let mut text = String::new();
    for line in lines.iter().take(LOSING_MAX) {
        text.push_str(&wrapped(line, width, "  "));
    }
    if lines.len() > LOSING_MAX {
        text.push_str(&format!(
            "{} more candidates have unfinished runs; see plan.json.\n",
            lines.len() - LOSING_MAX
        ));
    }
    text
}

/// A whole percentage, rounded down.
fn percent_down(share: f64) -> String {
    format!("{:.0}%", (share * 100.0).floor())
}

/// The guarantee of the answers, and what few runs cannot show.
fn how_sure(plan: &PlanRecord, width: usize) -> String {
    let confidence = percent(plan.confidence);
    let answers = plan.questions.iter().flat_map(|question| &question.answers);
    let mut found: Vec<&StrategyAnswer> = answers.collect();
    found.retain(|answer| answer.variant.is_some());
    let decided = found.iter().filter(|answer| answer.is_decided).count();
    let mut text = String::new();
    if decided > 0 {
        let whose = if decided == found.len() {
            "each answer"
        } else {
            "each certain answer"
        };
        let zone = percent(plan.indifference);
        let meets = match (plan.tuned.is_some(), plan.limits.is_empty()) {
            (false, true) => "",
            (false, false) => " that meets the limits",
            (true, true) => " of those tried",
            (true, false) => " of those tried that meets the limits",
        };
        let better = match (plan.unit.as_str(), plan.is_maximised) {
            ("s", _) => format!("is faster than the best by more than {zone}"),
            ("", false) => format!("has a smaller `{}`", plan.objective),
            ("", true) => format!("has a greater `{}`", plan.objective),
            _ => format!("has a {} that is lower by more than {zone}", plan.objective),
        };
        // Rare events do not change other statistics.
        let rare = if plan.objective.ends_with("_mean") {
            RARE_EVENTS
        } else {
            ""
        };
        let promise =
            format!("With {confidence} confidence in {whose}, no setting{meets} {better}{rare}.");
        text.push_str(&wrapped(&promise, width, ""));
    }
    let difference = "difference from the best setting over the same replicates, with the range of single replicates. ";
    let difference = match plan.unit.as_str() {
        _ if plan.tuned.is_some() => String::new(),
        "" => String::new(),
        "s" => format!("Slower by: {difference}"),
        _ => format!("Worse by: {difference}"),
    };
    let columns = format!("{difference}Times and loads are estimates from few runs.");
    text.push_str(&wrapped(&columns, width, ""));
    let demands: Vec<Statistic> = limits_of(plan).iter().filter_map(Limit::demand).collect();
    if demands.iter().any(|demand| *demand != Statistic::Every) {
        let rare = if demands.contains(&Statistic::Mean) {
            RARE_EVENTS
        } else {
            ""
        };
        let note = format!(
            "An answer is confirmed when its runs show with {confidence} confidence that it meets the limits on means \
             and percentiles{rare}."
        );
        text.push_str(&wrapped(&note, width, ""));
    }
    text
}

/// The caveat that a mean covers only events that the number of runs can show.
const RARE_EVENTS: &str =
    ", for events in at least 5% of the runs; rarer ones may not have occurred";

/// Compares the number of runs of an exhaustive search with that of a plan. A plan takes more than a search with few
/// replicates, since it confirms its answer.
fn compared_effort(exhaustive: u64, own: u64) -> String {
    let times = exhaustive as f64 / own.max(1) as f64;
    if times >= 1.05 {
        format!(", {times:.1} times as many")
    } else if times <= 0.95 {
        ", fewer than this search, which confirms its answer with more runs of each".to_owned()
    } else {
        ", as many".to_owned()
    }
}

/// The number of runs, and how to get more certain answers.
fn effort(plan: &PlanRecord, width: usize) -> String {
    let mut text = format!(
        "{}. An exhaustive search with {} of each candidate takes {}{}.",
        counted(plan.runs, "run"),
        counted(plan.replicates, "replicate"),
        counted(plan.exhaustive_runs, "run"),
        compared_effort(plan.exhaustive_runs, plan.runs),
    );
    if let Some(most) = plan.stopped_at {
        text.push_str(&format!(
            " The search stopped at its budget of {} runs.",
            count(most as f64)
        ));
    }
    if let Some(tuned) = &plan.tuned {
        let worlds = plan.questions.iter();
        let tried: usize = worlds.map(|question| question.candidates.len()).sum();
        text.push_str(&format!(
            " {} of {} settings were tried; for more raise `plan.tries`.",
            count(tried as f64),
            count(tuned.settings as f64)
        ));
    }
    if plan.questions.iter().any(is_open) {
        let more = if plan.stopped_at.is_some() {
            "raise `plan.runs`"
        } else {
            "raise `--replicates`"
        };
        text.push_str(&format!(
            " An uncertain answer has no snippet to paste. For more certainty, {more}; if the difference does not \
             matter, raise `plan.indifference`."
        ));
    }
    if let Some(found) = &plan.exhaustive {
        text.push_str(&agreement(plan, found));
    }
    wrapped(&text, width, "")
}

/// The words for a strategy without an answer.
const NO_SETTING: &str = "no setting";

/// The choices of the exhaustive search, compared with those of the plan.
fn agreement(plan: &PlanRecord, exhaustive: &ExhaustiveSearch) -> String {
    let agreed = exhaustive
        .answers
        .iter()
        .filter(|(_, agrees)| *agrees)
        .count();
    let mut text = format!(
        " The exhaustive search ({}) agrees on {agreed} of {} answers",
        counted(exhaustive.runs, "run"),
        exhaustive.answers.len()
    );
    let found = plan.questions.iter().flat_map(|question| &question.answers);
    for (answer, (chosen, agrees)) in found.zip(&exhaustive.answers) {
        if answer.variant != *chosen {
            let how = if *agrees {
                "equally good"
            } else {
                "NOT equivalent"
            };
            text.push_str(&format!(
                "; instead of {} it chose {} ({how})",
                answer.variant.as_deref().unwrap_or(NO_SETTING),
                chosen.as_deref().unwrap_or(NO_SETTING)
            ));
        }
    }
    text + "."
}

#[cfg(test)]
mod effort_tests {
    use super::compared_effort;

    #[test]
    fn the_words_that_compare_efforts_match_their_numbers() {
        let cases = [
            (360, 129, ", 2.8 times as many"),
            (100, 100, ", as many"),
            (
                12,
                120,
                ", fewer than this search, which confirms its answer with more runs of each",
            ),
        ];
        for (exhaustive, own, words) in cases {
            assert_eq!(compared_effort(exhaustive, own), words);
        }
    }
}

//! Warnings and notes of `fleetsim check` about a valid experiment: settings that are legal but may surprise.
//!
//! Warnings are about strategies: their product warns of a setting, an object of the product would be too large, a
//! program that decides does not exist, or the code that ships does something else for this fleet than the
//! documentation describes. The difference is found by explaining the strategy by both sets of rules; differences that
//! no number of the explanation shows are left out. It is shown for one variant of each strategy. Notes are guesses
//! about the world, and starts that nothing waits for. A text that several variants share is printed once.

use fleetsim::process::ProcessCommand;
use fleetsim::report::wrapped;
use fleetsim::results::grouped;
use fleetsim::scenario::{Experiment, Variant};
use fleetsim::world::WorkloadSpec;
use fleetsim::world::calibration::START;
use itertools::Itertools;

/// Most warnings and notes, unless all are asked for.
const SHOWN: usize = 20;
/// Most variants that are named in front of a text.
const NAMED: usize = 3;
/// Most lines of an explanation that are printed for each set of rules.
const LINES: usize = 3;

/// Spaces in front of the later lines of a warning.
const INDENT: &str = "  ";

/// All warnings and notes, in lines of at most `width`; the first [`SHOWN`] of them unless `all`.
pub(super) fn text(experiment: &Experiment, all: bool, width: usize) -> String {
    let of = |variant| {
        warnings(variant)
            .into_iter()
            .map(move |warning| (warning, variant))
    };
    let warnings = grouped(experiment.variants.iter().flat_map(of))
        .into_iter()
        .map(|(warning, variants)| {
            let place = named(&labels(&variants, &experiment.variants));
            wrapped(&format!("warning: {place}: {warning}"), width, INDENT)
        });
    let notes = experiment
        .guesses
        .iter()
        .map(|guess| guess.text.clone())
        .chain(idle_starts(experiment));
    let notes = notes.map(|note| wrapped(&format!("note: {note}"), width, INDENT));
    let texts: Vec<String> = warnings
        .chain(differences(experiment, width))
        .chain(notes)
        .collect();
    let shown = if all { texts.len() } else { SHOWN };
    let mut text = texts[..texts.len().min(shown)].concat();
    if texts.len() > shown {
        text.push_str(&format!(
            "{} more; `fleetsim check --all` prints them\n",
            texts.len() - shown
        ));
    }
    text
}

/// Workloads whose experiment states a start that no probe waits for.
fn idle_starts(experiment: &Experiment) -> Vec<String> {
    let workloads = experiment
        .variants
        .iter()
        .flat_map(|variant| &variant.scenario.world.workloads);
    let is_idle = |workload: &&WorkloadSpec| {
        workload.readiness.is_none() && workload.start != START && workload.start.mean() > 0.0
    };
    let text = |workload: &WorkloadSpec| {
        let name = &workload.name;
        format!(
            "`start` of the workload `{name}` has no effect without `readiness`: its pods are ready once started"
        )
    };
    workloads.filter(is_idle).map(text).unique().collect()
}

/// The strategies of these variants where they are all of their strategies' variants; otherwise the variants.
fn labels<'v>(variants: &[&'v Variant], all: &[Variant]) -> Vec<&'v str> {
    let of = |strategy: &str| {
        all.iter()
            .filter(|variant| variant.strategy == strategy)
            .count()
    };
    let here = |strategy: &str| {
        variants
            .iter()
            .filter(|variant| variant.strategy == strategy)
            .count()
    };
    let label = |variant: &&'v Variant| {
        let is_whole = here(&variant.strategy) == of(&variant.strategy);
        if is_whole {
            variant.strategy.as_str()
        } else {
            variant.label.as_str()
        }
    };
    variants.iter().map(label).unique().collect()
}

/// `careful, bold and 4 more variants`.
fn named(labels: &[&str]) -> String {
    match labels.len() {
        more if more > NAMED => format!(
            "{} and {} more variants",
            labels[..NAMED - 1].join(", "),
            more + 1 - NAMED
        ),
        _ => labels.join(", "),
    }
}

fn warnings(variant: &Variant) -> Vec<String> {
    let (strategy, fleet) = (&variant.scenario.strategy, variant.scenario.fleet());
    let link = "(docs/schedulers.md#sizes)";
    let limit = strategy
        .object_limit(fleet)
        .map(|warning| format!("{warning} {link}"));
    let missing = strategy.command().and_then(ProcessCommand::missing);
    strategy
        .explain(fleet)
        .warnings
        .into_iter()
        .chain(limit)
        .chain(missing)
        .collect()
}

/// For each strategy, the first of its variants for which code and documentation differ.
fn differences(experiment: &Experiment, width: usize) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    for variant in &experiment.variants {
        let (strategy, fleet) = (&variant.scenario.strategy, variant.scenario.fleet());
        if seen.contains(&variant.strategy.as_str()) {
            continue;
        }
        let Some(documented) = strategy.as_documented(fleet) else {
            continue;
        };
        let (shipped, promised) = (
            strategy.explain(fleet).lines,
            documented.strategy.explain(fleet).lines,
        );
        let Some(lines) = difference(&shipped, &promised, width) else {
            continue;
        };
        seen.push(&variant.strategy);
        let title = format!(
            "warning: {}: the code that ships differs from the documentation",
            variant.label
        );
        let source = format!(
            "reasons and sources: docs/schedulers.md#{}; `rules: documented` simulates the documentation",
            documented.section
        );
        texts.push(wrapped(&title, width, INDENT) + &lines + &indented(&source, width, INDENT));
    }
    texts
}

/// A text below a warning; its later lines start with `below`.
fn indented(text: &str, width: usize, below: &str) -> String {
    format!(
        "{INDENT}{}",
        wrapped(text, width.saturating_sub(INDENT.len()), below)
    )
}

/// The first lines that only one of two explanations has. `None` where they are alike.
fn difference(shipped: &[String], documented: &[String], width: usize) -> Option<String> {
    let only = |name: &str, lines: &[String], others: &[String]| {
        let lines: Vec<&String> = lines.iter().filter(|line| !others.contains(line)).collect();
        // The later lines of a long one begin below its text.
        let below = " ".repeat(INDENT.len() + name.len());
        let line = |line: &&String| indented(&format!("{name}{line}"), width, &below);
        let mut text: String = lines.iter().take(LINES).map(line).collect();
        if lines.len() > LINES {
            text.push_str(&format!("  {name}({} more lines)\n", lines.len() - LINES));
        }
        text
    };
    let text = only("code:           ", shipped, documented)
        + &only("documentation:  ", documented, shipped);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_few_of_the_variants_that_share_it() {
        assert_eq!(named(&["a"]), "a");
        assert_eq!(named(&["a", "b", "c"]), "a, b, c");
        assert_eq!(named(&["a", "b", "c", "d"]), "a, b and 2 more variants");
    }

    #[test]
    fn only_lines_that_differ_are_shown_and_long_lists_are_cut() {
        let lines = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(difference(&lines(&["same"]), &lines(&["same"]), 100), None);
        let found = difference(
            &lines(&["same", "5 at a time"]),
            &lines(&["same", "all at once"]),
            100,
        )
        .expect("two lines");
        assert_eq!(
            found,
            "  code:           5 at a time\n  documentation:  all at once\n"
        );
        let many: Vec<String> = (0..5).map(|at| at.to_string()).collect();
        assert!(
            difference(&many, &[], 100)
                .is_some_and(|text| text.ends_with("  code:           (2 more lines)\n"))
        );
    }
}

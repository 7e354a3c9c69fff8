//! Warnings and notes of `fleetsim check` about a valid experiment: settings that are legal but may be surprising.
//!
//! Warnings are about strategies: the product warns about a setting, an object of the product would be too large, an
//! external program does not exist, or the shipped code and the documentation differ for this fleet. To find such
//! differences, the strategy is explained under both rule sets; differences that change no number in the explanation
//! are left out. They are shown for one variant of each strategy. Notes are about guesses about the world, start
//! delays that nothing waits for, and the number of fields in a product's file that have no effect. A warning about
//! variants with different targets comes first. A text that several variants share is printed once.

use fleetsim::products::{Fleet, Strategy};
use fleetsim::report::{self, VariantTargets, wrapped};
use fleetsim::results::{Setting, compared, grouped};
use fleetsim::scenario::{Experiment, Variant};
use fleetsim::units::counted;
use fleetsim::world::calibration::{START, ZSTD_FACTOR};
use itertools::Itertools;

/// Maximum number of warnings and notes, unless all are requested.
const SHOWN: usize = 20;
/// Maximum number of variants named in front of a text.
const NAMED: usize = 3;
/// Maximum number of lines of an explanation that are printed for each rule set.
const LINES: usize = 3;

/// Indentation of the continuation lines of a warning.
const INDENT: &str = "  ";

/// Returns warnings and notes in lines of at most `width`: all of them if `all`, otherwise the first [`SHOWN`].
pub(super) fn text(experiment: &Experiment, all: bool, width: usize) -> String {
    let mut texts = Vec::new();
    if let Some(caution) = different_targets(experiment) {
        texts.push(wrapped(&format!("warning: {caution}"), width, INDENT));
    }
    let mut of_variants = Vec::new();
    for variant in &experiment.variants {
        for warning in warnings(variant) {
            of_variants.push((warning, variant));
        }
    }
    for (warning, variants) in grouped(of_variants) {
        let place = named(&labels(&variants, &experiment.variants));
        let warning = format!("warning: {place}: {warning}");
        texts.push(wrapped(&warning, width, INDENT));
    }
    texts.extend(differences(experiment, width));
    for guess in &experiment.guesses {
        texts.push(wrapped(&format!("note: {}", guess.text), width, INDENT));
    }
    for note in idle_starts(experiment).into_iter().chain(zstd(experiment)) {
        texts.push(wrapped(&format!("note: {note}"), width, INDENT));
    }
    for note in neutral_fields(experiment, all) {
        texts.push(wrapped(&format!("note: {note}"), width, INDENT));
    }
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

/// Returns the number of fields in each product's file that cannot change the rollout, with their names if `all`.
fn neutral_fields(experiment: &Experiment, all: bool) -> Vec<String> {
    let mut texts = Vec::new();
    for input in &experiment.inputs {
        let fields = &input.neutral_fields;
        if fields.is_empty() {
            continue;
        }
        let count = counted(fields.len(), "field");
        let which = if all {
            format!(": `{}`", fields.join("`, `"))
        } else {
            " (`--all` lists them)".to_owned()
        };
        texts.push(format!(
            "{} has {count} that cannot change the rollout{which}",
            input.path
        ));
    }
    texts
}

/// Returns the warning about compared variants with different numbers of targets.
fn different_targets(experiment: &Experiment) -> Option<String> {
    let variants = &experiment.variants;
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.settings.as_slice())
        .collect();
    for members in compared(&settings) {
        let mut targets = Vec::new();
        for at in members {
            let variant = &variants[at];
            targets.push(VariantTargets {
                strategy: &variant.strategy,
                variant: &variant.label,
                targets: variant.scenario.targets() as u64,
            });
        }
        if let Some(sentence) = report::different_targets(&targets, experiment.target) {
            return Some(sentence);
        }
    }
    None
}

/// Returns a note for each workload whose start delay no probe waits for.
fn idle_starts(experiment: &Experiment) -> Vec<String> {
    let mut texts = Vec::new();
    for variant in &experiment.variants {
        let applications = &variant.scenario.world.applications;
        for workload in applications.iter().flat_map(|one| &one.workloads) {
            let has_start = workload.start != START && workload.start.mean() > 0.0;
            let is_ready_once_started =
                workload.readiness.is_none() && workload.start_timeout.is_none();
            if is_ready_once_started && has_start {
                texts.push(format!(
                    "`start` of the workload `{}` has no effect without `readiness` or `startTimeout`: its pods are ready once started",
                    workload.name
                ));
            }
        }
    }
    texts.into_iter().unique().collect()
}

/// Returns the note about the unpack rate of zstd layers, if the experiment does not set the rate.
fn zstd(experiment: &Experiment) -> Option<String> {
    let has_zstd = experiment.variants.iter().any(|variant| {
        let world = &variant.scenario.world;
        let mut layers = world.images.iter().flat_map(|image| &image.layers);
        layers.any(|layer| layer.is_zstd)
    });
    let mut settings = experiment.settings.everywhere.iter();
    let is_default = settings
        .any(|setting| setting.path == "node.zstdFactor" && setting.origin.starts_with("default"));
    (has_zstd && is_default).then(|| {
        format!(
            "layers with zstd are unpacked {ZSTD_FACTOR} times as fast as those with gzip; write `node: {{zstdFactor: \
             {ZSTD_FACTOR}}}` so that `fleetsim sensitivity` varies it"
        )
    })
}

/// Returns the names of the strategies if `variants` contains all variants of each strategy, otherwise the variants.
fn labels<'v>(variants: &[&'v Variant], all: &[Variant]) -> Vec<&'v str> {
    let mut labels: Vec<&str> = Vec::new();
    for variant in variants {
        let strategy = &variant.strategy;
        let here = variants.iter().filter(|other| other.strategy == *strategy);
        let everywhere = all.iter().filter(|other| other.strategy == *strategy);
        labels.push(if here.count() == everywhere.count() {
            strategy
        } else {
            &variant.label
        });
    }
    labels.into_iter().unique().collect()
}

/// Returns a list such as `careful, bold and 4 more variants`.
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
    let mut warnings = Vec::new();
    for application in &variant.scenario.applications {
        let strategy = &application.strategy;
        let fleet = variant.scenario.fleet_of(application);
        warnings.extend(strategy.explain(fleet).warnings);
        warnings.extend(application.file_notes.clone());
        if let Some(warning) = strategy.object_limit(fleet) {
            warnings.push(format!("{warning} (docs/schedulers.md#sizes)"));
        }
        if let Some(command) = strategy.command() {
            warnings.extend(command.missing());
        }
    }
    if variant.scenario.has_several_applications() {
        warnings = warnings.into_iter().unique().collect();
    }
    warnings
}

/// Returns, for each strategy, the difference between code and documentation in the first variant that has one. A
/// difference that applications have in several variants, because they name their strategies, is returned once.
fn differences(experiment: &Experiment, width: usize) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut shown: Vec<CodeDifference> = Vec::new();
    let mut texts = Vec::new();
    for variant in &experiment.variants {
        if seen.contains(&variant.strategy.as_str()) {
            continue;
        }
        for application in &variant.scenario.applications {
            let fleet = variant.scenario.fleet_of(application);
            let Some(difference) = difference_of(&*application.strategy, fleet, width) else {
                continue;
            };
            seen.push(&variant.strategy);
            let is_several = variant.scenario.has_several_applications();
            if is_several && shown.contains(&difference) {
                continue;
            }
            let of = if is_several {
                format!("{}, {}", variant.label, application.name)
            } else {
                variant.label.clone()
            };
            let title = format!("warning: {of}: the released code differs from the documentation");
            let source = format!(
                "reasons and sources: docs/schedulers.md#{}; `rules: documented` simulates the documentation",
                difference.section
            );
            let heading = wrapped(&title, width, INDENT);
            texts.push(heading + &difference.lines + &indented(&source, width, INDENT));
            shown.push(difference);
        }
    }
    texts
}

/// The difference between the code of a product and its documentation for a strategy.
#[derive(Eq, PartialEq)]
struct CodeDifference {
    /// The anchor of the section in `docs/schedulers.md`.
    section: &'static str,
    lines: String,
}

/// Returns the difference between code and documentation for a strategy. `None`: there is none.
fn difference_of(
    strategy: &dyn Strategy,
    fleet: Fleet<'_>,
    width: usize,
) -> Option<CodeDifference> {
    let documented = strategy.as_documented(fleet)?;
    let shipped = strategy.explain(fleet).lines;
    let promised = documented.strategy.explain(fleet).lines;
    Some(CodeDifference {
        section: documented.section,
        lines: difference(&shipped, &promised, width)?,
    })
}

/// Returns a text below a warning. Its continuation lines start with `below`.
fn indented(text: &str, width: usize, below: &str) -> String {
    format!(
        "{INDENT}{}",
        wrapped(text, width.saturating_sub(INDENT.len()), below)
    )
}

/// Returns the first lines that differ between two explanations. `None`: the explanations are equal.
fn difference(shipped: &[String], documented: &[String], width: usize) -> Option<String> {
    let text = lines_of_one("code:           ", shipped, documented, width)
        + &lines_of_one("documentation:  ", documented, shipped, width);
    (!text.is_empty()).then_some(text)
}

/// Returns the first lines that only this explanation has, each prefixed with `name`.
fn lines_of_one(name: &str, lines: &[String], others: &[String], width: usize) -> String {
    let own = lines.iter().filter(|line| !others.contains(line));
    let own: Vec<&String> = own.collect();
    // Continuation lines of a long line are aligned with its text.
    let below = " ".repeat(INDENT.len() + name.len());
    let mut text = String::new();
    for line in own.iter().take(LINES) {
        text.push_str(&indented(&format!("{name}{line}"), width, &below));
    }
    if own.len() > LINES {
        text.push_str(&format!("  {name}({} more lines)\n", own.len() - LINES));
    }
    text
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
    fn only_different_lines_are_shown_and_long_lists_are_truncated() {
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

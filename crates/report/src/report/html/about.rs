//! Parts of the page that are text: unfinished variants with the rules that block them, parameters, and provenance.

use itertools::Itertools;

use super::markup::{escaped, isolated, plain_table, section, swatch};
use crate::report::data::{DisplayedRun, Results, VariantResults, links, range_of};
use crate::report::format::{count, rate, time};
use crate::results::{FileDigest, Provenance, RunOutcome, RunRow, grouped};
use fleetsim_units::counted;

/// Most blocking reasons that are listed for one variant.
const HELD_SHOWN: usize = 3;
/// Up to this number of unfinished variants are shown open; of more, only a line each.
const OPEN: usize = 3;

/// A line for each variant with runs that did not complete, which opens to the full texts; empty when all did.
pub(super) fn unfinished(variants: &[VariantResults<'_>], names: &[String]) -> String {
    let mut boxes = String::new();
    let missing = variants
        .iter()
        .filter(|variant| !variant.is_whole())
        .count();
    let open = if missing <= OPEN { " open" } else { "" };
    for (variant, name) in variants.iter().zip(names) {
        let of_outcome =
            |run: &RunRow, outcome: RunOutcome| !run.is_done() && run.outcome == outcome;
        let ends = |outcome: RunOutcome| {
            variant
                .runs
                .iter()
                .filter(|run| of_outcome(run, outcome))
                .count()
        };
        let (stalled, late) = (ends(RunOutcome::Stalled), ends(RunOutcome::Horizon));
        if stalled + late == 0 {
            continue;
        }
        let mut counts = vec![format!("{} complete", variant.finished())];
        counts.extend((stalled > 0).then(|| format!("<strong>{stalled} stalled</strong>")));
        counts.extend((late > 0).then(|| format!("<strong>{late} timed out</strong>")));
        let unfinished = variant.runs.iter().filter(|run| !run.is_done());
        let left = unfinished
            .map(|run| run.reachable_targets - run.targets_done)
            .minmax();
        let shown = range_of(left.into_option().unwrap_or_default());
        let targets = variant
            .runs
            .iter()
            .map(|run| run.reachable_targets)
            .max()
            .unwrap_or(0);
        let reachable = if variant.reach().is_whole() {
            ""
        } else {
            "reachable "
        };
        let held = held(variant);
        let runs = counted(variant.runs.len(), "run");
        let rules = held
            .iter()
            .filter(|(run, _)| !run.held_detail.is_empty())
            .map(|(run, _)| run.held_by.as_str());
        boxes.push_str(&format!(
            "<details class=\"held\"{open}><summary>{} <strong>{}</strong> <span>{} of {runs}</span> <span>{}</span></summary>\n<p>Of {runs}: {}. Not updated: {shown} of {} {reachable}clusters.</p>",
            swatch(variant.style),
            escaped(name),
            stalled + late,
            escaped(&rules.unique().join(", ")),
            counts.join(", "),
            count(targets as f64),
        ));
        if !held.is_empty() {
            boxes.push_str("<p class=\"by\">Blocked by</p><ul>");
            for (run, runs) in held.iter().take(HELD_SHOWN) {
                let all = variant.runs.len();
                let times = if *runs == all {
                    "every run".to_owned()
                } else {
                    format!("{runs} of {all} runs")
                };
                boxes.push_str(&format!(
                    "<li>{} <span class=\"unit\">({times})</span></li>",
                    ruled(run)
                ));
            }
            if held.len() > HELD_SHOWN {
                let more = counted(held.len() - HELD_SHOWN, "more reason");
                boxes.push_str(&format!("<li>{more}; see <code>runs.csv</code></li>"));
            }
            boxes.push_str("</ul>");
        }
        boxes.push_str("</details>\n");
    }
    if boxes.is_empty() {
        return boxes;
    }
    let note = if open.is_empty() {
        "<p class=\"note needs-scripts\">Open a line for the full text. <button type=\"button\" id=\"open-held\">Open all</button></p>\n"
    } else {
        ""
    };
    let boxes = format!("{note}<div class=\"boxes\">{boxes}</div>");
    section(
        "unfinished",
        "Unfinished variants and the rules that block them",
        &boxes,
    )
}

/// A run for each distinct reason that blocked one, with its number of runs; the most common first.
fn held<'r>(variant: &VariantResults<'r>) -> Vec<(&'r RunRow, usize)> {
    let blocked = |run: &&&RunRow| !run.is_done() && !run.held_by.is_empty();
    let reasons = grouped(
        variant
            .runs
            .iter()
            .filter(blocked)
            .map(|run| ((&run.held_by, &run.held_detail), *run)),
    );
    let held = reasons.into_iter().map(|(_, runs)| (runs[0], runs.len()));
    held.sorted_by_key(|(_, runs)| std::cmp::Reverse(*runs))
        .collect()
}

/// The rule's name in bold, and the detail; readers look for the rule.
fn ruled(run: &RunRow) -> String {
    match run.held_detail.as_str() {
        "" => escaped(&run.held_by),
        detail => format!(
            "<strong>{}</strong>: {}",
            escaped(&run.held_by),
            isolated(&escaped(detail))
        ),
    }
}

/// The line under the question: clusters, runs, seed and version.
pub(super) fn extent(provenance: &Provenance, variants: &[VariantResults<'_>]) -> String {
    let mut parts = vec![counted(variants.len(), "variant")];
    if !variants.is_empty() {
        parts.insert(
            0,
            escaped(&crate::report::data::extent(variants)).replace(", ", " × "),
        );
    }
    parts.push(format!("seed {}", provenance.seed));
    parts.push(format!("fleetsim {}", escaped(&provenance.program_version)));
    parts.join(" <span aria-hidden=\"true\">·</span> ")
}

/// For pre-pulls: where the release came later than the start, times of curves count from the start.
pub(super) fn released(variants: &[VariantResults<'_>], names: &[String]) -> String {
    let of = |(variant, name): (&VariantResults<'_>, &String)| {
        let release = variant
            .runs
            .iter()
            .map(|run| run.release_s)
            .fold(0.0, f64::max);
        (release > 0.0).then(|| format!("{} after {}", escaped(name), time(release)))
    };
    let notes = variants.iter().zip(names).filter_map(of).join("; ");
    if notes.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"note\">Curves and squares count from the start of the run. With a pre-pull, the release comes later and completion counts from the release: {notes}.</p>"
    )
}

/// The run that lines and squares show.
pub(super) fn displayed(results: &Results) -> String {
    let named = |run: DisplayedRun| {
        let which = if results
            .tables
            .runs
            .iter()
            .any(|other| other.replicate != run.replicate)
        {
            ", the one closest to the medians"
        } else {
            ""
        };
        format!(
            "Lines and squares: replicate {} of every variant{which} ({}). ",
            run.replicate,
            run.conditions()
        )
    };
    results.displayed().map_or_else(String::new, named)
}

/// A square of a fleet in words, for so many clusters each.
pub(super) fn square(each: usize) -> String {
    match each {
        1 => "a cluster".to_owned(),
        _ => format!(
            "one of every {} clusters, and numbers are estimates from these",
            count(each as f64)
        ),
    }
}

/// Tables that every results folder has, with their rows.
const TABLES: [(&str, &str); 9] = [
    (
        "summary.csv",
        "each measure of each variant, with spread, intervals and paired differences",
    ),
    (
        "comparison.csv",
        "which variants may be the best, for each measure",
    ),
    ("runs.csv", "one row per run"),
    ("variants.csv", "one row per variant, with its settings"),
    ("registries.csv", "one row per registry of a run"),
    ("timeline.csv", "one row per time bin"),
    ("clusters.csv", "one row per cluster"),
    ("passes.csv", "one row per scheduler pass"),
    (
        "statuses.csv",
        "one row per change of a status, in the product's words",
    ),
];

/// Tables of results with drawn constants.
const TABLES_OF_DRAWS: [(&str, &str); 3] = [
    (
        "uncertainty.csv",
        "the intervals of luck alone and of constants, for each measure of each variant",
    ),
    ("draws.csv", "one row per run with drawn constants"),
    ("constants.csv", "one row per constant of a draw"),
];

/// The files of the results folder as list items: tables, provenance and charts.
pub(super) fn files(results: &Results, charts: &[String]) -> String {
    let item =
        |(file, text): (&str, &str)| format!("<li><a href=\"{file}\">{file}</a>: {text}</li>\n");
    let others = [
        (
            "resolved.yaml",
            "every value in force, and where it comes from",
        ),
        ("provenance.json", "parameters, and checksums of all files"),
    ];
    let drawn = TABLES_OF_DRAWS
        .into_iter()
        .filter(|_| !results.uncertainty.is_empty());
    let files: String = TABLES
        .into_iter()
        .chain(drawn)
        .chain(others)
        .map(item)
        .collect();
    let charts = charts
        .iter()
        .map(|name| format!("<a href=\"charts/{name}.svg\">{name}</a>"))
        .join(", ");
    format!("{files}<li><a href=\"charts/\">charts</a>: {charts} (SVG and PNG)</li>\n")
}

/// Parameters and provenance.
pub(super) fn provenance(provenance: &Provenance, variants: &[VariantResults<'_>]) -> String {
    let mut rows = String::new();
    let mut row =
        |name: &str, value: &str| rows.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    row("experiment", &escaped(&provenance.experiment));
    if !provenance.command.is_empty() {
        row(
            "reproduce with",
            &format!(
                "<code class=\"command\">{}</code>",
                escaped(&provenance.command)
            ),
        );
    }
    row("seed", &provenance.seed.to_string());
    row("runs per variant", &provenance.replicates.to_string());
    row("time limit of a run", &time(provenance.horizon_s));
    let links = links(variants);
    if !links.is_empty() {
        row("registry link", &links.into_iter().map(rate).join(", "));
    }
    for limit in &provenance.limits {
        let whom = limit
            .strategy
            .as_ref()
            .map_or_else(String::new, |strategy| {
                format!(" for {}", escaped(strategy))
            });
        row(
            "limit",
            &format!("<code>{}</code>{whom}", escaped(&limit.limit)),
        );
    }
    // Not the commit: the page is equal for all builds of one model.
    let model = format!(", model version {}", provenance.model_version);
    row(
        "program",
        &format!(
            "{} {}{model}",
            escaped(&provenance.program),
            escaped(&provenance.program_version)
        ),
    );
    let input = |FileDigest { path, sha256 }: &FileDigest| {
        format!(
            "<tr><th scope=\"row\">{}</th><td><code>{}</code></td></tr>",
            escaped(path),
            escaped(sha256)
        )
    };
    let inputs = provenance.inputs.iter().map(input).join("\n");
    let table = plain_table("inputs", &["file", "SHA-256"], &inputs);
    let inputs = if inputs.is_empty() {
        String::new()
    } else {
        format!("<h3>Inputs</h3>{table}\n")
    };
    format!("<dl>{rows}</dl>\n{inputs}")
}

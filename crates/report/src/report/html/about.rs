//! The text parts of the page: unfinished variants with the rules that block them, parameters, and provenance.

use itertools::Itertools;

use super::markup::{escaped, isolated, plain_table, section, swatch};
use crate::report::data::{Results, VariantResults, links, range_of};
use crate::report::format::{count, rate, time};
use crate::report::table::without_command;
use crate::results::{FileDigest, Provenance, RunOutcome, RunRow, grouped};
use fleetsim_units::counted;

/// Maximum number of blocking reasons that are listed for one variant.
const HELD_SHOWN: usize = 3;
/// Maximum number of unfinished variants whose boxes are initially open; if there are more, all boxes are closed.
const OPEN: usize = 3;

/// A line for each variant with runs that did not complete, which expands to the full texts; empty if all did.
pub(super) fn unfinished(variants: &[VariantResults<'_>], names: &[String]) -> String {
    let mut boxes = String::new();
    let missing = variants
        .iter()
        .filter(|variant| !variant.is_whole())
        .count();
    let open = if missing <= OPEN { " open" } else { "" };
    for (variant, name) in variants.iter().zip(names) {
        boxes.push_str(&unfinished_box(variant, name, open));
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

/// The number of runs that ended with the given outcome.
fn count_ends(variant: &VariantResults<'_>, outcome: RunOutcome) -> usize {
    variant
        .runs
        .iter()
        .filter(|run| !run.is_done() && run.outcome == outcome)
        .count()
}

/// The box of a variant with runs that did not complete; empty if all did.
fn unfinished_box(variant: &VariantResults<'_>, name: &str, open: &str) -> String {
    let stalled = count_ends(variant, RunOutcome::Stalled);
    let late = count_ends(variant, RunOutcome::Horizon);
    if stalled + late == 0 {
        return String::new();
    }
    let mut counts = vec![format!("{} complete", variant.finished())];
    if stalled > 0 {
        counts.push(format!("<strong>{stalled} stalled</strong>"));
    }
    if late > 0 {
        counts.push(format!("<strong>{late} timed out</strong>"));
    }
    let mut left: Vec<u64> = Vec::new();
    let mut targets = 0;
    for run in &variant.runs {
        targets = targets.max(run.reachable_targets);
        if !run.is_done() {
            left.push(run.reachable_targets - run.targets_done);
        }
    }
    let left = left.into_iter().minmax().into_option();
    let shown = range_of(left.unwrap_or_default());
    let reachable = if variant.reach().is_whole() {
        ""
    } else {
        "reachable "
    };
    let held = held(variant);
    let runs = counted(variant.runs.len(), "run");
    let mut rules: Vec<&str> = Vec::new();
    for reason in &held {
        let run = reason.run;
        if !run.held_detail.is_empty() && !rules.contains(&run.held_by.as_str()) {
            rules.push(&run.held_by);
        }
    }
    let mut text = format!(
        "<details class=\"held\"{open}><summary>{} <strong>{}</strong> <span>{} of {runs}</span> <span>{}</span></summary>\n<p>Of {runs}: {}. Not updated: {shown} of {} {reachable}clusters.</p>",
        swatch(variant.style),
        escaped(name),
        stalled + late,
        escaped(&rules.join(", ")),
        counts.join(", "),
        count(targets as f64),
    );
    if !held.is_empty() {
        text.push_str(&held_list(&held, variant.runs.len()));
    }
    text.push_str("</details>\n");
    text
}

/// The reasons that blocked runs of a variant, as a list.
fn held_list(held: &[HeldReason<'_>], all: usize) -> String {
    let mut text = "<p class=\"by\">Blocked by</p><ul>".to_owned();
    for HeldReason { run, runs } in held.iter().take(HELD_SHOWN) {
        let times = if *runs == all {
            "every run".to_owned()
        } else {
            format!("{runs} of {all} runs")
        };
        text.push_str(&format!(
            "<li>{} <span class=\"unit\">({times})</span></li>",
            ruled(run)
        ));
    }
    if held.len() > HELD_SHOWN {
        let more = counted(held.len() - HELD_SHOWN, "more reason");
        text.push_str(&format!("<li>{more}; see <code>runs.csv</code></li>"));
    }
    text.push_str("</ul>");
    text
}

/// A reason that blocked runs.
struct HeldReason<'r> {
    /// One of the runs that were blocked for this reason.
    run: &'r RunRow,
    /// The number of runs that were blocked for this reason.
    runs: usize,
}

/// The distinct reasons that blocked runs, each with one run and the number of runs; the most common first.
fn held<'r>(variant: &VariantResults<'r>) -> Vec<HeldReason<'r>> {
    let mut blocked = Vec::new();
    for run in &variant.runs {
        if !run.is_done() && !run.held_by.is_empty() {
            blocked.push(((&run.held_by, &run.held_detail), *run));
        }
    }
    let mut held: Vec<HeldReason<'_>> = Vec::new();
    for (_, runs) in grouped(blocked) {
        held.push(HeldReason {
            run: runs[0],
            runs: runs.len(),
        });
    }
    held.sort_by_key(|reason| std::cmp::Reverse(reason.runs));
    held
}

/// The name of the blocking rule in bold, because readers search for it, and the detail.
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

/// The line below the question: clusters, runs, seed and version.
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

/// For pre-pulls: if the release is later than the start, a note that times of curves count from the start.
pub(super) fn released(variants: &[VariantResults<'_>], names: &[String]) -> String {
    let mut notes: Vec<String> = Vec::new();
    for (variant, name) in variants.iter().zip(names) {
        let releases = variant.runs.iter().map(|run| run.release_s);
        let release = releases.fold(0.0, f64::max);
        if release > 0.0 {
            notes.push(format!("{} after {}", escaped(name), time(release)));
        }
    }
    let notes = notes.join("; ");
    if notes.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"note\">Curves and squares count from the start of the run. With a pre-pull, the release comes later and completion counts from the release: {notes}.</p>"
    )
}

/// The run that curves and fleets show, in words.
pub(super) fn displayed(results: &Results) -> String {
    let Some(run) = results.displayed() else {
        return String::new();
    };
    let mut runs = results.tables.runs.iter();
    let which = if runs.any(|other| other.replicate != run.replicate) {
        ", the one closest to the medians"
    } else {
        ""
    };
    format!(
        "Lines and squares: replicate {} of every variant{which} ({}). ",
        run.replicate,
        run.conditions()
    )
}

/// The meaning of a square of a fleet, in words, if a square stands for `each` targets. `target`: a cluster, or a
/// deployment.
pub(super) fn square(target: &str, each: usize) -> String {
    match each {
        1 => format!("a {target}"),
        _ => format!(
            "one of every {} {target}s, and numbers are estimates from these",
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
    (
        "registries.csv",
        "one row per registry, mirror, cache or region of a run",
    ),
    ("timeline.csv", "one row per time bin"),
    ("clusters.csv", "one row per cluster"),
    ("passes.csv", "one row per scheduler pass"),
    (
        "statuses.csv",
        "one row per change of a status, in the product's words",
    ),
];

/// Tables of results with drawn constants.
const TABLES_OF_DRAWS: [(&str, &str); 4] = [
    (
        "uncertainty.csv",
        "the intervals from random numbers alone and from constants, for each measure of each variant",
    ),
    ("draws.csv", "one row per run with drawn constants"),
    ("constants.csv", "one row per constant of a draw"),
    ("decisions-by-draw.csv", "the decision by each draw"),
];

/// The files of the results folder as list items: tables, provenance and charts.
pub(super) fn files(results: &Results, charts: &[String]) -> String {
    let mut tables = TABLES.to_vec();
    if !results.tables.workloads.is_empty() {
        tables.push(("workloads.csv", "one row per workload of a run"));
    }
    if !results.tables.applications.is_empty() {
        tables.push(("applications.csv", "one row per application of a run"));
        tables.push((
            "applications-timeline.csv",
            "one row per time bin of an application",
        ));
    }
    if !results.tables.releases.is_empty() {
        tables.push(("releases.csv", "one row per release of a run"));
    }
    if !results.causes.is_empty() {
        tables.push((
            "causes.csv",
            "one row per trial of what holds a rollout back",
        ));
    }
    if !results.uncertainty.is_empty() {
        tables.extend(TABLES_OF_DRAWS);
    }
    tables.extend([
        (
            "resolved.yaml",
            "every value in force, and where it comes from",
        ),
        ("provenance.json", "parameters, and checksums of all files"),
    ]);
    let mut files = String::new();
    for (file, text) in tables {
        files.push_str(&format!("<li><a href=\"{file}\">{file}</a>: {text}</li>\n"));
    }
    let charts = charts
        .iter()
        .map(|name| format!("<a href=\"charts/{name}.svg\">{name}</a>"))
        .join(", ");
    format!("{files}<li><a href=\"charts/\">charts</a>: {charts} (SVG and PNG)</li>\n")
}

/// The row of an input with its hash.
fn input_row(input: &FileDigest) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td><code>{}</code></td></tr>",
        escaped(&input.path),
        escaped(&input.sha256)
    )
}

/// Parameters and provenance.
pub(super) fn provenance(provenance: &Provenance, variants: &[VariantResults<'_>]) -> String {
    let mut rows = String::new();
    let mut row =
        |name: &str, value: &str| rows.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    row("experiment", &escaped(&provenance.experiment));
    if !provenance.guests.is_empty() {
        row("reproduce", &escaped(&without_command(provenance)));
    } else if !provenance.command.is_empty() {
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
    // The commit is left out, because the page is the same for all builds of one model.
    let model = format!(", model version {}", provenance.model_version);
    row(
        "program",
        &format!(
            "{} {}{model}",
            escaped(&provenance.program),
            escaped(&provenance.program_version)
        ),
    );
    let inputs = provenance.inputs.iter().map(input_row).join("\n");
    let table = plain_table("inputs", &["file", "SHA-256"], &inputs);
    let inputs = if inputs.is_empty() {
        String::new()
    } else {
        format!("<h3>Inputs</h3>{table}\n")
    };
    format!("<dl>{rows}</dl>\n{inputs}")
}

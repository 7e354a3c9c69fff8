//! The comparison that a run prints last: one line a variant, as plain text or as JSON.

use serde::Serialize;

use super::data::{Results, Variant};
use super::format::{count, number, time, time_with_interval};
use crate::record::Outcome;

/// The version of the JSON form; raised when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Widest that a variant's name is shown.
const NAME_MAX: usize = 30;

/// One column: its heading, how dear it is (0 is never left out), and its text for a variant.
struct Column {
    heading: &'static str,
    rank: u32,
    cell: fn(&Variant<'_>) -> String,
}

/// Without a value.
const NONE: &str = "–";

const COLUMNS: [Column; 9] = [
    Column { heading: "variant", rank: 0, cell: |variant| shortened(variant.name(), NAME_MAX) },
    Column { heading: "done", rank: 0, cell: |variant| format!("{}/{}", variant.finished(), variant.runs.len()) },
    Column { heading: "completion [95 %]", rank: 0, cell: completion },
    Column { heading: "peak pulls [p5–p95]", rank: 0, cell: peak_pulls },
    Column { heading: "Gbit/s", rank: 1, cell: |variant| scaled(variant, "egress_peak_1s_bytes_per_s", 125e6) },
    Column { heading: "busy", rank: 4, cell: busy },
    Column { heading: "GB", rank: 2, cell: |variant| scaled(variant, "egress_bytes", 1e9) },
    Column { heading: "failed/429", rank: 5, cell: failures },
    Column { heading: "not ready", rank: 3, cell: |variant| counted(variant, "peak_not_ready") },
];

/// The comparison table as plain text, no line wider than `width` characters where that can be had: columns that do
/// not fit are left out, the least telling first. Unfinished variants are listed with the rule that holds them, and
/// the last line tells how to reproduce the results.
#[must_use]
pub fn table(results: &Results, width: usize) -> String {
    let variants = results.variants();
    let mut columns: Vec<(u32, Vec<String>)> = COLUMNS
        .iter()
        .map(|column| {
            let cells = variants.iter().map(column.cell);
            (column.rank, std::iter::once(column.heading.to_owned()).chain(cells).collect())
        })
        .collect();
    let cells_width = |cells: &[String]| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let total = |columns: &[(u32, Vec<String>)]| {
        columns.iter().map(|(_, cells)| cells_width(cells)).sum::<usize>() + 2 * (columns.len() - 1)
    };
    while total(&columns) > width {
        let Some(dearest) = (0..columns.len()).filter(|&at| columns[at].0 > 0).max_by_key(|&at| columns[at].0) else {
            break;
        };
        columns.remove(dearest);
    }
    let mut text = String::new();
    for line in 0..=variants.len() {
        let mut row = String::new();
        for (at, (_, cells)) in columns.iter().enumerate() {
            let pad = " ".repeat(cells_width(cells) - cells[line].chars().count());
            // Names begin at the left; numbers end at the right.
            row.push_str(&if at == 0 { format!("{}{pad}", cells[line]) } else { format!("  {pad}{}", cells[line]) });
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text.push('\n');
    for note in notes(&columns.iter().map(|(_, cells)| cells[0].as_str()).collect::<Vec<_>>()) {
        text.push_str(&wrapped(&note, width, ""));
    }
    for variant in &variants {
        if let Some((outcome, held_by)) = variant.unfinished() {
            text.push_str(&wrapped(&unfinished(variant, outcome, held_by), width, "  "));
        }
    }
    if !results.provenance.command.is_empty() {
        // A command is to be copied, so it is not broken.
        text.push_str(&format!("Reproduce: {}\n", results.provenance.command));
    }
    text
}

/// What the shown columns mean.
fn notes(headings: &[&str]) -> Vec<String> {
    let shown = |heading: &str| headings.contains(&heading);
    let mut parts = vec!["medians over runs", "completion over finished runs, with the 95 % interval of its median"];
    if shown("Gbit/s") {
        parts.push("Gbit/s: the registry's highest egress over 1 s");
    }
    if shown("busy") {
        parts.push("busy: share of the time at its capacity");
    }
    if shown("GB") {
        parts.push("GB: all bytes out of it");
    }
    if shown("failed/429") {
        parts.push("failed pulls / requests answered with 429");
    }
    if shown("not ready") {
        parts.push("not ready: most clusters at once");
    }
    vec![format!("{}.", parts.join("; "))]
}

fn unfinished(variant: &Variant<'_>, outcome: Outcome, held_by: &str) -> String {
    let missing = variant.runs.len() - variant.finished();
    let end = match outcome {
        Outcome::Complete => "complete",
        Outcome::Stalled => "stalled",
        Outcome::Horizon => "out of time",
    };
    let rule = if held_by.is_empty() { String::new() } else { format!(", held by {held_by}") };
    format!("{}: {missing} of {} runs unfinished, {end}{rule}.", variant.name(), variant.runs.len())
}

/// Breaks a text at spaces so that no line is wider than `width` where words allow; later lines start with `indent`.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(&line);
            lines.push('\n');
            indent.clone_into(&mut line);
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// `text`, its middle cut where it has more than `max` characters: settings stand at the end of a name.
fn shortened(text: &str, max: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= max {
        return text.to_owned();
    }
    let head = max / 3;
    let tail = max - head - 1;
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

fn completion(variant: &Variant<'_>) -> String {
    let Some(row) = variant.summary("completion_s") else { return NONE.to_owned() };
    match (row.median, row.median_ci95_low, row.median_ci95_high) {
        (Some(median), Some(low), Some(high)) if low < high => time_with_interval(median, low, high),
        (Some(median), _, _) => time(median),
        (None, _, _) => "unfinished".to_owned(),
    }
}

fn peak_pulls(variant: &Variant<'_>) -> String {
    let Some(row) = variant.summary("peak_pulls") else { return NONE.to_owned() };
    match (row.median, row.p5, row.p95) {
        (Some(median), Some(p5), Some(p95)) if p5 < p95 => format!("{} [{}–{}]", count(median), count(p5), count(p95)),
        (Some(median), _, _) => count(median),
        _ => NONE.to_owned(),
    }
}

fn busy(variant: &Variant<'_>) -> String {
    variant.median("egress_busy_share").map_or(NONE.to_owned(), |share| format!("{} %", count(100.0 * share)))
}

fn scaled(variant: &Variant<'_>, measure: &str, unit: f64) -> String {
    variant.median(measure).map_or(NONE.to_owned(), |value| number(value / unit))
}

fn counted(variant: &Variant<'_>, measure: &str) -> String {
    variant.median(measure).map_or(NONE.to_owned(), count)
}

fn failures(variant: &Variant<'_>) -> String {
    format!("{}/{}", counted(variant, "failed_pulls"), counted(variant, "responses_429"))
}

/// The JSON form of the comparison.
#[derive(Debug, Serialize)]
struct Comparison<'r> {
    schema_version: u32,
    experiment: &'r str,
    seed: u64,
    command: &'r str,
    variants: Vec<Row<'r>>,
}

/// One variant in the JSON form: medians over runs; `null` where no run has the measure.
#[derive(Debug, Serialize)]
struct Row<'r> {
    variant: &'r str,
    strategy: &'r str,
    setting: &'r str,
    runs: usize,
    finished: usize,
    held_by: Option<&'r str>,
    completion_s: Option<f64>,
    completion_median_ci95_low_s: Option<f64>,
    completion_median_ci95_high_s: Option<f64>,
    peak_pulls: Option<f64>,
    peak_pulls_p5: Option<f64>,
    peak_pulls_p95: Option<f64>,
    egress_peak_1s_bytes_per_s: Option<f64>,
    egress_busy_share: Option<f64>,
    egress_bytes: Option<f64>,
    failed_pulls: Option<f64>,
    responses_429: Option<f64>,
    peak_not_ready: Option<f64>,
}

/// The comparison as JSON: `schema_version`, the experiment, and one object a variant.
#[must_use]
pub fn json(results: &Results) -> String {
    let comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        experiment: &results.provenance.experiment,
        seed: results.provenance.seed,
        command: &results.provenance.command,
        variants: results.variants().iter().map(row).collect(),
    };
    let mut text = serde_json::to_string_pretty(&comparison).expect("plain fields with text keys are always JSON");
    text.push('\n');
    text
}

fn row<'r>(variant: &Variant<'r>) -> Row<'r> {
    let info = variant.info;
    let completion = variant.summary("completion_s");
    let pulls = variant.summary("peak_pulls");
    Row {
        variant: &info.variant,
        strategy: &info.strategy,
        setting: &info.setting,
        runs: variant.runs.len(),
        finished: variant.finished(),
        held_by: variant.unfinished().map(|(_, held_by)| held_by),
        completion_s: completion.and_then(|row| row.median),
        completion_median_ci95_low_s: completion.and_then(|row| row.median_ci95_low),
        completion_median_ci95_high_s: completion.and_then(|row| row.median_ci95_high),
        peak_pulls: pulls.and_then(|row| row.median),
        peak_pulls_p5: pulls.and_then(|row| row.p5),
        peak_pulls_p95: pulls.and_then(|row| row.p95),
        egress_peak_1s_bytes_per_s: variant.median("egress_peak_1s_bytes_per_s"),
        egress_busy_share: variant.median("egress_busy_share"),
        egress_bytes: variant.median("egress_bytes"),
        failed_pulls: variant.median("failed_pulls"),
        responses_429: variant.median("responses_429"),
        peak_not_ready: variant.median("peak_not_ready"),
    }
}

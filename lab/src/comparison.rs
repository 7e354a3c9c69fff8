//! The comparison of predicted and measured results, as a table in Markdown.
//!
//! Each number is the mean over the runs of a variant. Each run has its own seed, and therefore its own controller
//! delays. So the spread is the range of emulated end times, each relative to the end time simulated with the same
//! seed. Differences are relative to the prediction.

use std::fmt::Write;

use crate::measured::MeasuredRow;

/// A table with a line for each variant of each measured set-up.
pub(crate) fn table(predicted: &[MeasuredRow], measured: &[MeasuredRow]) -> String {
    let mut text = String::from(
        "| set-up, variant | end s | first | median | p95 | last pull s | bytes | peak pulls | curves | spread |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut keys: Vec<(&str, &str)> = predicted
        .iter()
        .map(|row| (&*row.setup, &*row.variant))
        .collect();
    keys.dedup();
    for (setup, variant) in keys {
        let is_of = |row: &&MeasuredRow| row.setup == setup && row.variant == variant;
        let expected: Vec<&MeasuredRow> = predicted.iter().filter(is_of).collect();
        let (emulated, simulated): (Vec<&MeasuredRow>, Vec<&MeasuredRow>) = measured
            .iter()
            .filter(is_of)
            .partition(|row| row.distance.is_some());
        if emulated.is_empty() {
            continue;
        }
        let pair = |of: fn(&MeasuredRow) -> f64, digits: usize| {
            let (expected, found) = (mean(&expected, of), mean(&emulated, of));
            let share = if expected == 0.0 {
                0.0
            } else {
                (found / expected - 1.0) * 100.0
            };
            format!("{expected:.digits$} → {found:.digits$} ({share:+.1} %)")
        };
        let columns = [
            pair(|row| row.end_s, 2),
            pair(|row| row.first_pull_s, 2),
            pair(|row| row.median_pull_s, 2),
            pair(|row| row.p95_pull_s, 2),
            pair(|row| row.last_pull_s, 2),
            pair(|row| row.bytes as f64 / 1e6, 1),
            pair(|row| row.peak_pulls as f64, 0),
            format!("{:.2}", mean(&emulated, |row| row.distance.unwrap_or(0.0))),
            format!("{:.1} %", spread(&emulated, &simulated) * 100.0),
        ];
        let mark = if emulated.iter().any(|row| row.anyway) {
            ", not quiet"
        } else {
            ""
        };
        writeln!(
            text,
            "| {setup}, {variant}{mark} | {} |",
            columns.join(" | ")
        )
        .expect("writes to memory do not fail");
    }
    text
}

fn mean(rows: &[&MeasuredRow], of: fn(&MeasuredRow) -> f64) -> f64 {
    rows.iter().map(|row| of(row)).sum::<f64>() / rows.len().max(1) as f64
}

/// The range of the emulated end times, each relative to the end time that was simulated with the same seed.
fn spread(emulated: &[&MeasuredRow], simulated: &[&MeasuredRow]) -> f64 {
    let shares = emulated
        .iter()
        .zip(simulated)
        .map(|(found, expected)| found.end_s / expected.end_s);
    let (least, most) = (
        shares.clone().fold(f64::INFINITY, f64::min),
        shares.fold(0.0, f64::max),
    );
    most - least
}

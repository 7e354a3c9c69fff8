//! The model compared with theory and with published measurements.
//!
//! There is one file for each source. Each prints its table (`cargo test --test suite validation:: -- --nocapture`):
//! our value, the published one, the error, and the number of parameters that were fitted to the compared values.
//! Disagreements are in the table with their reason, and not fitted away.

#![allow(
    clippy::print_stdout,
    reason = "the tables are what these tests are for"
)]
#![allow(
    unreachable_pub,
    reason = "a test program has no one outside to reach its items"
)]

mod argo_cd;
mod dragonfly;
mod ghcr;
mod harbor;
mod kraken;
mod pods;
mod queueing;
mod rollouts;
mod sanity;
mod scale_up;
mod spegel;
mod storm;
mod table;
mod unpack;
pub(crate) mod worlds;

/// The labels that a row with an error may have.
const LABELS: [&str; 4] = ["verified", "calibrated", "predicted", "missed"];

#[test]
fn each_row_of_the_page_has_the_label_that_follows_from_its_error_and_the_tolerance() {
    let page = std::fs::read_to_string(super::common::root().join("docs/validation.md"))
        .expect("readable");
    let figure = regex::Regex::new(r"[0-9.]+").expect("a regular expression");
    let (mut column, mut rows) = (None, 0);
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let Some(at) = cells.iter().position(|cell| cell.starts_with("error")) {
            column = Some(at);
        } else if !line.starts_with('|') {
            column = None;
        }
        let label = cells.last().expect("a cell");
        let Some(at) = column.filter(|_| LABELS.contains(label)) else {
            continue;
        };
        // In a cell with `without → with`, the second value is compared; words in brackets are not values.
        let error = cells[at]
            .rsplit('→')
            .next()
            .expect("a part")
            .split('(')
            .next()
            .expect("a part");
        let errors: Vec<f64> = figure
            .find_iter(error)
            .map(|found| found.as_str().parse().expect("a number"))
            .collect();
        let is_missed = |error: &f64| *error > 20.0;
        let holds = if *label == "missed" {
            errors.iter().all(is_missed)
        } else {
            !errors.iter().any(is_missed)
        };
        assert!(holds, "more than 20 % is missed, and nothing else: {line}");
        rows += usize::from(!errors.is_empty());
    }
    assert!(rows > 40, "{rows} rows have an error");
}

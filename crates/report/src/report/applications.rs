//! The applications of a variant with the medians over its runs, and those that a table shows.
//!
//! Times count from each application's own release. A run in which an application was not complete counts with a time
//! that was never reached. Left out: the spread between runs, which `applications.csv` has.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::data::VariantResults;
use super::format::time;
use crate::results::{ApplicationRow, LARGEST_APPLICATIONS};
use fleetsim_units::stats;

/// One application, with the medians over the runs of a variant.
pub(super) struct ApplicationMedians<'r> {
    pub(super) name: &'r str,
    pub(super) targets: f64,
    pub(super) release_s: f64,
    /// Time from its own release until its reachable targets were ready; infinite if that was never reached.
    pub(super) ready_s: f64,
    pub(super) left_behind: f64,
    pub(super) peak_pulls: f64,
    pub(super) received_bytes: f64,
}

impl<'r> ApplicationMedians<'r> {
    /// The applications of a variant, in the order of the experiment. Empty for a single application.
    pub(super) fn all(variant: &VariantResults<'r>) -> Vec<Self> {
        let mut names: Vec<&'r str> = Vec::new();
        let mut rows: HashMap<&'r str, Vec<&'r ApplicationRow>> = HashMap::new();
        for &(_, row) in &variant.applications {
            let of_name = rows.entry(row.application.as_str()).or_default();
            if of_name.is_empty() {
                names.push(&row.application);
            }
            of_name.push(row);
        }
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            all.push(Self::of(name, &rows[name]));
        }
        all
    }

    fn of(name: &'r str, rows: &[&ApplicationRow]) -> Self {
        Self {
            name,
            targets: median(rows, |row| row.targets as f64),
            release_s: median(rows, |row| row.release_s.unwrap_or(f64::INFINITY)),
            ready_s: median(rows, |row| row.reachable_ready_s.unwrap_or(f64::INFINITY)),
            left_behind: median(rows, |row| row.left_behind as f64),
            peak_pulls: median(rows, |row| row.peak_pulls as f64),
            received_bytes: median(rows, |row| row.received_bytes as f64),
        }
    }
}

/// The median of a value over runs, some of which may be infinite.
fn median(rows: &[&ApplicationRow], value: fn(&ApplicationRow) -> f64) -> f64 {
    let values: Vec<f64> = rows.iter().map(|row| value(row)).collect();
    stats::quantile_of_sorted(&stats::ordered(&values), 0.5).unwrap_or(0.0)
}

/// The applications that a table shows: those with the most bytes and the slowest ones, or all if they are few. They
/// stay in their order.
pub(super) fn shown<'a, 'r>(all: &'a [ApplicationMedians<'r>]) -> Vec<&'a ApplicationMedians<'r>> {
    if all.len() <= 2 * LARGEST_APPLICATIONS {
        return all.iter().collect();
    }
    let mut is_shown = vec![false; all.len()];
    for keys in [
        keys_of(all, |application| application.received_bytes),
        keys_of(all, |application| application.ready_s),
    ] {
        for key in keys.into_iter().take(LARGEST_APPLICATIONS) {
            is_shown[key] = true;
        }
    }
    let mut shown = Vec::new();
    for (application, is_shown) in all.iter().zip(is_shown) {
        if is_shown {
            shown.push(application);
        }
    }
    shown
}

/// The indices of the applications, those with the greatest value first.
fn keys_of(
    all: &[ApplicationMedians<'_>],
    value: fn(&ApplicationMedians<'_>) -> f64,
) -> Vec<usize> {
    let mut keys: Vec<usize> = (0..all.len()).collect();
    // Values are not below 0, so their bits are in the order of their sizes.
    keys.sort_by_key(|&at| Reverse(value(&all[at]).to_bits()));
    keys
}

/// A time, or that it was never reached in most runs.
pub(super) fn after(seconds: f64) -> String {
    if seconds.is_finite() {
        time(seconds)
    } else {
        "unfinished".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(name: &str, ready_s: f64, received_bytes: f64) -> ApplicationMedians<'_> {
        ApplicationMedians {
            name,
            targets: 1.0,
            release_s: 0.0,
            ready_s,
            left_behind: 0.0,
            peak_pulls: 1.0,
            received_bytes,
        }
    }

    #[test]
    fn an_application_that_is_not_complete_in_most_runs_is_unfinished() {
        let mut rows = vec![ApplicationRow::default(); 4];
        for ready_s in [Some(60.0), None] {
            rows[0].reachable_ready_s = ready_s;
            rows[1].reachable_ready_s = Some(20.0);
            let refs: Vec<&ApplicationRow> = rows[..3].iter().collect();
            let found = ApplicationMedians::of("shop", &refs);
            let wanted = if ready_s.is_some() {
                "60.0 s"
            } else {
                "unfinished"
            };
            assert_eq!(after(found.ready_s), wanted);
            assert_eq!(
                after(found.release_s),
                "unfinished",
                "it was never released"
            );
        }
    }

    #[test]
    fn of_many_applications_the_largest_and_the_slowest_are_shown_in_their_order() {
        let names: Vec<String> = (0..20).map(|at| format!("a{at:02}")).collect();
        let mut all = Vec::new();
        for (at, name) in names.iter().enumerate() {
            all.push(application(name, 100.0 - at as f64, at as f64));
        }
        all[10].ready_s = f64::INFINITY;
        let shown: Vec<&str> = shown(&all).iter().map(|found| found.name).collect();
        let wanted = [0, 1, 2, 3, 4, 5, 6, 10, 12, 13, 14, 15, 16, 17, 18, 19];
        let wanted: Vec<String> = wanted.iter().map(|at| format!("a{at:02}")).collect();
        assert_eq!(shown, wanted);
        assert_eq!(super::shown(&all[..16]).len(), 16, "all of a few");
    }
}

//! The time at which each workload of a release with several is ready: one image may delay another.

use itertools::Itertools;

use crate::report::data::VariantResults;
use crate::report::format::time;
use fleetsim_units::stats;

/// Maximum number of named workloads.
const MOST: usize = 4;

/// The median time of a workload; infinite if it is not ready in half of the runs.
pub(super) struct WorkloadTime<'r> {
    pub(super) name: &'r str,
    pub(super) ready_s: f64,
}

/// The workloads of a variant with their median times; empty for a release with one workload.
pub(super) fn times<'r>(variant: &VariantResults<'r>) -> Vec<WorkloadTime<'r>> {
    let mut names: Vec<&str> = Vec::new();
    for row in &variant.workloads {
        names.push(row.workload.as_str());
    }
    let mut times = Vec::new();
    for name in names.into_iter().unique() {
        let mut ready: Vec<f64> = Vec::new();
        for row in variant.workloads.iter().filter(|row| row.workload == name) {
            ready.push(row.ready_s.unwrap_or(f64::INFINITY));
        }
        if let Some(ready_s) = stats::quantile_of_sorted(&stats::ordered(&ready), 0.5) {
            times.push(WorkloadTime { name, ready_s });
        }
    }
    times
}

/// `agent in 12.0 s, shop in 4.45 min`, or `shop not in half of the runs`. `None`: there is one workload, or there are
/// many.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let mut times = times(variant);
    if times.len() < 2 || times.len() > MOST {
        return None;
    }
    times.sort_by(|a, b| a.ready_s.total_cmp(&b.ready_s));
    let mut parts: Vec<String> = Vec::new();
    for WorkloadTime { name, ready_s } in times {
        parts.push(if ready_s.is_finite() {
            format!("{name} in {}", time(ready_s))
        } else {
            format!("{name} not in half of the runs")
        });
    }
    Some(parts.join(", "))
}

/// The sum of the times of all workloads; 0 for a release with one.
pub(super) fn sum(variant: &VariantResults<'_>) -> f64 {
    times(variant).iter().map(|workload| workload.ready_s).sum()
}

/// The workload that `variant` makes ready earlier than `reference` by the greatest factor. `None`: no workload is
/// ready earlier.
pub(super) fn greatest_gain(
    variant: &VariantResults<'_>,
    reference: &VariantResults<'_>,
) -> Option<String> {
    let before = times(reference);
    let mut greatest: f64 = 1.1;
    let mut gain = None;
    for now in times(variant) {
        let Some(earlier) = before.iter().find(|before| before.name == now.name) else {
            continue;
        };
        let factor = earlier.ready_s / now.ready_s;
        if factor > greatest && earlier.ready_s.is_finite() {
            greatest = factor;
            gain = Some(format!(
                "{} is ready after {} instead of {}",
                now.name,
                time(now.ready_s),
                time(earlier.ready_s)
            ));
        }
    }
    gain
}

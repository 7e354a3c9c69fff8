//! Results for other programs: an event trace for Perfetto, and metrics for Prometheus.
//!
//! Both show the displayed run of each variant, whose rows are in `timeline.csv`, `clusters.csv`, `passes.csv` and
//! `statuses.csv`. Left out: single pulls and requests, which results do not record.

mod metrics;
mod trace;

pub use metrics::write_metrics;
pub use trace::write_trace;

use itertools::Itertools;

use super::data::{Results, VariantResults};

/// The variants to export: those in `names`, or all variants if `names` is empty.
///
/// # Errors
/// Returns an error if a name is not the name of a variant; the message lists the variants.
fn chosen<'r>(results: &'r Results, names: &[String]) -> Result<Vec<VariantResults<'r>>, String> {
    let mut chosen = results.variants();
    if names.is_empty() {
        return Ok(chosen);
    }
    let known: Vec<&str> = chosen.iter().map(VariantResults::name).collect();
    for name in names {
        if !known.contains(&name.as_str()) {
            let known = known.iter().map(|name| format!("`{name}`")).join(", ");
            return Err(format!(
                "these results have no variant `{name}`; choose one of {known}"
            ));
        }
    }
    chosen.retain(|variant| names.iter().any(|name| name == variant.name()));
    Ok(chosen)
}

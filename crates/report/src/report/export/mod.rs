//! Results for other programs: an event trace for Perfetto, and metrics for Prometheus.
//!
//! Both show the displayed run of each variant, whose rows `timeline.csv`, `clusters.csv`, `passes.csv` and
//! `statuses.csv` hold. Left out: single pulls and requests, which results do not record.

mod metrics;
mod trace;

pub use metrics::write_metrics;
pub use trace::write_trace;

use super::data::{Results, VariantResults};

/// The variants to export: all, or those with these names.
///
/// # Errors
/// When a name is not that of a variant: the message lists the variants.
fn chosen<'r>(results: &'r Results, names: &[String]) -> Result<Vec<VariantResults<'r>>, String> {
    let all = results.variants();
    if let Some(unknown) = names
        .iter()
        .find(|name| all.iter().all(|variant| variant.name() != name.as_str()))
    {
        let known: Vec<String> = all
            .iter()
            .map(|variant| format!("`{}`", variant.name()))
            .collect();
        return Err(format!(
            "these results have no variant `{unknown}`; name one of {}",
            known.join(", ")
        ));
    }
    Ok(all
        .into_iter()
        .filter(|variant| names.is_empty() || names.iter().any(|name| name == variant.name()))
        .collect())
}

//! The line `cost`: what a run of the chosen variant costs by the experiment's prices, and the variant that costs
//! least.
//!
//! Left out: draws of the constants. The costs are medians with every constant at its value, like the load.

use super::alike::are_alike;
use super::groups::NamedVariant;
use crate::report::data::VariantResults;
use crate::report::format::number;
use crate::results::Measure;

/// `11.6 USD for each rollout; the cheapest is cache, 0.72 USD`. `None`: there are no prices.
pub(super) fn line(chosen: &NamedVariant<'_, '_>, all: &[NamedVariant<'_, '_>]) -> Option<String> {
    let cost = chosen.variant.median(Measure::Cost)?;
    let mut text = format!("{} for each rollout", amount(chosen.variant, cost));
    let mut cheapest = chosen;
    let mut least = cost;
    for named in all {
        if let Some(other) = named.variant.median(Measure::Cost)
            && other < least
        {
            cheapest = named;
            least = other;
        }
    }
    if !are_alike(least, cost) {
        let amount = amount(cheapest.variant, least);
        text.push_str(&format!("; the cheapest is `{}`, {amount}", cheapest.label));
    }
    Some(text)
}

/// `0.72 USD`
fn amount(variant: &VariantResults<'_>, cost: f64) -> String {
    let currency = Measure::Cost.unit_in(variant.runs.iter().copied());
    format!("{} {currency}", number(cost))
}

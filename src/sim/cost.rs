//! What a run costs by the experiment's prices: bytes, requests and hours of its links.
//!
//! Each row of `registries.csv` has its own cost, and the run has their sum. A registry's bytes count when they leave
//! it, whoever receives them, also those of failed attempts. Mirrors and caches cost from the start of the run to its
//! end.

use super::Sim;
use crate::results::{LinkKind, RegistryRow};
use crate::scenario::PriceList;
use crate::units::SimDuration;
use crate::world::LinkOwner;

impl Sim<'_> {
    /// Writes the cost into the rows, which are those of registries and then those of [`World::link_loads`]. Returns
    /// the sum. `None`: there are no prices.
    ///
    /// [`World::link_loads`]: crate::world::World::link_loads
    pub(super) fn charge(&self, rows: &mut [RegistryRow], span: SimDuration) -> Option<f64> {
        let prices = self.scenario.price.as_deref()?;
        let (registries, links) = rows.split_at_mut(prices.registries.len());
        for (at, row) in registries.iter_mut().enumerate() {
            row.cost = Some(cost_of_registry(prices, at, row));
        }
        for (row, load) in links.iter_mut().zip(self.world.link_loads()) {
            let machines = load.links as f64 * span.as_secs_f64();
            let sent = row.egress_bytes as f64;
            row.cost = Some(match load.owner {
                LinkOwner::Mirror(_) => sent * prices.mirror_byte + machines * prices.mirror_second,
                LinkOwner::RegionalCache(_) => {
                    sent * prices.cache_byte + machines * prices.cache_second
                }
                LinkOwner::ClusterCaches => machines * prices.cache_second,
                LinkOwner::Region(_) | LinkOwner::Cells | LinkOwner::Peers => 0.0,
            });
        }
        let mut sum = 0.0;
        for row in rows {
            sum += row.cost.unwrap_or(0.0);
        }
        Some(sum)
    }

    /// Returns the currency of the prices; empty if there are none.
    pub(super) fn currency(&self) -> String {
        match &self.scenario.price {
            Some(prices) => prices.currency.to_string(),
            None => String::new(),
        }
    }
}

/// Returns the cost of what a registry has sent and answered.
fn cost_of_registry(prices: &PriceList, at: usize, row: &RegistryRow) -> f64 {
    debug_assert_eq!(row.kind, LinkKind::Registry);
    let of = prices.registries[at];
    let requests = row.requests.unwrap_or(0) as f64;
    row.egress_bytes as f64 * (of.byte + of.nat_byte) + requests * of.request
}

//! Prices, and cores that Argo CD's shards share, in random experiments: the cost is what its rows add up to, and the
//! rows of limits contradict nothing.

use std::any::Any;
use std::sync::Arc;

use fleetsim::products::argo_cd::ArgoCdStrategy;
use fleetsim::results::{LinkKind, RegistryRow, RunRecord};
use fleetsim::scenario::{Currency, PriceList, RegistryPrices, Scenario};
use fleetsim::units::{Factor, SimDuration};
use fleetsim::world::{CachePlace, DistributionKind};

use super::luck::Luck;

/// Adds prices to half of the experiments, and shared cores to half of those with Argo CD.
pub(super) fn add(luck: &mut Luck, scenario: &mut Scenario) {
    if luck.chance(0.5) {
        scenario.price = Some(Arc::new(prices(luck, scenario)));
    }
    let any: &dyn Any = scenario.strategy();
    if let Some(argo_cd) = any.downcast_ref::<ArgoCdStrategy>()
        && luck.chance(0.5)
    {
        let mut argo_cd = argo_cd.clone();
        let controller = &mut argo_cd.application_controller;
        controller.cpu = Some(Factor::new(f64::from(luck.number(1, 16)) / 4.0));
        controller.cpu_per_sync = SimDuration::from_millis(luck.number(1, 3000).into());
        scenario.set_strategy(Arc::new(argo_cd));
    }
}

/// Prices of whole cents for a megabyte, a second and a request.
fn prices(luck: &mut Luck, scenario: &Scenario) -> PriceList {
    let mut registries = Vec::new();
    for _ in 0..=scenario.world.registries.len() {
        registries.push(RegistryPrices {
            byte: f64::from(luck.number(0, 3)) / 1e6,
            nat_byte: f64::from(luck.number(0, 3)) / 1e6,
            request: f64::from(luck.number(0, 3)),
        });
    }
    PriceList {
        currency: Currency::parse("EUR").expect("three letters"),
        registries,
        mirror_byte: f64::from(luck.number(0, 3)) / 1e6,
        cache_byte: f64::from(luck.number(0, 3)) / 1e6,
        mirror_second: f64::from(luck.number(0, 3)),
        cache_second: f64::from(luck.number(0, 3)),
    }
}

/// Checks the cost, and the rows of limits.
pub(super) fn check(scenario: &Scenario, record: &RunRecord) {
    let run = &record.run;
    for row in &record.registries {
        check_limits(row);
    }
    let Some(prices) = &scenario.price else {
        assert_eq!((run.cost, run.currency.as_str()), (None, ""));
        assert!(record.registries.iter().all(|row| row.cost.is_none()));
        return;
    };
    assert_eq!(run.currency, "EUR");
    let mut expected = 0.0;
    let mut of_registries = prices.registries.iter();
    for row in &record.registries {
        let bytes = row.egress_bytes as f64;
        expected += match row.kind {
            LinkKind::Registry => {
                let of = of_registries.next().expect("each registry has prices");
                let requests = row.requests.expect("registries count requests") as f64;
                bytes * of.byte + bytes * of.nat_byte + requests * of.request
            }
            LinkKind::Mirror => bytes * prices.mirror_byte + run.end_s * prices.mirror_second,
            LinkKind::Cache => cost_of_caches(scenario, prices, run.end_s, bytes),
            LinkKind::Region | LinkKind::Peers => 0.0,
        };
    }
    let cost = run.cost.expect("there are prices");
    assert!(
        (cost - expected).abs() <= 1e-9 * expected.abs() + 1e-9,
        "{cost} is not {expected}"
    );
}

/// The cost of a row of caches: one of a region, or those of all clusters.
fn cost_of_caches(scenario: &Scenario, prices: &PriceList, end_s: f64, bytes: f64) -> f64 {
    let world = &scenario.world;
    match &world.distribution.kind {
        DistributionKind::Cache(cache) if cache.per == CachePlace::Region => {
            bytes * prices.cache_byte + end_s * prices.cache_second
        }
        DistributionKind::Cache(_) => world.clusters.len() as f64 * end_s * prices.cache_second,
        _ => 0.0,
    }
}

fn check_limits(row: &RegistryRow) {
    for share in [row.busiest_blob_share, row.in_busy_share]
        .into_iter()
        .flatten()
    {
        assert!((0.0..=1.0 + 1e-9).contains(&share), "{row:?}");
    }
    if let Some(bytes) = row.busiest_blob_bytes {
        assert!(bytes <= row.egress_bytes, "{row:?}");
    }
    let refused = row.responses_429.unwrap_or(0) + row.responses_503.unwrap_or(0);
    if let (Some(clients), Some(met), Some(most)) =
        (row.clients, row.refused_clients, row.most_refused_requests)
    {
        assert!(
            met <= clients && met <= most * met && most <= refused,
            "{row:?}"
        );
        assert_eq!(met == 0, most == 0, "{row:?}");
    }
}

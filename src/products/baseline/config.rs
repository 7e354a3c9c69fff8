//! The baselines' settings in an experiment.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::context::Context;
use crate::document::path::Path;
use crate::products::{AT_ONCE, Fleet, Product, Strategy, TunedSetting};
use crate::rollout::baseline::Baseline;
use crate::world::CountOrPercent;

/// Every cluster in the first pass: the shortest rollout, and the highest load on the registry.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AllAtOnce {}

/// Batches of a fixed size, each started when the previous one is ready.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// Number of clusters in a batch. A percentage refers to all clusters, rounded down but at least one.
    size: CountOrPercent,
}

/// One cluster after another: the longest rollout, and the lowest load on the registry.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OneByOne {}

/// Waves that double, each started when all earlier ones are ready.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Doubling {
    /// The number of clusters in the first wave.
    first: u32,
}

impl Default for Doubling {
    fn default() -> Self {
        Self { first: 1 }
    }
}

impl Product for AllAtOnce {
    const KEY: &'static str = "allAtOnce";
    const TITLE: &'static str = "All at once";
    const SUMMARY: &'static str =
        "Every cluster at once: the fastest and the hardest on the registry.";
    const IS_BOUND: bool = true;

    fn check(&self, _: &Path, _: Fleet<'_>, _: &mut Context<'_>) -> Option<Arc<dyn Strategy>> {
        Some(Arc::new(Baseline::AllAtOnce))
    }
}

impl Product for OneByOne {
    const KEY: &'static str = "oneByOne";
    const TITLE: &'static str = "One by one";
    const SUMMARY: &'static str = "One cluster after the other: the gentlest and the slowest.";
    const IS_BOUND: bool = true;

    fn check(&self, _: &Path, _: Fleet<'_>, _: &mut Context<'_>) -> Option<Arc<dyn Strategy>> {
        Some(Arc::new(Baseline::OneByOne))
    }
}

impl Product for Batches {
    const KEY: &'static str = "batches";
    const TITLE: &'static str = "Batches";
    const SUMMARY: &'static str =
        "Batches of a fixed size, each started when the previous one is ready.";
    const TUNED: &'static [TunedSetting] = &[TunedSetting::of("size", AT_ONCE)];
    const IS_BOUND: bool = true;

    fn check(
        &self,
        path: &Path,
        _: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        let at = path.key("size");
        let baseline = match self.size {
            CountOrPercent::Count(size) => Baseline::BatchSize(size),
            CountOrPercent::Percent(percent) => Baseline::BatchPercent(percent),
        };
        if let Baseline::BatchSize(0) | Baseline::BatchPercent(0) = baseline {
            context.report(
                &at,
                "the batch size must be greater than 0",
                "write e.g. `50` or `10%`",
            );
        } else if let Baseline::BatchPercent(101..) = baseline {
            context.report(
                &at,
                "the batch size must be at most 100%",
                "write at most `100%`",
            );
        }
        Some(Arc::new(baseline))
    }
}

impl Product for Doubling {
    const KEY: &'static str = "doubling";
    const TITLE: &'static str = "Doubling waves";
    const SUMMARY: &'static str =
        "Waves of 1, 2, 4, 8, … clusters, each started when all earlier ones are ready.";
    const IS_BOUND: bool = true;

    fn check(
        &self,
        path: &Path,
        _: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        if self.first == 0 {
            context.report(
                &path.key("first"),
                "must be greater than 0",
                "write e.g. `1`",
            );
        }
        Some(Arc::new(Baseline::Doubling(self.first)))
    }
}

//! The total need of a release for each resource, the resource's limit, and the resulting minimum time.
//!
//! Each time is a lower bound: every cluster gets the release, nothing fails and nothing is retried, no rule of a
//! product delays anything, and each cache and each group of peers fetches a layer once. Each resource is considered
//! alone. What is drawn counts with its median, or its mean where that is the parameter.
//!
//! The space on a disk takes no time, and is listed last with the amount and the size.
//!
//! Left out: the faults of an experiment, outages of a registry, losses by overload, gaps of links, limits of
//! connections to a host, what peers can send, and the kubelet's own limits. Clusters that are offline, paused or
//! without an agent need nothing.
//!
//! How we know: `tests.rs` compares the bounds with simulated runs. In random worlds no bound exceeds the simulated
//! time, and where one resource is slow by construction its bound is that time.

mod content;
mod demand;
mod limits;
mod need;
mod sites;
#[cfg(test)]
mod tests;

use crate::world::spec::WorldSpec;
use content::ReleaseContent;
use demand::ReleaseDemand;
pub use need::{NeededAmount, ResourceNeed};

impl WorldSpec {
    /// Returns the bytes that are on a node's disk at the start and cannot be removed, if its size is limited.
    #[must_use]
    pub fn space_at_start(&self) -> Option<f64> {
        let disk = self.node.disk.as_ref()?;
        let runs_previous = (0..self.clusters.len()).any(|at| self.runs_anything(at));
        disk.size?;
        Some(sites::space_at_start(self, disk, runs_previous))
    }
}

/// Returns the needs of a release, in descending order of their minimum times. Resources without a limit are left out.
#[must_use]
pub fn resource_needs(world: &WorldSpec) -> Vec<ResourceNeed> {
    let content = ReleaseContent::of(world);
    let demand = ReleaseDemand::of(world, &content);
    let mut needs = limits::registry_needs(world, &demand);
    needs.extend(limits::shared_link_needs(world, &demand));
    needs.extend(sites::site_needs(world, &content, &demand));
    needs.retain(|need| {
        let is_space = matches!(need.amount, NeededAmount::Space(_));
        is_space || !need.least.is_zero()
    });
    needs.sort_by_key(|need| std::cmp::Reverse(need.least));
    needs
}

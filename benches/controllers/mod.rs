//! Controllers in the middle of a rollout. Some targets change before each pass.

mod argo_cd;
mod cloud_foundry;
mod kubefleet;
mod rancher_fleet;

use fleetsim::rollout::{TargetId, TargetSet};

/// Number of targets that change before a pass.
pub(crate) const CHANGES: usize = 100;

/// A controller, and the state that it observes.
pub(crate) trait Load {
    /// Changes some targets.
    fn change(&mut self);

    /// Runs a full or an incremental pass. Returns a checksum of its decisions.
    fn pass(&mut self, is_full: bool) -> u64;
}

/// A load's name and the function that builds it for a number of targets.
type NamedLoad = (&'static str, fn(usize) -> Box<dyn Load>);

/// All loads of this bench.
pub(crate) const LOADS: [NamedLoad; 5] = [
    ("Rancher Fleet", |targets| {
        Box::new(rancher_fleet::BundleLoad::new(targets))
    }),
    ("Argo CD RollingSync", |targets| {
        Box::new(argo_cd::SetLoad::new(targets))
    }),
    ("KubeFleet rolling update", |targets| {
        Box::new(kubefleet::RollingLoad::new(targets))
    }),
    ("KubeFleet staged update run", |targets| {
        Box::new(kubefleet::StagedLoad::new(targets))
    }),
    ("Cloud Foundry", |targets| {
        Box::new(cloud_foundry::ProcessLoad::new(targets))
    }),
];

/// Returns [`CHANGES`] of the targets, evenly spread.
fn spread(targets: usize) -> TargetSet {
    let mut set = TargetSet::new(targets);
    (0..targets)
        .step_by((targets / CHANGES).max(1))
        .for_each(|at| _ = set.insert(at as u32));
    set
}

/// The sum of the targets in a list of decisions.
fn sum(targets: impl Iterator<Item = TargetId>) -> u64 {
    targets.map(|target| u64::from(target.0 + 1)).sum()
}

//! The member clusters as KubeFleet's hub cluster knows them: a binding for each, and the status that the work
//! generator writes.
//!
//! After its spec is written, a binding has no state of the new resources until the work generator writes one, even if
//! the cluster is offline (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/workgenerator/controller.go`): first
//! applying, then Available or not, as the cluster's agent reports.
//!
//! KubeFleet cannot pause clusters, so `paused` has no effect here. A cluster without an agent is a member that never
//! receives anything. Left out: the work applier's checks of the applied resources (the agent's delays represent
//! them).

use crate::rollout::kubefleet::{ApplyStrategy, Binding, Bindings, WorkState, binding_name};
use crate::rollout::{Revision, TargetId};
use crate::units::SimTime;
use crate::world::WorldSpec;

/// Returns a binding for each of these clusters of a placement, in its state before the release.
pub(super) fn bindings_of(
    world: &WorldSpec,
    placement: &str,
    clusters: impl Iterator<Item = usize>,
) -> Bindings {
    clusters
        .map(|index| binding_of(world, placement, index))
        .collect()
}

/// Returns the binding of a cluster in its state before the release.
fn binding_of(world: &WorldSpec, placement: &str, index: usize) -> Binding {
    let cluster = &world.clusters[index];
    let target = TargetId(index as u32);
    let name = binding_name(placement, &cluster.name, target.0);
    match world.installed(0, index) {
        Some(old) if cluster.registered => Binding::settled(name, target, 0, old, ApplyStrategy(0)),
        _ => Binding::scheduled(name, target, 0),
    }
}

/// Writes a binding's status on behalf of the work generator. Returns the old and new binding if it changed.
pub(super) fn write_status(
    bindings: &mut Bindings,
    target: TargetId,
    revision: Revision,
    state: WorkState,
) -> Option<(Binding, Binding)> {
    let binding = bindings.get_mut(target)?;
    if binding.snapshot != Some(revision) {
        return None;
    }
    let before = binding.clone();
    // No decision depends on the time of a condition, as a test of the schedulers shows. With the report's time, a
    // report that repeats the state would look like a change.
    binding.report(SimTime::ZERO, state);
    (before != *binding).then(|| (before, binding.clone()))
}

/// Returns whether the hub cluster sees a cluster's resources of the wanted snapshot as available. `None`: the cluster
/// has no binding.
pub(super) fn is_done(bindings: &Bindings, target: TargetId, wanted: Revision) -> Option<bool> {
    let binding = bindings.get(target)?;
    Some(binding.snapshot == Some(wanted) && binding.has_succeeded())
}

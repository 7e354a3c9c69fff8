//! The member clusters as KubeFleet's hub cluster knows them: a binding for each, with what the work generator writes.
//!
//! A binding that is rolled has no state of its new resources until the work generator writes one, also where the
//! cluster is offline (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/workgenerator/controller.go`): applying at
//! first, then Available or not, as the cluster's agent reports it.
//!
//! KubeFleet knows no paused clusters: `paused` has no meaning here. A cluster without an agent is a member that never
//! hears of anything. Left out: the work applier's own looks at what it applied (the agent's delays of the world stand
//! for them).

use crate::rollout::kubefleet::{ApplyStrategy, Binding, Bindings, WorkState, binding_name};
use crate::rollout::{Revision, TargetId};
use crate::units::SimTime;
use crate::world::{NEW, WorldSpec};

/// A binding for each of these clusters of a placement, as it is before the release.
pub(super) fn bindings_of(
    world: &WorldSpec,
    placement: &str,
    clusters: impl Iterator<Item = usize>,
) -> Bindings {
    clusters
        .map(|index| binding_of(world, placement, index))
        .collect()
}

/// The binding of a cluster, as it is before the release.
fn binding_of(world: &WorldSpec, placement: &str, index: usize) -> Binding {
    let cluster = &world.clusters[index];
    let target = TargetId(index as u32);
    let name = binding_name(placement, &cluster.name, target.0);
    match world.installed(index) {
        Some(old) if cluster.registered => Binding::settled(name, target, 0, old, ApplyStrategy(0)),
        _ => Binding::scheduled(name, target, 0),
    }
}

/// The work generator writes a binding's status. The binding before and after it, if it changed.
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
    // When a condition was written decides nothing, as a test of the schedulers shows; with the time of the report,
    // one that says the same again would look like a change.
    binding.report(SimTime::ZERO, state);
    (before != *binding).then(|| (before, binding.clone()))
}

/// Whether the hub cluster sees the new resources available in a cluster. `None`: the cluster has no binding.
pub(super) fn is_done(bindings: &Bindings, target: TargetId) -> Option<bool> {
    bindings
        .get(target)
        .map(|binding| binding.snapshot == Some(NEW) && binding.has_succeeded())
}

//! The targets of a run, which a controller instructs and queries.

use crate::rollout::Revision;
use crate::world::{ApplyFailure, Queue, TargetId, World};

/// The targets of a run: the simulated world, or a recorded fleet in a test.
pub trait RolloutTargets {
    /// Returns whether a target's cluster is online for the management cluster.
    fn is_online(&self, target: TargetId) -> bool;

    /// Returns whether a target's offline cluster will come back online.
    fn is_repair_due(&self, target: TargetId) -> bool;

    /// Returns whether a container of the target is in back-off after a failure.
    fn is_backing_off(&self, target: TargetId) -> bool;

    /// Returns whether a container of the target never becomes ready.
    fn is_stuck(&self, target: TargetId) -> bool;

    /// Instructs a target to run a revision.
    fn instruct(&mut self, target: TargetId, revision: Revision, queue: &mut Queue);

    /// Pauses or resumes a target.
    fn pause(&mut self, _target: TargetId, _is_paused: bool, _queue: &mut Queue) {}

    /// Applies a revision of a target from the management cluster. An offline cluster never receives it.
    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue);

    /// Returns the failure of the next apply of the new revision of a target. `None`: the apply will succeed.
    fn next_failure(&self, _target: TargetId) -> Option<ApplyFailure> {
        None
    }

    /// Returns whether every apply of the new revision of a target fails, however often the agent tries.
    fn always_fails(&self, _target: TargetId) -> bool {
        false
    }

    /// Aborts an apply that would fail, on behalf of the management cluster. The agent does not report the abort.
    fn break_off(&mut self, _target: TargetId, _queue: &mut Queue) {}

    /// Instructs a target to remove its workloads. This downloads nothing and does not change the simulated world.
    fn remove(&mut self, _target: TargetId, _queue: &mut Queue) {}

    /// Instructs a cluster's agent to remove a target's workloads for good.
    fn withdraw(&mut self, _target: TargetId, _queue: &mut Queue) {}

    /// Returns whether a target's workloads were removed for good and all their pods are gone.
    fn is_removed(&self, _target: TargetId) -> bool {
        false
    }
}

impl RolloutTargets for World<'_> {
    fn is_online(&self, target: TargetId) -> bool {
        World::is_online(self, self.cluster_of_target(target))
    }

    fn is_repair_due(&self, target: TargetId) -> bool {
        World::is_repair_due(self, self.cluster_of_target(target))
    }

    fn is_backing_off(&self, target: TargetId) -> bool {
        World::is_backing_off(self, target)
    }

    fn is_stuck(&self, target: TargetId) -> bool {
        World::is_stuck(self, target)
    }

    fn instruct(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        World::instruct(self, target, revision, queue);
    }

    fn pause(&mut self, target: TargetId, is_paused: bool, queue: &mut Queue) {
        World::pause(self, target, is_paused, queue);
    }

    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        World::push(self, target, revision, queue);
    }

    fn next_failure(&self, target: TargetId) -> Option<ApplyFailure> {
        World::next_failure(self, target)
    }

    fn always_fails(&self, target: TargetId) -> bool {
        World::always_fails(self, target)
    }

    fn break_off(&mut self, target: TargetId, queue: &mut Queue) {
        World::break_off(self, target, queue);
    }

    fn withdraw(&mut self, target: TargetId, queue: &mut Queue) {
        World::withdraw(self, target, queue);
    }

    fn is_removed(&self, target: TargetId) -> bool {
        World::is_removed(self, target)
    }
}

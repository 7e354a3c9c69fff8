//! The targets of an application in a run, which a controller queries and instructs.
//!
//! A controller counts its own targets from 0. In a world with several applications, they are a range of the world's
//! targets; [`ApplicationTargets`] converts between the two.

use crate::rollout::Revision;
use crate::world::{ApplyFailure, Queue, TargetId, World};

/// The states of targets that a controller can query.
pub trait TargetStates {
    /// Returns whether a target's cluster is online for the management cluster.
    fn is_online(&self, target: TargetId) -> bool;

    /// Returns whether a target's offline cluster will come back online.
    fn is_repair_due(&self, target: TargetId) -> bool;

    /// Returns whether a container of the target is in back-off after a failure.
    fn is_backing_off(&self, target: TargetId) -> bool;

    /// Returns whether a container of the target never becomes ready.
    fn is_stuck(&self, target: TargetId) -> bool;

    /// Returns the failure of the next apply of a revision of a target. `None`: the apply will succeed.
    fn next_failure(&self, _target: TargetId, _revision: Revision) -> Option<ApplyFailure> {
        None
    }

    /// Returns whether every apply of the new revision of a target fails, however often the agent tries.
    fn always_fails(&self, _target: TargetId) -> bool {
        false
    }

    /// Returns whether a target's workloads were removed for good and all their pods are gone.
    fn is_removed(&self, _target: TargetId) -> bool {
        false
    }
}

/// The targets of a controller: those of an application in the simulated world, or a recorded fleet in a test.
pub trait RolloutTargets: TargetStates {
    /// Instructs a target to run a revision.
    fn instruct(&mut self, target: TargetId, revision: Revision, queue: &mut Queue);

    /// Pauses or resumes a target.
    fn pause(&mut self, _target: TargetId, _is_paused: bool, _queue: &mut Queue) {}

    /// Applies a revision of a target from the management cluster. An offline cluster never receives it.
    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue);

    /// Aborts an apply that would fail, on behalf of the management cluster. The agent does not report the abort.
    fn break_off(&mut self, _target: TargetId, _queue: &mut Queue) {}

    /// Instructs a target to remove its workloads. This downloads nothing and does not change the simulated world.
    fn remove(&mut self, _target: TargetId, _queue: &mut Queue) {}

    /// Instructs a cluster's agent to remove a target's workloads for good.
    fn withdraw(&mut self, _target: TargetId, _queue: &mut Queue) {}
}

/// The targets of one application in a world, to look at.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationStates<'w, 's> {
    /// The world with the targets of all applications.
    pub world: &'w World<'s>,
    /// The number of the application's first target in the world.
    pub first: u32,
}

/// The targets of one application in a world.
#[derive(Debug)]
pub struct ApplicationTargets<'w, 's> {
    /// The world with the targets of all applications.
    pub world: &'w mut World<'s>,
    /// The number of the application's first target in the world.
    pub first: u32,
}

/// Returns the number in the world of a target of an application whose targets begin at `first`.
const fn in_world(target: TargetId, first: u32) -> TargetId {
    TargetId(first + target.0)
}

impl TargetStates for ApplicationStates<'_, '_> {
    fn is_online(&self, target: TargetId) -> bool {
        let cluster = self.world.cluster_of_target(in_world(target, self.first));
        self.world.is_online(cluster)
    }

    fn is_repair_due(&self, target: TargetId) -> bool {
        let cluster = self.world.cluster_of_target(in_world(target, self.first));
        self.world.is_repair_due(cluster)
    }

    fn is_backing_off(&self, target: TargetId) -> bool {
        self.world.is_backing_off(in_world(target, self.first))
    }

    fn is_stuck(&self, target: TargetId) -> bool {
        self.world.is_stuck(in_world(target, self.first))
    }

    /// Only applies of the first release's revision fail.
    fn next_failure(&self, target: TargetId, revision: Revision) -> Option<ApplyFailure> {
        self.world
            .next_failure(in_world(target, self.first), revision)
    }

    fn always_fails(&self, target: TargetId) -> bool {
        self.world.always_fails(in_world(target, self.first))
    }

    fn is_removed(&self, target: TargetId) -> bool {
        self.world.is_removed(in_world(target, self.first))
    }
}

impl<'s> ApplicationTargets<'_, 's> {
    const fn states(&self) -> ApplicationStates<'_, 's> {
        ApplicationStates {
            world: self.world,
            first: self.first,
        }
    }
}

impl TargetStates for ApplicationTargets<'_, '_> {
    fn is_online(&self, target: TargetId) -> bool {
        self.states().is_online(target)
    }

    fn is_repair_due(&self, target: TargetId) -> bool {
        self.states().is_repair_due(target)
    }

    fn is_backing_off(&self, target: TargetId) -> bool {
        self.states().is_backing_off(target)
    }

    fn is_stuck(&self, target: TargetId) -> bool {
        self.states().is_stuck(target)
    }

    fn next_failure(&self, target: TargetId, revision: Revision) -> Option<ApplyFailure> {
        self.states().next_failure(target, revision)
    }

    fn always_fails(&self, target: TargetId) -> bool {
        self.states().always_fails(target)
    }

    fn is_removed(&self, target: TargetId) -> bool {
        self.states().is_removed(target)
    }
}

impl RolloutTargets for ApplicationTargets<'_, '_> {
    fn instruct(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        let target = in_world(target, self.first);
        self.world.instruct(target, revision, queue);
    }

    fn pause(&mut self, target: TargetId, is_paused: bool, queue: &mut Queue) {
        let target = in_world(target, self.first);
        self.world.pause(target, is_paused, queue);
    }

    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        let target = in_world(target, self.first);
        self.world.push(target, revision, queue);
    }

    fn break_off(&mut self, target: TargetId, queue: &mut Queue) {
        let target = in_world(target, self.first);
        self.world.break_off(target, queue);
    }

    fn withdraw(&mut self, target: TargetId, queue: &mut Queue) {
        let target = in_world(target, self.first);
        self.world.withdraw(target, queue);
    }
}

//! The clusters of a run, which a controller instructs and queries.

use crate::rollout::Revision;
use crate::world::{ApplyFailure, ClusterId, Queue, World};

/// The clusters of a run: the simulated world, or a recorded fleet in a test.
pub trait Clusters {
    /// Returns whether a cluster is online for the management cluster.
    fn is_online(&self, cluster: ClusterId) -> bool;

    /// Returns whether an offline cluster will come back online.
    fn is_repair_due(&self, cluster: ClusterId) -> bool;

    /// Returns whether a container of the cluster is in back-off after a failure.
    fn is_backing_off(&self, cluster: ClusterId) -> bool;

    /// Returns whether a container of the cluster never becomes ready.
    fn is_stuck(&self, cluster: ClusterId) -> bool;

    /// Instructs a cluster to run a revision.
    fn instruct(&mut self, cluster: ClusterId, revision: Revision, queue: &mut Queue);

    /// Pauses or resumes a cluster's deployment.
    fn pause(&mut self, _cluster: ClusterId, _is_paused: bool, _queue: &mut Queue) {}

    /// Applies a revision in a cluster from the management cluster. An offline cluster never receives it.
    fn push(&mut self, cluster: ClusterId, revision: Revision, queue: &mut Queue);

    /// Returns the failure of the next apply of the new revision in a cluster. `None`: the apply will succeed.
    fn next_failure(&self, _cluster: ClusterId) -> Option<ApplyFailure> {
        None
    }

    /// Returns whether every apply of the new revision in a cluster fails, however often the agent tries.
    fn always_fails(&self, _cluster: ClusterId) -> bool {
        false
    }

    /// Aborts an apply that would fail, on behalf of the management cluster. The agent does not report the abort.
    fn break_off(&mut self, _cluster: ClusterId, _queue: &mut Queue) {}

    /// Instructs a cluster to remove its workloads. This downloads nothing and does not change the simulated world.
    fn remove(&mut self, _cluster: ClusterId, _queue: &mut Queue) {}

    /// Instructs a cluster's agent to remove the cluster's workloads for good.
    fn withdraw(&mut self, _cluster: ClusterId, _queue: &mut Queue) {}

    /// Returns whether a cluster's workloads were removed for good and all their pods are gone.
    fn is_removed(&self, _cluster: ClusterId) -> bool {
        false
    }
}

impl Clusters for World<'_> {
    fn is_online(&self, cluster: ClusterId) -> bool {
        World::is_online(self, cluster)
    }

    fn is_repair_due(&self, cluster: ClusterId) -> bool {
        World::is_repair_due(self, cluster)
    }

    fn is_backing_off(&self, cluster: ClusterId) -> bool {
        World::is_backing_off(self, cluster)
    }

    fn is_stuck(&self, cluster: ClusterId) -> bool {
        World::is_stuck(self, cluster)
    }

    fn instruct(&mut self, cluster: ClusterId, revision: Revision, queue: &mut Queue) {
        World::instruct(self, cluster, revision, queue);
    }

    fn pause(&mut self, cluster: ClusterId, is_paused: bool, queue: &mut Queue) {
        World::pause(self, cluster, is_paused, queue);
    }

    fn push(&mut self, cluster: ClusterId, revision: Revision, queue: &mut Queue) {
        World::push(self, cluster, revision, queue);
    }

    fn next_failure(&self, cluster: ClusterId) -> Option<ApplyFailure> {
        World::next_failure(self, cluster)
    }

    fn always_fails(&self, cluster: ClusterId) -> bool {
        World::always_fails(self, cluster)
    }

    fn break_off(&mut self, cluster: ClusterId, queue: &mut Queue) {
        World::break_off(self, cluster, queue);
    }

    fn withdraw(&mut self, cluster: ClusterId, queue: &mut Queue) {
        World::withdraw(self, cluster, queue);
    }

    fn is_removed(&self, cluster: ClusterId) -> bool {
        World::is_removed(self, cluster)
    }
}

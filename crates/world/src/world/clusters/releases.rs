//! Several releases of an application: which revision is wanted, and how long deployments have a defective one.
//!
//! A release makes its revision the wanted one. What a deployment did for an earlier release no longer counts: its
//! times of instruction and readiness are those of the latest release. A deployment that runs the wanted revision
//! already, as after a rollback that overtakes the rollout, is ready at once.
//!
//! A deployment is exposed from the time at which its workloads get a defective revision until all of their pods run
//! another one and are available. Its users may suffer later or not at all, if old pods serve meanwhile. A failed apply
//! and a missing image expose nobody: no container of the revision runs.
//!
//! Nodes keep the layers of earlier revisions as long as their disks have room (`nodes::image_collection`), so a way
//! back pulls only what they no longer have. `revisionHistoryLimit` has no effect here: the products apply the old
//! template again, and the node's layers do not depend on old ReplicaSets.
//!
//! Left out: manual changes in a cluster, such as `kubectl rollout undo`.

use crate::world::World;
use crate::world::clusters::cluster::{ClusterFacts, ClusterState};
use crate::world::clusters::deployment::{AppDeployment, DeploymentFacts};
use crate::world::event::Queue;
use crate::world::ids::{ApplicationId, TargetId};
use fleetsim_rollout::Revision;
use fleetsim_units::{SimDuration, SimTime};

impl World<'_> {
    /// Makes a revision the wanted one of an application.
    pub fn publish(&mut self, application: ApplicationId, revision: Revision, queue: &Queue) {
        self.meter.advance(queue.now());
        for at in 0..self.deployments.len() {
            let deployment = &mut self.deployments[at];
            if deployment.application != application.index() || deployment.goal == revision {
                continue;
            }
            deployment.want(revision, queue.now());
            self.clusters[deployment.cluster.index()].begin_anew(queue.now());
            self.note_phase(TargetId::at(at));
        }
    }

    /// Returns how long deployments of an application have had a defective revision until `now`, in total.
    #[must_use]
    pub fn exposed_for(&self, application: ApplicationId, now: SimTime) -> SimDuration {
        let mut total = SimDuration::ZERO;
        for deployment in &self.deployments {
            if deployment.application == application.index() {
                total += deployment.facts.exposed_until(now);
            }
        }
        total
    }
}

impl DeploymentFacts {
    /// Returns how long the deployment's workloads have had a defective revision until `now`.
    #[must_use]
    pub fn exposed_until(&self, now: SimTime) -> SimDuration {
        match self.exposed_since {
            Some(since) => self.exposed_for + now.saturating_since(since),
            None => self.exposed_for,
        }
    }
}

impl ClusterState {
    /// Counts the time of pulls anew, from the next update of a deployment.
    fn begin_anew(&mut self, now: SimTime) {
        self.spend(now);
        self.facts = ClusterFacts {
            begun: None,
            transferring: SimDuration::ZERO,
            unpacking: SimDuration::ZERO,
            throttled: SimDuration::ZERO,
            unavailable: SimDuration::ZERO,
            held_by_kubelet: SimDuration::ZERO,
            ..self.facts
        };
    }
}

impl AppDeployment {
    /// Wants a revision, from now on.
    fn want(&mut self, revision: Revision, now: SimTime) {
        self.goal = revision;
        self.agent.faults = 0;
        self.facts = DeploymentFacts {
            begun: None,
            instructed: None,
            applied: None,
            settled: None,
            ready: self.agent.is_reported_on(revision).then_some(now),
            instruction_waited: SimDuration::ZERO,
            report_waited: SimDuration::ZERO,
            ..self.facts
        };
    }

    /// Records an instruction to run a revision.
    pub(super) fn note_instruction(&mut self, revision: Revision, now: SimTime) {
        self.facts.exposed |= self.draws.of(revision).defective;
        if revision == self.goal {
            self.facts.instructed.get_or_insert(now);
        }
    }

    /// Records that the workloads get a revision.
    pub(super) fn note_revision(&mut self, revision: Revision, now: SimTime) {
        if self.draws.of(revision).defective {
            self.facts.exposed_since.get_or_insert(now);
        }
        if revision == self.goal {
            self.facts.begun.get_or_insert(now);
        }
    }

    /// Ends an exposure if all pods run a revision without a defect, or the workloads are deleted.
    pub(super) fn note_exposure(&mut self, now: SimTime) {
        let Some(since) = self.facts.exposed_since else {
            return;
        };
        let mut has_defective = false;
        for workload in &self.workloads {
            has_defective |= workload
                .desired
                .is_some_and(|revision| self.draws.of(revision).defective);
        }
        let is_over = self.agent.removal.has_begun() || self.settled && !has_defective;
        if is_over {
            self.facts.exposed_for += now - since;
            self.facts.exposed_since = None;
        }
    }
}

//! A deployment: one application on one cluster, which is a target of a rollout.
//!
//! Its cluster has the links, the nodes and the failures. A deployment has what the agent of its cluster does for it
//! (instructions, applies, reports), its workloads, and its draws. Targets are ordered by application, then by
//! cluster.
//!
//! Random numbers of a deployment have the key of its cluster, so that they do not depend on other deployments.

use crate::engine::{EntityKey, Streams};
use crate::world::World;
use crate::world::clusters::agent::Agent;
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::cluster_draws::factor;
use crate::world::clusters::pod::Pod;
use crate::world::clusters::spec::WorkloadSpec;
use crate::world::clusters::workload::WorkloadState;
use crate::world::faults::strata::{FaultDraws, ShareFault};
use crate::world::ids::{ClusterId, NEW, PodId, TargetId};
use crate::world::meter::{DeploymentPhase, Meter};
use crate::world::spec::WorldSpec;
use fleetsim_rollout::Revision;
use fleetsim_units::{SimDuration, SimTime};

/// The state of one deployment.
#[derive(Debug)]
pub(crate) struct AppDeployment {
    pub id: TargetId,
    pub cluster: ClusterId,
    pub key: EntityKey,
    pub draws: DeploymentDraws,
    /// What the cluster's agent knows of the deployment and does for it.
    pub agent: Agent,
    pub workloads: Vec<WorkloadState>,
    /// Whether all workloads run their current template and are ready.
    pub settled: bool,
    /// Whether a Deployment has exceeded its progress deadline.
    pub degraded: bool,
    pub(crate) troubled_pods: u32,
    pub phase: DeploymentPhase,
    pub facts: DeploymentFacts,
}

/// Random properties of one deployment, drawn before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeploymentDraws {
    /// Whether the new revision is defective in the cluster.
    pub defective: bool,
    /// Whether the new revision's images are missing for the cluster.
    pub not_found: bool,
    /// The factor on the durations of the deployment's applies.
    pub apply: f64,
    /// The first entry of `faults.apply` that affects the cluster.
    pub apply_fault: Option<usize>,
}

/// Facts recorded about one deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeploymentFacts {
    /// The time at which the deployment's workloads first got the new revision.
    pub begun: Option<SimTime>,
    /// Time until the instruction was sent, after the cluster was offline.
    pub instruction_waited: SimDuration,
    /// Time until the report of readiness was sent, after the cluster was offline.
    pub report_waited: SimDuration,
    /// Whether the new revision is defective in this cluster.
    pub defective: bool,
    /// The time at which the deployment was first instructed to run the new revision.
    pub instructed: Option<SimTime>,
    /// The time at which the cluster's agent first applied the new revision.
    pub applied: Option<SimTime>,
    /// The time at which the deployment's workloads last became ready.
    pub settled: Option<SimTime>,
    /// The time at which the management cluster first received a report that the deployment is ready on the new
    /// revision.
    pub ready: Option<SimTime>,
    /// When the deployment's workloads were deleted for good.
    pub removed: Option<SimTime>,
}

impl DeploymentDraws {
    /// Draws the properties of a deployment on this cluster, whose applies vary by `apply_spread`.
    fn draw(
        world: &WorldSpec,
        cluster: ClusterId,
        apply_spread: f64,
        streams: &Streams,
        draws: &FaultDraws,
    ) -> Self {
        let faults = &world.faults;
        let name = &world.clusters[cluster.index()].name;
        let key = EntityKey::of(name);
        Self {
            defective: draws.hits(ShareFault::Defect, faults, streams, key),
            not_found: draws.hits(ShareFault::NotFound, faults, streams, key),
            apply: factor(apply_spread, "apply spread", streams, key),
            apply_fault: (0..faults.apply.len())
                .find(|at| faults.apply[*at].hits(*at, name, streams)),
        }
    }

    /// Returns whether pods of this revision are defective in the cluster.
    pub(crate) fn is_defective(&self, revision: Revision) -> bool {
        revision == NEW && self.defective
    }

    /// Returns whether the images of this revision are missing for the cluster.
    pub(crate) fn is_missing(&self, revision: Revision) -> bool {
        revision == NEW && self.not_found
    }
}

impl AppDeployment {
    /// Creates a deployment to which nothing has happened yet.
    fn new(id: TargetId, world: &WorldSpec, cluster: ClusterId, draws: DeploymentDraws) -> Self {
        let running = world.installed(cluster.index());
        let mut workloads = Vec::new();
        workloads.resize_with(world.workloads.len(), WorkloadState::default);
        Self {
            id,
            cluster,
            key: EntityKey::of(&world.clusters[cluster.index()].name),
            draws,
            agent: Agent::settled(running),
            workloads,
            settled: running.is_some(),
            degraded: false,
            troubled_pods: 0,
            phase: DeploymentPhase::Waiting,
            facts: DeploymentFacts {
                defective: draws.defective,
                ..DeploymentFacts::default()
            },
        }
    }

    /// Returns the pods of all workloads, without terminating ones.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodId> {
        self.workloads.iter().flat_map(WorkloadState::pods)
    }

    /// Updates the deployment's phase in the meters.
    pub(crate) fn note_phase(&mut self, cluster: &ClusterState, meter: &mut Meter) {
        let phase = self.current_phase(cluster);
        if phase != self.phase {
            let was = std::mem::replace(&mut self.phase, phase);
            meter.move_deployment(was, phase);
        }
    }
}

impl<'s> World<'s> {
    /// Creates all deployments, and returns those of each cluster, in the order of the applications.
    pub(crate) fn add_deployments(&mut self) -> Vec<Vec<TargetId>> {
        let mut of_cluster = vec![Vec::new(); self.spec.clusters.len()];
        for (at, targets) in of_cluster.iter_mut().enumerate() {
            let cluster = ClusterId::at(at);
            let draws = DeploymentDraws::draw(
                self.spec,
                cluster,
                self.platform.agent.apply_spread,
                &self.streams,
                &self.faults.draws,
            );
            let id = TargetId::at(self.deployments.len());
            targets.push(id);
            self.deployments
                .push(AppDeployment::new(id, self.spec, cluster, draws));
        }
        of_cluster
    }

    /// Returns the workloads of a deployment.
    pub(crate) fn workloads_of(&self, _target: TargetId) -> &'s [WorkloadSpec] {
        let spec: &'s WorldSpec = self.spec;
        &spec.workloads
    }

    /// Returns the workload of a pod.
    pub(crate) fn workload_of(&self, pod: &Pod) -> &'s WorkloadSpec {
        &self.workloads_of(pod.target)[pod.workload]
    }

    /// Returns the cluster of a deployment.
    #[must_use]
    pub fn cluster_of_target(&self, target: TargetId) -> ClusterId {
        self.deployments[target.index()].cluster
    }

    /// Updates a deployment's phase in the meters.
    pub(crate) fn note_phase(&mut self, id: TargetId) {
        let deployment = &mut self.deployments[id.index()];
        let cluster = &self.clusters[deployment.cluster.index()];
        deployment.note_phase(cluster, &mut self.meter);
    }

    /// Returns, for each workload, the time since when it is ready on the new revision in all of these deployments of
    /// one application. `None`: it is not ready in all of them. Empty for a single workload.
    #[must_use]
    pub fn workloads_ready(&self, targets: &[TargetId]) -> Vec<Option<SimTime>> {
        let mut ready = vec![Some(SimTime::ZERO); self.spec.workloads.len()];
        for target in targets {
            let workloads = &self.deployments[target.index()].workloads;
            for (last, workload) in ready.iter_mut().zip(workloads) {
                *last = last.zip(workload.ready_since).map(|(a, b)| a.max(b));
            }
        }
        ready
    }

    /// Returns the number of targets.
    #[must_use]
    pub const fn targets(&self) -> usize {
        self.deployments.len()
    }

    /// Returns the facts recorded about each deployment.
    pub fn deployment_facts(&self) -> impl Iterator<Item = &DeploymentFacts> {
        self.deployments.iter().map(|deployment| &deployment.facts)
    }
}

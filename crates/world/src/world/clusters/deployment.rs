//! A deployment: one application on one cluster, which is a target of a rollout.
//!
//! Its cluster has the links, the nodes and the failures. A deployment has what the agent of its cluster does for it
//! (instructions, applies, reports), its workloads, and its draws. Targets are ordered by application, then by
//! cluster.
//!
//! Random numbers of the first application's deployments have the keys of clusters and nodes; those of others also
//! have the application's name in their key. So another application changes no draw of a deployment, except those that
//! belong to a node: the times of its requests, connections and unpackings, which it numbers whatever they are for.

use crate::engine::{EntityKey, Streams};
use crate::world::World;
use crate::world::clusters::agent::Agent;
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::cluster_draws::factor;
use crate::world::clusters::pod::Pod;
use crate::world::clusters::spec::WorkloadSpec;
use crate::world::clusters::workload::WorkloadState;
use crate::world::faults::spec::{ApplyFaultSpec, DefectSpec, ReleaseFaults};
use crate::world::faults::strata::{FaultDraws, ShareFault};
use crate::world::ids::{ClusterId, NEW, PodId, TargetId, later_release};
use crate::world::meter::{DeploymentPhase, DeploymentSigns, LoadChangeKind, Meter};
use crate::world::spec::WorldSpec;
use fleetsim_rollout::Revision;
use fleetsim_units::{Bytes, SimDuration, SimTime};

/// The state of one deployment.
#[derive(Debug)]
pub(crate) struct AppDeployment {
    pub id: TargetId,
    /// Index of the application in [`WorldSpec::applications`].
    pub application: usize,
    pub cluster: ClusterId,
    pub key: EntityKey,
    /// The part of keys that tells the application from the first one, which has none.
    own_key: Option<EntityKey>,
    /// What the deployment has had on each node of the cluster so far.
    on_nodes: Vec<NodeCounts>,
    pub draws: DeploymentDraws,
    /// The revision that is wanted: that of the latest release.
    pub goal: Revision,
    /// What the cluster's agent knows of the deployment and does for it.
    pub agent: Agent,
    pub workloads: Vec<WorkloadState>,
    /// Whether all workloads run their current template and are ready.
    pub settled: bool,
    /// Whether a Deployment has exceeded its progress deadline.
    pub degraded: bool,
    pub(crate) troubled_pods: u32,
    pub phase: DeploymentPhase,
    /// What people may notice here.
    signs: DeploymentSigns,
    pub facts: DeploymentFacts,
}

/// Numbers of pods and of pull attempts that a deployment has had on a node. They identify random draws.
#[derive(Clone, Copy, Debug, Default)]
struct NodeCounts {
    pods: u32,
    attempts: u32,
}

/// Random properties of one deployment, drawn before the run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeploymentDraws {
    /// What fails in the revision of the first release.
    first: RevisionDraws,
    /// What fails in the revisions of later releases.
    later: Vec<RevisionDraws>,
    /// The factor on the durations of the deployment's applies.
    pub apply: f64,
}

/// What fails in one revision of a deployment, drawn before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RevisionDraws {
    /// Whether the revision is defective in the cluster.
    pub defective: bool,
    /// Whether the revision's images are missing for the cluster.
    pub not_found: bool,
    /// The first of the revision's failing applies that affects the cluster.
    pub apply_fault: Option<usize>,
}

impl RevisionDraws {
    /// Draws what fails in a later release, whose random numbers have this key.
    fn draw(faults: &ReleaseFaults, cluster: &str, key: EntityKey, streams: &Streams) -> Self {
        Self {
            defective: ShareFault::Defect.hits_share(faults.defect.share, streams, key),
            not_found: ShareFault::NotFound.hits_share(faults.not_found, streams, key),
            apply_fault: first_hit(&faults.apply, cluster, key, streams),
        }
    }
}

/// Returns the index of the first of these failing applies that affects a cluster.
fn first_hit(
    faults: &[ApplyFaultSpec],
    cluster: &str,
    key: EntityKey,
    streams: &Streams,
) -> Option<usize> {
    (0..faults.len()).find(|at| faults[*at].hits(*at, cluster, key, streams))
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
    /// Whether a released revision is defective in this cluster.
    pub defective: bool,
    /// Whether the deployment was instructed to run a defective revision.
    pub exposed: bool,
    /// The time since when the deployment's workloads have a defective revision. `None`: they have none now.
    pub exposed_since: Option<SimTime>,
    /// How long they had a defective revision before.
    pub exposed_for: SimDuration,
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
    /// Number of attempts to pull images for the deployment.
    pub pulls: u64,
    /// Number of these attempts that failed.
    pub failed_pulls: u64,
    /// Bytes of the deployment's images that arrived after their pulls, because containers read them on demand.
    pub lazily_received: Bytes,
}

/// An application on a cluster.
#[derive(Clone, Copy, Debug)]
struct DeploymentPlace {
    application: usize,
    cluster: ClusterId,
}

impl DeploymentPlace {
    /// Returns the part of keys that tells the application from the first one.
    fn own_key(self, world: &WorldSpec) -> Option<EntityKey> {
        let name = &world.applications[self.application].name;
        (self.application > 0).then(|| EntityKey::of(name))
    }

    /// Returns the key of the deployment's random numbers.
    fn key(self, world: &WorldSpec) -> EntityKey {
        let cluster = EntityKey::of(&world.clusters[self.cluster.index()].name);
        match self.own_key(world) {
            Some(own) => cluster.at(own),
            None => cluster,
        }
    }
}

impl DeploymentDraws {
    /// Draws the properties of a deployment, whose applies vary by `apply_spread`.
    fn draw(
        world: &WorldSpec,
        place: DeploymentPlace,
        apply_spread: f64,
        streams: &Streams,
        draws: &FaultDraws,
    ) -> Self {
        let faults = &world.faults;
        let DeploymentPlace {
            application,
            cluster,
        } = place;
        let name = &world.clusters[cluster.index()].name;
        let key = place.key(world);
        let (defective, not_found) = match &world.applications[application].faults {
            Some(own) => (
                ShareFault::Defect.hits_share(own.defect.share, streams, key),
                ShareFault::NotFound.hits_share(own.not_found, streams, key),
            ),
            None => (
                draws.hits(ShareFault::Defect, faults, streams, key),
                draws.hits(ShareFault::NotFound, faults, streams, key),
            ),
        };
        let first = RevisionDraws {
            defective,
            not_found,
            apply_fault: first_hit(world.apply_faults(application, NEW), name, key, streams),
        };
        let mut later = Vec::new();
        for (number, release) in (1..).zip(&world.applications[application].later) {
            let own = key.at(EntityKey::of("later release").part(number));
            later.push(RevisionDraws::draw(&release.faults, name, own, streams));
        }
        Self {
            first,
            later,
            apply: factor(apply_spread, "apply spread", streams, key),
        }
    }

    /// Returns what fails in a revision. Nothing fails in the revision that was installed before.
    pub(crate) fn of(&self, revision: Revision) -> RevisionDraws {
        if revision == NEW {
            return self.first;
        }
        match later_release(revision) {
            Some(release) => self.later[release],
            None => RevisionDraws::default(),
        }
    }

    /// Returns whether a released revision is defective in the cluster.
    fn has_defect(&self) -> bool {
        self.first.defective || self.later.iter().any(|later| later.defective)
    }
}

impl AppDeployment {
    /// Creates a deployment to which nothing has happened yet.
    fn new(
        id: TargetId,
        world: &WorldSpec,
        place: DeploymentPlace,
        draws: DeploymentDraws,
    ) -> Self {
        let DeploymentPlace {
            application,
            cluster,
        } = place;
        let running = world.installed(application, cluster.index());
        let mut workloads = Vec::new();
        let count = world.applications[application].workloads.len();
        workloads.resize_with(count, WorkloadState::default);
        Self {
            id,
            application,
            cluster,
            key: place.key(world),
            own_key: place.own_key(world),
            on_nodes: Vec::new(),
            goal: NEW,
            facts: DeploymentFacts {
                defective: draws.has_defect(),
                ..DeploymentFacts::default()
            },
            draws,
            agent: Agent::settled(running),
            workloads,
            settled: running.is_some(),
            degraded: false,
            troubled_pods: 0,
            phase: DeploymentPhase::Waiting,
            signs: DeploymentSigns::default(),
        }
    }

    /// Returns the pods of all workloads, without terminating ones.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodId> {
        self.workloads.iter().flat_map(WorkloadState::pods)
    }

    /// Returns the key of the deployment's random numbers on the node with this key.
    pub(crate) fn key_on(&self, node: EntityKey) -> EntityKey {
        match self.own_key {
            Some(own) => node.at(own),
            None => node,
        }
    }

    /// Returns the counts of the node with this number in the cluster.
    fn on_node(&mut self, number: usize) -> &mut NodeCounts {
        if self.on_nodes.len() <= number {
            self.on_nodes.resize(number + 1, NodeCounts::default());
        }
        &mut self.on_nodes[number]
    }

    /// Counts a pod on a node, and returns the number of earlier ones.
    pub(crate) fn next_pod(&mut self, number: usize) -> u32 {
        let pods = &mut self.on_node(number).pods;
        *pods += 1;
        *pods - 1
    }

    /// Counts an attempt to pull an image on a node, and returns the number of earlier ones.
    pub(crate) fn next_attempt(&mut self, number: usize) -> u32 {
        let attempts = &mut self.on_node(number).attempts;
        *attempts += 1;
        *attempts - 1
    }

    /// Updates in the meters what people may notice here.
    pub(crate) fn note_signs(&mut self, meter: &mut Meter) {
        let is_new = self.agent.missed_or_instructed() == Some(self.goal);
        let is_in_trouble = self.troubled_pods > 0 || self.degraded || self.agent.has_failed();
        let signs = DeploymentSigns {
            has_failed: is_new && is_in_trouble,
            is_exposed: self.facts.exposed_since.is_some(),
        };
        if signs != self.signs {
            meter.note_signs(self.application, self.signs, signs);
            self.signs = signs;
        }
    }

    /// Updates the deployment's phase in the meters.
    pub(crate) fn note_phase(&mut self, cluster: &ClusterState, meter: &mut Meter) {
        self.note_signs(meter);
        let phase = self.current_phase(cluster);
        if phase != self.phase {
            let was = std::mem::replace(&mut self.phase, phase);
            meter.move_deployment(was, phase);
            if phase == DeploymentPhase::Ready {
                meter.note_load(self.application, LoadChangeKind::Ready);
            } else if was == DeploymentPhase::Ready {
                meter.note_load(self.application, LoadChangeKind::NotReady);
            }
        }
    }
}

impl<'s> World<'s> {
    /// Creates all deployments, and returns those of each cluster, in the order of the applications.
    pub(crate) fn add_deployments(&mut self) -> Vec<Vec<TargetId>> {
        let mut of_cluster = vec![Vec::new(); self.spec.clusters.len()];
        for (application, spec) in self.spec.applications.iter().enumerate() {
            for (at, here) in of_cluster.iter_mut().enumerate() {
                if spec.is_on(at) {
                    let cluster = ClusterId::at(at);
                    here.push(self.add_deployment(DeploymentPlace {
                        application,
                        cluster,
                    }));
                }
            }
        }
        of_cluster
    }

    fn add_deployment(&mut self, place: DeploymentPlace) -> TargetId {
        let draws = DeploymentDraws::draw(
            self.spec,
            place,
            self.platform.agent.apply_spread,
            &self.streams,
            &self.faults.draws,
        );
        let id = TargetId::at(self.deployments.len());
        self.deployments
            .push(AppDeployment::new(id, self.spec, place, draws));
        id
    }

    /// Returns the workloads of a deployment.
    pub(crate) fn workloads_of(&self, target: TargetId) -> &'s [WorkloadSpec] {
        let spec: &'s WorldSpec = self.spec;
        &spec.applications[self.application_of_target(target)].workloads
    }

    /// Returns the defects of a pod's revision.
    pub(crate) fn defect_of_pod(&self, pod: &Pod) -> &'s DefectSpec {
        let spec: &'s WorldSpec = self.spec;
        spec.defect(self.application_of_target(pod.target), pod.revision)
    }

    /// Returns the key of a pod's random numbers on its node.
    pub(crate) fn key_of_pod(&self, pod: &Pod) -> EntityKey {
        self.deployments[pod.target.index()].key_on(self.nodes[pod.node.index()].key)
    }

    /// Returns the index of the application of a deployment in [`WorldSpec::applications`].
    #[must_use]
    pub fn application_of_target(&self, target: TargetId) -> usize {
        self.deployments[target.index()].application
    }

    /// Returns the index of the application of a pod.
    pub(crate) fn application_of_pod(&self, pod: PodId) -> usize {
        self.application_of_target(self.pods[pod.index()].target)
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

    /// Returns, for each workload of an application, the time since when it is ready on the new revision in all of
    /// these deployments of the application. `None`: it is not ready in all of them. Meaningless for a single workload.
    #[must_use]
    pub fn workloads_ready(
        &self,
        application: usize,
        targets: &[TargetId],
    ) -> Vec<Option<SimTime>> {
        let workloads = &self.spec.applications[application].workloads;
        let mut ready = vec![Some(SimTime::ZERO); workloads.len()];
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

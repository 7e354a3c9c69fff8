//! Nodes that join a cluster while pods wait for room.
//!
//! Some time after the first pod for which no node has room, the autoscaler requests as many nodes as the waiting pods
//! need, without those that are requested already, up to a maximum. While pods wait for which no node was requested,
//! it decides again after the same time. A node that joins has an empty disk. It takes the pods that have waited
//! longest, and pods of all DaemonSets.
//!
//! This is the common part of the two autoscalers. kubernetes/autoscaler looks every 10 s for pods that do not fit
//! (`--scan-interval`), leaves out those for which a requested node will have room, and resizes a group of equal nodes
//! (`cluster-autoscaler/FAQ.md`). Karpenter gathers the pods of 1 to 10 s (`BATCH_IDLE_DURATION`,
//! `BATCH_MAX_DURATION`).
//!
//! All nodes that a cluster may ever have are created before the run, because links do not come and go. Those that
//! have not joined are outside of `ClusterState::nodes`, so nothing else of the world sees them. Only a swarm of
//! peers has as many members as nodes may join.
//!
//! Left out: nodes that are removed again, several kinds of nodes in one cluster, requests that a cloud cannot meet,
//! and images of system pods that a fresh node pulls first (their time is part of `provisioning`).
//!
//! How we know: the tests below compute every time by hand, and the validation compares scale-ups from zero nodes with
//! reports.

use crate::engine::Reservations;
use crate::world::World;
use crate::world::clusters::autoscaling_spec::AutoscalingSpec;
use crate::world::event::{Event, Queue, ScalingEvent};
use crate::world::ids::{ClusterId, NodeId};
use crate::world::spec::WorldSpec;

/// The nodes that were requested for a cluster.
#[derive(Debug)]
pub(crate) struct Autoscaling {
    /// Number of nodes that were requested and have not joined.
    requested: u32,
    /// Number of requests so far, which identifies the draws of the times of nodes.
    requests: u64,
    /// Whether the autoscaler will decide at a scheduled time.
    will_decide: bool,
    /// Number of decisions so far.
    decisions: u64,
    creation: Option<Reservations>,
}

impl Autoscaling {
    pub(super) fn new(spec: &AutoscalingSpec) -> Self {
        Self {
            requested: 0,
            requests: 0,
            will_decide: false,
            decisions: 0,
            creation: spec
                .creation
                .map(|limit| Reservations::new(limit.rate.get(), limit.burst)),
        }
    }
}

impl AutoscalingSpec {
    /// Returns the number of nodes that these pods need.
    #[must_use]
    pub fn nodes_for(&self, pods: u64) -> u32 {
        let nodes = pods.div_ceil(u64::from(self.pods_per_node));
        u32::try_from(nodes).unwrap_or(u32::MAX)
    }
}

impl AutoscalingSpec {
    /// Returns the number of nodes with which a cluster starts if this number is drawn.
    pub(super) fn nodes_at_start(&self, drawn: u32) -> u32 {
        self.min_nodes.unwrap_or(drawn).min(self.max_nodes)
    }

    /// Returns the least number of nodes of a cluster that runs this number of pods.
    fn nodes_that_run(&self, pods: u64) -> u32 {
        self.nodes_for(pods).max(1).min(self.max_nodes)
    }
}

impl WorldSpec {
    /// Returns the mean number of nodes with which a cluster starts. Those of a cluster that runs the previous revision
    /// have room for its pods.
    #[must_use]
    pub fn mean_nodes_at_start(&self, cluster: usize) -> f64 {
        if self.runs_anything(cluster) {
            self.mean_nodes_with(cluster, self.installed_pods(cluster))
        } else {
            self.clusters[cluster].mean_nodes()
        }
    }

    /// Returns the mean number of nodes of a cluster when all of its pods have a node.
    #[must_use]
    pub fn mean_nodes_with_pods(&self, cluster: usize) -> f64 {
        self.mean_nodes_with(cluster, self.deployed_pods(cluster))
    }

    /// Returns the mean number of nodes of a cluster when this number of pods has a node.
    fn mean_nodes_with(&self, cluster: usize, pods: u64) -> f64 {
        let spec = &self.clusters[cluster];
        let start = spec.mean_nodes();
        match &spec.autoscaling {
            Some(autoscaling) => start.max(f64::from(autoscaling.nodes_that_run(pods))),
            None => start,
        }
    }
}

impl<'s> World<'s> {
    fn autoscaling_spec(&self, cluster: ClusterId) -> Option<&'s AutoscalingSpec> {
        let spec: &'s WorldSpec = self.spec;
        spec.clusters[cluster.index()].autoscaling.as_ref()
    }

    /// Returns how many nodes the autoscaler requests for the pods that wait.
    fn missing_nodes(&self, cluster: ClusterId, spec: &AutoscalingSpec) -> u32 {
        let state = &self.clusters[cluster.index()];
        let requested = state
            .autoscaling
            .as_ref()
            .map_or(0, |scaling| scaling.requested);
        let wanted = spec.nodes_for(state.unbound.len() as u64);
        let most = spec.max_nodes - state.nodes.len() as u32;
        wanted.min(most).saturating_sub(requested)
    }

    /// Adds the nodes that the pods of all Deployments need to a cluster that has run them for long.
    pub(super) fn settle_nodes(&mut self, cluster: ClusterId) {
        let Some(spec) = self.autoscaling_spec(cluster) else {
            return;
        };
        let needed = spec.nodes_that_run(self.spec.installed_pods(cluster.index()));
        let nodes = &mut self.clusters[cluster.index()].nodes;
        nodes.end = nodes.end.max(nodes.start + needed as usize);
    }

    /// Schedules a decision of the autoscaler, if there is one that has something to decide.
    pub(super) fn scale_if_needed(&mut self, cluster: ClusterId, queue: &mut Queue) {
        let Some(spec) = self.autoscaling_spec(cluster) else {
            return;
        };
        let is_needed = self.missing_nodes(cluster, spec) > 0;
        let state = &mut self.clusters[cluster.index()];
        let key = state.key;
        let Some(scaling) = &mut state.autoscaling else {
            return;
        };
        if scaling.will_decide || !is_needed {
            return;
        }
        scaling.will_decide = true;
        let nth = scaling.decisions;
        scaling.decisions += 1;
        let wait = (spec.decision).draw(&self.streams, key, "scaling decision", nth);
        queue.schedule_in(wait, Event::Scaling(cluster, ScalingEvent::Decides));
    }

    pub(crate) fn handle_scaling(
        &mut self,
        cluster: ClusterId,
        event: ScalingEvent,
        queue: &mut Queue,
    ) {
        match event {
            ScalingEvent::Decides => self.request_nodes(cluster, queue),
            ScalingEvent::NodeJoins => self.node_joins(cluster, queue),
        }
    }

    /// Requests the nodes that the waiting pods need.
    fn request_nodes(&mut self, cluster: ClusterId, queue: &mut Queue) {
        let Some(spec) = self.autoscaling_spec(cluster) else {
            return;
        };
        let now = queue.now();
        let missing = self.missing_nodes(cluster, spec);
        let state = &mut self.clusters[cluster.index()];
        let key = state.key;
        let Some(scaling) = &mut state.autoscaling else {
            return;
        };
        scaling.will_decide = false;
        scaling.requested += missing;
        for _ in 0..missing {
            let nth = scaling.requests;
            scaling.requests += 1;
            let begins = match &mut scaling.creation {
                Some(limit) => limit.reserve(now),
                None => now,
            };
            let takes = (spec.provisioning).draw(&self.streams, key, "provisioning", nth);
            let joins = Event::Scaling(cluster, ScalingEvent::NodeJoins);
            queue.schedule(begins + takes, joins);
        }
    }

    /// Called when a requested node is ready.
    fn node_joins(&mut self, cluster: ClusterId, queue: &mut Queue) {
        let state = &mut self.clusters[cluster.index()];
        if let Some(scaling) = &mut state.autoscaling {
            scaling.requested -= 1;
        }
        let node = NodeId::at(state.nodes.end);
        state.nodes.end += 1;
        self.nodes[node.index()].clear_old_images();
        self.totals.joined_nodes += 1;
        self.watch_space(node, queue);
        self.start_node_loss(node, queue);
        self.bind_waiting(cluster, queue);
        self.sync_daemon_sets(cluster, queue);
        self.scale_if_needed(cluster, queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::clusters::autoscaling_spec::NodeCreation;
    use crate::world::clusters::spec::WorkloadKind;
    use crate::world::event::FaultEvent;
    use crate::world::faults::spec::NodeLossSpec;
    use crate::world::quantity::CountOrPercent;
    use crate::world::spec::{PlatformSpec, ReleaseKind};
    use crate::world::testing::{Played, bare_world, fixed, layer, play};
    use fleetsim_units::{PerSecond, SimDuration};

    const DAY: SimDuration = SimDuration::from_hours(24);

    /// Up to `most` nodes with two pods each, requested after 5 s and ready 60 s later.
    fn up_to(most: u32) -> AutoscalingSpec {
        AutoscalingSpec {
            min_nodes: None,
            max_nodes: most,
            pods_per_node: 2,
            decision: fixed(SimDuration::from_secs(5)),
            provisioning: fixed(SimDuration::from_secs(60)),
            creation: None,
        }
    }

    fn deployment(replicas: u32) -> WorkloadKind {
        WorkloadKind::Deployment {
            replicas,
            max_unavailable: CountOrPercent::Count(0),
            max_surge: CountOrPercent::Count(1),
            progress_deadline: DAY,
        }
    }

    /// One cluster of `nodes` nodes and a Deployment. Its image takes 1 s alone on the downlink.
    fn cluster(nodes: u32, replicas: u32, autoscaling: AutoscalingSpec) -> WorldSpec {
        let mut world = bare_world(1);
        world.clusters[0].nodes = nodes.max(1).into();
        world.clusters[0].autoscaling = Some(AutoscalingSpec {
            min_nodes: Some(nodes),
            ..autoscaling
        });
        world.applications[0].workloads[0].kind = deployment(replicas);
        world
    }

    /// When the cluster was ready, in milliseconds. Unpacking takes 100 ns for each image.
    fn ready_ms(played: &Played) -> Option<u64> {
        let ready = played.ready_s()[0]?;
        Some((ready * 1e3).round() as u64)
    }

    fn joins(played: &Played) -> Vec<f64> {
        played.times(|event| matches!(event, Event::Scaling(_, ScalingEvent::NodeJoins)))
    }

    #[test]
    fn pods_wait_for_the_nodes_that_they_need() {
        // Five pods need three nodes, which share the downlink for 3 s.
        let played = play(&cluster(0, 5, up_to(8)), 1, DAY);
        assert_eq!(joins(&played), [65.0; 3]);
        assert_eq!(ready_ms(&played), Some(68_000));
        assert_eq!(played.totals.joined_nodes, 3);
        // One node is there: two pods run after 1 s, and the others need two nodes more.
        let played = play(&cluster(1, 5, up_to(8)), 1, DAY);
        assert_eq!(joins(&played), [65.0; 2]);
        assert_eq!(ready_ms(&played), Some(67_000));
    }

    #[test]
    fn nodes_are_created_at_a_rate() {
        let mut spec = up_to(8);
        spec.creation = Some(NodeCreation {
            rate: PerSecond::new(0.1),
            burst: 1,
        });
        let played = play(&cluster(0, 5, spec), 1, DAY);
        assert_eq!(joins(&played), [65.0, 75.0, 85.0]);
        assert_eq!(ready_ms(&played), Some(86_000));
    }

    #[test]
    fn a_node_that_joins_fails_only_after_it_has_joined() {
        let mut world = cluster(0, 2, up_to(1));
        world.applications[0].workloads[0].min_ready = SimDuration::from_secs(60);
        world.faults.node_loss = Some(NodeLossSpec {
            between: fixed(SimDuration::from_secs(10)),
            repair: fixed(SimDuration::from_secs(5)),
            ..NodeLossSpec::default()
        });
        let played = play(&world, 1, SimDuration::from_secs(120));
        let fails = played.times(|event| matches!(event, Event::Fault(FaultEvent::NodeFails(_))));
        // It joins after 65 s, and its process would have had the first failure by then.
        assert_eq!(fails.first(), Some(&75.0));
    }

    #[test]
    fn a_cluster_has_at_most_its_maximum_of_nodes() {
        let played = play(&cluster(0, 5, up_to(2)), 1, DAY);
        assert_eq!(joins(&played), [65.0; 2]);
        assert_eq!(played.ready_s(), [None], "one pod waits forever");
    }

    #[test]
    fn room_for_all_pods_changes_nothing() {
        let with = cluster(3, 5, up_to(3));
        let mut without = with.clone();
        without.clusters[0].autoscaling = None;
        let with = play(&with, 1, DAY);
        let without = play(&without, 1, DAY);
        assert_eq!(with.events, without.events);
        assert_eq!(with.totals, without.totals);
    }

    #[test]
    fn a_node_that_joins_runs_every_daemon_set() {
        let mut world = cluster(0, 4, up_to(8));
        let mut agent = world.applications[0].workloads[0].clone();
        agent.kind = WorkloadKind::DaemonSet {
            max_unavailable: CountOrPercent::Count(1),
            max_surge: CountOrPercent::Count(0),
        };
        world.applications[0].workloads.push(agent);
        // Both workloads have the same image, so each of two nodes pulls it once.
        let played = play(&world, 1, DAY);
        assert_eq!(joins(&played), [65.0; 2]);
        assert_eq!(ready_ms(&played), Some(67_000));
        assert_eq!(played.totals.received.get(), 200_000_000);
    }

    #[test]
    fn the_previous_pods_of_all_workloads_fit() {
        // Two workloads with three pods each on two nodes with room for three pods.
        let mut spec = up_to(4);
        spec.pods_per_node = 3;
        let mut world = cluster(0, 3, spec);
        world.applications[0].release = ReleaseKind::Update;
        let second = world.applications[0].workloads[0].clone();
        world.applications[0].workloads.push(second);
        let played = play(&world, 1, DAY);
        assert_eq!(joins(&played), [65.0], "one node for the additional pods");
        assert!(played.ready_s()[0].is_some());
    }

    #[test]
    fn a_node_that_joins_fails_only_afterwards() {
        // The only node joins after 65 s and pulls for 5 s. It is up and down for 20 s in turn.
        let mut world = cluster(0, 2, up_to(1));
        world.images[0].layers = vec![layer("app", 500_000_000)];
        world.faults.node_loss = Some(NodeLossSpec {
            between: fixed(SimDuration::from_secs(20)),
            repair: fixed(SimDuration::from_secs(20)),
            ..NodeLossSpec::default()
        });
        let mut failures = 0;
        for seed in 0..20 {
            let played = play(&world, seed, SimDuration::from_secs(600));
            assert_eq!(joins(&played), [65.0]);
            let fails =
                played.times(|event| matches!(event, Event::Fault(FaultEvent::NodeFails(_))));
            assert!(fails.iter().all(|&at| at > 65.0), "{fails:?}");
            // A node that has just joined fails within 20 s, as the others do after the start.
            assert!(
                fails.first().is_none_or(|&first| first <= 85.0),
                "{fails:?}"
            );
            failures += fails.len();
        }
        assert!(failures > 0, "no node has failed");
    }

    /// The mean numbers of nodes of the cluster: at the start, and when all of its pods have a node.
    fn nodes(world: &WorldSpec) -> [usize; 2] {
        let means = [world.mean_nodes_at_start(0), world.mean_nodes_with_pods(0)];
        means.map(|mean| mean.round() as usize)
    }

    #[test]
    fn the_previous_revision_starts_with_the_nodes_that_its_pods_need() {
        let mut world = cluster(0, 5, up_to(8));
        assert_eq!(nodes(&world), [0, 3], "nothing runs before");
        world.applications[0].release = ReleaseKind::Update;
        assert_eq!(nodes(&world), [3, 3]);
        let mut queue = Queue::new();
        let started = World::new(&world, &PlatformSpec::INSTANT, 1, 0, &mut queue);
        assert_eq!(started.nodes_of(ClusterId::at(0)).len(), 3);
        world.clusters[0].autoscaling = Some(up_to(2));
        assert_eq!(nodes(&world), [2, 2], "no more than may join");
    }

    #[test]
    fn an_update_waits_for_the_room_of_its_additional_pod() {
        // Four old pods fill two nodes, whatever the number that is written.
        let mut world = cluster(0, 4, up_to(2));
        world.applications[0].release = ReleaseKind::Update;
        let stuck = play(&world, 1, DAY);
        assert_eq!(stuck.ready_s(), [None]);
        world.clusters[0].autoscaling = Some(up_to(3));
        // The third node joins after 65 s and needs 1 s for its pull. An old pod ends, and each of the two others
        // gets the next new pod in turn: one has its room on the third node, and two need a pull of 1 s.
        let played = play(&world, 1, DAY);
        assert_eq!(joins(&played), [65.0]);
        let ready = played.ready_s()[0].expect("the update ends");
        assert!((66.0..=69.0).contains(&ready), "{ready}");
    }
}

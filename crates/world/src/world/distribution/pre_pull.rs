//! Pre-pulls: the nodes pull the new images before the release, at a given pace.
//!
//! This works like kube-fledged, OpenKruise's ImagePullJob or a DaemonSet that only pulls. Groups of clusters begin
//! one after another; in each, every node pulls every image of the release. The kubelet pulls, so failed pulls back
//! off and are retried, and serial pulls wait for each other. The release comes at a fixed time, or when every cluster
//! that was online at its turn has all images. The same bytes move as without a pre-pull, only earlier.
//!
//! A missing image is given up at the first response, and so are the images that a failed node had not pulled.
//!
//! Left out: image garbage collection between pre-pull and release, the pods of the pre-pull, and clusters that return
//! after their turn.

use crate::world::World;
use crate::world::clusters::pod::PodPhase;
use crate::world::distribution::spec::PrePullSpec;
use crate::world::event::{DistributionEvent, Event, Queue};
use crate::world::ids::{ClusterId, NEW, NodeId, PodId};
use crate::world::nodes::catalog::Catalog;
use fleetsim_units::SimTime;

/// A pre-pull in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrePull {
    spec: PrePullSpec,
    /// Clusters that begin together.
    group: usize,
    /// The first cluster of the next group.
    next: usize,
    /// Images on nodes that are still being pulled.
    open: u32,
    released: bool,
}

impl PrePull {
    pub(crate) fn begin(spec: PrePullSpec, fleet: usize, queue: &mut Queue) -> Self {
        queue.schedule(
            SimTime::ZERO,
            Event::Distribution(DistributionEvent::PrePullGroup),
        );
        if let Some(after) = spec.release_after {
            queue.schedule(
                SimTime::ZERO + after,
                Event::Distribution(DistributionEvent::Released),
            );
        }
        Self {
            spec,
            group: spec.group(fleet),
            next: 0,
            open: 0,
            released: spec.release_after.is_some(),
        }
    }
}

impl World<'_> {
    /// The number of images on nodes that the release waits for. `None`: it is released, or does not wait.
    #[must_use]
    pub fn held_by_pre_pull(&self) -> Option<u32> {
        self.delivery
            .pre_pull
            .filter(|pre_pull| !pre_pull.released)
            .map(|pre_pull| pre_pull.open)
    }

    /// Where an image of the release is missing in a cluster: the nodes, and the first workload with the image.
    fn missing_images(&self, cluster: ClusterId) -> Vec<(ClusterId, NodeId, usize)> {
        let mut missing = Vec::new();
        for node in self
            .nodes_of(cluster)
            .filter(|&node| !self.nodes[node].down)
            .map(NodeId::at)
        {
            for (workload, spec) in self.spec.workloads.iter().enumerate() {
                let is_first = self.spec.workloads[..workload]
                    .iter()
                    .all(|other| other.image != spec.image);
                let image = Catalog::revision(spec.image, true);
                if is_first && !self.nodes[node.index()].content.present[usize::from(image.0)] {
                    missing.push((cluster, node, workload));
                }
            }
        }
        missing
    }

    /// The next group of clusters begins.
    pub(crate) fn pre_pull_group(&mut self, queue: &mut Queue) {
        let pre_pull = self
            .delivery
            .pre_pull
            .as_mut()
            .expect("groups belong to a pre-pull");
        let first = pre_pull.next;
        let last = (first + pre_pull.group).min(self.clusters.len());
        pre_pull.next = last;
        if last < self.clusters.len() {
            queue.schedule_in(
                pre_pull.spec.every,
                Event::Distribution(DistributionEvent::PrePullGroup),
            );
        }
        // All pulls are counted before the first one may end.
        let has_network = |cluster: &ClusterId| self.clusters[cluster.index()].cuts.has_network();
        let clusters = (first..last).map(ClusterId::at).filter(has_network);
        let wanted: Vec<(ClusterId, NodeId, usize)> =
            clusters.flat_map(|id| self.missing_images(id)).collect();
        self.delivery.pre_pull.as_mut().expect("as above").open += wanted.len() as u32;
        for (cluster, node, workload) in wanted {
            self.pre_pull_image(cluster, node, workload, queue);
        }
        self.release_if_due(queue);
    }

    /// Pulls the image of a workload on a node of a cluster, as the kubelet does for a pod, without running anything
    /// there. The driver of a replay learns that it is pulled from [`World::take_pulled`].
    pub fn pull_image(
        &mut self,
        cluster: ClusterId,
        node: usize,
        workload: usize,
        queue: &mut Queue,
    ) -> PodId {
        let node = NodeId::at(self.nodes_of(cluster).start + node);
        let id = self.new_pod(cluster, workload, node, NEW, PodPhase::Pulling);
        self.bring_image(id, queue);
        id
    }

    /// The pods of [`World::pull_image`] whose images have come to their nodes since the last call.
    pub fn take_pulled(&mut self) -> Vec<PodId> {
        std::mem::take(&mut self.delivery.brought)
    }

    /// A node has finished or given up a pre-pull.
    pub(crate) fn pre_pulled(&mut self, pod: PodId, queue: &mut Queue) {
        // A replay brings images without a pre-pull.
        let Some(pre_pull) = self.delivery.pre_pull.as_mut() else {
            self.delivery.brought.push(pod);
            return;
        };
        pre_pull.open -= 1;
        self.release_if_due(queue);
    }

    fn release_if_due(&mut self, queue: &mut Queue) {
        let all = self.clusters.len();
        let pre_pull = self
            .delivery
            .pre_pull
            .as_mut()
            .expect("the release waits for a pre-pull");
        if !pre_pull.released && pre_pull.open == 0 && pre_pull.next == all {
            pre_pull.released = true;
            queue.schedule(
                queue.now(),
                Event::Distribution(DistributionEvent::Released),
            );
        }
    }
}

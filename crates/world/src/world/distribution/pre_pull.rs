//! Pre-pulls: the nodes pull the new images before the release, at a configured pace.
//!
//! This works like kube-fledged, OpenKruise's ImagePullJob or a DaemonSet that only pulls. Groups of clusters begin
//! one after another; in each, every node pulls every image of the release. The kubelet pulls, so failed pulls back
//! off and are retried, and serial pulls wait for each other. The release starts at a fixed time, or when every
//! cluster that was online when its group began has all images. The same bytes move as without a pre-pull, only
//! earlier.
//!
//! A missing image is abandoned at the first response, and so are the images that a failed node had not pulled.
//!
//! Left out: image garbage collection between pre-pull and release, the pods of the pre-pull, and clusters that
//! reconnect after their group began.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::world::World;
use crate::world::clusters::pod::PodPhase;
use crate::world::distribution::spec::PrePullSpec;
use crate::world::event::{DistributionEvent, Event, Queue};
use crate::world::ids::{ClusterId, NEW, NodeId, PodId, TargetId};
use fleetsim_units::SimTime;

/// A pre-pull in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrePull {
    spec: PrePullSpec,
    /// Number of clusters that begin together.
    group: usize,
    /// Index of the first cluster in the next group.
    next: usize,
    /// Number of pulls of an image by a node that are not finished.
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

    /// Begins the next group of clusters, and schedules the group after it.
    fn next_group(&mut self, fleet: usize, queue: &mut Queue) -> Range<usize> {
        let first = self.next;
        self.next = (first + self.group).min(fleet);
        if self.next < fleet {
            queue.schedule_in(
                self.spec.every,
                Event::Distribution(DistributionEvent::PrePullGroup),
            );
        }
        first..self.next
    }

    /// Releases the new revision when all images of all clusters are pulled or abandoned, unless it was already
    /// released.
    fn release_if_due(&mut self, fleet: usize, queue: &mut Queue) {
        if !self.released && self.open == 0 && self.next == fleet {
            self.released = true;
            queue.schedule(
                queue.now(),
                Event::Distribution(DistributionEvent::Released),
            );
        }
    }
}

/// An image of the release that a node lacks; it is the image of a workload.
#[derive(Clone, Copy, Debug)]
struct MissingImage {
    target: TargetId,
    node: NodeId,
    workload: usize,
}

impl World<'_> {
    /// Returns the number of pulls for which the release waits. `None`: it has started, or does not wait.
    #[must_use]
    pub fn held_by_pre_pull(&self) -> Option<u32> {
        self.delivery
            .pre_pull
            .filter(|pre_pull| !pre_pull.released)
            .map(|pre_pull| pre_pull.open)
    }

    /// Returns the images of the release that the nodes of a cluster do not have, each with its first workload.
    fn missing_images(&self, cluster: ClusterId) -> Vec<MissingImage> {
        let mut missing = Vec::new();
        for node in self.nodes_of(cluster).map(NodeId::at) {
            let state = &self.nodes[node.index()];
            if state.down {
                continue;
            }
            let mut seen = BTreeSet::new();
            for &target in &self.clusters[cluster.index()].deployments {
                for (workload, spec) in self.workloads_of(target).iter().enumerate() {
                    let is_first = seen.insert(spec.image);
                    let image = self.catalog.revision(spec.image, NEW);
                    if is_first && !state.content.present[usize::from(image.0)] {
                        missing.push(MissingImage {
                            target,
                            node,
                            workload,
                        });
                    }
                }
            }
        }
        missing
    }

    /// Begins the next group of clusters.
    pub(crate) fn pre_pull_group(&mut self, queue: &mut Queue) {
        let fleet = self.clusters.len();
        let pre_pull = self.pre_pull_mut();
        let group = pre_pull.next_group(fleet, queue);
        // Count all pulls before the first pull may end.
        let mut wanted = Vec::new();
        for at in group {
            if self.clusters[at].cuts.has_network() {
                wanted.extend(self.missing_images(ClusterId::at(at)));
            }
        }
        self.pre_pull_mut().open += wanted.len() as u32;
        for missing in wanted {
            self.pre_pull_image(missing.target, missing.node, missing.workload, queue);
        }
        self.pre_pull_mut().release_if_due(fleet, queue);
    }

    fn pre_pull_mut(&mut self) -> &mut PrePull {
        self.delivery
            .pre_pull
            .as_mut()
            .expect("only a pre-pull has groups")
    }

    /// Pulls the image of a workload on a node of its cluster, like the kubelet for a pod, without running anything
    /// there. [`World::take_pulled`] reports its completion to the driver of a replay.
    pub fn pull_image(
        &mut self,
        target: TargetId,
        node: usize,
        workload: usize,
        queue: &mut Queue,
    ) -> PodId {
        let nodes = self.nodes_of(self.cluster_of_target(target));
        let node = NodeId::at(nodes.start + node);
        let id = self.new_pod(target, workload, node, NEW, PodPhase::Pulling);
        self.bring_image(id, queue);
        id
    }

    /// Returns the pods of [`World::pull_image`] whose images have arrived on their nodes since the last call.
    pub fn take_pulled(&mut self) -> Vec<PodId> {
        std::mem::take(&mut self.delivery.brought)
    }

    /// Called when a node has finished or abandoned a pre-pull.
    pub(crate) fn pre_pulled(&mut self, pod: PodId, queue: &mut Queue) {
        // A replay pulls images without a pre-pull.
        let Some(pre_pull) = self.delivery.pre_pull.as_mut() else {
            self.delivery.brought.push(pod);
            return;
        };
        pre_pull.open -= 1;
        pre_pull.release_if_due(self.clusters.len(), queue);
    }
}

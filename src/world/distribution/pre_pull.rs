//! Pre-pulling: the new images are brought to the nodes before the release, at a pace of its own.
//!
//! As kube-fledged, OpenKruise's ImagePullJob or a DaemonSet that only pulls: groups of clusters begin one after the other; in
//! each, every node pulls every image of the release. It is the kubelet that pulls, so that failures wait in its back-off and are tried
//! again, and serial pulls wait for each other. The release comes at a fixed time, ready or not, or when every cluster that was online when
//! its turn came has all images. The same bytes move as without it; they move earlier.
//!
//! An image that is not there is given up at the first answer, and so is what a node that fails had not pulled.
//!
//! Left out: image garbage collection between pre-pull and release, the pods that do it, and clusters that come back
//! after their turn.

use crate::units::SimTime;
use crate::world::World;
use crate::world::distribution::spec::PrePullSpec;
use crate::world::event::DistributionEvent;
use crate::world::event::{Event, Queue};
use crate::world::ids::{ClusterId, NodeId};
use crate::world::nodes::catalog::Catalog;

/// A pre-pull in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrePull {
    spec: PrePullSpec,
    /// Clusters that begin together.
    group: usize,
    /// The first cluster whose turn has not come.
    next: usize,
    /// Images on nodes that are still being pulled.
    open: u32,
    released: bool,
}

impl PrePull {
    pub(crate) fn begin(spec: PrePullSpec, fleet: usize, queue: &mut Queue) -> Self {
        queue.schedule(SimTime::ZERO, Event::Distribution(DistributionEvent::PrePullGroup));
        if let Some(after) = spec.release_after {
            queue.schedule(SimTime::ZERO + after, Event::Distribution(DistributionEvent::Released));
        }
        Self { spec, group: spec.group(fleet), next: 0, open: 0, released: spec.release_after.is_some() }
    }
}

impl World<'_> {
    /// How many images on nodes the release still waits for. `None`: it has come, or waits for none.
    #[must_use]
    pub fn held_by_pre_pull(&self) -> Option<u32> {
        self.delivery.pre_pull.filter(|pre_pull| !pre_pull.released).map(|pre_pull| pre_pull.open)
    }

    /// The next group of clusters begins.
    pub(crate) fn pre_pull_group(&mut self, queue: &mut Queue) {
        let pre_pull = self.delivery.pre_pull.as_mut().expect("groups belong to a pre-pull");
        let first = pre_pull.next;
        let last = (first + pre_pull.group).min(self.clusters.len());
        pre_pull.next = last;
        if last < self.clusters.len() {
            queue.schedule_in(pre_pull.spec.every, Event::Distribution(DistributionEvent::PrePullGroup));
        }
        // Who pulls what is known before the first pull may end.
        let mut wanted = Vec::new();
        for cluster in
            (first..last).map(ClusterId::at).filter(|cluster| self.clusters[cluster.index()].cuts.has_network())
        {
            for node in self.nodes_of(cluster).filter(|&node| !self.nodes[node].down).map(NodeId::at) {
                for (workload, spec) in self.spec.workloads.iter().enumerate() {
                    let is_first = self.spec.workloads[..workload].iter().all(|other| other.image != spec.image);
                    let image = Catalog::revision(spec.image, true);
                    if is_first && !self.nodes[node.index()].present[usize::from(image.0)] {
                        wanted.push((cluster, node, workload));
                    }
                }
            }
        }
        self.delivery.pre_pull.as_mut().expect("as above").open += wanted.len() as u32;
        for (cluster, node, workload) in wanted {
            self.pre_pull_image(cluster, node, workload, queue);
        }
        self.release_if_due(queue);
    }

    /// A node has an image that it was to pre-pull, or has given it up.
    pub(crate) fn pre_pulled(&mut self, queue: &mut Queue) {
        self.delivery.pre_pull.as_mut().expect("only a pre-pull brings images without pods").open -= 1;
        self.release_if_due(queue);
    }

    fn release_if_due(&mut self, queue: &mut Queue) {
        let all = self.clusters.len();
        let pre_pull = self.delivery.pre_pull.as_mut().expect("the release waits for a pre-pull");
        if !pre_pull.released && pre_pull.open == 0 && pre_pull.next == all {
            pre_pull.released = true;
            queue.schedule(queue.now(), Event::Distribution(DistributionEvent::Released));
        }
    }
}

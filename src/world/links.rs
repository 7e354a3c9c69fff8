//! Links whose capacity changes while they are in use.
//!
//! A cluster that is cut off receives nothing: its downlink carries nothing and its requests get no answer. What is under
//! way stands still and goes on when the cluster is back, unless the container runtime gives up before. Clusters run on
//! meanwhile; what agents hear and say is not decided here. In a brownout the downlink carries less (`faults::cut`).

use crate::flow::LinkId;
use crate::units::{BytesPerSec, Share};
use crate::world::World;
use crate::world::event::Queue;
use crate::world::ids::ClusterId;

impl World<'_> {
    /// Leaves a share of a cluster's downlink, until it is told another; [`Share::ALL`] is as specified. While the
    /// cluster is cut off or has a brownout, the smallest share counts.
    pub fn set_downlink_share(&mut self, id: ClusterId, share: Share, queue: &mut Queue) {
        self.clusters[id.index()].downlink_share = share;
        self.set_downlink(id, queue);
    }

    /// Lets a cluster's downlink carry what it can now.
    pub(crate) fn set_downlink(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &self.clusters[id.index()];
        let share = cluster.cuts.downlink_share().min(cluster.downlink_share.get());
        let capacity = BytesPerSec::new(cluster.downlink.get() * share);
        if self.network.capacity(cluster.link) != capacity {
            self.set_link(cluster.link, capacity, queue);
        }
    }

    /// Changes what a link can carry from now on: the only way that a capacity may come to zero or back.
    pub(crate) fn set_link(&mut self, link: LinkId, capacity: BytesPerSec, queue: &mut Queue) {
        let now = queue.now();
        self.meter.advance(now);
        let was_dead = self.network.capacity(link).get() <= 0.0;
        let is_dead = capacity.get() <= 0.0;
        self.network.set_capacity(now, link, capacity);
        self.dead_links += usize::from(is_dead && !was_dead);
        self.dead_links -= usize::from(was_dead && !is_dead);
        self.flow_changed(queue);
        if was_dead != is_dead {
            self.check_all_stalls(queue);
        }
    }
}

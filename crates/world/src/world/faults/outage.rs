//! Outages of single clusters: each cluster is repeatedly cut off and reconnected.
//!
//! Times between failures of sites are Weibull with a falling hazard and repairs are lognormal (Schroeder, Gibson, "A
//! large-scale study of failures in high-performance-computing systems", DSN 2006, abstract). No published figures for
//! links of edge sites were found, so the experiment sets the numbers. The fleet starts in the state that `renewal`
//! describes, so some clusters may be cut off at the start of the rollout.
//!
//! Left out: outages that become longer when many clusters have one.

use crate::world::World;
use crate::world::event::{FaultEvent, Queue};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::renewal::Renewal;
use crate::world::faults::spec::OutageSpec;
use crate::world::ids::ClusterId;

impl OutageSpec {
    /// Returns the effect of each outage on its cluster.
    #[must_use]
    pub fn cut(&self) -> CutKind {
        self.downlink
            .map_or(self.cuts, |downlink| CutKind::Brownout { downlink })
    }

    pub(super) const fn renewal(&self) -> Renewal<'_> {
        Renewal {
            between: &self.between,
            repair: &self.repair,
            phase: "outage phase",
            failing: "time to outage",
            repairing: "outage",
        }
    }
}

impl<'s> World<'s> {
    fn outages(&self) -> &'s OutageSpec {
        let spec: &'s _ = self.spec;
        spec.faults
            .outages
            .as_ref()
            .expect("only an experiment with outages has them")
    }

    pub(super) fn start_outages(&mut self, id: ClusterId, queue: &mut Queue) {
        if self.spec.faults.outages.is_none() {
            return;
        }
        let spec = self.outages();
        let cluster = &mut self.clusters[id.index()];
        let standing = spec.renewal().start(&self.streams, cluster.key);
        cluster.outage = standing;
        if standing.is_down {
            cluster.facts.offline |= spec.cut().is_offline();
            cluster.repairs_due += u32::from(spec.cut().is_waited_for());
            self.cut(id, spec.cut(), queue);
            self.faults
                .schedule(standing.until, FaultEvent::OutageEnds(id), queue);
        } else {
            self.faults
                .schedule(standing.until, FaultEvent::OutageBegins(id), queue);
        }
    }

    pub(super) fn outage_begins(&mut self, id: ClusterId, queue: &mut Queue) {
        let spec = self.outages();
        let cluster = &mut self.clusters[id.index()];
        cluster.repairs_due += u32::from(spec.cut().is_waited_for());
        cluster.outage = spec
            .renewal()
            .next(&self.streams, cluster.key, cluster.outage);
        let ends = cluster.outage.until;
        self.cut(id, spec.cut(), queue);
        self.faults
            .schedule(ends, FaultEvent::OutageEnds(id), queue);
    }

    pub(super) fn outage_ends(&mut self, id: ClusterId, queue: &mut Queue) {
        let spec = self.outages();
        let cluster = &mut self.clusters[id.index()];
        cluster.repairs_due -= u32::from(spec.cut().is_waited_for());
        cluster.outage = spec
            .renewal()
            .next(&self.streams, cluster.key, cluster.outage);
        let fails = cluster.outage.until;
        self.repair(id, spec.cut(), queue);
        self.faults
            .schedule(fails, FaultEvent::OutageBegins(id), queue);
    }
}

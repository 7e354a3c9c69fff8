//! A defective revision: in a share of clusters its containers crash, or run without becoming ready.
//!
//! The defect shows at the first start, or after the container worked for a drawn time (`detected_after`): a leak, a
//! cache that fills up, an expired certificate. Until then the container is ready and available for Kubernetes and
//! every product, so a rollout may end before the defect shows. A container that crashes restarts and works for the
//! same time again; a container that stops being ready stays unready. Without a readiness probe nothing detects an
//! unready container, except a start time-out, which stops a container that never answers.
//!
//! Left out: defects that need load, and liveness probes (which would turn a container that is not ready into one that
//! crashes).

use crate::world::World;
use crate::world::clusters::pod::PodPhase;
use crate::world::event::{FaultEvent, Queue};
use crate::world::faults::spec::{DefectKind, DefectSpec};
use crate::world::ids::PodId;
use fleetsim_units::SimDuration;

impl DefectSpec {
    /// Returns whether a defective container works for some time first.
    pub(crate) const fn is_latent(&self) -> bool {
        self.detected_after.is_some()
    }
}

impl World<'_> {
    /// Returns the time until a defective container that has started crashes. If the container stops answering
    /// instead, schedules this, and returns `None`.
    pub(crate) fn show_defect(
        &mut self,
        id: PodId,
        start: u32,
        queue: &mut Queue,
    ) -> Option<SimDuration> {
        let defect = self.defect_of_pod(&self.pods[id.index()]);
        match (defect.kind, defect.detected_after.as_ref()) {
            (DefectKind::Crashes, Some(works)) => Some(self.draw(id, works, "defect shows", start)),
            (DefectKind::Crashes, None) => Some(self.draw(id, &defect.crash_after, "crash", start)),
            (DefectKind::Unready, Some(works)) => {
                let after = self.draw(id, works, "defect shows", start);
                let event = FaultEvent::DefectShows { pod: id, start };
                self.faults.schedule(queue.now() + after, event, queue);
                None
            }
            (DefectKind::Unready, None) => {
                let workload = self.workload_of(&self.pods[id.index()]);
                // Without a start time-out, no further event concerns the container, so it counts as in trouble
                // already now.
                if workload.readiness.is_some() && workload.start_timeout.is_none() {
                    self.set_troubled(id, true);
                }
                None
            }
        }
    }

    pub(super) fn defect_shows(&mut self, id: PodId, start: u32, queue: &mut Queue) {
        let has_probe = self.workload_of(&self.pods[id.index()]).readiness.is_some();
        let pod = &mut self.pods[id.index()];
        if pod.phase != PodPhase::Running || pod.starts != start || !has_probe {
            return;
        }
        pod.phase = PodPhase::Unready;
        pod.available = false;
        self.set_troubled(id, true);
        let pod = &self.pods[id.index()];
        self.sync_workload(pod.target, pod.workload, queue);
    }
}

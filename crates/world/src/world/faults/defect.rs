//! A defective revision: in a share of clusters its containers crash, or run and are not ready.
//!
//! The defect shows at the first start, or after the container worked for a drawn time (`detected_after`): a leak, a
//! cache that fills up, an expired certificate. Until then the container is ready and available for Kubernetes and
//! every product, so a rollout may end before. A container that crashes restarts and works for as long again; one that
//! stops being ready stays so. Without a readiness probe nothing detects an unready container.
//!
//! Left out: defects that need load, and liveness probes (they would turn the second kind into the first).

use crate::world::World;
use crate::world::clusters::pod::PodPhase;
use crate::world::event::{Event, FaultEvent, Queue, WorkloadEvent};
use crate::world::faults::spec::{DefectKind, DefectSpec};
use crate::world::ids::PodId;

impl DefectSpec {
    /// Whether a defective container works for some time first.
    pub(crate) const fn is_latent(&self) -> bool {
        self.detected_after.is_some()
    }
}

impl World<'_> {
    /// A defective container has started: schedules the moment when the defect shows.
    pub(crate) fn schedule_defect(&mut self, id: PodId, start: u32, queue: &mut Queue) {
        let defect = &self.spec.faults.defect;
        match (defect.kind, defect.detected_after.as_ref()) {
            (DefectKind::Crashes, latency) => {
                let after = match latency {
                    Some(works) => self.draw(id, works, "defect shows", start),
                    None => self.draw(id, &defect.crash_after, "crash", start),
                };
                self.pods.schedule(
                    id,
                    after,
                    Event::Workload(WorkloadEvent::Crashed(id)),
                    queue,
                );
            }
            (DefectKind::Unready, Some(works)) => {
                let after = self.draw(id, works, "defect shows", start);
                let event = FaultEvent::DefectShows { pod: id, start };
                self.faults.schedule(queue.now() + after, event, queue);
            }
            // No further event concerns it, so it is in trouble from now on.
            (DefectKind::Unready, None) => {
                let workload = self.pods[id.index()].workload;
                if self.spec.workloads[workload].readiness.is_some() {
                    self.set_troubled(id, true);
                }
            }
        }
    }

    pub(super) fn defect_shows(&mut self, id: PodId, start: u32, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        let has_probe = self.spec.workloads[pod.workload].readiness.is_some();
        if pod.phase != PodPhase::Running || pod.starts != start || !has_probe {
            return;
        }
        pod.phase = PodPhase::Unready;
        pod.available = false;
        self.set_troubled(id, true);
        let pod = &self.pods[id.index()];
        self.sync_workload(pod.cluster, pod.workload, queue);
    }
}

//! All pods of a world, and their pending events.
//!
//! Events of pods that can never become ready are counted, because a run with no other events has stalled.

use std::ops::{Deref, DerefMut};

use crate::world::clusters::pod::{Pod, PodPhase};
use crate::world::event::{Event, Queue};
use crate::world::ids::{NodeId, PodId};
use fleetsim_units::SimDuration;

/// All pods of a world, including dead ones, by [`PodId`].
#[derive(Debug, Default)]
pub(crate) struct Pods {
    pods: Vec<Pod>,
    /// Number of pending events of pods that can never become ready.
    inert_events: usize,
}

impl Deref for Pods {
    type Target = [Pod];

    fn deref(&self) -> &[Pod] {
        &self.pods
    }
}

impl DerefMut for Pods {
    fn deref_mut(&mut self) -> &mut [Pod] {
        &mut self.pods
    }
}

impl Pods {
    pub(super) fn add(&mut self, pod: Pod) -> PodId {
        let id = PodId::at(self.pods.len());
        self.pods.push(pod);
        id
    }

    /// Returns the number of pending events of pods that can never become ready. These events cannot change anything.
    pub(crate) const fn inert_events(&self) -> usize {
        self.inert_events
    }

    /// Schedules the next event of a pod.
    pub(crate) fn schedule(
        &mut self,
        id: PodId,
        after: SimDuration,
        event: Event,
        queue: &mut Queue,
    ) {
        let pod = &mut self.pods[id.index()];
        self.inert_events += usize::from(pod.never_ready);
        pod.next = Some(queue.schedule_in(after, event));
    }

    /// Clears the scheduled event of a pod, which has occurred or is cancelled. Returns the phase of the pod.
    pub(crate) fn take_event(&mut self, id: PodId) -> PodPhase {
        let pod = &self.pods[id.index()];
        self.inert_events -= usize::from(pod.never_ready);
        pod.phase
    }

    /// Called when the containers of a pod stop because its node fails; cancels the pod's scheduled event.
    pub(crate) fn lose(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        pod.phase = PodPhase::Lost;
        if let Some(event) = pod.next.take()
            && queue.cancel(event).is_some()
        {
            self.inert_events -= usize::from(pod.never_ready);
        }
    }

    /// Returns the pre-pulls of a node.
    pub(crate) fn pre_pulls_on(&self, node: NodeId) -> Vec<PodId> {
        let mut found = Vec::new();
        for (at, pod) in self.pods.iter().enumerate() {
            if pod.pre_pull && pod.node == node {
                found.push(PodId::at(at));
            }
        }
        found
    }
}

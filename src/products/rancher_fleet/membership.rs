//! Clusters that leave the workspace of a bundle in mid-rollout, or come to it.
//!
//! Somebody deletes the Cluster object. The cluster controller then deletes the cluster's own bundle and its namespace,
//! and takes its finalizer off the cluster (rancher/fleet at 3b2c622, `reconciler/cluster_controller.go`). With the
//! namespace goes the deployment, whose finalizer the second controller takes off; the agent then removes the payload.
//! Until the cluster is gone, passes treat it as a target: what they write into its namespace is refused. A cluster
//! that comes to the workspace has no namespace in the first pass that sees it, and gets its deployment in the next
//! one.
//!
//! Left out: the time that Kubernetes takes to delete what else is in the namespace.

use std::collections::BTreeMap;

use crate::engine::{Stream, Streams};
use crate::products::ControlLoop;
use crate::units::{SimDuration, SimTime};
use crate::world::DurationModel;

/// What happens to a cluster that leaves or comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MembershipStep {
    /// Its deployment no longer exists: the agent removes the payload.
    Removed(usize),
    /// The bundle controller sees that the cluster is no longer there.
    Gone(usize),
    /// It has a namespace.
    Registered(usize),
}

/// The clusters that are on their way.
pub(super) struct Membership {
    request: DurationModel,
    watch_delay: SimDuration,
    draws: Stream,
    agenda: BTreeMap<(SimTime, usize), MembershipStep>,
    scheduled: usize,
    /// For each cluster that is leaving, when the caches show that its deployment is gone.
    leaving: BTreeMap<usize, SimTime>,
}

impl Membership {
    pub(super) fn new(timing: &ControlLoop, streams: Streams) -> Self {
        Self {
            request: timing.request.clone(),
            watch_delay: timing.watch_delay,
            draws: streams.stream("controller", "cluster controller"),
            agenda: BTreeMap::new(),
            scheduled: 0,
            leaving: BTreeMap::new(),
        }
    }

    fn schedule(&mut self, at: SimTime, step: MembershipStep) {
        self.agenda.insert((at, self.scheduled), step);
        self.scheduled += 1;
    }

    fn answer(&mut self, sent: SimTime) -> SimTime {
        sent + self.request.sample(&mut self.draws)
    }

    /// The caches show at `now` that the cluster is marked for deletion.
    pub(super) fn leaves(&mut self, cluster: usize, now: SimTime) {
        let bundle_deleted = self.answer(now);
        let namespace_deleted = self.answer(bundle_deleted);
        let gone = self.answer(namespace_deleted) + self.watch_delay;
        let removed = self.answer(namespace_deleted + self.watch_delay);
        self.leaving.insert(cluster, removed + self.watch_delay);
        self.schedule(removed, MembershipStep::Removed(cluster));
        self.schedule(gone.max(removed), MembershipStep::Gone(cluster));
    }

    /// The caches show at `now` that the cluster is there.
    pub(super) fn joins(&mut self, cluster: usize, now: SimTime) {
        self.leaving.remove(&cluster);
        self.schedule(now, MembershipStep::Registered(cluster));
    }

    /// Whether a pass that is at this cluster at `now` writes into a namespace that is being deleted.
    pub(super) fn is_refused(&self, cluster: usize, now: SimTime) -> bool {
        self.leaving.get(&cluster).is_some_and(|removed| *removed <= now)
    }

    /// The clusters that are leaving.
    pub(super) fn leaving(&self) -> impl Iterator<Item = usize> {
        self.leaving.keys().copied()
    }

    /// When the next step is due.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.agenda.keys().next().map(|&(at, _)| at)
    }

    /// The next step that is due.
    pub(super) fn take(&mut self, now: SimTime) -> Option<MembershipStep> {
        let entry = self.agenda.first_entry().filter(|entry| entry.key().0 <= now)?;
        let step = entry.remove();
        if let MembershipStep::Gone(cluster) = step {
            self.leaving.remove(&cluster);
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_leaves_loses_its_deployment_after_three_requests_and_a_watch() {
        let millis = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let timing = ControlLoop {
            request: SimDuration::from_millis(5).into(),
            watch_delay: SimDuration::from_millis(7),
            ..ControlLoop::kubernetes()
        };
        let mut membership = Membership::new(&timing, Streams::new(1, 0));
        membership.leaves(3, millis(100));
        // Bundle, namespace, the deployment's finalizer after a watch: 5 + 5 + 7 + 5 ms.
        assert_eq!(membership.next(), Some(millis(122)));
        assert!(!membership.is_refused(3, millis(128)) && membership.is_refused(3, millis(129)));
        assert_eq!(membership.take(millis(121)), None);
        assert_eq!(membership.take(millis(122)), Some(MembershipStep::Removed(3)));
        assert_eq!(membership.take(millis(122)), Some(MembershipStep::Gone(3)));
        assert!(!membership.is_refused(3, millis(129)), "it is no target any more");
    }
}

//! The causes of waits during which a cluster's pulls make no progress.
//!
//! Each moment of a cluster counts once, for the first of these that holds: a download, unpacking, a wait after HTTP
//! 429, a wait for an unavailable registry (503 or no response), any other pull in progress, and a pod that its
//! kubelet delays. So a wait counts only while no bytes move, and the parts of the time add up
//! ([`super::super::clusters::cluster`]).
//!
//! A wait begins with a refusal and ends with the next try: between two tries of a request, between two tries to
//! connect, and while a pod backs off. A back-off has the cause of the failed pull before it.
//!
//! Left out: the kubelet's queue of pulls, behind which another pull of the node is always in progress, and downloads
//! that stall, which stay downloads until the runtime gives up.

use crate::world::World;
use crate::world::ids::{PodId, PullId};
use crate::world::nodes::pull_error::PullError;
use fleetsim_units::SimTime;

/// The cause of a pull's wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullWait {
    /// A registry, a mirror or a cache refused a request with 429: too many requests, or a quota of pulls.
    Throttled,
    /// A registry responded 503, did not respond, or stopped sending.
    Unavailable,
    /// The kubelet's own limit of pulls, or its back-off after any other failure.
    Kubelet,
}

impl PullWait {
    /// Returns the cause of a back-off after this error.
    const fn after(error: PullError) -> Self {
        match error {
            PullError::TooManyRequests => Self::Throttled,
            PullError::Unavailable | PullError::Unreachable | PullError::NoProgress => {
                Self::Unavailable
            }
            PullError::KubeletRate
            | PullError::Broken
            | PullError::Deadline
            | PullError::NotFound
            | PullError::NodeLost
            | PullError::NoSpace => Self::Kubelet,
        }
    }
}

/// The number of simultaneous waits for each cause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullWaits {
    pub(crate) throttled: u32,
    pub(crate) unavailable: u32,
    pub(crate) kubelet: u32,
}

impl PullWaits {
    /// No waits.
    pub(crate) const NONE: Self = Self {
        throttled: 0,
        unavailable: 0,
        kubelet: 0,
    };

    const fn of(&mut self, wait: PullWait) -> &mut u32 {
        match wait {
            PullWait::Throttled => &mut self.throttled,
            PullWait::Unavailable => &mut self.unavailable,
            PullWait::Kubelet => &mut self.kubelet,
        }
    }

    pub(crate) const fn begin(&mut self, wait: PullWait) {
        *self.of(wait) += 1;
    }

    pub(crate) fn end(&mut self, wait: PullWait) {
        let waits = self.of(wait);
        *waits = waits.checked_sub(1).expect("a wait that ends has begun");
    }

    /// Ends all waits of a pull.
    pub(crate) const fn end_all(&mut self, of_pull: Self) {
        self.throttled -= of_pull.throttled;
        self.unavailable -= of_pull.unavailable;
        self.kubelet -= of_pull.kubelet;
    }
}

impl World<'_> {
    /// Records that a request of a pull waits before it is sent again. Does nothing if the pull has ended.
    pub(super) fn request_waits(&mut self, id: PullId, wait: PullWait, now: SimTime) {
        let pull = &mut self.pulls[id.index()];
        if pull.ended {
            return;
        }
        pull.waits.begin(wait);
        let cluster = self.nodes[pull.node.index()].cluster;
        self.clusters[cluster.index()].pull_waits(wait, now);
    }

    /// Records that this wait of a request is over.
    pub(super) fn request_goes_on(&mut self, id: PullId, wait: PullWait, now: SimTime) {
        let pull = &mut self.pulls[id.index()];
        pull.waits.end(wait);
        let cluster = self.nodes[pull.node.index()].cluster;
        self.clusters[cluster.index()].pull_goes_on(wait, now);
    }

    /// Counts a pod that backs off after this error.
    pub(crate) fn pod_waits(&mut self, id: PodId, error: PullError, now: SimTime) {
        let pod = &mut self.pods[id.index()];
        if pod.pre_pull || pod.waits_for.is_some() {
            return;
        }
        let wait = PullWait::after(error);
        pod.waits_for = Some(wait);
        let cluster = self.nodes[pod.node.index()].cluster;
        self.clusters[cluster.index()].pull_waits(wait, now);
    }

    /// Counts the end of a pod's back-off.
    pub(crate) fn pod_goes_on(&mut self, id: PodId, now: SimTime) {
        let pod = &mut self.pods[id.index()];
        if let Some(wait) = pod.waits_for.take() {
            let cluster = self.nodes[pod.node.index()].cluster;
            self.clusters[cluster.index()].pull_goes_on(wait, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::world::clusters::cluster::ClusterFacts;
    use crate::world::clusters::spec::{PullPolicy, WorkloadKind};
    use crate::world::faults::cut_kind::CutKind;
    use crate::world::ids::ClusterId;
    use crate::world::nodes::runtime::spec::RuntimeSpec;
    use crate::world::registry::spec::{ClientScope, PullQuota};
    use crate::world::spec::WorldSpec;
    use crate::world::testing::{Intervention, bare_world, fixed, play, play_with};
    use fleetsim_units::SimDuration;

    const DAY: SimDuration = SimDuration::from_hours(24);

    fn secs(secs: f64) -> SimDuration {
        SimDuration::from_secs_f64(secs)
    }

    /// Returns the parts of a cluster's time in whole seconds: transfer, and waits after 429, for a registry and for
    /// the kubelet.
    fn parts(facts: &ClusterFacts) -> [u64; 4] {
        let parts = [
            facts.transferring,
            facts.throttled,
            facts.unavailable,
            facts.held_by_kubelet,
        ];
        parts.map(|part| part.as_secs_f64().round() as u64)
    }

    /// A world with a kubelet that syncs every second, and a quota of one pull in this time.
    fn one_pull_per(time: f64, runtime: RuntimeSpec) -> WorldSpec {
        let mut world = bare_world(2);
        world.node.runtime = runtime;
        world.node.error_requeue = fixed(secs(1.0));
        world.registry.pull_quota = Some(PullQuota {
            pulls: 1,
            per: secs(time),
            scope: ClientScope::Account,
        });
        world
    }

    #[test]
    fn back_offs_after_429_are_waits_for_the_limit() {
        // The second tries at 0, 10, 30, 70 and 150 s, each time without a wait between tries. The pull takes 1 s.
        let played = play(&one_pull_per(100.0, RuntimeSpec::CONTAINERD_2_4), 1, DAY);
        assert_eq!(parts(&played.facts[0]), [1, 0, 0, 0]);
        assert_eq!(parts(&played.facts[1]), [1, 150, 0, 0]);
    }

    #[test]
    fn a_runtime_that_waits_after_429_waits_for_the_limit_too() {
        // CRI-O tries at 0, 2, 6, 14 and 30 s, and the last of these is answered.
        let played = play(&one_pull_per(20.0, RuntimeSpec::CRI_O), 1, DAY);
        assert_eq!(parts(&played.facts[1]), [1, 30, 0, 0]);
    }

    #[test]
    fn tries_to_connect_and_the_back_off_after_them_are_waits_for_the_registry() {
        let cut: Intervention = |world, queue| world.cut(ClusterId(0), CutKind::All, queue);
        let restore: Intervention = |world, queue| world.repair(ClusterId(0), CutKind::All, queue);
        let mut world = bare_world(1);
        world.node.error_requeue = fixed(secs(1.0));
        world.node.runtime = RuntimeSpec::CONTAINERD_2_1;
        // The pull tries for 30 s and then backs off until 40 s.
        let played = play_with(&world, 1, DAY, &[(0.0, cut), (35.0, restore)]);
        assert_eq!(parts(&played.facts[0]), [1, 0, 40, 0]);
        // The registry is back after 5 s, and the next connection attempt at 7 s succeeds.
        let played = play_with(&world, 1, DAY, &[(0.0, cut), (5.0, restore)]);
        assert_eq!(parts(&played.facts[0]), [1, 0, 7, 0]);
    }

    #[test]
    fn a_pod_above_the_kubelets_rate_counts_as_waiting_once_nothing_else_progresses() {
        let mut world = bare_world(1);
        world.node.serialize_image_pulls = Some(false);
        (world.node.registry_pull_qps, world.node.registry_burst) = (1, 1);
        world.node.error_requeue = fixed(secs(1.0));
        world.applications[0].workloads[0].pull_policy = PullPolicy::Always;
        let WorkloadKind::Deployment { replicas, .. } =
            &mut world.applications[0].workloads[0].kind
        else {
            panic!("a Deployment")
        };
        *replicas = 2;
        // The first pod pulls for 1 s. The second is rejected at 0 s and backs off until 10 s.
        let played = play(&world, 1, DAY);
        assert_eq!(parts(&played.facts[0]), [1, 0, 0, 9]);
    }
}

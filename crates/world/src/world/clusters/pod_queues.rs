//! The rates at which the pods of a cluster are created, scheduled, and started on a node.
//!
//! Modelled: the workload controllers create pods through a client with a limit, then the scheduler binds them with
//! its own limit; both are token buckets whose callers wait. A node starts pods one after another at its own rate, in
//! the order in which their images become ready, because starts wait for the disk.
//!
//! Evidence: 20 and 201 pods per second end to end with limits of 20 and 200 requests per second of the creating
//! client, and at most 4.5 to 5 starts per second on a node with a spinning disk, whose sandboxes take 130 ms idle and
//! 1.0 to 1.2 s under load (kubernetes-sigs/agent-sandbox, pull requests 1209, 1275 and 1609, 2026).
//!
//! Left out: the part of this wait that precedes the pull, since sandboxes wait for the disk, too; the slow start of a
//! ReplicaSet (1, 2, 4, ... pods), requests for events and statuses, priorities, and API servers that are slow under
//! load.
//! `scheduling` has the pods that fit on no node.

use serde::{Deserialize, Serialize};

use crate::engine::Reservations;
use crate::world::calibration;
use fleetsim_units::serial::positive;
use fleetsim_units::{Factor, PerSecond, SimTime};

/// Rates at which the pods of a cluster are created, scheduled and started.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PodSpec {
    /// Limit of the workload controllers that create the pods of a cluster.
    ///
    /// The kube-controller-manager's client has a rate of 20/s and a burst of 30 (`--kube-api-qps`,
    /// `--kube-api-burst`).
    pub creation: Option<PodLimit>,
    /// Limit of the scheduler that binds the pods of a cluster.
    ///
    /// The kube-scheduler's client has a rate of 50/s and a burst of 100 (`clientConnection` of its configuration).
    pub scheduling: Option<PodLimit>,
    /// Maximum number of pods that start on a node per second. A spinning disk allows about 5.
    pub starts_per_second: Option<Factor>,
}

impl Default for PodSpec {
    fn default() -> Self {
        Self {
            creation: Some(calibration::POD_CREATION.into()),
            scheduling: Some(calibration::POD_SCHEDULING.into()),
            starts_per_second: Some(calibration::POD_STARTS),
        }
    }
}

impl PodSpec {
    /// No limits: pods appear immediately.
    pub const IMMEDIATE: Self = Self {
        creation: None,
        scheduling: None,
        starts_per_second: None,
    };
}

/// A token bucket for pods, which wait for their turn.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PodLimit {
    /// Number of pods per time.
    #[serde(deserialize_with = "positive")]
    pub rate: PerSecond,
    /// Number of pods that pass immediately if no pod has passed for a while; at least 1.
    #[serde(default = "one", deserialize_with = "positive")]
    pub burst: u32,
}

impl From<(PerSecond, u32)> for PodLimit {
    fn from((rate, burst): (PerSecond, u32)) -> Self {
        Self { rate, burst }
    }
}

const fn one() -> u32 {
    1
}

/// The limited queues of one cluster, in the order in which a pod passes them.
#[derive(Clone, Debug)]
pub(crate) struct PodQueues {
    creation: Option<Reservations>,
    scheduling: Option<Reservations>,
}

impl PodQueues {
    pub(crate) fn new(spec: &PodSpec) -> Self {
        Self {
            creation: spec.creation.map(reservations),
            scheduling: spec.scheduling.map(reservations),
        }
    }

    /// Returns when a pod that is requested now is bound to its node, if there is one for it.
    pub(crate) fn bound(&mut self, now: SimTime) -> SimTime {
        let created = self.created(now);
        self.scheduled(created)
    }

    /// Returns when a pod that is requested now is created.
    pub(crate) fn created(&mut self, now: SimTime) -> SimTime {
        match &mut self.creation {
            Some(queue) => queue.reserve(now),
            None => now,
        }
    }

    /// Returns when a pod is bound for which the scheduler finds a node now.
    pub(crate) fn scheduled(&mut self, now: SimTime) -> SimTime {
        match &mut self.scheduling {
            Some(queue) => queue.reserve(now),
            None => now,
        }
    }
}

fn reservations(limit: PodLimit) -> Reservations {
    Reservations::new(limit.rate.get(), limit.burst)
}

#[cfg(test)]
mod tests {
    use crate::world::clusters::pod_queues::PodLimit;
    use crate::world::clusters::spec::WorkloadKind;
    use crate::world::event::{Event, WorkloadEvent};
    use crate::world::spec::WorldSpec;
    use crate::world::testing::{bare_world, play};
    use fleetsim_units::{Factor, PerSecond, SimDuration};

    /// Creates a cluster of ten nodes that starts `count` pods.
    fn pods(count: u32) -> WorldSpec {
        let mut world = bare_world(1);
        world.clusters[0].nodes = 10.into();
        world.images[0].layers.clear();
        if let WorkloadKind::Deployment { replicas, .. } =
            &mut world.applications[0].workloads[0].kind
        {
            *replicas = count;
        }
        world
    }

    /// Returns when each container started, in milliseconds.
    fn starts(world: &WorldSpec) -> Vec<u64> {
        let played = play(world, 1, SimDuration::from_hours(1));
        let times = played
            .times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))));
        times
            .into_iter()
            .map(|at| (at * 1e3).round() as u64)
            .collect()
    }

    const fn limit(rate: f64, burst: u32) -> Option<PodLimit> {
        Some(PodLimit {
            rate: PerSecond::new(rate),
            burst,
        })
    }

    #[test]
    fn pods_are_created_and_scheduled_at_the_slower_of_two_rates() {
        assert_eq!(starts(&pods(5)), [0; 5], "without limits at once");
        let mut world = pods(5);
        world.pods.creation = limit(10.0, 2);
        assert_eq!(starts(&world), [0, 0, 100, 200, 300]);
        // The scheduler has a token for one pod, and then gets one every 250 ms, so it is the bottleneck.
        world.pods.scheduling = limit(4.0, 1);
        assert_eq!(starts(&world), [0, 250, 500, 750, 1000]);
        world.pods.scheduling = limit(100.0, 1);
        assert_eq!(starts(&world), [0, 10, 100, 200, 300]);
    }

    #[test]
    fn a_node_starts_its_pods_one_after_another() {
        let mut world = pods(6);
        world.clusters[0].nodes = 2.into();
        world.pods.starts_per_second = Some(Factor::new(5.0));
        // There are three pods on each node.
        assert_eq!(starts(&world), [0, 0, 200, 200, 400, 400]);
    }
}

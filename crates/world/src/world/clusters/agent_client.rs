//! The limit of an agent's client for the management cluster, and its token buckets.
//!
//! An agent of Rancher Fleet has a client for each kind of object, and each client has a token bucket of its own
//! (controller-runtime, `pkg/client/apiutil/apimachinery.go`; kubernetes/client-go, `rest`). All deployments of a
//! cluster share them. `agent_requests` has the requests, what is left out, and the tests.

use crate::engine::Reservations;
use fleetsim_units::{SimDuration, SimTime};

/// The limit of an agent's client for each kind of object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AgentClientRate {
    /// The number of requests per second.
    pub per_second: u32,
    /// The number of requests that may be sent before the limit applies.
    pub burst: u32,
}

impl AgentClientRate {
    /// The limit of Rancher Fleet's agent. Its manager has the configuration that clientcmd reads from the kubeconfig
    /// in the agent's secret (rancher/fleet at 3b2c622, `start` in `internal/cmd/agent/operator.go` and `tryRegister`
    /// in `internal/cmd/agent/register/register.go`). A kubeconfig has no field for a limit. So client-go v0.36.3
    /// sets `DefaultQPS` and `DefaultBurst` for each client (`rest/config.go`, `RESTClientForConfigAndClient`). Fleet
    /// and controller-runtime v0.24.1 lift the limit (`QPS = -1`) only of configurations for the agent's own cluster.
    pub const FLEET: Self = Self {
        per_second: 5,
        burst: 10,
    };
}

/// The token buckets of one agent's clients that are in use.
#[derive(Debug, Default)]
pub(crate) struct AgentClient {
    contents: Option<Reservations>,
    statuses: Option<Reservations>,
}

impl AgentClient {
    /// Takes a token for the read of a content. Returns the wait for it.
    pub(super) fn read_content(
        &mut self,
        rate: Option<AgentClientRate>,
        now: SimTime,
    ) -> SimDuration {
        take(&mut self.contents, rate, now)
    }

    /// Takes a token for the write of a status. Returns the wait for it.
    pub(super) fn write_status(
        &mut self,
        rate: Option<AgentClientRate>,
        now: SimTime,
    ) -> SimDuration {
        take(&mut self.statuses, rate, now)
    }
}

/// Takes a token from a bucket of an agent. Returns the wait for it.
fn take(
    bucket: &mut Option<Reservations>,
    rate: Option<AgentClientRate>,
    now: SimTime,
) -> SimDuration {
    let Some(rate) = rate else {
        return SimDuration::ZERO;
    };
    let bucket =
        bucket.get_or_insert_with(|| Reservations::new(f64::from(rate.per_second), rate.burst));
    bucket.reserve(now) - now
}

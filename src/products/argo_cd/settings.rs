//! The application controller's flags, and the cost of a sync.
//!
//! Flags have the defaults of argoproj/argo-cd at 37ee0097cf851bc2dd7665fc081bbce61a7e836e
//! (`cmd/argocd-application-controller/commands/argocd_application_controller.go`,
//! `pkg/apis/application/v1alpha1/cluster_constants.go`). The cost of a sync is calibrated on published times for
//! syncing 10,000 applications with one ConfigMap each after one commit; `tests/suite/validation/argo_cd.rs` compares
//! them with the model. Two values are marked as guesses.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::products::REMAINING_TIME;
use crate::units::serial::positive;
use crate::units::{Factor, SimDuration};

/// Keys in a strategy that [`ApplicationControllerSettings::upstream_settings`] passes to the product's program.
pub(super) const UPSTREAM_KEYS: &[&str] = &[
    "concurrentApplicationUpdates",
    "generate",
    "applicationController.statusProcessors",
    "applicationController.operationProcessors",
    "applicationController.tcpTimeout",
    "applicationController.clientQps",
    "applicationController.clientBurst",
    "applicationController.requestsPerSync",
    "applicationController.syncsPerSecond",
    "applicationController.comparison",
    "applicationController.idleSync",
];

/// Argo CD's application controller: its flags, and the cost of comparisons and syncs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ApplicationControllerSettings {
    /// `--status-processors`: number of concurrent comparisons in each shard.
    #[serde(deserialize_with = "positive")]
    pub status_processors: u32,
    /// `--operation-processors`: number of concurrent attempts of operations in each shard.
    #[serde(deserialize_with = "positive")]
    pub operation_processors: u32,
    /// `--kubectl-parallelism-limit`: number of concurrent applies in each shard.
    #[serde(deserialize_with = "positive")]
    pub kubectl_parallelism: u32,
    /// `ARGOCD_K8S_CLIENT_QPS`: API requests per second of each shard; 0 means no limit.
    pub client_qps: u32,
    /// `ARGOCD_K8S_CLIENT_BURST`: number of API requests in a burst of a shard. Default: twice `clientQps`.
    #[serde(deserialize_with = "positive", skip_serializing_if = "Option::is_none")]
    pub client_burst: Option<u32>,
    /// Number of API requests per sync, all subject to the client's limit. Calibrated; no flag.
    pub requests_per_sync: u32,
    /// Maximum syncs per second on one shard's CPU. Calibrated on nodes with 16 cores; no flag.
    pub syncs_per_second: Factor,
    /// Cores that all shards share. The default is no limit. Write those of the nodes that run the shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Factor>,
    /// Time of one core per sync, if the shards share cores. Calibrated; no flag. It contains the comparisons of a
    /// sync, and the work of the repo server and Redis on the same nodes.
    #[serde(deserialize_with = "positive")]
    pub cpu_per_sync: SimDuration,
    /// Number of processes (`ARGOCD_CONTROLLER_REPLICAS`). Each has its own client and processors.
    #[serde(deserialize_with = "shards")]
    pub shards: u32,
    /// `--sharding-method`: the shard of each cluster.
    pub sharding: Sharding,
    /// `--app-resync`: interval between refreshes of all applications. Also `timeout.reconciliation`. 180 s up to v2.
    #[serde(deserialize_with = "positive")]
    pub app_resync: SimDuration,
    /// `--app-resync-jitter`: maximum random delay of each announcement. 0 up to v2.
    pub app_resync_jitter: SimDuration,
    /// `ARGOCD_K8S_TCP_TIMEOUT`: time until an attempt on a cluster that does not answer fails.
    pub tcp_timeout: SimDuration,
    /// `--sync-timeout`: the longest time of an operation, with all its attempts. Also
    /// `controller.sync.timeout.seconds`. Without it, operations last as long as they need.
    #[serde(deserialize_with = "positive", skip_serializing_if = "Option::is_none")]
    pub sync_timeout: Option<SimDuration>,
    /// Duration of a comparison. A guess; no flag.
    pub comparison: SimDuration,
    /// Duration of a sync that finds everything already applied, without its requests. A guess; no flag.
    pub idle_sync: SimDuration,
}

/// Maximum number of processes, because each one needs memory.
const MOST_SHARDS: u32 = 10_000;

fn shards<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let shards: u32 = positive(deserializer)?;
    if shards <= MOST_SHARDS {
        Ok(shards)
    } else {
        let message = format!("must be at most {MOST_SHARDS}; write one for each replica");
        Err(serde::de::Error::custom(message))
    }
}

/// The assignment of clusters to shards.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharding {
    /// By a hash of the cluster's UID, simulated as a random draw. Some shards get more clusters than others.
    #[default]
    Legacy,
    /// Round-robin: the shards differ by at most one cluster.
    RoundRobin,
}

impl Default for ApplicationControllerSettings {
    fn default() -> Self {
        Self {
            status_processors: 20,
            operation_processors: 10,
            kubectl_parallelism: 20,
            client_qps: 50,
            client_burst: None,
            // Calibrated: while the client was the bottleneck, 10,000 syncs took 12.6 requests each at 50/s (AWS-1),
            // and 10.2 and 10.8 at 100/s and 150/s (AWS-3).
            requests_per_sync: 12,
            // Calibrated: at 200 requests/s, 10,000 syncs took 11 min (AWS-3); the client's limit alone would have
            // allowed 17/s.
            syncs_per_second: Factor::new(15.0),
            cpu: None,
            // Calibrated: ten shards on a node of 8 vCPU synced 10,000 applications in 500 clusters in 11 min (CNOE-3).
            cpu_per_sync: SimDuration::from_millis(530),
            shards: 1,
            sharding: Sharding::Legacy,
            app_resync: SimDuration::from_secs(120),
            app_resync_jitter: SimDuration::from_secs(60),
            // One connection per attempt is a guess. A cluster that refuses connections answers immediately.
            tcp_timeout: SimDuration::from_secs(30),
            sync_timeout: None,
            comparison: SimDuration::from_millis(200),
            idle_sync: SimDuration::from_secs(1),
        }
    }
}

/// Formats a duration in nanoseconds, as Go programs read it.
fn in_nanos(duration: SimDuration) -> String {
    format!("{}ns", duration.as_nanos())
}

/// More than any fleet needs.
const PLENTY: u32 = 1_000_000;

impl ApplicationControllerSettings {
    /// Returns the cores that one process takes if it gets all that it can use.
    pub(super) fn cores_of_a_process(&self) -> f64 {
        self.cpu_per_sync.as_secs_f64() * self.syncs_per_second.get()
    }

    /// Returns the syncs per second that the shared cores compute. `None`: the shards share none.
    pub(super) fn syncs_of_the_hub(&self) -> Option<f64> {
        Some(self.cpu?.get() / self.cpu_per_sync.as_secs_f64())
    }

    /// Returns the settings of an application controller that holds nothing back. Its refreshes keep their interval,
    /// because they are not a limit but the way in which a commit is found. The cores that the shards share are a
    /// resource of their own.
    pub(super) fn lifted(&self) -> Self {
        Self {
            status_processors: PLENTY,
            operation_processors: PLENTY,
            kubectl_parallelism: PLENTY,
            client_qps: 0,
            client_burst: None,
            syncs_per_second: Factor::new(f64::from(PLENTY)),
            comparison: self.comparison.mul_f64(REMAINING_TIME),
            idle_sync: self.idle_sync.mul_f64(REMAINING_TIME),
            ..*self
        }
    }

    /// Returns the settings for the program of `controllers/argocd`, which has one shard.
    pub(super) fn upstream_settings(&self, updates: NonZeroU32) -> BTreeMap<String, String> {
        let settings = [
            (
                "ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES",
                updates.to_string(),
            ),
            (
                "ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS",
                self.status_processors.to_string(),
            ),
            (
                "ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS",
                self.operation_processors.to_string(),
            ),
            ("ARGOCD_K8S_TCP_TIMEOUT", in_nanos(self.tcp_timeout)),
            (
                "applicationController.clientQps",
                self.client_qps.to_string(),
            ),
            (
                "applicationController.clientBurst",
                self.burst().to_string(),
            ),
            (
                "applicationController.requestsPerSync",
                self.requests_per_sync.to_string(),
            ),
            (
                "applicationController.syncsPerSecond",
                self.syncs_per_second.get().to_string(),
            ),
            (
                "applicationController.comparison",
                in_nanos(self.comparison),
            ),
            ("applicationController.idleSync", in_nanos(self.idle_sync)),
        ];
        settings
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// Returns the settings that reduce the durations of comparisons and operations to zero or nearly zero.
    pub(super) fn zero_times(&self) -> Vec<String> {
        let times = [
            ("tcpTimeout", self.tcp_timeout),
            ("comparison", self.comparison),
            ("idleSync", self.idle_sync),
        ];
        let mut zero = Vec::new();
        for (name, time) in times {
            if time.is_zero() {
                zero.push(format!("applicationController.{name}"));
            }
        }
        let of_a_sync = SimDuration::from_secs_f64(1.0 / self.syncs_per_second.get());
        if of_a_sync < SimDuration::from_millis(1) {
            zero.push(format!(
                "applicationController.syncsPerSecond ({of_a_sync} for a sync)"
            ));
        }
        zero
    }

    /// Returns the number of API requests in a burst of a shard.
    pub fn burst(&self) -> u32 {
        self.client_burst
            .unwrap_or(self.client_qps.saturating_mul(2))
    }
}

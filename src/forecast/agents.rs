//! Signs of life of the clusters' agents, and the start of a rollout that other objects show.
//!
//! | object | field |
//! |---|---|
//! | Cluster of Fleet | `status.agent.lastSeen`, which the agent renews every 15 minutes by default |
//! | MemberCluster of KubeFleet | `status.agentStatus[].lastReceivedHeartbeat`, every minute by default |
//! | resource snapshot of KubeFleet | `metadata.creationTimestamp`, the time of the release |
//!
//! Argo CD has no agents, and Cloud Foundry replaces the instances of cells that it has lost.

use super::status::ShownRollout;
use crate::document::problem::OrProblems;
use crate::scenario::import::objects::ExportObject;

use super::fields::ShownObject;

/// The label of the newest snapshot of a placement (`IsLatestSnapshotLabel` in KubeFleet's `apis/placement/v1beta1`).
const IS_LATEST: &str = "kubernetes-fleet.io/is-latest-snapshot";

impl ShownRollout {
    /// Adds the last sign of life of a Cluster of Fleet, and whether it is paused.
    pub(super) fn fleet_cluster(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        let seen = read.status.agent.last_seen.as_deref();
        let at = self.time(object, "status.agent.lastSeen", seen)?;
        if let Some(at) = at {
            self.heard.insert(read.name().to_owned(), at);
        }
        if *read.spec.paused {
            self.paused.insert(read.name().to_owned());
        }
        Ok(())
    }

    /// Adds the last sign of life of a member cluster of KubeFleet.
    pub(super) fn member_cluster(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        let mut last = None;
        for (at, agent) in read.status.agent_status.iter().enumerate() {
            let field = format!("status.agentStatus[{at}].lastReceivedHeartbeat");
            let heartbeat = agent.last_received_heartbeat.as_deref();
            last = last.max(self.time(object, &field, heartbeat)?);
        }
        if let Some(at) = last {
            self.heard.insert(read.name().to_owned(), at);
        }
        Ok(())
    }

    /// Adds a resource snapshot of KubeFleet: the newest one is the release.
    pub(super) fn snapshot(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        let is_latest = read.metadata.labels.get(IS_LATEST);
        if is_latest.is_some_and(|latest| latest == "true") {
            let created = read.metadata.creation_timestamp.as_deref();
            self.snapshot = self.time(object, "metadata.creationTimestamp", created)?;
        }
        Ok(())
    }
}

//! The requests of a pass of the bundle controller, and what comes of each.
//!
//! Follows `handleMatchedTarget`, `createBundleDeployment`, `manageOptionsSecret` and `ensureOwnerReferences` in
//! `internal/cmd/controller/reconciler/bundle_controller.go` of rancher/fleet. A pass visits its targets in the order
//! of the clusters' names. It writes what it decided at its beginning, on top of what the cache shows by then.

use std::collections::{BTreeMap, BTreeSet};

use super::{FleetController, FleetStep, ValuesSecret};
use crate::control_plane::Plane;
use crate::rollout::rancher_fleet::{BundleDecision, BundleDeployment};
use crate::rollout::{QueueRequest, back_off};
use crate::units::{SimDuration, SimTime};
use crate::world::ClusterId;

/// Requests for the finalizer of a new bundle: an update, and one that meets a conflict. The pass after it waits.
const FINALIZER_REQUESTS: usize = 2;

/// When a pass comes back that had to end early. Source: `DefaultRequeueAfter` in `pkg/durations/durations.go`.
const EARLY_END_WAIT: SimDuration = SimDuration::from_secs(5);

/// The API server has refused a write of a Secret, because the cache was not up to date.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct RefusedSecret;

/// A cluster whose deployment a pass may have to write.
pub(super) struct Planned {
    cluster: usize,
    /// The deployment that it saw, and the one that it wants.
    before: Option<BundleDeployment>,
    after: Option<BundleDeployment>,
}

/// The writes of a pass so far.
pub(super) struct PassWrites {
    /// When the last request is answered.
    pub(super) at: SimTime,
    /// Deployments that were created.
    pub(super) created: u64,
    /// When the pass comes back.
    pub(super) request: QueueRequest,
}

impl FleetController<'_> {
    /// The deployments that a pass may have to write, by the rank of their clusters' names.
    pub(super) fn plan(&mut self, now: SimTime, pass: &BundleDecision) -> BTreeMap<u32, Planned> {
        let is_behind = |secret: &ValuesSecret| {
            secret
                .owned
                .is_none_or(|owned| now < owned + self.watch_delay)
        };
        self.secrets_behind
            .retain(|&cluster| self.secrets[cluster].as_ref().is_some_and(is_behind));
        let decided = self
            .changed
            .iter()
            .chain(pass.status.stored.iter().copied())
            .map(|cluster| cluster as usize);
        let clusters: BTreeSet<usize> = decided
            .chain(self.leaving.keys().copied())
            .chain(self.unseen.clusters())
            .chain(self.secrets_behind.iter().copied())
            .collect();
        let before: Vec<_> = clusters
            .iter()
            .map(|&cluster| self.view.clusters[cluster].deployment)
            .collect();
        self.view.store(pass);
        let mut planned = BTreeMap::new();
        for (cluster, before) in clusters.into_iter().zip(before) {
            let (view, rank) = (&mut self.view.clusters[cluster], self.ranks[cluster]);
            self.attached.set(
                rank,
                view.targeted && view.registered && view.deployment.is_some(),
            );
            let after = view.deployment;
            // The cache shows a write later. A deletion is not written by a pass.
            view.deployment = after.and(before);
            planned.insert(
                rank,
                Planned {
                    cluster,
                    before,
                    after,
                },
            );
        }
        planned
    }

    /// The requests of a pass that begins at `now`: for each target with a deployment one for its Secret, and one if
    /// the deployment changes; at the end the bundle's status.
    pub(super) fn write(
        &mut self,
        now: SimTime,
        planned: &BTreeMap<u32, Planned>,
        plane: &mut Plane<'_>,
    ) -> PassWrites {
        let mut writes = PassWrites {
            at: now,
            created: 0,
            request: QueueRequest::None,
        };
        if std::mem::take(&mut self.is_new) {
            writes.at = self.client.in_turn(0, now, FINALIZER_REQUESTS) + back_off(0);
        }
        let attached: Vec<_> = planned
            .iter()
            .filter(|(rank, _)| self.attached.contains(**rank))
            .collect();
        if self.has_values {
            let created = attached
                .iter()
                .filter(|(_, planned)| planned.before.is_none());
            writes.at = self
                .client
                .in_turn(0, writes.at, self.attached.len() - created.count());
        }
        // All clusters want the same revision.
        let newest = self.view.clusters.first().map(|cluster| cluster.wanted);
        if newest > self.stored {
            self.stored = newest;
            writes.at = self.client.in_turn(0, writes.at, 1);
        }
        let deletes = usize::from(!self.has_values);
        let mut targets = 0;
        for (rank, planned) in attached {
            // One for each target so far.
            let up_to = self.attached.count_below(rank + 1);
            writes.at = self.client.in_turn(
                0,
                writes.at,
                deletes * (up_to - std::mem::replace(&mut targets, up_to)),
            );
            if self.write_deployment(&mut writes, planned, plane).is_err() {
                writes.request = QueueRequest::After(EARLY_END_WAIT);
                return writes;
            }
        }
        writes.at = self
            .client
            .in_turn(0, writes.at, deletes * (self.attached.len() - targets));
        // Deployments of clusters that are no longer targets go at last.
        let orphans = planned
            .values()
            .filter(|planned| planned.before.is_some() && planned.after.is_none());
        writes.at = self.client.in_turn(0, writes.at, orphans.count() + 1);
        writes
    }

    /// Writes a target's deployment if it is not as the pass wants it.
    ///
    /// # Errors
    /// When a Secret could not be written; the pass ends here.
    fn write_deployment(
        &mut self,
        writes: &mut PassWrites,
        planned: &Planned,
        plane: &mut Plane<'_>,
    ) -> Result<(), RefusedSecret> {
        let cluster = planned.cluster;
        let Some(after) = planned.after else {
            return Ok(());
        };
        self.write_secret(writes, cluster, planned.before.is_some())?;
        // Its namespace is being deleted.
        if self
            .leaving
            .get(&cluster)
            .is_some_and(|removed| *removed <= writes.at)
        {
            writes.at = self.client.in_turn(0, writes.at, 1);
            return Ok(());
        }
        self.see(writes.at);
        let shown = self.view.clusters[cluster].deployment;
        let is_behind = self.unseen.clusters().any(|other| other == cluster);
        let wanted = self.view.clusters[cluster].wanted;
        // The deployment is labelled with the bundle's content, whether it may have it yet or not.
        let is_labelled = self.labelled[cluster] == Some(wanted);
        if is_labelled && shown.is_some_and(|shown| spec(&shown) == spec(&after)) {
            return Ok(());
        }
        writes.at = self.client.in_turn(0, writes.at, 1);
        if is_behind && shown.is_some() {
            // The deployment has changed since it was read: the pass goes on, and fails at its end.
            writes.request = QueueRequest::Error;
            return Ok(());
        }
        if is_behind {
            // It exists already, and is read.
            writes.at = self.client.in_turn(0, writes.at, 1);
            return self.write_secret(writes, cluster, true);
        }
        let written = writes.at;
        self.labelled[cluster] = Some(wanted);
        self.unseen.write(written, cluster, after);
        let was_paused = shown.is_some_and(|shown| shown.paused);
        if was_paused != after.paused {
            plane.hold(written, ClusterId(cluster as u32), after.paused);
        }
        let is_held = self.was_stopped && shown.is_some() && was_paused != after.paused;
        let is_instruction = is_held || shown.is_none_or(|shown| shown.deployed != after.deployed);
        if let Some(revision) = after.deployed.filter(|_| is_instruction) {
            plane.promote(ClusterId(cluster as u32), revision);
            plane.instruct(written, ClusterId(cluster as u32), revision);
        }
        if shown.is_some() {
            return Ok(());
        }
        writes.created += 1;
        self.runtime.step(
            written + self.watch_delay,
            FleetStep::Created(cluster),
            plane,
        );
        self.write_secret(writes, cluster, true)
    }

    /// Writes the Secret of a deployment, if there are Helm values and the cache does not show it as it should be: with
    /// an owner, once the deployment is there.
    ///
    /// # Errors
    /// When the cache was not up to date, as it must be for a write.
    fn write_secret(
        &mut self,
        writes: &mut PassWrites,
        cluster: usize,
        has_owner: bool,
    ) -> Result<(), RefusedSecret> {
        let begin = writes.at;
        let is_shown = |at: SimTime| at + self.watch_delay <= begin;
        let secret = self.secrets[cluster];
        let is_right = |secret: ValuesSecret| {
            is_shown(secret.created) && (!has_owner || secret.owned.is_some_and(is_shown))
        };
        if !self.has_values || secret.is_some_and(is_right) {
            return Ok(());
        }
        let is_refused =
            secret.is_some_and(|secret| !is_shown(secret.created) || secret.owned.is_some());
        writes.at = self.client.in_turn(0, begin, 1);
        if is_refused {
            return Err(RefusedSecret);
        }
        let created = secret.map_or(writes.at, |secret| secret.created);
        self.secrets[cluster] = Some(ValuesSecret {
            created,
            owned: has_owner.then_some(writes.at),
        });
        self.secrets_behind.insert(cluster);
        Ok(())
    }
}

/// The parts of a deployment that a write of it changes.
fn spec(deployment: &BundleDeployment) -> impl PartialEq {
    (
        deployment.staged,
        deployment.deployed,
        deployment.paused,
        deployment.off_schedule,
    )
}

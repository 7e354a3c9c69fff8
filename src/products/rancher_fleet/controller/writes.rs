//! The requests of a pass of the bundle controller, and their results.
//!
//! Follows `handleMatchedTarget`, `createBundleDeployment`, `manageOptionsSecret` and `ensureOwnerReferences` in
//! `internal/cmd/controller/reconciler/bundle_controller.go` of rancher/fleet. A pass visits its targets in the order
//! of the clusters' names. It decides once at its beginning, and applies the decision to the state that the cache
//! shows at each write.

use std::collections::{BTreeMap, BTreeSet};

use super::{FleetController, FleetStep, ValuesSecret};
use crate::control_plane::Plane;
use crate::rollout::rancher_fleet::{BundleDecision, BundleDeployment};
use crate::rollout::{QueueRequest, back_off};
use crate::units::{SimDuration, SimTime};
use crate::world::TargetId;

/// Number of requests for the finalizer of a new bundle: an update, and an update that meets a conflict. The pass
/// after them waits.
const FINALIZER_REQUESTS: usize = 2;

/// Delay before a pass that ended early is retried. Source: `DefaultRequeueAfter` in `pkg/durations/durations.go`.
const EARLY_END_WAIT: SimDuration = SimDuration::from_secs(5);

/// The API server rejected a write of a Secret, because the cache was out of date.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct RefusedSecret;

/// A cluster whose deployment a pass may need to write.
pub(super) struct Planned {
    cluster: usize,
    /// The deployment as read by the pass, and as the pass wants it.
    before: Option<BundleDeployment>,
    after: Option<BundleDeployment>,
}

/// The writes of a pass so far.
pub(super) struct PassWrites {
    /// The time of the answer to the last request.
    pub(super) at: SimTime,
    /// The number of created deployments.
    pub(super) created: u64,
    /// The request for the next pass.
    pub(super) request: QueueRequest,
}

impl ValuesSecret {
    /// Returns whether the Secret has no owner, or the cache does not show its owner at `now`.
    fn is_behind(&self, now: SimTime, watch_delay: SimDuration) -> bool {
        self.owned.is_none_or(|owned| now < owned + watch_delay)
    }
}

impl FleetController<'_> {
    /// Returns the deployments that a pass may need to write, by the rank of their cluster's name.
    pub(super) fn plan(&mut self, now: SimTime, pass: &BundleDecision) -> BTreeMap<u32, Planned> {
        let mut planned = BTreeMap::new();
        for cluster in self.clusters_to_look_at(now, pass) {
            planned.insert(
                self.ranks[cluster],
                Planned {
                    cluster,
                    before: self.view.clusters[cluster].deployment,
                    after: None,
                },
            );
        }
        self.view.store(pass);
        for (rank, planned) in &mut planned {
            let view = &mut self.view.clusters[planned.cluster];
            let is_attached = view.targeted && view.registered && view.deployment.is_some();
            self.attached.set(*rank, is_attached);
            planned.after = view.deployment;
            // The cache shows a written deployment only later. A deletion is not a write of this pass, so it shows
            // immediately.
            view.deployment = planned.after.and(planned.before);
        }
        planned
    }

    /// Returns the clusters whose deployment or Secret may differ from the decision of a pass that begins at `now`.
    fn clusters_to_look_at(&mut self, now: SimTime, pass: &BundleDecision) -> BTreeSet<usize> {
        self.secrets_behind.retain(|&cluster| {
            self.secrets[cluster].is_some_and(|secret| secret.is_behind(now, self.watch_delay))
        });
        let mut clusters: BTreeSet<usize> = self
            .changed
            .iter()
            .map(|cluster| cluster as usize)
            .collect();
        for cluster in &pass.status.stored {
            clusters.insert(*cluster as usize);
        }
        clusters.extend(self.leaving.keys());
        clusters.extend(self.unseen.clusters());
        clusters.extend(&self.secrets_behind);
        clusters
    }

    /// Sends the requests of a pass that begins at `now`: for each target with a deployment, one for its Secret, plus
    /// one if the deployment changes; finally one for the bundle's status.
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
        if self.has_values {
            let existing = self.attached.len() - self.count_created(planned);
            writes.at = self.client.in_turn(0, writes.at, existing);
        }
        // All clusters want the same revision.
        let newest = self.view.clusters.first().map(|cluster| cluster.wanted);
        if newest > self.stored {
            self.stored = newest;
            writes.at = self.client.in_turn(0, writes.at, 1);
        }
        if self.write_deployments(&mut writes, planned, plane).is_err() {
            writes.request = QueueRequest::After(EARLY_END_WAIT);
            return writes;
        }
        // Deployments of clusters that are no longer targets are deleted last.
        let orphans = planned
            .values()
            .filter(|planned| planned.before.is_some() && planned.after.is_none());
        writes.at = self.client.in_turn(0, writes.at, orphans.count() + 1);
        writes
    }

    /// Returns the number of targets whose deployments the pass creates.
    fn count_created(&self, planned: &BTreeMap<u32, Planned>) -> usize {
        planned
            .iter()
            .filter(|(rank, planned)| self.attached.contains(**rank) && planned.before.is_none())
            .count()
    }

    /// Writes the targets' deployments in name order. Without Helm values, each target with a deployment costs a
    /// request that deletes its Secret, even if the deployment does not change.
    ///
    /// # Errors
    /// Returns an error if a Secret could not be written; the pass ends there.
    fn write_deployments(
        &mut self,
        writes: &mut PassWrites,
        planned: &BTreeMap<u32, Planned>,
        plane: &mut Plane<'_>,
    ) -> Result<(), RefusedSecret> {
        let deletes_per_target = usize::from(!self.has_values);
        let mut passed = 0;
        for (&rank, planned) in planned {
            if !self.attached.contains(rank) {
                continue;
            }
            let up_to = self.attached.count_below(rank + 1);
            let deletes = deletes_per_target * (up_to - passed);
            passed = up_to;
            writes.at = self.client.in_turn(0, writes.at, deletes);
            self.write_deployment(writes, planned, plane)?;
        }
        let deletes = deletes_per_target * (self.attached.len() - passed);
        writes.at = self.client.in_turn(0, writes.at, deletes);
        Ok(())
    }

    /// Writes a target's deployment if the pass changes it.
    ///
    /// # Errors
    /// Returns an error if a Secret could not be written; the pass ends there.
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
        // The cluster's namespace is being deleted.
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
        // The deployment is labelled with the bundle's content, even if it may not have that content yet.
        let is_labelled = self.labelled[cluster] == Some(wanted);
        if is_labelled && shown.is_some_and(|shown| spec(&shown) == spec(&after)) {
            return Ok(());
        }
        writes.at = self.client.in_turn(0, writes.at, 1);
        if is_behind && shown.is_some() {
            // The deployment has changed since it was read. The pass continues, and fails at its end.
            writes.request = QueueRequest::Error;
            return Ok(());
        }
        if is_behind {
            // The deployment already exists, so it is read.
            writes.at = self.client.in_turn(0, writes.at, 1);
            return self.write_secret(writes, cluster, true);
        }
        let written = writes.at;
        self.labelled[cluster] = Some(wanted);
        self.unseen.write(written, cluster, after);
        self.instruct(cluster, shown, after, written, plane);
        if shown.is_some() {
            return Ok(());
        }
        writes.created += 1;
        let seen = written + self.watch_delay;
        self.runtime.step(seen, FleetStep::Created(cluster), plane);
        self.write_secret(writes, cluster, true)
    }

    /// Delivers a deployment written at `at` to the cluster's agent. It replaces the cached deployment.
    fn instruct(
        &self,
        cluster: usize,
        shown: Option<BundleDeployment>,
        written: BundleDeployment,
        at: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let id = TargetId(cluster as u32);
        // An agent does nothing outside its windows, as when it is paused. When a window opens, it processes
        // everything that it has received.
        let was_off = shown.is_some_and(|shown| shown.off_schedule);
        let was_held = was_off || shown.is_some_and(|shown| shown.paused);
        let is_held = written.paused || written.off_schedule;
        let pauses_or_resumes = was_held != is_held;
        if pauses_or_resumes {
            plane.pause(at, id, is_held);
        }
        let opens = was_off && !written.off_schedule;
        let looks_again = opens || self.was_stopped && shown.is_some() && pauses_or_resumes;
        let is_other = shown.is_none_or(|shown| shown.deployed != written.deployed);
        if (looks_again || is_other)
            && let Some(revision) = written.deployed
        {
            plane.promote(id, revision);
            plane.instruct(at, id, revision);
        }
    }

    /// Writes the Secret of a deployment if there are Helm values and the cache does not show its final form, which
    /// has an owner once the deployment exists.
    ///
    /// # Errors
    /// Returns an error if the cache was out of date.
    fn write_secret(
        &mut self,
        writes: &mut PassWrites,
        cluster: usize,
        has_owner: bool,
    ) -> Result<(), RefusedSecret> {
        if !self.has_values {
            return Ok(());
        }
        let begin = writes.at;
        let mut is_refused = false;
        let secret = self.secrets[cluster];
        if let Some(secret) = secret {
            let is_created_shown = secret.created + self.watch_delay <= begin;
            let is_owner_shown = !secret.is_behind(begin, self.watch_delay);
            if is_created_shown && (!has_owner || is_owner_shown) {
                return Ok(());
            }
            is_refused = !is_created_shown || secret.owned.is_some();
        }
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

/// Returns the part of a deployment that a write changes.
fn spec(deployment: &BundleDeployment) -> impl PartialEq {
    (
        deployment.staged,
        deployment.deployed,
        deployment.paused,
        deployment.off_schedule,
    )
}

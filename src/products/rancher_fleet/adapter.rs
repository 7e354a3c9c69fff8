//! What Rancher Fleet's bundle controller sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a target of one bundle. A report of a cluster's agent becomes the status of its
//! `BundleDeployment`, and a changed status starts a pass, as does a created deployment; the promotion itself does not
//! (rancher/fleet at 3b2c622, `reconciler/{bundle_controller,bundledeployment_controller}.go`). A pass first decides on
//! all targets. Then it goes through those that have a deployment, in the order of the clusters' names, with one
//! request after the other: it deletes the Secret with the Helm values, of which there are none, and writes the
//! deployment if it changes. So a pass that changes nothing costs a request for each target. With Helm values, a pass
//! gets the Secret of each target that has a deployment before it decides, and a new deployment takes two more
//! requests: its Secret before, and the Secret's owner after. After a report the product's second controller writes the
//! deployment's display, and this starts one more pass ([`super::display`]). What happens when a cluster leaves is in
//! [`super::membership`].

use super::display::DisplayController;
use super::membership::{Membership, MembershipStep};
use super::status_writes::StatusWrites;
use super::tally::{ClusterTally, is_attached};
use super::{RancherFleetStrategy, clusters};
use crate::products::{Change, Clusters, Controller, Decision, Deploy, Happened, Run, StatusLog};
use crate::rollout::rancher_fleet::{
    BundleDeployment, BundleStatus, BundleView, ClusterView, FleetCluster, RancherFleet, groups_of,
};
use crate::rollout::{Hold, ObjectCondition, Revision, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind, Report};

/// Requests for the finalizer of a new bundle: an update, one that meets a conflict, and its back-off of 5 ms, which is
/// as long as a request.
const FINALIZER_REQUESTS: usize = 3;

/// What bundle and GitRepo are called in the recorded statuses.
const NAME: &str = "app";

/// Rancher Fleet's controller with one bundle.
pub(super) struct BundleController<'s> {
    scheduler: RancherFleet,
    view: BundleView,
    display: DisplayController,
    membership: Membership,
    /// The bundle has Helm values.
    has_values: bool,
    /// About how long a request takes.
    typical_request: SimDuration,
    between_writes: SimDuration,
    fleet: crate::products::Fleet<'s>,
    /// The clusters as the rules see them.
    clusters: Vec<FleetCluster>,
    /// Clusters in the order of their names, and the place of each cluster there.
    by_name: Vec<usize>,
    ranks: Vec<usize>,
    /// Clusters whose view has changed since the last pass.
    changed: TargetSet,
    tally: ClusterTally,
    /// The content that each deployment is labelled with: that of the bundle when it was written last.
    labelled: Vec<Option<Revision>>,
    /// The newest revision whose content is stored in the management cluster.
    stored: Option<Revision>,
    /// Clusters whose resources say that they fail.
    degraded: Vec<bool>,
    /// The bundle's status as the last pass wrote it. `None`: there is no bundle yet.
    status: Option<BundleStatus>,
    status_writes: StatusWrites,
    /// The bundle is new: it has no finalizer yet.
    is_new: bool,
    /// A person has stopped the rollout before: agents that go on look at what they have.
    was_stopped: bool,
    /// Deployments that the pass in progress creates: the number of the request, and the cluster.
    created: Vec<(usize, usize)>,
}

impl<'s> BundleController<'s> {
    pub(super) fn new(strategy: &RancherFleetStrategy, run: Run<'s>) -> Self {
        let fleet = run.fleet;
        let clusters = clusters(fleet);
        let scheduler = RancherFleet::new(strategy.strategy.clone(), strategy.rules, clusters.clone());
        let world = fleet.world;
        let views = world.clusters.iter().enumerate().map(|(index, spec)| {
            let runs = match world.installed(index) {
                Some(old) if spec.registered => ClusterView::settled(old),
                _ => ClusterView::new(OLD),
            };
            ClusterView { wanted: NEW, registered: spec.registered, paused: spec.paused, ..runs }
        });
        let view = BundleView { paused: strategy.paused, clusters: views.collect() };
        let mut by_name: Vec<usize> = (0..clusters.len()).collect();
        by_name.sort_by_key(|&cluster| &clusters[cluster].name);
        let mut ranks = vec![0; clusters.len()];
        by_name.iter().enumerate().for_each(|(rank, &cluster)| ranks[cluster] = rank);
        let (changed, tally) = (TargetSet::all(clusters.len()), ClusterTally::new(clusters.len()));
        let deployments = view.clusters.iter().map(|cluster| cluster.deployment.as_ref());
        let display = DisplayController::new(run.control_loop, run.streams, deployments);
        let membership = Membership::new(run.control_loop, run.streams);
        let labelled = view.clusters.iter().map(|cluster| cluster.deployment.and_then(|it| it.staged)).collect();
        let is_new = world.release == ReleaseKind::Initial;
        Self {
            scheduler,
            view,
            display,
            membership,
            has_values: strategy.has_values,
            typical_request: run.control_loop.request.typical(),
            between_writes: run.control_loop.between_writes,
            fleet,
            clusters,
            by_name,
            ranks,
            changed,
            tally,
            labelled,
            stored: None,
            degraded: vec![false; world.clusters.len()],
            status: (!is_new).then(|| BundleStatus::settled(world.clusters.len() as u32)),
            status_writes: StatusWrites::new(run.control_loop.watch_delay),
            is_new,
            was_stopped: strategy.paused,
            created: Vec::new(),
        }
    }

    /// The requests of a pass that begins at `now`: for each target with a deployment one for its Secret, and one if
    /// the deployment changes; at the end the bundle's status. `stored`: the clusters that storing the pass changed,
    /// with their deployments from before, by index.
    fn request(&mut self, now: SimTime, stored: &[(u32, Option<BundleDeployment>)], decision: &mut Decision) {
        if std::mem::take(&mut self.is_new) {
            decision.requests.in_turn(FINALIZER_REQUESTS);
        }
        let ranks = self.ranks_to_write(stored);
        if self.has_values {
            let created = stored
                .iter()
                .filter(|(cluster, before)| before.is_none() && is_attached(&self.view.clusters[*cluster as usize]));
            decision.requests.in_turn(self.tally.attached.len() - created.count());
        }
        // All clusters want the same revision.
        let newest = self.view.clusters.first().map(|cluster| cluster.wanted);
        if newest > self.stored {
            self.stored = newest;
            decision.requests.in_turn(1);
        }
        let deletes = usize::from(!self.has_values);
        let mut targets = 0;
        for rank in ranks {
            // One for each target so far.
            let up_to = self.tally.attached.below(rank + 1);
            decision.requests.in_turn(deletes * (up_to - std::mem::replace(&mut targets, up_to)));
            self.request_write(now, self.by_name[rank], stored, decision);
        }
        decision.requests.in_turn(deletes * (self.tally.attached.len() - targets));
        // Deployments of clusters that are no longer targets go at last.
        let orphans = stored
            .iter()
            .filter(|(cluster, before)| before.is_some() && self.view.clusters[*cluster as usize].deployment.is_none());
        decision.requests.in_turn(orphans.count());
        decision.requests.in_turn(1);
    }

    /// The ranks of the targets whose deployments may have to be written.
    fn ranks_to_write(&mut self, stored: &[(u32, Option<BundleDeployment>)]) -> Vec<usize> {
        let mut ranks: Vec<usize> = self.changed.iter().map(|cluster| self.ranks[cluster as usize]).collect();
        ranks.extend(stored.iter().map(|(cluster, _)| self.ranks[*cluster as usize]));
        ranks.extend(self.membership.leaving().map(|cluster| self.ranks[cluster]));
        ranks.sort_unstable();
        ranks.dedup();
        for &rank in &ranks {
            self.tally.attached.set(rank, is_attached(&self.view.clusters[self.by_name[rank]]));
        }
        ranks.retain(|&rank| is_attached(&self.view.clusters[self.by_name[rank]]));
        ranks
    }

    /// The request that writes a target's deployment, if it changes.
    fn request_write(
        &mut self,
        now: SimTime,
        cluster: usize,
        stored: &[(u32, Option<BundleDeployment>)],
        decision: &mut Decision,
    ) {
        let view = &self.view.clusters[cluster];
        let Some(after) = view.deployment else { return };
        let place = stored.binary_search_by_key(&(cluster as u32), |(cluster, _)| *cluster);
        let before = place.map_or(Some(after), |place| stored[place].1);
        // With values, the Secret of a new deployment is written before it, and the Secret's owner after it.
        let secrets = usize::from(self.has_values && before.is_none());
        decision.requests.in_turn(secrets);
        if self.membership.is_refused(cluster, now + self.typical_request * decision.requests.len() as u64) {
            decision.requests.in_turn(1);
            return;
        }
        // The deployment is labelled with the bundle's content, whether it may have it yet or not.
        let is_labelled = self.labelled[cluster].replace(view.wanted) == Some(view.wanted);
        if is_labelled && before.is_some_and(|before| spec(&before) == spec(&after)) {
            return;
        }
        decision.requests.in_turn(1);
        decision.requests.pause(self.between_writes);
        let after_requests = decision.requests.len();
        decision.requests.in_turn(secrets);
        let is_held = self.was_stopped && before.is_some_and(|before| before.paused != after.paused);
        match before {
            None => self.created.push((after_requests, cluster)),
            Some(before) if before.deployed == after.deployed && !is_held => return,
            Some(_) => {}
        }
        if let Some(revision) = after.deployed {
            decision.deploys.push(Deploy { cluster: ClusterId(cluster as u32), revision, after_requests });
        }
    }

    /// A step of a cluster that leaves or comes.
    fn membership_step(&mut self, step: MembershipStep, happened: &mut Happened) {
        match step {
            MembershipStep::Removed(cluster) => happened.removals.push(ClusterId(cluster as u32)),
            MembershipStep::Gone(cluster) => {
                let view = &mut self.view.clusters[cluster];
                (view.targeted, view.deployment) = (false, None);
                self.labelled[cluster] = None;
                self.changed.insert(cluster as u32);
                self.display.forgets(cluster);
                happened.changed.push(ClusterId(cluster as u32));
            }
            MembershipStep::Registered(cluster) => {
                self.view.clusters[cluster].registered = self.fleet.world.clusters[cluster].registered;
                self.changed.insert(cluster as u32);
            }
        }
        happened.starts_pass = true;
    }
}

/// What a write of a deployment changes.
fn spec(deployment: &BundleDeployment) -> impl PartialEq {
    (deployment.staged, deployment.deployed, deployment.paused, deployment.off_schedule)
}

impl Controller for BundleController<'_> {
    fn reports_completion(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        let cluster = report.cluster.index();
        // The report of an agent whose deployment was deleted meanwhile.
        let Some(deployment) = self.view.clusters[cluster].deployment.as_mut() else { return false };
        let before = *deployment;
        // An apply has failed, or a running revision has; then the messages of its resources change, too.
        deployment.failed = report.degraded && deployment.deployed != Some(report.applied);
        let is_degraded = report.degraded && !deployment.failed;
        deployment.applied = Some(report.applied);
        deployment.ready = report.ready;
        deployment.non_modified = true;
        let was_degraded = std::mem::replace(&mut self.degraded[cluster], is_degraded);
        let is_changed = *deployment != before || was_degraded != is_degraded;
        if is_changed {
            self.changed.insert(report.cluster.0);
            self.display.sees(cluster, deployment, now);
        }
        is_changed
    }

    fn change(&mut self, change: &Change, now: SimTime) -> Option<bool> {
        match change {
            Change::Release(revision) => {
                self.view.clusters.iter_mut().for_each(|cluster| cluster.wanted = *revision);
                self.changed.insert_all();
            }
            Change::Stop(is_stopped) => (self.view.paused, self.was_stopped) = (*is_stopped, true),
            Change::Labels(cluster, labels) => {
                let groups = groups_of(labels, self.fleet.groups).ok()?;
                let cluster = &mut self.clusters[cluster.index()];
                (cluster.labels, cluster.groups) = (labels.clone().into(), groups);
                self.scheduler.set_clusters(self.clusters.clone());
            }
            Change::Selected(cluster, false) => self.membership.leaves(cluster.index(), now),
            Change::Selected(cluster, true) => {
                let view = &mut self.view.clusters[cluster.index()];
                (view.targeted, view.registered) = (true, false);
                self.changed.insert(cluster.0);
                self.membership.joins(cluster.index(), now);
            }
            Change::Approve { .. } => return None,
        }
        Some(true)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        self.status_writes.begins(now);
        let pass = self.scheduler.reconcile_changed(now, &self.view, &self.changed);
        self.tally.update(&self.view, self.changed.iter());
        // The bundle's status is Ready when the pass counts all targets as ready.
        let complete = self.tally.is_complete();
        let mut decision =
            Decision { unavailable: self.tally.unavailable, wake_at: pass.wake_at, complete, ..Decision::default() };
        let changes = self.scheduler.stored_by(&pass);
        let stored: Vec<(u32, Option<BundleDeployment>)> =
            changes.iter().map(|&cluster| (cluster, self.view.clusters[cluster as usize].deployment)).collect();
        self.view.store_to(&pass, changes.iter().copied());
        self.request(now, &stored, &mut decision);
        self.changed.clear();
        changes.into_iter().for_each(|cluster| _ = self.changed.insert(cluster));
        decision.created = self.created.len();
        self.status = Some(pass.status);
        decision
    }

    fn answered(&mut self, answers: &[SimTime]) {
        self.status_writes.ends(*answers.last().expect("a pass writes its status"));
        for (number, cluster) in self.created.drain(..) {
            self.display.created(cluster, answers[number - 1]);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.display.next().into_iter().chain(self.membership.next()).min()
    }

    /// A created deployment, and the patch of a deployment's display, start a pass.
    fn advance(&mut self, now: SimTime, _clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened::default();
        while let Some(step) = self.membership.take(now) {
            self.membership_step(step, &mut happened);
        }
        while let Some(created) = self.display.take(now) {
            happened.starts_pass = true;
            if let Some(cluster) = created
                && let Some(deployment) = &self.view.clusters[cluster].deployment
            {
                self.display.sees(cluster, deployment, now);
            }
        }
        happened
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let view = &self.view.clusters[cluster.index()];
        !view.targeted || view.is_done()
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn show(&mut self, log: &mut StatusLog) {
        let Some(status) = &self.status else { return };
        let bundle = self.status_writes.show(self.scheduler.bundle_conditions(NAME, status));
        log.show(bundle.iter().cloned());
        let mut git_repo = self.scheduler.git_repo_conditions(NAME, status, &self.view);
        // It copies the bundle's Ready condition, which comes first.
        if let [ready, ..] = &mut git_repo[..] {
            *ready = ObjectCondition { object: std::mem::take(&mut ready.object), ..bundle[0].clone() };
        }
        log.show(git_repo);
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.view.clusters.len()];
        for partition in self.scheduler.partitions() {
            for &member in &partition.members {
                let stage = &mut stages[member as usize];
                if !stage.is_empty() {
                    stage.push_str("; ");
                }
                stage.push_str(&partition.name);
            }
        }
        stages
    }
}

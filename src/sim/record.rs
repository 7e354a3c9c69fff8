//! Converts a finished run to its record: the rows for results, charts and reports.
//!
//! Times are in seconds. Times for the run count from the release; times for clusters count from the start of the run.

use itertools::izip;

use super::Sim;
use super::activity::{ControlActivity, merged};
use super::applications::TargetPulls;
use super::path::{PathEnds, PeoplesWaits, RolloutPath, TargetFacts};
use super::reach::{Obstacle, Reach};
use super::rollout::RunningRollout;
use crate::control_plane::{Change, RolloutObject};
use crate::results::{
    ClusterRow, LinkKind, PassRow, RegistryRow, RunOutcome, RunRecord, RunRow, SeriesRow,
    WorkloadRow, update_quantiles,
};
use crate::rollout::Hold;
use crate::scenario::Variant;
use crate::units::{BytesPerSec, SimDuration, SimTime, stats};
use crate::world::{
    ApplicationId, Bin, ClusterFacts, DeploymentPhase, DistributionKind, LinkLoad, LinkOwner,
    PullError, SiteFacts, TargetId, Totals, WorldSpec,
};

/// The end of a run.
pub(super) struct RunEnd {
    pub(super) at: SimTime,
    pub(super) outcome: RunOutcome,
    /// Number of events handled until the end.
    pub(super) events: u64,
}

/// A finished run, with the parts of its record that [`RunRow`] summarises.
struct EndedRun<'r> {
    variant: &'r Variant,
    replicate: u32,
    end: &'r RunEnd,
    totals: Totals,
    milestones: Milestones,
    clusters: &'r [ClusterRow],
    passes: &'r [PassRow],
    /// The cost by the experiment's prices. `None`: there are none.
    cost: Option<f64>,
}

/// The reference times in a rollout.
struct Milestones {
    released: SimTime,
    reach: Reach,
    /// The time at which all reachable targets were first ready. `None`: this never happened.
    all_ready: Option<SimTime>,
    /// The critical path from the release to `all_ready`.
    path: Option<RolloutPath>,
}

impl Milestones {
    fn since_release(&self, at: SimTime) -> f64 {
        (at - self.released).as_secs_f64()
    }

    /// Returns the duration of one part of the critical path in seconds.
    fn on_path(&self, part: fn(&RolloutPath) -> SimDuration) -> Option<f64> {
        let path = self.path.as_ref()?;
        Some(part(path).as_secs_f64())
    }
}

/// Counts of the clusters of a run, by property.
#[derive(Default)]
struct ClusterCounts {
    offline_at_start: u64,
    defective: u64,
}

impl ClusterCounts {
    fn of(clusters: &[ClusterRow]) -> Self {
        let mut counts = Self::default();
        for row in clusters {
            counts.offline_at_start += u64::from(row.offline);
            counts.defective += u64::from(row.defective);
        }
        counts
    }
}

/// Totals over all passes of a run.
#[derive(Default)]
struct PassCounts {
    passes: u64,
    promotions: u64,
    peak_promotions: u64,
}

impl PassCounts {
    fn of(passes: &[PassRow]) -> Self {
        let mut counts = Self::default();
        for row in passes {
            counts.passes += row.passes;
            counts.promotions += row.promoted;
            counts.peak_promotions = counts.peak_promotions.max(row.promoted);
        }
        counts
    }
}

impl Sim<'_> {
    /// Returns the record of this run after its end.
    pub(super) fn record(&mut self, variant: &Variant, replicate: u32, end: &RunEnd) -> RunRecord {
        let totals = self.world.finish(end.at);
        self.world.assert_bytes_are_conserved();
        self.world.assert_littles_law();
        self.world.assert_pods_fit();
        let activity = self.take_activity();
        let clusters = self.cluster_rows();
        let milestones = self.milestones(end.at, &activity);
        let passes = merged(activity);
        let workloads = self.workload_rows(&milestones);
        let reach = milestones.reach.clone();
        let mut registries = self.registry_rows(end.at - SimTime::ZERO);
        let cost = self.charge(&mut registries, end.at - SimTime::ZERO);
        let run = self.run_row(&EndedRun {
            variant,
            replicate,
            end,
            totals,
            milestones,
            clusters: &clusters,
            passes: &passes,
            cost,
        });
        let (bin, bins) = self.world.meter().series();
        let bin_s = bin.as_secs_f64();
        let applications = self.application_rows(&reach);
        RunRecord {
            run,
            registries,
            workloads,
            series: series_rows(bin_s, &bins),
            bin_s,
            application_series: self.application_series(&applications),
            applications,
            releases: self.release_rows(),
            clusters,
            passes,
            statuses: Vec::new(),
        }
    }

    fn milestones(&self, end: SimTime, activity: &[ControlActivity]) -> Milestones {
        let released = self.released.unwrap_or(end);
        let reach = self.reach();
        let all_ready = reach.all_ready(&self.progress);
        let path = all_ready.map(|end| self.critical_path(PathEnds { released, end }, activity));
        Milestones {
            released,
            reach,
            all_ready,
            path,
        }
    }

    /// Returns the critical path from the first release to the time at which all reachable targets were ready. It goes
    /// through the targets of the application that was ready last; the time until its release belongs to the rule, and
    /// that from its first to its latest release to people.
    fn critical_path(&self, ends: PathEnds, activity: &[ControlActivity]) -> RolloutPath {
        let at = self.ready_last(ends.end).index();
        let rollout = &self.rollouts[at];
        let released = rollout.released.unwrap_or(ends.released);
        let ControlActivity { passes, waits } = &activity[at];
        let mut waits = waits.clone();
        self.add_waits_for_changes(at, released, &mut waits);
        let latest = rollout.releases.latest_of_several().unwrap_or(released);
        let own = PathEnds {
            released: latest,
            end: ends.end,
        };
        let facts = self.facts_of(rollout);
        let mut path = RolloutPath::of(own, &rollout.progress, &facts, passes, &waits);
        path.rule += released.saturating_since(ends.released);
        path.people += latest.saturating_since(released);
        path
    }

    /// Returns the application that was ready last on its latest release, until `end`. Targets that were done on an
    /// earlier release do not count: none of the application's targets may be able to get ready on the latest one.
    fn ready_last(&self, end: SimTime) -> ApplicationId {
        let mut before = usize::MAX;
        while let Some(done) = self.progress.done_until(end, before) {
            let application = self.application_of(done.target);
            let releases = &self.rollouts[application.index()].releases;
            if releases.latest().is_none_or(|latest| latest <= done.at) {
                return application;
            }
            before = done.number;
        }
        ApplicationId::default()
    }

    /// Returns the facts about the targets of one application.
    fn facts_of(&self, rollout: &RunningRollout<'_>) -> Vec<TargetFacts> {
        let clusters: Vec<&ClusterFacts> = self.world.cluster_facts().collect();
        let targets = rollout.progress.targets() as usize;
        let deployments = self.world.deployment_facts().skip(rollout.first as usize);
        let mut facts = Vec::with_capacity(targets);
        for (own, deployment) in deployments.take(targets).enumerate() {
            let target = rollout.in_world(TargetId::at(own));
            let cluster = self.world.cluster_of_target(target);
            facts.push(TargetFacts {
                deployment: *deployment,
                cluster: *clusters[cluster.index()],
            });
        }
        facts
    }

    /// Adds the waits that people's changes cause in an application, which was released at this time.
    fn add_waits_for_changes(&self, at: usize, released: SimTime, waits: &mut PeoplesWaits) {
        let mut stopped = released;
        for (after, change) in &self.scenario.applications[at].changes {
            let at = released + *after;
            match change {
                Change::Stop(true) => stopped = at,
                Change::Stop(false) => waits.pauses.push((stopped, at)),
                Change::Approve { .. } => waits.approvals.push(at),
                Change::Release(_)
                | Change::Labels(..)
                | Change::Selected(..)
                | Change::Edited(_)
                | Change::Deleted(_) => {}
            }
        }
    }

    fn run_row(&self, ended: &EndedRun<'_>) -> RunRow {
        let EndedRun {
            variant,
            end,
            totals,
            milestones,
            ..
        } = ended;
        let hold = match end.outcome {
            RunOutcome::Complete => Hold::new("", ""),
            RunOutcome::Stalled | RunOutcome::Horizon => self.hold(),
        };
        let time_to_share = |share| Some(milestones.since_release(self.progress.reached(share)?));
        let [update_p50_s, update_p95_s, update_max_s] =
            update_quantiles(ended.clusters, [0.5, 0.95, 1.0]);
        let [pull_p50_s, pull_p95_s, pull_p99_s] = self.pull_quantiles([0.5, 0.95, 0.99]);
        let clusters = ClusterCounts::of(ended.clusters);
        let passes = PassCounts::of(ended.passes);
        let meter = self.world.meter();
        RunRow {
            variant: variant.label.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            replicate: ended.replicate,
            outcome: end.outcome,
            held_by: hold.rule.into_owned(),
            held_detail: hold.explanation,
            currency: self.currency(),
            release_s: milestones.released.as_secs_f64(),
            completion_s: time_to_share(1.0),
            reachable_ready_s: milestones.all_ready.map(|at| milestones.since_release(at)),
            reported_s: self.reported_s(),
            path_rule_s: milestones.on_path(|path| path.rule),
            path_people_s: milestones.on_path(|path| path.people),
            path_transfer_s: milestones.on_path(|path| path.transfer),
            path_unpack_s: milestones.on_path(|path| path.unpack),
            path_throttled_s: milestones.on_path(|path| path.throttled),
            path_unavailable_s: milestones.on_path(|path| path.unavailable),
            path_kubelet_s: milestones.on_path(|path| path.kubelet),
            path_start_s: milestones.on_path(|path| path.start),
            path_offline_s: milestones.on_path(|path| path.offline),
            path_report_s: milestones.on_path(|path| path.report),
            t50_s: time_to_share(0.5),
            t90_s: time_to_share(0.9),
            t99_s: time_to_share(0.99),
            update_p50_s,
            update_p95_s,
            update_max_s,
            pull_p50_s,
            pull_p95_s,
            pull_p99_s,
            end_s: end.at.as_secs_f64(),
            targets: self.progress.targets(),
            targets_done: self.progress.done(),
            left_behind: self.left_behind(),
            reachable_targets: milestones.reach.reachable(),
            paused_targets: milestones.reach.count(Obstacle::Paused),
            agentless_targets: milestones.reach.count(Obstacle::NoAgent),
            offline_targets: milestones.reach.count(Obstacle::Offline),
            offline_at_start: clusters.offline_at_start,
            defective_targets: clusters.defective,
            peak_not_ready: meter.peak_not_ready(),
            not_ready_cluster_hours: meter.not_ready_hours(),
            exposed_targets: self.exposed_targets(),
            passes: passes.passes,
            promotions: passes.promotions,
            peak_promotions_per_pass: passes.peak_promotions,
            events: end.events,
            peak_instances: self.peak_instances(),
            removed_targets: self.removed_targets(),
            releases: self.scenario.has_later_releases().then(|| self.releases()),
            reactions: self.scenario.has_later_releases().then(|| self.reactions()),
            exposed_target_hours: self
                .scenario
                .has_later_releases()
                .then(|| self.exposed_target_hours()),
            cost: ended.cost,
            ..self.traffic(totals, end.at)
        }
    }

    /// Returns a row with only the measures of pulls, of what registries send, and of the nodes' disks. `end`: the end
    /// of the run.
    fn traffic(&self, totals: &Totals, end: SimTime) -> RunRow {
        let meter = self.world.meter();
        let (egress_peak_1s, egress_peak_60s) = meter.egress_peaks();
        let with_others = meter.totals_with_others();
        let failed_pulls = totals.failed_pulls;
        RunRow {
            peak_pulls: meter.pulls.peak(),
            peak_downloads: meter.downloads.peak(),
            peak_registry_downloads: meter.registry_downloads.peak(),
            peak_pulling_clusters: meter.pulling_clusters.peak(),
            egress_bytes: totals.sent.get(),
            received_bytes: totals.received.get(),
            lost_bytes: totals.lost.get(),
            upstream_bytes: totals.upstream.get(),
            cache_bytes: totals.from_caches.get(),
            peer_bytes: totals.from_peers.get(),
            egress_peak_1s_bytes_per_s: egress_peak_1s,
            egress_peak_60s_bytes_per_s: egress_peak_60s,
            total_egress_peak_1s_bytes_per_s: with_others.peak_second,
            total_egress_peak_60s_bytes_per_s: with_others.peak_minute,
            other_egress_bytes: with_others.other_bytes,
            egress_p95_over_time_bytes_per_s: meter.exceeded_in(0.05),
            egress_p99_over_time_bytes_per_s: meter.exceeded_in(0.01),
            egress_busy_share: self.world.busy_share(end - SimTime::ZERO),
            egress_busy_s: meter.busy().as_secs_f64(),
            egress_busiest_hour_share: meter.busiest_hour_share(),
            requests: totals.requests,
            responses_429: totals.responses_429,
            responses_503: totals.responses_503,
            request_timeouts: totals.timeouts,
            pulls: totals.pulls,
            failed_pulls: failed_pulls.iter().sum(),
            failed_pulls_kubelet_rate: failed_pulls[PullError::KubeletRate as usize],
            failed_pulls_429: failed_pulls[PullError::TooManyRequests as usize],
            failed_pulls_503: failed_pulls[PullError::Unavailable as usize],
            failed_pulls_unreachable: failed_pulls[PullError::Unreachable as usize],
            failed_pulls_no_progress: failed_pulls[PullError::NoProgress as usize],
            backoffs: totals.backoffs,
            crashes: totals.crashes,
            joined_nodes: self.scales().then_some(totals.joined_nodes),
            peak_waiting_pods: (self.scales() || self.has_disk_size())
                .then(|| meter.unbound_pods.peak()),
            failed_pulls_no_space: self
                .has_disk_size()
                .then(|| failed_pulls[PullError::NoSpace as usize]),
            removed_images: self.has_disk_size().then_some(totals.removed_images),
            disk_pressures: self.has_disk_size().then_some(totals.disk_pressures),
            ..RunRow::default()
        }
    }

    /// Returns the number of targets that are not ready on a released revision: those that are not done, and all of an
    /// application that goes back to the installed revision.
    fn left_behind(&self) -> u64 {
        self.rollouts.iter().map(RunningRollout::left_behind).sum()
    }

    /// Returns the number of targets that were instructed to run a defective revision.
    fn exposed_targets(&self) -> u64 {
        let mut exposed = 0;
        for facts in self.world.deployment_facts() {
            exposed += u64::from(facts.exposed);
        }
        exposed
    }

    /// Whether nodes may join a cluster.
    fn scales(&self) -> bool {
        let clusters = &self.scenario.world.clusters;
        clusters.iter().any(|cluster| cluster.autoscaling.is_some())
    }

    /// Whether disks have a size.
    fn has_disk_size(&self) -> bool {
        let disk = &self.scenario.world.node.disk;
        disk.as_ref().is_some_and(|disk| disk.size.is_some())
    }

    /// Returns the maximum number of concurrent instances of all versions. `None`: instances are not counted, as with
    /// several applications, whose maxima need not be simultaneous.
    fn peak_instances(&self) -> Option<u64> {
        match self.rollouts.as_slice() {
            [only] => only.control.controller.peak_instances(),
            _ => None,
        }
    }

    /// How many targets lost their workloads. `None`: people delete nothing that could take them away.
    fn removed_targets(&self) -> Option<u64> {
        let mut may_remove = false;
        for application in &self.scenario.applications {
            for (_, change) in &application.changes {
                may_remove |= removes_workloads(change);
            }
        }
        let mut removed = 0;
        for facts in self.world.deployment_facts() {
            removed += u64::from(facts.removed.is_some());
        }
        may_remove.then_some(removed)
    }

    /// Quantiles of the times of successful pulls, from the kubelet's request until the image is unpacked. `None`: no
    /// pull was successful.
    fn pull_quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let mut times: Vec<f64> = Vec::new();
        for pull in self.world.pulls() {
            if let (Some(ended), None) = (pull.ended, pull.error) {
                times.push((ended - pull.asked).as_secs_f64());
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        shares.map(|share| stats::quantile_of_sorted(&times, share))
    }

    fn registry_rows(&self, span: SimDuration) -> Vec<RegistryRow> {
        let world = &self.scenario.world;
        let mut names = vec!["registry"];
        for registry in &world.registries {
            names.push(&registry.name);
        }
        let mut rows = Vec::new();
        let registries = izip!(names, world.all_registries(), self.world.registry_totals());
        for (name, spec, totals) in registries {
            let capacity = spec.egress.get();
            rows.push(RegistryRow {
                registry: name.to_owned(),
                kind: LinkKind::Registry,
                in_bytes: None,
                egress_bytes: totals.sent.get(),
                capacity_bytes_per_s: capacity.is_finite().then_some(capacity),
                egress_peak_1s_bytes_per_s: Some(totals.egress_peak),
                egress_busy_share: Some(share_of(totals.busy, span)),
                requests: Some(totals.requests),
                responses_429: Some(totals.responses_429),
                responses_503: Some(totals.responses_503),
                busiest_blob_bytes: totals.busiest_blob.map(|load| load.bytes.get()),
                busiest_blob_share: totals.busiest_blob.map(|load| share_of(load.busy, span)),
                clients: totals.refusals.map(|refusals| refusals.clients),
                refused_clients: totals.refusals.map(|refusals| refusals.refused_clients),
                most_refused_requests: totals.refusals.map(|refusals| refusals.most_of_one),
                ..RegistryRow::default()
            });
        }
        for load in self.world.link_loads() {
            rows.push(link_row(world, &load, span));
        }
        rows
    }

    /// Returns the time at which each workload was ready on all reachable targets. Empty for a single workload, and for
    /// several applications.
    fn workload_rows(&self, milestones: &Milestones) -> Vec<WorkloadRow> {
        let workloads = &self.scenario.world.applications[0].workloads;
        if workloads.len() < 2 || self.scenario.has_several_applications() {
            return Vec::new();
        }
        let mut reachable = Vec::new();
        for at in 0..self.world.targets() {
            let target = TargetId::at(at);
            let is_own = self.world.application_of_target(target) == 0;
            if is_own && milestones.reach.is_reachable(target) {
                reachable.push(target);
            }
        }
        let mut rows = Vec::new();
        for (spec, ready) in workloads
            .iter()
            .zip(self.world.workloads_ready(0, &reachable))
        {
            let ready = ready.filter(|_| !reachable.is_empty());
            rows.push(WorkloadRow {
                workload: spec.name.clone(),
                ready_s: ready.map(|at| at.saturating_since(milestones.released).as_secs_f64()),
            });
        }
        rows
    }

    fn cluster_rows(&self) -> Vec<ClusterRow> {
        let world = &self.scenario.world;
        let mut stages = Vec::with_capacity(self.world.targets());
        for rollout in &self.rollouts {
            stages.extend(rollout.control.controller.stages());
        }
        let sites: Vec<SiteFacts> = self.world.site_facts().collect();
        let clusters: Vec<&ClusterFacts> = self.world.cluster_facts().collect();
        let of_targets = self.pulls_of_targets();
        let mut rows = Vec::with_capacity(self.world.targets());
        for (at, (facts, stage)) in self.world.deployment_facts().zip(stages).enumerate() {
            let cluster = self.world.cluster_of_target(TargetId::at(at)).index();
            let spec = &world.clusters[cluster];
            let site = sites[cluster];
            let of_cluster = clusters[cluster];
            let pulls = match of_targets.get(at) {
                Some(pulls) => *pulls,
                None => TargetPulls::of_cluster(of_cluster),
            };
            let region = spec.region.map(|at| world.regions[at].name.clone());
            rows.push(ClusterRow {
                application: self.name_of_application(TargetId::at(at)),
                cluster: spec.name.clone(),
                stage,
                group: spec.group.clone(),
                region: region.unwrap_or_default(),
                nodes: site.nodes,
                downlink_bytes_per_s: site.downlink.get(),
                rtt_s: site.rtt.as_secs_f64(),
                offline: of_cluster.offline,
                defective: facts.defective,
                instructed_s: facts.instructed.map(SimTime::as_secs_f64),
                applied_s: facts.applied.map(SimTime::as_secs_f64),
                first_pull_s: pulls.first.map(SimTime::as_secs_f64),
                last_pull_s: pulls.last.map(SimTime::as_secs_f64),
                ready_s: facts.ready.map(SimTime::as_secs_f64),
                pulls: facts.pulls,
                failed_pulls: facts.failed_pulls,
                received_bytes: pulls.received,
            });
        }
        rows
    }
}

/// Whether a person's change can take workloads out of clusters.
const fn removes_workloads(change: &Change) -> bool {
    matches!(
        change,
        Change::Deleted(RolloutObject::Placement | RolloutObject::ApplicationSet)
    )
}

/// Returns `part` as a share of `span`; 0 if the span is empty.
fn share_of(part: SimDuration, span: SimDuration) -> f64 {
    if span.is_zero() {
        0.0
    } else {
        part.as_secs_f64() / span.as_secs_f64()
    }
}

/// Returns the rate at which each cache can fetch. `None`: there is no limit.
fn fetch_limit(world: &WorldSpec) -> Option<f64> {
    match &world.distribution.kind {
        DistributionKind::Cache(cache) => Some(cache.pull_bandwidth?.get()),
        _ => None,
    }
}

/// Returns the load of a link that does not belong to a registry, as a row.
fn link_row(world: &WorldSpec, load: &LinkLoad, span: SimDuration) -> RegistryRow {
    let (kind, name) = match load.owner {
        LinkOwner::Region(at) => (LinkKind::Region, world.regions[at].name.as_str()),
        LinkOwner::Mirror(at) => (
            LinkKind::Mirror,
            world.distribution.mirrors[at].name.as_str(),
        ),
        LinkOwner::RegionalCache(at) => (LinkKind::Cache, world.regions[at].name.as_str()),
        LinkOwner::ClusterCaches => (LinkKind::Cache, "caches"),
        LinkOwner::Cells => (LinkKind::Cache, "cells"),
        LinkOwner::Peers => (LinkKind::Peers, "peers"),
    };
    RegistryRow {
        registry: name.to_owned(),
        kind,
        in_bytes: (kind != LinkKind::Mirror).then_some(load.received.get()),
        egress_bytes: load.sent.get(),
        capacity_bytes_per_s: load.capacity.map(BytesPerSec::get),
        egress_peak_1s_bytes_per_s: load.peak,
        egress_busy_share: load.busy.map(|busy| share_of(busy, span)),
        in_capacity_bytes_per_s: load.fetches.and(fetch_limit(world)),
        in_busy_share: load.fetches.map(|load| share_of(load.busy, span)),
        ..RegistryRow::default()
    }
}

/// Converts the meters' series to rows. `bin_s` is the length of a bin.
fn series_rows(bin_s: f64, bins: &[Bin]) -> Vec<SeriesRow> {
    let mut rows = Vec::with_capacity(bins.len());
    for (at, bin) in bins.iter().enumerate() {
        rows.push(SeriesRow {
            t_s: at as f64 * bin_s,
            pulls: bin.pulls,
            downloads: bin.downloads,
            egress_bytes_per_s: bin.egress_bytes / bin_s,
            egress_peak_1s_bytes_per_s: bin.egress_peak_second_bytes,
            ready_new: bin.phases[DeploymentPhase::Ready as usize],
            updating: bin.phases[DeploymentPhase::Updating as usize],
            not_ready: bin.phases[DeploymentPhase::NotReady as usize],
            waiting: bin.phases[DeploymentPhase::Waiting as usize],
        });
    }
    rows
}

//! Argo CD's application controller: comparisons, and operations with their attempts.
//!
//! After argoproj/argo-cd (`controller/{appcontroller,state,sync,health}.go`,
//! `gitops-engine/pkg/{health,sync,cache}`), as far as it matters to a rollout. Read in versions of v2.13 to v3
//! (`health.go` at 00e5285f), not at the commit that the scheduler follows; that an attempt which cannot connect
//! counts as Failed and not as Error, and that automatic sync repeats nothing, is by their log messages and not by a
//! run.
//!
//! - An application is compared when it was created, when its spec changed, when its operation ended or is tried again,
//!   when its cluster reports something new, and when it is refreshed ([`super::refresh`]). Comparisons share
//!   `--status-processors`.
//! - Synced: the cluster has applied what the source says. Healthy: all of it is ready. Degraded: a Deployment has
//!   exceeded its progress deadline. Progressing: not ready yet. Missing: nothing was ever applied. Pods that crash or
//!   cannot pull change none of this: health is that of the resources in the source, and pods are not among them.
//! - A requested operation waits for one of the `--operation-processors`; then it is Running, and begins. An attempt
//!   makes its API requests through the limited client of its process ([`super::shard`]), and applies. It keeps its
//!   processor until the cluster reports the revision as applied, which is Succeeded, whatever the pods do. An attempt
//!   that finds everything applied makes the same requests, and is over soon.
//! - An attempt on a cluster that is offline keeps its processor until the connection times out. Then the operation
//!   waits for the next attempt (5 s, 10 s, 20 s, … up to 3 min, or as the template's `retry.backoff` says), Running
//!   all the while and without a processor, and with its first `startedAt`. After the last attempt that the template's
//!   `retry.limit` allows (5 repeated ones without it) it is Failed. Nothing starts it again: not the cluster's return,
//!   and not automatic sync, which never repeats a finished operation of the same revision.
//! - An operation applies, in all its attempts, what the source resolved to when it began. A newer spec does not change
//!   it, and is for the next operation.
//! - An application that may sync by itself and is found OutOfSync begins an operation.
//! - Each write of an Application takes a request, and the ApplicationSet controller sees it a watch delay later. A
//!   comparison of a new spec asks for its manifests first, which is another request.
//!
//! What is known of an offline cluster stays as it was: the cache of a cluster is renewed every 12 h and used until
//! then (`controller/cache/cache.go`), and clusters count as gone for less. When one returns, its watch finds nothing
//! new. Left out therefore: ComparisonError and sync status Unknown of clusters that are gone for longer. Also left
//! out: several applications in one cluster; hooks and waves, which keep an operation Running between their phases; a
//! cluster lost in the middle of an attempt; requests of comparisons, which are counted with the syncs; the split of
//! comparisons into those that resolve the revision anew and those that do not.

mod moment;

use std::collections::BTreeMap;

use super::ArgoCdRelease;
use super::settings::ApplicationControllerSettings;
use super::shard::Shard;
use crate::engine::Stream;
use crate::products::Run;
use crate::rollout::Revision;
use crate::rollout::argo_cd::{Health, Operation, OperationState, SyncStatus};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, DurationModel, OLD, Report};
pub(super) use moment::Moment;

/// What the application controller knows of a cluster and does with its application.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The process that the cluster is assigned to.
    shard: usize,
    applied: Option<Revision>,
    ready: bool,
    degraded: bool,
    /// A comparison is waited for, or runs.
    comparison_due: bool,
    /// What occupies a processor.
    attempt: Option<Attempt>,
    /// Attempts of the running operation that failed.
    failed: u32,
    /// What the last finished operation was to apply.
    attempted: Option<Revision>,
    /// The operation that is requested or running, and its state.
    operation: Option<Operation>,
    state: Option<OperationState>,
    /// The revision that the operation applies: that of the source when it began.
    applies: Option<Revision>,
    /// The revision of the spec, and another one that is written at some time.
    spec: Option<Revision>,
    rewritten: Option<(SimTime, Revision)>,
}

impl Place {
    /// The revision that the spec names.
    fn spec(&mut self, now: SimTime) -> Revision {
        if let Some((_, revision)) = self.rewritten.take_if(|(at, _)| *at <= now) {
            self.spec = Some(revision);
        }
        self.spec.expect("what is resolved has a spec")
    }
}

/// A write of the application controller into an Application's status.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// The state of an operation, and whether it is over.
    Operation(OperationState, bool),
    /// What a comparison has found, and the operation that the application begins by itself.
    Comparison { at: SimTime, sync: SyncStatus, health: Health, revision: Revision, begun: Option<Operation> },
}

/// An attempt of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Attempt {
    /// Its requests are under way, or it waits to apply.
    Requesting,
    /// The cluster applies.
    Applying,
    /// There is nothing to apply.
    Idle,
    /// The cluster does not answer.
    Failing,
}

/// What the controller does at some time.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The object was created, or its spec was written.
    Written(usize),
    /// An operation is requested.
    Requested(usize),
    /// An operation is written as Running, and begins.
    Begins(usize),
    /// The ApplicationSet controller sees what was written.
    Shown(usize, Shown),
    /// It sees what it has written itself.
    SetSeen,
    /// The requests of an attempt are through.
    RequestsMade(usize),
    /// An attempt ends that is not ended by a report.
    AttemptEnds(usize),
    /// A failed operation is to be tried again.
    Again(usize),
    /// A comparison ends.
    Compared(usize),
    /// A comparison that nothing but time asks for.
    Refresh(usize),
}

impl Due {
    /// The application that it is about.
    fn application(&self) -> Option<usize> {
        match *self {
            Self::SetSeen => None,
            Self::Written(application)
            | Self::Requested(application)
            | Self::Begins(application)
            | Self::Shown(application, _)
            | Self::RequestsMade(application)
            | Self::AttemptEnds(application)
            | Self::Again(application)
            | Self::Compared(application)
            | Self::Refresh(application) => Some(application),
        }
    }
}

/// The application controller with the applications of one set.
pub(super) struct ApplicationController {
    release: ArgoCdRelease,
    settings: ApplicationControllerSettings,
    places: Vec<Place>,
    shards: Vec<Shard>,
    /// Reports that were received and are not worked on yet.
    inbox: Vec<Report>,
    /// By time, and in the order of scheduling.
    agenda: BTreeMap<(SimTime, u64), Due>,
    scheduled: u64,
    /// One request to the API server, and the delay until the ApplicationSet controller sees a write.
    request: DurationModel,
    draws: Stream,
    watch_delay: SimDuration,
    /// When another sync status or health was last shown.
    shown_at: Option<SimTime>,
}

impl ApplicationController {
    /// A controller that has seen each cluster run what is given, ready, in the shard that is given.
    pub(super) fn new(
        release: ArgoCdRelease,
        settings: ApplicationControllerSettings,
        run: &Run<'_>,
        clusters: impl IntoIterator<Item = (usize, Option<Revision>)>,
    ) -> Self {
        let place = |(shard, applied): (usize, Option<Revision>)| Place {
            shard,
            applied,
            ready: applied.is_some(),
            // The parameters of the settled application.
            spec: applied.map(|_| OLD),
            ..Place::default()
        };
        Self {
            release,
            settings,
            places: clusters.into_iter().map(place).collect(),
            shards: vec![Shard::new(settings); settings.shards as usize],
            inbox: Vec::new(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            request: run.control_loop.request.clone(),
            draws: run.streams.stream("argocd-application-controller", "API requests"),
            watch_delay: run.control_loop.watch_delay,
            shown_at: None,
        }
    }

    /// Whether a release is another spec of the applications.
    pub(super) fn follows_specs(&self) -> bool {
        self.release == ArgoCdRelease::TargetRevision
    }

    /// Whether a release changes the specs of the applications.
    pub(super) fn is_by_parameters(&self) -> bool {
        matches!(self.release, ArgoCdRelease::TargetRevision | ArgoCdRelease::Parameters)
    }

    /// The object of an application is deleted, and its cluster keeps what it has. What is due for it comes to nothing.
    pub(super) fn deleted(&mut self, application: usize) {
        let place = &mut self.places[application];
        (place.operation, place.state, place.attempted, place.failed) = (None, None, None, 0);
        place.comparison_due = false;
        let attempt = place.attempt.take();
        let is_of = |due: &Due| due.application() == Some(application);
        self.agenda.retain(|_, due| !is_of(due));
        let shard = self.shard(application);
        shard.waiting.retain(|waiting| *waiting != application);
        if attempt.is_some() {
            shard.attempt_ends();
        }
    }

    /// When another sync status or health was last shown.
    pub(super) fn shown_at(&self) -> Option<SimTime> {
        self.shown_at
    }

    /// The ApplicationSet controller sees a write of its own that queues a pass.
    pub(super) fn set_seen(&mut self, at: SimTime) {
        self.schedule(at, Due::SetSeen);
    }

    /// When a request that is sent now is answered.
    fn answer(&mut self, now: SimTime) -> SimTime {
        now + self.request.sample(&mut self.draws)
    }

    pub(super) fn learn(&mut self, report: Report) {
        self.inbox.push(report);
    }

    /// What a cluster has applied, as far as the controller knows.
    pub(super) fn applied(&self, application: usize) -> Option<Revision> {
        self.places[application].applied
    }

    /// An application's spec names this revision from `at` on, when its write is answered.
    pub(super) fn spec_is_written(&mut self, at: SimTime, application: usize, revision: Revision) {
        let place = &mut self.places[application];
        // A pass before this one has its answers.
        let before = place.rewritten.replace((at, revision));
        place.spec = before.map(|(_, revision)| revision).or(place.spec);
    }

    pub(super) fn sees_write(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Written(application));
    }

    pub(super) fn sees_request(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Requested(application));
    }

    pub(super) fn refresh(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Refresh(application));
    }

    pub(super) fn next_event(&self) -> Option<SimTime> {
        if self.inbox.is_empty() { self.agenda.keys().next().map(|&(at, _)| at) } else { Some(SimTime::ZERO) }
    }

    /// Whether all that is still to come are attempts without end on clusters that do not answer and never will.
    pub(super) fn is_hopeless(&self, is_lost: &dyn Fn(ClusterId) -> bool) -> bool {
        let is_endless = |application: usize| {
            self.places[application].failed > 0
                && self.places[application].operation.is_some_and(|operation| operation.retry_limit < 0)
                && is_lost(ClusterId(application as u32))
        };
        let is_hopeless = |due: &Due| match *due {
            Due::AttemptEnds(application) => {
                self.places[application].attempt == Some(Attempt::Failing) && is_endless(application)
            }
            Due::Again(application) => is_endless(application),
            _ => false,
        };
        self.inbox.is_empty()
            && self.agenda.values().all(is_hopeless)
            && self.shards.iter().flat_map(|shard| &shard.waiting).all(|&application| is_endless(application))
    }

    fn schedule(&mut self, at: SimTime, due: Due) {
        self.agenda.insert((at, self.scheduled), due);
        self.scheduled += 1;
    }

    /// Has an application compared as soon as a worker is free; requests before that are one.
    fn compare(&mut self, application: usize, now: SimTime) {
        if std::mem::replace(&mut self.places[application].comparison_due, true) {
            return;
        }
        let at = self.shard(application).compare(now);
        self.schedule(at, Due::Compared(application));
    }

    fn shard(&mut self, application: usize) -> &mut Shard {
        &mut self.shards[self.places[application].shard]
    }

    /// An operation waits for a processor.
    fn enqueue(&mut self, application: usize) {
        self.shard(application).waiting.push_back(application);
    }
}

//! Connects the rules of Argo CD's proposed `RollingUpdate` to the simulated world.
//!
//! A pass changes the Application objects that are next. Each Application then syncs by its own policy: its cluster is
//! instructed when the object is written. The sync succeeds when the cluster reports the revision as applied; the
//! health comes from the cluster's reports. A change of the sync status or the health starts a pass. Source:
//! `docs/proposals/2022-07-13-appset-progressive-rollout-strategy.md` of argoproj/argo-cd at
//! 37ee0097cf851bc2dd7665fc081bbce61a7e836e.
//!
//! A change of the set's template, strategy or labels abandons the rollout, and the next pass follows the new set.
//! Under `statuses: documented` the set shows the condition that the proposal describes.
//!
//! Left out: failed syncs (an offline cluster is instructed when it returns), the duration of the comparison that
//! begins a sync, and the operation processors. Clusters that are paused or without an agent are never instructed, and
//! the rollout waits for them.

use std::sync::Arc;

use super::ArgoCdProposal;
use super::controller::{SET_CONTROLLER, SET_WORKERS};
use super::proposal::edited_strategy;
use crate::control_plane::{
    ApiClient, Change, Controller, ControllerInput, Plane, Runtime, StatusLog, Traits,
};
use crate::products::Run;
use crate::rollout::argo_cd::Health;
use crate::rollout::argo_cd::proposal::{
    ProposalObject, ProposalStrategy, ProposalView, ProposedRollingUpdate,
};
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, ObjectCondition, RuleSet};
use crate::units::SimTime;
use crate::world::{ClusterSpec, NEW, Report, TargetId};

/// The controller of the proposal with one ApplicationSet.
pub(super) struct ProposalController<'s> {
    strategy: &'s ArgoCdProposal,
    /// The strategy in force.
    steps: ProposalStrategy,
    scheduler: ProposedRollingUpdate,
    /// The applications with their current labels.
    applications: Vec<(String, Arc<Labels>)>,
    view: ProposalView,
    clusters: &'s [ClusterSpec],
    client: ApiClient,
    runtime: Runtime<(), ()>,
}

impl<'s> ProposalController<'s> {
    pub(super) fn new(strategy: &'s ArgoCdProposal, run: &Run<'s>) -> Self {
        let world = run.fleet.world;
        let clusters = &world.clusters;
        let applications = strategy.applications(clusters);
        let scheduler = ProposedRollingUpdate::new(&strategy.strategy, &applications)
            .expect("a strategy is checked with the scenario's clusters");
        let mut objects = Vec::new();
        for index in 0..clusters.len() {
            objects.push(world.installed(0, index).map(|revision| ProposalObject {
                revision,
                is_synced: true,
                health: Health::Healthy,
            }));
        }
        let view = ProposalView {
            wanted: NEW,
            applications: objects,
        };
        let client =
            ApiClient::new(run.control_loop, &run.streams, "API requests").of_hub(&run.hub);
        Self {
            strategy,
            steps: strategy.strategy.clone(),
            scheduler,
            applications,
            view,
            clusters,
            client,
            runtime: Runtime::of_controller(0, run.hub.workers(SET_CONTROLLER, SET_WORKERS)),
        }
    }

    fn learn(&mut self, report: Report) {
        let live = self.view.applications[report.target.index()].as_mut();
        let live = live.expect("a cluster reports on an application that exists");
        let before = *live;
        live.is_synced |= live.revision == report.applied;
        live.health = match (report.ready, report.degraded) {
            (true, _) => Health::Healthy,
            (false, true) => Health::Degraded,
            (false, false) => Health::Progressing,
        };
        if *live != before {
            self.runtime.add(());
        }
    }

    /// Handles a user's change of the set. The rollout is abandoned, applications keep their state, and a new rollout
    /// begins.
    fn person(&mut self, change: &Change) {
        match change {
            Change::Release(revision) => self.view.wanted = *revision,
            Change::Labels(cluster, labels) => {
                let index = cluster.index();
                let name = &self.clusters[index].name;
                let own = Arc::new(labels.clone());
                self.applications[index].1 = self.strategy.labels(index, name, &own);
                self.plan();
            }
            Change::Edited(fields) => {
                self.steps = edited_strategy(fields).expect("an edit is checked before");
                self.plan();
            }
            _ => return,
        }
        self.runtime.add(());
    }

    /// Computes the steps from the strategy and the labels.
    fn plan(&mut self) {
        self.scheduler = ProposedRollingUpdate::new(&self.steps, &self.applications)
            .expect("the strategy was checked, and labels cannot invalidate it");
    }

    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let pass = self.scheduler.reconcile(&self.view);
        let complete = self.view.is_done();
        plane.begin_pass(pass.status as u64);
        let mut at = now;
        let mut created = 0;
        for target in &pass.actions {
            at = self.client.send(0, at).answered;
            let cluster = &self.clusters[target.index()];
            plane.deploy(at, cluster, *target, self.view.wanted);
            created += u64::from(self.view.applications[target.index()].is_none());
        }
        self.view.store(&pass);
        self.runtime.end_pass((), at, created, complete, plane);
    }
}

impl Controller for ProposalController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            reports_completion: true,
            sees_progress_deadlines: true,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => self.runtime.release(()),
            ControllerInput::Report(report) => self.learn(report),
            ControllerInput::Person(change) => self.person(change),
            ControllerInput::Timer(number) => _ = self.runtime.due(number, plane),
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            self.reconcile(now, plane);
        }
    }

    fn is_done(&self, target: TargetId) -> bool {
        self.view.is_complete(target.0)
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    /// "The ApplicationSet resource will ensure the status field for `ApplicationSetUpToDate` is False" while a rollout
    /// is not complete.
    fn show(&mut self, log: &mut StatusLog) {
        if self.strategy.statuses != RuleSet::Documented {
            return;
        }
        let status = if self.view.is_done() { "True" } else { "False" };
        let condition = "ApplicationSetUpToDate";
        log.show([ObjectCondition::new(
            "ApplicationSet/app",
            condition,
            status,
            "",
            "",
        )]);
    }

    fn stages(&self) -> Vec<String> {
        let is_rolling = self.scheduler.steps().next().is_some();
        let mut stages = vec![
            if is_rolling {
                "no step".to_owned()
            } else {
                String::new()
            };
            self.clusters.len()
        ];
        for (number, (members, _)) in (1..).zip(self.scheduler.steps()) {
            for target in members {
                stages[target.index()] = format!("step {number}");
            }
        }
        stages
    }
}

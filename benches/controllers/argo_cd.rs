//! An ApplicationSet in the middle of a RollingSync with `maxUpdate: 10%`; applications turn not healthy, or healthy again.

use std::sync::Arc;

use fleetsim::rollout::argo_cd::{
    Application, ApplicationAction, ApplicationSetSpec, ApplicationSetView, ApplicationView, ArgoCd, ControllerOptions,
    Generated, Health, OperationPhase, OperationState, SyncStatus,
};
use fleetsim::rollout::{Revision, TargetSet};
use fleetsim::units::SimTime;

use super::{Load, spread, sum};

/// A set, and the applications that change. Passes are not stored.
pub struct SetLoad {
    set: ArgoCd,
    view: ApplicationSetView,
    changed: TargetSet,
    is_healthy: bool,
}

impl SetLoad {
    pub fn new(applications: usize) -> Self {
        let yaml = "strategy: {type: RollingSync, rollingSync: {steps: [{maxUpdate: 10%}]}}";
        let spec: ApplicationSetSpec = serde_saphyr::from_str(yaml).expect("a valid set");
        let names = (0..applications).map(|at| format!("a-{at:07}")).collect();
        let mut set = ArgoCd::new(spec, ControllerOptions::default(), names);
        let (labels, at) = (Arc::default(), SimTime::from_secs);
        let generated = Generated::new(Arc::clone(&labels), 1, Revision(1));
        let live = Application {
            reconciled_at: Some(SimTime::ZERO),
            ..Application::settled(labels, set.spec_of(&generated), Revision(1))
        };
        let application = ApplicationView { generated: Some(generated), live: Some(live) };
        let mut view = ApplicationSetView { deleted: false, applications: vec![application; applications] };
        set.reconcile(SimTime::ZERO, &view);
        // A commit is detected, and the first step's applications are synced.
        for application in &mut view.applications {
            let live = application.live.as_mut().expect("all exist");
            (live.sync, live.revisions, live.reconciled_at) =
                (SyncStatus::OutOfSync, Arc::new([Revision(2)]), Some(at(10)));
        }
        for seconds in [10, 20, 30, 40] {
            let pass = set.reconcile_changed(at(seconds), &view, &TargetSet::all(applications));
            set.store(at(seconds), &pass, &mut view);
            for application in &mut view.applications {
                let live = application.live.as_mut().expect("all exist");
                if live.operation.take().is_some() {
                    let started_at = at(seconds);
                    live.operation_state = Some(OperationState { phase: OperationPhase::Running, started_at });
                    live.health = Health::Progressing;
                }
            }
        }
        Self { set, view, changed: spread(applications), is_healthy: true }
    }
}

impl Load for SetLoad {
    fn change(&mut self) {
        self.is_healthy = !self.is_healthy;
        for index in self.changed.iter() {
            let live = self.view.applications[index as usize].live.as_mut().expect("all exist");
            live.health = if self.is_healthy { Health::Healthy } else { Health::Degraded };
        }
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let now = SimTime::from_secs(50);
        let pass = if is_full {
            self.set.reconcile(now, &self.view)
        } else {
            self.set.reconcile_changed(now, &self.view, &self.changed)
        };
        let started = pass.actions.iter().filter_map(|action| match action {
            ApplicationAction::Deploy(target, _) => Some(*target),
            _ => None,
        });
        sum(started) + pass.status.rows.progressing as u64
    }
}

//! An ApplicationSet in the middle of a RollingSync with `maxUpdate: 10%`. Applications become unhealthy, and healthy
//! again.

use std::sync::Arc;

use fleetsim::rollout::argo_cd::{
    Application, ApplicationAction, ApplicationSetSpec, ApplicationView, ArgoCd, ControllerOptions,
    Generated, Health, OperationPhase, OperationState, RolloutStatus, SyncStatus,
};
use fleetsim::rollout::{Revision, TargetSet};
use fleetsim::units::{SimDuration, SimTime};

use super::{Load, spread, sum};

/// A controller of an ApplicationSet, and the applications that change. The decisions of passes are not stored.
pub(crate) struct SetLoad {
    set: ArgoCd,
    view: Vec<ApplicationView>,
    changed: TargetSet,
    is_healthy: bool,
}

impl SetLoad {
    pub(crate) fn new(applications: usize) -> Self {
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
        let application = ApplicationView {
            generated: Some(generated),
            live: Some(live),
        };
        let mut view = vec![application; applications];
        set.reconcile(SimTime::ZERO, &view);
        // The new commit is detected, and the applications of the first step are synced.
        for application in &mut view {
            let live = application.live.as_mut().expect("all exist");
            (live.sync, live.revisions, live.reconciled_at) =
                (SyncStatus::OutOfSync, Arc::new([Revision(2)]), Some(at(10)));
        }
        let mut has_started = false;
        for pass_at in (1..20).map(|pass| at(10 * pass)) {
            let pass =
                set.reconcile_changed(pass_at, &view, &TargetSet::all(applications), &mut |_| {
                    Some(SimTime::ZERO)
                });
            set.store(&pass, &mut view);
            if has_started && pass.actions.is_empty() && pass.status.barrier.is_none() {
                break;
            }
            has_started |= run_operations(&mut view, pass_at);
        }
        Self {
            set,
            view,
            changed: spread(applications),
            is_healthy: true,
        }
    }
}

/// Starts the requested syncs and refreshes, as the application controller does. An application is compared when its
/// operation starts; otherwise its row would stay Pending, and each pass would request its sync again. Returns whether
/// there are any syncs.
fn run_operations(view: &mut [ApplicationView], started_at: SimTime) -> bool {
    let mut has_any = false;
    for live in view
        .iter_mut()
        .filter_map(|application| application.live.as_mut())
    {
        if std::mem::take(&mut live.refresh) {
            live.reconciled_at = Some(started_at + SimDuration::from_secs(5));
        }
        if live.operation.take().is_some() {
            live.operation_state = Some(OperationState {
                phase: OperationPhase::Running,
                started_at,
            });
            (live.health, live.reconciled_at) = (
                Health::Progressing,
                Some(started_at + SimDuration::from_secs(1)),
            );
            has_any = true;
        }
    }
    has_any
}

impl Load for SetLoad {
    fn change(&mut self) {
        self.is_healthy = !self.is_healthy;
        for index in self.changed.iter() {
            let live = self.view[index as usize].live.as_mut().expect("all exist");
            live.health = if self.is_healthy {
                Health::Healthy
            } else {
                Health::Degraded
            };
        }
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let now = SimTime::from_secs(300);
        let pass = if is_full {
            self.set.reconcile(now, &self.view)
        } else {
            self.set
                .reconcile_changed(now, &self.view, &self.changed, &mut |_| Some(SimTime::ZERO))
        };
        let started = pass.actions.iter().filter_map(|action| match action {
            ApplicationAction::Deploy(target) => Some(*target),
            _ => None,
        });
        sum(started) + pass.status.rows[RolloutStatus::Progressing as usize] as u64
    }
}

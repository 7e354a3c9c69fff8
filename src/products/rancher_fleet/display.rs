//! Rancher Fleet's second controller: it writes a deployment's state in words that people read.
//!
//! `BundleDeploymentReconciler` (rancher/fleet at 3b2c622, `reconciler/bundledeployment_controller.go`) has 50 workers.
//! It looks at each deployment that was created or whose status changed, and patches `status.display` where that is out
//! of date. This is a change of the status, so the bundle controller makes one more pass after most reports.

use std::collections::BTreeMap;

use crate::engine::{Stream, Streams};
use crate::products::ControlLoop;
use crate::rollout::rancher_fleet::{BundleDeployment, BundleState};
use crate::units::{SimDuration, SimTime};
use crate::world::DurationModel;

/// Workers of the controller. Source: `BUNDLEDEPLOYMENT_RECONCILER_WORKERS` in the Helm chart's `values.yaml`.
const WORKERS: usize = 50;

/// The controller of the deployments' display.
pub(super) struct DisplayController {
    request: DurationModel,
    watch_delay: SimDuration,
    draws: Stream,
    /// For each worker, when it is free.
    workers: Vec<SimTime>,
    /// The state that each deployment displays, and whether it has been applied before.
    shown: Vec<Option<(BundleState, bool)>>,
    /// Changes of deployments on their way to the caches: by time, and in the order of scheduling.
    changes: BTreeMap<(SimTime, usize), Option<usize>>,
    scheduled: usize,
}

impl DisplayController {
    pub(super) fn new<'a>(
        timing: &ControlLoop,
        streams: Streams,
        deployments: impl Iterator<Item = Option<&'a BundleDeployment>>,
    ) -> Self {
        Self {
            request: timing.request.clone(),
            watch_delay: timing.watch_delay,
            draws: streams.stream("controller", "status.display"),
            workers: vec![SimTime::ZERO; WORKERS],
            shown: deployments.map(|deployment| deployment.map(display)).collect(),
            changes: BTreeMap::new(),
            scheduled: 0,
        }
    }

    fn schedule(&mut self, at: SimTime, created: Option<usize>) {
        self.changes.insert((at, self.scheduled), created);
        self.scheduled += 1;
    }

    /// A deployment is created at `at`, for this cluster.
    pub(super) fn created(&mut self, cluster: usize, at: SimTime) {
        self.schedule(at + self.watch_delay, Some(cluster));
    }

    /// A deployment's new status is in the cache.
    pub(super) fn sees(&mut self, cluster: usize, deployment: &BundleDeployment, now: SimTime) {
        let display = display(deployment);
        if self.shown[cluster] == Some(display) {
            return;
        }
        self.shown[cluster] = Some(display);
        let worker = self.workers.iter_mut().min().expect("there are workers");
        *worker = now.max(*worker) + self.request.sample(&mut self.draws);
        let patched = *worker;
        self.schedule(patched + self.watch_delay, None);
    }

    /// A deployment is deleted.
    pub(super) fn forgets(&mut self, cluster: usize) {
        self.shown[cluster] = None;
    }

    /// When the next change reaches the caches.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.changes.keys().next().map(|&(at, _)| at)
    }

    /// The next change that has reached the caches: the cluster of a deployment that was created, if it was one.
    pub(super) fn take(&mut self, now: SimTime) -> Option<Option<usize>> {
        let entry = self.changes.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}

fn display(deployment: &BundleDeployment) -> (BundleState, bool) {
    (deployment.state(), deployment.applied.is_some())
}

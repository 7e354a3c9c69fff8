//! A baseline's view of the fleet: the instructed clusters and the ready clusters.
//!
//! Paused and unregistered clusters are also targets but are never instructed, so a baseline that waits for a batch
//! with such a cluster waits indefinitely.

use crate::control_plane::{ApiClient, Change, Controller, ControllerInput, Plane, Runtime};
use crate::products::Run;
use crate::rollout::Hold;
use crate::rollout::baseline::{Baseline, BaselineTarget};
use crate::units::SimTime;
use crate::world::{ClusterSpec, NEW, OLD, Report, TargetId};

/// One of the baselines with its view of the fleet.
pub(super) struct BaselineController<'s> {
    baseline: Baseline,
    targets: Vec<BaselineTarget>,
    clusters: &'s [ClusterSpec],
    client: ApiClient,
    runtime: Runtime<(), ()>,
    /// Whether a person has stopped the rollout.
    stopped: bool,
}

impl<'s> BaselineController<'s> {
    pub(super) fn new(run: &Run<'s>, baseline: Baseline) -> Self {
        let world = run.fleet.world;
        let targets = (0..world.clusters.len())
            .map(|index| BaselineTarget {
                started: false,
                ready: world.installed(0, index).is_some(),
            })
            .collect();
        let client = ApiClient::new(run.control_loop, &run.streams, "API requests");
        Self {
            baseline,
            targets,
            clusters: &world.clusters,
            client,
            runtime: Runtime::new(1),
            stopped: false,
        }
    }

    fn learn(&mut self, report: Report) {
        let target = &mut self.targets[report.target.index()];
        let ready = report.ready && report.applied == if target.started { NEW } else { OLD };
        if std::mem::replace(&mut target.ready, ready) != ready {
            self.runtime.add(());
        }
    }

    /// Runs a pass. Each instruction takes one request.
    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(self.targets.iter().filter(|target| !target.ready).count() as u64);
        let started = if self.stopped {
            Vec::new()
        } else {
            self.baseline.reconcile(&self.targets)
        };
        let mut at = now;
        for target in started {
            self.targets[target.index()] = BaselineTarget {
                started: true,
                ready: false,
            };
            at = self.client.send(0, at).answered;
            plane.deploy(at, &self.clusters[target.index()], target, NEW);
        }
        self.runtime.end_pass((), at, 0, false, plane);
    }
}

impl Controller for BaselineController<'_> {
    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => self.runtime.release(()),
            ControllerInput::Report(report) => self.learn(report),
            ControllerInput::Timer(number) => _ = self.runtime.due(number, plane),
            ControllerInput::Person(Change::Stop(stop)) => {
                self.stopped = *stop;
                self.runtime.add(());
            }
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            self.reconcile(now, plane);
        }
    }

    fn is_done(&self, target: TargetId) -> bool {
        let state = self.targets[target.index()];
        state.started && state.ready
    }

    fn hold(&self) -> Option<Hold> {
        if self.stopped {
            let waiting = self.targets.iter().filter(|target| !target.started).count();
            return Some(Hold::new(
                "stop",
                format!("a person has stopped the rollout; {waiting} clusters wait"),
            ));
        }
        self.baseline.hold(
            &self.targets,
            self.clusters.iter().map(|cluster| cluster.name.as_str()),
        )
    }

    fn stages(&self) -> Vec<String> {
        let sizes = self.baseline.batches(self.targets.len());
        let word = if matches!(self.baseline, Baseline::Doubling(_)) {
            "wave"
        } else {
            "batch"
        };
        if sizes.len() <= 1 {
            return vec![String::new(); self.targets.len()];
        }
        let mut stages = Vec::new();
        for (number, size) in (1..).zip(sizes) {
            stages.resize(stages.len() + size, format!("{word} {number}"));
        }
        stages
    }
}

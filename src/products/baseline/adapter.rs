//! A baseline's view of the fleet: the instructed clusters and the ready clusters.
//!
//! Paused and unregistered clusters are also targets but are never instructed, so a baseline that waits for a batch
//! with such a cluster waits indefinitely.
//!
//! A later release begins a new rollout of all targets that do not run it. The rest of the rollout before is
//! superseded: nothing waits for its batches any more, and targets that it has not started keep their revision until
//! their turn. No product is followed; a team that rolls out by hand would do the same. Left out: a pause between the
//! two rollouts.

use crate::control_plane::{ApiClient, Change, Controller, ControllerInput, Plane, Runtime};
use crate::products::Run;
use crate::rollout::baseline::{Baseline, BaselineTarget};
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterSpec, NEW, Report, TargetId};

/// A target as the baseline knows it.
#[derive(Clone, Copy, Debug)]
struct KnownTarget {
    /// The revision that the target was last instructed to run. `None`: it runs nothing.
    instructed: Option<Revision>,
    /// The revision that the target reports as ready. `None`: it is not ready.
    ready: Option<Revision>,
    /// The target was started in the current rollout.
    is_started: bool,
}

impl KnownTarget {
    /// Returns whether the target runs this revision, is ready, and was not instructed to run another one.
    fn runs(self, revision: Revision) -> bool {
        self.instructed == Some(revision) && self.ready == Some(revision)
    }

    /// Returns the target in the form that the rules use, in a rollout of this revision.
    fn in_rollout_of(self, wanted: Revision) -> BaselineTarget {
        let expected = if self.is_started {
            Some(wanted)
        } else {
            self.instructed
        };
        BaselineTarget {
            started: self.is_started,
            ready: self.ready.is_some() && self.ready == expected,
        }
    }
}

/// One of the baselines with its view of the fleet.
pub(super) struct BaselineController<'s> {
    baseline: Baseline,
    /// The released revision.
    wanted: Revision,
    targets: Vec<KnownTarget>,
    /// The targets of the current rollout, in the order of the fleet: all that did not run the revision when it was
    /// released.
    members: Vec<TargetId>,
    clusters: &'s [ClusterSpec],
    client: ApiClient,
    runtime: Runtime<(), ()>,
    /// Whether a person has stopped the rollout.
    stopped: bool,
}

impl<'s> BaselineController<'s> {
    pub(super) fn new(run: &Run<'s>, baseline: Baseline) -> Self {
        let world = run.fleet.world;
        let mut targets = Vec::new();
        let mut members = Vec::new();
        for index in 0..world.clusters.len() {
            let installed = world.installed(0, index);
            targets.push(KnownTarget {
                instructed: installed,
                ready: installed,
                is_started: false,
            });
            members.push(TargetId(index as u32));
        }
        let client = ApiClient::new(run.control_loop, &run.streams, "API requests");
        Self {
            baseline,
            wanted: NEW,
            targets,
            members,
            clusters: &world.clusters,
            client,
            runtime: Runtime::new(1),
            stopped: false,
        }
    }

    /// Returns a target in the form that the rules use.
    fn state(&self, target: TargetId) -> BaselineTarget {
        self.targets[target.index()].in_rollout_of(self.wanted)
    }

    /// Returns the targets of the current rollout in the form that the rules use.
    fn states(&self) -> Vec<BaselineTarget> {
        let mut states = Vec::with_capacity(self.members.len());
        for target in &self.members {
            states.push(self.state(*target));
        }
        states
    }

    fn learn(&mut self, report: Report) {
        let before = self.state(report.target).ready;
        self.targets[report.target.index()].ready = report.ready.then_some(report.applied);
        if self.state(report.target).ready != before {
            self.runtime.add(());
        }
    }

    /// Begins the rollout of another revision to all targets that do not run it.
    fn release(&mut self, revision: Revision) {
        self.wanted = revision;
        self.members.clear();
        for (index, target) in (0..).zip(&mut self.targets) {
            target.is_started = target.instructed == Some(revision);
            if !target.runs(revision) {
                self.members.push(TargetId(index));
            }
        }
        self.runtime.add(());
    }

    /// Runs a pass. Each instruction takes one request.
    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let states = self.states();
        plane.begin_pass(states.iter().filter(|target| !target.ready).count() as u64);
        let started = if self.stopped {
            Vec::new()
        } else {
            self.baseline.reconcile(&states)
        };
        let mut at = now;
        for member in started {
            let target = self.members[member.index()];
            let cluster = &self.clusters[target.index()];
            let known = &mut self.targets[target.index()];
            known.is_started = true;
            if cluster.registered && !cluster.paused {
                known.instructed = Some(self.wanted);
            }
            at = self.client.send(0, at).answered;
            plane.deploy(at, cluster, target, self.wanted);
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
            ControllerInput::Person(Change::Release(revision)) => self.release(*revision),
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            self.reconcile(now, plane);
        }
    }

    fn is_done(&self, target: TargetId) -> bool {
        self.targets[target.index()].runs(self.wanted)
    }

    fn hold(&self) -> Option<Hold> {
        if self.stopped {
            let states = self.states();
            let waiting = states.iter().filter(|target| !target.started).count();
            return Some(Hold::new(
                "stop",
                format!("a person has stopped the rollout; {waiting} clusters wait"),
            ));
        }
        let clusters = self.clusters;
        let names = self.members.iter();
        self.baseline.hold(
            &self.states(),
            names.map(|target| clusters[target.index()].name.as_str()),
        )
    }

    /// The stages are the batches of the first release.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::OLD;

    const THIRD: Revision = Revision(3);

    #[test]
    fn a_target_runs_a_revision_once_it_was_told_and_reports_it_as_ready() {
        let settled = KnownTarget {
            instructed: Some(OLD),
            ready: Some(OLD),
            is_started: false,
        };
        assert!(settled.runs(OLD) && !settled.runs(NEW));
        let told = KnownTarget {
            instructed: Some(NEW),
            is_started: true,
            ..settled
        };
        assert!(!told.runs(OLD), "it will not stay so");
        assert!(!told.runs(NEW), "it is not there yet");
        let empty = KnownTarget {
            instructed: None,
            ready: None,
            is_started: false,
        };
        assert!(!empty.in_rollout_of(NEW).ready, "nothing is not ready");
    }

    #[test]
    fn a_target_that_waits_is_ready_if_it_runs_what_it_was_told_before() {
        let waiting = KnownTarget {
            instructed: Some(NEW),
            ready: Some(NEW),
            is_started: false,
        };
        let expected = BaselineTarget {
            started: false,
            ready: true,
        };
        assert_eq!(waiting.in_rollout_of(THIRD), expected);
        let started = KnownTarget {
            is_started: true,
            ..waiting
        };
        assert!(!started.in_rollout_of(THIRD).ready);
    }
}

//! The measures of each application in a run with several.
//!
//! Times count from the application's own release. A pull belongs to the application whose pod needs the image first;
//! the bytes of a layer that several images share belong to the pull that downloaded it.

use std::ops::Range;

use super::Sim;
use super::reach::Reach;
use crate::results::ApplicationRow;
use crate::units::SimTime;
use crate::world::{ClusterFacts, PullFacts, TargetId};

/// The pulls of one application.
#[derive(Clone, Debug, Default)]
struct ApplicationPulls {
    received: u64,
    /// The beginnings and ends of pulls, each with the change of their number.
    changes: Vec<PullChange>,
}

/// The beginning or the end of a pull. At one instant, ends are before beginnings.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct PullChange {
    at: SimTime,
    is_begin: bool,
}

impl ApplicationPulls {
    fn add(&mut self, pull: &PullFacts) {
        self.received += pull.received.get();
        let ended = pull.ended.unwrap_or(SimTime::MAX);
        if pull.began < ended {
            self.changes.push(PullChange {
                at: pull.began,
                is_begin: true,
            });
            self.changes.push(PullChange {
                at: ended,
                is_begin: false,
            });
        }
    }

    /// Returns the maximum number of concurrent pulls.
    fn peak(&mut self) -> u64 {
        self.changes.sort_unstable();
        let mut now = 0;
        let mut peak = 0;
        for change in &self.changes {
            if change.is_begin {
                now += 1;
            } else {
                now -= 1;
            }
            peak = peak.max(now);
        }
        peak
    }
}

/// The pulls for one target.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TargetPulls {
    pub(super) first: Option<SimTime>,
    pub(super) last: Option<SimTime>,
    pub(super) received: u64,
}

impl TargetPulls {
    /// Returns the pulls of the only target on a cluster.
    pub(super) const fn of_cluster(facts: &ClusterFacts) -> Self {
        Self {
            first: facts.first_pull,
            last: facts.last_pull,
            received: facts.received.get(),
        }
    }

    fn add(&mut self, pull: &PullFacts) {
        self.first.get_or_insert(pull.began);
        self.last = self.last.max(pull.ended);
        self.received += pull.received.get();
    }
}

impl Sim<'_> {
    /// Returns the pulls for each target. Empty for a single application, whose targets are clusters.
    pub(super) fn pulls_of_targets(&self) -> Vec<TargetPulls> {
        if !self.scenario.has_several_applications() {
            return Vec::new();
        }
        let mut of_targets = vec![TargetPulls::default(); self.world.targets()];
        for (of_target, facts) in of_targets.iter_mut().zip(self.world.deployment_facts()) {
            of_target.received = facts.lazily_received.get();
        }
        for pull in self.world.pulls() {
            of_targets[pull.target.index()].add(&pull);
        }
        of_targets
    }

    /// Returns the measures of each application. Empty for a single application.
    pub(super) fn application_rows(&self, reach: &Reach) -> Vec<ApplicationRow> {
        if !self.scenario.has_several_applications() {
            return Vec::new();
        }
        let mut pulls = vec![ApplicationPulls::default(); self.rollouts.len()];
        for pull in self.world.pulls() {
            let application = self.application_of(pull.target);
            pulls[application.index()].add(&pull);
        }
        let mut rows = Vec::with_capacity(self.rollouts.len());
        for (at, pulls) in pulls.iter_mut().enumerate() {
            rows.push(ApplicationRow {
                peak_pulls: pulls.peak(),
                received_bytes: pulls.received + self.lazily_received(at),
                ..self.application_row(at, reach)
            });
        }
        rows
    }

    /// Returns the measures of an application that do not come from single pulls.
    fn application_row(&self, at: usize, reach: &Reach) -> ApplicationRow {
        let rollout = &self.rollouts[at];
        let progress = &rollout.progress;
        let targets = self.targets_of(at);
        let reach = reach.part(targets.clone());
        let since_release =
            |at: SimTime| Some(at.saturating_since(rollout.released?).as_secs_f64());
        let mut row = ApplicationRow {
            application: self.scenario.applications[at].name.clone(),
            targets: progress.targets(),
            targets_done: progress.done(),
            left_behind: rollout.left_behind(),
            reachable_targets: reach.reachable(),
            release_s: rollout.released.map(SimTime::as_secs_f64),
            completion_s: progress.reached(1.0).and_then(since_release),
            reachable_ready_s: reach.all_ready(progress).and_then(since_release),
            ..ApplicationRow::default()
        };
        let facts = self.world.deployment_facts().skip(targets.start);
        for facts in facts.take(targets.len()) {
            row.pulls += facts.pulls;
            row.failed_pulls += facts.failed_pulls;
            row.defective_targets += u64::from(facts.defective);
            row.exposed_targets += u64::from(facts.exposed);
        }
        row
    }

    /// Returns the bytes of an application that arrived after their pulls.
    fn lazily_received(&self, at: usize) -> u64 {
        let targets = self.targets_of(at);
        let mut received = 0;
        let facts = self.world.deployment_facts().skip(targets.start);
        for facts in facts.take(targets.len()) {
            received += facts.lazily_received.get();
        }
        received
    }

    /// Returns the targets of an application by their index in the world.
    fn targets_of(&self, at: usize) -> Range<usize> {
        let rollout = &self.rollouts[at];
        let first = rollout.first as usize;
        first..first + rollout.progress.targets() as usize
    }

    /// Returns the name of the application of a target. Empty if there is a single application.
    pub(super) fn name_of_application(&self, target: TargetId) -> String {
        if !self.scenario.has_several_applications() {
            return String::new();
        }
        let application = self.application_of(target);
        self.scenario.applications[application.index()].name.clone()
    }
}

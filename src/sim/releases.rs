//! The releases of each application in a run: those of the experiment, and those that people publish.
//!
//! A release makes its revision the wanted one from the time at which the product sees it. From then on, a target is
//! done when it is ready on that revision, and the measures of the run are those of the latest release. What earlier
//! releases reached is in `releases.csv`.
//!
//! A target that is exposed at the end of a run stays so until the horizon, because nothing is left that could change
//! it, or the rollout is complete and nobody reacts.
//!
//! Left out: the pulls of a release that are still in progress when another supersedes it count for the time in which
//! they send, whichever revision they bring.

use super::Sim;
use super::release_log::{PublishedInRun, Publisher, ReleaseEnd};
use super::rollout::RunningRollout;
use crate::results::ReleaseRow;
use crate::rollout::Revision;
use crate::units::SimTime;
use crate::world::{ApplicationId, NEW, OLD, Queue, later_release};

impl Sim<'_> {
    /// Records the first release of an application.
    pub(super) fn note_first_release(&mut self, application: ApplicationId, queue: &Queue) {
        self.log_release(application, NEW, Publisher::Experiment, queue);
    }

    /// Makes a revision the wanted one of an application, at the time at which the product sees it.
    pub(super) fn publish(
        &mut self,
        application: ApplicationId,
        revision: Revision,
        by: Publisher,
        queue: &Queue,
    ) {
        self.end_release(application, queue.now());
        self.log_release(application, revision, by, queue);
        let rollout = &mut self.rollouts[application.index()];
        rollout.releases.want(revision);
        if !matches!(by, Publisher::Operator(..)) {
            rollout.releases.ahead -= 1;
        }
        let first = rollout.first as usize;
        let targets = rollout.progress.targets() as usize;
        rollout.progress.begin_anew(0..targets, queue.now());
        self.progress
            .begin_anew(first..first + targets, queue.now());
        self.world.publish(application, revision, queue);
    }

    fn log_release(
        &mut self,
        application: ApplicationId,
        revision: Revision,
        by: Publisher,
        queue: &Queue,
    ) {
        let published = PublishedInRun {
            revision,
            by,
            at: queue.now(),
            egress_before: self.world.meter().egress_so_far(),
            exposed_before: self.world.exposed_for(application, queue.now()),
            end: None,
        };
        let rollout = &mut self.rollouts[application.index()];
        rollout.releases.published.push(published);
    }

    /// Records what the latest release of an application has reached.
    fn end_release(&mut self, application: ApplicationId, now: SimTime) {
        let egress = self.world.meter().egress_so_far();
        let exposed = self.world.exposed_for(application, now);
        let rollout = &mut self.rollouts[application.index()];
        let end = ReleaseEnd {
            at: now,
            completed: rollout.progress.reached(1.0),
            targets_done: rollout.progress.most_done() as u64,
            egress,
            exposed,
        };
        if let Some(latest) = rollout.releases.published.last_mut() {
            latest.end = Some(end);
        }
    }

    /// Returns the releases of all applications. Empty if each has one.
    pub(super) fn release_rows(&self) -> Vec<ReleaseRow> {
        let mut rows = Vec::new();
        if !self.scenario.has_later_releases() {
            return rows;
        }
        for (number, rollout) in (0..).zip(&self.rollouts) {
            for at in 0..rollout.releases.published.len() {
                rows.push(self.release_row(ApplicationId(number), rollout, at));
            }
        }
        rows
    }

    fn release_row(
        &self,
        application: ApplicationId,
        rollout: &RunningRollout<'_>,
        at: usize,
    ) -> ReleaseRow {
        let release = &rollout.releases.published[at];
        let reached = release.end.unwrap_or_else(|| ReleaseEnd {
            at: self.horizon(),
            completed: rollout.progress.reached(1.0),
            targets_done: rollout.progress.most_done() as u64,
            egress: self.world.meter().egress_so_far(),
            exposed: self.world.exposed_for(application, self.horizon()),
        });
        let exposed = reached.exposed.saturating_sub(release.exposed_before);
        let (cause, noticed) = match release.by {
            Publisher::Experiment => ("releases", None),
            Publisher::Changes => ("changes", None),
            Publisher::Operator(rule, noticed) => {
                (self.scenario.operator[rule].text.as_str(), Some(noticed))
            }
        };
        ReleaseRow {
            application: self.scenario.applications[application.index()].name.clone(),
            release: at as u64 + 1,
            content: content_name(release.revision),
            cause: cause.to_owned(),
            noticed_s: noticed.map(SimTime::as_secs_f64),
            published_s: Some(release.at.as_secs_f64()),
            superseded_s: release.end.map(|end| end.at.as_secs_f64()),
            completion_s: reached
                .completed
                .map(|done| done.saturating_since(release.at).as_secs_f64()),
            targets_done: reached.targets_done,
            egress_bytes: (reached.egress - release.egress_before).max(0.0).round() as u64,
            exposed_target_hours: exposed.as_secs_f64() / 3600.0,
        }
    }

    /// Returns the number of releases that were published.
    pub(super) fn releases(&self) -> u64 {
        let mut releases = 0;
        for rollout in &self.rollouts {
            releases += rollout.releases.published.len() as u64;
        }
        releases
    }

    /// Returns the number of releases that the operator published.
    pub(super) fn reactions(&self) -> u64 {
        let mut reactions = 0;
        for rollout in &self.rollouts {
            for release in &rollout.releases.published {
                reactions += u64::from(matches!(release.by, Publisher::Operator(..)));
            }
        }
        reactions
    }

    /// Returns the time until which nothing ends the exposure of targets that are exposed at the end of the run.
    fn horizon(&self) -> SimTime {
        SimTime::ZERO + self.scenario.horizon
    }

    /// Returns for how many hours targets had a defective revision, in total.
    pub(super) fn exposed_target_hours(&self) -> f64 {
        let mut hours = 0.0;
        for number in 0..self.rollouts.len() {
            let exposed = self
                .world
                .exposed_for(ApplicationId(number as u16), self.horizon());
            hours += exposed.as_secs_f64() / 3600.0;
        }
        hours
    }
}

/// Returns the name of a content in results. It is the one that `explain` prints.
fn content_name(revision: Revision) -> String {
    match later_release(revision) {
        Some(release) => format!("content {}", release + 2),
        None if revision == OLD => "installed".to_owned(),
        None => "content 1".to_owned(),
    }
}

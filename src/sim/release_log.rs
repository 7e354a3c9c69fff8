//! The releases of one application so far in a run, and the contents to which a rollback can go back.

use crate::control_plane::Change;
use crate::rollout::Revision;
use crate::units::{SimDuration, SimTime};
use crate::world::{NEW, OLD};

/// Who published a release.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Publisher {
    /// The experiment's `release` or `releases`.
    Experiment,
    /// The experiment's `changes`.
    Changes,
    /// A rule of the operator, by its index, which was noticed at this time.
    Operator(usize, SimTime),
}

/// A release that was published in a run.
#[derive(Clone, Debug)]
pub(super) struct PublishedInRun {
    pub(super) revision: Revision,
    pub(super) by: Publisher,
    pub(super) at: SimTime,
    /// What registries had sent, and how long targets had been exposed, when it was published.
    pub(super) egress_before: f64,
    pub(super) exposed_before: SimDuration,
    /// Its end. `None`: it is the latest.
    pub(super) end: Option<ReleaseEnd>,
}

/// What a superseded release reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleaseEnd {
    pub(super) at: SimTime,
    pub(super) completed: Option<SimTime>,
    pub(super) targets_done: u64,
    pub(super) egress: f64,
    pub(super) exposed: SimDuration,
}

/// The releases of one application so far.
#[derive(Clone, Debug)]
pub(super) struct ReleaseLog {
    pub(super) published: Vec<PublishedInRun>,
    /// The contents to which a rollback can go back, and last the one that is wanted.
    contents: Vec<Revision>,
    /// The number of releases of the experiment that are still to come.
    pub(super) ahead: usize,
}

impl ReleaseLog {
    /// Creates the log of an application of which an older revision may run, with these changes to come.
    pub(super) fn new(is_update: bool, changes: &[(SimDuration, Change)]) -> Self {
        let mut ahead = 0;
        for (_, change) in changes {
            ahead += usize::from(matches!(change, Change::Release(_)));
        }
        Self {
            published: Vec::new(),
            contents: if is_update { vec![OLD, NEW] } else { vec![NEW] },
            ahead,
        }
    }

    /// Returns the wanted revision.
    pub(super) fn wanted(&self) -> Revision {
        self.contents[self.contents.len() - 1]
    }

    /// Returns the content to which a rollback goes back. `None`: there is none.
    pub(super) fn before_wanted(&self) -> Option<Revision> {
        let before = self.contents.len().checked_sub(2)?;
        Some(self.contents[before])
    }

    /// Returns whether a release of the experiment is still to come.
    pub(super) const fn is_one_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// Returns the number of releases so far.
    pub(super) const fn number(&self) -> usize {
        self.published.len()
    }

    /// Returns the time of the latest release. `None`: there was none.
    pub(super) fn latest(&self) -> Option<SimTime> {
        Some(self.published.last()?.at)
    }

    /// Returns the time of the latest of several releases. `None`: there was none, or one.
    pub(super) fn latest_of_several(&self) -> Option<SimTime> {
        self.latest().filter(|_| self.published.len() > 1)
    }

    /// Makes a revision the wanted one.
    pub(super) fn want(&mut self, revision: Revision) {
        match self
            .contents
            .iter()
            .position(|content| *content == revision)
        {
            Some(at) => self.contents.truncate(at + 1),
            None => self.contents.push(revision),
        }
    }
}

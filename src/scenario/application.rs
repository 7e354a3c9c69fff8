//! One application of a scenario: what its control plane needs to roll it out.
//!
//! An experiment with `release:` has one application without a name, on all of the scenario's clusters. With
//! `applications:` there may be several, each with its own strategy, clusters and release time. A product sees only
//! its application: a world with the application's clusters and workloads.

use std::fmt::Write as _;
use std::sync::Arc;

use super::Scenario;
use super::release_times::PublishedRelease;
use crate::control_plane::Change;
use crate::products::{Fleet, Strategy};
use crate::results::Snippet;
use crate::units::SimDuration;
use crate::world::WorldSpec;

/// One application that a scenario rolls out.
#[derive(Clone, Debug)]
pub struct ApplicationRollout {
    /// The application's name. Empty for the release of an experiment without `applications`.
    pub name: String,
    /// The strategy, which decides which cluster is next.
    pub strategy: Arc<dyn Strategy>,
    /// The world with only the application and its clusters, in the order of its targets. `None`: the scenario's
    /// world is it.
    pub view: Option<Arc<WorldSpec>>,
    /// The time from the start to the release.
    pub released: SimDuration,
    /// The releases that supersede the first one, in the order of their times.
    pub later: Vec<PublishedRelease>,
    /// People's actions during the rollout and the later releases, by time since the first release.
    pub changes: Vec<(SimDuration, Change)>,
    /// Notes on the product's files for readers of the results, one sentence each.
    pub file_notes: Vec<String>,
}

impl ApplicationRollout {
    /// Creates the rollout of the only application of a scenario, which is released at the start.
    #[must_use]
    pub fn only(strategy: Arc<dyn Strategy>) -> Self {
        Self {
            name: String::new(),
            strategy,
            view: None,
            released: SimDuration::ZERO,
            later: Vec::new(),
            changes: Vec::new(),
            file_notes: Vec::new(),
        }
    }
}

impl Scenario {
    /// Returns the strategy of the first application. An experiment without `applications` has no other.
    ///
    /// # Panics
    /// If the scenario has no application.
    #[must_use]
    pub fn strategy(&self) -> &dyn Strategy {
        &*self.applications[0].strategy
    }

    /// Rolls out every application with this strategy.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) {
        let strategies = std::iter::repeat(strategy);
        for (application, strategy) in self.applications.iter_mut().zip(strategies) {
            application.strategy = strategy;
        }
    }

    /// Returns whether a run of the scenario starts a command.
    #[must_use]
    pub fn starts_commands(&self) -> bool {
        self.applications
            .iter()
            .any(|application| application.strategy.command().is_some())
    }

    /// Returns whether the applications of two scenarios have the same strategies and the same release times.
    #[must_use]
    pub fn has_same_pace(&self, other: &Self) -> bool {
        if self.applications.len() != other.applications.len() {
            return false;
        }
        for (own, other) in self.applications.iter().zip(&other.applications) {
            if own.released != other.released || *own.strategy != *other.strategy {
                return false;
            }
        }
        true
    }

    /// Returns the strategies as parts of the product's own files: one text, in which each different part has the name
    /// of the first application with it. `None`: the product has no such file.
    #[must_use]
    pub fn snippet(&self) -> Option<Snippet> {
        let mut parts: Vec<(&str, Snippet)> = Vec::new();
        for application in &self.applications {
            if let Some(snippet) = application.strategy.snippet()
                && !parts.iter().any(|(_, known)| *known == snippet)
            {
                parts.push((&application.name, snippet));
            }
        }
        if parts.len() < 2 {
            return parts.pop().map(|(_, snippet)| snippet);
        }
        let mut text = String::new();
        for (name, snippet) in &parts {
            let _ = write!(text, "# {name}\n{}", snippet.text);
        }
        let place = parts.swap_remove(0).1.place;
        Some(Snippet { place, text })
    }

    /// Returns the fleet as the product of an application sees it.
    #[must_use]
    pub fn fleet_of<'s>(&'s self, application: &'s ApplicationRollout) -> Fleet<'s> {
        Fleet {
            world: application.view.as_ref().unwrap_or(&self.world),
            groups: &self.groups,
            calendar: self.calendar.as_deref(),
        }
    }

    /// Returns the fleet as the product of the first application sees it.
    #[must_use]
    pub fn fleet(&self) -> Fleet<'_> {
        self.fleet_of(&self.applications[0])
    }

    /// Returns whether an application may have another release after its first.
    #[must_use]
    pub fn has_later_releases(&self) -> bool {
        let mut has_later = !self.operator.is_empty();
        for application in &self.applications {
            has_later |= !application.later.is_empty();
        }
        has_later
    }

    /// Returns whether there are several applications.
    #[must_use]
    pub const fn has_several_applications(&self) -> bool {
        self.applications.len() > 1
    }

    /// Returns the number of targets of an application.
    #[must_use]
    pub fn targets_of(&self, application: &ApplicationRollout) -> usize {
        self.fleet_of(application).len()
    }

    /// Returns the number of targets of all applications.
    #[must_use]
    pub fn targets(&self) -> usize {
        let mut targets = 0;
        for application in &self.applications {
            targets += self.targets_of(application);
        }
        targets
    }

    /// Returns the notes on the strategies and their files for readers of the results, one sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for application in &self.applications {
            let own = application.strategy.notes(self.fleet_of(application));
            for note in application.file_notes.iter().cloned().chain(own) {
                if !self.has_several_applications() || !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }
}

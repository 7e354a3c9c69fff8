//! The targets of the experiment, matched with those that an export shows.

use std::collections::BTreeSet;

use super::status::{ShownRollout, ShownTarget};
use super::times::{RolloutTimes, since};
use crate::calibrate::time::seconds_between;
use crate::scenario::Scenario;
use crate::sim::{SeenState, SeenTarget};
use crate::units::SimTime;

/// Returns the names of the experiment's clusters.
pub(super) fn cluster_names(scenario: &Scenario) -> Vec<&str> {
    let clusters = scenario.world.clusters.iter();
    clusters.map(|cluster| cluster.name.as_str()).collect()
}

/// Returns the targets that the product has paused before their update but the experiment has not paused.
pub(super) fn paused(shown: &ShownRollout, scenario: &Scenario) -> Vec<String> {
    let clusters = &scenario.world.clusters;
    let names = cluster_names(scenario);
    let mut paused_places = BTreeSet::new();
    for cluster in &shown.paused {
        paused_places.extend(place_of(cluster, &names));
    }
    let mut paused = Vec::new();
    for target in &shown.targets {
        let place = place_of(&target.name, &names);
        let is_cluster_paused = place.is_some_and(|at| paused_places.contains(&at));
        if !(target.is_paused || is_cluster_paused) || target.state == SeenState::Ready {
            continue;
        }
        let is_known = place.is_some_and(|at| clusters[at].paused);
        if !is_known {
            paused.push(target.name.clone());
        }
    }
    paused
}

/// The targets that an export shows, by their places in the experiment's fleet.
pub(super) struct TargetPlaces<'s> {
    shown: Vec<Option<&'s ShownTarget>>,
}

impl<'s> TargetPlaces<'s> {
    /// Matches targets with the experiment's clusters.
    ///
    /// # Errors
    /// Returns the names that the experiment does not contain.
    pub(super) fn of(shown: &'s ShownRollout, names: &[&str]) -> Result<Self, Vec<String>> {
        let mut places = vec![None; names.len()];
        let mut unknown = Vec::new();
        for target in &shown.targets {
            match place_in(shown, &target.name, names) {
                Some(place) => places[place] = Some(target),
                None => unknown.push(target.name.clone()),
            }
        }
        if unknown.is_empty() {
            Ok(Self { shown: places })
        } else {
            Err(unknown)
        }
    }

    /// Returns a target of the fleet as the export shows it, if it does.
    pub(super) fn shown(&self, place: usize) -> Option<&'s ShownTarget> {
        self.shown[place]
    }

    /// Returns whether the export shows each target of the fleet.
    pub(super) fn are_shown(&self) -> Vec<bool> {
        self.shown.iter().map(Option::is_some).collect()
    }

    /// Returns the targets that are updating or have failed.
    pub(super) fn begun(&self, times: RolloutTimes) -> Vec<BegunSince> {
        let mut begun = Vec::new();
        for (target, shown) in self.shown.iter().enumerate() {
            let Some(shown) = shown else { continue };
            if matches!(shown.state, SeenState::Updating | SeenState::Failed) {
                let changed = shown.since.filter(|at| *at >= times.released);
                begun.push(BegunSince {
                    target,
                    since: changed.map(|at| since(times.released, at)),
                });
            }
        }
        begun
    }

    /// Returns the observed state of each target of the fleet. Targets that the export does not show are waiting.
    pub(super) fn seen(&self, times: RolloutTimes) -> Vec<SeenTarget> {
        let mut seen = Vec::with_capacity(self.shown.len());
        for shown in &self.shown {
            seen.push(shown.map_or_else(SeenTarget::default, |target| seen_target(target, times)));
        }
        seen
    }
}

/// A target that is updating or has failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct BegunSince {
    /// The index of the target.
    pub(super) target: usize,
    /// The time of the last change of its state, since the release, if known.
    pub(super) since: Option<SimTime>,
}

/// Returns the index of the cluster that a target or an agent belongs to.
fn place_in(shown: &ShownRollout, name: &str, names: &[&str]) -> Option<usize> {
    if shown.is_numbered {
        return name.parse().ok().filter(|at| *at < names.len());
    }
    place_of(name, names)
}

/// Returns when the agent of each cluster was last heard, in seconds from the release, which are negative before it.
/// `None`: the export does not show it.
pub(super) fn heard(shown: &ShownRollout, names: &[&str], times: RolloutTimes) -> Vec<Option<f64>> {
    let mut heard = vec![None; names.len()];
    for (name, at) in &shown.heard {
        if let Some(place) = place_of(name, names) {
            heard[place] = Some(seconds_between(times.released, *at));
        }
    }
    heard
}

/// Returns the observed state of a target, with times since the release.
fn seen_target(target: &ShownTarget, times: RolloutTimes) -> SeenTarget {
    let RolloutTimes { released, now } = times;
    let up_since = target
        .uptime
        .map(|uptime| now.saturating_sub((uptime * 1e9) as i64));
    let ready = target.ready.or(up_since);
    // A condition that has not changed since an earlier rollout does not say when this update was ready.
    let ready = ready.filter(|ready| *ready >= released);
    SeenTarget {
        state: target.state,
        instructed: target.instructed.map(|at| since(released, at)),
        ready: ready.map(|at| since(released, at.min(now))),
        ..SeenTarget::default()
    }
}

/// Returns the index of the target with this name. If there is none, returns the target with the longest name that
/// `name` ends with after a `-` or `/`.
pub(super) fn place_of(name: &str, names: &[&str]) -> Option<usize> {
    if let Some(place) = names.iter().position(|known| *known == name) {
        return Some(place);
    }
    let mut best: Option<usize> = None;
    for (place, known) in names.iter().enumerate() {
        let fits = ends_with_name(name, known) || ends_with_name(known, name);
        if fits && best.is_none_or(|best| known.len() > names[best].len()) {
            best = Some(place);
        }
    }
    best
}

/// Returns whether `long` equals `short`, or ends with it after a `-` or `/`.
fn ends_with_name(long: &str, short: &str) -> bool {
    match long.strip_suffix(short) {
        Some(rest) => rest.is_empty() || rest.ends_with(['-', '/']),
        None => false,
    }
}

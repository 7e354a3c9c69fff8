//! Status histories of Rancher Fleet, Argo CD and KubeFleet: how long applies, syncs and stages took.
//!
//! | file | contents |
//! |---|---|
//! | `objects` | the products' objects, as `kubectl get -o json` prints them, once or with `--watch` |
//! | `statuses` | the `statuses.csv` of a simulation's results, to compare with |
//!
//! Timestamps of Kubernetes are in seconds, so a duration is off by up to a second.

mod objects;
mod statuses;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::events::Tally;
use super::fit::Measurements;
use super::input::{Input, short};
use crate::document::problem::OrProblem;

/// What the durations of a history are.
const QUANTITIES: [(&str, &str, Option<&str>); 9] = [
    ("argo_cd_sync", "an Argo CD sync, from its start to its end", Some("agent.apply")),
    ("argo_cd_ready_after_sync", "an Argo CD application from the end of its sync to Healthy", None),
    ("argo_cd_progressing", "an Argo CD application of a rollout, from Progressing to Healthy", None),
    ("argo_cd_pending", "an Argo CD application of a rollout, from Pending to Progressing", None),
    ("fleet_applied", "a BundleDeployment of Rancher Fleet from its creation to Deployed", Some("agent.apply")),
    ("fleet_ready_after_apply", "a BundleDeployment of Rancher Fleet from Deployed to Ready", None),
    ("fleet_bundle", "a Bundle of Rancher Fleet from not ready to ready", None),
    ("kubefleet_cluster", "a cluster of a KubeFleet update run, from Started to Succeeded", None),
    ("kubefleet_stage", "a stage of a KubeFleet update run, from its start to its end", None),
];

/// Durations by quantity. What is seen again in a later state of the same object counts once.
#[derive(Debug)]
struct HistoryDurations<'t> {
    values: BTreeMap<&'static str, Vec<f64>>,
    known: BTreeSet<(&'static str, String)>,
    tally: &'t mut Tally,
}

impl HistoryDurations<'_> {
    /// Adds a duration; `id` identifies it.
    fn add(&mut self, quantity: &'static str, id: String, seconds: f64) {
        debug_assert!(QUANTITIES.iter().any(|(name, ..)| *name == quantity), "{quantity}");
        if !self.known.insert((quantity, id)) {
            self.tally.add("state that was read before");
        } else if (0.0..31_536_000.0).contains(&seconds) {
            self.values.entry(quantity).or_default().push(seconds);
        } else {
            self.tally.add("negative or absurd time between two states (clocks that differ)");
        }
    }
}

/// The durations in a history.
///
/// # Errors
/// When the file is damaged, of another kind, or has no duration.
pub(super) fn read(input: &Input, tally: &mut Tally) -> OrProblem<Vec<Measurements>> {
    let mut durations = HistoryDurations { values: BTreeMap::new(), known: BTreeSet::new(), tally };
    if input.source.text.trim_start().starts_with(['{', '[']) {
        objects::read(input, &mut durations)?;
    } else {
        statuses::read(input, &mut durations)?;
    }
    if durations.values.is_empty() {
        let help = "record a whole rollout: `kubectl get KIND -A -o json --watch > history.json`";
        return Err(input.whole("the history has no change with a start and an end", help));
    }
    let quantities = QUANTITIES.iter().filter_map(|(name, title, setting)| {
        Some(Measurements {
            name: (*name).to_owned(),
            title: (*title).to_owned(),
            source: short(input.name()),
            values: durations.values.remove(name)?,
            setting: setting.map(str::to_owned),
        })
    });
    Ok(quantities.collect())
}

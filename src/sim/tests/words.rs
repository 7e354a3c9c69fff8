//! Compares the status conditions in the recorded rollouts with those of the native schedulers.
//!
//! The texts of each condition must be equal and in the same order. For a rollout that does not end, the reason is
//! compared with the product's own last texts: the rule must correspond to the product's rule, and the reason must
//! name a cluster and the step in these texts.

use std::collections::BTreeMap;

use super::field::{Agent, Field};
use super::recording::{Recording, Shown};
use crate::results::StatusRow;

/// The texts of one condition over time. Each has a time, and a status, reason and message.
type Words = Vec<(u64, [String; 3])>;

/// The comparison results for all recordings of a product.
#[derive(Debug, Default)]
pub(super) struct Shows {
    /// The number of recordings whose texts are equal.
    pub(super) equal: usize,
    /// The number of recordings with equal texts whose times also agree, within a request and 1 ms.
    pub(super) in_time: usize,
    /// The first differing texts, by recording.
    pub(super) different: BTreeMap<String, String>,
    /// The number of recordings of unfinished rollouts whose reason agrees with the product's last texts.
    pub(super) held: usize,
    /// The reasons that contradict the product's texts, with these texts, by recording.
    pub(super) contradicted: BTreeMap<String, String>,
}

/// Maximum size of a set whose rows are shown individually; larger sets show only the number of rows by status.
const ROWS_SHOWN: usize = 100;

/// Returns whether recordings contain this condition.
fn is_recorded(object: &str, condition: &str) -> bool {
    match object.split_once('/').expect("kind and name").0 {
        "Bundle" => ["Ready", "display.state", "unavailablePartitions"].contains(&condition),
        "ClusterStagedUpdateRun" => {
            ["Initialized", "Progressing", "Succeeded"].contains(&condition)
        }
        "ApplicationSet" => !["applicationStatus", "ParametersGenerated"].contains(&condition),
        _ => false,
    }
}

/// Returns a Fleet message without the messages of single resources and of failed applies.
fn without_resources(message: &str) -> String {
    let parts = message
        .split("; ")
        .filter(|part| !part.starts_with("deployment.apps "));
    let named = |part: &str| match part
        .split_once(": ")
        .filter(|_| part.starts_with("ErrApplied("))
    {
        Some((cluster, _)) => format!("{cluster}]"),
        None => part.to_owned(),
    };
    parts.map(named).collect::<Vec<_>>().join("; ")
}

/// Returns the changes of texts by condition. `before` is the state shown at the start.
fn by_condition<'w>(
    words: impl Iterator<Item = (u64, &'w str, &'w str, [&'w str; 3])>,
    before: &BTreeMap<String, [String; 3]>,
    has_rows: bool,
) -> BTreeMap<String, Words> {
    let mut found: BTreeMap<String, Words> = BTreeMap::new();
    for (at, object, condition, [status, reason, message]) in words {
        let is_row = condition.starts_with("applicationStatus/");
        // The removal of a row is not recorded.
        if !is_recorded(object, condition) || is_row && (!has_rows || status.is_empty()) {
            continue;
        }
        // Messages of Fleet are the product's own; fleetsim shortens those of the other products.
        let message = if object.starts_with("Bundle/") {
            message
        } else {
            ""
        };
        // In the simulation, rows are named after their clusters; in the recording, the template names them.
        let condition = match condition.split_once("cluster-") {
            Some((_, number)) if is_row => format!("applicationStatus/cluster-{number}"),
            _ => condition.to_owned(),
        };
        let name = format!("{object} {condition}");
        let words = [
            status.to_owned(),
            reason.to_owned(),
            without_resources(message),
        ];
        let empty = [String::new(), String::new(), String::new()];
        let list = found.entry(name.clone()).or_default();
        let last = list
            .last()
            .map(|(_, words)| words)
            .or_else(|| before.get(&name))
            .unwrap_or(&empty);
        if *last != words {
            list.push((at, words));
        }
    }
    found.retain(|_, list| !list.is_empty());
    found
}

fn of_row(row: &StatusRow) -> (u64, &str, &str, [&str; 3]) {
    let at = (row.t_s * 1e9).round() as u64;
    (
        at,
        &row.object,
        &row.condition,
        [&row.status, &row.reason, &row.message],
    )
}

fn of_shown(shown: &Shown) -> (u64, &str, &str, [&str; 3]) {
    (
        shown.at,
        &shown.object,
        &shown.condition,
        [&shown.status, &shown.reason, &shown.message],
    )
}

impl Shows {
    /// Adds the comparison of a replayed recording.
    pub(super) fn add<A: Agent>(&mut self, recording: &Recording, field: &Field<'_, A>) {
        let (start, later): (Vec<_>, Vec<_>) = field
            .statuses
            .iter()
            .map(of_row)
            .partition(|(at, ..)| *at == 0);
        let has_rows = recording.hello.targets.len() <= ROWS_SHOWN;
        let before = by_condition(start.into_iter(), &BTreeMap::new(), has_rows);
        let mut before: BTreeMap<String, [String; 3]> = before
            .into_iter()
            .map(|(name, words)| (name, words[0].1.clone()))
            .collect();
        // A bundle without a status shows a zero.
        let zero = ["0".to_owned(), String::new(), String::new()];
        before
            .entry("Bundle/app unavailablePartitions".to_owned())
            .or_insert(zero);
        let found = by_condition(later.into_iter(), &before, has_rows);
        let wanted = by_condition(recording.conditions.iter().map(of_shown), &before, has_rows);
        let mut latest = 0;
        for name in wanted.keys().chain(found.keys()) {
            let none = Vec::new();
            let (wanted, found) = (
                wanted.get(name).unwrap_or(&none),
                found.get(name).unwrap_or(&none),
            );
            for nth in 0..wanted.len().max(found.len()) {
                match (wanted.get(nth), found.get(nth)) {
                    (Some((at, wanted)), Some((found_at, found))) if wanted == found => {
                        latest = latest.max(at.abs_diff(*found_at));
                    }
                    (wanted, found) => {
                        let text = format!("{name}, change {nth}: {wanted:?}, here {found:?}");
                        self.different.insert(recording.id.clone(), text);
                        return;
                    }
                }
            }
        }
        self.equal += 1;
        self.in_time +=
            usize::from(latest <= recording.hello.latency.request().as_nanos() + 1_000_000);
    }

    /// Adds the comparison of reasons for a recording whose rollout did not end.
    pub(super) fn hold<A: Agent>(&mut self, recording: &Recording, field: &Field<'_, A>) {
        let own = &recording.hold;
        if recording.end == "completed" || own.explanation.is_empty() {
            return;
        }
        let (rule, reason) = field
            .hold
            .as_ref()
            .map_or(("", ""), |hold| (&*hold.rule, hold.explanation.as_str()));
        let clusters = named(&own.explanation, "cluster-");
        let names_one = clusters.is_empty()
            || named(reason, "cluster-")
                .iter()
                .any(|name| clusters.contains(name));
        let step = own
            .explanation
            .split_once("rollout of ")
            .and_then(|(_, rest)| rest.split(';').next());
        if is_same_rule(&own.rule, rule)
            && names_one
            && step.is_none_or(|step| reason.contains(step))
        {
            self.held += 1;
        } else {
            let text = format!("{rule}: {reason} | {}: {}", own.rule, own.explanation);
            self.contradicted.insert(recording.id.clone(), text);
        }
    }
}

fn named(text: &str, start: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    words
        .filter(|word| word.starts_with(start))
        .map(str::to_owned)
        .collect()
}

/// Returns whether a rule corresponds to the product's own status. Fleet's rules were derived from the bundle's
/// status, and have the same names. Argo CD reports only that its rollout is progressing, which names no rule.
fn is_same_rule(own: &str, rule: &str) -> bool {
    match own {
        "UpdateRunStuck" => ["maxConcurrency", "stages"].contains(&rule),
        "UpdateRunWaiting" => ["beforeStageTasks", "afterStageTasks"].contains(&rule),
        "UpdateRunStopped" | "UpdateRunInitializedSuccessfully" => rule == "state",
        "UpdateRunInitializedFailed" => rule == "Initialized",
        "UpdateRunFailed" => rule == "Succeeded",
        "RolloutNotStartedYet" => rule == "maxUnavailable",
        "" | "ApplicationSetModified" | "Synced" | "OutOfSync" => !rule.is_empty(),
        own => own == rule,
    }
}

//! Compares a replayed rollout with the recorded one.
//!
//! The two must have the same instructions, in the same order wherever two recorded instants differ by more than one
//! API request. Each instruction must be within two watch delays of its recorded time, or 1 % if that is more. The
//! times of the last ready cluster and of the reported completion must agree within 1 %. The peak number of pulling
//! clusters (instructed and not yet ready) must agree within 1 % or one cluster.
//!
//! All requests in a recording take the same time. Many events therefore happen at almost the same instant, and
//! nanoseconds determine their order. If such a tie determines which of several equal clusters is next,
//! [`Tie::Clusters`] compares the rollouts after renaming equal clusters. If it determines which pass a write belongs
//! to, [`Tie::Passes`] compares the outcome; [`Tie::Instructions`] compares only the instructions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::recording::Recording;
use crate::units::SimDuration;

/// An instruction: time, target and revision.
pub(super) type Instruction = (u64, usize, u32);

/// The result of comparing one recording.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Verdict {
    /// The order is equal, and the times differ by at most one API request.
    Equal,
    /// The rollouts agree but are not equal, for this reason.
    Agrees(String),
    /// The first difference.
    Differs(String),
    /// The product and fleetsim reject the strategy before a run, for the same reason.
    Refused,
    /// The native loop fails.
    Panics,
}

/// The effect that a tie at one instant has on a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tie {
    /// Equal clusters are exchanged.
    Clusters,
    /// Writes move from one pass to another, which starts clusters earlier or later.
    Passes,
    /// Writes move like with [`Self::Passes`], in a rollout that takes only seconds.
    Instructions,
}

/// Compares the instructions, the reported completion of the new revision, and the resulting outcome.
pub(super) fn compare(
    recording: &Recording,
    found: &[Instruction],
    reported: Option<u64>,
    tie: Option<Tie>,
) -> Verdict {
    let wanted = recording.deploy.as_slice();
    let newest = recording.hello.release.revision;
    let completed = recording
        .completed
        .iter()
        .find(|(_, revision)| *revision == newest)
        .map(|(at, _)| *at);
    let instructed: BTreeSet<usize> = wanted.iter().map(|(_, target, _)| *target).collect();
    // A product may also report completion for a rollout without some clusters, and may report a later revision.
    let is_reported = recording.completed.is_empty()
        || completed.is_some() && instructed.len() == recording.hello.targets.len();
    let named = if tie == Some(Tie::Clusters) {
        renamed(recording, found)
    } else {
        found.to_vec()
    };
    let checks = || {
        let places = places(wanted, &named)?;
        if tie == Some(Tie::Instructions) {
            return Ok(places);
        }
        if tie != Some(Tie::Passes) {
            in_order(recording, &places)?;
            in_time(recording, &named, &places)?;
        }
        let (last, pulls) = outcome(recording, wanted);
        let (found_last, found_pulls) = outcome(recording, &named);
        is_near("the last cluster ready", last, found_last)?;
        if is_reported {
            is_near("completion reported", completed, reported)?;
        }
        if pulls.abs_diff(found_pulls) > (pulls / 100).max(1) {
            return Err(format!("a peak of {pulls} pulls, here {found_pulls}"));
        }
        Ok(places)
    };
    match checks() {
        Ok(places) => {
            inequality(recording, &named, &places).map_or(Verdict::Equal, Verdict::Agrees)
        }
        Err(difference) => Verdict::Differs(difference),
    }
}

/// Returns the found instructions with equal clusters renamed: the first of them in the found order gets the name of
/// the first one in the recording, and so on. Clusters are equal if they begin with the same revision, behave alike,
/// and are not changed by the script.
fn renamed(recording: &Recording, found: &[Instruction]) -> Vec<Instruction> {
    let scripted: BTreeSet<usize> = recording
        .script
        .iter()
        .filter_map(|news| news.target)
        .collect();
    let kind_of = |target: usize, revision: u32| {
        let told = &recording.hello.targets[target];
        let own = Some(target).filter(|target| scripted.contains(target));
        (
            told.revision,
            told.offline,
            recording.fleet.ready(target, revision),
            own,
            revision,
        )
    };
    let mut names: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
    for &(_, target, revision) in &recording.deploy {
        names
            .entry(kind_of(target, revision))
            .or_default()
            .push_back(target);
    }
    let rename = |&(at, target, revision): &Instruction| {
        let name = names
            .get_mut(&kind_of(target, revision))
            .and_then(VecDeque::pop_front);
        (at, name.unwrap_or(target), revision)
    };
    found.iter().map(rename).collect()
}

/// Returns the index of each recorded instruction among the found ones.
pub(super) fn places(wanted: &[Instruction], found: &[Instruction]) -> Result<Vec<usize>, String> {
    let mut places: BTreeMap<(usize, u32), VecDeque<usize>> = BTreeMap::new();
    for (place, &(_, target, revision)) in found.iter().enumerate() {
        places
            .entry((target, revision))
            .or_default()
            .push_back(place);
    }
    let mut place = |(nth, &(at, target, revision)): (usize, &Instruction)| {
        let place = places
            .get_mut(&(target, revision))
            .and_then(VecDeque::pop_front);
        place.ok_or_else(|| {
            format!("instruction {nth} is missing: target {target}, revision {revision} at {at} ns")
        })
    };
    let list = wanted
        .iter()
        .enumerate()
        .map(&mut place)
        .collect::<Result<Vec<_>, _>>()?;
    match places.into_values().flatten().min() {
        Some(more) => Err(format!("one more instruction: {:?}", found[more])),
        None => Ok(list),
    }
}

/// Checks that instructions recorded more than one API request apart have the same order.
fn in_order(recording: &Recording, places: &[usize]) -> Result<(), String> {
    match overtaking(recording, places).first() {
        Some(&nth) => {
            let (at, target, _) = recording.deploy[nth];
            Err(format!(
                "instruction {nth}, target {target} at {at} ns, overtakes one of an earlier time"
            ))
        }
        None => Ok(()),
    }
}

/// Returns the instructions that come before one that was recorded more than one API request earlier.
pub(super) fn overtaking(recording: &Recording, places: &[usize]) -> Vec<usize> {
    let wanted = &recording.deploy;
    let request = recording.hello.latency.request().as_nanos();
    let mut earlier = 0;
    let mut latest = None;
    let mut overtaking = Vec::new();
    for (nth, &(at, ..)) in wanted.iter().enumerate() {
        while wanted[earlier].0 + request < at {
            latest = latest.max(Some(places[earlier]));
            earlier += 1;
        }
        if latest > Some(places[nth]) {
            overtaking.push(nth);
        }
    }
    overtaking
}

fn in_time(recording: &Recording, found: &[Instruction], places: &[usize]) -> Result<(), String> {
    let watch = 2 * recording.hello.latency.watch().as_nanos();
    for (nth, (&(at, target, _), &place)) in recording.deploy.iter().zip(places).enumerate() {
        let found_at = found[place].0;
        if found_at.abs_diff(at) > watch.max(at / 100) {
            return Err(format!(
                "instruction {nth}, target {target}: {at} ns, here {found_at} ns"
            ));
        }
    }
    Ok(())
}

/// Returns the time at which the last cluster is ready, and the peak number of clusters that are instructed and not
/// yet ready.
pub(super) fn outcome(recording: &Recording, instructions: &[Instruction]) -> (Option<u64>, usize) {
    // A cluster pulls until it is ready, or until it is instructed again.
    let mut until = BTreeMap::new();
    let mut changes = Vec::new();
    for &(at, target, revision) in instructions {
        let after = recording
            .fleet
            .ready(target, revision)
            .filter(|_| revision > 0);
        let ready = after.map(|after| at + (recording.fleet.apply() + after).as_nanos());
        changes.push((at, true, target));
        if let Some(before) = until
            .insert(target, if revision > 0 { ready } else { Some(at) })
            .flatten()
        {
            changes.push((at.min(before), false, target));
        }
    }
    let last = until.values().flatten().max().copied();
    changes.extend(
        until
            .into_iter()
            .filter_map(|(target, ready)| Some((ready?, false, target))),
    );
    // At the same time, clusters that become ready are counted first.
    changes.sort_by_key(|&(at, begins, _)| (at, begins));
    let (mut pulling, mut peak) = (BTreeSet::new(), 0);
    for (_, begins, target) in changes {
        if begins {
            pulling.insert(target);
        } else {
            pulling.remove(&target);
        }
        peak = peak.max(pulling.len());
    }
    (last, peak)
}

fn is_near(what: &str, wanted: Option<u64>, found: Option<u64>) -> Result<(), String> {
    let is_near = match (wanted, found) {
        (Some(wanted), Some(found)) => wanted.abs_diff(found) <= wanted / 100,
        (wanted, found) => wanted == found,
    };
    if is_near {
        Ok(())
    } else {
        Err(format!("{what} at {wanted:?} ns, here {found:?}"))
    }
}

/// Returns why an agreeing rollout is not equal: the first index and the largest time difference.
fn inequality(recording: &Recording, found: &[Instruction], places: &[usize]) -> Option<String> {
    let swapped = places.iter().enumerate().find(|(nth, place)| nth != *place);
    let late = recording
        .deploy
        .iter()
        .zip(places)
        .map(|(&(at, ..), &place)| found[place].0.abs_diff(at))
        .max();
    let late = late.filter(|late| *late > recording.hello.latency.request().as_nanos());
    let order = swapped.map(|(nth, place)| format!("instruction {nth} comes as number {place}"));
    let time = late.map(|late| {
        format!(
            "times differ by up to {:.3} s",
            SimDuration::from_nanos(late).as_secs_f64()
        )
    });
    (order.is_some() || time.is_some())
        .then(|| order.into_iter().chain(time).collect::<Vec<_>>().join("; "))
}

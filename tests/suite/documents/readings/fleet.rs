//! Readings of Rancher Fleet's experiments.

use super::super::shown::ShownSetup;
use crate::documented_examples::told_blindly;

/// Sizes of the partitions.
pub(in crate::documents) fn partition_sizes(shown: &ShownSetup) -> String {
    shown.column("partition", 1).join(", ")
}

/// The limits of the partitions.
pub(in crate::documents) fn partition_limits(shown: &ShownSetup) -> String {
    shown.column("partition", 2).join(", ")
}

/// Returns the number of clusters that were instructed before any was ready.
pub(in crate::documents) fn first_wave(shown: &ShownSetup) -> String {
    told_blindly(shown.run()).to_string()
}

/// The value of `maxUnavailablePartitions` in the explanation.
pub(in crate::documents) fn partitions_allowed(shown: &ShownSetup) -> String {
    let line = &shown.explanation.lines[0];
    let (_, rest) = line
        .split_once("maxUnavailablePartitions ")
        .unwrap_or_default();
    rest.split(';').next().unwrap_or_default().to_owned()
}

/// Returns the smallest share of a partition that was ready when the next one began. The partitions are p1 to p5.
pub(in crate::documents) fn ready_before_next(shown: &ShownSetup) -> String {
    let mut least = 100;
    for (before, next) in [("p1", "p2"), ("p2", "p3"), ("p3", "p4"), ("p4", "p5")] {
        let begins = shown.told(next)[0];
        let all = shown.told(before).len();
        let ready = shown
            .ready(before)
            .iter()
            .filter(|at| **at <= begins)
            .count();
        least = least.min(100 * ready / all);
    }
    if least >= 90 {
        "at least 90 %".to_owned()
    } else {
        format!("{least} %")
    }
}

/// Returns the number of clusters instructed before any is ready, and the share of a partition that is ready when the
/// next begins.
pub(in crate::documents) fn waves_of_partitions(shown: &ShownSetup) -> String {
    format!("{}, {}", first_wave(shown), ready_before_next(shown))
}

/// Returns whether the second partition begins when a cluster of the first, which was offline for two hours, is ready.
pub(in crate::documents) fn after_return(shown: &ShownSetup) -> String {
    // Two of ten clusters are offline, and one may be NotReady.
    let back = shown.ready("p1")[8];
    if back >= 7_200.0 && shown.told("p2")[0] >= back {
        "after it is ready again".to_owned()
    } else {
        "before".to_owned()
    }
}

/// Returns whether the second partition begins after all clusters of the first are ready, and how the run ends.
pub(in crate::documents) fn strict_order(shown: &ShownSetup) -> String {
    let last = shown.ready("a").last().copied().unwrap_or(f64::INFINITY);
    match shown.told("b").first() {
        Some(at) if *at >= last => format!("after the last, {}", shown.outcome()),
        Some(_) => "before the last".to_owned(),
        None => shown.outcome(),
    }
}

/// Returns whether the second partition begins before the offline clusters of the first return after two hours.
pub(in crate::documents) fn second_partition(shown: &ShownSetup) -> String {
    match shown.told("p2").first() {
        Some(at) if *at >= 7_200.0 => "held until they are back".to_owned(),
        Some(at) if *at < 600.0 => "goes on".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The words that the GitRepo shows while clusters are NotReady, and no cluster is about to apply if there is such a
/// time.
pub(in crate::documents) fn words_of_git_repo(shown: &ShownSetup) -> String {
    let mut messages = shown.statuses("GitRepo/", "Ready");
    messages.retain(|message| message.contains("NotReady("));
    let is_settled =
        |message: &&String| !message.contains("WaitApplied(") && message.contains("; ");
    let settled = messages.iter().find(is_settled);
    let Some(message) = settled.or(messages.first()) else {
        return "never NotReady".to_owned();
    };
    let parts = message
        .split([' ', ';'])
        .filter_map(|part| part.split_once('('));
    let mut words: Vec<&str> = parts.map(|(word, _)| word).collect();
    words.sort_unstable();
    words.join(", ")
}

/// Returns the number of clusters that were instructed and not ready when the 51st was instructed.
pub(in crate::documents) fn not_ready_at_51(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let ready = shown.ready("").iter().filter(|at| **at <= told[50]).count();
    if 50 - ready.min(50) <= 10 {
        "at most 10".to_owned()
    } else {
        format!("{}", 50 - ready)
    }
}

/// Returns the time from the ninth ready cluster of the first partition, which has ten, to the first cluster of the
/// second.
pub(in crate::documents) fn pause_between(shown: &ShownSetup) -> String {
    let pause = shown.told("p2")[0] - shown.ready("p1")[8];
    if (0.0..1.0).contains(&pause) {
        "less than a second".to_owned()
    } else {
        format!("{pause:.1} s")
    }
}

/// Returns the outcome of the rollout, and whether the clusters in no partition are named before it.
pub(in crate::documents) fn left_out(shown: &ShownSetup) -> String {
    let is_listed = shown.words().contains("in no partition") && shown.words().contains("b-01");
    let listed = if is_listed { "listed" } else { "not listed" };
    format!("{}, {listed}", shown.outcome())
}

/// Returns the first cluster that is instructed.
pub(in crate::documents) fn first_told(shown: &ShownSetup) -> String {
    shown.order("").swap_remove(0)
}

/// Returns whether most clusters pull simultaneously.
pub(in crate::documents) fn storm(shown: &ShownSetup) -> String {
    match shown.run().run.peak_pulls {
        101.. => "more than 100".to_owned(),
        fewer => fewer.to_string(),
    }
}

/// The size of a batch, in the explanation.
pub(in crate::documents) fn batch(shown: &ShownSetup) -> String {
    let line = &shown.explanation.lines[0];
    let found = line
        .split_once("batches of up to ")
        .or(line.split_once("maxNew "));
    let (_, rest) = found.unwrap_or_default();
    rest.split(' ').next().unwrap_or_default().to_owned()
}

//! Rollouts as scripts: events, and the resulting actions of the scheduler or the rule that blocks it.
//!
//! A line of a script is `t=SECONDS event => outcome`. Events: `pass` (nothing), `STATE LIST` (those clusters' work is
//! in this state: `available`, `unavailable`, `applying`, `applied`, `failed`), `approve N`, `stop`, `run`, `gone
//! LIST` and `release N` (a new resource snapshot). A list is `0-3,7`, by index. Each event is followed by a pass,
//! which is stored. Outcome: clusters updated and deleted, approvals requested, the hold if no cluster was updated,
//! and the request to the queue.

mod changed;
mod invariants;
mod rolling;
mod staged;

use super::super::testing::{print_ranges, ranges};
use super::super::{Hold, Pass, QueueRequest, Revision, TargetId};
use super::*;
use fleetsim_units::SimTime;

pub(super) const OLD: Revision = Revision(1);
pub(super) const NEW: Revision = Revision(2);

/// Creates clusters `m00`, `m01`, …: for each value of the label `stage`, the given number of clusters.
pub(super) fn clusters(stages: &[(&str, usize)]) -> Vec<MemberCluster> {
    let stages = stages
        .iter()
        .flat_map(|(stage, count)| std::iter::repeat_n(*stage, *count));
    let cluster = |(index, stage): (usize, &str)| MemberCluster {
        name: format!("m{index:02}"),
        labels: [("stage".to_owned(), stage.to_owned())].into(),
        left: false,
    };
    stages.enumerate().map(cluster).collect()
}

/// Returns three stages that select by the clusters' label, with a wait after the first stage, and approvals after the
/// second and before the third stage.
pub(super) fn three_stages(limit: i64) -> String {
    let stage = |name: &str, tasks: &str| {
        format!(
            "{{name: {name}, labelSelector: {{matchLabels: {{stage: {name}}}}}, maxConcurrency: {limit}, {tasks}}}"
        )
    };
    format!(
        "stages: [{}, {}, {}]",
        stage("a", "afterStageTasks: [{type: TimedWait, waitTime: 30s}]"),
        stage("b", "afterStageTasks: [{type: Approval}]"),
        stage("c", "beforeStageTasks: [{type: Approval}]"),
    )
}

/// Binds every cluster to the old snapshot, and makes it available.
pub(super) fn settled(clusters: &[MemberCluster]) -> Bindings {
    let binding = |(index, cluster): (usize, &MemberCluster)| {
        let name = binding_name("crp", &cluster.name, 0);
        Binding::settled(name, TargetId(index as u32), 0, OLD, ApplyStrategy(0))
    };
    clusters.iter().enumerate().map(binding).collect()
}

/// Sets the clusters' work to the state that `word` denotes. Returns false if `word` is another event.
fn reports(bindings: &mut Bindings, now: SimTime, word: &str, list: &str) -> bool {
    let state = match word {
        "available" => WorkState::Available,
        "untrackable" => WorkState::AvailableUntrackable,
        "unavailable" => WorkState::Unavailable,
        "applying" => WorkState::Applying,
        "applied" => WorkState::Applied,
        "failed" => WorkState::ApplyFailed,
        _ => return false,
    };
    for index in ranges(list) {
        bindings
            .get_mut(TargetId(index))
            .expect("a binding")
            .report(now, state);
    }
    true
}

/// Returns the outcome of a pass in a script's terms; `word` describes an action and its cluster.
fn outcome<Action, Status>(
    pass: &Pass<Action, Status>,
    next: QueueRequest,
    word: impl Fn(&Action) -> Option<(&'static str, u32)>,
    hold: Option<Hold>,
    approvals: &[String],
    is_done: bool,
) -> String {
    let list = |wanted: &str| -> Vec<u32> {
        let touched = pass.actions.iter().filter_map(&word);
        touched
            .filter(|(word, _)| *word == wanted)
            .map(|(_, target)| target)
            .collect()
    };
    let (rolled, deleted) = (list("deploy"), list("delete"));
    let mut parts = Vec::new();
    for (word, list) in [("deploy", rolled), ("delete", deleted)] {
        if !list.is_empty() {
            parts.push(format!("{word} {}", print_ranges(&list)));
        }
    }
    parts.extend(approvals.iter().map(|name| format!("ask for {name}")));
    parts.extend(hold.map(|hold| format!("hold {hold}")));
    if is_done {
        parts.push("done".to_owned());
    }
    match next {
        QueueRequest::None => {}
        QueueRequest::After(delay) => {
            parts.push(format!("requeue after {}", format_duration(delay)));
        }
        QueueRequest::RateLimited => parts.push("requeue".to_owned()),
        QueueRequest::Error => parts.push("requeue after an error".to_owned()),
    }
    parts.join("; ")
}

/// Splits a script into lines, each with its time, its event, and the text before its outcome.
fn lines(story: &str) -> impl Iterator<Item = (SimTime, &str, &str)> {
    story
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let (head, _) = line.split_once(" =>").expect("a line has an outcome");
            let (time, event) = head.split_once(' ').expect("a line has an event");
            let seconds: f64 = time
                .strip_prefix("t=")
                .and_then(|text| text.parse().ok())
                .expect("a time");
            (
                SimTime::from_nanos((seconds * 1e9).round() as u64),
                event,
                head,
            )
        })
}

fn same(title: &str, story: &str, played: &[String]) {
    let story: Vec<&str> = story
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert_eq!(played.join("\n"), story.join("\n"), "{title}");
}

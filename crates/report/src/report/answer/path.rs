//! The critical path of the run with the median time, in one sentence.

use super::sentence::listed;
use crate::report::data::VariantResults;
use crate::report::format::time;
use crate::results::RunRow;

/// A part of the critical path: its words, its name in charts, and the function that reads its value from a run.
pub(in crate::report) struct PathPart {
    words: &'static str,
    pub(in crate::report) name: &'static str,
    pub(in crate::report) of: fn(&RunRow) -> Option<f64>,
}

/// The parts, in the order of a rollout.
pub(in crate::report) const PARTS: [PathPart; 10] = [
    PathPart {
        words: "wait for people",
        name: "waits for people",
        of: |run| run.path_people_s,
    },
    PathPart {
        words: "wait for a rule",
        name: "waits for a rule",
        of: |run| run.path_rule_s,
    },
    PathPart {
        words: "wait for offline clusters",
        name: "time offline",
        of: |run| run.path_offline_s,
    },
    PathPart {
        words: "instruct and report",
        name: "messages",
        of: |run| run.path_report_s,
    },
    PathPart {
        words: "wait after HTTP 429",
        name: "after HTTP 429",
        of: |run| run.path_throttled_s,
    },
    PathPart {
        words: "wait for a registry that does not answer",
        name: "unanswered requests",
        of: |run| run.path_unavailable_s,
    },
    PathPart {
        words: "wait for the kubelet's pull limits",
        name: "kubelet's limits",
        of: |run| run.path_kubelet_s,
    },
    PathPart {
        words: "transfer",
        name: "transfer",
        of: |run| run.path_transfer_s,
    },
    PathPart {
        words: "unpack",
        name: "unpacking",
        of: |run| run.path_unpack_s,
    },
    PathPart {
        words: "start pods",
        name: "starts",
        of: |run| run.path_start_s,
    },
];

/// Maximum number of parts in the line of the answer.
const SHOWN: usize = 3;
/// Parts with a smaller share of the time are not named.
const NAMED: f64 = 0.05;

/// The run with the median time; the lower median of an even number. `None`: half of the runs or more did not
/// complete.
pub(in crate::report) fn median_run<'r>(variant: &VariantResults<'r>) -> Option<&'r RunRow> {
    let mut runs = variant.runs.clone();
    runs.sort_by(|a, b| completion_s(a).total_cmp(&completion_s(b)));
    let middle = *runs.get((runs.len().max(1) - 1) / 2)?;
    middle.path_rule_s.is_some().then_some(middle)
}

/// The completion time of a run; infinite if it did not complete.
fn completion_s(run: &RunRow) -> f64 {
    run.reachable_ready_s.unwrap_or(f64::INFINITY)
}

/// A part of the critical path that is long enough to be named.
struct LongPart {
    took_s: f64,
    words: &'static str,
}

/// `of 51.0 min in the median run, 40.0 min wait for people, …`.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let parts = long_parts(variant)?;
    let shown = parts.named.len().min(SHOWN);
    let text = format!(
        "of {} in the median run, {}",
        time(parts.all_s),
        listed(&parts.named[..shown])
    );
    (!parts.named.is_empty()).then_some(text)
}

/// The critical path of a run, and its long parts.
struct NamedParts {
    all_s: f64,
    named: Vec<String>,
}

/// The parts of the critical path of the median run that are long enough to be named, the longest first.
fn long_parts(variant: &VariantResults<'_>) -> Option<NamedParts> {
    let run = median_run(variant)?;
    let all = run.reachable_ready_s.filter(|all| *all > 0.0)?;
    let mut parts: Vec<LongPart> = Vec::new();
    for part in &PARTS {
        let Some(took_s) = (part.of)(run) else {
            continue;
        };
        if took_s >= NAMED * all {
            let words = part.words;
            parts.push(LongPart { took_s, words });
        }
    }
    parts.sort_by(|a, b| b.took_s.total_cmp(&a.took_s));
    let named: Vec<String> = parts
        .iter()
        .map(|part| format!("{} {}", time(part.took_s), part.words))
        .collect();
    Some(NamedParts { all_s: all, named })
}

/// `On the critical path of the median run, 40.0 of 51.0 min wait for people, …`.
pub(super) fn sentence(label: &str, variant: &VariantResults<'_>) -> Option<String> {
    let parts = long_parts(variant)?;
    (!parts.named.is_empty()).then(|| {
        format!(
            "On the critical path of `{label}` ({} in the median run), {}.",
            time(parts.all_s),
            listed(&parts.named)
        )
    })
}

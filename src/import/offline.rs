//! Targets that were unreachable when they were exported. They are offline in every run.
//!
//! The column `offline` in the table of clusters marks them. An agent counts as silent if its last report is much
//! older than the newest report of all agents.

use jiff::Timestamp;

use super::target::FleetTarget;
use crate::document::problem::some_of;
use crate::units::counted;

/// Age relative to the newest report at which an agent counts as offline: four check-in intervals of 15 min, the
/// default for Fleet's agents. The factor is a guess.
const LONG_AGO_S: f64 = 3600.0;

/// Marks the targets whose agents have not reported for a long time. `reports`: for each target, the time of its
/// agent's last report, if the agent is expected to report. Times after `clock` are ignored: they come from an agent
/// with a wrong clock and would make all others look late.
pub(super) fn mark_silent(
    targets: &mut [FleetTarget],
    reports: &[Option<&str>],
    clock: Option<Timestamp>,
    notes: &mut Vec<String>,
) {
    let mut future = 0;
    let mut seconds = Vec::new();
    for report in reports {
        let time = report.and_then(|text| text.parse::<Timestamp>().ok());
        let is_future = clock.is_some_and(|clock| time.is_some_and(|time| time > clock));
        future += usize::from(is_future);
        let time = time.filter(|_| !is_future);
        seconds.push(time.map(|time| time.as_nanosecond() as f64 / 1e9));
    }
    if future > 0 {
        notes.push(format!(
            "left out: the last report of {}, a time in the future",
            counted(future, "agent")
        ));
    }
    let newest = seconds.iter().flatten().copied();
    let newest = newest.fold(f64::NEG_INFINITY, f64::max);
    for (target, seen) in targets.iter_mut().zip(&seconds) {
        target.offline |= seen.is_some_and(|seen| newest - seen > LONG_AGO_S);
    }
    let why = "their agents were last seen more than an hour before the newest report";
    notes.extend(note(targets, why));
}

/// Returns the note about offline targets, if there are any.
pub(super) fn note(targets: &[FleetTarget], why: &str) -> Option<String> {
    let mut names = Vec::new();
    for target in targets {
        if target.offline {
            names.push(target.name.clone());
        }
    }
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "{} of {} are offline in every run, because {why}: {}; see column `offline` of clusters.csv",
        names.len(),
        targets.len(),
        some_of(&names)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(count: usize) -> Vec<FleetTarget> {
        let mut targets = Vec::new();
        for at in 0..count {
            targets.push(FleetTarget {
                name: format!("c{at}"),
                ..FleetTarget::default()
            });
        }
        targets
    }

    #[test]
    fn an_agent_is_silent_if_its_report_is_an_hour_older_than_the_latest_past_report() {
        let mut targets = targets(5);
        let reports = [
            Some("2026-03-02T08:00:00Z"),
            Some("2026-03-02T06:59:59Z"),
            Some("2026-03-02T07:00:00Z"),
            None,
            Some("2026-03-09T08:00:00Z"),
        ];
        let clock = "2026-03-02T09:00:00Z".parse().ok();
        let mut notes = Vec::new();
        mark_silent(&mut targets, &reports, clock, &mut notes);
        let offline: Vec<bool> = targets.iter().map(|target| target.offline).collect();
        assert_eq!(offline, [false, true, false, false, false]);
        let [future, silent] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert!(future.contains("the last report of 1 agent, a time in the future"));
        assert!(
            silent.starts_with("1 of 5 are offline in every run"),
            "{silent}"
        );
        assert!(silent.contains(": `c1`; see column `offline`"), "{silent}");
    }
}

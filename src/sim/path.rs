//! Splits the duration of a rollout by cause: its critical path, from the release to the last target that became
//! ready.
//!
//! The path is followed backwards. The last target was updated from its instruction until it was ready. The pass that
//! instructed it began after another target had become ready, which is the previous target on the path, and so on back
//! to the release. Each part of the time has one cause, so the causes add up to the time to completion.
//!
//! An update has four causes. `report` is the time for the instruction to reach the cluster and for the report to
//! return, with the delays of the agent. In between, `transfer` is the time in which a download is open, or a pull
//! queries the registry or waits for a cache or cell. `unpack` is any other time in which images are unpacked or
//! written. `start` is the rest: replacing pods, starting containers, probes, and waits after failures. Before an
//! update, `people` is the time spent waiting for a person, and `rule` is the rest: limits, timed pauses of the
//! strategy (even while also waiting for a person), and the controller's own loop. If a person has stopped the
//! rollout, the time until an instructed cluster can begin is also `people`.
//!
//! Left out: slots freed by a target other than the latest one. The pass needed both.

use itertools::Itertools;

use super::progress::Progress;
use crate::results::PassRow;
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterFacts, DeploymentFacts};

/// The parts of the time to completion, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RolloutPath {
    pub(super) rule: SimDuration,
    pub(super) people: SimDuration,
    pub(super) transfer: SimDuration,
    pub(super) unpack: SimDuration,
    pub(super) throttled: SimDuration,
    pub(super) unavailable: SimDuration,
    pub(super) kubelet: SimDuration,
    pub(super) start: SimDuration,
    pub(super) offline: SimDuration,
    pub(super) report: SimDuration,
}

/// The intervals of waiting for people.
#[derive(Clone, Debug, Default)]
pub(super) struct PeoplesWaits {
    /// Intervals from the request of an action to the action.
    pub(super) pauses: Vec<(SimTime, SimTime)>,
    /// Timed waits of the strategy, during which a missing action causes no delay.
    pub(super) timed: Vec<(SimTime, SimTime)>,
    /// Approvals at times set in the experiment. They count as waiting since the previous step on the path.
    pub(super) approvals: Vec<SimTime>,
}

impl PeoplesWaits {
    /// Returns the time spent waiting for a person within an interval, without the time of concurrent timed waits.
    fn between(&self, from: SimTime, to: SimTime) -> SimDuration {
        let mut all = self.pauses.clone();
        let approved = self.approvals.iter().filter(|at| (from..=to).contains(*at));
        if let Some(last) = approved.max() {
            all.push((from, *last));
        }
        all.extend(&self.timed);
        covered(&all, from, to).saturating_sub(covered(&self.timed, from, to))
    }
}

/// Returns the time within an interval in which at least one of these waits was in progress.
fn covered(waits: &[(SimTime, SimTime)], from: SimTime, to: SimTime) -> SimDuration {
    let mut at = from;
    let mut sum = SimDuration::ZERO;
    for (begins, ends) in waits.iter().sorted_unstable() {
        let begins = (*begins).max(at);
        let ends = (*ends).min(to);
        if begins < ends {
            sum += ends - begins;
            at = ends;
        }
    }
    sum
}

/// The start and the end of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEnds {
    pub(super) released: SimTime,
    pub(super) end: SimTime,
}

/// The facts about a target: those of its deployment, and those of its cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TargetFacts {
    pub(super) deployment: DeploymentFacts,
    pub(super) cluster: ClusterFacts,
}

impl RolloutPath {
    pub(super) fn of(
        PathEnds { released, end }: PathEnds,
        progress: &Progress,
        facts: &[TargetFacts],
        passes: &[PassRow],
        waits: &PeoplesWaits,
    ) -> Self {
        let mut path = Self::default();
        let mut until = end;
        // Each step goes back by at least one change, so the loop terminates.
        let mut last = progress.done_until(end, usize::MAX);
        while let Some(done) = last {
            // The product may see a target as ready before all targets are ready.
            path.wait(done.at, until, waits);
            let facts = facts[done.target.index()];
            let instructed = facts.deployment.instructed.unwrap_or(done.at);
            let instructed = instructed.clamp(released, done.at.max(released));
            path.update(instructed, done.at, facts, waits);
            until = instructed;
            let pass = last_pass(passes, instructed).unwrap_or(instructed);
            last = progress
                .done_until(pass.min(instructed), done.number)
                .filter(|before| before.at > released);
        }
        path.wait(released, until, waits);
        path
    }

    fn wait(&mut self, from: SimTime, to: SimTime, waits: &PeoplesWaits) {
        let people = waits.between(from, to);
        self.people += people;
        self.rule += (to - from).saturating_sub(people);
    }

    fn update(
        &mut self,
        instructed: SimTime,
        done: SimTime,
        facts: TargetFacts,
        waits: &PeoplesWaits,
    ) {
        let TargetFacts {
            deployment,
            cluster,
        } = facts;
        let begun = deployment.begun.unwrap_or(done).clamp(instructed, done);
        // A release that changes no pod leaves them ready.
        let settled = deployment.settled.unwrap_or(begun).clamp(begun, done);
        let stopped = covered(&waits.pauses, instructed, begun);
        self.people += stopped;
        let mut there = (begun - instructed).saturating_sub(stopped);
        let mut back = done - settled;
        self.offline += taken(&mut there, deployment.instruction_waited);
        self.offline += taken(&mut back, deployment.report_waited);
        self.report += there + back;
        let mut inside = settled - begun;
        self.transfer += taken(&mut inside, cluster.transferring);
        self.unpack += taken(&mut inside, cluster.unpacking);
        self.throttled += taken(&mut inside, cluster.throttled);
        self.unavailable += taken(&mut inside, cluster.unavailable);
        self.kubelet += taken(&mut inside, cluster.held_by_kubelet);
        self.start += inside;
    }
}

/// Subtracts a part from the rest of a span. Returns the amount that was subtracted.
fn taken(left: &mut SimDuration, part: SimDuration) -> SimDuration {
    let part = part.min(*left);
    *left = left.saturating_sub(part);
    part
}

/// Returns the start of the last pass that could have instructed a target at this time.
fn last_pass(passes: &[PassRow], instructed: SimTime) -> Option<SimTime> {
    let instructed_s = instructed.as_secs_f64();
    let after = passes.partition_point(|pass| pass.t_s <= instructed_s);
    let pass = &passes[after.checked_sub(1)?];
    Some(SimTime::ZERO + SimDuration::from_secs_f64(pass.t_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::TargetId;

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    fn ends(released: u64, end: u64) -> PathEnds {
        PathEnds {
            released: at(released),
            end: at(end),
        }
    }

    fn facts(instructed: u64, begun: u64, transfer: u64, unpack: u64, settled: u64) -> TargetFacts {
        TargetFacts {
            deployment: DeploymentFacts {
                instructed: Some(at(instructed)),
                begun: Some(at(begun)),
                settled: Some(at(settled)),
                ..DeploymentFacts::default()
            },
            cluster: ClusterFacts {
                begun: Some(at(begun)),
                transferring: SimDuration::from_secs(transfer),
                unpacking: SimDuration::from_secs(unpack),
                ..ClusterFacts::default()
            },
        }
    }

    #[test]
    fn a_critical_path_through_two_targets_and_an_approval_equals_a_manual_calculation() {
        // Released at 10. The first target is instructed at 12, begins at 13, pulls for 20 + 5, is ready at 50 and
        // seen as ready at 52. A person approves from 52 to 1052. The pass at 1060 instructs the second target, which
        // is ready at 1100 and seen as ready at 1103.
        let all = [
            facts(12, 13, 20, 5, 50),
            facts(1062, 1064, 10, 4, 1100),
            facts(12, 13, 1, 1, 20),
        ];
        let mut progress = Progress::new(3);
        for (cluster, secs) in [(2, 21), (0, 52), (1, 1103)] {
            progress.set(TargetId(cluster), true, at(secs));
        }
        let pass = |t_s: f64| PassRow {
            t_s,
            passes: 1,
            ..PassRow::default()
        };
        let passes = [pass(10.0), pass(1060.0)];
        let waits = PeoplesWaits {
            pauses: vec![(at(52), at(1052))],
            ..PeoplesWaits::default()
        };
        let ends = ends(10, 1103);
        let path = RolloutPath::of(ends, &progress, &all, &passes, &waits);
        let set = PeoplesWaits {
            approvals: vec![at(1052)],
            ..PeoplesWaits::default()
        };
        assert_eq!(RolloutPath::of(ends, &progress, &all, &passes, &set), path);
        let secs = [
            path.rule,
            path.people,
            path.transfer,
            path.unpack,
            path.throttled,
            path.unavailable,
            path.kubelet,
            path.start,
            path.offline,
            path.report,
        ];
        let secs = secs.map(SimDuration::as_secs_f64);
        // Rule: 10 to 12, and 1052 to 1062. Report: 12 to 13, 50 to 52, 1062 to 1064, 1100 to 1103. Updates between
        // the reports: 37 and 36.
        assert_eq!(
            secs.map(|secs| (secs * 1e6).round() as u64 / 1_000_000),
            [12, 1000, 30, 9, 0, 0, 0, 34, 0, 8]
        );
        assert!((secs.iter().sum::<f64>() - 1093.0).abs() < 1e-9);
    }

    #[test]
    fn waits_of_pulls_and_messages_are_separate_parts_and_all_parts_add_up() {
        // Released and instructed at 10, begins at 30, settled at 80, seen at 100.
        let mut waiting = facts(10, 30, 20, 10, 80);
        waiting.cluster.throttled = SimDuration::from_secs(5);
        waiting.cluster.unavailable = SimDuration::from_secs(4);
        waiting.cluster.held_by_kubelet = SimDuration::from_secs(3);
        waiting.deployment.instruction_waited = SimDuration::from_secs(15);
        waiting.deployment.report_waited = SimDuration::from_secs(12);
        let mut progress = Progress::new(1);
        progress.set(TargetId(0), true, at(100));
        let path_of = |facts: TargetFacts| {
            let passes = [PassRow {
                t_s: 10.0,
                passes: 1,
                ..PassRow::default()
            }];
            let waits = PeoplesWaits::default();
            RolloutPath::of(ends(10, 100), &progress, &[facts], &passes, &waits)
        };
        let secs = |path: RolloutPath| {
            [
                path.transfer,
                path.unpack,
                path.throttled,
                path.unavailable,
                path.kubelet,
                path.start,
                path.offline,
                path.report,
            ]
            .map(|part| part.as_secs_f64() as u64)
        };
        // Instruction: 20 s, 15 s of them offline. Inside the cluster: 50 s. Report: 20 s, 12 s of them offline.
        assert_eq!(secs(path_of(waiting)), [20, 10, 5, 4, 3, 8, 27, 13]);
        // Waits that are longer than the available time count at most once.
        let mut long = waiting;
        long.cluster.unavailable = SimDuration::from_secs(1000);
        long.deployment.report_waited = SimDuration::from_secs(1000);
        assert_eq!(secs(path_of(long)), [20, 10, 5, 15, 0, 0, 35, 5]);
        // Without workloads, nothing begins or settles, so messages take all of the time.
        let mut nothing = TargetFacts::default();
        nothing.deployment.instructed = Some(at(10));
        assert_eq!(secs(path_of(nothing)), [0, 0, 0, 0, 0, 0, 0, 90]);
    }

    #[test]
    fn a_stop_that_delays_an_instructed_cluster_counts_as_a_wait_for_people() {
        // Instructed at 10, stopped from 12 to 112, begins at 113, ready at 150, seen as ready at 152.
        let mut progress = Progress::new(1);
        progress.set(TargetId(0), true, at(152));
        let passes = [PassRow {
            t_s: 10.0,
            passes: 1,
            ..PassRow::default()
        }];
        let waits = PeoplesWaits {
            pauses: vec![(at(12), at(112))],
            ..PeoplesWaits::default()
        };
        let path = RolloutPath::of(
            ends(10, 152),
            &progress,
            &[facts(10, 113, 20, 5, 150)],
            &passes,
            &waits,
        );
        assert_eq!(
            (path.people, path.report),
            (SimDuration::from_secs(100), SimDuration::from_secs(5))
        );
    }

    #[test]
    fn a_wait_for_a_person_counts_from_the_end_of_a_parallel_timed_wait() {
        let approval = |given: u64| PeoplesWaits {
            approvals: vec![at(given)],
            ..PeoplesWaits::default()
        };
        let request = |given: u64| PeoplesWaits {
            pauses: vec![(at(60), at(given))],
            ..PeoplesWaits::default()
        };
        for waits in [approval, request] {
            // All targets are done at 60. A timed wait until 660 overlaps the approval.
            let beside = |given: u64| PeoplesWaits {
                timed: vec![(at(60), at(660))],
                ..waits(given)
            };
            let people = |given| beside(given).between(at(60), at(2000));
            assert_eq!(people(1000), SimDuration::from_secs(340), "660 to 1000");
            assert_eq!(people(300), SimDuration::ZERO, "the person was faster");
        }
    }

    #[test]
    fn a_late_instruction_by_one_pass_counts_as_a_wait_for_the_rule() {
        // One pass at 0 writes for 100 s. The first target is ready long before the last one is instructed.
        let all = [facts(1, 2, 3, 1, 10), facts(100, 101, 3, 1, 110)];
        let mut progress = Progress::new(2);
        progress.set(TargetId(0), true, at(11));
        progress.set(TargetId(1), true, at(112));
        let passes = [PassRow {
            t_s: 0.0,
            passes: 1,
            ..PassRow::default()
        }];
        let path = RolloutPath::of(
            ends(0, 112),
            &progress,
            &all,
            &passes,
            &PeoplesWaits::default(),
        );
        assert_eq!(
            (path.rule, path.report),
            (SimDuration::from_secs(100), SimDuration::from_secs(3))
        );
    }
}

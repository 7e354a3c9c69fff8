//! Applies that fail because the experiment specifies failures (`faults.apply`), or because the workloads are not
//! ready within the time-out.
//!
//! An apply leaves the workloads unchanged if it is rejected, its hook fails or its requests get no response. If it
//! times out waiting for the workloads, it has changed them. If the agent rolls back, the workloads get the previous
//! revision again, and the apply ends when that revision is ready, or after the same time-out. In a cluster without a
//! previous revision, the workloads are removed. The agent reports each failure, and retries as
//! [`crate::world::ApplyRetry`] specifies. If it has received another instruction in the meantime, it applies that
//! immediately.
//!
//! An agent tries an apply that fails permanently only once, because further tries would have no visible effect. A
//! cluster that is cut off tries again when it is back. A management cluster that applies by itself
//! ([`crate::world::ApplyRetry::ByController`]) decides about further tries, receives a report of each failure, and
//! can abort an apply.
//!
//! Left out: objects of a rejected apply that the API server had accepted before, hooks that run after the apply, the
//! time that requests of a rollback take, and failures that end by themselves at some time of day.

use crate::world::World;
use crate::world::clusters::agent_spec::{AgentSpec, LookSpec, ReadinessSpec};
use crate::world::clusters::agent_steps::DeploymentContext;
use crate::world::clusters::apply_rules::{ApplyFailure, ApplyRetry, FailedApply};
use crate::world::clusters::deployment::AppDeployment;
use crate::world::event::{AgentEvent, Event, Queue};
use crate::world::faults::spec::ApplyFaultSpec;
use crate::world::ids::TargetId;
use crate::world::spec::WorldSpec;
use fleetsim_rollout::Revision;
use fleetsim_units::SimDuration;

impl AgentSpec {
    /// Returns the wait after this number of consecutive failed applies. `None`: the agent does not try again by
    /// itself.
    fn retry_wait(&self, failures: u32) -> Option<SimDuration> {
        if self.applies.again != ApplyRetry::AtLooks {
            return self.applies.again.back_off(failures);
        }
        let looks = match &self.readiness {
            ReadinessSpec::Looks(looks) => *looks,
            ReadinessSpec::Delay(_) | ReadinessSpec::Debounce(_) => LookSpec::KUBEFLEET,
        };
        looks
            .intervals(false)
            .nth(failures.saturating_sub(1) as usize)
    }
}

impl AppDeployment {
    /// Returns the fault that affects the apply in progress.
    fn apply_fault<'w>(&self, context: &DeploymentContext<'w>) -> Option<&'w ApplyFaultSpec> {
        self.next_fault(context.spec, self.agent.applying?)
    }

    /// Returns the fault that affects the next apply of a revision.
    fn next_fault<'w>(
        &self,
        world: &'w WorldSpec,
        revision: Revision,
    ) -> Option<&'w ApplyFaultSpec> {
        let faults = world.apply_faults(self.application, revision);
        let fault = &faults[self.draws.of(revision).apply_fault?];
        let is_over = fault.attempts.is_some_and(|most| self.agent.faults >= most);
        (!is_over).then_some(fault)
    }

    /// Schedules the failure of the apply that has begun, if a fault affects it. `wait`: the time until its content is
    /// read. `nth`: the number of the apply of the deployment.
    pub(super) fn schedule_failure(
        &mut self,
        usual: SimDuration,
        wait: SimDuration,
        nth: u64,
        context: &mut DeploymentContext<'_>,
    ) -> bool {
        let Some(fault) = self.apply_fault(context) else {
            return false;
        };
        self.agent.faults = self.agent.faults.saturating_add(1);
        let takes = fault.takes(usual, context.streams, self.key, nth);
        let fails = Event::Agent(AgentEvent::ApplyFails(self.id, fault.kind));
        self.agent.fault_due = Some(context.queue.schedule_in(wait + takes, fails));
        true
    }

    /// Called when the objects are applied: if the agent waits for the workloads, the wait begins now.
    pub(super) fn wait_begins(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.waits = context.agent.wait;
        if let (true, Some(limit)) = (context.agent.wait, context.agent.applies.wait_limit) {
            let ends = Event::Agent(AgentEvent::WaitEnds(self.id));
            self.agent.wait_due = Some(context.queue.schedule_in(limit, ends));
        }
    }

    /// Ends the agent's wait for the workloads.
    pub(super) fn wait_is_over(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.waits = false;
        self.agent.is_rolling_back = false;
        if let Some(due) = self.agent.wait_due.take() {
            context.queue.cancel(due);
        }
    }

    /// Handles a failed apply: the agent reports it, and retries later or applies a newer instruction.
    pub(super) fn apply_fails(
        &mut self,
        failure: ApplyFailure,
        context: &mut DeploymentContext<'_>,
    ) {
        self.wait_is_over(context);
        self.agent.fault_due = None;
        let rules = context.agent.applies;
        let is_hopeless = self
            .apply_fault(context)
            .is_some_and(|fault| fault.attempts.is_none());
        let failed = self.agent.applying.take();
        self.agent.failure = failed.map(|tried| FailedApply::of(tried, failure));
        self.agent.failure_is_news = true;
        self.agent.failures = self.agent.failures.saturating_add(1);
        self.agent.given_up = failed.filter(|_| rules.is_final(failure));
        let report_wait = self.send_report(self.settled, context);
        self.work_ends(report_wait, context);
        if self.agent.instructed != failed {
            self.instruction_arrives(context);
        } else if !is_hopeless
            && self.agent.given_up.is_none()
            && let Some(wait) = context.agent.retry_wait(self.agent.failures)
        {
            let again = Event::Agent(AgentEvent::ApplyAgain(self.id));
            self.agent.retry_due = Some(context.queue.schedule_in(report_wait + wait, again));
        }
    }

    /// Retries a failed apply, if the agent can do so now.
    pub(super) fn apply_again(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.retry_due = None;
        self.instruction_arrives(context);
    }
}

impl World<'_> {
    /// Returns the failure of the next apply of a revision of a target. `None`: the apply will succeed.
    pub fn next_failure(&self, id: TargetId, revision: Revision) -> Option<ApplyFailure> {
        let deployment = &self.deployments[id.index()];
        Some(deployment.next_fault(self.spec, revision)?.kind)
    }

    /// Returns whether every apply of the wanted revision of a target fails, however often the agent tries.
    pub fn always_fails(&self, id: TargetId) -> bool {
        let deployment = &self.deployments[id.index()];
        deployment
            .next_fault(self.spec, deployment.goal)
            .is_some_and(|fault| fault.attempts.is_none())
    }

    /// Aborts an apply that would fail, on behalf of the management cluster. The agent does not report the abort.
    pub fn break_off(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        if let Some(due) = deployment.agent.fault_due.take() {
            context.queue.cancel(due);
            deployment.agent.applying = None;
            deployment.release_worker(&mut context);
        }
    }

    /// Called when the workloads are not ready within the time-out of the apply, or of its rollback.
    pub(super) fn wait_ends(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        let begins_rollback = context.agent.applies.rolls_back && !deployment.agent.is_rolling_back;
        deployment.wait_is_over(&mut context);
        if !begins_rollback {
            deployment.apply_fails(ApplyFailure::NotReady, &mut context);
            return;
        }
        let Some(before) = deployment.agent.applied else {
            self.take_down(id, queue);
            let (deployment, mut context) = self.deployment_with_context(id, queue);
            deployment.apply_fails(ApplyFailure::NotReady, &mut context);
            return;
        };
        self.roll_out(id, before, queue);
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.agent.is_rolling_back = true;
        deployment.wait_begins(&mut context);
        deployment.note_settled(&mut context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::clusters::agent_spec::DebounceSpec;
    use crate::world::clusters::apply_rules::ApplyRules;
    use crate::world::event::Report;
    use crate::world::ids::{NEW, NOTHING, OLD};
    use crate::world::spec::ReleaseKind;
    use crate::world::testing::{
        Intervention, Played, bare_world, fixed, play_agent, play_agent_with, play_with,
    };
    use fleetsim_units::{Share, SimDuration};

    const DAY: SimDuration = SimDuration::from_hours(24);

    /// An agent whose applies take 3 s, and are retried after 5 ms, 10 ms and so on. Everything else takes no time.
    const AGENT: AgentSpec = AgentSpec {
        apply: fixed(SimDuration::from_secs(3)),
        applies: ApplyRules {
            again: ApplyRetry::CONTROLLER_RUNTIME,
            ..ApplyRules::NONE
        },
        ..AgentSpec::INSTANT
    };

    /// Returns an agent that waits 10 s for the workloads.
    fn waiting(rolls_back: bool) -> AgentSpec {
        AgentSpec {
            wait: true,
            applies: ApplyRules {
                wait_limit: Some(SimDuration::from_secs(10)),
                rolls_back,
                ..AGENT.applies
            },
            ..AGENT
        }
    }

    /// Creates a cluster whose pod is available `ready_after` seconds after the apply: after a pull of 1 s, and
    /// `minReadySeconds`.
    fn world(release: ReleaseKind, ready_after: u64) -> WorldSpec {
        let mut world = bare_world(1);
        world.applications[0].release = release;
        world.applications[0].workloads[0].min_ready = SimDuration::from_secs(ready_after - 1);
        world
    }

    fn fault(kind: ApplyFailure, attempts: Option<u32>) -> ApplyFaultSpec {
        ApplyFaultSpec {
            share: Share::ALL,
            clusters: Vec::new(),
            kind,
            attempts,
            after: None,
        }
    }

    /// Returns what is reported when an apply of the new revision has failed.
    fn failed(kind: ApplyFailure) -> Option<FailedApply> {
        Some(FailedApply::of(NEW, kind))
    }

    /// Returns the arrivals of reports, in milliseconds.
    fn reports(played: &Played) -> Vec<(u64, Report)> {
        let arrived = played.events.iter().filter_map(|(at, event)| match event {
            Event::Agent(AgentEvent::ReportArrives(report)) => {
                Some((at.as_nanos() / 1_000_000, *report))
            }
            _ => None,
        });
        arrived.collect()
    }

    /// Returns the times at which waits for the workloads timed out, in milliseconds.
    fn waits(played: &Played) -> Vec<u64> {
        let seconds = played.times(|event| matches!(event, Event::Agent(AgentEvent::WaitEnds(_))));
        seconds.iter().map(|at| (at * 1e3).round() as u64).collect()
    }

    /// Returns when the cluster was ready, in milliseconds.
    fn ready(played: &Played) -> u64 {
        let seconds = played.ready_s()[0].expect("the cluster became ready");
        (seconds * 1e3).round() as u64
    }

    fn last_report(played: &Played) -> Report {
        reports(played).last().expect("there are reports").1
    }

    #[test]
    fn a_failed_apply_is_reported_once_and_retried_after_its_back_off() {
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Rejected, Some(2))];
        let played = play_agent(&world, AGENT);
        // The first two applies end after 3 s and after 3.005 + 3 s. The third begins 10 ms later, and its pull takes
        // 1 s.
        let rejected = Report {
            target: TargetId(0),
            applied: OLD,
            ready: true,
            degraded: false,
            failure: failed(ApplyFailure::Rejected),
        };
        let reports = reports(&played);
        assert_eq!(reports[0], (3000, rejected), "the old pods still run");
        assert_eq!(reports[1].0, 9015, "the second failure is no news");
        assert_eq!((reports[1].1.applied, reports[1].1.failure), (NEW, None));
        assert_eq!(ready(&played), 10_015);
    }

    #[test]
    fn an_apply_that_always_fails_changes_nothing_and_the_world_becomes_idle() {
        for (kind, takes) in [
            (ApplyFailure::Rejected, 3000),
            (ApplyFailure::Immutable, 3000),
            (ApplyFailure::Hook, 3000),
            // A webhook must answer within 10 s.
            (ApplyFailure::Timeout, 13_000),
        ] {
            let mut world = world(ReleaseKind::Initial, 1);
            world.faults.apply = vec![fault(kind, None)];
            let played = play_agent(&world, AGENT);
            let reports = reports(&played);
            let [(at, report)] = reports[..] else {
                panic!("{kind:?}: {reports:?}")
            };
            assert_eq!(at, takes, "{kind:?}");
            assert_eq!(
                (report.applied, report.ready, report.failure),
                (NOTHING, false, failed(kind))
            );
            assert_eq!(played.totals.pulls, 0, "{kind:?}");
            assert_eq!(played.ready_s(), [None], "{kind:?}");
        }
    }

    #[test]
    fn the_first_entry_that_selects_a_cluster_applies_with_its_duration() {
        let mut world = world(ReleaseKind::Update, 1);
        let elsewhere = ApplyFaultSpec {
            clusters: vec!["other".to_owned()],
            ..fault(ApplyFailure::Rejected, None)
        };
        let here = ApplyFaultSpec {
            clusters: vec!["c0000".to_owned()],
            after: Some(fixed(SimDuration::from_secs(60))),
            ..fault(ApplyFailure::Hook, None)
        };
        world.faults.apply = vec![elsewhere, here, fault(ApplyFailure::Timeout, None)];
        let played = play_agent(&world, AGENT);
        let (at, report) = reports(&played)[0];
        assert_eq!((at, report.failure), (60_000, failed(ApplyFailure::Hook)));
    }

    #[test]
    fn without_a_rollback_a_retry_finds_the_pods_ready() {
        let played = play_agent(&world(ReleaseKind::Update, 30), waiting(false));
        // The revision is applied after 3 s. The waits end after 13 s, and after 13.005 + 3 + 10 s; during the third
        // wait the pod becomes ready.
        assert_eq!(waits(&played), [13_000, 26_005]);
        assert_eq!(ready(&played), 33_000);
        let reports = reports(&played);
        let failures = reports
            .iter()
            .filter(|(_, report)| report.failure.is_some());
        let failures: Vec<_> = failures
            .map(|(at, report)| (*at, report.applied, report.ready))
            .collect();
        // By then the old pod is gone, and the second failure does not change the reported state.
        assert_eq!(failures, [(13_000, OLD, false)]);
        assert_eq!(last_report(&played).failure, None);
    }

    #[test]
    fn pods_that_are_ready_in_time_end_the_wait() {
        for rolls_back in [false, true] {
            let played = play_agent(&world(ReleaseKind::Update, 9), waiting(rolls_back));
            assert!(waits(&played).is_empty());
            assert_eq!(ready(&played), 12_000);
        }
    }

    #[test]
    fn with_a_rollback_every_retry_starts_over_and_fails() {
        for release in [ReleaseKind::Update, ReleaseKind::Initial] {
            let played = play_agent(&world(release, 30), waiting(true));
            let waits = waits(&played);
            // The old pod still runs, or there was none, so a rollback takes no time. Each attempt takes 3 s to apply
            // and 10 s to time out.
            assert_eq!(waits[..3], [13_000, 26_005, 39_015], "{release:?}");
            let last = waits.len() - 1;
            assert_eq!(waits[last] - waits[last - 1], 1_013_000, "{release:?}");
            assert_eq!(played.ready_s(), [None], "{release:?}");
            assert_eq!(
                last_report(&played).failure,
                failed(ApplyFailure::NotReady),
                "{release:?}"
            );
        }
    }

    #[test]
    fn an_agent_instructed_to_roll_back_waits_for_the_failure() {
        let mut world = world(ReleaseKind::Update, 1);
        let fault = ApplyFaultSpec {
            after: Some(fixed(SimDuration::from_secs(5))),
            ..fault(ApplyFailure::Rejected, None)
        };
        world.faults.apply = vec![fault];
        let played = play_with(
            &world,
            1,
            DAY,
            &[(1.0, |world, queue| world.instruct(TargetId(0), OLD, queue))],
        );
        let reports = reports(&played);
        assert_eq!(reports[0].1.failure, failed(ApplyFailure::Rejected));
        let last = last_report(&played);
        assert_eq!((last.applied, last.ready, last.failure), (OLD, true, None));
    }

    #[test]
    fn a_failure_names_the_revision_that_was_tried_also_if_another_is_wanted_meanwhile() {
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Rejected, None)];
        let back: Intervention = |world, queue| world.instruct(TargetId(0), OLD, queue);
        // The apply of the new revision takes 3 s.
        let played = play_agent_with(&world, AGENT, &[(2.0, back)]);
        let reports = reports(&played);
        assert_eq!(reports[0].0, 3000);
        assert_eq!(reports[0].1.failure, failed(ApplyFailure::Rejected));
        assert_eq!(
            last_report(&played).failure,
            None,
            "the old revision is applied"
        );
    }

    #[test]
    fn a_watching_agent_reports_readiness_after_an_apply_that_changes_nothing() {
        let agent = AgentSpec {
            readiness: ReadinessSpec::Debounce(DebounceSpec::FLEET),
            ..AGENT
        };
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Rejected, None)];
        let back: Intervention = |world, queue| world.instruct(TargetId(0), OLD, queue);
        let played = play_agent_with(&world, agent, &[(100.0, back)]);
        let reports = reports(&played);
        let [.., (applied_at, applied), (ready_at, ready)] = reports[..] else {
            panic!("two reports after the return: {reports:?}");
        };
        assert_eq!((applied.applied, applied.ready), (OLD, false));
        assert_eq!(
            (ready.applied, ready.ready, ready.failure),
            (OLD, true, None)
        );
        assert_eq!(
            ready_at - applied_at,
            5_000,
            "as long as after any other apply"
        );
    }

    #[test]
    fn a_polling_agent_applies_again_at_its_checks() {
        let agent = AgentSpec {
            readiness: ReadinessSpec::Looks(LookSpec::KUBEFLEET),
            applies: ApplyRules {
                again: ApplyRetry::AtLooks,
                ..ApplyRules::NONE
            },
            ..AGENT
        };
        for (failures, expected) in [(1, 5.0), (2, 2.0), (3, 2.4), (100, 900.0)] {
            let wait = agent.retry_wait(failures).expect("it tries again");
            assert!(
                (wait.as_secs_f64() - expected).abs() < 1e-6,
                "{failures}: {wait}"
            );
        }
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Rejected, Some(2))];
        let played = play_agent(&world, agent);
        // Three applies of 3 s, waits of 5 and 2 s between them, and 5 s until the next check.
        assert_eq!(ready(&played), 21_000);
    }

    #[test]
    fn an_apply_that_ends_for_good_is_tried_again_only_with_another_revision() {
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Immutable, Some(1))];
        let agent = AgentSpec {
            applies: ApplyRules {
                immutable_is_final: true,
                ..AGENT.applies
            },
            ..AGENT
        };
        let played = play_agent(&world, agent);
        let reports = reports(&played);
        let [(at, report)] = reports[..] else {
            panic!("one report: {reports:?}")
        };
        assert_eq!(
            (at, report.failure),
            (3000, failed(ApplyFailure::Immutable))
        );
        assert_eq!(played.ready_s(), [None]);
    }

    #[test]
    fn a_controller_that_applies_receives_each_failure_and_decides_about_the_next_attempt() {
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Rejected, Some(2))];
        let agent = AgentSpec {
            applies: ApplyRules {
                again: ApplyRetry::ByController,
                ..ApplyRules::NONE
            },
            ..AGENT
        };
        let played = play_agent(&world, agent.clone());
        assert_eq!(
            reports(&played).len(),
            1,
            "the agent does nothing by itself"
        );
        let again: Intervention = |world, queue| world.push(TargetId(0), NEW, queue);
        let played = play_agent_with(&world, agent, &[(10.0, again), (20.0, again)]);
        let failures: Vec<u64> = reports(&played)
            .iter()
            .filter(|(_, report)| report.failure.is_some())
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(failures, [3000, 13_000], "equal failures are both told");
        assert_eq!(ready(&played), 24_000);
    }

    #[test]
    fn an_apply_that_is_broken_off_is_not_heard_of() {
        let mut world = world(ReleaseKind::Update, 1);
        world.faults.apply = vec![fault(ApplyFailure::Hook, Some(1))];
        let stop: Intervention = |world, queue| world.break_off(TargetId(0), queue);
        let again: Intervention = |world, queue| world.push(TargetId(0), NEW, queue);
        let played = play_agent_with(&world, AGENT, &[(1.0, stop), (2.0, again)]);
        let mut failed = reports(&played).into_iter();
        assert!(failed.all(|(_, report)| report.failure.is_none()));
        assert_eq!(ready(&played), 6000);
    }
}

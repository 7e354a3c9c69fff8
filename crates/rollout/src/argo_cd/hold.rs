//! The rule that blocks a rollout, with numbers and names.
//!
//! Argo CD itself does not report this; it is derived from a pass that would change nothing. The first applicable rule
//! is reported: no steps, the barrier of v3.6, a policy that forbids every request, a used-up `maxUpdate`, an open
//! step that is not complete, applications in no step, a policy that forbids writing a changed spec, and finally
//! Healthy rows of applications that are not healthy.

use itertools::Itertools;

use super::super::{Hold, TargetSet, stored, text};
use super::barrier::Barrier;
use super::row::RolloutStatus;
use super::view::{ApplicationView, AutoSync, OperationPhase};
use super::{ApplicationSetStatus, ApplicationsSync, ArgoCd};
use fleetsim_units::{SimDuration, SimTime};

/// The rule that is reported during the grace period. Its hold ends after a time, if another pass follows.
pub const REFRESH_GRACE_PERIOD: &str = "refreshGracePeriod";

impl ArgoCd {
    /// Returns the hold of a set whose last pass was within the grace period, if no pass follows.
    pub fn grace_period_hold(&self) -> Hold {
        let explanation = format!(
            "nothing is promoted within {} of a change, and no pass follows automatically (argoproj/argo-cd#29347): \
             the rollout continues with a generator's timer or the next change of an application",
            self.options.refresh_grace_period
        );
        Hold::new(REFRESH_GRACE_PERIOD, explanation)
    }

    /// Returns the rule that blocks the rollout at `view`. `None`: the rollout is finished, or the next pass makes
    /// progress. The call costs as much as several passes.
    pub fn hold(&self, view: &[ApplicationView]) -> Option<Hold> {
        if view.iter().all(ApplicationView::is_done) {
            return None;
        }
        let mut next = self.clone();
        next.sees_until(SimTime::MAX);
        // The ledger of a full pass is needed below.
        next.ledger = None;
        let at = self.last_pass + SimDuration::from_secs(1);
        let pass = next.reconcile_changed(at, view, &TargetSet::default(), &mut |_| Some(at));
        if pass.status.rows_written || !pass.actions.is_empty() {
            return None;
        }
        let stalled = StalledSet {
            set: &next,
            view,
            status: &pass.status,
        };
        match self.is_rolling() {
            Err(error) => Some(Hold::new("rollingSync.steps", error.to_string())),
            Ok(true) => stalled.first_hold(&StalledSet::ROLLING),
            Ok(false) => stalled.first_hold(&StalledSet::WITHOUT_STEPS),
        }
    }
}

/// A set in which a pass changed nothing, after that pass.
struct StalledSet<'a> {
    set: &'a ArgoCd,
    view: &'a [ApplicationView],
    status: &'a ApplicationSetStatus,
}

/// A rule that may block a set. Returns the hold if it does.
type HoldRule<'a> = fn(&StalledSet<'a>) -> Option<Hold>;

impl<'a> StalledSet<'a> {
    /// The rules of a rolling set.
    const ROLLING: [HoldRule<'a>; 7] = [
        Self::barrier,
        Self::policy,
        Self::budget,
        Self::open_step,
        Self::unselected,
        Self::unwritten,
        Self::settled_rows,
    ];

    /// The rules of a set that updates all applications simultaneously.
    const WITHOUT_STEPS: [HoldRule<'a>; 2] = [Self::unwritten, Self::all_at_once];

    /// Returns the hold of the first rule that blocks the set.
    fn first_hold(&self, rules: &[HoldRule<'a>]) -> Option<Hold> {
        rules.iter().find_map(|rule| rule(self))
    }
}

impl ApplicationView {
    /// Returns whether the application exists with other parameters than the set wants.
    fn has_other_parameters(&self) -> bool {
        let (Some(live), Some(generated)) = (&self.live, &self.generated) else {
            return false;
        };
        live.spec.parameters != generated.parameters
    }

    /// Returns whether the application exists without automated sync, so that it waits for a user.
    fn waits_for_user(&self) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|live| live.spec.auto_sync != AutoSync::Enabled)
    }
}

impl StalledSet<'_> {
    fn policy(&self) -> Option<Hold> {
        let policy = self.forbidding()?;
        let pending = self.list(|a| self.set.row_status(a) == Some(RolloutStatus::Pending));
        if pending.is_empty() {
            return None;
        }
        let pending = self.applications(&pending);
        let explanation = format!("{policy:?} forbids syncs of {pending}");
        Some(Hold::new("applicationsSync", explanation))
    }

    /// Returns the hold if the barrier of v3.6 applies.
    fn barrier(&self) -> Option<Hold> {
        if *self.status.barrier.as_ref()? == Barrier::GracePeriod {
            return Some(self.set.grace_period_hold());
        }
        let since = self.set.ledger.as_ref()?.barrier.as_ref()?.pending_since();
        let mut behind = Vec::new();
        for (index, view) in (0..).zip(self.view) {
            if let Some(live) = &view.live
                && live.reconciled_at.map(stored) < since
            {
                behind.push(index);
            }
        }
        let explanation = format!(
            "not compared since the last change, so nothing is promoted: {}",
            self.applications(&behind)
        );
        Some(Hold::new("refresh", explanation))
    }

    /// Returns the set's policy if it forbids writing existing applications.
    fn forbidding(&self) -> Option<ApplicationsSync> {
        let spec = &self.set.spec;
        (!spec.may_update()).then(|| spec.applications_sync())
    }

    /// Returns the hold if existing applications differ from the template and a policy forbids writing them.
    fn unwritten(&self) -> Option<Hold> {
        let policy = self.forbidding()?;
        let outdated = self.list(|a| self.application(a).has_other_parameters());
        if outdated.is_empty() {
            return None;
        }
        let outdated = self.applications(&outdated);
        let explanation = format!("{policy:?} forbids writing a changed spec to {outdated}");
        Some(Hold::new("applicationsSync", explanation))
    }

    fn budget(&self) -> Option<Hold> {
        let budgets = &self.status.budgets;
        let step = budgets.iter().position(|budget| budget.has_blocked)?;
        let budget = budgets[step];
        let waiting = self.list(|a| self.waits_in(a, step));
        let waiting = self.applications(&waiting);
        let number = step + 1;
        let limit = budget.limit.unwrap_or(0);
        let explanation = if limit <= 0 {
            format!(
                "maxUpdate is {limit} in step {number}, so no application is ever synced; {waiting} wait to be synced \
                 by hand",
            )
        } else {
            let updating = self.list(|a| self.is_updating_in(a, step));
            format!(
                "in step {number}, maxUpdate allows {limit} of {} to be updated concurrently; taken by {}; {waiting} \
                 wait",
                text::count(budget.total, "application"),
                self.reasons(&updating),
            )
        };
        Some(Hold::new("maxUpdate", explanation))
    }

    /// Returns whether only the budget of this step prevents the promotion of an application.
    fn waits_in(&self, application: u32, step: usize) -> bool {
        let index = application as usize;
        self.set.is_allowed(index)
            && self.set.plan.counted_in(index) == step
            && self.set.row_status(application) == Some(RolloutStatus::Waiting)
    }

    /// Returns whether an application counts towards the budget of this step.
    fn is_updating_in(&self, application: u32, step: usize) -> bool {
        self.set.plan.counted_in(application as usize) == step
            && matches!(
                self.set.row_status(application),
                Some(RolloutStatus::Pending | RolloutStatus::Progressing)
            )
    }

    /// Returns the hold if the last open step is not complete.
    fn open_step(&self) -> Option<Hold> {
        let open = self.status.open_steps;
        let last_open = (open as u32).checked_sub(1)?;
        let behind = self.list(|a| self.is_selected_by(a, last_open) && !self.is_complete(a));
        if behind.is_empty() {
            return None;
        }
        let waiting = self.list(|a| self.waits_behind(a, open));
        let mut explanation = format!(
            "step {open} is complete when all of it is Healthy; not yet: {}",
            self.reasons(&behind)
        );
        if !waiting.is_empty() {
            let waiting = self.applications(&waiting);
            explanation.push_str(&format!("; {waiting} in later steps wait"));
        }
        Some(Hold::new("rollingSync.steps", explanation))
    }

    fn is_selected_by(&self, application: u32, step: u32) -> bool {
        let mut steps = self.set.plan.steps_of(application);
        steps.any(|other| other == step)
    }

    /// Returns whether an application of a step after the first `open` steps still has to be synced. With a new
    /// commit, an application of a later step that was synced for another reason already runs it.
    fn waits_behind(&self, application: u32, open: usize) -> bool {
        self.is_behind_steps(application, open)
            && !self.is_complete(application)
            && !self.application(application).is_synced_as_wanted()
    }

    /// Returns whether the first step of an application is not among the first `open` steps.
    fn is_behind_steps(&self, application: u32, open: usize) -> bool {
        match self.set.plan.step_of[application as usize] {
            Some(step) => step as usize >= open,
            None => false,
        }
    }

    fn unselected(&self) -> Option<Hold> {
        let mut unselected = self.unfinished();
        unselected
            .retain(|a| !self.set.plan.selects(*a) && self.application(*a).generated.is_some());
        if unselected.is_empty() {
            return None;
        }
        let unselected = self.applications(&unselected);
        let explanation = format!("no step selects {unselected}, so no pass syncs them");
        Some(Hold::new("matchExpressions", explanation))
    }

    /// Returns the hold if every row is Healthy, but some application is not complete.
    fn settled_rows(&self) -> Option<Hold> {
        let lost = self.unfinished();
        if lost.is_empty() {
            return None;
        }
        let explanation = format!(
            "the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: {}",
            self.reasons(&lost)
        );
        Some(Hold::new("applicationStatus", explanation))
    }

    fn all_at_once(&self) -> Option<Hold> {
        let behind = self.unfinished();
        let mut manual = behind.clone();
        manual.retain(|a| self.application(*a).waits_for_user());
        if manual.is_empty() {
            let behind = self.reasons(&behind);
            let explanation = format!("all were updated simultaneously; not yet: {behind}");
            return Some(Hold::new("AllAtOnce", explanation));
        }
        let explanation = format!("only a user can sync {}", self.reasons(&manual));
        Some(Hold::new("syncPolicy.automated", explanation))
    }

    fn application(&self, application: u32) -> &ApplicationView {
        &self.view[application as usize]
    }

    fn is_complete(&self, application: u32) -> bool {
        self.application(application).live.is_some()
            && self.set.row_status(application) == Some(RolloutStatus::Healthy)
    }

    /// Returns the applications that do not match the set's spec, in the order of their names.
    fn unfinished(&self) -> Vec<u32> {
        self.list(|a| !self.application(a).is_done())
    }

    /// Returns the applications that satisfy `test`, in the order of their names.
    fn list(&self, test: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut list = self.set.by_name.clone();
        list.retain(|application| test(*application));
        list
    }

    /// Groups applications by the condition that they wait for, and formats the groups.
    fn reasons(&self, list: &[u32]) -> String {
        // The groups, in the order in which their reasons first occur.
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        for &application in list {
            let reason = self.reason(application);
            match groups.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, group)) => group.push(application),
                None => groups.push((reason, vec![application])),
            }
        }
        groups
            .iter()
            .map(|(reason, group)| format!("{} {reason}", self.applications(group)))
            .join("; ")
    }

    /// `Pending, OutOfSync, Degraded, operation Failed`, and the message of the operation where it is known.
    fn reason(&self, application: u32) -> String {
        let view = self.application(application);
        if view.is_invalid() {
            return "not valid".to_owned();
        }
        let Some(live) = &view.live else {
            return "not existing".to_owned();
        };
        let mut reason = format!("{:?}, {:?}", live.sync, live.health);
        if let Some(status) = self.set.row_status(application) {
            reason = format!("{status:?}, {reason}");
        }
        if let Some(operation) = live.operation_state {
            reason.push_str(&format!(", operation {:?}", operation.phase));
            // A failed operation is Running until `retry.limit`.
            if let Some(message) = live.operation_message {
                reason.push_str(&format!(" ({})", message.text(operation.phase)));
            } else if operation.phase == OperationPhase::Failed {
                reason.push_str(" (retries are used up)");
            }
        }
        reason
    }

    /// Returns a number and names: `3 applications (a, b, c)`.
    fn applications(&self, list: &[u32]) -> String {
        let names = list
            .iter()
            .map(|index| self.set.names[*index as usize].as_str());
        text::listed(names, "application")
    }
}

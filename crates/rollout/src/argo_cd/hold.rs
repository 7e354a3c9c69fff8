//! The rule that blocks a rollout, with numbers and names.
//!
//! Argo CD itself does not report this; it is derived from a pass that would change nothing. The first applicable rule
//! is reported: no steps, the barrier of v3.6, a policy that forbids every request, a used-up `maxUpdate`, an open step
//! that is not complete, applications in no step, a policy that forbids writing a changed spec, and finally Healthy
//! rows of applications that are not.

use itertools::Itertools;

use super::super::{Hold, TargetSet, stored, text};
use super::barrier::Barrier;
use super::limit::StepBudget;
use super::row::RolloutStatus;
use super::view::{ApplicationView, AutoSync};
use super::{ApplicationsSync, ArgoCd};
use fleetsim_units::{SimDuration, SimTime};

/// The rule of a hold that time alone ends, if a pass follows.
pub const REFRESH_GRACE_PERIOD: &str = "refreshGracePeriod";

impl ArgoCd {
    /// The hold of a set whose last pass was within the grace period, if no pass follows.
    pub fn grace_period_hold(&self) -> Hold {
        let explanation = format!(
            "nothing is promoted within {} of a change, and no pass follows by itself (argoproj/argo-cd#29347): a \
             generator with a timer or the next change of an application goes on",
            self.options.refresh_grace_period
        );
        Hold::new(REFRESH_GRACE_PERIOD, explanation)
    }

    /// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress. The call
    /// costs as much as several passes.
    pub fn hold(&self, view: &[ApplicationView]) -> Option<Hold> {
        if view.iter().all(ApplicationView::is_done) {
            return None;
        }
        let mut next = self.clone();
        next.sees_until(SimTime::MAX);
        // The ledger of a pass over all is needed below.
        next.ledger = None;
        let at = self.last_pass + SimDuration::from_secs(1);
        let pass = next.reconcile_changed(at, view, &TargetSet::default(), &mut |_| Some(at));
        if pass.status.rows_written || !pass.actions.is_empty() {
            return None;
        }
        let stalled = StalledSet {
            set: &next,
            view,
            open_steps: pass.status.open_steps,
        };
        match self.is_rolling() {
            Err(error) => Some(Hold::new("rollingSync.steps", error.to_string())),
            Ok(false) => stalled.unwritten().or_else(|| stalled.all_at_once()),
            Ok(true) => stalled
                .barrier(pass.status.barrier.as_ref())
                .or_else(|| stalled.policy())
                .or_else(|| stalled.budget(&pass.status.budgets))
                .or_else(|| stalled.open_step())
                .or_else(|| stalled.unselected())
                .or_else(|| stalled.unwritten())
                .or_else(|| stalled.settled_rows()),
        }
    }
}

/// A set in which a pass changed nothing, after that pass.
struct StalledSet<'a> {
    set: &'a ArgoCd,
    view: &'a [ApplicationView],
    open_steps: usize,
}

impl ApplicationView {
    /// Whether it exists with other parameters than the set wants.
    fn has_other_parameters(&self) -> bool {
        let (Some(live), Some(generated)) = (&self.live, &self.generated) else {
            return false;
        };
        live.spec.parameters != generated.parameters
    }

    /// Whether it exists, and Argo CD does not sync it by itself.
    fn waits_for_user(&self) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|live| live.spec.auto_sync != AutoSync::Enabled)
    }
}

impl StalledSet<'_> {
    fn policy(&self) -> Option<Hold> {
        let policy = self.forbidding()?;
        let pending = self.list(|a| self.status(a) == Some(RolloutStatus::Pending));
        let explanation = format!(
            "{policy:?} forbids syncs of {}",
            self.applications(&pending)
        );
        (!pending.is_empty()).then(|| Hold::new("applicationsSync", explanation))
    }

    /// The barrier of v3.6.
    fn barrier(&self, barrier: Option<&Barrier>) -> Option<Hold> {
        if *barrier? == Barrier::GracePeriod {
            return Some(self.set.grace_period_hold());
        }
        let since = self.set.ledger.as_ref()?.barrier.as_ref()?.pending_since();
        let mut behind = Vec::new();
        for (index, view) in (0..).zip(self.view) {
            let live = view.live.as_ref();
            if live.is_some_and(|live| live.reconciled_at.map(stored) < since) {
                behind.push(index);
            }
        }
        let explanation = format!(
            "not compared since the last change, so nothing is promoted: {}",
            self.applications(&behind)
        );
        Some(Hold::new("refresh", explanation))
    }

    /// The set's policy, if it forbids writing existing applications.
    fn forbidding(&self) -> Option<ApplicationsSync> {
        let spec = &self.set.spec;
        (!spec.may_update()).then(|| spec.applications_sync())
    }

    /// Existing applications differ from the template, and must not be written.
    fn unwritten(&self) -> Option<Hold> {
        let policy = self.forbidding()?;
        let outdated = self.list(|a| self.application(a).has_other_parameters());
        let explanation = format!(
            "{policy:?} forbids writing a changed spec to {}",
            self.applications(&outdated)
        );
        (!outdated.is_empty()).then(|| Hold::new("applicationsSync", explanation))
    }

    fn budget(&self, budgets: &[StepBudget]) -> Option<Hold> {
        let (index, budget) = budgets
            .iter()
            .enumerate()
            .find(|(_, budget)| budget.has_blocked)?;
        let waiting = self.list(|a| {
            self.set.is_allowed(a as usize)
                && self.is_counted_as(a, index, &[RolloutStatus::Waiting])
        });
        let updating = self.list(|a| {
            self.is_counted_as(
                a,
                index,
                &[RolloutStatus::Pending, RolloutStatus::Progressing],
            )
        });
        let number = index + 1;
        let limit = budget.limit.unwrap_or(0);
        let explanation = if limit <= 0 {
            format!(
                "maxUpdate is {limit} in step {number}, so no application is ever synced; {} wait to be synced by hand",
                self.applications(&waiting)
            )
        } else {
            format!(
                "in step {number}, maxUpdate allows {limit} of {} to be updated concurrently; taken by {}; {} wait",
                text::count(budget.total, "application"),
                self.reasons(&updating),
                self.applications(&waiting)
            )
        };
        Some(Hold::new("maxUpdate", explanation))
    }

    /// Whether the budget of a step counts an application, and its row has one of these statuses.
    fn is_counted_as(&self, application: u32, step: usize, statuses: &[RolloutStatus]) -> bool {
        self.set.plan.counted_in(application as usize) == step
            && self
                .status(application)
                .is_some_and(|status| statuses.contains(&status))
    }

    /// The last open step, if not complete.
    fn open_step(&self) -> Option<Hold> {
        let plan = &self.set.plan;
        let open = self.open_steps;
        let behind = self.list(|a| {
            plan.steps_of(a).any(|step| step as usize + 1 == open) && !self.is_complete(a)
        });
        if behind.is_empty() {
            return None;
        }
        let waiting = self.list(|a| {
            plan.step_of[a as usize].is_some_and(|step| step as usize >= open)
                && !self.is_complete(a)
        });
        let mut explanation = format!(
            "step {open} is complete when all of it is Healthy; not yet: {}",
            self.reasons(&behind)
        );
        if !waiting.is_empty() {
            explanation.push_str(&format!(
                "; {} in later steps wait",
                self.applications(&waiting)
            ));
        }
        Some(Hold::new("rollingSync.steps", explanation))
    }

    fn unselected(&self) -> Option<Hold> {
        let unselected = self.list(|a| {
            let view = self.application(a);
            self.set.plan.step_of[a as usize].is_none()
                && view.generated.is_some()
                && !view.is_done()
        });
        let explanation = format!(
            "no step selects {}, so no pass syncs them",
            self.applications(&unselected)
        );
        (!unselected.is_empty()).then(|| Hold::new("matchExpressions", explanation))
    }

    /// Every row is Healthy, but not every application is complete.
    fn settled_rows(&self) -> Option<Hold> {
        let lost = self.list(|a| !self.application(a).is_done());
        let explanation = format!(
            "the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: {}",
            self.reasons(&lost)
        );
        (!lost.is_empty()).then(|| Hold::new("applicationStatus", explanation))
    }

    fn all_at_once(&self) -> Option<Hold> {
        let behind = self.list(|a| !self.application(a).is_done());
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

    fn status(&self, application: u32) -> Option<RolloutStatus> {
        Some(self.set.rows[application as usize].as_ref()?.status)
    }

    fn is_complete(&self, application: u32) -> bool {
        self.application(application).live.is_some()
            && self.status(application) == Some(RolloutStatus::Healthy)
    }

    /// Applications in the order of their names.
    fn list(&self, test: impl Fn(u32) -> bool) -> Vec<u32> {
        self.set
            .by_name
            .iter()
            .copied()
            .filter(|application| test(*application))
            .collect()
    }

    /// Groups of applications with the condition that each group waits for.
    fn reasons(&self, list: &[u32]) -> String {
        // In the order in which the reasons come up.
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

    /// `Pending, OutOfSync, Degraded, operation Failed`.
    fn reason(&self, application: u32) -> String {
        let view = self.application(application);
        if view
            .generated
            .as_ref()
            .is_some_and(|generated| !generated.valid)
        {
            return "not valid".to_owned();
        }
        let Some(live) = &view.live else {
            return "not existing".to_owned();
        };
        let row = self
            .status(application)
            .map(|status| format!("{status:?}, "))
            .unwrap_or_default();
        let operation = live
            .operation_state
            .map(|state| format!(", operation {:?}", state.phase))
            .unwrap_or_default();
        format!("{row}{:?}, {:?}{operation}", live.sync, live.health)
    }

    /// `3 applications (a, b, c)`.
    fn applications(&self, list: &[u32]) -> String {
        text::listed(
            list.iter()
                .map(|index| self.set.names[*index as usize].as_str()),
            "application",
        )
    }
}

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
use super::view::{Application, ApplicationView, AutoSync};
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
        let is_behind = |live: &Application| live.reconciled_at.map(stored) < since;
        let behind = (0..)
            .zip(self.view)
            .filter(|(_, view)| view.live.as_ref().is_some_and(is_behind));
        let behind = self.applications(&behind.map(|(index, _)| index).collect::<Vec<u32>>());
        Some(Hold::new(
            "refresh",
            format!("not compared since the last change, so nothing is promoted: {behind}"),
        ))
    }

    /// The set's policy, if it forbids writing existing applications.
    fn forbidding(&self) -> Option<ApplicationsSync> {
        let spec = &self.set.spec;
        (!spec.may_update()).then(|| spec.applications_sync())
    }

    /// Existing applications differ from the template, and must not be written.
    fn unwritten(&self) -> Option<Hold> {
        let policy = self.forbidding()?;
        let outdated = self.list(|a| {
            let view = self.application(a);
            let parameters = view
                .generated
                .as_ref()
                .map(|generated| generated.parameters);
            view.live
                .as_ref()
                .is_some_and(|live| parameters.is_some_and(|wanted| wanted != live.spec.parameters))
        });
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
        let plan = &self.set.plan;
        let is_here = |a: u32, statuses: &[RolloutStatus]| {
            plan.counted_in(a as usize) == index
                && self
                    .status(a)
                    .is_some_and(|status| statuses.contains(&status))
        };
        let waiting =
            self.list(|a| self.set.is_allowed(a as usize) && is_here(a, &[RolloutStatus::Waiting]));
        let updating =
            self.list(|a| is_here(a, &[RolloutStatus::Pending, RolloutStatus::Progressing]));
        let (number, limit) = (index + 1, budget.limit.unwrap_or(0));
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

    /// The last open step, if not complete.
    fn open_step(&self) -> Option<Hold> {
        let (plan, open) = (&self.set.plan, self.open_steps);
        let behind = self.list(|a| {
            plan.steps_of(a).any(|step| step as usize + 1 == open) && !self.is_complete(a)
        });
        if behind.is_empty() {
            return None;
        }
        let is_later = |a: u32| plan.step_of[a as usize].is_some_and(|step| step as usize >= open);
        let waiting = self.list(|a| is_later(a) && !self.is_complete(a));
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
        let is_outside = |a: u32| {
            self.set.plan.step_of[a as usize].is_none() && self.application(a).generated.is_some()
        };
        let unselected = self.list(|a| is_outside(a) && !self.application(a).is_done());
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
        let is_manual = |live: &Application| live.spec.auto_sync != AutoSync::Enabled;
        let mut manual = behind.clone();
        manual.retain(|a| self.application(*a).live.as_ref().is_some_and(is_manual));
        Some(if manual.is_empty() {
            Hold::new(
                "AllAtOnce",
                format!(
                    "all were updated simultaneously; not yet: {}",
                    self.reasons(&behind)
                ),
            )
        } else {
            Hold::new(
                "syncPolicy.automated",
                format!("only a user can sync {}", self.reasons(&manual)),
            )
        })
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
        let reasons: Vec<String> = list
            .iter()
            .map(|application| self.reason(*application))
            .collect();
        let text = |reason: &String| {
            let group = list
                .iter()
                .zip(&reasons)
                .filter(|(_, other)| *other == reason);
            let group: Vec<u32> = group.map(|(application, _)| *application).collect();
            format!("{} {reason}", self.applications(&group))
        };
        reasons.iter().unique().map(text).join("; ")
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

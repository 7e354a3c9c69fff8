//! The activity of the control planes in a run, for its record: passes, waits for people, and status conditions.

use super::Sim;
use super::path::PeoplesWaits;
use crate::results::{PassRow, StatusRow};
use crate::units::SimTime;

/// The activity of the control plane of one application.
pub(super) struct ControlActivity {
    /// The passes in the order of their beginnings.
    pub(super) passes: Vec<PassRow>,
    pub(super) waits: PeoplesWaits,
}

/// Returns the passes of all applications in the order of their beginnings.
pub(super) fn merged(activity: Vec<ControlActivity>) -> Vec<PassRow> {
    let is_sorted = activity.len() == 1;
    let mut passes = Vec::new();
    for of_application in activity {
        passes.extend(of_application.passes);
    }
    if !is_sorted {
        passes.sort_by(|one: &PassRow, other| one.t_s.total_cmp(&other.t_s));
    }
    passes
}

impl Sim<'_> {
    /// Takes the activity of each application's control plane.
    pub(super) fn take_activity(&mut self) -> Vec<ControlActivity> {
        let mut activity = Vec::with_capacity(self.rollouts.len());
        for rollout in &mut self.rollouts {
            activity.push(ControlActivity {
                passes: rollout.control.take_passes(),
                waits: PeoplesWaits {
                    pauses: rollout.control.take_pauses(),
                    timed: rollout.control.take_timed_waits(),
                    approvals: Vec::new(),
                },
            });
        }
        activity
    }

    /// Takes the status conditions that the products have shown until `end`, in the order of time. With several
    /// applications, each object has the name of its application before it.
    pub(super) fn take_statuses(&mut self, end: SimTime) -> Vec<StatusRow> {
        let mut all = Vec::new();
        for (rollout, application) in self.rollouts.iter_mut().zip(&self.scenario.applications) {
            for mut row in rollout.control.take_statuses(end) {
                if self.scenario.has_several_applications() {
                    row.object = format!("{}: {}", application.name, row.object);
                }
                all.push(row);
            }
        }
        if self.scenario.has_several_applications() {
            all.sort_by(|one, other| one.t_s.total_cmp(&other.t_s));
        }
        all
    }
}

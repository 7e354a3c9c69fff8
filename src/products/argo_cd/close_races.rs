//! Detects rollouts whose peak depends on milliseconds.
//!
//! A pass writes the specs of Applications in the order of their names (`applicationset_controller.go` of
//! argoproj/argo-cd, "Sort apps by name"), and an Application is compared some time after its spec was written. Until
//! that comparison its row still counts as Healthy. If applications of a later step are written first, or several are
//! written in parallel, a pass may find the earlier step complete before some of its applications are compared, and
//! begin the later step. The latencies of single requests decide in which passes this happens.
//!
//! Evidence: test rollouts of Argo CD's own controller with different latencies. With rings that are not in name
//! order, the same set peaked at 49 and at 68 applications. With equal latencies, fleetsim's scheduler and the
//! product's controller agree.

use super::ArgoCdStrategy;
use crate::rollout::argo_cd::{RolloutStep, Steps, limit};
use crate::world::ClusterSpec;

impl ArgoCdStrategy {
    /// Returns a note if the peak depends on milliseconds.
    pub(super) fn close_race(&self, clusters: &[ClusterSpec]) -> Option<String> {
        if !self.is_rolling() {
            return None;
        }
        let steps = self.spec.steps().ok()??;
        let mut names = Vec::new();
        let mut labels = Vec::new();
        for (name, of_application) in self.applications(clusters) {
            names.push(name);
            labels.push(Some(of_application));
        }
        let plan = Steps::new(steps, &labels);
        let syncing = syncing_steps(steps, &plan);
        if syncing.iter().filter(|syncs| **syncs).count() < 2 {
            return None;
        }
        let why = if follows_names(&plan, &syncing, &names) {
            if self.concurrent_updates <= 1 {
                return None;
            }
            format!(
                "{} Applications are written at a time",
                self.concurrent_updates
            )
        } else {
            "Argo CD writes Applications in the order of their names, but the steps have a different order"
                .to_owned()
        };
        Some(format!(
            "the peak and the start of steps depend on milliseconds: {why}, and until an Application is compared it \
             counts as Healthy, so a step can begin before the previous one ends; other latencies can lead to a \
             different peak"
        ))
    }
}

/// Returns, for each step, whether the rollout ever syncs one of its applications.
fn syncing_steps(steps: &[RolloutStep], plan: &Steps) -> Vec<bool> {
    let mut syncing = Vec::new();
    for (step, applications) in steps.iter().zip(&plan.lists) {
        let most = limit(step.max_update.as_ref(), applications.len()).applications;
        let is_allowed = most.is_none_or(|most| most > 0);
        syncing.push(is_allowed && !applications.is_empty());
    }
    syncing
}

/// Returns true if, in name order, all applications of a step come before those of later steps. Steps that sync
/// nothing are ignored.
fn follows_names(plan: &Steps, syncing: &[bool], names: &[String]) -> bool {
    let mut in_order: Vec<usize> = (0..names.len()).collect();
    in_order.sort_by_key(|&application| &names[application]);
    let mut latest = 0;
    for application in in_order {
        let Some(step) = plan.step_of[application] else {
            continue;
        };
        if !syncing[step as usize] {
            continue;
        }
        if step < latest {
            return false;
        }
        latest = step;
    }
    true
}

//! The rule that blocks a rolling update, with numbers and names.
//!
//! KubeFleet itself does not report this; it is derived from a pass that would roll nothing.

use super::super::super::text::{are, count};
use super::super::super::{Hold, TargetId};
use super::super::binding::BindingState;
use super::super::text::{listed, waits};
use super::super::{Binding, RuleSet};
use super::RollingUpdate;
use super::candidates::CandidateSets;
use super::view::{BindingCounts, RollingDecision, RollingStatus, RollingView, Room};

impl RollingUpdate {
    /// Returns the rule that blocks the rollout at `view`, at the time of its last pass. `None`: the rollout is
    /// finished, or the next pass makes progress. The call costs as much as several passes.
    pub fn hold(&self, view: &RollingView) -> Option<Hold> {
        if view.is_done() {
            return None;
        }
        let RollingDecision {
            actions, status, ..
        } = self.pass(view, &CandidateSets::new(self, view));
        if !actions.is_empty() || !status.patched.is_empty() {
            return None;
        }
        Some(self.reason(view, &status))
    }

    fn reason(&self, view: &RollingView, status: &RollingStatus) -> Hold {
        let Some(counts) = status.counts else {
            return Hold::new(
                "resourceSnapshot",
                "the placement has no resource snapshot yet",
            );
        };
        if let Some(room) = status.room {
            return self.limit(view, counts, room);
        }
        let behind = targets(view, |binding| !binding.has_succeeded() || binding.deleting);
        let text = format!(
            "{} {} assigned the newest resources or being removed, and not available: in progress, offline or failing, \
             without a time-out",
            listed(&self.clusters, &behind),
            are(behind.len())
        );
        Hold::new("Available", text)
    }

    fn limit(&self, view: &RollingView, counts: BindingCounts, room: Room) -> Hold {
        let removes = counts.remove_candidates + counts.update_candidates;
        if removes > 0 {
            return self.max_unavailable(view, counts, room);
        }
        let limits = self.limits(counts.target);
        let requested = requested(counts);
        let blocked = targets(view, |binding| binding.state == BindingState::Scheduled);
        let explanation = format!(
            "of {requested} requested, maxSurge allows {} more with the resources; {} {} them already, so {} may be bound; {}",
            limits.max_surge,
            counts.can_be_ready,
            if counts.can_be_ready == 1 {
                "has"
            } else {
                "have"
            },
            room.to_add.max(0),
            waits(&self.clusters, &blocked)
        );
        Hold::new("maxSurge", explanation)
    }

    fn max_unavailable(&self, view: &RollingView, counts: BindingCounts, room: Room) -> Hold {
        let limits = self.limits(counts.target);
        let waiting = targets(view, |binding| is_outdated(view, binding));
        let waiting = waits(&self.clusters, &waiting);
        let not_ready = targets(view, |binding| {
            binding.state != BindingState::Scheduled && !binding.has_succeeded()
        });
        let never_updates =
            limits.max_unavailable == 0 && self.rules == RuleSet::Shipped && not_ready.is_empty();
        let explanation = if never_updates {
            format!("maxUnavailable is 0, so no available cluster is ever updated; {waiting}")
        } else {
            format!(
                "of {} requested, maxUnavailable allows {} to be unavailable; {} {} ready, {} of them being deleted \
                 (not available: {}), so {} may be updated; {waiting}",
                requested(counts),
                limits.max_unavailable,
                counts.ready,
                are(usize::try_from(counts.ready).unwrap_or(0)),
                counts.can_be_unavailable,
                listed(&self.clusters, &not_ready),
                room.to_remove.max(0),
            )
        };
        Hold::new("maxUnavailable", explanation)
    }
}

/// Returns the number of clusters that the placement requests, as text.
fn requested(counts: BindingCounts) -> String {
    count(usize::try_from(counts.target).unwrap_or(0), "cluster")
}

/// Returns whether a binding waits for its update or its deletion.
fn is_outdated(view: &RollingView, binding: &Binding) -> bool {
    if binding.deleting {
        return false;
    }
    match binding.state {
        BindingState::Unscheduled => true,
        BindingState::Bound => binding.snapshot != view.latest_snapshot,
        BindingState::Scheduled => false,
    }
}

fn targets(view: &RollingView, test: impl Fn(&Binding) -> bool) -> Vec<TargetId> {
    let mut targets = Vec::new();
    for binding in view.bindings.iter() {
        if test(binding) {
            targets.push(binding.target);
        }
    }
    targets
}

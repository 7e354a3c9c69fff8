//! The status of a bundle after consecutive passes.
//!
//! A pass writes its status as a patch: the fields that differ from the bundle in its cache (`updateStatus` in
//! `internal/cmd/controller/reconciler/bundle_controller.go` of rancher/fleet). A pass that begins before the cache
//! has the status of the previous pass compares with an older status. If a field has returned to that older value, the
//! patch does not contain it, and the bundle keeps showing the intermediate value until another pass writes the field.
//! The recorded rollouts in `tests/closed-loop/fleet` show this.

use crate::rollout::ObjectCondition;
use crate::units::{SimDuration, SimTime};

/// A written status of the bundle.
struct WrittenStatus {
    at: SimTime,
    conditions: Vec<ObjectCondition>,
}

impl WrittenStatus {
    /// Returns the written condition with the same type as `wanted`.
    fn same_as(&self, wanted: &ObjectCondition) -> Option<&ObjectCondition> {
        self.conditions
            .iter()
            .find(|known| known.condition == wanted.condition)
    }
}

/// The writes of one bundle's status.
pub(super) struct StatusWrites {
    watch_delay: SimDuration,
    /// The time at which the last pass began, and the time at which its status was written.
    pub(super) began: SimTime,
    pub(super) ended: SimTime,
    /// The newest status that every pass has in its cache, followed by all later ones.
    shown: Vec<WrittenStatus>,
}

impl StatusWrites {
    pub(super) const fn new(watch_delay: SimDuration) -> Self {
        Self {
            watch_delay,
            began: SimTime::ZERO,
            ended: SimTime::ZERO,
            shown: Vec::new(),
        }
    }

    /// Returns the conditions that the bundle shows after the last pass, which computed `found`.
    pub(super) fn show(&mut self, found: Vec<ObjectCondition>) -> &[ObjectCondition] {
        let cached = self
            .shown
            .iter()
            .rposition(|status| status.at + self.watch_delay <= self.began)
            .unwrap_or(0);
        self.shown.drain(..cached);
        let is_shown = self
            .shown
            .last()
            .is_some_and(|status| status.at == self.ended);
        if !is_shown {
            let mut conditions = Vec::new();
            for condition in found {
                conditions.push(self.after_write(condition));
            }
            self.shown.push(WrittenStatus {
                at: self.ended,
                conditions,
            });
        }
        &self.shown.last().expect("something is shown").conditions
    }

    /// Returns the bundle's condition after a write of `found`. A pass does not write a value that the cache already
    /// shows, so the bundle keeps the last written value.
    fn after_write(&self, found: ObjectCondition) -> ObjectCondition {
        if let (Some(cached), Some(last)) = (self.shown.first(), self.shown.last())
            && cached.same_as(&found) == Some(&found)
            && let Some(written) = last.same_as(&found)
        {
            return written.clone();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_equals_its_value_in_the_cache_is_not_written() {
        let millis = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let mut writes = StatusWrites::new(SimDuration::from_millis(5));
        // Start and end of a pass, the value that it computes, the value that the bundle shows, and the reason.
        let cases = [
            (0, 40, "30", "30", "the first"),
            (100, 140, "29", "29", "it has the first in its cache"),
            (
                140,
                180,
                "30",
                "29",
                "as in its cache, which does not have the second",
            ),
            (180, 220, "28", "28", "its cache has the second"),
            (300, 340, "30", "30", "its cache has all"),
        ];
        for (began, ended, found, shown, why) in cases {
            (writes.began, writes.ended) = (millis(began), millis(ended));
            let found = vec![ObjectCondition::field("Bundle/app", "display.state", found)];
            assert_eq!(writes.show(found.clone())[0].status, shown, "{why}");
            assert_eq!(
                writes.show(found)[0].status,
                shown,
                "{why}, and asked again"
            );
        }
    }
}

//! A status of a binding that KubeFleet's work generator sends.
//!
//! Each carries the version of the binding that was read from the cache, and is refused if there is another one
//! (`updateBindingStatusWithRetry` in `pkg/controllers/workgenerator/controller.go` of kubefleet-dev/kubefleet).

use crate::rollout::Revision;
use crate::rollout::kubefleet::WorkState;
use crate::units::SimTime;

/// The words of a status that count, and the second in which they were made.
pub(super) type Saying = (Revision, WorkState, bool, Option<u64>);

/// A status that the generator writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusWrite {
    pub(super) cluster: usize,
    pub(super) revision: Revision,
    pub(super) state: WorkState,
    /// It says that the Work is not applied yet, and no longer that it was written.
    pub(super) is_later: bool,
    /// When the binding was read from the cache.
    pub(super) read: SimTime,
    /// When its conditions were made. They carry the second, so that the same words in another second are a change.
    pub(super) made: Option<SimTime>,
    /// How often it was refused.
    pub(super) refused: u32,
    /// A worker waits for the answer.
    pub(super) has_worker: bool,
}

impl StatusWrite {
    /// Of a worker that reads the binding now.
    pub(super) const fn new(cluster: usize, revision: Revision, state: WorkState, read: SimTime) -> Self {
        Self { cluster, revision, state, is_later: false, read, made: None, refused: 0, has_worker: true }
    }

    /// Sent at `now`, perhaps again.
    pub(super) fn sent(self, now: SimTime) -> Self {
        Self { made: self.made.or(Some(now)), ..self }
    }

    /// Its words, with their second.
    pub(super) fn says(&self) -> Saying {
        (self.revision, self.state, self.is_later, self.made.map(|made| made.as_nanos() / 1_000_000_000))
    }

    pub(super) const fn later(self, is_later: bool) -> Self {
        Self { is_later, ..self }
    }
}

//! Excludes the settings that leave more targets on the old version than another one, however fast they are.
//!
//! A run counts only what it leaves beyond `allowLeftBehind`. Which targets are offline depends on the replicate, so
//! settings are compared over the replicates that all of them have, of which there are at least ten once it matters.

use super::race::Race;
use crate::results::CandidateStatus;

impl Race {
    /// Returns the candidates that are not out, and leave more behind than another one that is not out.
    pub(super) fn leaving_more(&self, out: &[Option<CandidateStatus>]) -> Vec<usize> {
        let mut rest = Vec::new();
        for (candidate, out) in out.iter().enumerate() {
            if out.is_none() {
                rest.push(candidate);
            }
        }
        let left = self.all_left(&rest);
        let Some(&fewest) = left.iter().min() else {
            return Vec::new();
        };
        let mut leaving = Vec::new();
        for (&candidate, &left) in rest.iter().zip(&left) {
            if left > fewest {
                leaving.push(candidate);
            }
        }
        leaving
    }

    /// Returns true if some of these candidates leave more behind than others in the runs so far.
    pub(super) fn leaves_differ(&self, candidates: &[usize]) -> bool {
        let left = self.all_left(candidates);
        left.iter().min() != left.iter().max()
    }

    /// Returns how many targets each of these candidates leaves behind in all replicates that they share.
    fn all_left(&self, candidates: &[usize]) -> Vec<u64> {
        let mut shared = usize::MAX;
        for &candidate in candidates {
            shared = shared.min(self.runs(candidate));
        }
        let mut all = Vec::new();
        for &candidate in candidates {
            all.push(self.left(candidate, shared).iter().sum());
        }
        all
    }
}

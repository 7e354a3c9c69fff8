//! The readings of the page: what is read off a run, an explanation or a status, as a short text.

pub(super) mod argo_cd;
pub(super) mod cloud_foundry;
pub(super) mod fleet;
pub(super) mod kubefleet;

use super::shown::ShownSetup;
use crate::common::peak_in_flight;

/// How the run ended.
pub(super) fn outcome(shown: &ShownSetup) -> String {
    shown.outcome()
}

/// That the experiment is accepted. A refused one is not read.
pub(super) fn accepted(_: &ShownSetup) -> String {
    "accepted".to_owned()
}

/// Most clusters that were updating at the same time.
pub(super) fn at_once(shown: &ShownSetup) -> String {
    peak_in_flight(&shown.run().clusters).to_string()
}

//! The readings of the page: short texts that are derived from a run, an explanation or a status.

pub(super) mod argo_cd;
pub(super) mod cloud_foundry;
pub(super) mod fleet;
pub(super) mod kubefleet;

use super::shown::ShownSetup;
use crate::common::peak_in_flight;

/// Returns the outcome of the run.
pub(super) fn outcome(shown: &ShownSetup) -> String {
    shown.outcome()
}

/// Returns that the experiment is accepted. Refused experiments have no readings.
pub(super) fn accepted(_: &ShownSetup) -> String {
    "accepted".to_owned()
}

/// Returns the maximum number of clusters that were updating simultaneously.
pub(super) fn at_once(shown: &ShownSetup) -> String {
    peak_in_flight(&shown.run().clusters).to_string()
}

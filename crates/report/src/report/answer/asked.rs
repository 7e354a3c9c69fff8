//! The variants that a question compares, and the words that show one variant among others.

use super::groups::NamedVariant;
use super::ranking::{RankedTime, RankedVariant, time_before_late};
use crate::report::format::{count, time};
use crate::report::limits::AssertedLimit;

/// The variants that a question compares.
pub(super) struct Asked<'a, 'v, 'r> {
    /// The user's own variants.
    pub(super) own: &'a [NamedVariant<'v, 'r>],
    /// The ranked variants among them.
    pub(super) ranked: &'a [RankedVariant<'v, 'r>],
    pub(super) by: RankedTime,
    pub(super) limits: &'a [AssertedLimit],
    pub(super) seed: u64,
}

/// The number that is shown for a variant among others: its time, or that of most targets.
pub(super) fn shown_time(ranked: &RankedVariant<'_, '_>, by: RankedTime) -> String {
    let took = time(ranked.time(by));
    match (by, time_before_late(ranked.variant)) {
        (RankedTime::OfMost, Some(_)) | (RankedTime::OfAll, _) => took,
        (RankedTime::OfMost, None) => format!("{took} for most"),
    }
}

/// `50 pulls at once`.
pub(super) fn shown_peak(peak: f64) -> String {
    format!("{} at once", count(peak))
}

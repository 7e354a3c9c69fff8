//! Whether the registry's link has room, in the runs and draws of a variant. The rule is [`has_room`].

use crate::report::data::VariantResults;
use crate::results::{LINK_LOAD, Measure, RunRow, has_room};

/// The registry's link of a variant.
#[derive(Clone, Copy)]
pub(super) struct RegistryLink {
    pub(super) bytes_per_s: f64,
}

impl RegistryLink {
    /// Returns the link of a variant. `None`: its capacity is unlimited.
    pub(super) fn of(variant: &VariantResults<'_>) -> Option<Self> {
        let bytes_per_s = variant.info.registry_egress_bytes_per_s?;
        Some(Self { bytes_per_s })
    }

    /// Returns true if a run leaves room.
    pub(super) fn has_room_in(self, run: &RunRow) -> bool {
        // Results of format 3 have only the fleet's own load.
        let minute = run
            .total_egress_peak_60s_bytes_per_s
            .max(run.egress_peak_60s_bytes_per_s);
        has_room(minute, self.bytes_per_s)
    }

    /// Returns true if more than half of the runs of a variant leave room.
    pub(super) fn has_room_with(self, variant: &VariantResults<'_>) -> bool {
        2 * self.runs_with_room(variant) > variant.runs.len()
    }

    /// The number of runs of a variant that leave room.
    fn runs_with_room(self, variant: &VariantResults<'_>) -> usize {
        let roomy = variant.runs.iter().filter(|run| self.has_room_in(run));
        roomy.count()
    }

    /// `room in 39 of 39 draws`, or the number of runs if constants were not drawn.
    pub(super) fn certainty(self, variant: &VariantResults<'_>) -> String {
        if variant.draws.is_empty() {
            let runs = variant.runs.len();
            return format!("room in {} of {runs} runs", self.runs_with_room(variant));
        }
        let roomy = variant.draws.iter().filter(|run| self.has_room_in(run));
        format!("room in {} of {} draws", roomy.count(), variant.draws.len())
    }
}

/// The median rate of the busiest minute of a variant, with the other load of the link.
pub(super) fn busiest_minute(variant: &VariantResults<'_>) -> Option<f64> {
    let own = variant.median(Measure::EgressPeak60s)?;
    Some(variant.median(LINK_LOAD).unwrap_or(0.0).max(own))
}

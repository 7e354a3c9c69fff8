//! The names of measures that people write, in limits, objectives and settings.

use itertools::Itertools;

use super::{Measure, READY_TIME};

/// Shorter names of measures, with the measure that each stands for. The time of completion leaves out targets that
/// cannot be updated, in limits and objectives as in the tables: otherwise one paused cluster exceeds every limit.
pub const SHORT_NAMES: [(&str, Measure); 5] = [
    ("registry.egress", Measure::EgressPeak1s),
    ("registry.total", Measure::TotalEgressPeak1s),
    ("bad_release_exposure", Measure::ExposedTargets),
    ("completion", READY_TIME),
    ("completion_s", READY_TIME),
];

/// Why a text is not a valid measure, limit or objective.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message} (help: {help})")]
pub struct MeasureError {
    /// The error.
    pub message: String,
    /// The fix.
    pub help: String,
}

impl MeasureError {
    /// The error of a name that no measure has; the help lists all measures.
    pub(super) fn unknown(name: &str) -> Self {
        // The name of a registry, and what of it.
        let help = if name.contains('.') {
            "a limit applies to all registries together: `registry.egress` is the peak of their sum, and \
             `egress_busy_share` counts while any of them is at its capacity; registries.csv has the values of each"
                .to_owned()
        } else {
            let short = SHORT_NAMES.iter().map(|(short, _)| *short);
            let bare = Measure::ALL.iter().map(|measure| measure.bare_name());
            let names = short.chain(bare).unique().format(", ");
            format!("the measures are {names}")
        };
        Self {
            message: format!("unknown measure `{name}`"),
            help,
        }
    }
}

impl Measure {
    /// The measure called `name`: its column, with or without the unit at the end, or one of [`SHORT_NAMES`].
    ///
    /// # Errors
    /// When there is none; the help lists all measures.
    pub fn named(name: &str) -> Result<Self, MeasureError> {
        if let Some((_, measure)) = SHORT_NAMES.iter().find(|(short, _)| *short == name) {
            return Ok(*measure);
        }
        let mut all = Self::ALL.iter().copied();
        all.find(|measure| measure.column() == name || measure.bare_name() == name)
            .ok_or_else(|| MeasureError::unknown(name))
    }

    /// The name of its column without the unit.
    fn bare_name(self) -> &'static str {
        let column = self.column();
        for unit in ["_bytes_per_s", "_bytes", "_s"] {
            if let Some(bare) = column.strip_suffix(unit) {
                return bare;
            }
        }
        column
    }
}

//! The names of measures: columns in results, and the names that users write in limits, objectives and settings.

use std::fmt;
use std::str::FromStr;

use itertools::Itertools;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Measure, READY_TIME};

/// Shorter names of measures, with the measure that each refers to. In limits and objectives, as in the tables, the
/// completion time leaves out targets that cannot be updated: otherwise one paused cluster would exceed every limit.
pub const SHORT_NAMES: [(&str, Measure); 6] = [
    ("registry.egress", Measure::EgressPeak1s),
    ("registry.total", Measure::TotalEgressPeak1s),
    ("registry.busiest_minute", Measure::TotalEgressPeak60s),
    ("bad_release_exposure", Measure::ExposedTargets),
    ("completion", READY_TIME),
    ("completion_s", READY_TIME),
];

/// The reason why a text is not a valid measure, limit or objective.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message} (help: {help})")]
pub struct MeasureError {
    /// A description of the error in the text.
    pub message: String,
    /// A description of the fix.
    pub help: String,
}

impl MeasureError {
    /// The error for an unknown name; the help lists all measures.
    pub(super) fn unknown(name: &str) -> Self {
        // The name may consist of a registry's name and one of that registry's measures.
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
    /// Returns the measure called `name`: its column, with or without the unit at the end, or one of [`SHORT_NAMES`].
    ///
    /// # Errors
    /// Returns an error if there is no such measure; the help lists all measures.
    pub fn named(name: &str) -> Result<Self, MeasureError> {
        if let Some((_, measure)) = SHORT_NAMES.iter().find(|(short, _)| *short == name) {
            return Ok(*measure);
        }
        let mut all = Self::ALL.iter().copied();
        all.find(|measure| measure.column() == name || measure.bare_name() == name)
            .ok_or_else(|| MeasureError::unknown(name))
    }

    /// The name of the measure's column without the unit.
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

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.column())
    }
}

impl FromStr for Measure {
    type Err = MeasureError;

    /// Reads the exact name of a column. [`Measure::named`] also accepts the names that users write.
    fn from_str(column: &str) -> Result<Self, MeasureError> {
        let mut all = Self::ALL.iter().copied();
        all.find(|measure| measure.column() == column)
            .ok_or_else(|| MeasureError::unknown(column))
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.column())
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let column = String::deserialize(deserializer)?;
        column.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_read_and_stored_by_its_column() {
        for &measure in Measure::ALL {
            assert_eq!(measure.column().parse(), Ok(measure));
            let stored = serde_json::to_string(&measure).expect("a text is JSON");
            assert_eq!(stored, format!("\"{measure}\""));
            let read: Measure = serde_json::from_str(&stored).expect("as it was stored");
            assert_eq!(read, measure);
        }
        let unknown = "complexion".parse::<Measure>().expect_err("no column");
        assert_eq!(unknown, Measure::named("complexion").expect_err("no name"));
        // A user means the time until all reachable targets are ready; a table means the column of this name.
        assert_eq!("completion_s".parse(), Ok(Measure::Completion));
        assert_eq!(Measure::named("completion_s"), Ok(READY_TIME));
    }
}

//! Numbers of a request that are checked by the rules of scaling.
//!
//! Follows `app/messages/process_scale_message.rb`, which also accepts texts as numbers.

use super::super::json::Json;

/// The largest number of the product's database.
const MAX_DB_INT: i128 = 2_147_483_647;

/// A field with a number that is checked by the rules of scaling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberField {
    /// `options.web_instances`
    WebInstances,
    /// `options.memory_in_mb`
    Memory,
    /// `options.disk_in_mb`
    Disk,
    /// `options.log_rate_limit_in_bytes_per_second`
    LogRate,
}

/// An error in a number; displayed as in the product.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NumberProblem {
    /// Of another type.
    #[error("is not a number")]
    NotNumber,
    /// With a fraction, also `1.0`.
    #[error("must be an integer")]
    NotInteger,
    /// Below the minimum.
    #[error("must be greater than or equal to {0}")]
    BelowMinimum(i32),
    /// Not above the exclusive minimum.
    #[error("must be greater than {0}")]
    TooSmall(i32),
    /// Beyond the database's integers.
    #[error("must be less than or equal to 2147483647")]
    TooLarge,
}

impl NumberField {
    pub(super) const ALL: [Self; 4] = [Self::WebInstances, Self::Memory, Self::Disk, Self::LogRate];

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::WebInstances => "options.web_instances",
            Self::Memory => "options.memory_in_mb",
            Self::Disk => "options.disk_in_mb",
            Self::LogRate => "options.log_rate_limit_in_bytes_per_second",
        }
    }

    /// Its name in `options`.
    pub(super) fn key(self) -> &'static str {
        self.path().trim_start_matches("options.")
    }

    /// Its name in a message.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::WebInstances => "Web instances",
            Self::Memory => "Memory in mb",
            Self::Disk => "Disk in mb",
            Self::LogRate => "Log rate limit in bytes per second",
        }
    }

    /// The number. `None`: null or absent.
    pub(super) fn read(self, written: &Json) -> Result<Option<i128>, NumberProblem> {
        let number = match written {
            Json::Null => return Ok(None),
            Json::Number(number) => number.as_i128().ok_or(NumberProblem::NotInteger)?,
            // A text is parsed as a number, and the number is saved.
            Json::Text(text) => match text.trim().parse::<i128>() {
                Ok(number) => number,
                Err(_) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
                    return Err(NumberProblem::NotInteger);
                }
                Err(_) => return Err(NumberProblem::NotNumber),
            },
            Json::Bool(_) | Json::List(_) | Json::Object(_) => return Err(NumberProblem::NotNumber),
        };
        match self {
            Self::WebInstances if number < 0 => Err(NumberProblem::BelowMinimum(0)),
            Self::LogRate if number < -1 => Err(NumberProblem::BelowMinimum(-1)),
            Self::Memory | Self::Disk if number <= 0 => Err(NumberProblem::TooSmall(0)),
            Self::WebInstances | Self::Memory | Self::Disk if number > MAX_DB_INT => Err(NumberProblem::TooLarge),
            _ => Ok(Some(number)),
        }
    }
}

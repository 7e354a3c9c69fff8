//! The product's validation errors, with its messages and the field.

use super::number::{NumberField, NumberProblem};

/// Why the product rejects a request; displayed as its client sees it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// An unknown field of the body.
    #[error("Unknown field(s): {}", quoted(.0))]
    UnknownFields(Vec<String>),
    /// Any text but `rolling` and `canary`.
    #[error("Strategy '{0}' is not a supported deployment strategy")]
    Strategy(String),
    /// Both a droplet and a revision.
    #[error("Droplet Cannot set both fields 'droplet' and 'revision'")]
    DropletAndRevision,
    /// `options` is of another type.
    #[error("Options must be an object")]
    OptionsNotObject,
    /// An `options` that validation treats as absent, but from which nothing can be read.
    #[error("Options must be an object (the product accepts an empty list or text, and then fails with {0})")]
    OptionsUnreadable(&'static str),
    /// Unknown fields of `options`.
    #[error("Options has unsupported key(s): {}", .0.join(", "))]
    UnknownOptions(Vec<String>),
    /// A number of instances, memory, disk or log rate.
    #[error("{} {problem}", field.title())]
    Number {
        /// Which.
        field: NumberField,
        /// The error in it.
        problem: NumberProblem,
    },
    /// Not a whole number above 0.
    #[error("Max in flight must be an integer greater than 0")]
    MaxInFlight,
    /// `options.canary` is of another type.
    #[error("Options canary must be an object")]
    CanaryNotObject,
    /// `options.canary` without the strategy.
    #[error("Options canary are only valid for Canary deployments")]
    CanaryWithoutStrategy,
    /// `steps` is of another type, or one of them is.
    #[error("Options canary steps must be an array of objects")]
    StepsNotObjects,
    /// Unknown fields of a step.
    #[error("Options canary steps has unsupported key(s): {}", .0.join(", "))]
    UnknownStepFields(Vec<String>),
    /// A step without weight.
    #[error("Options canary steps missing key: \"instance_weight\"")]
    MissingWeight,
    /// A weight that is not a whole number from 1 to 100.
    #[error("Options canary steps instance weight must be an Integer between 1-100 (inclusive)")]
    Weight,
    /// A weight that is less than the one before.
    #[error("Options canary steps instance weight must be sorted in ascending order")]
    WeightOrder,
    /// No step. The product accepts this, and then fails.
    #[error("Options canary steps must not be empty (the product accepts this, and then fails with NoMethodError)")]
    EmptySteps,
}

impl RequestError {
    /// The path of the invalid field, e.g. `options.max_in_flight`; empty for the body as a whole.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::UnknownFields(_) => "",
            Self::Strategy(_) => "strategy",
            Self::DropletAndRevision => "droplet",
            Self::OptionsNotObject | Self::OptionsUnreadable(_) | Self::UnknownOptions(_) => "options",
            Self::Number { field, .. } => field.path(),
            Self::MaxInFlight => "options.max_in_flight",
            Self::CanaryNotObject | Self::CanaryWithoutStrategy => "options.canary",
            Self::StepsNotObjects
            | Self::UnknownStepFields(_)
            | Self::MissingWeight
            | Self::Weight
            | Self::WeightOrder
            | Self::EmptySteps => "options.canary.steps",
        }
    }

    /// The Ruby class of the exception with which the product fails (HTTP 500) instead of rejecting. `None`: it
    /// rejects.
    #[must_use]
    pub const fn exception(&self) -> Option<&'static str> {
        match self {
            Self::OptionsUnreadable(class) => Some(class),
            Self::EmptySteps => Some("NoMethodError"),
            _ => None,
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

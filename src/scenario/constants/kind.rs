//! The kind of quantity that a constant has, with functions to parse, change and format its values.

use serde::Deserialize;

use super::VariedPart;
use crate::document::reader;
use crate::document::tree::{Node, Value};
use crate::units::display::significant;
use crate::units::{Bytes, BytesPerSec, Factor, Share, SimDuration, WithUnit};
use crate::world::{Distribution, Quantity};

/// The kind of quantity that a constant has, which determines the unit of its numbers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum ConstantKind {
    /// A duration in seconds.
    Duration,
    /// A rate in bytes per second, shown in bits per second.
    Link,
    /// A rate in bytes per second, shown in bytes per second.
    Throughput,
    /// A size in bytes.
    Size,
    /// A share from 0 to 1, shown in percent.
    Share,
    /// A number without a unit.
    Number,
    /// A whole number.
    Count,
}

/// A change of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ValueChange {
    /// Multiplies all values of a random quantity by this factor.
    Factor(f64),
    /// Replaces the value with this one.
    Value(f64),
}

impl ValueChange {
    fn of(self, number: f64) -> f64 {
        match self {
            Self::Factor(factor) => number * factor,
            Self::Value(value) => value,
        }
    }
}

impl ConstantKind {
    /// Returns the unit of the constant's numbers.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Duration => "s",
            Self::Link | Self::Throughput => "bytes/s",
            Self::Size => "bytes",
            Self::Share | Self::Number | Self::Count => "1",
        }
    }

    /// Parses a value as an experiment writes it.
    pub(super) fn parse(self, text: &str) -> Option<f64> {
        match self {
            Self::Number | Self::Count => text.trim().parse().ok(),
            _ => self.part_of(&Node::of_value(&text, &(0..0)), VariedPart::Location),
        }
    }

    /// Formats a number for people, with three significant digits.
    #[must_use]
    pub fn text(self, number: f64) -> String {
        match self {
            Self::Duration => SimDuration::from_secs_f64(number).to_string(),
            Self::Link => BytesPerSec::new(number).to_string(),
            Self::Throughput => format!("{} MB/s", short(number / 1e6)),
            Self::Size => Bytes::from_number(number).to_string(),
            Self::Share => format!("{}%", short(number * 100.0)),
            Self::Number | Self::Count => short(number),
        }
    }

    /// Returns the location, the sigma or the shape of a value in a tree. `None`: the value lacks this part, or comes
    /// from the user's measurements.
    pub(super) fn part_of(self, node: &Node, part: VariedPart) -> Option<f64> {
        match self {
            Self::Duration => part_of_drawn::<SimDuration>(node, part),
            Self::Link | Self::Throughput => part_of_drawn::<BytesPerSec>(node, part),
            Self::Size => part_of_drawn::<Bytes>(node, part),
            _ if part != VariedPart::Location => part_of_drawn::<Factor>(node, part),
            Self::Share => Share::parse(&node.short_text()).ok().map(Share::get),
            Self::Number | Self::Count => match node.value {
                Value::Int(number) => Some(number as f64),
                Value::Float(number) => Some(number),
                _ => None,
            },
        }
    }

    /// Returns the value in a tree with one part changed.
    pub(super) fn changed(
        self,
        node: &Node,
        part: VariedPart,
        change: ValueChange,
    ) -> Option<Node> {
        match self {
            Self::Duration => return drawn::<SimDuration>(node, part, change),
            Self::Link | Self::Throughput => return drawn::<BytesPerSec>(node, part, change),
            Self::Size => return drawn::<Bytes>(node, part, change),
            Self::Number if part != VariedPart::Location => {
                return drawn::<Factor>(node, part, change);
            }
            Self::Share | Self::Number | Self::Count => {}
        }
        let number = change.of(self.part_of(node, VariedPart::Location)?);
        Some(match self {
            Self::Share => Node::of_value(&Share::new(number.clamp(0.0, 1.0)), &node.at),
            Self::Count => Node::of_value(&(number.round().max(1.0) as u64), &node.at),
            _ => Node::of_value(&number, &node.at),
        })
    }
}

fn part_of_drawn<Q: Quantity>(node: &Node, part: VariedPart) -> Option<f64> {
    match (part, reader::read::<Distribution<Q>>(node.clone()).value?) {
        // Values from the user's measurements are not varied.
        (VariedPart::Location, Distribution::Unread(_) | Distribution::Empirical(_)) => None,
        (VariedPart::Location, model) => Some(model.typical().to_number()),
        (VariedPart::Sigma, Distribution::LogNormal { sigma, .. }) => Some(sigma),
        (VariedPart::Shape, Distribution::Weibull { shape, .. }) => Some(shape),
        (VariedPart::Sigma | VariedPart::Shape, _) => None,
    }
}

fn drawn<Q: Quantity>(node: &Node, part: VariedPart, change: ValueChange) -> Option<Node> {
    let model = reader::read::<Distribution<Q>>(node.clone()).value?;
    let changed = match (part, model, change) {
        (VariedPart::Sigma, Distribution::LogNormal { median, sigma }, change) => {
            Distribution::LogNormal {
                median,
                sigma: change.of(sigma),
            }
        }
        (VariedPart::Shape, model @ Distribution::Weibull { shape, .. }, change) => {
            Distribution::weibull_of_mean(Q::from_number(model.mean()), change.of(shape))
        }
        (VariedPart::Sigma | VariedPart::Shape, _, _) => return None,
        (VariedPart::Location, model, ValueChange::Factor(factor)) => model.scaled(factor),
        (VariedPart::Location, _, ValueChange::Value(value)) => Q::from_number(value).into(),
    };
    Some(Node::of_value(&changed, &node.at))
}

/// Formats a number with three significant digits.
pub(in crate::scenario) fn short(number: f64) -> String {
    significant(if number.abs() < 1e-12 { 0.0 } else { number }, 3)
}

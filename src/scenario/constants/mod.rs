//! The constants of the model as data: each has a setting in experiments, a range, and a source or the word "guess".
//!
//! Values are not repeated here. They are read from the defaults of the settings, or from the experiment. The range
//! should contain the true value for any site, program or machine of the kind that the default represents. If an
//! experiment has its own value, the range scales with it, unless it is absolute.
//!
//! A constant is varied through its location (the median, mean or bounds of a random quantity, all by one factor) or
//! through the sigma of a lognormal, which is a separate constant. Left out: correlations between constants, and the
//! family of a distribution.
//!
//! The tests list the settings that are not constants, with the reason, and compare both lists with the schema.

mod in_force;
mod kind;
mod lay;
mod places;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::document::path::Path;
use crate::document::problem::Source;
use crate::document::reader;
use crate::document::tree::{self, Node};
use crate::products::PRODUCTS;
use crate::results::grouped;

pub use in_force::{SettingInForce, SettingsInForce, StrategySettings};
pub use kind::ConstantKind;
pub(super) use kind::short;
pub use lay::Level;
pub(crate) use lay::{FactorLevel, StatedRanges, lay_all, product_of};
pub(crate) use places::is_setting;

/// One constant of the model, for all products or for some of them. It is an entry of `constants.yaml`, which explains
/// the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Constant {
    /// Keys of the products that have the constant. Empty: all products.
    #[serde(default)]
    pub products: Vec<String>,
    /// The constant's path patterns in an experiment; the first one is its name. The part before `|` must exist; the
    /// rest is created. After `?`, only written values count. `|^.` stands for the map that the part before it is in.
    pub(crate) places: Vec<String>,
    /// The kind of quantity that the constant has.
    pub kind: ConstantKind,
    /// The part of the random quantity that the constant is.
    #[serde(default)]
    pub part: VariedPart,
    /// The minimum and the maximum plausible value, as an experiment would write them.
    pub range: [String; 2],
    /// Whether the range is absolute and does not scale with the experiment's own value.
    #[serde(default, rename = "absolute")]
    pub is_absolute: bool,
    /// The distribution of values within the range.
    #[serde(default)]
    pub shape: RangeShape,
    /// The evidence for the value.
    pub basis: Basis,
    /// The source of the value and the range, or the reason why they are plausible.
    pub source: String,
    /// Whether the constant applies only to defects that make containers crash.
    #[serde(default)]
    of_crashes: bool,
}

/// The part of a random quantity that a constant is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum VariedPart {
    /// All values of the quantity, multiplied by the same factor.
    #[default]
    Location,
    /// The sigma of a lognormal. Other distributions have no sigma.
    Sigma,
    /// The shape of a Weibull distribution, varied with a fixed mean. Other distributions have no shape.
    Shape,
}

/// The distribution of values within a range.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum RangeShape {
    /// All values are equally likely.
    Uniform,
    /// The logarithm of the value is uniform.
    #[default]
    LogUniform,
}

/// The evidence for a value.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// The value was measured, or calibrated with published measurements.
    Measured,
    /// A product's source or documentation states the value; installations may use another value.
    Documented,
    /// There is no published value.
    Guess,
}

impl Basis {
    /// Returns the name of the part in lowercase.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Guess => "guess",
        }
    }
}

impl RangeShape {
    /// Returns the name of the basis in lowercase.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::LogUniform => "loguniform",
        }
    }

    /// Returns the value at the quantile `share` of the range's distribution.
    pub(crate) fn quantile(self, share: f64, [low, high]: [f64; 2]) -> f64 {
        match self {
            Self::LogUniform if low > 0.0 => low * libm::pow(high / low, share),
            Self::Uniform | Self::LogUniform => low + (high - low) * share,
        }
    }

    /// Returns the value at this share of the distance from `value` to an end of the range.
    pub(crate) fn toward(self, value: f64, end: f64, share: f64) -> f64 {
        match self {
            Self::LogUniform if value > 0.0 && end > 0.0 => value * libm::pow(end / value, share),
            _ => value + (end - value) * share,
        }
    }
}

impl Constant {
    /// Returns the constant's path in an experiment, such as `fleet[*].downlink`. Constants of different products may
    /// have the same path.
    #[must_use]
    pub fn name(&self) -> String {
        self.name_of(&self.places[0])
    }

    /// Returns the constant's path in an experiment that has its values at these places, such as
    /// `inventory.default.downlink` if the fleet is an inventory.
    pub(crate) fn name_at(&self, places: &[&str]) -> String {
        match places.last() {
            Some(last) if !places.contains(&self.places[0].as_str()) => self.name_of(last),
            _ => self.name(),
        }
    }

    fn name_of(&self, place: &str) -> String {
        let path = places::plain(place);
        match self.part {
            VariedPart::Location => path,
            VariedPart::Sigma => format!("{path}.sigma"),
            VariedPart::Shape => format!("{path}.shape"),
        }
    }

    /// Returns whether `name` is the constant's path at one of its places.
    fn is_named(&self, name: &str) -> bool {
        self.places.iter().any(|place| self.name_of(place) == name)
    }

    /// Returns the kind of the constant's own numbers. Unlike the quantity itself, a sigma or a shape has no unit.
    fn own_kind(&self) -> ConstantKind {
        if self.part == VariedPart::Location {
            self.kind
        } else {
            ConstantKind::Number
        }
    }

    /// Parses a value as an experiment writes it. `None`: the text is not a valid value of this constant.
    pub(crate) fn parse(&self, text: &str) -> Option<f64> {
        self.own_kind().parse(text)
    }

    /// Returns the ends of the range as numbers.
    #[must_use]
    pub fn ends(&self) -> [f64; 2] {
        self.range
            .each_ref()
            .map(|end| self.parse(end).expect("a test reads every range"))
    }

    /// Returns whether this product has the constant.
    fn is_of(&self, product: &str) -> bool {
        self.products.is_empty() || self.products.iter().any(|key| key == product)
    }

    /// Returns the default value as a number, in the kind's base unit. `None`: there is no default.
    #[must_use]
    pub fn default_value(&self) -> Option<f64> {
        self.default_of_place()
            .and_then(|node| self.kind.part_of(&node, self.part))
    }

    /// Returns the whole default value as an experiment writes it, such as `{median: 4 s, sigma: 0.6}`.
    pub(crate) fn default_text(&self) -> Option<String> {
        Some(self.default_of_place()?.short_text())
    }

    /// Returns the value to which the ends of the range belong: the default, or the middle of the range if there is
    /// none. `None`: the constant has no positive value.
    pub(crate) fn reference_value(&self) -> Option<f64> {
        let [low, high] = self.ends();
        let reference = self.default_value().unwrap_or_else(|| (low * high).sqrt());
        (reference > 0.0).then_some(reference)
    }

    fn default_of_place(&self) -> Option<Node> {
        let key = self
            .products
            .first()
            .map_or(PRODUCTS[0].key, String::as_str);
        let product = PRODUCTS.iter().find(|product| product.key == key)?;
        places::default_of(&self.places[0], product)
    }

    /// Returns whether the neighbouring settings make use of the constant. `needs` is one of these settings. For
    /// example, the time until a crash applies only to containers that crash.
    fn is_used(&self, needs: &Node) -> bool {
        if !self.of_crashes {
            return true;
        }
        let kind = needs.get(&Path::of("kind"));
        needs.get(&Path::of("detectedAfter")).is_none()
            && kind.is_none_or(|kind| kind.short_text() == "crashes")
    }

    /// Returns the unit of the constant's numbers.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self.part {
            VariedPart::Location => self.kind.unit(),
            VariedPart::Sigma | VariedPart::Shape => ConstantKind::Number.unit(),
        }
    }

    /// Formats a number that is in the constant's base unit.
    #[must_use]
    pub fn text(&self, number: f64) -> String {
        self.own_kind().text(number)
    }
}

/// Constants with the same path, which vary together.
#[derive(Debug)]
pub struct ConstantGroup {
    /// The common path.
    pub name: String,
    /// The constants, one for each group of products.
    pub rows: Vec<&'static Constant>,
}

/// Returns all constants, ordered by subject.
pub fn all() -> impl Iterator<Item = &'static Constant> {
    static ALL: LazyLock<Vec<Constant>> = LazyLock::new(read_all);
    ALL.iter()
}

/// Parses `constants.yaml`.
fn read_all() -> Vec<Constant> {
    let text = include_str!("constants.yaml").to_owned();
    let source = Arc::new(Source::new("constants.yaml", text));
    let tree = tree::parse(&source).unwrap_or_else(|problem| panic!("{problem}"));
    let reading = reader::read(tree);
    match reading.value {
        Some(constants) if reading.errors.is_empty() => constants,
        _ => panic!("{:?}", reading.errors),
    }
}

/// Returns all factors, in the order of their first constant.
pub fn factors() -> &'static [ConstantGroup] {
    static FACTORS: LazyLock<Vec<ConstantGroup>> = LazyLock::new(group_by_path);
    &FACTORS
}

/// Groups the constants by path.
fn group_by_path() -> Vec<ConstantGroup> {
    let mut factors = Vec::new();
    for (name, rows) in grouped(all().map(|row| (row.name(), row))) {
        factors.push(ConstantGroup { name, rows });
    }
    factors
}

/// Returns the index of the factor with this name, or with a constant at this place.
#[must_use]
pub fn factor(name: &str) -> Option<usize> {
    let named = factors().iter().position(|factor| factor.name == name);
    named.or_else(|| {
        factors()
            .iter()
            .position(|factor| factor.rows.iter().any(|row| row.is_named(name)))
    })
}

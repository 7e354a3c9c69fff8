//! A quantity in the file that is fixed (`4 s`) or drawn: `{median: 4 s, sigma: 0.6}`, `{weibull: {…}}`,
//! `{file: values.csv, column: seconds}`.
//!
//! One syntax for durations, sizes, rates and factors ([`Measured`]). The three usual forms are told by their keys
//! alone (`{median, sigma}` lognormal, `{mean}` exponential, `{min, max}` uniform); every other form is named.
//! A file of values is read when the experiment is checked, since reading here would leave it out of provenance.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use super::quantity::{Duration, Rate, Size};
use crate::units::{Bytes, BytesPerSec, SimDuration, text};
use crate::world::{Distribution, Quantity, ValuesFile};

/// A quantity of the file that can be drawn.
pub(crate) trait Measured: Copy + DeserializeOwned + JsonSchema + 'static {
    /// What it holds.
    type Holds: Quantity;
    /// What it is called, with an article.
    const KIND: &'static str;
    /// Two values, for examples.
    const EXAMPLES: [&'static str; 2];
    /// Units that the name of a column of bare numbers may end in, and how they are written behind a number.
    const COLUMN_UNITS: &'static [(&'static str, &'static str)];

    fn holds(self) -> Self::Holds;

    /// Reads a value with its unit.
    ///
    /// # Errors
    /// When there is no unit, or none of this kind; with the mend.
    fn parse(value: &str) -> Result<Self::Holds, String>;
}

impl Measured for Duration {
    type Holds = SimDuration;
    const KIND: &'static str = "a duration";
    const EXAMPLES: [&'static str; 2] = ["4 s", "9 s"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[
        ("s", "s"),
        ("seconds", "s"),
        ("ms", "ms"),
        ("milliseconds", "ms"),
        ("us", "us"),
        ("ns", "ns"),
        ("minutes", "m"),
        ("h", "h"),
        ("hours", "h"),
        ("d", "d"),
        ("days", "d"),
    ];

    fn holds(self) -> SimDuration {
        self.0
    }

    fn parse(value: &str) -> Result<SimDuration, String> {
        text::parse_duration(value).map_err(|error| error.to_string())
    }
}

impl Measured for Size {
    type Holds = Bytes;
    const KIND: &'static str = "a size";
    const EXAMPLES: [&'static str; 2] = ["10 MB", "90 MB"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] = &[
        ("bytes", "B"),
        ("B", "B"),
        ("kB", "kB"),
        ("MB", "MB"),
        ("GB", "GB"),
        ("KiB", "KiB"),
        ("MiB", "MiB"),
        ("GiB", "GiB"),
    ];

    fn holds(self) -> Bytes {
        self.0
    }

    fn parse(value: &str) -> Result<Bytes, String> {
        text::parse_bytes(value).map_err(|error| error.to_string())
    }
}

impl Measured for Rate {
    type Holds = BytesPerSec;
    const KIND: &'static str = "a rate";
    const EXAMPLES: [&'static str; 2] = ["20 Mbit/s", "90 Mbit/s"];
    const COLUMN_UNITS: &'static [(&'static str, &'static str)] =
        &[("bytes_per_s", "B/s"), ("Mbit/s", "Mbit/s"), ("Gbit/s", "Gbit/s"), ("MB/s", "MB/s")];

    fn holds(self) -> BytesPerSec {
        self.0
    }

    fn parse(value: &str) -> Result<BytesPerSec, String> {
        text::parse_rate(value).map_err(|error| error.to_string())
    }
}

/// A quantity that is fixed or drawn anew each time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spread<Q: Measured = Duration> {
    Model(Distribution<Q::Holds>),
    /// Measured values in a file.
    Values(ValuesFile),
}

/// The drawn forms of a [`Spread`], all fields together; which ones are there says which form it is.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Measured")]
#[schemars(rename = "Drawn{Q}")]
struct SpreadFields<Q> {
    /// Lognormal: half of the draws are below it. Wants `sigma`.
    median: Option<Q>,
    /// Lognormal: standard deviation of the logarithm, between 0 and 5.
    sigma: Option<f64>,
    /// Exponential: the mean.
    mean: Option<Q>,
    /// Uniform: the least. Wants `max`.
    min: Option<Q>,
    /// Uniform: the most.
    max: Option<Q>,
    /// The gamma distribution.
    gamma: Option<GammaFields<Q>>,
    /// The Weibull distribution.
    weibull: Option<WeibullFields<Q>>,
    /// The Pareto distribution.
    pareto: Option<ParetoFields<Q>>,
    /// Measured values: a CSV file with a line of column names.
    file: Option<String>,
    /// The column of `file`. Default: its only one. Values have a unit, or the column's name ends in one.
    column: Option<String>,
}

/// Gamma: the standard deviation is `mean` over the root of `shape`.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Measured")]
#[schemars(rename = "Gamma{Q}")]
struct GammaFields<Q> {
    /// The mean.
    mean: Q,
    /// From 0.05 to 1000; 1 is exponential.
    shape: f64,
}

/// Weibull: above x with probability exp(-(x / scale)^shape).
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Measured")]
#[schemars(rename = "Weibull{Q}")]
struct WeibullFields<Q> {
    /// The mean. This or `scale`.
    mean: Option<Q>,
    /// A share of 1 - 1/e of the draws is below it. This or `mean`.
    scale: Option<Q>,
    /// From 0.2 to 100; below 1 what has lasted long will last, 1 is exponential.
    shape: f64,
}

/// Pareto: above x with probability (least / x)^alpha.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Measured")]
#[schemars(rename = "Pareto{Q}")]
struct ParetoFields<Q> {
    /// No draw is below it.
    least: Q,
    /// From 0.1 to 100; the mean is infinite up to 1, unless there is a `most`.
    alpha: f64,
    /// No draw is above it: the tail is cut off. Default: no bound.
    most: Option<Q>,
}

fn expecting<Q: Measured>() -> String {
    let [low, high] = Q::EXAMPLES;
    format!(
        "{} such as `{low}`, `{{median: {low}, sigma: 0.6}}`, `{{mean: {low}}}`, `{{min: {low}, max: {high}}}`, \
         `{{gamma: {{mean: {low}, shape: 2}}}}`, `{{weibull: {{mean: {low}, shape: 0.7}}}}`, \
         `{{pareto: {{least: {low}, alpha: 1.5}}}}` or `{{file: values.csv, column: {}}}`",
        Q::KIND,
        Q::COLUMN_UNITS[0].0
    )
}

fn parameter(name: &str, value: f64, low: f64, high: f64) -> Result<f64, String> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(format!("`{name}` is {value}; write a number from {low} to {high}"))
    }
}

impl<Q: Measured> SpreadFields<Q> {
    fn spread(self) -> Result<Spread<Q>, String> {
        let holds = |quantity: Option<Q>| quantity.map(Q::holds);
        let forms = usize::from(self.median.is_some() || self.sigma.is_some())
            + usize::from(self.mean.is_some())
            + usize::from(self.min.is_some() || self.max.is_some())
            + usize::from(self.gamma.is_some())
            + usize::from(self.weibull.is_some())
            + usize::from(self.pareto.is_some())
            + usize::from(self.file.is_some() || self.column.is_some());
        if forms != 1 {
            return Err(format!("expected {}", expecting::<Q>()));
        }
        let model = if let (Some(median), Some(sigma)) = (holds(self.median), self.sigma) {
            if !(0.0..=5.0).contains(&sigma) {
                return Err(format!("`sigma` is {sigma}; it is a standard deviation of logarithms between 0 and 5"));
            }
            Distribution::LogNormal { median, sigma }
        } else if let Some(mean) = holds(self.mean) {
            Distribution::Exponential { mean }
        } else if let (Some(min), Some(max)) = (self.min, self.max) {
            let (min, max) = (min.holds(), max.holds());
            if min.to_number() > max.to_number() {
                return Err("`min` is more than `max`; swap them".to_owned());
            }
            Distribution::Uniform { min, max }
        } else if let Some(gamma) = self.gamma {
            let shape = parameter("gamma.shape", gamma.shape, 0.05, 1000.0)?;
            Distribution::Gamma { mean: gamma.mean.holds(), shape }
        } else if let Some(weibull) = self.weibull {
            let shape = parameter("weibull.shape", weibull.shape, 0.2, 100.0)?;
            match (holds(weibull.mean), holds(weibull.scale)) {
                (Some(mean), None) => Distribution::weibull_of_mean(mean, shape),
                (None, Some(scale)) => Distribution::Weibull { scale, shape },
                _ => return Err("`weibull` wants either `mean` or `scale`".to_owned()),
            }
        } else if let Some(pareto) = self.pareto {
            let alpha = parameter("pareto.alpha", pareto.alpha, 0.1, 100.0)?;
            let (least, most) = (pareto.least.holds(), holds(pareto.most));
            if least.to_number() <= 0.0 {
                return Err("`pareto.least` is 0; write a value above 0".to_owned());
            }
            if most.is_some_and(|most| most.to_number() < least.to_number()) {
                return Err("`pareto.most` is less than `pareto.least`; swap them".to_owned());
            }
            Distribution::Pareto { least, alpha, most }
        } else if let Some(file) = self.file {
            return Ok(Spread::Values(ValuesFile { file, column: self.column }));
        } else {
            return Err(format!("expected {}", expecting::<Q>()));
        };
        Ok(Spread::Model(model))
    }
}

impl<'de, Q: Measured> Deserialize<'de> for Spread<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpreadVisitor<Q>(PhantomData<Q>);

        impl<'de, Q: Measured> Visitor<'de> for SpreadVisitor<Q> {
            type Value = Spread<Q>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&expecting::<Q>())
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Spread<Q>, E> {
                Q::parse(value).map(|value| Spread::Model(Distribution::Constant(value))).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Spread<Q>, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Spread<Q>, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Spread<Q>, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Spread<Q>, A::Error> {
                let fields = SpreadFields::<Q>::deserialize(MapAccessDeserializer::new(map))?;
                fields.spread().map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_any(SpreadVisitor(PhantomData))
    }
}

impl<Q: Measured> JsonSchema for Spread<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Spread", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let constant = generator.subschema_for::<Q>();
        let drawn = generator.subschema_for::<SpreadFields<Q>>();
        json_schema!({
            "description": "Fixed, or drawn anew each time: lognormal {median, sigma}, exponential {mean}, uniform \
                {min, max}, {gamma}, {weibull}, {pareto}, or like the measured values of {file, column}.",
            "anyOf": [constant, drawn],
        })
    }
}

//! Random quantities in files: fixed (`4 s`) or drawn, `{median: 4 s, sigma: 0.6}`, `{weibull: {…}}`,
//! `{file: values.csv, column: seconds}`.
//!
//! Durations, sizes, rates and factors share one syntax. The three usual forms are recognised by their keys alone
//! (`{median, sigma}` lognormal, `{mean}` exponential, `{min, max}` uniform); every other form has a name. A file of
//! measured values is read when the experiment is checked, so that provenance lists it; until then a quantity is
//! [`Distribution::Unread`].

#[cfg(any(test, feature = "schema"))]
use std::borrow::Cow;

#[cfg(any(test, feature = "schema"))]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::json;

use crate::document::text_or::TextOrMap;
use crate::world::quantity::{Distribution, Quantity, ValuesFile};

/// The fields of all drawn forms; the fields that are present determine the form.
#[derive(serde::Deserialize)]
#[cfg_attr(
    any(test, feature = "schema"),
    derive(JsonSchema),
    schemars(rename = "Drawn{Q}")
)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct Fields<Q> {
    /// Lognormal: the median. Needs `sigma`.
    median: Option<Q>,
    /// Lognormal: standard deviation of the logarithm, between 0 and 5.
    sigma: Option<f64>,
    /// Exponential: the mean.
    mean: Option<Q>,
    /// Uniform: the lower bound. Needs `max`.
    min: Option<Q>,
    /// Uniform: the upper bound.
    max: Option<Q>,
    /// The gamma distribution.
    gamma: Option<GammaFields<Q>>,
    /// The Weibull distribution.
    weibull: Option<WeibullFields<Q>>,
    /// The Pareto distribution.
    pareto: Option<ParetoFields<Q>>,
    /// Measured values: a CSV file whose first line names the columns.
    file: Option<String>,
    /// The column of `file`; optional if there is only one. Values have a unit, or the column's name ends in one.
    column: Option<String>,
}

/// Gamma: the standard deviation is `mean` divided by the root of `shape`.
#[derive(serde::Deserialize)]
#[cfg_attr(
    any(test, feature = "schema"),
    derive(JsonSchema),
    schemars(rename = "Gamma{Q}")
)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct GammaFields<Q> {
    /// The mean.
    mean: Q,
    /// The shape, from 0.05 to 1000; 1 is exponential.
    shape: f64,
}

/// Weibull: a draw is above x with probability exp(-(x / scale)^shape).
#[derive(serde::Deserialize)]
#[cfg_attr(
    any(test, feature = "schema"),
    derive(JsonSchema),
    schemars(rename = "Weibull{Q}")
)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct WeibullFields<Q> {
    /// The mean. Set either this or `scale`.
    mean: Option<Q>,
    /// The scale: a share of 1 - 1/e of the draws is below it. Set either this or `mean`.
    scale: Option<Q>,
    /// The shape, from 0.2 to 100. Below 1, the longer something has lasted, the longer it is expected to last; 1 is
    /// exponential.
    shape: f64,
}

/// Pareto: a draw is above x with probability (least / x)^alpha.
#[derive(serde::Deserialize)]
#[cfg_attr(
    any(test, feature = "schema"),
    derive(JsonSchema),
    schemars(rename = "Pareto{Q}")
)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct ParetoFields<Q> {
    /// The lower bound.
    least: Q,
    /// The exponent, from 0.1 to 100. Up to 1 the mean is infinite, unless there is a `most`.
    alpha: f64,
    /// The upper bound, at which the tail is truncated. Default: no bound.
    most: Option<Q>,
}

fn expecting<Q: Quantity>() -> String {
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
        Err(format!(
            "`{name}` is {value}; write a number from {low} to {high}"
        ))
    }
}

impl<Q: Quantity> Fields<Q> {
    fn distribution(self) -> Result<Distribution<Q>, String> {
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
        if let (Some(median), Some(sigma)) = (self.median, self.sigma) {
            Ok(Distribution::LogNormal {
                median,
                sigma: parameter("sigma", sigma, 0.0, 5.0)?,
            })
        } else if let Some(mean) = self.mean {
            Ok(Distribution::Exponential { mean })
        } else if let (Some(min), Some(max)) = (self.min, self.max) {
            if min.to_number() > max.to_number() {
                return Err("`min` is greater than `max`; swap them".to_owned());
            }
            Ok(Distribution::Uniform { min, max })
        } else if let Some(GammaFields { mean, shape }) = self.gamma {
            Ok(Distribution::Gamma {
                mean,
                shape: parameter("gamma.shape", shape, 0.05, 1000.0)?,
            })
        } else if let Some(weibull) = self.weibull {
            let shape = parameter("weibull.shape", weibull.shape, 0.2, 100.0)?;
            match (weibull.mean, weibull.scale) {
                (Some(mean), None) => Ok(Distribution::weibull_of_mean(mean, shape)),
                (None, Some(scale)) => Ok(Distribution::Weibull { scale, shape }),
                _ => Err("`weibull` needs either `mean` or `scale`".to_owned()),
            }
        } else if let Some(ParetoFields { least, alpha, most }) = self.pareto {
            let alpha = parameter("pareto.alpha", alpha, 0.1, 100.0)?;
            if least.to_number() <= 0.0 {
                return Err("`pareto.least` must be greater than 0".to_owned());
            }
            if most.is_some_and(|most| most.to_number() < least.to_number()) {
                return Err("`pareto.most` is less than `pareto.least`; swap them".to_owned());
            }
            Ok(Distribution::Pareto { least, alpha, most })
        } else if let Some(file) = self.file {
            Ok(Distribution::Unread(ValuesFile {
                path: file,
                column: self.column,
            }))
        } else {
            Err(format!("expected {}", expecting::<Q>()))
        }
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrMap {
            expecting: &expecting::<Q>(),
            of_text: |text| {
                Q::read(text)
                    .map(Self::Constant)
                    .map_err(|error| error.to_string())
            },
            of_fields: Fields::<Q>::distribution,
        })
    }
}

impl<Q: Quantity> Serialize for Distribution<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = match self {
            Self::Constant(value) => return value.serialize(serializer),
            Self::Empirical(values) => return serializer.collect_seq(values.iter()),
            Self::LogNormal { median, sigma } => json!({ "median": median, "sigma": sigma }),
            Self::Exponential { mean } => json!({ "mean": mean }),
            Self::Uniform { min, max } => json!({ "min": min, "max": max }),
            Self::Gamma { mean, shape } => json!({ "gamma": { "mean": mean, "shape": shape } }),
            Self::Weibull { scale, shape } => {
                // If the mean was specified, it is a round number: write it instead of the scale.
                let mean = Q::from_number(self.mean().round());
                if Self::weibull_of_mean(mean, *shape) == *self {
                    json!({ "weibull": { "mean": mean, "shape": shape } })
                } else {
                    json!({ "weibull": { "scale": scale, "shape": shape } })
                }
            }
            Self::Pareto {
                least,
                alpha,
                most: None,
            } => json!({ "pareto": { "least": least, "alpha": alpha } }),
            Self::Pareto { least, alpha, most } => {
                json!({ "pareto": { "least": least, "alpha": alpha, "most": most } })
            }
            Self::Unread(ValuesFile {
                path: file,
                column: None,
            }) => json!({ "file": file }),
            Self::Unread(ValuesFile { path: file, column }) => {
                json!({ "file": file, "column": column })
            }
        };
        fields.serialize(serializer)
    }
}

#[cfg(any(test, feature = "schema"))]
impl<Q: Quantity> JsonSchema for Distribution<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Distribution", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let constant = generator.subschema_for::<Q>();
        let drawn = generator.subschema_for::<Fields<Q>>();
        json_schema!({
            "description": "Fixed, or drawn again each time: lognormal {median, sigma}, exponential {mean}, uniform \
                {min, max}, {gamma}, {weibull}, {pareto}, or like the measured values of {file, column}.",
            "anyOf": [constant, drawn],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::reader::tests::read_one;
    use crate::world::quantity::{DurationModel, FactorModel, RateModel, SizeModel};
    use fleetsim_units::{Bytes, BytesPerSec, Factor, SimDuration};

    #[test]
    fn durations_are_fixed_or_drawn() {
        let secs = SimDuration::from_secs;
        for (text, expected) in [
            ("4 s", DurationModel::Constant(secs(4))),
            (
                "{median: 4 s, sigma: 0.6}",
                DurationModel::LogNormal {
                    median: secs(4),
                    sigma: 0.6,
                },
            ),
            (
                "{median: 4 s, sigma: 1}",
                DurationModel::LogNormal {
                    median: secs(4),
                    sigma: 1.0,
                },
            ),
            ("{mean: 1m}", DurationModel::Exponential { mean: secs(60) }),
            (
                "{min: 10s, max: 15s}",
                DurationModel::Uniform {
                    min: secs(10),
                    max: secs(15),
                },
            ),
            (
                "{gamma: {mean: 4 s, shape: 2}}",
                DurationModel::Gamma {
                    mean: secs(4),
                    shape: 2.0,
                },
            ),
            (
                "{weibull: {scale: 4 s, shape: 0.7}}",
                DurationModel::Weibull {
                    scale: secs(4),
                    shape: 0.7,
                },
            ),
            // Γ(1 + 1/0.5) = 2
            (
                "{weibull: {mean: 4 s, shape: 0.5}}",
                DurationModel::Weibull {
                    scale: secs(2),
                    shape: 0.5,
                },
            ),
            (
                "{pareto: {least: 4 s, alpha: 1.5}}",
                DurationModel::Pareto {
                    least: secs(4),
                    alpha: 1.5,
                    most: None,
                },
            ),
        ] {
            assert_eq!(
                read_one::<DurationModel>(text),
                Ok(expected.clone()),
                "{text}"
            );
            let written = serde_json::to_string(&expected).expect("it can be written");
            assert_eq!(
                read_one::<DurationModel>(&written),
                Ok(expected),
                "{text} as {written}"
            );
        }
    }

    #[test]
    fn sizes_rates_and_factors_have_the_same_syntax() {
        let mb = |mb: u64| Bytes::new(mb * 1_000_000);
        assert_eq!(
            read_one::<SizeModel>("30 MB"),
            Ok(SizeModel::Constant(mb(30)))
        );
        assert_eq!(
            read_one::<SizeModel>("{pareto: {least: 687 MB, alpha: 0.8, most: 20 GB}}"),
            Ok(SizeModel::Pareto {
                least: mb(687),
                alpha: 0.8,
                most: Some(mb(20_000))
            })
        );
        assert_eq!(
            read_one::<RateModel>("{median: 100 Mbit/s, sigma: 0.5}"),
            Ok(RateModel::LogNormal {
                median: BytesPerSec::from_mbit(100.0),
                sigma: 0.5
            })
        );
        assert_eq!(
            read_one::<FactorModel>("3"),
            Ok(Distribution::Constant(Factor::new(3.0)))
        );
        assert_eq!(
            read_one::<FactorModel>("{min: 2, max: 9.5}"),
            Ok(Distribution::Uniform {
                min: Factor::new(2.0),
                max: Factor::new(9.5)
            })
        );
    }

    #[test]
    fn values_may_come_from_a_file() {
        let values = ValuesFile {
            path: "pulls.csv".to_owned(),
            column: Some("pull_s".to_owned()),
        };
        let text = "{file: pulls.csv, column: pull_s}";
        assert_eq!(
            read_one::<DurationModel>(text),
            Ok(Distribution::Unread(values))
        );
        let values = ValuesFile {
            path: "pulls.csv".to_owned(),
            column: None,
        };
        assert_eq!(
            read_one::<DurationModel>("{file: pulls.csv}"),
            Ok(Distribution::Unread(values))
        );
    }

    #[test]
    fn an_invalid_quantity_is_refused_with_the_fix() {
        for (text, message) in [
            ("4", "`4` has no unit; write e.g. `90s`"),
            (
                "{median: 4, sigma: 0.6}",
                "`4` has no unit; write e.g. `90s`",
            ),
            (
                "{median: 4 s, sigma: -1}",
                "`sigma` is -1; write a number from 0 to 5",
            ),
            (
                "{median: 4 s, sigma: .nan}",
                "value `.nan` is not a finite number",
            ),
            (
                "{min: 4 s, max: 2 s}",
                "`min` is greater than `max`; swap them",
            ),
            ("{median: 4 s}", "expected a duration such as"),
            ("{mean: 4 s, max: 5 s}", "expected a duration such as"),
            ("{}", "expected a duration such as"),
            ("{mode: 4 s}", "unknown field `mode`"),
            ("[4 s]", "expected a duration such as"),
            (
                "{gamma: {mean: 4 s, shape: 0}}",
                "`gamma.shape` is 0; write a number from 0.05 to 1000",
            ),
            (
                "{weibull: {mean: 4 s, shape: 0}}",
                "`weibull.shape` is 0; write a number from 0.2 to 100",
            ),
            (
                "{weibull: {mean: 4 s, scale: 3 s, shape: 1}}",
                "`weibull` needs either `mean` or `scale`",
            ),
            (
                "{weibull: {shape: 1}}",
                "`weibull` needs either `mean` or `scale`",
            ),
            ("{weibull: {mean: 4 s}}", "the field `shape` is missing"),
            (
                "{pareto: {least: 0 s, alpha: 1}}",
                "`pareto.least` must be greater than 0",
            ),
            (
                "{pareto: {least: 4 s, alpha: 1, most: 2 s}}",
                "`pareto.most` is less than `pareto.least`",
            ),
            ("{column: seconds}", "expected a duration such as"),
            (
                "{gamma: {mean: 4 s, shape: 2}, mean: 4 s}",
                "expected a duration such as",
            ),
        ] {
            let error = read_one::<DurationModel>(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
        assert_eq!(
            read_one::<FactorModel>("-2"),
            Err("`-2` is out of range: the number is greater than 0".to_owned())
        );
        let error = read_one::<SizeModel>("30").expect_err("no unit");
        assert!(error.starts_with("`30` has no unit"), "{error}");
    }
}

//! `precision`: how precise the results are to be, as written and as checked.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

use crate::document::path::Path;
use crate::results::{Measure, MeasureError};
use crate::units::{Share, text};

/// Fewest runs that a precision is judged by. Guess: with fewer, a spread that happens to be small ends a study too
/// early; Law, "Simulation Modeling and Analysis" (2015), section 9.4.1, starts from ten as well.
pub(crate) const FEWEST_RUNS: u32 = 10;

/// What is looked at when the file does not say, and how far it goes.
const DEFAULT_OF: [&str; 2] = ["completion_s", "peak_pulls"];
const DEFAULT_MAX: u32 = 200;

/// Required precision of the results of every variant.
#[derive(Clone, Debug)]
pub struct Precision {
    /// Half of the 95 % interval of the mean, as a share of the mean; above 0.
    pub to: Share,
    /// The measures that are to be so precise; at least one.
    pub of: Vec<&'static Measure>,
    /// Most runs of a variant, at least the experiment's replicates.
    pub max: u32,
}

/// `5%`, or a map where there is more to say.
#[derive(Clone, Debug)]
pub(crate) struct PrecisionFile(PrecisionFields);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrecisionFields {
    /// Half of the 95 % interval of the mean, as a share of the mean.
    to: Share,
    /// The measures that are to be so precise: columns of `runs.csv`. Default: [completion, peak_pulls].
    of: Option<Vec<String>>,
    /// Most runs of a variant. Default: 200, or `replicates` if that is more.
    max: Option<u32>,
}

/// A problem: its place, its message, and the fix.
pub(crate) type Wrong = (Path, String, String);

impl PrecisionFile {
    /// Resolves it for an experiment of at least `replicates` runs of each variant.
    pub(crate) fn check(&self, replicates: u32) -> Result<Precision, Vec<Wrong>> {
        let here = Path::of("precision");
        let PrecisionFields { to, of, max } = &self.0;
        let mut wrong = Vec::new();
        if to.get() <= 0.0 {
            let help = "write e.g. `5%`";
            wrong.push((here.key("to"), "precision must be greater than 0%".to_owned(), help.to_owned()));
        }
        let names: Vec<&str> =
            of.as_ref().map_or(DEFAULT_OF.to_vec(), |names| names.iter().map(String::as_str).collect());
        if names.is_empty() {
            let help = "name a measure, or remove `of`";
            wrong.push((here.key("of"), "`of` must name at least one measure".to_owned(), help.to_owned()));
        }
        let mut measures = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            match Measure::named(name) {
                Ok(measure) => measures.push(measure),
                Err(MeasureError { message, help }) => wrong.push((here.key("of").index(index), message, help)),
            }
        }
        let max = max.unwrap_or(DEFAULT_MAX.max(replicates));
        if max < replicates {
            let help = "raise `max` or lower `replicates`";
            wrong.push((
                here.key("max"),
                format!("`max` ({max}) is less than the number of replicates ({replicates})"),
                help.into(),
            ));
        }
        if wrong.is_empty() { Ok(Precision { to: *to, of: measures, max }) } else { Err(wrong) }
    }
}

impl<'de> Deserialize<'de> for PrecisionFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShareOrMap;

        impl<'de> Visitor<'de> for ShareOrMap {
            type Value = PrecisionFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as `5%`, or `{to: 5%, of: [completion, peak_pulls], max: 200}`")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<PrecisionFields, E> {
                let to = text::parse_share(value).map_err(E::custom)?;
                Ok(PrecisionFields { to, of: None, max: None })
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<PrecisionFields, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<PrecisionFields, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PrecisionFields, A::Error> {
                PrecisionFields::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(ShareOrMap).map(Self)
    }
}

impl JsonSchema for PrecisionFile {
    fn schema_name() -> Cow<'static, str> {
        "Precision".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<PrecisionFields>();
        json_schema!({ "anyOf": [{ "type": "string", "examples": ["5%"] }, fields] })
    }
}

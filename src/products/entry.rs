//! The entries of the product table, and the choice of an entry in an experiment file.

#[cfg(test)]
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, EnumAccess, IgnoredAny, VariantAccess, Visitor};

use super::{Fleet, PRODUCTS, Product, Strategy, Targets, TunedSetting};
use crate::control_plane::ControlLoop;
use crate::document::context::Context;
use crate::document::path::Path;
use crate::document::reader::{self, Reading};
use crate::document::tree::Node;
use crate::world::{AgentSpec, Restarts};

/// A product as the rest of the program sees it.
#[derive(Debug)]
pub struct ProductEntry {
    /// The key in an experiment's `strategies`.
    pub key: &'static str,
    /// The product's name.
    pub title: &'static str,
    /// A description of the strategy, in one sentence.
    pub summary: &'static str,
    /// The product's word for an entry of the fleet. `None`: use the word of the product it is compared with.
    pub target: Option<&'static str>,
    /// Whether no product ships the strategy; it then serves as a bound for any pacing.
    pub is_bound: bool,
    /// The fields in the experiment that replace fields of the product's file, with their paths in that file.
    pub(crate) in_file: &'static [(&'static str, &'static str)],
    pub(crate) tuned: &'static [TunedSetting],
    /// The default control loop.
    pub control_loop: ControlLoop,
    /// The default agent of each cluster.
    pub agent: &'static AgentSpec,
    /// The platform's default rule for restarting containers that crash.
    pub restarts: Restarts,
    pub(crate) read: fn(Node) -> Reading<Configuration>,
    #[cfg(test)]
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl ProductEntry {
    pub(crate) const fn of<P: Product>() -> Self {
        Self {
            key: P::KEY,
            title: P::TITLE,
            summary: P::SUMMARY,
            target: P::TARGET,
            is_bound: P::IS_BOUND,
            in_file: P::IN_FILE,
            tuned: P::TUNED,
            control_loop: P::CONTROL_LOOP,
            agent: P::AGENT,
            restarts: P::RESTARTS,
            read: |node| reader::read(node).map(|config: P| -> Configuration { Box::new(config) }),
            #[cfg(test)]
            schema: |generator| generator.subschema_for::<P>(),
        }
    }
}

/// Returns the entry with this key.
pub fn find(key: &str) -> Option<&'static ProductEntry> {
    PRODUCTS.iter().find(|product| product.key == key)
}

/// The word for an entry of the fleet if the products use different words.
pub(crate) const ANY_TARGET: &str = "cluster";

/// The word for an application on an entry of the fleet, if there are several applications.
pub(crate) const DEPLOYMENT: &str = "deployment";

/// Returns the word that these products use for an entry of the fleet.
pub(crate) fn target_of(products: impl Iterator<Item = &'static ProductEntry>) -> &'static str {
    let words: BTreeSet<&str> = products.filter_map(|product| product.target).collect();
    words
        .first()
        .filter(|_| words.len() == 1)
        .unwrap_or(&ANY_TARGET)
}

/// A strategy's configuration, for any product.
pub(crate) type Configuration = Box<dyn ProductConfiguration>;

/// The checks of a [`Product`], without its type.
pub(crate) trait ProductConfiguration {
    /// Returns the strategy's targets, like [`Product::targets`].
    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets>;

    /// Checks the strategy, like [`Product::check`].
    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>>;
}

impl<P: Product> ProductConfiguration for P {
    fn targets(&self, path: &Path, fleet: Fleet<'_>, context: &mut Context<'_>) -> Option<Targets> {
        Product::targets(self, path, fleet, context)
    }

    fn check(
        &self,
        path: &Path,
        fleet: Fleet<'_>,
        context: &mut Context<'_>,
    ) -> Option<Arc<dyn Strategy>> {
        Product::check(self, path, fleet, context)
    }
}

/// `rancherFleet: {…}` in an experiment file: the chosen product, which parses its own configuration.
#[derive(Clone, Copy, Debug)]
pub struct StrategyChoice(pub &'static ProductEntry);

static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| PRODUCTS.iter().map(|product| product.key).collect());

impl<'de> Deserialize<'de> for StrategyChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key(&'static ProductEntry);

        impl<'de> Deserialize<'de> for Key {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let key = String::deserialize(deserializer)?;
                find(&key)
                    .map(Self)
                    .ok_or_else(|| de::Error::unknown_variant(&key, KEYS.as_slice()))
            }
        }

        struct ChoiceVisitor;

        impl<'de> Visitor<'de> for ChoiceVisitor {
            type Value = StrategyChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a product with its configuration")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<StrategyChoice, A::Error> {
                let (Key(product), content) = access.variant()?;
                content.newtype_variant::<IgnoredAny>()?;
                Ok(StrategyChoice(product))
            }
        }

        deserializer.deserialize_enum("Strategy", KEYS.as_slice(), ChoiceVisitor)
    }
}

#[cfg(test)]
impl JsonSchema for StrategyChoice {
    fn schema_name() -> Cow<'static, str> {
        "Strategy".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let choices: Vec<Schema> = PRODUCTS
            .iter()
            .map(|product| {
                json_schema!({
                    "type": "object",
                    "description": product.summary,
                    "properties": { product.key: (product.schema)(generator) },
                    "required": [product.key],
                    "additionalProperties": false,
                })
            })
            .collect();
        json_schema!({ "description": "One product with its configuration.", "oneOf": choices })
    }
}

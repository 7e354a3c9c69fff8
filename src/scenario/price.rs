//! `price`: what a rollout costs.
//!
//! Modelled: a price for each GB that registries, mirrors and caches of regions send, for each GB of it that passes a
//! NAT, for each hour of a mirror or a cache, and for each 1,000 requests to a registry. All have one currency. Prices
//! change no run.
//!
//! A path through a NAT is stated by its price: `nat` is paid for each GB that registries send, or that those named
//! send. Mirrors and caches are on the near side of the NAT.
//!
//! Left out: steps of prices, free allowances, prices between regions, and what infrastructure costs between rollouts.
//! No price has a default, because contracts differ; `docs/experiment-format/price.md` lists published ones.

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::Deserializer;

use super::check::Checker;
use crate::document::path::Path;
use crate::document::text_or::TextOrMap;
use crate::results::Measure;
use crate::units::serial::{Ordered, TextVisitor};
use crate::world::{CachePlace, DistributionKind, WorldSpec};

/// A currency, as its three letters in ISO 4217.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Currency {
    letters: [u8; 3],
}

impl Currency {
    /// Reads a currency. `None`: the text is not three capital letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 3] = text.as_bytes().try_into().ok()?;
        letters
            .iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self { letters })
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.letters {
            write!(f, "{}", char::from(letter))?;
        }
        Ok(())
    }
}

/// An amount of money for one base unit: a byte, a second or a request.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UnitPrice {
    amount: f64,
    currency: Currency,
}

/// Units with their sizes in the base unit.
type PriceUnits = &'static [(&'static str, f64)];

const DATA: PriceUnits = &[
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const HOURS: PriceUnits = &[("h", 3600.0), ("d", 86_400.0), ("month", 730.0 * 3600.0)];
const REQUESTS: PriceUnits = &[("1000", 1e3), ("10000", 1e4), ("1000000", 1e6)];

/// The highest amount of a price; more is a mistake.
const MOST_AMOUNT: f64 = 1e9;

/// The parts of a price such as `0.09 USD/GB`.
struct WrittenPrice<'t> {
    amount: f64,
    currency: Currency,
    unit: &'t str,
}

impl<'t> WrittenPrice<'t> {
    /// Splits a price. `None`: it is none.
    fn of(text: &'t str) -> Option<Self> {
        let (price, unit) = text.trim().split_once('/')?;
        let (number, currency) = price.trim().split_once(' ')?;
        Some(Self {
            amount: number.trim().parse().ok()?,
            currency: Currency::parse(currency.trim())?,
            unit: unit.trim(),
        })
    }
}

impl UnitPrice {
    /// Reads a price such as `0.09 USD/GB`.
    fn parse(text: &str, units: PriceUnits, example: &str) -> Result<Self, String> {
        let Some(WrittenPrice {
            amount,
            currency,
            unit,
        }) = WrittenPrice::of(text)
        else {
            return Err(format!("`{text}` is not a price; write e.g. `{example}`"));
        };
        if !(0.0..=MOST_AMOUNT).contains(&amount) {
            return Err(format!(
                "`{text}` is out of range: a price is 0 to 1,000,000,000"
            ));
        }
        let known = units.iter().find(|(name, _)| *name == unit);
        let Some((_, size)) = known else {
            let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(format!(
                "`{text}` must be per {names}; write e.g. `{example}`"
            ));
        };
        Ok(Self {
            amount: amount / size,
            currency,
        })
    }
}

/// Defines a price per unit, which is read from a text.
macro_rules! price {
    ($(#[doc = $doc:literal])+ $name:ident, $units:ident, $pattern:literal, $example:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct $name(UnitPrice);

        impl $name {
            /// A valid price.
            const EXAMPLE: &'static str = $example;

            fn parse(text: &str) -> Result<Self, String> {
                UnitPrice::parse(text, $units, Self::EXAMPLE).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor {
                    expecting: concat!("a price such as `", $example, "`"),
                    read: Self::parse,
                })
            }
        }

        #[cfg(test)]
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": concat!("A price such as `", $example, "`."),
                    "pattern": concat!(r"^\s*[0-9.]+ [A-Z]{3}/", $pattern, r"\s*$"),
                    "examples": [$example],
                })
            }
        }
    };
}

price!(
    /// The price of an amount of data.
    DataPrice,
    DATA,
    "(MB|GB|TB|MiB|GiB|TiB)",
    "0.09 USD/GB"
);
price!(
    /// The price of a machine for some time.
    HourPrice,
    HOURS,
    "(h|d|month)",
    "0.05 USD/h"
);
price!(
    /// The price of requests.
    RequestPrice,
    REQUESTS,
    "(1000|10000|1000000)",
    "0.4 USD/1000"
);

/// A price of all registries, or one for each of those that are named.
#[derive(Clone, Debug)]
pub(crate) enum ByRegistry<P> {
    All(P),
    Named(Vec<(String, P)>),
}

/// Implements reading of a price of all registries or of some, and its schema.
macro_rules! by_registry {
    ($($price:ident, $name:literal;)*) => {$(
        impl<'de> Deserialize<'de> for ByRegistry<$price> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextOrMap {
                    expecting: "a price, or a map from registries to prices",
                    of_text: |text| $price::parse(text).map(Self::All),
                    of_fields: |fields: Ordered<$price>| Ok(Self::Named(fields.0)),
                })
            }
        }

        #[cfg(test)]
        impl JsonSchema for ByRegistry<$price> {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let one = generator.subschema_for::<$price>();
                let named = generator.subschema_for::<Ordered<$price>>();
                json_schema!({ "anyOf": [one, named] })
            }
        }
    )*};
}

by_registry! {
    DataPrice, "DataPrices";
    RequestPrice, "RequestPrices";
}

/// What a rollout costs: prices of data, of machines and of requests, all in one currency. Results then have `cost`.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Price"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct PriceFile {
    /// Price of data that registries send, to nodes, caches and seeds.
    pub(crate) egress: Option<ByRegistry<DataPrice>>,
    /// Price of data from registries that passes a NAT. Written, it says that all of their data does; to except some
    /// registries, name the others: `nat: {docker-hub: 0.045 USD/GB}`. The first registry is `registry`.
    pub(crate) nat: Option<ByRegistry<DataPrice>>,
    /// Price of requests to registries, including refused ones.
    pub(crate) requests: Option<ByRegistry<RequestPrice>>,
    /// Price of data that mirrors send.
    pub(crate) mirror_egress: Option<DataPrice>,
    /// Price of data that the caches of regions send.
    pub(crate) cache_egress: Option<DataPrice>,
    /// Price of each mirror, from the start of the rollout to the end.
    pub(crate) mirror: Option<HourPrice>,
    /// Price of each cache, from the start of the rollout to the end.
    pub(crate) cache: Option<HourPrice>,
}

/// The prices of one registry, for a byte and for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegistryPrices {
    /// The price of a byte that the registry sends.
    pub byte: f64,
    /// The additional price of such a byte, because it passes a NAT.
    pub nat_byte: f64,
    /// The price of a request.
    pub request: f64,
}

/// Checked prices, each for one base unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceList {
    /// The currency of all prices.
    pub currency: Currency,
    /// The prices of each registry, in the experiment's order.
    pub registries: Vec<RegistryPrices>,
    /// The price of a byte that a mirror sends.
    pub mirror_byte: f64,
    /// The price of a byte that the cache of a region sends.
    pub cache_byte: f64,
    /// The price of a mirror for one second.
    pub mirror_second: f64,
    /// The price of a cache for one second.
    pub cache_second: f64,
}

/// The prices as they are found, with the first currency.
struct PriceReading {
    list: PriceList,
    currency: Option<Currency>,
}

/// Returns the names of the registries in results.
fn registry_names(world: &WorldSpec) -> Vec<&str> {
    let mut names = vec!["registry"];
    for registry in &world.registries {
        names.push(&registry.name);
    }
    names
}

/// Returns why a price at this place below `price` has no effect in a world. `None`: it has one.
pub(super) fn without_effect(place: &[&str], world: &WorldSpec) -> Option<String> {
    let cache = match &world.distribution.kind {
        DistributionKind::Cache(cache) => Some(cache.per),
        _ => None,
    };
    let has_mirrors = !world.distribution.mirrors.is_empty();
    match place {
        ["mirror" | "mirrorEgress"] if !has_mirrors => Some("there are no `mirrors`".to_owned()),
        ["cache"] if cache.is_none() => Some("there is no `distribution: {cache: …}`".to_owned()),
        ["cacheEgress"] if cache != Some(CachePlace::Region) => Some(
            "there is no cache with `per: region`, and others send within a cluster".to_owned(),
        ),
        ["egress" | "nat" | "requests", name] => {
            let registry = registry_names(world).iter().position(|known| known == name);
            let sends = world
                .images
                .iter()
                .any(|image| Some(image.registry) == registry);
            (!sends).then(|| format!("no image is in `{name}`"))
        }
        _ => None,
    }
}

impl Checker<'_> {
    /// Returns the prices. `None`: none are written, or they have problems.
    pub(super) fn price(
        &mut self,
        written: Option<&PriceFile>,
        world: &WorldSpec,
    ) -> Option<Arc<PriceList>> {
        let written = written?;
        let path = Path::of("price");
        let problems = self.problems.len();
        let mut reading = PriceReading {
            list: PriceList {
                registries: vec![RegistryPrices::default(); 1 + world.registries.len()],
                ..PriceList::default()
            },
            currency: None,
        };
        if let Some(prices) = &written.egress {
            let at = path.key("egress");
            for (registry, price) in self.of_registries(&at, prices, world) {
                reading.list.registries[registry].byte =
                    self.amount(&at, price.0, &mut reading.currency);
            }
        }
        if let Some(prices) = &written.nat {
            let at = path.key("nat");
            for (registry, price) in self.of_registries(&at, prices, world) {
                reading.list.registries[registry].nat_byte =
                    self.amount(&at, price.0, &mut reading.currency);
            }
        }
        if let Some(prices) = &written.requests {
            let at = path.key("requests");
            for (registry, price) in self.of_registries(&at, prices, world) {
                reading.list.registries[registry].request =
                    self.amount(&at, price.0, &mut reading.currency);
            }
        }
        self.prices_of_mirrors_and_caches(written, &mut reading);
        let Some(currency) = reading.currency else {
            // A price of a registry that does not exist was reported.
            if self.problems.len() == problems && self.is_untouched(&path) {
                let help = "write e.g. `price: {egress: 0.09 USD/GB}`, or remove `price`";
                self.report(&path, "`price` has no price", help);
            }
            return None;
        };
        Some(Arc::new(PriceList {
            currency,
            ..reading.list
        }))
    }

    /// Reads the prices of mirrors and caches.
    fn prices_of_mirrors_and_caches(&mut self, written: &PriceFile, reading: &mut PriceReading) {
        let path = Path::of("price");
        if let Some(price) = written.mirror_egress {
            let at = path.key("mirrorEgress");
            reading.list.mirror_byte = self.amount(&at, price.0, &mut reading.currency);
        }
        if let Some(price) = written.mirror {
            let at = path.key("mirror");
            reading.list.mirror_second = self.amount(&at, price.0, &mut reading.currency);
        }
        if let Some(price) = written.cache_egress {
            let at = path.key("cacheEgress");
            reading.list.cache_byte = self.amount(&at, price.0, &mut reading.currency);
        }
        if let Some(price) = written.cache {
            let at = path.key("cache");
            reading.list.cache_second = self.amount(&at, price.0, &mut reading.currency);
        }
    }

    /// Returns the amount of a price, which must have the currency of the others.
    fn amount(&mut self, path: &Path, price: UnitPrice, currency: &mut Option<Currency>) -> f64 {
        let first = *currency.get_or_insert(price.currency);
        if first != price.currency {
            let message = format!(
                "this price is in {} and another one in {first}",
                price.currency
            );
            self.report(path, message, "write all prices in one currency");
        }
        price.amount
    }

    /// Returns the prices with the index of each registry that has one. Registries must exist.
    fn of_registries<P: Copy>(
        &mut self,
        path: &Path,
        prices: &ByRegistry<P>,
        world: &WorldSpec,
    ) -> Vec<(usize, P)> {
        let names = registry_names(world);
        let mut found = Vec::new();
        match prices {
            ByRegistry::All(price) => {
                for registry in 0..names.len() {
                    found.push((registry, *price));
                }
            }
            ByRegistry::Named(prices) => {
                for (name, price) in prices {
                    let at = path.key(name);
                    let Some(registry) = names.iter().position(|known| *known == name) else {
                        let help = format!("the registries are {}", names.join(", "));
                        self.report(&at, format!("there is no registry `{name}`"), &help);
                        continue;
                    };
                    found.push((registry, *price));
                }
            }
        }
        found
    }

    /// Reports a use of the measure `cost` in an experiment without prices.
    pub(super) fn needs_price(&mut self, path: &Path, measure: Measure, price: Option<&PriceFile>) {
        if measure == Measure::Cost && price.is_none() {
            let help = "write e.g. `price: {egress: 0.09 USD/GB}`";
            self.report(path, "`cost` is unknown, because there is no `price`", help);
        }
    }

    /// Reports a limit on the cost that has another currency than the prices.
    pub(super) fn same_currency(&mut self, path: &Path, unit: &str, price: Option<&PriceFile>) {
        let prices = price.and_then(PriceFile::currency);
        if let (Some(limit), Some(prices)) = (Currency::parse(unit), prices)
            && limit != prices
        {
            let message = format!("this limit is in {limit}, and the prices are in {prices}");
            self.report(
                path,
                message,
                "write the limit in the currency of the prices",
            );
        }
    }
}

impl PriceFile {
    /// Returns the currency of the first price.
    fn currency(&self) -> Option<Currency> {
        let by_registry = [&self.egress, &self.nat].into_iter().flatten();
        let mut prices: Vec<UnitPrice> = Vec::new();
        for price in by_registry {
            match price {
                ByRegistry::All(price) => prices.push(price.0),
                ByRegistry::Named(named) => prices.extend(named.iter().map(|(_, price)| price.0)),
            }
        }
        match &self.requests {
            Some(ByRegistry::All(price)) => prices.push(price.0),
            Some(ByRegistry::Named(named)) => {
                prices.extend(named.iter().map(|(_, price)| price.0));
            }
            None => {}
        }
        prices.extend(
            [self.mirror_egress, self.cache_egress]
                .iter()
                .flatten()
                .map(|price| price.0),
        );
        prices.extend(
            [self.mirror, self.cache]
                .iter()
                .flatten()
                .map(|price| price.0),
        );
        prices.first().map(|price| price.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_an_amount_of_a_currency_for_a_unit() {
        let cases = [
            ("0.09 USD/GB", 0.09 / 1e9),
            ("45 EUR / TB", 45e-12),
            ("1 USD/GiB", 1.0 / 1_073_741_824.0),
            ("0 USD/GB", 0.0),
            ("1000000000 USD/GB", 1.0),
        ];
        for (text, byte) in cases {
            let price = DataPrice::parse(text).expect(text);
            assert!(
                (price.0.amount - byte).abs() <= 1e-12 * byte,
                "{text}: {price:?}"
            );
        }
        let month = HourPrice::parse("73 USD/month").expect("a month has 730 h");
        assert!((month.0.amount * 3600.0 - 0.1).abs() < 1e-12);
        let requests = RequestPrice::parse("0.4 USD/1000").expect("a price");
        assert!((requests.0.amount - 0.0004).abs() < 1e-15);
        assert_eq!(requests.0.currency.to_string(), "USD");
    }

    #[test]
    fn an_invalid_price_is_refused_with_an_example() {
        let cases = [
            ("0.09", "is not a price; write e.g. `0.09 USD/GB`"),
            ("0.09 USD", "is not a price"),
            ("0.09 $/GB", "is not a price"),
            ("USD 0.09/GB", "is not a price"),
            ("0.09 USD/h", "must be per MB, GB"),
            (
                "-1 USD/GB",
                "is out of range: a price is 0 to 1,000,000,000",
            ),
            ("1000000001 USD/GB", "is out of range"),
            ("inf USD/GB", "is out of range"),
            ("NaN USD/GB", "is out of range"),
        ];
        for (text, words) in cases {
            let error = DataPrice::parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

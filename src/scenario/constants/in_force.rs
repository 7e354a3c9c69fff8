//! `resolved.yaml`: every setting in force with its origin, so that readers can trace a result.
//!
//! A setting comes from the experiment file or is a default. A default that describes the world is measured,
//! documented or a guess. Settings that vary have the file's value and are marked as varying. Left out: the contents
//! of other files (inventories, manifests and the products' own files), which are copied next to it.

use std::fmt::Write as _;

use itertools::Itertools;
use serde_json::Value as Json;

use super::places::ConstantPath;
use super::{Basis, Constant, VariedPart, all, lay, places, product_of};
use crate::document::path::{Path, Step};
use crate::document::problem::Source;
use crate::document::tree::{Node, Value};
use crate::products::{PRODUCTS, ProductEntry};

/// Sections of an experiment that are in force even if they are not written.
const ALWAYS: [&str; 6] = [
    "agent",
    "controller",
    "node",
    "node.disk",
    "pods",
    "registry",
];

/// Number of steps from the low to the high end of a range.
const RANGE_STEPS: u32 = 40;

/// Sections that apply to each strategy separately, because their defaults come from the product.
const OF_STRATEGY: [&str; 2] = ["agent", "controller"];

/// The setting that is in force only with applications: nothing else waits for an agent's worker.
const OF_APPLICATIONS: &str = "agent.workers";

/// A setting in force.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingInForce {
    /// The setting's path in the experiment file.
    pub path: String,
    /// The setting's value, as a user would write it.
    pub value: String,
    /// The origin of the value as text: a line of the file, or a default.
    pub origin: String,
    /// Names and values of the setting's entries, if it is a map.
    pub inside: Vec<(String, String)>,
    /// The path with `*` for every index. The key of its product is in the next field.
    place: String,
    product: &'static str,
}

impl SettingInForce {
    /// Returns distinct values from the low to the high end of the constant's range. Empty if the setting has no
    /// constant or its value is not a plain quantity.
    #[must_use]
    pub fn range(&self) -> Vec<String> {
        let Some(constant) = all().find(|constant| self.is_value_of(constant)) else {
            return Vec::new();
        };
        let Some(value) = constant.parse(&self.value) else {
            return Vec::new();
        };
        let Some([low, high]) = lay::ends_around(constant, value) else {
            return Vec::new();
        };
        let ends = [low.min(value), high.max(value)];
        let mut texts = Vec::new();
        for step in 0..=RANGE_STEPS {
            let share = f64::from(step) / f64::from(RANGE_STEPS);
            texts.push(constant.text(constant.shape.quantile(share, ends)));
        }
        texts.into_iter().unique().collect()
    }

    /// Returns whether this setting is the value of `constant` for its product, not only its sigma or shape.
    fn is_value_of(&self, constant: &Constant) -> bool {
        constant.is_of(self.product)
            && constant.part == VariedPart::Location
            && constant
                .places
                .iter()
                .any(|place| places::plain(place).replace("[*]", ".*") == self.place)
    }

    /// Returns the setting as a line of YAML.
    fn to_line(&self, indent: &str) -> String {
        let path = scalar(&self.path);
        let value = scalar(&self.value);
        format!("{indent}{path}: {value}  # {}\n", self.origin)
    }
}

/// The settings of one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategySettings {
    /// The name of the strategy.
    pub strategy: String,
    /// The key of the strategy's product.
    pub product: &'static str,
    /// The settings in force for the strategy.
    pub settings: Vec<SettingInForce>,
}

/// All settings of an experiment: those of all strategies, then those of each strategy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsInForce {
    /// The settings that apply to all strategies.
    pub everywhere: Vec<SettingInForce>,
    /// The settings that apply to each strategy separately.
    pub strategies: Vec<StrategySettings>,
}

impl SettingsInForce {
    /// Collects the settings. Values after position `file_ends` in the source come from `--set`.
    pub(crate) fn of(source: &Source, file_ends: usize, tree: &Node) -> Self {
        let newlines: Vec<usize> = source.text.match_indices('\n').map(|(at, _)| at).collect();
        let mut lines = Lines {
            newlines: &newlines,
            file_ends,
            tree,
            product: &PRODUCTS[0],
            settings: Vec::new(),
        };
        for (key, schema) in properties(places::whole(), &|_| true) {
            if key != "strategies" && !OF_STRATEGY.contains(&key) {
                lines.setting(&Path::of(key), key, schema);
            }
        }
        let mut all = Self {
            everywhere: lines.settings,
            strategies: Vec::new(),
        };
        for (key, choice) in tree
            .get(&Path::of("strategies"))
            .map(Node::entries)
            .unwrap_or_default()
        {
            let Some(product) = product_of(tree, &key.text) else {
                continue;
            };
            let mut lines = Lines {
                newlines: &newlines,
                file_ends,
                tree,
                product,
                settings: Vec::new(),
            };
            lines.strategy(&key.text, choice);
            all.strategies.push(StrategySettings {
                strategy: key.text.clone(),
                product: product.key,
                settings: lines.settings,
            });
        }
        all
    }

    /// Returns the settings as YAML, with the settings' paths as keys.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut text = "# Every setting in force, and its origin: a line of the experiment, or a default.\n\
                        # A default is measured, documented (by a product) or a guess; others are switches and limits.\n"
            .to_owned();
        text.push_str("everywhere:\n");
        for setting in &self.everywhere {
            text.push_str(&setting.to_line("  "));
        }
        text.push_str("strategies:\n");
        for of in &self.strategies {
            let _ = writeln!(text, "  {}:  # {}", scalar(&of.strategy), of.product);
            for setting in &of.settings {
                text.push_str(&setting.to_line("    "));
            }
            if of.settings.is_empty() {
                text.push('\n');
            }
        }
        text
    }
}

/// Returns the settings below a schema, ordered by name. For a choice, returns the keys for which `is_chosen` is true.
fn properties(
    schema: &'static Json,
    is_chosen: &dyn Fn(&str) -> bool,
) -> Vec<(&'static str, &'static Json)> {
    let target = places::resolved(places::whole(), schema);
    let mut found: Vec<(&str, &Json)> = Vec::new();
    if let Some(own) = target.get("properties").and_then(Json::as_object) {
        for (key, below) in own {
            found.push((key, below));
        }
    }
    for kind in ["anyOf", "oneOf", "allOf"] {
        let Some(alternatives) = target.get(kind).and_then(Json::as_array) else {
            continue;
        };
        let is_optional = alternatives
            .iter()
            .any(|alternative| alternative.get("type").and_then(Json::as_str) == Some("null"));
        for alternative in alternatives {
            for (key, below) in properties(alternative, is_chosen) {
                if is_optional || kind == "allOf" || is_chosen(key) {
                    found.push((key, below));
                }
            }
        }
    }
    found.into_iter().unique_by(|(key, _)| *key).collect()
}

struct Lines<'e> {
    /// The positions of the source's newlines.
    newlines: &'e [usize],
    file_ends: usize,
    tree: &'e Node,
    product: &'static ProductEntry,
    settings: Vec<SettingInForce>,
}

impl Lines<'_> {
    fn strategy(&mut self, name: &str, choice: &Node) {
        let product = self.product;
        if let Some((_, written)) = choice
            .entries()
            .iter()
            .find(|(key, _)| key.text == product.key)
        {
            self.written(
                &Path::of("strategies").key(name).key(product.key),
                "",
                written,
            );
        }
        // Other settings may be in the product's own file, which contains no constants.
        for constant in all().filter(|constant| constant.is_of(product.key)) {
            for place in &constant.places {
                for ConstantPath { path, .. } in places::paths(self.tree, place, name) {
                    let is_of_strategy = path.to_string().starts_with("strategies.");
                    if is_of_strategy && self.tree.get(&path).is_none() {
                        self.unwritten(&path, &places::plain(place));
                    }
                }
            }
        }
        for (key, schema) in properties(places::whole(), &|_| true) {
            if OF_STRATEGY.contains(&key) {
                self.setting(&Path::of(key), key, schema);
            }
        }
        if self
            .tree
            .get(&Path::of("node").key("crashBackoff"))
            .is_none()
        {
            let value = Node::of_value(&product.restarts, &(0..0));
            self.line(
                "node.crashBackoff",
                &value,
                format!("default of {}", product.key),
                "",
            );
        }
    }

    /// Adds the setting at `path`, or all settings below it. `place` is the path with `*` for every index.
    fn setting(&mut self, path: &Path, place: &str, schema: &'static Json) {
        let written = self.tree.get(path);
        let below = properties(schema, &|key| self.tree.get(&path.key(key)).is_some());
        let is_part = matches!(
            written,
            Some(Node {
                value: Value::Map(_),
                ..
            })
        ) || written.is_none() && ALWAYS.contains(&place);
        if is_part && !below.is_empty() {
            for (key, schema) in below {
                self.setting(&path.key(key), &format!("{place}.{key}"), schema);
            }
            return;
        }
        let items = places::resolved(places::whole(), schema).get("items");
        match (written, items) {
            (Some(node), Some(items))
                if node
                    .items()
                    .iter()
                    .any(|item| matches!(item.value, Value::Map(_))) =>
            {
                for index in 0..node.items().len() {
                    self.setting(&path.index(index), &format!("{place}.*"), items);
                }
            }
            (Some(node), _) => self.written(path, place, node),
            (None, _) => self.unwritten(path, place),
        }
    }

    /// Adds a value in the file, with its line. For a map, adds each of its values.
    fn written(&mut self, path: &Path, place: &str, node: &Node) {
        let entries = node.entries();
        if !entries.is_empty() && !path.to_string().starts_with("sweep") {
            for (key, value) in entries {
                self.written(
                    &path.key(&key.text),
                    &format!("{place}.{}", key.text),
                    value,
                );
            }
            return;
        }
        let origin = if node.at.start > self.file_ends {
            "`--set`".to_owned()
        } else {
            let line = self.newlines.partition_point(|end| *end < node.at.start) + 1;
            format!("line {line}")
        };
        let varies = if self.is_swept(path) {
            ", varied by `sweep`"
        } else {
            ""
        };
        self.line(&path.to_string(), node, format!("{origin}{varies}"), place);
    }

    /// Returns whether the sweep varies the setting at a path, or a setting inside it.
    fn is_swept(&self, path: &Path) -> bool {
        let Some(sweep) = self.tree.get(&Path::of("sweep")) else {
            return false;
        };
        sweep
            .entries()
            .iter()
            .any(|(key, _)| Path::parse(&key.text).is_ok_and(|swept| swept.starts_with(path)))
    }

    fn unwritten(&mut self, path: &Path, place: &str) {
        let has_applications = self.tree.get(&Path::of("applications")).is_some();
        if place == OF_APPLICATIONS && !has_applications {
            return;
        }
        let Some(node) = places::unwritten(self.tree, place, path, self.product) else {
            return;
        };
        if ["null", "[]", ""].contains(&node.short_text().as_str()) {
            return;
        }
        let is_of_product =
            matches!(path.0.first(), Some(Step::Key(key)) if OF_STRATEGY.contains(&key.as_str()));
        let of = if is_of_product {
            format!(" of {}", self.product.key)
        } else {
            String::new()
        };
        let basis = match self.basis(place) {
            Some(basis) => format!(": {}", basis.word()),
            None => String::new(),
        };
        self.line(
            &path.to_string(),
            &node,
            format!("default{of}{basis}"),
            place,
        );
    }

    /// Returns the basis of the constants at a place. If there are several, such as a median and its sigma, a guess
    /// takes precedence.
    fn basis(&self, place: &str) -> Option<Basis> {
        let steps = places::steps(place);
        let mut bases = all()
            .filter(|constant| self.is_at(constant, &steps))
            .map(|constant| constant.basis);
        let first = bases.next()?;
        Some(if bases.contains(&Basis::Guess) {
            Basis::Guess
        } else {
            first
        })
    }

    /// Returns whether a constant of the product is the value at this place, or a part of it such as its sigma.
    fn is_at(&self, constant: &Constant, place: &[&str]) -> bool {
        let mut own = constant
            .places
            .iter()
            .filter(|known| !known.starts_with('?'));
        constant.is_of(self.product.key)
            && own.any(|known| places::steps(&places::plain(known)) == place)
    }

    fn line(&mut self, path: &str, node: &Node, origin: String, place: &str) {
        let inside = node
            .entries()
            .iter()
            .map(|(key, value)| (key.text.clone(), value.short_text()))
            .collect();
        self.settings.push(SettingInForce {
            path: path.to_owned(),
            value: node.short_text(),
            origin,
            inside,
            place: place.to_owned(),
            product: self.product.key,
        });
    }
}

/// Formats a YAML scalar, with quotes only if they are needed.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " ./%_+-[]".contains(c))
        && !text.ends_with(' ');
    if is_plain {
        text.to_owned()
    } else {
        serde_json::to_string(text).expect("text is JSON")
    }
}

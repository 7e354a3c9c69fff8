//! `resolved.yaml`: every setting in force with its origin, for readers who ask where a result comes from.
//!
//! A setting comes from the experiment file, or it is a default; a default that describes the world is measured,
//! documented or a guess. Settings that vary have the file's value and are marked. Left out: what other files contain
//! (inventories, manifests and the products' own files), which are copied beside it.

use std::fmt::Write as _;

use itertools::Itertools;
use serde_json::Value as Json;

use super::{Basis, Constant, VariedPart, all, lay, places, product_of};
use crate::document::path::{Path, Step};
use crate::document::problem::Source;
use crate::document::tree::{Node, Value};
use crate::products::{PRODUCTS, ProductEntry};

/// Parts of an experiment that are in force although nobody writes them.
const ALWAYS: [&str; 6] = [
    "agent",
    "controller",
    "node",
    "node.disk",
    "pods",
    "registry",
];

/// Steps of a range from its low to its high end.
const RANGE_STEPS: u32 = 40;

/// Parts that belong to each strategy: their defaults are the product's.
const OF_STRATEGY: [&str; 2] = ["agent", "controller"];

/// A setting in force.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingInForce {
    /// Its path in the experiment file.
    pub path: String,
    /// Its value, as a person would write it.
    pub value: String,
    /// Where it is from, in words: a line, or a default.
    pub origin: String,
    /// Names and values of what is inside of it; of a map alone.
    pub inside: Vec<(String, String)>,
    /// Its path with `*` for every index, and the key of its product.
    place: String,
    product: &'static str,
}

impl SettingInForce {
    /// The range of the constant at this place, if there is one and the value is a plain quantity: values from its low
    /// to its high end, each once.
    #[must_use]
    pub fn range(&self) -> Vec<String> {
        let is_here = |constant: &&Constant| {
            let at = |known: &String| places::plain(known).replace("[*]", ".*") == self.place;
            constant.is_of(self.product)
                && constant.part == VariedPart::Location
                && constant.places.iter().any(at)
        };
        let Some(constant) = all().find(is_here) else {
            return Vec::new();
        };
        let Some(value) = constant.parse(&self.value) else {
            return Vec::new();
        };
        let Some([low, high]) = lay::ends_around(constant, value) else {
            return Vec::new();
        };
        let ends = [low.min(value), high.max(value)];
        let share = |step: u32| f64::from(step) / f64::from(RANGE_STEPS);
        let text = |step: u32| constant.text(constant.shape.quantile(share(step), ends));
        (0..=RANGE_STEPS).map(text).unique().collect()
    }
}

/// All settings of an experiment: those of every strategy, then those of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsInForce {
    /// Those of all strategies.
    pub everywhere: Vec<SettingInForce>,
    /// Those of each strategy, with its name and the key of its product.
    pub strategies: Vec<(String, &'static str, Vec<SettingInForce>)>,
}

impl SettingsInForce {
    /// Values behind `file_ends` in the source are those of `--set`.
    pub(crate) fn of(source: &Source, file_ends: usize, tree: &Node) -> Self {
        let newlines: Vec<usize> = source.text.match_indices('\n').map(|(at, _)| at).collect();
        let newlines = newlines.as_slice();
        let mut lines = Lines {
            newlines,
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
                newlines,
                file_ends,
                tree,
                product,
                settings: Vec::new(),
            };
            lines.strategy(&key.text, choice);
            all.strategies
                .push((key.text.clone(), product.key, lines.settings));
        }
        all
    }

    /// As YAML. Keys are paths in the file.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut text = "# Every setting in force, and its origin: a line of the experiment, or a default.\n\
                        # A default is measured, documented (by a product) or a guess; others are switches and limits.\n"
            .to_owned();
        let lines = |settings: &[SettingInForce], indent: &str| {
            let line = |SettingInForce {
                            path,
                            value,
                            origin,
                            ..
                        }: &SettingInForce| {
                format!("{indent}{}: {}  # {origin}\n", scalar(path), scalar(value))
            };
            settings.iter().map(line).collect::<String>()
        };
        let _ = write!(
            text,
            "everywhere:\n{}strategies:\n",
            lines(&self.everywhere, "  ")
        );
        for (name, product, settings) in &self.strategies {
            let _ = writeln!(
                text,
                "  {}:  # {product}\n{}",
                scalar(name),
                lines(settings, "    ").trim_end()
            );
        }
        text
    }
}

/// The settings below a place, in order of their names: of a choice, the keys that `is_chosen`.
fn properties(
    schema: &'static Json,
    is_chosen: &dyn Fn(&str) -> bool,
) -> Vec<(&'static str, &'static Json)> {
    let target = places::resolved(places::whole(), schema);
    let mut found: Vec<(&str, &Json)> = Vec::new();
    let own = target.get("properties").and_then(Json::as_object);
    found.extend(
        own.into_iter()
            .flatten()
            .map(|(key, below)| (key.as_str(), below)),
    );
    for kind in ["anyOf", "oneOf", "allOf"] {
        let alternatives = target
            .get(kind)
            .and_then(Json::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let is_optional = alternatives
            .iter()
            .any(|one| one.get("type").and_then(Json::as_str) == Some("null"));
        for one in alternatives {
            let below = properties(one, is_chosen);
            found.extend(
                below
                    .into_iter()
                    .filter(|(key, _)| is_optional || kind == "allOf" || is_chosen(key)),
            );
        }
    }
    found.into_iter().unique_by(|(key, _)| *key).collect()
}

struct Lines<'e> {
    /// Where the lines of the source end.
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
        // Other settings of the product may be in its own file, which has no constants.
        for place in all()
            .filter(|constant| constant.is_of(product.key))
            .flat_map(|constant| &constant.places)
        {
            let is_own = |path: &Path| {
                path.to_string().starts_with("strategies.") && self.tree.get(path).is_none()
            };
            let paths = places::paths(self.tree, place, name)
                .into_iter()
                .map(|(_, path)| path)
                .filter(is_own);
            for path in paths.collect_vec() {
                self.unwritten(&path, &places::plain(place));
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

    /// The lines of the setting at `path`, or of all below it. `place` is the path with `*` for every index.
    fn setting(&mut self, path: &Path, place: &str, schema: &'static Json) {
        let written = self.tree.get(path);
        let is_written = |key: &str| self.tree.get(&path.key(key)).is_some();
        let below = properties(schema, &is_written);
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

    /// A value of the file, with its line; of a map, each of its values.
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
        let origin = match node.at.start > self.file_ends {
            true => "`--set`".to_owned(),
            false => format!(
                "line {}",
                self.newlines.partition_point(|end| *end < node.at.start) + 1
            ),
        };
        let is_swept = self.tree.get(&Path::of("sweep")).is_some_and(|sweep| {
            sweep
                .entries()
                .iter()
                .any(|(key, _)| Path::parse(&key.text).is_ok_and(|swept| swept.starts_with(path)))
        });
        let varies = if is_swept { ", varied by `sweep`" } else { "" };
        self.line(&path.to_string(), node, format!("{origin}{varies}"), place);
    }

    fn unwritten(&mut self, path: &Path, place: &str) {
        let Some(node) = places::unwritten(self.tree, place, path, self.product) else {
            return;
        };
        if ["null", "[]", ""].contains(&node.short_text().as_str()) {
            return;
        }
        let steps = places::steps(place);
        let mut bases = all()
            .filter(|constant| self.is_at(constant, &steps))
            .map(|constant| constant.basis);
        // A median may be a guess where its sigma is measured.
        let first = bases.next();
        let basis = if bases.contains(&Basis::Guess) {
            Some(Basis::Guess)
        } else {
            first
        }
        .map(Basis::word);
        let is_of_product =
            matches!(path.0.first(), Some(Step::Key(key)) if OF_STRATEGY.contains(&key.as_str()));
        let of = if is_of_product {
            format!(" of {}", self.product.key)
        } else {
            String::new()
        };
        let basis = basis.map_or_else(String::new, |word| format!(": {word}"));
        self.line(
            &path.to_string(),
            &node,
            format!("default{of}{basis}"),
            place,
        );
    }

    /// A constant of the product is the value at this place, or a part of it such as its sigma.
    fn is_at(&self, constant: &Constant, place: &[&str]) -> bool {
        let mut own = constant
            .places
            .iter()
            .filter(|known| !known.starts_with('?'));
        constant.is_of(self.product.key) && own.any(|known| places::steps(known) == place)
    }

    fn line(&mut self, path: &str, node: &Node, origin: String, place: &str) {
        let inside = node
            .entries()
            .iter()
            .map(|(key, value)| (key.text.clone(), value.short_text()))
            .collect();
        let (path, value, place) = (path.to_owned(), node.short_text(), place.to_owned());
        let product = self.product.key;
        self.settings.push(SettingInForce {
            path,
            value,
            origin,
            inside,
            place,
            product,
        });
    }
}

/// A YAML scalar: as it is where that is safe, else in quotes.
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

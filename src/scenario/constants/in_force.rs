//! `resolved.yaml`: every setting in force with its origin, for readers who ask where a result comes from.
//!
//! A setting comes from the experiment file, or it is a default; a default that describes the world is measured,
//! documented or a guess. Settings that vary have the file's value and are marked. Left out: what other files contain
//! (inventories, manifests and the products' own files), which are copied beside it.

use std::fmt::Write as _;

use itertools::Itertools;
use serde_json::Value as Json;

use super::{Constant, all, places, product_of};
use crate::document::path::{Path, Step};
use crate::document::problem::Source;
use crate::document::tree::{Node, Value};
use crate::products::{PRODUCTS, ProductEntry};

/// Parts of an experiment that are in force although nobody writes them.
const ALWAYS: [&str; 4] = ["agent", "controller", "node", "registry"];

/// Parts that belong to each strategy: their defaults are the product's.
const OF_STRATEGY: [&str; 2] = ["agent", "controller"];

/// All settings of an experiment as YAML: those of every strategy, then those of each. Keys are paths in the file.
///
/// Values behind `file_ends` in the source are those of `--set`.
pub(crate) fn resolved(source: &Source, file_ends: usize, tree: &Node) -> String {
    let mut text = "# Every setting in force, and its origin: a line of the experiment, or a default.\n\
                    # A default is measured, documented (by a product) or a guess; others are switches and limits.\n"
        .to_owned();
    let mut lines = Lines { source, file_ends, tree, product: &PRODUCTS[0], indent: "  ", text: String::new() };
    for (key, schema) in properties(places::whole(), &|_| true) {
        if key != "strategies" && !OF_STRATEGY.contains(&key) {
            lines.setting(&Path::of(key), key, schema);
        }
    }
    let _ = write!(text, "everywhere:\n{}strategies:\n", lines.text);
    for (key, choice) in tree.get(&Path::of("strategies")).map(Node::entries).unwrap_or_default() {
        let Some(product) = product_of(tree, &key.text) else { continue };
        let mut lines = Lines { source, file_ends, tree, product, indent: "    ", text: String::new() };
        lines.strategy(&key.text, choice);
        let _ = writeln!(text, "  {}:  # {}\n{}", scalar(&key.text), product.key, lines.text.trim_end());
    }
    text
}

/// The settings below a place, in order of their names: of a choice, the keys that `is_chosen`.
fn properties(schema: &'static Json, is_chosen: &dyn Fn(&str) -> bool) -> Vec<(&'static str, &'static Json)> {
    let target = places::resolved(places::whole(), schema);
    let mut found: Vec<(&str, &Json)> = Vec::new();
    let own = target.get("properties").and_then(Json::as_object);
    found.extend(own.into_iter().flatten().map(|(key, below)| (key.as_str(), below)));
    for kind in ["anyOf", "oneOf", "allOf"] {
        let alternatives = target.get(kind).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_optional = alternatives.iter().any(|one| one.get("type").and_then(Json::as_str) == Some("null"));
        for one in alternatives {
            let below = properties(one, is_chosen);
            found.extend(below.into_iter().filter(|(key, _)| is_optional || kind == "allOf" || is_chosen(key)));
        }
    }
    found.into_iter().unique_by(|(key, _)| *key).collect()
}

struct Lines<'e> {
    source: &'e Source,
    file_ends: usize,
    tree: &'e Node,
    product: &'static ProductEntry,
    indent: &'static str,
    text: String,
}

impl Lines<'_> {
    fn strategy(&mut self, name: &str, choice: &Node) {
        let product = self.product;
        if let Some((_, written)) = choice.entries().iter().find(|(key, _)| key.text == product.key) {
            self.written(&Path::of("strategies").key(name).key(product.key), written);
        }
        for (key, schema) in properties(places::whole(), &|key| OF_STRATEGY.contains(&key)) {
            self.setting(&Path::of(key), key, schema);
        }
        if self.tree.get(&Path::of("node").key("crashBackoff")).is_none() {
            let value = Node::of_value(&product.restarts, &(0..0)).short_text();
            self.line("node.crashBackoff", &value, &format!("default of {}", product.key));
        }
    }

    /// The lines of the setting at `path`, or of all below it. `place` is the path with `*` for every index.
    fn setting(&mut self, path: &Path, place: &str, schema: &'static Json) {
        let written = self.tree.get(path);
        let is_written = |key: &str| self.tree.get(&path.key(key)).is_some();
        let below = properties(schema, &is_written);
        let is_part = matches!(written, Some(Node { value: Value::Map(_), .. }))
            || written.is_none() && path.0.len() == 1 && ALWAYS.contains(&place);
        if is_part && !below.is_empty() {
            for (key, schema) in below {
                self.setting(&path.key(key), &format!("{place}.{key}"), schema);
            }
            return;
        }
        let items = places::resolved(places::whole(), schema).get("items");
        match (written, items) {
            (Some(node), Some(items)) if node.items().iter().any(|item| matches!(item.value, Value::Map(_))) => {
                for index in 0..node.items().len() {
                    self.setting(&path.index(index), &format!("{place}.*"), items);
                }
            }
            (Some(node), _) => self.written(path, node),
            (None, _) => self.unwritten(path, place),
        }
    }

    /// A value of the file, with its line; of a map, each of its values.
    fn written(&mut self, path: &Path, node: &Node) {
        let entries = node.entries();
        if !entries.is_empty() && !path.to_string().starts_with("sweep") {
            for (key, value) in entries {
                self.written(&path.key(&key.text), value);
            }
            return;
        }
        let origin = match node.at.start > self.file_ends {
            true => "`--set`".to_owned(),
            false => format!("line {}", self.source.line(node.at.start)),
        };
        let is_swept = self.tree.get(&Path::of("sweep")).is_some_and(|sweep| {
            sweep.entries().iter().any(|(key, _)| Path::parse(&key.text).is_ok_and(|swept| swept.starts_with(path)))
        });
        let varies = if is_swept { ", varied by `sweep`" } else { "" };
        self.line(&path.to_string(), &node.short_text(), &format!("{origin}{varies}"));
    }

    fn unwritten(&mut self, path: &Path, place: &str) {
        let Some(node) = places::unwritten(self.tree, place, path, self.product) else { return };
        if ["null", "[]", ""].contains(&node.short_text().as_str()) {
            return;
        }
        let basis = all().find(|constant| self.is_at(constant, place)).map(|constant| constant.basis.word());
        let is_of_product = matches!(path.0.first(), Some(Step::Key(key)) if OF_STRATEGY.contains(&key.as_str()));
        let of = if is_of_product { format!(" of {}", self.product.key) } else { String::new() };
        let basis = basis.map_or_else(String::new, |word| format!(": {word}"));
        self.line(&path.to_string(), &node.short_text(), &format!("default{of}{basis}"));
    }

    /// Whether a constant is set at this place, or in a part of its value, without being written.
    fn is_at(&self, constant: &Constant, place: &str) -> bool {
        let place = places::steps(place);
        let mut own = constant.places.iter().filter(|known| !known.starts_with('?'));
        constant.is_of(self.product.key) && own.any(|known| places::steps(&places::plain(known)).starts_with(&place))
    }

    fn line(&mut self, path: &str, value: &str, origin: &str) {
        let _ = writeln!(self.text, "{}{}: {}  # {origin}", self.indent, scalar(path), scalar(value));
    }
}

/// A YAML scalar: as it is where that is safe, else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " ./%_+-[]".contains(c))
        && !text.ends_with(' ');
    if is_plain { text.to_owned() } else { serde_json::to_string(text).expect("text is JSON") }
}

//! `strategies.NAME: auto` in `plan.search`: the settings that the strategy's product has for a plan, with their
//! values.
//!
//! Each product lists its own (`TUNED`); lists such as partitions, steps or stages have the setting in every entry, as
//! many as the strategy has. The entries themselves, their selectors and their order are not varied: which cluster is
//! a canary is a decision about risk that no model of pulls can take. Where all combinations are too many, each
//! setting has fewer values, evenly chosen, with the least and the greatest.

use std::ops::Range;
use std::sync::Arc;

use super::constants::product_of;
use super::file_plan::AUTO;
use super::loader::Loader;
use crate::document::path::{Path, Step};
use crate::document::problem::Source;
use crate::document::tree::{self, Key, Node, Value};

/// Most combinations of a strategy's values.
const MOST: usize = 2_000;
/// Settings that are tried where the file does not say.
const TRIES: u32 = 100;

/// Settings with their values in rising order.
type Space = Vec<(Path, &'static [&'static str])>;

impl Loader {
    /// Puts the settings of products in the place of `auto`.
    pub(super) fn put_auto(&mut self) {
        let search = Path::of("plan").key("search");
        let Some(Value::Map(written)) = self.tree.get(&search).map(|node| node.value.clone())
        else {
            return;
        };
        let is_auto =
            |(_, node): &&(Key, Node)| matches!(&node.value, Value::Text(text) if text == AUTO);
        if !written.iter().any(|entry| is_auto(&entry)) {
            return;
        }
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let by_hand: Vec<Path> = written
            .iter()
            .filter(|entry| !is_auto(entry))
            .filter_map(|(key, _)| Path::parse(&key.text).ok())
            .collect();
        for entry in &written {
            if !is_auto(&entry) {
                entries.push(entry.clone());
                continue;
            }
            let (key, node) = entry;
            match self.space(&key.text) {
                Ok(space) => {
                    let is_auto = |path: &Path| !by_hand.iter().any(|other| path.overlaps(other));
                    let own: Space = space
                        .into_iter()
                        .filter(|(path, _)| is_auto(path))
                        .collect();
                    let most = values_of_each(&own);
                    entries.extend(own.into_iter().map(|(path, values)| {
                        (
                            Key {
                                at: key.at.clone(),
                                text: path.to_string(),
                            },
                            list(&thinned(values, most), &node.at),
                        )
                    }));
                }
                Err((message, help)) => {
                    let at = self.tree.key_place(&search.key(&key.text));
                    self.problems
                        .push(self.source.at(at, "plan.search", message).with_help(help));
                }
            }
        }
        let at = self.tree.key_place(&search);
        let node = Node {
            at: at.clone(),
            value: Value::Map(entries),
            struck: false,
        };
        let tries = Path::of("plan").key("tries");
        let put = self.tree.set(&search, &node, &at);
        debug_assert!(put.is_ok(), "it was there");
        if self.tree.get(&tries).is_none() {
            let put = self.tree.set(
                &tries,
                &Node {
                    value: Value::Int(TRIES.into()),
                    ..node
                },
                &at,
            );
            debug_assert!(put.is_ok(), "`plan` is a map");
        }
    }

    /// The settings of the strategy at a path, or a message and the fix.
    fn space(&mut self, written: &str) -> Result<Space, (String, String)> {
        let refused = |message: String, help: &str| Err((message, help.to_owned()));
        let path = Path::parse(written).unwrap_or_default();
        let [Step::Key(top), Step::Key(strategy)] = path.0.as_slice() else {
            let message = format!("`auto` is for a strategy as a whole, and `{written}` is none");
            return refused(
                message,
                "write `strategies.NAME: auto`, or the values of this setting",
            );
        };
        let chosen = self.tree.get(&path).map(Node::entries).unwrap_or_default();
        let Some(product) = chosen
            .iter()
            .find_map(|(key, _)| crate::products::find(&key.text))
        else {
            return refused(
                format!("there is no strategy `{strategy}`"),
                "write the name of an entry of `strategies`",
            );
        };
        debug_assert!(top != "strategies" || product_of(&self.tree, strategy).is_some());
        let base = path.key(product.key);
        let mut space = Space::new();
        for setting in product.tuned {
            let lists = [
                setting.path.split_once(".*.").map(|(list, _)| list),
                setting.list.map(|(list, _)| list),
            ];
            for list in lists.into_iter().flatten() {
                self.put_part_of_file(&base.then(&Path::parse(list).unwrap_or_default()).index(0));
            }
            let items = |list: &str| {
                let list = base.then(&Path::parse(list).unwrap_or_default());
                self.tree.get(&list).map_or(0, |node| node.items().len())
            };
            if setting
                .list
                .is_some_and(|(list, wanted)| (items(list) > 0) != wanted)
            {
                continue;
            }
            let paths = match setting.path.split_once(".*.") {
                Some((list, rest)) => (0..items(list))
                    .map(|at| format!("{list}.{at}.{rest}"))
                    .collect(),
                None => vec![setting.path.to_owned()],
            };
            let parsed = paths.iter().filter_map(|below| Path::parse(below).ok());
            space.extend(parsed.map(|below| (base.then(&below), setting.values)));
        }
        if space.is_empty() {
            let lists = product
                .tuned
                .iter()
                .map(|setting| setting.path)
                .collect::<Vec<_>>()
                .join("` or `");
            let message = match lists.is_empty() {
                true => format!("`{}` has no settings to search", product.key),
                false => format!("`{strategy}` has no `{lists}` to search"),
            };
            return refused(
                message,
                "write the paths to search with their values, or remove the entry",
            );
        }
        Ok(space)
    }
}

/// The number of values that each setting may have, so that all combinations are not too many.
fn values_of_each(space: &Space) -> usize {
    let combinations = |most: &usize| {
        space
            .iter()
            .map(|(_, values)| values.len().min(*most))
            .fold(1, usize::saturating_mul)
    };
    let longest = space
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    (2..=longest)
        .rev()
        .find(|most| combinations(most) <= MOST)
        .unwrap_or(2)
}

/// So many of the values, evenly chosen, with the first and the last.
fn thinned(values: &[&'static str], most: usize) -> Vec<&'static str> {
    if values.len() <= most {
        return values.to_vec();
    }
    (0..most)
        .map(|at| values[at * (values.len() - 1) / (most - 1)])
        .collect()
}

fn list(values: &[&'static str], at: &Range<usize>) -> Node {
    let node = |text: &&str| {
        let source = Arc::new(Source::new("", (*text).to_owned()));
        tree::parse(&source).expect("products write YAML").moved(at)
    };
    Node {
        at: at.clone(),
        value: Value::List(values.iter().map(node).collect()),
        struck: false,
    }
}

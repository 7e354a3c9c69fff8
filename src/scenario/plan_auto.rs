//! `strategies.NAME: auto` in `plan.search`: the settings that the strategy's product defines for a plan, with their
//! values.
//!
//! Each product lists its own settings (`TUNED`). In lists such as partitions, steps or stages, every existing entry
//! has the setting. The entries, their selectors and their order are not varied, because the choice of canary clusters
//! is a decision about risk that a model of pulls cannot make. If there are too many combinations, each setting gets
//! fewer values, evenly chosen, including the minimum and the maximum.

use std::ops::Range;
use std::sync::Arc;

use super::constants::product_of;
use super::file_plan::AUTO;
use super::loader::Loader;
use super::worded::WordedProblem;
use crate::document::path::{Path, Step};
use crate::document::problem::Source;
use crate::document::tree::{self, Key, Node, Value};
use crate::products::{ProductEntry, TunedSetting};

/// Maximum number of combinations of values for a strategy.
const MOST: usize = 2_000;
/// Default maximum number of settings to try.
const TRIES: u32 = 100;

/// A setting that a search varies.
struct SearchedSetting {
    path: Path,
    /// The candidate values in ascending order.
    values: &'static [&'static str],
}

impl Loader {
    /// Replaces `auto` with the settings that the products tune.
    pub(super) fn put_auto(&mut self) {
        let search = Path::of("plan").key("search");
        let Some(Value::Map(written)) = self.tree.get(&search).map(|node| node.value.clone())
        else {
            return;
        };
        if !written.iter().any(|(_, node)| is_auto(node)) {
            return;
        }
        let mut by_hand = Vec::new();
        for (key, node) in &written {
            if !is_auto(node)
                && let Ok(path) = Path::parse(&key.text)
            {
                by_hand.push(path);
            }
        }
        let mut entries: Vec<(Key, Node)> = Vec::new();
        for (key, node) in written {
            if !is_auto(&node) {
                entries.push((key, node));
                continue;
            }
            match self.settings_of(&key.text) {
                Ok(mut settings) => {
                    settings.retain(|setting| {
                        !by_hand.iter().any(|other| setting.path.overlaps(other))
                    });
                    entries.extend(as_entries(&settings, &key, &node));
                }
                Err(problem) => {
                    let problem = problem.at(search.key(&key.text));
                    self.report_at("plan.search", problem);
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

    /// Returns the settings to search for the strategy at path `written`: those that its product tunes.
    fn settings_of(&mut self, written: &str) -> Result<Vec<SearchedSetting>, WordedProblem> {
        let path = Path::parse(written).unwrap_or_default();
        let [Step::Key(top), Step::Key(strategy)] = path.0.as_slice() else {
            return Err(WordedProblem::new(
                format!("`auto` searches a whole strategy, but `{written}` is not one"),
                "write `strategies.NAME: auto`, or the values of this setting",
            ));
        };
        let chosen = self.tree.get(&path).map(Node::entries).unwrap_or_default();
        let Some(product) = chosen
            .iter()
            .find_map(|(key, _)| crate::products::find(&key.text))
        else {
            return Err(WordedProblem::new(
                format!("there is no strategy `{strategy}`"),
                "write the name of an entry of `strategies`",
            ));
        };
        debug_assert!(top != "strategies" || product_of(&self.tree, strategy).is_some());
        let base = path.key(product.key);
        let mut settings = Vec::new();
        for tuned in product.tuned {
            for below in self.paths_of(tuned, &base) {
                settings.push(SearchedSetting {
                    path: base.then(&below),
                    values: tuned.values,
                });
            }
        }
        if settings.is_empty() {
            return Err(nothing_to_search(product, strategy));
        }
        Ok(settings)
    }

    /// Returns the paths of a tuned setting below the product at `base`: one for each entry of its list, a single path
    /// without a list, or none if the setting does not apply.
    fn paths_of(&mut self, tuned: &TunedSetting, base: &Path) -> Vec<Path> {
        let in_list = tuned.path.split_once(".*.");
        if let Some((list, _)) = in_list {
            self.put_list(list, base);
        }
        if let Some((list, is_wanted)) = tuned.list {
            self.put_list(list, base);
            if (self.items_of(list, base) > 0) != is_wanted {
                return Vec::new();
            }
        }
        let Some((list, rest)) = in_list else {
            return Path::parse(tuned.path).into_iter().collect();
        };
        let mut paths = Vec::new();
        for at in 0..self.items_of(list, base) {
            paths.extend(Path::parse(&format!("{list}.{at}.{rest}")));
        }
        paths
    }

    /// Copies a list from the product's file into the experiment, if the experiment does not have the list.
    fn put_list(&mut self, list: &str, base: &Path) {
        let list = base.then(&Path::parse(list).unwrap_or_default());
        self.put_part_of_file(&list.index(0));
    }

    /// Returns the number of items of a list below the product at `base`.
    fn items_of(&self, list: &str, base: &Path) -> usize {
        let list = base.then(&Path::parse(list).unwrap_or_default());
        self.tree.get(&list).map_or(0, |node| node.items().len())
    }
}

/// Returns whether the values of an entry of `search` are `auto`.
fn is_auto(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text == AUTO)
}

/// Returns the problem with a strategy that has no settings to search.
fn nothing_to_search(product: &ProductEntry, strategy: &str) -> WordedProblem {
    let paths: Vec<&str> = product.tuned.iter().map(|setting| setting.path).collect();
    let message = if paths.is_empty() {
        format!("`{}` has no settings to search", product.key)
    } else {
        format!("`{strategy}` has no `{}` to search", paths.join("` or `"))
    };
    let help = "write the paths to search with their values, or remove the entry";
    WordedProblem::new(message, help)
}

/// Returns these settings as entries of `search`. They replace an entry with `auto`.
fn as_entries(settings: &[SearchedSetting], key: &Key, node: &Node) -> Vec<(Key, Node)> {
    let most = values_of_each(settings);
    let mut entries = Vec::new();
    for setting in settings {
        let key = Key {
            at: key.at.clone(),
            text: setting.path.to_string(),
        };
        entries.push((key, list(&thinned(setting.values, most), &node.at)));
    }
    entries
}

/// Returns the maximum number of values of each setting that keeps the number of combinations within the limit.
fn values_of_each(settings: &[SearchedSetting]) -> usize {
    let longest = settings.iter().map(|setting| setting.values.len()).max();
    for most in (2..=longest.unwrap_or(0)).rev() {
        let mut combinations: usize = 1;
        for setting in settings {
            combinations = combinations.saturating_mul(setting.values.len().min(most));
        }
        if combinations <= MOST {
            return most;
        }
    }
    2
}

/// Returns at most `most` of the values, evenly chosen, including the first and the last.
fn thinned(values: &[&'static str], most: usize) -> Vec<&'static str> {
    if values.len() <= most {
        return values.to_vec();
    }
    (0..most)
        .map(|at| values[at * (values.len() - 1) / (most - 1)])
        .collect()
}

fn list(values: &[&'static str], at: &Range<usize>) -> Node {
    let mut items = Vec::new();
    for text in values {
        let source = Arc::new(Source::new("", (*text).to_owned()));
        let node = tree::parse(&source).expect("products write YAML");
        items.push(node.moved(at));
    }
    Node {
        at: at.clone(),
        value: Value::List(items),
        struck: false,
    }
}

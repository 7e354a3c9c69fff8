//! The strategies that an experiment compares.
//!
//! A strategy that an application names is that application's own, in every variant. The other strategies are the
//! alternatives: each is a variant, in which all applications without a strategy of their own have it. If every
//! application has its own, there is one variant.

use crate::document::path::{Path, Step};
use crate::document::tree::Node;

/// The name of the only variant if every application has a strategy of its own.
pub(crate) const OWN: &str = "own";

/// The strategies of an experiment by their purpose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alternatives {
    /// The names of the variants: the strategies that are compared, or [`OWN`].
    pub(crate) variants: Vec<String>,
    /// The strategies that applications name, which are in every variant.
    pub(crate) own: Vec<String>,
}

impl Alternatives {
    /// Returns the strategies of an experiment by their purpose. Values of its sweep count as written.
    pub(crate) fn of(tree: &Node) -> Self {
        let mut own = Vec::new();
        let mut all_have_own = true;
        let applications = tree.get(&Path::of("applications"));
        let entries = applications.map(Node::entries).unwrap_or_default();
        for (key, _) in entries {
            let path = Path::of("applications").key(&key.text).key("strategy");
            let mut named = swept_values(tree, &path);
            if named.is_empty() {
                named.extend(tree.get(&path).map(Node::short_text));
            }
            all_have_own &= !named.is_empty();
            for name in named {
                if !own.contains(&name) {
                    own.push(name);
                }
            }
        }
        let mut variants = Vec::new();
        for (key, _) in strategies(tree) {
            if !own.contains(&key.text) {
                variants.push(key.text.clone());
            }
        }
        if variants.is_empty() && !entries.is_empty() && all_have_own {
            variants.push(OWN.to_owned());
        }
        Self { variants, own }
    }

    /// Returns the strategies of a variant: its own name if it is a strategy, and those that applications name.
    pub(crate) fn in_variant<'a>(&'a self, variant: &'a str) -> Vec<&'a str> {
        let mut names = Vec::new();
        if variant != OWN || self.own.is_empty() {
            names.push(variant);
        }
        for name in &self.own {
            if name != variant {
                names.push(name);
            }
        }
        names
    }
}

/// Returns the entries of `strategies`.
fn strategies(tree: &Node) -> &[(crate::document::tree::Key, Node)] {
    tree.get(&Path::of("strategies"))
        .map(Node::entries)
        .unwrap_or_default()
}

/// Returns the values of the sweep at a path.
fn swept_values(tree: &Node, path: &Path) -> Vec<String> {
    let mut values = Vec::new();
    let sweep = tree.get(&Path::of("sweep"));
    for (key, node) in sweep.map(Node::entries).unwrap_or_default() {
        if Path::parse(&key.text).is_ok_and(|swept| swept == *path) {
            for value in node.items() {
                values.push(value.short_text());
            }
        }
    }
    values
}

/// Returns the strategy that a path is inside of, if it is.
pub(crate) fn strategy_of(path: &Path) -> Option<&str> {
    match path.0.as_slice() {
        [Step::Key(top), Step::Key(strategy), ..] if top == "strategies" => Some(strategy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::testing::source;
    use crate::document::tree;

    fn alternatives(text: &str) -> Alternatives {
        Alternatives::of(&tree::parse(&source(text)).expect("YAML"))
    }

    #[test]
    fn strategies_that_no_application_names_are_compared() {
        let of_release = alternatives("strategies: {a: {}, b: {}}");
        assert_eq!(
            (of_release.variants, of_release.own.len()),
            (vec!["a".into(), "b".into()], 0)
        );
        let one = alternatives(
            "applications: {shop: {strategy: b}, till: {}}\nstrategies: {a: {}, b: {}, c: {}}",
        );
        assert_eq!(one.variants, ["a", "c"]);
        assert_eq!(one.in_variant("a"), ["a", "b"]);
        let own = alternatives("applications: {shop: {strategy: b}}\nstrategies: {b: {}}");
        assert_eq!(own.variants, [OWN]);
        assert_eq!(own.in_variant(OWN), ["b"]);
    }

    #[test]
    fn values_of_a_sweep_are_strategies_of_their_application() {
        let swept = alternatives(
            "applications: {shop: {}, till: {}}\nstrategies: {a: {}, b: {}, c: {}}\n\
             sweep: {applications.shop.strategy: [a, b]}",
        );
        assert_eq!(
            (swept.variants, swept.own),
            (vec!["c".into()], vec!["a".into(), "b".into()])
        );
    }
}

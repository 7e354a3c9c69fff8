//! Lays other values of constants into the tree of an experiment.

use std::collections::BTreeMap;

#[cfg(test)]
use super::VariedPart;
use super::kind::ValueChange;
use super::{Constant, ConstantGroup, RangeShape, factors, places};
use crate::document::path::Path;
use crate::document::tree::Node;
use crate::products::ProductEntry;

/// Where in its range a constant is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// From the value in force (0) to the low end (-1) or the high end (1) of the range.
    Toward(f64),
    /// At this share of the range's probability.
    Quantile(f64),
}

impl Level {
    /// The value at this level of a range around `value`.
    pub(crate) fn of(self, shape: RangeShape, value: f64, ends: [f64; 2]) -> f64 {
        match self {
            Self::Toward(share) => shape.toward(value, ends[usize::from(share > 0.0)], share.abs()),
            Self::Quantile(share) => shape.quantile(share, ends),
        }
    }
}

/// Ranges that the experiment states in place of a constant's own, in the constant's unit.
pub(crate) type StatedRanges = BTreeMap<String, [f64; 2]>;

/// A value that was laid into a tree.
#[derive(Clone, Debug)]
pub(crate) struct LaidValue {
    pub(crate) constant: &'static Constant,
    /// Its place, of those of the constant.
    pub(crate) place: &'static str,
    /// The value in force.
    pub(crate) from: f64,
    /// The ends of the range here.
    pub(crate) ends: [f64; 2],
    /// The value laid.
    #[cfg(test)]
    pub(crate) to: f64,
}

/// Puts a factor at a level, for one strategy and its product. Returns what was laid; nothing where the experiment does
/// not use the factor.
pub(crate) fn lay(
    tree: &mut Node,
    (strategy, product): (&str, &ProductEntry),
    factor: &ConstantGroup,
    level: Level,
    ranges: &StatedRanges,
) -> Vec<LaidValue> {
    let mut all = Vec::new();
    for constant in factor.rows.iter().filter(|row| row.is_of(product.key)) {
        for place in &constant.places {
            for (needs, path) in places::paths(tree, place, strategy) {
                let range = ranges.get(&factor.name).copied();
                all.extend(one(
                    tree,
                    constant,
                    place,
                    (&needs, &path),
                    product,
                    level,
                    range,
                ));
            }
        }
    }
    all
}

fn one(
    tree: &mut Node,
    constant: &'static Constant,
    place: &'static str,
    (needs, path): (&Path, &Path),
    product: &ProductEntry,
    level: Level,
    stated: Option<[f64; 2]>,
) -> Option<LaidValue> {
    if !tree.get(needs).is_some_and(|needs| constant.is_used(needs)) {
        return None;
    }
    let node = match tree.get(path) {
        Some(node) => node.clone(),
        None if places::is_absent(tree, path) => return None,
        None => places::unwritten(tree, place, path, product)
            .or_else(|| places::default_of(&constant.places[0], product))?,
    };
    let from = constant.kind.part_of(&node, constant.part)?;
    let ends = stated.or_else(|| ends_around(constant, from))?;
    let ends = [ends[0].min(from), ends[1].max(from)];
    let to = level.of(constant.shape, from, ends);
    let change = if from > 0.0 {
        ValueChange::Factor(to / from)
    } else {
        ValueChange::Value(to)
    };
    let changed = constant.kind.changed(&node, constant.part, change)?;
    let at = node.at.clone();
    made(tree, needs);
    tree.set(path, &changed, &at).ok()?;
    Some(LaidValue {
        constant,
        place,
        from,
        ends,
        #[cfg(test)]
        to,
    })
}

/// An inventory may be written as the name of its file alone.
fn made(tree: &mut Node, needs: &Path) {
    let inventory = Path::of("inventory");
    if *needs == inventory
        && let Some(node) = tree.get(&inventory)
        && node.entries().is_empty()
    {
        let (file, at) = (node.clone(), node.at.clone());
        let map = Node::of_value(&serde_json::json!({}), &at);
        // Both paths exist, or are made by the first.
        let _ = tree
            .set(&inventory, &map, &at)
            .and_then(|()| tree.set(&inventory.key("file"), &file, &at));
    }
}

/// The range around the experiment's own value, which stands for another site or program, as uncertain in proportion.
pub(super) fn ends_around(constant: &Constant, from: f64) -> Option<[f64; 2]> {
    let ends = constant.ends();
    if constant.is_absolute {
        return Some(ends);
    }
    let default = constant.default_value().filter(|default| *default > 0.0)?;
    Some(ends.map(|end| end * from / default))
}

/// Puts the levels of factors into a tree, for one strategy.
pub(crate) fn lay_all(
    tree: &mut Node,
    strategy: &str,
    levels: &[(usize, Level)],
    ranges: &StatedRanges,
) {
    let Some(product) = product_of(tree, strategy) else {
        return;
    };
    for (factor, level) in levels {
        lay(
            tree,
            (strategy, product),
            &factors()[*factor],
            *level,
            ranges,
        );
    }
}

/// The product whose constants a strategy of the tree has: its own. A bound has those of the first product of the file,
/// which it is compared with.
pub(crate) fn product_of(tree: &Node, strategy: &str) -> Option<&'static ProductEntry> {
    let strategies = Path::of("strategies");
    let chosen = |choice: &Node| {
        choice
            .entries()
            .iter()
            .find_map(|(key, _)| crate::products::find(&key.text))
    };
    let own = chosen(tree.get(&strategies.key(strategy))?)?;
    let all = tree.get(&strategies).map(Node::entries).unwrap_or_default();
    let first = || {
        all.iter()
            .filter_map(|(_, choice)| chosen(choice))
            .find(|product| product.target.is_some())
    };
    Some(if own.is_bound {
        first().unwrap_or(own)
    } else {
        own
    })
}

/// Whether a shape fits a range: the logarithm needs a low end above 0.
#[cfg(test)]
pub(super) fn fits(constant: &Constant) -> bool {
    let [low, high] = constant.ends();
    low < high
        && (constant.shape != RangeShape::LogUniform || low > 0.0)
        && (constant.part == VariedPart::Location || high <= 5.0)
}

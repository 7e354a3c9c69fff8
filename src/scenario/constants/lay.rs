//! Writes changed values of constants into the tree of an experiment.

use std::collections::BTreeMap;

#[cfg(test)]
use super::VariedPart;
use super::kind::ValueChange;
use super::places::ConstantPath;
use super::{Constant, ConstantGroup, RangeShape, factors, places};
use crate::document::path::Path;
use crate::document::tree::Node;
use crate::products::ProductEntry;
use crate::scenario::alternatives::Alternatives;

/// A position within a constant's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// The position between the value in force (0) and the low end (-1) or the high end (1) of the range.
    Toward(f64),
    /// The quantile of the range's distribution.
    Quantile(f64),
}

impl Level {
    /// Returns the value at this level of the range `ends` around `value`.
    pub(crate) fn of(self, shape: RangeShape, value: f64, ends: [f64; 2]) -> f64 {
        match self {
            Self::Toward(share) => shape.toward(value, ends[usize::from(share > 0.0)], share.abs()),
            Self::Quantile(share) => shape.quantile(share, ends),
        }
    }
}

/// Ranges in the experiment that replace the constants' own ranges, in each constant's unit.
pub(crate) type StatedRanges = BTreeMap<String, [f64; 2]>;

/// A value that was written into a tree.
#[derive(Clone, Debug)]
pub(crate) struct LaidValue {
    pub(crate) constant: &'static Constant,
    /// The path pattern of the value in the experiment, one of the constant's places.
    pub(crate) place: &'static str,
    /// The value in force before the change.
    pub(crate) from: f64,
    /// The ends of the range at this place.
    pub(crate) ends: [f64; 2],
    /// The written value.
    #[cfg(test)]
    pub(crate) to: f64,
}

/// A factor, and a level in its range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactorLevel<'f> {
    pub(crate) factor: &'f ConstantGroup,
    pub(crate) level: Level,
    /// The range that the experiment states for the factor, if any.
    pub(crate) stated: Option<[f64; 2]>,
}

impl<'f> FactorLevel<'f> {
    pub(crate) fn new(factor: &'f ConstantGroup, level: Level, ranges: &StatedRanges) -> Self {
        Self {
            factor,
            level,
            stated: ranges.get(&factor.name).copied(),
        }
    }

    /// Writes the factor's values into a tree, for one strategy and its product. Returns the written values. Empty if
    /// the experiment does not use the factor.
    pub(crate) fn lay(
        &self,
        tree: &mut Node,
        strategy: &str,
        product: &ProductEntry,
    ) -> Vec<LaidValue> {
        let mut all = Vec::new();
        for constant in &self.factor.rows {
            if !constant.is_of(product.key) {
                continue;
            }
            for place in &constant.places {
                for at in places::paths(tree, place, strategy) {
                    all.extend(self.lay_at(&at, tree, constant, place, product));
                }
            }
        }
        all
    }

    /// Returns whether the experiment states a range of the cards of all nodes, which replaces those of sites.
    fn states_card(&self, tree: &Node, path: &Path) -> bool {
        self.stated.is_some() && places::is_card_of_mixed_sites(tree, path)
    }

    /// Writes the value of a constant at one path that matches the constant's place. `None`: there is no value at this
    /// path.
    fn lay_at(
        &self,
        at: &ConstantPath,
        tree: &mut Node,
        constant: &'static Constant,
        place: &'static str,
        product: &ProductEntry,
    ) -> Option<LaidValue> {
        let needs = tree.get(&at.needs)?;
        if !constant.is_used(needs) {
            return None;
        }
        let is_written = tree.get(&at.path).is_some();
        let is_absent = places::is_absent(tree, &at.path) && !self.states_card(tree, &at.path);
        let node = match tree.get(&at.path) {
            Some(node) => node.clone(),
            None if is_absent => return None,
            None => places::unwritten(tree, place, &at.path, product)
                .or_else(|| places::default_of(&constant.places[0], product))?,
        };
        let from = constant.kind.part_of(&node, constant.part)?;
        // A written 0 switches something off, which no measurement of it contradicts.
        if is_written && from == 0.0 && self.stated.is_none() {
            return None;
        }
        let ends = match self.stated {
            Some(ends) => ends,
            // The evidence of a constant says little about a value beyond its range, which the experiment states.
            None => {
                let [low, high] = ends_around(constant, from)?;
                [low.min(from), high.max(from)]
            }
        };
        let to = self.level.of(constant.shape, from, ends);
        let change = if from > 0.0 {
            ValueChange::Factor(to / from)
        } else {
            ValueChange::Value(to)
        };
        let changed = constant.kind.changed(&node, constant.part, change)?;
        if at.needs == Path::of("inventory") {
            write_inventory_as_map(tree);
        }
        if let Some(gaps) = places::gaps_of_site(tree, &at.path) {
            tree.set(&places::owner(&at.path), &gaps, &node.at).ok()?;
        }
        tree.set(&at.path, &changed, &node.at).ok()?;
        Some(LaidValue {
            constant,
            place,
            from,
            ends,
            #[cfg(test)]
            to,
        })
    }
}

/// Expands the short form `inventory: FILE` to a map with the key `file`.
fn write_inventory_as_map(tree: &mut Node) {
    let inventory = Path::of("inventory");
    if let Some(node) = tree.get(&inventory)
        && node.entries().is_empty()
    {
        let file = node.clone();
        let at = node.at.clone();
        let map = Node::of_value(&serde_json::json!({}), &at);
        // Both paths exist, or the first call creates them.
        let _ = tree
            .set(&inventory, &map, &at)
            .and_then(|()| tree.set(&inventory.key("file"), &file, &at));
    }
}

/// Returns the range around the experiment's own value, with the relative uncertainty of the default, because the
/// value describes another site or program.
pub(super) fn ends_around(constant: &Constant, from: f64) -> Option<[f64; 2]> {
    let ends = constant.ends();
    if constant.is_absolute {
        return Some(ends);
    }
    let reference = constant.reference_value()?;
    Some(ends.map(|end| end * from / reference))
}

/// Writes factors at the given levels into a tree, for one strategy.
pub(crate) fn lay_all(
    tree: &mut Node,
    strategy: &str,
    levels: &[(usize, Level)],
    ranges: &StatedRanges,
) {
    let Some(product) = product_of(tree, strategy) else {
        return;
    };
    for &(factor, level) in levels {
        FactorLevel::new(&factors()[factor], level, ranges).lay(tree, strategy, product);
    }
}

/// Returns the product whose constants a strategy or a variant in the tree uses: its own product. A bound uses the
/// constants of the first product in the file, because it is compared with that product.
pub(crate) fn product_of(tree: &Node, strategy: &str) -> Option<&'static ProductEntry> {
    let strategies = tree.get(&Path::of("strategies"))?;
    let alternatives = Alternatives::of(tree);
    let first = alternatives.in_variant(strategy).first().copied()?;
    let own = chosen_product(strategies.get(&Path::of(first))?)?;
    if own.is_bound {
        for (_, choice) in strategies.entries() {
            if let Some(product) = chosen_product(choice)
                && product.target.is_some()
            {
                return Some(product);
            }
        }
    }
    Some(own)
}

/// Returns the product of a strategy.
fn chosen_product(choice: &Node) -> Option<&'static ProductEntry> {
    choice
        .entries()
        .iter()
        .find_map(|(key, _)| crate::products::find(&key.text))
}

/// Returns whether the constant's range has a valid shape: a logarithm needs a low end above 0.
#[cfg(test)]
pub(super) fn fits(constant: &Constant) -> bool {
    let [low, high] = constant.ends();
    low < high
        && (constant.shape != RangeShape::LogUniform || low > 0.0)
        && (constant.part == VariedPart::Location || high <= 5.0)
}

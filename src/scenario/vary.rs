//! An experiment whose constants can be changed, by writing other values into its document.

use std::path::Path as FsPath;

use itertools::Itertools;

use super::constants::{self, Basis, Constant, FactorLevel, Level};
use super::load::begin;
use super::loader::{Loader, Purpose};
use super::variants::VariantTree;
use super::{Experiment, Overrides};
use crate::document::path::Path;
use crate::document::problem::{LoadError, Problem};

/// An experiment that can be checked again with other values of constants, without reading its files again.
#[derive(Debug)]
pub struct VariedExperiment {
    base: Experiment,
    loader: Loader,
    constants: Vec<VariedConstant>,
}

/// A constant that an experiment uses.
#[derive(Clone, Debug)]
pub struct VariedConstant {
    /// The constant's index among all factors.
    pub factor: usize,
    /// The constant's path, which is the same in all experiments.
    pub name: &'static str,
    /// The constant's path in this experiment.
    pub own_name: String,
    /// The distinct values in this experiment, which may differ between groups of clusters or between products.
    pub values: Vec<VariedValue>,
    /// The strategies that use the constant. Runs of other strategies do not depend on it.
    pub strategies: Vec<String>,
}

/// One value of a constant in an experiment, and its range.
#[derive(Clone, Debug)]
pub struct VariedValue {
    /// The constant that has this value.
    pub constant: &'static Constant,
    /// The product's key, if constants with this path depend on the product.
    pub product: Option<&'static str>,
    /// The value in force.
    pub value: f64,
    /// The low end of the range.
    pub low: f64,
    /// The high end of the range.
    pub high: f64,
}

impl VariedValue {
    /// Returns the value at a share of the distance from the value in force (0) to the low end (-1) or the high end
    /// (1).
    #[must_use]
    pub fn toward(&self, share: f64) -> f64 {
        self.at(Level::Toward(share))
    }

    /// Returns the value at a level of its range.
    #[must_use]
    pub fn at(&self, level: Level) -> f64 {
        level.of(self.constant.shape, self.value, [self.low, self.high])
    }

    fn is_like(&self, other: &Self) -> bool {
        self.product == other.product
            && self.value.to_bits() == other.value.to_bits()
            && self.low.to_bits() == other.low.to_bits()
            && self.high.to_bits() == other.high.to_bits()
    }

    /// Returns the value of [`Self::toward`] at this share, as an experiment writes it.
    fn text_toward(&self, share: f64) -> String {
        self.constant.text(self.toward(share))
    }

    /// Returns whether the constant belongs to this product or to every product. `None` stands for any product.
    fn is_of(&self, product: Option<&str>) -> bool {
        product.is_none() || self.product.is_none() || self.product == product
    }
}

impl VariedConstant {
    /// Returns whether `name` is the constant's path, in all experiments or in this one.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.own_name == name
    }

    /// Returns all distinct values at a level, such as `10 Mbit/s, 20 Mbit/s`.
    #[must_use]
    pub fn text_at(&self, share: f64) -> String {
        self.values
            .iter()
            .map(|value| value.text_toward(share))
            .unique()
            .join(", ")
    }

    /// Returns the distinct values at a level, like [`VariedConstant::text_at`]. If they depend on the product,
    /// returns those of `product`, or each value with its product.
    #[must_use]
    pub fn text_of(&self, product: Option<&str>, share: f64) -> String {
        let mut own = self.values.clone();
        own.retain(|value| value.is_of(product));
        let is_alike = own.iter().map(|value| value.text_toward(share)).all_equal();
        let mut texts = Vec::new();
        for value in &own {
            let text = value.text_toward(share);
            texts.push(match value.product {
                Some(of) if product.is_none() && !is_alike => format!("{text} ({of})"),
                _ => text,
            });
        }
        texts.iter().unique().join(", ")
    }

    /// Returns `guess`, `measured` or `documented`, whichever applies to the least certain of the values.
    #[must_use]
    pub fn basis(&self) -> &'static str {
        let basis = self.values.iter().map(|value| value.constant.basis);
        basis
            .max_by_key(|basis| *basis as u8)
            .map_or("", Basis::word)
    }
}

impl VariedExperiment {
    /// Reads and checks an experiment, and finds the constants used in it.
    ///
    /// # Errors
    /// Returns all problems, with positions and fixes.
    pub fn load(path: &FsPath, overrides: &Overrides) -> Result<Self, LoadError> {
        let loader = begin(Purpose::Run, None, path, overrides)?;
        let base = loader.clone().finish()?;
        let uncertainty = base.uncertainty.clone().unwrap_or_default();
        let mut varied = Self {
            base,
            loader,
            constants: Vec::new(),
        };
        varied.loader.ranges = uncertainty.ranges;
        varied.constants = varied.taking_part(&uncertainty.known);
        Ok(varied)
    }

    /// Returns the experiment with the values of its files.
    #[must_use]
    pub const fn base(&self) -> &Experiment {
        &self.base
    }

    /// Returns the product key of a strategy.
    #[must_use]
    pub fn product(&self, strategy: &str) -> Option<&'static str> {
        constants::product_of(&self.loader.tree, strategy).map(|product| product.key)
    }

    /// Returns a problem at a value of the experiment's file, or at the nearest value that contains it.
    #[must_use]
    pub(crate) fn problem_at(&self, path: &Path, message: String) -> Problem {
        let mut path = path.clone();
        while self.loader.tree.get(&path).is_none() && path.0.pop().is_some() {}
        let place = self.loader.tree.key_place(&path);
        self.loader.source.at(place, path.to_string(), message)
    }

    /// Returns the constants used in it.
    #[must_use]
    pub fn constants(&self) -> &[VariedConstant] {
        &self.constants
    }

    /// Returns the experiment with some constants at other levels, only for its runs: without the settings in force
    /// and the files. The numbers are indices of [`VariedExperiment::constants`].
    ///
    /// # Errors
    /// Returns an error if the values are inconsistent, because a range set by the user may contain impossible values.
    pub fn at(&self, levels: &[(usize, Level)]) -> Result<Experiment, LoadError> {
        let mut loader = self.loader.clone();
        loader.levels = levels
            .iter()
            .map(|(at, level)| (self.constants[*at].factor, *level))
            .collect();
        loader.checked()
    }

    fn taking_part(&self, known: &[usize]) -> Vec<VariedConstant> {
        let trees = self.loader.trees();
        let mut all = Vec::new();
        for at in 0..constants::factors().len() {
            if !known.contains(&at) {
                all.extend(self.varied(at, &trees));
            }
        }
        all.retain(|constant| self.is_read(constant));
        all
    }

    /// Returns whether the experiment reads a constant. Rows of an inventory may all have their own value, so that
    /// nothing reads its default.
    fn is_read(&self, constant: &VariedConstant) -> bool {
        !constant.own_name.starts_with("inventory.")
            || self.loader.has_effect(constant.factor, &self.base)
    }

    /// Returns a factor with its values in the variants. `None`: it has no range in any variant.
    fn varied(&self, at: usize, variants: &[VariantTree]) -> Option<VariedConstant> {
        let factor = &constants::factors()[at];
        let highest = FactorLevel::new(factor, Level::Toward(1.0), &self.loader.ranges);
        let mut values: Vec<VariedValue> = Vec::new();
        let mut places = Vec::new();
        let mut strategies = Vec::new();
        for variant in variants {
            let mut tree = variant.tree.clone();
            for laid in highest.lay(&mut tree, &variant.strategy, variant.product) {
                places.push(laid.place);
                strategies.push(variant.strategy.clone());
                let depends_on_product = !laid.constant.products.is_empty();
                let [low, high] = laid.ends;
                let value = VariedValue {
                    constant: laid.constant,
                    product: depends_on_product.then_some(variant.product.key),
                    value: laid.from,
                    low,
                    high,
                };
                if low < high && !values.iter().any(|known| known.is_like(&value)) {
                    values.push(value);
                }
            }
        }
        let first = values.first()?;
        strategies.dedup();
        Some(VariedConstant {
            factor: at,
            name: &factor.name,
            own_name: first.constant.name_at(&places),
            values,
            strategies,
        })
    }
}

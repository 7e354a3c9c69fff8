//! Rates as affine functions of the levels of hubs.

/// A rate: a constant, and a factor for each hub on whose level the rate depends, sorted by hub.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Affine {
    pub(super) base: f64,
    pub(super) terms: Vec<(u32, f64)>,
}

impl Affine {
    pub(super) fn clear(&mut self) {
        self.base = 0.0;
        self.terms.clear();
    }

    /// Adds `factor` times the level of `hub`.
    pub(super) fn add_term(&mut self, hub: u32, factor: f64) {
        match self.terms.binary_search_by_key(&hub, |&(hub, _)| hub) {
            Ok(at) => self.terms[at].1 += factor,
            Err(at) => self.terms.insert(at, (hub, factor)),
        }
    }

    /// Adds `factor` times another rate.
    pub(super) fn add(&mut self, factor: f64, other: &Self) {
        self.base += factor * other.base;
        for &(hub, of_other) in &other.terms {
            self.add_term(hub, factor * of_other);
        }
    }

    /// Multiplies the rate by `factor`, and drops the terms that have cancelled out.
    pub(super) fn scale(&mut self, factor: f64) {
        self.base *= factor;
        self.terms.retain_mut(|(_, of_hub)| {
            *of_hub *= factor;
            *of_hub != 0.0
        });
    }

    /// Copies another rate without a new allocation.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.base = other.base;
        self.terms.clear();
        self.terms.extend_from_slice(&other.terms);
    }

    pub(super) fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }
}

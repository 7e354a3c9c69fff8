//! Pairs the variants of the old version with those of the new one.
//!
//! Variants are paired by name, otherwise as the only variant of the same strategy, otherwise as the only variant.

use crate::report::data::VariantResults;

/// The variants of two versions.
pub(super) struct Paired<'v, 'r> {
    /// Old and new variants, in the order of the new version.
    pub(super) pairs: Vec<(&'v VariantResults<'r>, &'v VariantResults<'r>)>,
    pub(super) only_old: Vec<String>,
    pub(super) only_new: Vec<String>,
}

/// Decides whether a new variant may correspond to an old one.
type Rule = fn(&VariantResults<'_>, &VariantResults<'_>) -> bool;

/// Pairs the variants.
pub(super) fn paired<'v, 'r>(
    olds: &'v [VariantResults<'r>],
    news: &'v [VariantResults<'r>],
) -> Paired<'v, 'r> {
    // For each new variant, the old one that it is paired with.
    let mut continued: Vec<Option<usize>> = vec![None; news.len()];
    let mut old_left: Vec<usize> = (0..olds.len()).collect();
    let mut new_left: Vec<usize> = (0..news.len()).collect();
    let rules: [Rule; 3] = [
        |old, new| old.name() == new.name(),
        |old, new| old.info.strategy == new.info.strategy,
        |_, _| true,
    ];
    for rule in rules {
        for new in 0..news.len() {
            let mut earlier = old_left.iter().filter(|old| rule(&olds[**old], &news[new]));
            let (Some(&old), None) = (earlier.next(), earlier.next()) else {
                continue;
            };
            let mut later = new_left.iter().filter(|new| rule(&olds[old], &news[**new]));
            let is_only = later.next() == Some(&new) && later.next().is_none();
            if is_only {
                continued[new] = Some(old);
                old_left.retain(|left| *left != old);
                new_left.retain(|left| *left != new);
            }
        }
    }
    let mut pairs = Vec::new();
    for (new, old) in news.iter().zip(continued) {
        if let Some(old) = old {
            pairs.push((&olds[old], new));
        }
    }
    Paired {
        pairs,
        only_old: names_at(olds, &old_left),
        only_new: names_at(news, &new_left),
    }
}

/// The names of the variants with the given indices.
fn names_at(variants: &[VariantResults<'_>], places: &[usize]) -> Vec<String> {
    places
        .iter()
        .map(|&at| variants[at].name().to_owned())
        .collect()
}

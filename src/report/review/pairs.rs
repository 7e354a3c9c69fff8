//! Which variant of the new version continues which variant of the old one.
//!
//! The same name, or else the only variant of the same strategy, or else the only variant at all.

use crate::report::data::VariantResults;

/// The variants of two versions.
pub(super) struct Paired<'v, 'r> {
    /// Old and new, in the new order.
    pub(super) pairs: Vec<(&'v VariantResults<'r>, &'v VariantResults<'r>)>,
    pub(super) only_old: Vec<String>,
    pub(super) only_new: Vec<String>,
}

/// Whether a new variant may continue an old one.
type Rule = fn(&VariantResults<'_>, &VariantResults<'_>) -> bool;

/// Pairs the variants.
pub(super) fn paired<'v, 'r>(olds: &'v [VariantResults<'r>], news: &'v [VariantResults<'r>]) -> Paired<'v, 'r> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let rules: [Rule; 3] =
        [|old, new| old.name() == new.name(), |old, new| old.info.strategy == new.info.strategy, |_, _| true];
    for rule in rules {
        for (at, new) in news.iter().enumerate() {
            let free = |taken: fn(&(usize, usize)) -> usize, all: usize, pairs: &[(usize, usize)]| -> Vec<usize> {
                (0..all).filter(|place| !pairs.iter().any(|pair| taken(pair) == *place)).collect()
            };
            let mut old_free = free(|pair| pair.0, olds.len(), &pairs);
            let mut new_free = free(|pair| pair.1, news.len(), &pairs);
            old_free.retain(|&place| rule(&olds[place], new));
            new_free.retain(|&place| old_free.first().is_some_and(|&old| rule(&olds[old], &news[place])));
            if let ([old], [only]) = (old_free.as_slice(), new_free.as_slice())
                && *only == at
            {
                pairs.push((*old, at));
            }
        }
    }
    pairs.sort_by_key(|pair| pair.1);
    let left = |all: &[VariantResults<'_>], taken: fn(&(usize, usize)) -> usize| -> Vec<String> {
        let is_left = |at: &usize| !pairs.iter().any(|pair| taken(pair) == *at);
        (0..all.len()).filter(is_left).map(|at| all[at].name().to_owned()).collect()
    };
    Paired {
        only_old: left(olds, |pair| pair.0),
        only_new: left(news, |pair| pair.1),
        pairs: pairs.into_iter().map(|(old, new)| (&olds[old], &news[new])).collect(),
    }
}

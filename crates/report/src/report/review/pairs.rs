//! Which variant of the new version continues which variant of the old one.
//!
//! The same name, or else the only variant of the same strategy, or else the only variant at all.

use itertools::Itertools;

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
pub(super) fn paired<'v, 'r>(
    olds: &'v [VariantResults<'r>],
    news: &'v [VariantResults<'r>],
) -> Paired<'v, 'r> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let [mut old_left, mut new_left] =
        [olds.len(), news.len()].map(|all| (0..all).collect::<Vec<usize>>());
    let rules: [Rule; 3] = [
        |old, new| old.name() == new.name(),
        |old, new| old.info.strategy == new.info.strategy,
        |_, _| true,
    ];
    for rule in rules {
        for new in 0..news.len() {
            let may_precede = |old: &&usize| rule(&olds[**old], &news[new]);
            let Some(old) = old_left
                .iter()
                .filter(may_precede)
                .exactly_one()
                .ok()
                .copied()
            else {
                continue;
            };
            let may_follow = |new: &&usize| rule(&olds[old], &news[**new]);
            if new_left
                .iter()
                .filter(may_follow)
                .exactly_one()
                .is_ok_and(|only| *only == new)
            {
                pairs.push((old, new));
                old_left.retain(|left| *left != old);
                new_left.retain(|left| *left != new);
            }
        }
    }
    pairs.sort_by_key(|pair| pair.1);
    let names = |all: &[VariantResults<'_>], left: Vec<usize>| -> Vec<String> {
        left.into_iter()
            .map(|at| all[at].name().to_owned())
            .collect()
    };
    Paired {
        only_old: names(olds, old_left),
        only_new: names(news, new_left),
        pairs: pairs
            .into_iter()
            .map(|(old, new)| (&olds[old], &news[new]))
            .collect(),
    }
}

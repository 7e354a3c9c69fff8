//! Determines which variants of an experiment are compared with each other.
//!
//! Variants of one world (the same fleet, registry and release) are compared with each other, because the question is
//! then about the strategies. If every variant is a different world, the question is about the worlds: the setting
//! with the most values is compared, for each combination of the others. Compared variants use the same random numbers
//! if they have the same clusters.

use std::collections::HashMap;
use std::hash::Hash;

use itertools::Itertools;

use super::Setting;

/// Groups variants by their settings, as indices into the list. The members of a group are compared, and the first
/// member is the reference for differences.
#[must_use]
pub fn compared(settings: &[&[Setting]]) -> Vec<Vec<usize>> {
    let worlds = partition(settings, |setting| !setting.is_of_strategy());
    if worlds.len() < 2 || worlds.iter().any(|world| world.len() > 1) {
        return worlds;
    }
    let question = most_varied(settings);
    partition(settings, |setting| setting.name != question)
}

/// Splits the variants by the values of the settings that `by` picks.
fn partition(settings: &[&[Setting]], by: impl Fn(&Setting) -> bool) -> Vec<Vec<usize>> {
    let mut keyed = Vec::new();
    for (variant, settings) in settings.iter().enumerate() {
        let mut key = settings.to_vec();
        key.retain(&by);
        keyed.push((key, variant));
    }
    let mut parts = Vec::new();
    for (_, members) in grouped(keyed) {
        parts.push(members);
    }
    parts
}

/// The name of the setting with the most values; the first one on a tie.
fn most_varied(settings: &[&[Setting]]) -> String {
    let mut most_values = 0;
    let mut most_varied = String::new();
    for (name, values) in distinct(settings) {
        if values.len() > most_values {
            most_values = values.len();
            most_varied = name;
        }
    }
    most_varied
}

/// Every setting's name with its values, both in order of first appearance.
#[must_use]
pub fn distinct(settings: &[&[Setting]]) -> Vec<(String, Vec<String>)> {
    let settings = settings.iter().copied().flatten();
    let values = settings.map(|setting| (setting.name.clone(), setting.value.clone()));
    grouped(values.unique())
}

/// The items of each key; keys are in order of first appearance, items in input order.
#[must_use]
pub fn grouped<K: Eq + Hash, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    /// The items of one key, and the index of the first of them in the input.
    struct Members<T> {
        first: usize,
        items: Vec<T>,
    }
    let mut groups: HashMap<K, Members<T>> = HashMap::new();
    for (place, (key, item)) in items.into_iter().enumerate() {
        let members = groups.entry(key).or_insert_with(|| Members {
            first: place,
            items: Vec::new(),
        });
        members.items.push(item);
    }
    // Groups have distinct first indices, so the order of the map does not matter.
    let in_order = groups
        .into_iter()
        .sorted_unstable_by_key(|(_, members)| members.first);
    in_order
        .map(|(key, members)| (key, members.items))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(variants: &[&[(&str, &str)]]) -> Vec<Vec<usize>> {
        let setting = |(path, value): &(&str, &str)| Setting {
            path: (*path).to_owned(),
            name: path.rsplit('.').next().expect("a last part").to_owned(),
            value: (*value).to_owned(),
        };
        let settings: Vec<Vec<Setting>> = variants
            .iter()
            .map(|all| all.iter().map(setting).collect())
            .collect();
        compared(&settings.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn strategies_are_compared_within_each_world() {
        const LIMIT: &str = "strategies.s.limit";
        assert_eq!(
            groups(&[&[(LIMIT, "1")], &[(LIMIT, "2")], &[]]),
            [[0, 1, 2]]
        );
        let of = |clusters, limit| [("fleet[0].clusters", clusters), (LIMIT, limit)];
        assert_eq!(
            groups(&[
                &of("200", "1"),
                &of("200", "2"),
                &of("9", "1"),
                &of("9", "2")
            ]),
            [[0, 1], [2, 3]]
        );
    }

    #[test]
    fn if_every_variant_is_a_world_the_setting_with_the_most_values_is_compared() {
        let of = |way, kind| [("distribution", way), ("release.kind", kind)];
        let all = [
            of("direct", "initial"),
            of("direct", "update"),
            of("cache", "initial"),
            of("cache", "update"),
            of("lazy", "initial"),
            of("lazy", "update"),
        ];
        assert_eq!(
            groups(&all.each_ref().map(<[_; 2]>::as_slice)),
            [[0, 2, 4], [1, 3, 5]]
        );
        assert_eq!(groups(&[&[]]), [[0]], "one variant");
        assert!(groups(&[]).is_empty());
    }
}

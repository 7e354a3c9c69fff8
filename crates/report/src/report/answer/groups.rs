//! The variants that are compared with each other ([`compared`]), and their short names.

use itertools::Itertools;

use crate::report::data::VariantResults;
use crate::results::{Setting, compared, distinct};

/// Variants that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct VariantGroup {
    /// The settings that distinguish the group, `name=value` joined by `; `; empty when there is one group.
    pub(in crate::report) title: String,
    /// Indices into the list of variants.
    pub(in crate::report) members: Vec<usize>,
    /// The name of each variant within the group.
    pub(in crate::report) labels: Vec<String>,
}

/// A variant with its index in the list of all variants and its name within the group.
#[derive(Clone, Copy)]
pub(in crate::report) struct NamedVariant<'v, 'r> {
    pub(in crate::report) at: usize,
    pub(in crate::report) label: &'v str,
    pub(in crate::report) variant: &'v VariantResults<'r>,
}

/// Indices of the best variants of a group in the list of all variants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct Best {
    pub(in crate::report) fastest: Option<usize>,
    pub(in crate::report) lowest: Option<usize>,
    /// A third variant: the lowest peak within twice the fastest time.
    pub(in crate::report) compromise: Option<usize>,
    /// For a defective revision, instead of the others: all variants with the fewest exposed clusters, and the one
    /// with the most.
    pub(in crate::report) least_exposed: Vec<usize>,
    pub(in crate::report) most_exposed: Option<usize>,
}

impl Best {
    /// Returns whether a defective revision was rolled out in the group.
    pub(in crate::report) const fn is_exposing(&self) -> bool {
        self.most_exposed.is_some()
    }
}

/// The groups of all variants, in the experiment's order.
pub(in crate::report) fn groups(variants: &[VariantResults<'_>]) -> Vec<VariantGroup> {
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.info.settings.as_slice())
        .collect();
    let parts = compared(&settings);
    let alone = parts.len() < 2;
    let mut groups = Vec::new();
    for members in parts {
        let own: Vec<&VariantResults<'_>> = members.iter().map(|&at| &variants[at]).collect();
        groups.push(VariantGroup {
            title: if alone {
                String::new()
            } else {
                title_of(&settings, &members)
            },
            labels: labels(&own),
            members,
        });
    }
    groups
}

/// Returns whether a setting has several values, given the values of all settings.
fn is_varied(varied: &[(String, Vec<String>)], setting: &Setting) -> bool {
    varied
        .iter()
        .any(|(name, values)| *name == setting.name && values.len() > 1)
}

/// The settings that all members share and that differ between groups.
pub(super) fn title_of(settings: &[&[Setting]], members: &[usize]) -> String {
    let varied = distinct(settings);
    let mut shared: Vec<&Setting> = Vec::new();
    for setting in settings[members[0]] {
        let is_common = members.iter().all(|&at| settings[at].contains(setting));
        if is_common && is_varied(&varied, setting) {
            shared.push(setting);
        }
    }
    Setting::in_short(shared)
}

/// A setting in a label. A value that says nothing by itself needs its name; a list may be shown by its length.
pub(super) fn setting_label(setting: &Setting, counts_lists: bool) -> String {
    let Setting { name, value, .. } = setting;
    if counts_lists && let Some(entries) = entries_of(value) {
        return match entries {
            0 => format!("no {name}"),
            1 => format!("1 {}", name.strip_suffix('s').unwrap_or(name)),
            several => format!("{several} {name}"),
        };
    }
    if speaks_for_itself(value) && !setting.is_of_strategy() {
        value.clone()
    } else {
        format!("{name}={value}")
    }
}

/// Returns true for a value that is understood without the name of its setting.
fn speaks_for_itself(value: &str) -> bool {
    let is_word = value.chars().any(char::is_alphabetic);
    is_word && !["true", "false"].contains(&value)
}

/// The number of entries of a list as it is written in one line. `None`: it is not a list.
fn entries_of(value: &str) -> Option<usize> {
    let inside = value.strip_prefix('[')?.strip_suffix(']')?;
    if inside.trim().is_empty() {
        return Some(0);
    }
    let mut depth = 0;
    let mut entries = 1;
    for letter in inside.chars() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => entries += 1,
            _ => {}
        }
    }
    Some(entries)
}

/// Names without the common settings of `variants`; full names if the short ones are not unique.
pub(in crate::report) fn labels(variants: &[&VariantResults<'_>]) -> Vec<String> {
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.info.settings.as_slice())
        .collect();
    let varied = distinct(&settings);
    let strategies = variants
        .iter()
        .any(|variant| variant.info.strategy != variants[0].info.strategy);
    for counts_lists in [true, false] {
        let mut short: Vec<String> = Vec::new();
        for variant in variants {
            let mut shown: Vec<&Setting> = variant.info.settings.iter().collect();
            // A setting that only some have distinguishes them too.
            shown.retain(|setting| {
                is_varied(&varied, setting) || !settings.iter().all(|all| all.contains(setting))
            });
            let mut parts: Vec<String> = Vec::new();
            if strategies || shown.is_empty() {
                parts.push(variant.info.strategy.clone());
            }
            for setting in shown {
                parts.push(setting_label(setting, counts_lists));
            }
            short.push(parts.join(" · "));
        }
        if short.iter().all_unique() {
            return short;
        }
    }
    variants
        .iter()
        .map(|variant| variant.name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::VariantInfo;

    fn setting(path: &str, value: &str) -> Setting {
        let name = path.rsplit('.').next().expect("a last part").to_owned();
        Setting {
            path: path.to_owned(),
            name,
            value: value.to_owned(),
        }
    }

    fn infos(of: &[(&str, &[(&str, &str)])]) -> Vec<VariantInfo> {
        of.iter()
            .map(|(strategy, settings)| VariantInfo {
                variant: format!("{strategy} {settings:?}"),
                strategy: (*strategy).to_owned(),
                setting: String::new(),
                settings: settings
                    .iter()
                    .map(|(path, value)| setting(path, value))
                    .collect(),
                product: String::new(),
                target: String::new(),
                is_bound: false,
                registry_egress_bytes_per_s: None,
                precision: None,
            })
            .collect()
    }

    fn titles_and_labels(infos: &[VariantInfo]) -> Vec<(String, Vec<String>)> {
        let variants: Vec<VariantResults<'_>> = infos.iter().map(VariantResults::bare).collect();
        groups(&variants)
            .into_iter()
            .map(|group| (group.title, group.labels))
            .collect()
    }

    fn owned(of: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let text = |text: &&str| (*text).to_owned();
        of.iter()
            .map(|(title, labels)| (text(title), labels.iter().map(text).collect()))
            .collect()
    }

    #[test]
    fn strategies_of_one_world_are_compared_with_each_other() {
        const LIMIT: &str = "strategies.git.rancherFleet.maxUnavailable";
        let of = infos(&[
            ("git", &[(LIMIT, "1")]),
            ("git", &[(LIMIT, "5%")]),
            ("all", &[]),
        ]);
        assert_eq!(
            titles_and_labels(&of),
            owned(&[(
                "",
                &["git · maxUnavailable=1", "git · maxUnavailable=5%", "all"]
            )])
        );
    }

    #[test]
    fn strategies_are_compared_within_each_world() {
        let of = infos(&[
            ("a", &[("registry.egress", "10 Gbit/s")]),
            ("b", &[("registry.egress", "10 Gbit/s")]),
            ("a", &[("registry.egress", "40 Gbit/s")]),
            ("b", &[("registry.egress", "40 Gbit/s")]),
        ]);
        let expected = [
            ("egress=10 Gbit/s", &["a", "b"] as &[&str]),
            ("egress=40 Gbit/s", &["a", "b"]),
        ];
        assert_eq!(
            titles_and_labels(&of),
            owned(&expected),
            "what a group shares is in its title"
        );
    }

    #[test]
    fn names_that_would_not_be_unique_stay_whole() {
        let of = infos(&[("a", &[("x.limit", "1")]), ("a", &[("x.limit", "1")])]);
        let labels = titles_and_labels(&of).remove(0).1;
        assert_eq!(labels[0], r#"a [("x.limit", "1")]"#);
    }

    #[test]
    fn entries_of_a_list_are_counted_at_its_own_depth() {
        let cases = [
            ("[]", Some(0)),
            ("[a]", Some(1)),
            ("[{name: ma, region: a}, {name: mb, region: b}]", Some(2)),
            ("{direct: {}}", None),
            ("5%", None),
        ];
        for (value, expected) in cases {
            assert_eq!(entries_of(value), expected, "{value}");
        }
    }
}

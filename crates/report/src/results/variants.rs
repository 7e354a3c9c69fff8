//! `variants.csv`: one row for each variant, with the value of each swept setting in its own column.
//!
//! Other tables have only the variant's name, by which they can be joined with this one. A setting's column has the
//! name used in `setting`: the last key of its path, or the path if the key is not unique. A variant without the
//! setting has an empty field. Values are as written in the experiment.

use itertools::Itertools;

use super::{Setting, VariantRecord};

/// The columns in front of the columns of the settings.
const OWN: [&str; 2] = ["variant", "strategy"];

/// The names of the columns, then the fields of each variant in the experiment's order.
pub(super) fn variant_table(variants: &[VariantRecord]) -> Vec<Vec<String>> {
    let settings = variants.iter().flat_map(|variant| &variant.settings);
    let swept: Vec<&Setting> = settings.unique_by(|setting| &setting.path).collect();
    let mut header = OWN.map(str::to_owned).to_vec();
    for setting in &swept {
        header.push(column_of(setting));
    }
    let mut rows = vec![header];
    for variant in variants {
        let mut row = vec![variant.variant.clone(), variant.strategy.clone()];
        for setting in &swept {
            row.push(value_in(variant, &setting.path));
        }
        rows.push(row);
    }
    rows
}

/// The column of a setting: its name, or its path if another column has that name.
fn column_of(setting: &Setting) -> String {
    if OWN.contains(&setting.name.as_str()) {
        setting.path.clone()
    } else {
        setting.name.clone()
    }
}

/// The value of a setting in a variant; empty if the variant does not have it.
fn value_in(variant: &VariantRecord, path: &str) -> String {
    let mut settings = variant.settings.iter();
    match settings.find(|setting| setting.path == path) {
        Some(own) => own.value.clone(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::variant;
    use super::*;

    #[test]
    fn every_swept_setting_has_its_own_column() {
        let with = |name: &str, settings: &[(&str, &str, &str)]| VariantRecord {
            settings: settings
                .iter()
                .map(|(path, name, value)| Setting {
                    path: (*path).to_owned(),
                    name: (*name).to_owned(),
                    value: (*value).to_owned(),
                })
                .collect(),
            ..variant(name, Vec::new())
        };
        let table = variant_table(&[
            with(
                "a",
                &[
                    ("strategies.a.limit", "limit", "5%"),
                    ("registry.egress", "egress", "1 Gbit/s"),
                ],
            ),
            with(
                "b",
                &[
                    ("registry.egress", "egress", "9 Gbit/s"),
                    ("fleet.0.strategy", "strategy", "x"),
                ],
            ),
        ]);
        assert_eq!(
            table[0],
            ["variant", "strategy", "limit", "egress", "fleet.0.strategy"]
        );
        assert_eq!(
            table[1..],
            [
                ["a", "s", "5%", "1 Gbit/s", ""],
                ["b", "s", "", "9 Gbit/s", "x"]
            ]
        );
    }
}

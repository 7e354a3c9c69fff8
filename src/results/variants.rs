//! `variants.csv`: one row for each variant, with the value of each swept setting in a column of its own.
//!
//! Other tables name the variant alone, and are joined with this one by it. A setting's column has the name that
//! `setting` uses: the last key of its path, or the path where that is not unique. A variant without the setting has
//! an empty field. Values are as written in the experiment.

use itertools::Itertools;

use super::{Setting, VariantRecord};

/// The columns before those of the settings.
const OWN: [&str; 2] = ["variant", "strategy"];

/// The variants of an experiment with their swept settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariantTable {
    /// The names of the settings.
    pub settings: Vec<String>,
    /// The variants, in the experiment's order.
    pub rows: Vec<VariantRow>,
}

/// One variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariantRow {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The value of each setting of the table; empty for none.
    pub values: Vec<String>,
}

impl VariantTable {
    pub(super) fn of(variants: &[VariantRecord]) -> Self {
        let swept = || variants.iter().flat_map(|variant| &variant.settings).unique_by(|setting| &setting.path);
        let value = |settings: &[Setting], path: &str| {
            settings
                .iter()
                .find(|setting| setting.path == path)
                .map_or_else(String::new, |setting| setting.value.clone())
        };
        let row = |variant: &VariantRecord| VariantRow {
            variant: variant.variant.clone(),
            strategy: variant.strategy.clone(),
            values: swept().map(|setting| value(&variant.settings, &setting.path)).collect(),
        };
        let name = |setting: &Setting| match OWN.contains(&setting.name.as_str()) {
            true => setting.path.clone(),
            false => setting.name.clone(),
        };
        Self { settings: swept().map(name).collect(), rows: variants.iter().map(row).collect() }
    }

    /// The names of all columns.
    pub(super) fn header(&self) -> Vec<&str> {
        OWN.into_iter().chain(self.settings.iter().map(String::as_str)).collect()
    }

    /// The table with these columns and records; every record has as many fields as there are columns.
    pub(super) fn read(header: &[&str], records: impl Iterator<Item = Vec<String>>) -> Self {
        let row = |mut fields: Vec<String>| {
            let values = fields.split_off(OWN.len().min(fields.len()));
            let mut own = fields.into_iter();
            VariantRow { variant: own.next().unwrap_or_default(), strategy: own.next().unwrap_or_default(), values }
        };
        let settings = header.iter().skip(OWN.len()).map(|name| (*name).to_owned()).collect();
        Self { settings, rows: records.map(row).collect() }
    }
}

impl VariantRow {
    /// The fields of its record.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        [&self.variant, &self.strategy].into_iter().chain(&self.values).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::variant;
    use super::*;

    #[test]
    fn every_swept_setting_has_a_column_of_its_own() {
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
        let table = VariantTable::of(&[
            with("a", &[("strategies.a.limit", "limit", "5%"), ("registry.egress", "egress", "1 Gbit/s")]),
            with("b", &[("registry.egress", "egress", "9 Gbit/s"), ("fleet.0.strategy", "strategy", "x")]),
        ]);
        assert_eq!(table.header(), ["variant", "strategy", "limit", "egress", "fleet.0.strategy"]);
        let fields: Vec<Vec<&str>> = table.rows.iter().map(|row| row.fields().collect()).collect();
        assert_eq!(fields, [["a", "s", "5%", "1 Gbit/s", ""], ["b", "s", "", "9 Gbit/s", "x"]]);
    }
}

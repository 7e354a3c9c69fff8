//! The left columns of the comparison, which identify the variant of a line: its strategy and its swept settings, each
//! in a separate column, or its name if nothing was swept.

use std::collections::BTreeSet;

use crate::report::data::VariantResults;
use crate::report::swept::SweepAxis;
use crate::report::text::common_start;
use crate::report::wrap::{letters, shortened, side_by_side};

/// Maximum width of a text if the variants stay distinguishable at this width, and maximum width otherwise.
const TEXT_MAX: usize = 30;
const TEXT_LONGEST: usize = 60;

/// The left columns.
pub(super) struct Names {
    columns: Vec<NameColumn>,
    /// The current maximum width of a text.
    most: usize,
    /// Values that all variants share, which no column shows.
    shared: Option<String>,
    /// Length in bytes of the prefix that all names share, which can be left out.
    start: usize,
}

struct NameColumn {
    heading: String,
    texts: Vec<String>,
}

impl Names {
    /// Creates the left columns for the given variants.
    pub(super) fn of(variants: &[VariantResults<'_>]) -> Self {
        let axes = SweepAxis::all(variants);
        let strategies: BTreeSet<&str> = variants
            .iter()
            .map(|variant| variant.info.strategy.as_str())
            .collect();
        let mut columns = Vec::new();
        if strategies.len() > 1 {
            let texts = variants
                .iter()
                .map(|variant| variant.info.strategy.clone())
                .collect();
            columns.push(NameColumn {
                heading: "strategy".to_owned(),
                texts,
            });
        }
        for axis in &axes {
            let mut texts = Vec::new();
            for variant in variants {
                texts.push(match axis.value_of(variant) {
                    Some(at) => axis.values[at].text.to_owned(),
                    None => String::new(),
                });
            }
            columns.push(NameColumn {
                heading: axis.name.to_owned(),
                texts,
            });
        }
        let settings = Self {
            columns,
            most: usize::MAX,
            shared: None,
            start: 0,
        };
        if !axes.is_empty() && settings.are_distinct(TEXT_LONGEST) {
            let shared = (strategies.len() == 1).then(|| {
                format!(
                    "All variants use the strategy `{}`",
                    variants[0].info.strategy
                )
            });
            return Self { shared, ..settings };
        }
        let names: Vec<&str> = variants.iter().map(VariantResults::name).collect();
        let start = common_start(&names);
        let texts = names.iter().map(|&name| name.to_owned()).collect();
        let mut names = Self {
            columns: vec![NameColumn {
                heading: "variant".to_owned(),
                texts,
            }],
            most: usize::MAX,
            shared: None,
            start,
        };
        if names.columns[0]
            .texts
            .iter()
            .any(|name| letters(name) > TEXT_MAX)
        {
            names.shorten();
        }
        names
    }

    /// Shortens the columns. Returns whether that was possible.
    pub(super) fn shorten(&mut self) -> bool {
        if self.most <= TEXT_LONGEST {
            return false;
        }
        if self.start > 0 {
            let texts = &mut self.columns[0].texts;
            self.shared = Some(format!(
                "All variant names begin with `{}`",
                texts[0][..self.start].trim_end()
            ));
            for text in texts {
                *text = format!("…{}", &text[self.start..]);
            }
        }
        self.most = (TEXT_MAX..TEXT_LONGEST)
            .find(|&most| self.are_distinct(most))
            .unwrap_or(TEXT_LONGEST);
        true
    }

    /// Returns whether all rows differ if texts have at most this width.
    fn are_distinct(&self, most: usize) -> bool {
        let rows = self.columns.first().map_or(0, |column| column.texts.len());
        let mut distinct: BTreeSet<Vec<String>> = BTreeSet::new();
        for at in 0..rows {
            let texts = self.columns.iter().map(|column| &column.texts[at]);
            distinct.insert(texts.map(|text| shortened(text, most)).collect());
        }
        distinct.len() == rows
    }

    /// The settings that the names leave out.
    pub(super) fn note(&self) -> Option<String> {
        self.shared.clone()
    }

    /// The width that all lines have.
    pub(super) fn width(&self) -> usize {
        letters(&self.lines()[0])
    }

    /// The two lines of the heading, then one for each variant, all of one width.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut columns: Vec<Vec<String>> = Vec::new();
        for column in &self.columns {
            let mut lines = vec![String::new(), column.heading.clone()];
            for text in &column.texts {
                lines.push(shortened(text, self.most));
            }
            columns.push(lines);
        }
        side_by_side(&columns, self.columns.len())
    }
}

//! What stands at the left of the comparison and says which variant a line is: its strategy and its swept settings, each
//! in a column of its own, or its name where nothing was swept.

use std::collections::BTreeSet;

use super::letters;
use crate::report::data::VariantResults;
use crate::report::swept::SweepAxis;
use crate::report::text::common_start;

/// Widest that a text is shown, if that tells the variants apart; and if it does not.
const TEXT_MAX: usize = 30;
const TEXT_LONGEST: usize = 60;

/// The left columns.
pub(super) struct Names {
    columns: Vec<Column>,
    /// The widest that a text may be.
    most: usize,
    /// What all variants share and no column says.
    shared: Option<String>,
    /// Bytes with which all names begin; they can be left out.
    start: usize,
}

struct Column {
    heading: String,
    texts: Vec<String>,
}

impl Names {
    pub(super) fn of(variants: &[VariantResults<'_>]) -> Self {
        let axes = SweepAxis::all(variants);
        let strategies: BTreeSet<&str> = variants.iter().map(|variant| variant.info.strategy.as_str()).collect();
        let mut columns = Vec::new();
        if strategies.len() > 1 {
            let texts = variants.iter().map(|variant| variant.info.strategy.clone()).collect();
            columns.push(Column { heading: "strategy".to_owned(), texts });
        }
        columns.extend(axes.iter().map(|axis| {
            Column {
                heading: axis.name.to_owned(),
                texts: variants
                    .iter()
                    .map(|variant| {
                        axis.value_of(variant).map_or_else(String::new, |at| axis.values[at].text.to_owned())
                    })
                    .collect(),
            }
        }));
        let settings = Self { columns, most: usize::MAX, shared: None, start: 0 };
        if !axes.is_empty() && settings.tell_apart(TEXT_LONGEST) {
            let shared =
                (strategies.len() == 1).then(|| format!("all variants are of `{}`", variants[0].info.strategy));
            return Self { shared, ..settings };
        }
        let names: Vec<&str> = variants.iter().map(VariantResults::name).collect();
        let start = common_start(&names);
        let texts = names.iter().map(|&name| name.to_owned()).collect();
        let mut names = Self {
            columns: vec![Column { heading: "variant".to_owned(), texts }],
            most: usize::MAX,
            shared: None,
            start,
        };
        if names.columns[0].texts.iter().any(|name| letters(name) > TEXT_MAX) {
            names.shorten();
        }
        names
    }

    /// Makes them shorter, and says whether they were not before.
    pub(super) fn shorten(&mut self) -> bool {
        if self.most <= TEXT_LONGEST {
            return false;
        }
        if self.start > 0 {
            let texts = &mut self.columns[0].texts;
            self.shared = Some(format!("all variants begin with `{}`", texts[0][..self.start].trim_end()));
            texts.iter_mut().for_each(|text| *text = format!("…{}", &text[self.start..]));
        }
        self.most = (TEXT_MAX..TEXT_LONGEST).find(|&most| self.tell_apart(most)).unwrap_or(TEXT_LONGEST);
        true
    }

    fn tell_apart(&self, most: usize) -> bool {
        let rows = self.columns.first().map_or(0, |column| column.texts.len());
        let row = |at: usize| self.columns.iter().map(|column| shortened(&column.texts[at], most)).collect::<Vec<_>>();
        (0..rows).map(row).collect::<BTreeSet<_>>().len() == rows
    }

    pub(super) fn note(&self) -> Option<String> {
        self.shared.clone()
    }

    pub(super) fn width(&self) -> usize {
        letters(&self.lines()[0])
    }

    /// The two lines of the heading, then one for each variant, all of one width.
    pub(super) fn lines(&self) -> Vec<String> {
        let rows = self.columns.first().map_or(0, |column| column.texts.len());
        let mut lines = vec![String::new(); 2 + rows];
        for (at, column) in self.columns.iter().enumerate() {
            let mut texts = vec![String::new(), column.heading.clone()];
            texts.extend(column.texts.iter().map(|text| shortened(text, self.most)));
            let width = texts.iter().map(|text| letters(text)).max().unwrap_or(0);
            for (line, text) in lines.iter_mut().zip(texts) {
                line.push_str(if at == 0 { "" } else { "  " });
                line.push_str(&format!("{text:<width$}"));
            }
        }
        lines
    }
}

/// `text`, its middle cut where it has more than `max` characters: settings stand at the end of a name.
fn shortened(text: &str, max: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= max {
        return text.to_owned();
    }
    let head = max / 3;
    let tail = max - head - 1;
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

//! Charts with a row for each variant: its name, a plot, and its numbers next to it. On a narrow page, names and
//! numbers are above the plot of their row.

use crate::report::names;
use crate::report::prelude::*;

/// Height of the lines above the plot of a row on a narrow page, without and with a note.
const HEADLINE: f64 = 20.0;
const WITH_NOTE: f64 = 36.0;

/// The rows of a chart.
pub(super) struct RowLayout {
    names: Vec<String>,
    size: f64,
    /// A headline and a note for each row.
    numbers: Vec<[String; 2]>,
    /// Height of a row, and of the lines above its plot.
    row: f64,
    above: f64,
    narrow: bool,
    pub(super) area: Area,
}

impl RowLayout {
    /// Lays out rows of height `row` below `top`. Names take at most the share `most_names` of the page's width,
    /// numbers at most `most_numbers`.
    pub(super) fn lay_out(
        sheet: Sheet<'_>,
        variants: &[VariantResults<'_>],
        numbers: Vec<[String; 2]>,
        (top, row): (f64, f64),
        [most_names, most_numbers]: [f64; 2],
    ) -> Self {
        let narrow = sheet.is_narrow();
        let headlines = widest(
            numbers.iter().map(|[headline, _]| headline),
            LABEL,
            Weight::Regular,
        );
        let notes = widest(numbers.iter().map(|[_, note]| note), SMALL, Weight::Regular);
        let (names_room, above) = match narrow {
            true => (
                sheet.inner() - headlines - 12.0,
                if notes > 0.0 { WITH_NOTE } else { HEADLINE },
            ),
            false => (most_names * sheet.px(), 0.0),
        };
        let (names, size) = names::column(
            variants,
            names_room,
            if narrow { &[LABEL] } else { &[LABEL, 11.0] },
        );
        let (left, right) = match narrow {
            true => (MARGIN + 8.0, sheet.px() - MARGIN - 8.0),
            false => (
                MARGIN + widest(&names, size, Weight::Bold).max(60.0) + 26.0,
                sheet.px()
                    - MARGIN
                    - 20.0
                    - headlines
                        .max(notes)
                        .clamp(70.0, (most_numbers * sheet.px()).max(70.0)),
            ),
        };
        let bottom = top + (row + above) * variants.len().max(1) as f64;
        Self {
            names,
            size,
            numbers,
            row,
            above,
            narrow,
            area: Area {
                left,
                top,
                right,
                bottom,
            },
        }
    }

    /// The vertical middle of the plot of a row.
    pub(super) fn middle(&self, at: usize) -> f64 {
        self.area.top + (self.row + self.above) * at as f64 + self.above + self.row / 2.0
    }

    /// Writes the name and the numbers of a row.
    pub(super) fn write(&self, canvas: &mut Canvas, at: usize) {
        let middle = self.middle(at);
        let [headline, note] = &self.numbers[at];
        if self.narrow {
            let top = middle - self.row / 2.0 - self.above;
            let left = MARGIN;
            let right = canvas.width - MARGIN;
            canvas.rectangle((left, top), (right, top + self.above), WHITE, 1.0);
            write_bold(
                canvas,
                &self.names[at],
                (left, top + 15.0),
                TextStyle::new(self.size, INK),
            );
            write(
                canvas,
                headline,
                (right, top + 15.0),
                TextStyle::new(LABEL, INK),
                Align::Right,
            );
            return write_fitted(
                canvas,
                note,
                (left, top + 31.0),
                TextStyle::new(SMALL, MUTED),
                right - left,
            );
        }
        write_bold(
            canvas,
            &self.names[at],
            (MARGIN, middle + 4.5),
            TextStyle::new(self.size, INK),
        );
        let left = self.area.right + 20.0;
        let width = canvas.width - 10.0 - left;
        let headline_at = if note.is_empty() {
            middle + 4.5
        } else {
            middle - 4.0
        };
        write_fitted(
            canvas,
            headline,
            (left, headline_at),
            TextStyle::new(LABEL, INK),
            width,
        );
        write_fitted(
            canvas,
            note,
            (left, middle + 13.0),
            TextStyle::new(SMALL, MUTED),
            width,
        );
    }
}

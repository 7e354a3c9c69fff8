//! Where a row of an analysis stands: the constant's name, its bars, and the numbers beside them. On a narrow page, the
//! name and the numbers stand above the bars.

use crate::report::canvas::Canvas;
use crate::report::frame::{write_bold, write_fitted};
use crate::report::sheet::Sheet;
use crate::report::style::{INK, LABEL, MARGIN, MUTED, SMALL};
use crate::report::text::{Weight, fitted_name};

/// Height of a line of text above the bars.
const LINE: f64 = 16.0;

/// The places of a row.
pub(super) struct BarLayout {
    /// Where bars begin and end.
    pub(super) left: f64,
    pub(super) right: f64,
    /// Height of a row, and of the lines above its bars.
    pub(super) row: f64,
    above: f64,
    px: f64,
}

impl BarLayout {
    /// Rows whose bars take `height`, with bars between these shares of a page, and at most so many lines of numbers.
    pub(super) fn new(sheet: Sheet<'_>, height: f64, [left, right]: [f64; 2], numbers: usize) -> Self {
        let px = sheet.px();
        if sheet.is_narrow() {
            let above = LINE * (1 + numbers) as f64 + 6.0;
            return Self { left: MARGIN, right: px - MARGIN, row: height + above, above, px };
        }
        Self { left: (left * px).round(), right: (right * px).round(), row: height, above: 0.0, px }
    }

    /// The middle of the bars of the row at `y`.
    pub(super) fn middle(&self, y: f64) -> f64 {
        f64::midpoint(y + self.above, y + self.row)
    }

    /// Writes the name of the row at `y` and its lines of numbers, the last ones muted.
    pub(super) fn write(&self, canvas: &mut Canvas, y: f64, name: &str, numbers: &[String], inked: usize) {
        let ink = |at: usize| if at < inked { INK } else { MUTED };
        if self.above > 0.0 {
            write_fitted(canvas, name, (MARGIN, y + 15.0), SMALL, INK, self.px - 2.0 * MARGIN);
            for (at, text) in numbers.iter().enumerate() {
                let baseline = y + 15.0 + LINE * (at + 1) as f64;
                write_fitted(canvas, text, (MARGIN, baseline), SMALL, ink(at), self.px - 2.0 * MARGIN);
            }
            return;
        }
        let middle = self.middle(y);
        write_fitted(canvas, name, (MARGIN, middle + 4.0), SMALL, INK, self.left - MARGIN - 12.0);
        let (size, step) = if self.row < 30.0 { (11.0, 12.0) } else { (SMALL, 16.0) };
        for (at, text) in numbers.iter().enumerate() {
            let offset = 4.0 + step * (at as f64 - (numbers.len() - 1) as f64 / 2.0);
            let place = (self.right + 16.0, middle + offset);
            write_fitted(canvas, text, place, size, ink(at), self.px - MARGIN - self.right - 16.0);
        }
    }
}

/// Writes the heading of a panel with its baseline at `y`.
pub(super) fn heading(canvas: &mut Canvas, y: f64, text: &str) {
    let text = fitted_name(text, LABEL, Weight::Bold, canvas.width - 2.0 * MARGIN);
    write_bold(canvas, &text, (MARGIN, y), LABEL, INK);
}

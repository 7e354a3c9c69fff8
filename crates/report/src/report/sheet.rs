//! The page of a chart: its width, and the results that the footer names.
//!
//! Texts have the same number of pixels at every width. So a chart with fewer pixels has larger texts in print, and
//! parts are placed below each other on a narrow page.

use super::style::{MARGIN, SMALL, TITLE};
use super::text::{Weight, in_lines};
use crate::results::Provenance;

/// The width of charts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum ChartWidth {
    /// A column of a paper, 85 mm.
    Column,
    /// A page of a report, 170 mm.
    #[default]
    Page,
    /// A slide, as wide as the picture.
    Slide,
}

/// Minimum size of a text in print, in points (1/72 inch).
#[cfg(test)]
pub(super) const LEAST_PT: f64 = 6.0;

impl ChartWidth {
    /// Width in logical pixels.
    const fn px(self) -> f64 {
        match self {
            Self::Column => 480.0,
            Self::Page => 960.0,
            Self::Slide => 720.0,
        }
    }

    /// The name of the width in names of files.
    #[cfg(not(target_family = "wasm"))]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Page => "page",
            Self::Slide => "slide",
        }
    }

    /// Width in print, in mm.
    #[cfg(not(target_family = "wasm"))]
    pub(super) const fn mm(self) -> f64 {
        match self {
            Self::Column => 85.0,
            Self::Page => 170.0,
            Self::Slide => 254.0,
        }
    }
}

/// Returns whether a page of this width, in pixels, is too narrow for two parts next to each other.
pub(super) fn is_narrow(px: f64) -> bool {
    px < 600.0
}

/// The page of a chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sheet<'s> {
    pub(super) provenance: &'s Provenance,
    pub(super) width: ChartWidth,
    /// Whether charts lack title, note and footer, for a page with a caption.
    pub(super) untitled: bool,
}

impl Sheet<'_> {
    /// Width in logical pixels.
    pub(super) const fn px(self) -> f64 {
        self.width.px()
    }

    /// Width without the margins, in logical pixels.
    pub(super) const fn inner(self) -> f64 {
        self.px() - 2.0 * MARGIN
    }

    /// Returns whether the page is too narrow for two parts next to each other.
    pub(super) fn is_narrow(self) -> bool {
        is_narrow(self.px())
    }

    /// Maximum width of a name or detail in a key.
    pub(super) fn key_name(self) -> f64 {
        if self.is_narrow() {
            self.inner() - 82.0
        } else {
            (0.3 * self.px()).min(280.0)
        }
    }

    /// The sizes of texts of secondary importance.
    pub(super) fn small_sizes(self) -> &'static [f64] {
        if self.is_narrow() {
            &[SMALL]
        } else {
            &[SMALL, 11.0, 10.0]
        }
    }

    /// A title in lines, and their font size.
    pub(super) fn title_lines(self, title: &str) -> (f64, Vec<String>) {
        let (size, most) = match self.width {
            ChartWidth::Page => (TITLE, 1),
            ChartWidth::Slide => (TITLE, 2),
            ChartWidth::Column => (17.0, 4),
        };
        (
            size,
            in_lines(title, size, Weight::Bold, self.inner(), most),
        )
    }

    /// Returns whether a title fits completely.
    pub(super) fn has_room_for(self, title: &str) -> bool {
        !self
            .title_lines(title)
            .1
            .last()
            .is_some_and(|line| line.ends_with('…'))
    }
}

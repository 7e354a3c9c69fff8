//! How charts look: colours, line patterns, sizes and the font. One place, so that all charts match.
//!
//! Colours: Okabe, Ito, "Color Universal Design" (2008), told apart with any colour vision; without its yellow, which
//! vanishes on white. Line patterns tell series apart in grey and beyond the palette.

use std::sync::LazyLock;

use ab_glyph::FontRef;

/// A colour as red, green, blue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

/// Titles, names, reference lines.
pub(super) const INK: Colour = Colour(0x1F, 0x29, 0x37);
/// Subtitles, tick labels, numbers beside names.
pub(super) const MUTED: Colour = Colour(0x5B, 0x65, 0x73);
/// Grid lines.
pub(super) const GRID: Colour = Colour(0xE3, 0xE7, 0xEC);
/// Axis lines and ticks.
pub(super) const AXIS: Colour = Colour(0x6B, 0x72, 0x80);
/// The ground.
pub(super) const WHITE: Colour = Colour(0xFF, 0xFF, 0xFF);

/// One colour a variant; after the last it starts again with other patterns.
const SERIES: [Colour; 6] = [
    Colour(0x00, 0x72, 0xB2),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0xB8, 0x5C, 0x97),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x44, 0xA5, 0xDB),
];

/// Lengths of ink and gap in turn; empty for a solid line.
const DASHES: [&[f64]; 6] =
    [&[], &[9.0, 4.0], &[2.5, 3.0], &[12.0, 3.5, 2.5, 3.5], &[5.0, 3.0], &[14.0, 3.0, 2.5, 3.0, 2.5, 3.0]];

/// The colour of the `index`-th variant of an experiment, the same in all its charts.
pub(super) const fn series_colour(index: usize) -> Colour {
    SERIES[index % SERIES.len()]
}

/// The line pattern of the `index`-th variant where curves lie over each other. Colour and pattern repeat together
/// only after 36 variants.
pub(super) const fn series_dash(index: usize) -> &'static [f64] {
    DASHES[(index + index / SERIES.len()) % DASHES.len()]
}

/// States of clusters over time: ready on the new revision, updating, not ready, waiting.
pub(super) const STATES: [(&str, Colour); 4] = [
    ("ready on the new revision", Colour(0x00, 0x72, 0xB2)),
    ("updating", Colour(0xF0, 0xB9, 0x3A)),
    ("not ready and not getting on", Colour(0xC2, 0x3B, 0x0E)),
    ("waiting to be told", Colour(0xDD, 0xE1, 0xE6)),
];

/// Width of a page.
pub(super) const PAGE_WIDTH: f64 = 960.0;
/// White border of a page.
pub(super) const MARGIN: f64 = 24.0;
/// Font sizes: pixels per em.
pub(super) const TITLE: f64 = 21.0;
/// See [`TITLE`].
pub(super) const SUBTITLE: f64 = 13.5;
/// See [`TITLE`].
pub(super) const LABEL: f64 = 13.0;
/// See [`TITLE`].
pub(super) const SMALL: f64 = 12.0;

/// The font's name, with what a viewer of an SVG falls back to.
pub(super) const FAMILY: &str = "Open Sans, Segoe UI, Helvetica Neue, Arial, sans-serif";
/// The font's regular face.
pub(super) static REGULAR: LazyLock<FontRef<'static>> =
    LazyLock::new(|| face(include_bytes!("../../assets/fonts/OpenSans-Regular.ttf")));
/// The font's bold face.
pub(super) static BOLD: LazyLock<FontRef<'static>> =
    LazyLock::new(|| face(include_bytes!("../../assets/fonts/OpenSans-Bold.ttf")));

fn face(bytes: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(bytes).expect("the embedded font is a font")
}

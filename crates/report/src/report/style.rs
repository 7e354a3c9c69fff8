//! The appearance of charts: colours, line patterns, sizes and the font, defined once so that all charts match.
//!
//! Colours: Okabe, Ito, "Color Universal Design" (2008), which are distinct with any colour vision; a dark grey
//! replaces their yellow, which is hard to see on white paper. The hue of a variant is that of its product, and its
//! lightness depends on its setting; lines in charts have patterns only where a product has many variants.

use std::sync::LazyLock;

use ab_glyph::FontRef;

/// A colour as red, green, blue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

impl Colour {
    /// The colour of a number such as `0x1F2937`.
    const fn of(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self(red, green, blue)
    }

    /// The colour in CSS and SVG notation.
    pub(super) fn css(self) -> String {
        let Self(red, green, blue) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Titles, names, reference lines.
pub(super) const INK: Colour = Colour(0x1F, 0x29, 0x37);
/// Subtitles, tick labels, numbers next to names.
pub(super) const MUTED: Colour = Colour(0x5B, 0x65, 0x73);
/// Grid lines.
pub(super) const GRID: Colour = Colour(0xE3, 0xE7, 0xEC);
/// Axis lines and ticks.
pub(super) const AXIS: Colour = Colour(0x6B, 0x72, 0x80);
/// Text on a light shade.
const BLACK: Colour = Colour(0x00, 0x00, 0x00);
/// The background.
pub(super) const WHITE: Colour = Colour(0xFF, 0xFF, 0xFF);

/// More variants of a product than this are not told apart by lightness alone.
const MANY: usize = 7;

/// One hue for each product. Charts that show no variants use the same colours for their series.
const SERIES: [u32; 8] = [
    0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x666666,
];

/// The colours of [`SERIES`] for a dark background.
const SERIES_DARK: [u32; 8] = [
    0x4CA3E0, 0xF28A3C, 0x2FBF92, 0xE093BE, 0xF2C14E, 0x9BD8FA, 0xF3F4F6, 0xA3ABB5,
];

/// Alternating lengths of ink and gap; empty for a solid line. They distinguish worlds on the page, where all worlds
/// share a plot.
const DASHES: [&[f64]; 4] = [&[], &[9.0, 4.0], &[2.5, 3.0], &[12.0, 3.5, 2.5, 3.5]];

/// The prefixes of product names, and the index of their colours in [`SERIES`].
const PRODUCTS: [(&str, usize); 4] = [
    ("Rancher Fleet", 0),
    ("Argo CD", 1),
    ("KubeFleet", 2),
    ("Cloud Foundry", 3),
];
/// The colour of products with other names, and of bounds that no product ships.
const OTHER: usize = 4;
const BOUND: usize = 7;

/// The colours of a product, by the prefix of its name.
fn series_of(product: &str) -> usize {
    for (start, series) in PRODUCTS {
        if product.starts_with(start) {
            return series;
        }
    }
    OTHER
}

/// The style of a variant in all charts and on the page: the colour of its product, darker or lighter by its index
/// among the compared variants of the product. So the same settings of a strategy have the same style in all worlds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct CurveStyle {
    product: usize,
    place: usize,
    /// Number of the product's variants in the group.
    of: usize,
    world: usize,
}

impl CurveStyle {
    /// The styles of all variants in order; groups list indices. Each variant has the name of its product, and whether
    /// it is a bound.
    pub(super) fn of(groups: &[Vec<usize>], products: &[(&str, bool)]) -> Vec<Self> {
        let mut colours: Vec<usize> = Vec::new();
        for &(product, is_bound) in products {
            colours.push(if is_bound { BOUND } else { series_of(product) });
        }
        let mut styles = vec![Self::default(); products.len()];
        for (world, members) in groups.iter().enumerate() {
            // Number of members of the group so far, for each product.
            let mut alike = [0; SERIES.len()];
            for &member in members {
                let product = colours[member];
                styles[member] = Self {
                    product,
                    place: alike[product],
                    of: 0,
                    world,
                };
                alike[product] += 1;
            }
            for &member in members {
                styles[member].of = alike[colours[member]];
            }
        }
        styles
    }

    /// The colour of the style on a light background.
    pub(super) fn colour(self) -> Colour {
        self.shaded(series_colour(self.product), 0.55)
    }

    /// The colour of the style on a dark background.
    pub(super) fn colour_on_dark(self) -> Colour {
        self.shaded(Colour::of(SERIES_DARK[self.product]), 0.3)
    }

    /// The shade of a colour for this style. Shades range from dark for the first variant, mixed with the share
    /// `black` of black, to light for the last one. The variant in the middle, or a single variant, has the colour
    /// itself.
    fn shaded(self, colour: Colour, black: f64) -> Colour {
        let share = if self.of > 1 {
            2.0 * self.place as f64 / (self.of - 1) as f64 - 1.0
        } else {
            0.0
        };
        if share < 0.0 {
            mixed(colour, BLACK, -black * share)
        } else {
            mixed(colour, WHITE, 0.55 * share)
        }
    }

    /// The line pattern in a plot: solid, but for a product with many variants, whose neighbours hardly differ in
    /// lightness.
    pub(super) const fn pattern(self) -> &'static [f64] {
        if self.of > MANY {
            DASHES[self.place % DASHES.len()]
        } else {
            &[]
        }
    }

    /// The line pattern of its world.
    pub(super) const fn dash(self) -> &'static [f64] {
        DASHES[self.world % DASHES.len()]
    }
}

/// The `index`-th series colour.
pub(super) const fn series_colour(index: usize) -> Colour {
    Colour::of(SERIES[index % SERIES.len()])
}

/// States of clusters over time, from the bottom of the stack.
pub(super) const STATES: [(&str, Colour); 4] = [
    ("ready on the new revision", Colour(0x00, 0x72, 0xB2)),
    ("updating", Colour(0xF0, 0xB9, 0x3A)),
    ("not ready, stalled", Colour(0xC2, 0x3B, 0x0E)),
    ("pending", Colour(0xDD, 0xE1, 0xE6)),
];

/// Anchors of [`shade`], evenly spaced in lightness.
const SHADES: [u32; 5] = [0xF1F6FB, 0xB6CFE6, 0x74A3CC, 0x2F76AE, 0x0D4274];

/// The shade for a share, from light for 0 to dark for 1, in one hue and evenly in lightness, so that shades are also
/// distinct in grey.
pub(super) fn shade(share: f64) -> Colour {
    let at = share.clamp(0.0, 1.0) * (SHADES.len() - 1) as f64;
    let below = (at as usize).min(SHADES.len() - 2);
    mixed(
        Colour::of(SHADES[below]),
        Colour::of(SHADES[below + 1]),
        at - below as f64,
    )
}

/// The mix of two colours with this share of `b`.
fn mixed(a: Colour, b: Colour, share: f64) -> Colour {
    let Colour(red_a, green_a, blue_a) = a;
    let Colour(red_b, green_b, blue_b) = b;
    Colour(
        mixed_channel(red_a, red_b, share),
        mixed_channel(green_a, green_b, share),
        mixed_channel(blue_a, blue_b, share),
    )
}

/// One channel of a mixed colour.
fn mixed_channel(a: u8, b: u8, share: f64) -> u8 {
    (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8
}

/// The linear level of a channel of sRGB, 0 to 1.
fn linear(channel: u8) -> f64 {
    let level = f64::from(channel) / 255.0;
    if level <= 0.04045 {
        level / 12.92
    } else {
        libm::pow((level + 0.055) / 1.055, 2.4)
    }
}

/// The colour of text on a shade: black or white, whichever has more contrast.
pub(super) fn on_shade(share: f64) -> Colour {
    let Colour(red, green, blue) = shade(share);
    let luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    // Contrast ratios according to WCAG 2: with white 1.05 / (L + 0.05), with black (L + 0.05) / 0.05.
    if (luminance + 0.05) * (luminance + 0.05) > 1.05 * 0.05 {
        BLACK
    } else {
        WHITE
    }
}

/// States of one cluster in the order of an update, then the states that block it; on light and on dark backgrounds.
pub(super) const CLUSTER_STATES: [(&str, Colour, Colour); 7] = [
    (
        "pending",
        Colour(0xDD, 0xE1, 0xE6),
        Colour(0x2B, 0x33, 0x3D),
    ),
    (
        "instructed",
        Colour(0xE9, 0xC4, 0x5A),
        Colour(0x85, 0x6A, 0x1E),
    ),
    (
        "pulling",
        Colour(0xE6, 0x9F, 0x00),
        Colour(0xE6, 0x9F, 0x00),
    ),
    (
        "starting",
        Colour(0x3F, 0x9B, 0xD6),
        Colour(0x9B, 0xD8, 0xFA),
    ),
    ("ready", Colour(0x00, 0x4E, 0x86), Colour(0x2F, 0x8A, 0xD0)),
    (
        "offline",
        Colour(0x1F, 0x29, 0x37),
        Colour(0xA3, 0xAB, 0xB5),
    ),
    (
        "defective",
        Colour(0xB3, 0x26, 0x1E),
        Colour(0xF0, 0x60, 0x50),
    ),
];

/// White border of a page.
pub(super) const MARGIN: f64 = 24.0;
/// Font size of a title, in pixels per em.
pub(super) const TITLE: f64 = 21.0;
/// Font size of a subtitle, in pixels per em.
pub(super) const SUBTITLE: f64 = 13.5;
/// Font size of a label, in pixels per em.
pub(super) const LABEL: f64 = 13.0;
/// Font size of a small text, in pixels per em.
pub(super) const SMALL: f64 = 12.0;

/// The font's name, with fallbacks for a viewer of an SVG.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear red, green and blue as dichromats see them: Machado, Oliveira, Fernandes, "A Physiologically-based Model
    /// for Simulation of Color Vision Deficiency" (2009), severity 1. First normal vision, then protanopia,
    /// deuteranopia and tritanopia.
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    /// The distance between two colours in L*a*b*.
    fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
        let [light, a, b] = [0, 1, 2].map(|at| one[at] - other[at]);
        libm::hypot(libm::hypot(light, a), b)
    }

    /// CIE L*a*b* (1976, white D65) of a colour with this vision.
    fn seen(Colour(red, green, blue): Colour, vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let linear = [red, green, blue].map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                libm::pow((share + 0.055) / 1.055, 2.4)
            }
        });
        let dot = |row: &[f64; 3], of: [f64; 3]| row[0] * of[0] + row[1] * of[1] + row[2] * of[2];
        let rgb = [0, 1, 2].map(|at| dot(&vision[at], linear).clamp(0.0, 1.0));
        let f = |t: f64| {
            if t > 0.008_856 {
                libm::cbrt(t)
            } else {
                7.787 * t + 16.0 / 116.0
            }
        };
        let x = f(dot(&[0.4124, 0.3576, 0.1805], rgb) / 0.950_47);
        let y = f(dot(&[0.2126, 0.7152, 0.0722], rgb));
        let z = f(dot(&[0.0193, 0.1192, 0.9505], rgb) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_of_eight_variants_differ_from_each_other_and_from_paper_with_any_colour_vision() {
        for vision in &VISIONS {
            let mut colours: Vec<Colour> = (0..8).map(series_colour).collect();
            colours.push(WHITE);
            for (at, &a) in colours.iter().enumerate() {
                for &b in &colours[..at] {
                    let apart = distance(seen(a, vision), seen(b, vision));
                    assert!(apart > 15.0, "{a:?} and {b:?} are {apart:.1} apart");
                }
            }
        }
    }

    #[test]
    fn shades_get_darker_in_even_steps_with_any_colour_vision() {
        for vision in &VISIONS {
            let lightness: Vec<f64> = (0..=8)
                .map(|at| seen(shade(f64::from(at) / 8.0), vision)[0])
                .collect();
            let step = (lightness[0] - lightness[8]) / 8.0;
            for pair in lightness.windows(2) {
                let drop = pair[0] - pair[1];
                assert!(
                    drop > 0.7 * step && drop < 1.4 * step,
                    "{drop:.1}, evenly it were {step:.1}: {lightness:?}"
                );
            }
        }
        assert_eq!(
            (shade(-1.0), shade(2.0)),
            (shade(0.0), shade(1.0)),
            "outside goes to the ends"
        );
    }

    #[test]
    fn the_states_of_a_cluster_differ_with_any_colour_vision_and_neighbours_in_grey() {
        let lightness = |colour: Colour| seen(colour, &VISIONS[0])[0];
        for on_dark in [false, true] {
            let colours = CLUSTER_STATES.map(|(_, light, dark)| if on_dark { dark } else { light });
            for pair in colours[..5].windows(2) {
                let apart = (lightness(pair[0]) - lightness(pair[1])).abs();
                assert!(apart > 5.0, "{pair:?}, on dark: {on_dark}: {apart:.1}");
            }
            for vision in &VISIONS {
                for (at, &a) in colours.iter().enumerate() {
                    for &b in &colours[..at] {
                        let apart = distance(seen(a, vision), seen(b, vision));
                        assert!(
                            apart > 12.0,
                            "{a:?} and {b:?}, on dark: {on_dark}: {apart:.1}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn fourteen_variants_of_a_product_differ_in_their_pattern_or_clearly_in_their_colour() {
        let styles = CurveStyle::of(&[(0..14).collect()], &[("Argo CD", false); 14]);
        for (at, a) in styles.iter().enumerate() {
            for b in &styles[..at] {
                let apart = distance(seen(a.colour(), &VISIONS[0]), seen(b.colour(), &VISIONS[0]));
                assert!(a.pattern() != b.pattern() || apart > 10.0, "{apart:.1}");
            }
        }
        let seven = CurveStyle::of(&[(0..7).collect()], &[("Argo CD", false); 7]);
        assert!(seven.iter().all(|style| style.pattern().is_empty()));
    }

    #[test]
    fn colour_shows_the_product_and_lightness_the_setting_in_each_world() {
        let products = [
            ("Rancher Fleet", false),
            ("Rancher Fleet", false),
            ("KubeFleet, staged", false),
            ("", true),
        ];
        let styles = CurveStyle::of(&[(0..4).collect()], &products);
        let lightness = |style: &CurveStyle| seen(style.colour(), &VISIONS[0])[0];
        assert!(
            lightness(&styles[1]) - lightness(&styles[0]) > 25.0,
            "the first of two is darker"
        );
        assert_eq!(
            [styles[2].colour(), styles[3].colour()],
            [series_colour(2), series_colour(BOUND)]
        );
        let fleet = ("Rancher Fleet", false);
        let six = CurveStyle::of(&[(0..6).collect()], &[fleet; 6]);
        assert!(
            six.windows(2)
                .all(|pair| lightness(&pair[1]) - lightness(&pair[0]) > 4.5),
            "each step can be seen"
        );
        assert!(
            six.iter().all(|style| lightness(style) < 82.0),
            "and the last differs from paper"
        );
        let worlds = CurveStyle::of(&[vec![0, 2], vec![1, 3]], &[fleet; 4]);
        assert_eq!(
            worlds[0].colour(),
            worlds[1].colour(),
            "the same strategy in two worlds"
        );
        assert_ne!(worlds[0].dash(), worlds[1].dash());
        assert_ne!(worlds[0].colour(), worlds[2].colour());
    }
}

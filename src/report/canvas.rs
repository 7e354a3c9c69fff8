//! A chart as a list of shapes, and the two ways to write it: SVG, and PNG at twice its size.
//!
//! Charts place shapes at logical pixels. Both formats get the same shapes; the PNG's are drawn by tiny-skia, its text
//! as the outlines of the font's letters. Left out: SIMD, whose approximations may differ between processors. Tests
//! check the list of shapes for overlapping texts.

use std::fmt::Write;

use ab_glyph::{Font, OutlineCurve};
use itertools::Itertools;
use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform};

use super::style::{Colour, FAMILY};
use super::text::{Weight, em_of, escaped, face, lay_out};

/// Pixels of a PNG in a logical pixel.
pub(super) const PNG_PER_PX: u32 = 2;

/// A place in logical pixels from the upper left corner.
pub(super) type Position = (f64, f64);

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// Style of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub(super) colour: Colour,
    pub(super) width: f64,
    pub(super) dash: &'static [f64],
}

/// A text with its look; its place is on the baseline.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) at: Position,
    pub(super) size: f64,
    pub(super) weight: Weight,
    pub(super) colour: Colour,
    pub(super) align: Align,
}

#[derive(Clone, Debug)]
enum Shape {
    Path(Vec<Position>, Stroke),
    Area(Vec<Position>, Colour, f64),
    Dot(Position, f64, Colour, f64),
    Text(Label),
}

/// A chart as a list of shapes, later ones over earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    /// How far below its place a shape is drawn: by what the head of the page is higher than usual.
    pub(super) down: f64,
    title: String,
    shapes: Vec<Shape>,
}

impl Stroke {
    /// A solid line.
    pub(super) const fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: &[] }
    }
}

impl Canvas {
    /// A white page. `title` is the SVG's text for screen readers.
    pub(super) fn new(title: &str, width: f64, height: f64) -> Self {
        Self { width, height, down: 0.0, title: title.to_owned(), shapes: Vec::new() }
    }

    /// Draws a line through `points`, if there are at least two.
    pub(super) fn path(&mut self, points: Vec<Position>, stroke: Stroke) {
        if points.len() < 2 {
            return;
        }
        let points = self.placed(points);
        self.shapes.push(Shape::Path(points, stroke));
    }

    /// Draws a straight line.
    pub(super) fn line(&mut self, from: Position, to: Position, stroke: Stroke) {
        self.path(vec![from, to], stroke);
    }

    /// Fills a polygon; `opacity` is between 0 and 1.
    pub(super) fn area(&mut self, points: Vec<Position>, colour: Colour, opacity: f64) {
        if points.len() >= 3 {
            let points = self.placed(points);
            self.shapes.push(Shape::Area(points, colour, opacity));
        }
    }

    fn placed(&self, mut points: Vec<Position>) -> Vec<Position> {
        points.iter_mut().for_each(|(_, y)| *y += self.down);
        points
    }

    /// Fills the area between two lines that both run to the right.
    pub(super) fn between(&mut self, upper: Vec<Position>, lower: Vec<Position>, colour: Colour, opacity: f64) {
        self.area(upper.into_iter().chain(lower.into_iter().rev()).collect(), colour, opacity);
    }

    /// Fills a rectangle between two corners.
    pub(super) fn rectangle(&mut self, (x0, y0): Position, (x1, y1): Position, colour: Colour, opacity: f64) {
        self.area(vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1)], colour, opacity);
    }

    /// Fills a circle.
    pub(super) fn dot(&mut self, center: Position, radius: f64, colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Dot((center.0, center.1 + self.down), radius, colour, opacity));
    }

    /// Writes a text.
    pub(super) fn text(&mut self, mut label: Label) {
        if !label.text.is_empty() {
            label.at.1 += self.down;
            self.shapes.push(Shape::Text(label));
        }
    }

    /// The chart as SVG.
    pub(super) fn to_svg(&self) -> String {
        let [width, height] = self.pixels(1);
        let mut svg = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"{FAMILY}\" stroke-linejoin=\"round\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            escaped(&self.title)
        );
        for shape in &self.shapes {
            let written = match shape {
                Shape::Path(points, Stroke { colour, width, dash }) => {
                    let (points, dash) = (in_svg(points), dash.iter().join(" "));
                    let dash = if dash.is_empty() { dash } else { format!(" stroke-dasharray=\"{dash}\"") };
                    let stroke = format!("stroke=\"{}\" stroke-width=\"{width}\"{dash}", colour.css());
                    writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" {stroke}/>")
                }
                Shape::Area(points, colour, opacity) => {
                    writeln!(svg, "<polygon points=\"{}\" {}/>", in_svg(points), fill(*colour, *opacity))
                }
                Shape::Dot(middle, radius, colour, opacity) => {
                    let [x, y] = rounded(middle);
                    writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {}/>", fill(*colour, *opacity))
                }
                Shape::Text(Label { text, at, size, weight, colour, align }) => {
                    let [x, y] = rounded(at);
                    let (anchor, weight) = (align.anchor(), weight.css());
                    let look = format!("font-size=\"{size}\"{anchor}{weight} {}", fill(*colour, 1.0));
                    writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {look}>{}</text>", escaped(text))
                }
            };
            written.expect("memory takes every byte");
        }
        svg + "</svg>\n"
    }

    /// The chart as PNG, [`PNG_PER_PX`] pixels for each of its own.
    pub(super) fn to_png(&self) -> Vec<u8> {
        let [width, height] = self.pixels(PNG_PER_PX);
        let mut pixels = Pixmap::new(width, height).expect("a page has a size");
        pixels.fill(Color::WHITE);
        for shape in &self.shapes {
            draw(&mut pixels, shape);
        }
        let colours: Vec<u8> =
            pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        // A tenth of the default's time for files of 1.7 times the size.
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Adaptive);
        let mut image = encoder.write_header().expect("memory takes every byte");
        image.write_image_data(&colours).expect("as many bytes as the size says");
        image.finish().expect("memory takes every byte");
        bytes
    }

    /// Width and height at `scale` pixels for a logical one.
    fn pixels(&self, scale: u32) -> [u32; 2] {
        [self.width, self.height].map(|length| length.round() as u32 * scale)
    }
}

impl Align {
    const fn anchor(self) -> &'static str {
        match self {
            Self::Left => "",
            Self::Middle => " text-anchor=\"middle\"",
            Self::Right => " text-anchor=\"end\"",
        }
    }
}

/// In hundredths of a pixel.
fn rounded(&(x, y): &Position) -> [f64; 2] {
    [x, y].map(|at| (at * 100.0).round() / 100.0)
}

fn in_svg(points: &[Position]) -> String {
    points.iter().map(rounded).map(|[x, y]| format!("{x},{y}")).join(" ")
}

fn fill(colour: Colour, opacity: f64) -> String {
    let opacity = if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
    format!("fill=\"{}\"{opacity}", colour.css())
}

/// Draws a shape at the size of the PNG.
fn draw(pixels: &mut Pixmap, shape: &Shape) {
    let scale = Transform::from_scale(PNG_PER_PX as f32, PNG_PER_PX as f32);
    let paint = |Colour(red, green, blue): Colour, opacity: f64| {
        let mut paint = Paint::default();
        paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
        paint
    };
    match shape {
        Shape::Path(points, Stroke { colour, width, dash }) => {
            let dash = StrokeDash::new(dash.iter().map(|length| *length as f32).collect(), 0.0);
            let line_join = LineJoin::Round;
            let stroke = tiny_skia::Stroke { width: *width as f32, line_join, dash, ..tiny_skia::Stroke::default() };
            if let Some(path) = outline(points) {
                pixels.stroke_path(&path, &paint(*colour, 1.0), &stroke, scale, None);
            }
        }
        Shape::Area(points, colour, opacity) => {
            // Smoothed edges of rectangles side by side would let the ground through.
            let is_straight = |(a, b): (&Position, &Position)| (a.0 - b.0).abs() < 1e-9 || (a.1 - b.1).abs() < 1e-9;
            let anti_alias = !points.iter().circular_tuple_windows().all(is_straight);
            if let Some(path) = outline(points) {
                let paint = Paint { anti_alias, ..paint(*colour, *opacity) };
                pixels.fill_path(&path, &paint, FillRule::Winding, scale, None);
            }
        }
        Shape::Dot((x, y), radius, colour, opacity) => {
            if let Some(path) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                pixels.fill_path(&path, &paint(*colour, *opacity), FillRule::Winding, scale, None);
            }
        }
        Shape::Text(label) => {
            if let Some(path) = letters(label) {
                pixels.fill_path(&path, &paint(label.colour, 1.0), FillRule::Winding, scale, None);
            }
        }
    }
}

/// The lines from point to point. `None` where these have no extent.
fn outline(points: &[Position]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if at == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.finish()
}

/// The outlines of a text's letters. `None` where all are spaces.
fn letters(label: &Label) -> Option<Path> {
    let (glyphs, width) = lay_out(&label.text, label.size, label.weight);
    let scale = label.size / em_of(label.weight);
    let left = label.at.0
        - match label.align {
            Align::Left => 0.0,
            Align::Middle => width / 2.0,
            Align::Right => width,
        };
    let mut path = PathBuilder::new();
    for (glyph, at) in glyphs {
        let to = |point: ab_glyph::Point| {
            let (x, y) = (f64::from(point.x) * scale, f64::from(point.y) * scale);
            ((left + at + x) as f32, (label.at.1 - y) as f32)
        };
        let mut end = None;
        for curve in face(label.weight).outline(glyph).into_iter().flat_map(|outline| outline.curves) {
            let (OutlineCurve::Line(from, last)
            | OutlineCurve::Quad(from, _, last)
            | OutlineCurve::Cubic(from, _, _, last)) = curve;
            if end != Some(from) {
                path.move_to(to(from).0, to(from).1);
            }
            end = Some(last);
            let (x, y) = to(last);
            match curve {
                OutlineCurve::Line(..) => path.line_to(x, y),
                OutlineCurve::Quad(_, a, _) => path.quad_to(to(a).0, to(a).1, x, y),
                OutlineCurve::Cubic(_, a, b, _) => path.cubic_to(to(a).0, to(a).1, to(b).0, to(b).1, x, y),
            }
        }
    }
    path.finish()
}

#[cfg(test)]
impl Canvas {
    /// Left, top, right and bottom of every text, with the text.
    pub(super) fn text_boxes(&self) -> Vec<([f64; 4], String)> {
        let mut boxes = Vec::new();
        for shape in &self.shapes {
            if let Shape::Text(label) = shape {
                let width = crate::report::text::text_width(&label.text, label.size, label.weight);
                let left = match label.align {
                    Align::Left => label.at.0,
                    Align::Middle => label.at.0 - width / 2.0,
                    Align::Right => label.at.0 - width,
                };
                // Height of capitals and depth of descenders of the font, in em.
                let (top, bottom) = (label.at.1 - 0.72 * label.size, label.at.1 + 0.22 * label.size);
                boxes.push(([left, top, left + width, bottom], label.text.clone()));
            }
        }
        boxes
    }

    /// Middle and radius of the dots in a colour, as drawn in turn.
    pub(super) fn dots_of(&self, colour: Colour) -> Vec<(Position, f64)> {
        let dot = |shape: &Shape| match shape {
            Shape::Dot(middle, radius, of, _) if *of == colour => Some((*middle, *radius)),
            _ => None,
        };
        self.shapes.iter().filter_map(dot).collect()
    }

    /// The size of the smallest text, in logical pixels.
    pub(super) fn smallest_text(&self) -> f64 {
        let size = |shape: &Shape| if let Shape::Text(label) = shape { label.size } else { f64::INFINITY };
        self.shapes.iter().map(size).fold(f64::INFINITY, f64::min)
    }

    /// Asserts that no text leaves the page or touches another, and that nothing else leaves the page.
    pub(super) fn assert_readable(&self) {
        for shape in &self.shapes {
            let (points, reach) = match shape {
                Shape::Path(points, _) | Shape::Area(points, ..) => (points.as_slice(), 0.0),
                Shape::Dot(middle, radius, ..) => (std::slice::from_ref(middle), *radius),
                Shape::Text(_) => continue,
            };
            let inside =
                |&(x, y): &Position| x >= reach && y >= reach && x <= self.width - reach && y <= self.height - reach;
            assert!(points.iter().all(inside), "{}: {shape:?} leaves the page", self.title);
        }
        let boxes = self.text_boxes();
        for (at, (a, text)) in boxes.iter().enumerate() {
            let inside = a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= self.width && a[3] <= self.height;
            assert!(inside, "{}: `{text}` leaves the page: {a:?}", self.title);
            for (b, other) in &boxes[..at] {
                let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                assert!(apart, "{}: `{text}` {a:?} touches `{other}` {b:?}", self.title);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::INK;

    fn label(text: &str, align: Align) -> Label {
        Label { text: text.to_owned(), at: (50.0, 30.0), size: 20.0, weight: Weight::Regular, colour: INK, align }
    }

    #[test]
    fn both_formats_show_the_page_at_their_size() {
        let mut canvas = Canvas::new("a < b", 100.0, 60.0);
        canvas.text(label("x", Align::Left));
        let svg = canvas.to_svg();
        assert!(svg.starts_with("<svg width=\"100\" height=\"60\" viewBox=\"0 0 100 60\""), "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        let bytes = canvas.to_png();
        // PNG: signature (8), length and name of the header (8), width, height.
        assert_eq!(&bytes[16..24], [0, 0, 0, 200, 0, 0, 0, 120]);
    }

    #[test]
    fn the_readability_check_sees_overlaps_and_clipped_texts() {
        let check = |labels: &[Label]| {
            let mut canvas = Canvas::new("t", 100.0, 60.0);
            labels.iter().for_each(|label| canvas.text(label.clone()));
            std::panic::catch_unwind(move || canvas.assert_readable()).is_ok()
        };
        assert!(check(&[label("ab", Align::Left), label("cd", Align::Right)]), "side by side");
        assert!(!check(&[label("ab", Align::Left), label("cd", Align::Middle)]), "overlapping");
        assert!(!check(&[label("much too wide", Align::Left)]), "clipped");
    }
}

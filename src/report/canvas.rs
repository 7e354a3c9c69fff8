//! A chart as a list of shapes, and the two ways to write it: SVG, and PNG at twice its size.
//!
//! Charts place shapes at logical pixels. Both writers get the same shapes on the same fine grid of [`GRID_PER_PX`],
//! as the drawing library only has whole pixels: the SVG scales it down by its view box, the PNG by averaging, which
//! also smooths edges. plotters draws everything except the PNG's text and joins: its text drops the space at the left
//! of each letter, and its wide lines have spikes at sharp turns. Tests check the list of shapes for overlapping
//! texts.

use ab_glyph::{Font, point};
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle};

use super::style::{Colour, FAMILY, WHITE};
use super::text::{Weight, face, lay_out, px_scale};

/// Grid steps in a logical pixel.
const GRID_PER_PX: f64 = 4.0;
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
    /// The distance below its place at which a shape is drawn: the height of the page's head above the usual.
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
        if stroke.dash.is_empty() {
            self.shapes.push(Shape::Path(points, stroke));
        } else {
            for piece in dashes(&points, stroke.dash) {
                self.shapes.push(Shape::Path(piece, stroke));
            }
        }
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
        let grid = self.pixels(GRID_PER_PX);
        let mut text = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut text, grid);
            self.draw(&mut backend, &ImageFormat::Svg);
            in_memory(backend.present());
        }
        let (width, height) = self.pixels(1.0);
        let body = text.split_once('>').map_or("", |(_, body)| body);
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" role=\"img\" \
             stroke-linejoin=\"round\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>{title}</title>{body}",
            grid.0, grid.1
        )
    }

    /// The chart as PNG, [`PNG_PER_PX`] pixels for each of its own. `memory` is drawn in, and may serve many charts:
    /// fresh memory for each would cost as much as the drawing.
    pub(super) fn to_png(&self, memory: &mut Vec<u8>) -> Vec<u8> {
        let (fine_width, fine_height) = self.pixels(GRID_PER_PX);
        let size = fine_width as usize * fine_height as usize * 3;
        memory.resize(memory.len().max(size), 0);
        let fine = &mut memory[..size];
        {
            let mut backend = BitMapBackend::with_buffer(fine, (fine_width, fine_height));
            self.draw(&mut backend, &ImageFormat::Bitmap);
            in_memory(backend.present());
        }
        let size = self.pixels(f64::from(PNG_PER_PX));
        let pixels = halved(fine, fine_width as usize, size);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
        encoder.set_color(png::ColorType::Rgb);
        // A tenth of the default's time for files of 1.7 times the size.
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Adaptive);
        let mut image = encoder.write_header().expect("memory takes every byte");
        image.write_image_data(&pixels).expect("as many bytes as the size says");
        image.finish().expect("memory takes every byte");
        bytes
    }

    /// Size at `scale` pixels for a logical one.
    fn pixels(&self, scale: f64) -> (u32, u32) {
        ((self.width * scale).round() as u32, (self.height * scale).round() as u32)
    }

    fn draw<B: DrawingBackend>(&self, backend: &mut B, format: &ImageFormat) {
        let (width, height) = self.pixels(GRID_PER_PX);
        in_memory(backend.draw_rect((0, 0), (width as i32, height as i32), &fill(WHITE, 1.0), true));
        for shape in &self.shapes {
            match shape {
                Shape::Path(points, stroke) => draw_path(backend, &on_grid(points), *stroke, format),
                Shape::Area(points, colour, opacity) => {
                    in_memory(backend.fill_polygon(on_grid(points), &rgba(*colour, *opacity)));
                }
                Shape::Dot(center, radius, colour, opacity) => {
                    let radius = (radius * GRID_PER_PX).round() as u32;
                    in_memory(backend.draw_circle(grid_point(center), radius, &fill(*colour, *opacity), true));
                }
                Shape::Text(label) => match format {
                    ImageFormat::Svg => draw_svg_text(backend, label),
                    ImageFormat::Bitmap => draw_bitmap_text(backend, label),
                },
            }
        }
    }
}

/// Both backends draw in memory, where nothing fails.
fn in_memory<E: std::error::Error>(drawn: Result<(), E>) {
    drawn.expect("memory takes every shape");
}

/// The two image formats, which draw some shapes differently.
enum ImageFormat {
    Svg,
    Bitmap,
}

fn draw_path<B: DrawingBackend>(backend: &mut B, points: &[(i32, i32)], stroke: Stroke, format: &ImageFormat) {
    let width = (stroke.width * GRID_PER_PX).round().max(1.0) as u32;
    let style = rgba(stroke.colour, 1.0).stroke_width(width);
    match format {
        ImageFormat::Svg => in_memory(backend.draw_path(points.iter().copied(), &style)),
        ImageFormat::Bitmap => {
            // Piece by piece with round joins: a pixel line's joins would reach far beyond sharp turns.
            for pair in points.windows(2) {
                in_memory(backend.draw_path(pair.iter().copied(), &style));
            }
            let join = fill(stroke.colour, 1.0);
            for &point in points.iter().skip(1).take(points.len().saturating_sub(2)) {
                in_memory(backend.draw_circle(point, width / 2, &join, true));
            }
        }
    }
}

/// plotters 0.3.7 writes a size as size / 1.24 em, and a top anchor as a baseline 0.76 em lower.
fn draw_svg_text<B: DrawingBackend>(backend: &mut B, label: &Label) {
    let em = label.size * GRID_PER_PX;
    let (x, baseline) = grid_point(&label.at);
    let anchor = match label.align {
        Align::Left => HPos::Left,
        Align::Middle => HPos::Center,
        Align::Right => HPos::Right,
    };
    let weight = match label.weight {
        Weight::Regular => FontStyle::Normal,
        Weight::Bold => FontStyle::Bold,
    };
    let colour = rgba(label.colour, 1.0);
    let font = FontDesc::new(FontFamily::Name(FAMILY), em * 1.24, weight);
    let style = TextStyle::from(font).color(&colour).pos(Pos::new(anchor, VPos::Top));
    let place = (x, baseline - (0.76 * em).round() as i32);
    in_memory(backend.draw_text(&label.text, &style, place));
}

fn draw_bitmap_text<B: DrawingBackend>(backend: &mut B, label: &Label) {
    let em = label.size * GRID_PER_PX;
    let (glyphs, width) = lay_out(&label.text, em, label.weight);
    let left = label.at.0 * GRID_PER_PX
        - match label.align {
            Align::Left => 0.0,
            Align::Middle => width / 2.0,
            Align::Right => width,
        };
    let baseline = label.at.1 * GRID_PER_PX;
    for (glyph, at) in glyphs {
        let place = point((left + at) as f32, baseline as f32);
        let placed = glyph.with_scale_and_position(px_scale(em, label.weight), place);
        let Some(outline) = face(label.weight).outline_glyph(placed) else { continue };
        let corner = outline.px_bounds().min;
        let mut inked = Vec::new();
        outline.draw(|x, y, ink| inked.push((x as i32 + corner.x as i32, y as i32 + corner.y as i32, ink)));
        for (x, y, ink) in inked {
            let color = rgba(label.colour, f64::from(ink.clamp(0.0, 1.0))).to_backend_color();
            in_memory(backend.draw_pixel((x, y), color));
        }
    }
}

fn rgba(Colour(red, green, blue): Colour, opacity: f64) -> RGBAColor {
    RGBAColor(red, green, blue, opacity)
}

fn fill(colour: Colour, opacity: f64) -> ShapeStyle {
    rgba(colour, opacity).filled().stroke_width(0)
}

fn grid_point(&(x, y): &Position) -> (i32, i32) {
    ((x * GRID_PER_PX).round() as i32, (y * GRID_PER_PX).round() as i32)
}

/// The points on the grid, without repetitions: the library's wide lines break at segments of no length. Points on the
/// way along a level or upright line are left out.
fn on_grid(points: &[Position]) -> Vec<(i32, i32)> {
    let mut grid: Vec<(i32, i32)> = Vec::new();
    for point in points.iter().map(grid_point) {
        let is_between = |from: (i32, i32), via: (i32, i32)| {
            let [before, after] = [(via.0 - from.0, via.1 - from.1), (point.0 - via.0, point.1 - via.1)];
            let goes_on = |one: i32, next: i32| one.signum() == next.signum();
            (before.0 == 0 && after.0 == 0 && goes_on(before.1, after.1))
                || (before.1 == 0 && after.1 == 0 && goes_on(before.0, after.0))
        };
        match *grid {
            [.., last] if last == point => continue,
            [.., from, via] if is_between(from, via) => grid.pop(),
            _ => None,
        };
        grid.push(point);
    }
    if grid.len() == 1 {
        grid.push((grid[0].0 + 1, grid[0].1));
    }
    grid
}

/// Averages squares of 2 x 2 pixels of three bytes. Most of a chart is paper or one colour, which needs no sums.
fn halved(fine: &[u8], fine_width: usize, (width, height): (u32, u32)) -> Vec<u8> {
    /// Bytes of sixteen squares in a row.
    const BLOCK: usize = 96;
    let (width, height) = (width as usize, height as usize);
    debug_assert_eq!(fine_width, 2 * width, "pages are whole pixels wide");
    let mut pixels = vec![0; width * height * 3];
    let rows = fine.chunks_exact(fine_width * 3);
    for (row, (upper, lower)) in
        pixels.chunks_exact_mut(width * 3).zip(rows.clone().step_by(2).zip(rows.skip(1).step_by(2)))
    {
        for (block, (upper, lower)) in row.chunks_mut(BLOCK / 2).zip(upper.chunks(BLOCK).zip(lower.chunks(BLOCK))) {
            if upper == lower && upper[3..] == upper[..upper.len() - 3] {
                block.copy_from_slice(&upper[..block.len()]);
                continue;
            }
            let squares = upper.chunks_exact(6).zip(lower.chunks_exact(6));
            for (pixel, (upper, lower)) in block.chunks_exact_mut(3).zip(squares) {
                let sum =
                    |at: usize| [upper[at], upper[at + 3], lower[at], lower[at + 3]].map(u16::from).iter().sum::<u16>();
                for (channel, value) in pixel.iter_mut().enumerate() {
                    *value = ((sum(channel) + 2) / 4) as u8;
                }
            }
        }
    }
    pixels
}

/// Cuts a line into the inked pieces of a dash pattern.
fn dashes(points: &[Position], pattern: &[f64]) -> Vec<Vec<Position>> {
    let mut pieces = Vec::new();
    let mut piece = vec![points[0]];
    let (mut part, mut left) = (0, pattern[0]);
    for pair in points.windows(2) {
        let ((mut x, mut y), (to_x, to_y)) = (pair[0], pair[1]);
        let mut length = libm::hypot(to_x - x, to_y - y);
        while length > left {
            (x, y) = (x + (to_x - x) * left / length, y + (to_y - y) * left / length);
            length -= left;
            if part % 2 == 0 {
                piece.push((x, y));
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![(x, y)];
            }
            part = (part + 1) % pattern.len();
            left = pattern[part];
        }
        left -= length;
        if part % 2 == 0 {
            piece.push((to_x, to_y));
        }
    }
    if piece.len() >= 2 {
        pieces.push(piece);
    }
    pieces
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
    fn a_dash_pattern_inks_its_share_of_a_bent_line() {
        let pieces = dashes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)], &[4.0, 2.0]);
        let length = |piece: &Vec<Position>| {
            piece.windows(2).map(|p| libm::hypot(p[1].0 - p[0].0, p[1].1 - p[0].1)).sum::<f64>()
        };
        // 20 px: 4 on, 2 off, 4 on (to 10), 2 off, 4 on (12..16), 2 off, 2 on (18..20).
        let lengths: Vec<f64> = pieces.iter().map(|piece| length(piece).round()).collect();
        assert_eq!(format!("{lengths:?}"), "[4.0, 4.0, 4.0, 2.0]");
    }

    #[test]
    fn points_on_the_way_of_a_straight_line_are_left_out() {
        let level = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (2.0, 3.0), (3.0, 4.0), (4.0, 5.0)];
        assert_eq!(on_grid(&level), [(0, 0), (8, 0), (8, 12), (12, 16), (16, 20)]);
        let back = [(0.0, 0.0), (3.0, 0.0), (1.0, 0.0)];
        assert_eq!(on_grid(&back), [(0, 0), (12, 0), (4, 0)], "a line that turns back");
        assert_eq!(on_grid(&[(1.0, 1.0), (1.0, 1.0)]), [(4, 4), (5, 4)]);
    }

    #[test]
    fn pixels_are_the_means_of_their_squares() {
        let size = (40, 2);
        let mut fine = [[255; 3].repeat(80 * 2), [10, 20, 30].repeat(80 * 2)].concat();
        for at in [0, 3 * 79, 3 * 80 * 3 + 100] {
            fine[at] = 1;
        }
        let pixel = |row: usize, column: usize, channel: usize| {
            let at = |y: usize, x: usize| u32::from(fine[((2 * row + y) * 80 + 2 * column + x) * 3 + channel]);
            ((at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1) + 2) / 4) as u8
        };
        let wanted: Vec<u8> = (0..40 * 2 * 3).map(|at| pixel(at / 120, at % 120 / 3, at % 3)).collect();
        assert_eq!(halved(&fine, 80, size), wanted);
        assert!(wanted.iter().filter(|value| ![255, 10, 20, 30].contains(*value)).count() == 3, "three squares differ");
    }

    #[test]
    fn both_formats_show_the_page_at_their_size() {
        let mut canvas = Canvas::new("a < b", 100.0, 60.0);
        canvas.text(label("x", Align::Left));
        let svg = canvas.to_svg();
        assert!(svg.starts_with("<svg width=\"100\" height=\"60\" viewBox=\"0 0 400 240\""), "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        let mut memory = Vec::new();
        let bytes = canvas.to_png(&mut memory);
        assert_eq!(canvas.to_png(&mut memory), bytes, "what the memory held before does not show");
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

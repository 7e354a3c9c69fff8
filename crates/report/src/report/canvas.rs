//! A chart as a list of shapes, which [`svg`](super::svg) and [`raster`](super::raster) write to files.
//!
//! Charts place shapes at logical pixels. Both writers draw them on the same fine grid of [`GRID_PER_PX`] steps. Tests
//! check the list of shapes for overlapping texts.

use super::style::Colour;
use super::text::Weight;

/// Grid steps per logical pixel.
pub(super) const GRID_PER_PX: f64 = 4.0;

/// A position in logical pixels from the upper left corner.
pub(super) type Position = (f64, f64);

/// The part of a text that is at its position: the left end, the middle or the right end.
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

/// A text with its style; its position is on the baseline.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) at: Position,
    pub(super) size: f64,
    pub(super) weight: Weight,
    pub(super) colour: Colour,
    pub(super) align: Align,
}

impl Label {
    /// The left end of the text, which is `length` long.
    pub(super) fn start(&self, length: f64) -> f64 {
        let (anchor, _) = self.at;
        match self.align {
            Align::Left => anchor,
            Align::Middle => anchor - length / 2.0,
            Align::Right => anchor - length,
        }
    }
}

/// A shape with its style; later ones cover earlier ones.
#[derive(Clone, Debug)]
pub(super) enum Shape {
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
    /// Offset by which all shapes are moved down, to make room for a page head with more lines than usual.
    pub(super) down: f64,
    pub(super) title: String,
    pub(super) shapes: Vec<Shape>,
}

impl Stroke {
    /// A solid line.
    pub(super) const fn solid(colour: Colour, width: f64) -> Self {
        Self {
            colour,
            width,
            dash: &[],
        }
    }
}

impl Canvas {
    /// A white page. `title` is the SVG's text for screen readers.
    pub(super) fn new(title: &str, width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            down: 0.0,
            title: title.to_owned(),
            shapes: Vec::new(),
        }
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

    /// The points, moved below the page's head.
    fn placed(&self, mut points: Vec<Position>) -> Vec<Position> {
        for (_, y) in &mut points {
            *y += self.down;
        }
        points
    }

    /// Fills the area between two lines that both run from left to right.
    pub(super) fn between(
        &mut self,
        upper: Vec<Position>,
        lower: Vec<Position>,
        colour: Colour,
        opacity: f64,
    ) {
        let mut outline = upper;
        outline.extend(lower.into_iter().rev());
        self.area(outline, colour, opacity);
    }

    /// Fills a rectangle between two corners.
    pub(super) fn rectangle(
        &mut self,
        (x0, y0): Position,
        (x1, y1): Position,
        colour: Colour,
        opacity: f64,
    ) {
        self.area(
            vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1)],
            colour,
            opacity,
        );
    }

    /// Fills a circle.
    pub(super) fn dot(&mut self, center: Position, radius: f64, colour: Colour, opacity: f64) {
        let (x, y) = center;
        let center = (x, y + self.down);
        self.shapes
            .push(Shape::Dot(center, radius, colour, opacity));
    }

    /// Writes a text.
    pub(super) fn text(&mut self, mut label: Label) {
        if !label.text.is_empty() {
            let (x, y) = label.at;
            label.at = (x, y + self.down);
            self.shapes.push(Shape::Text(label));
        }
    }

    /// Size in device pixels, with `scale` of them per logical pixel.
    pub(super) fn pixels(&self, scale: f64) -> (u32, u32) {
        (
            (self.width * scale).round() as u32,
            (self.height * scale).round() as u32,
        )
    }
}

/// The nearest grid point to a position.
pub(super) fn grid_point(&(x, y): &Position) -> (i32, i32) {
    (
        (x * GRID_PER_PX).round() as i32,
        (y * GRID_PER_PX).round() as i32,
    )
}

/// The points on the grid, without repetitions. Inner points of a level or upright line are left out.
pub(super) fn on_grid(points: &[Position]) -> Vec<(i32, i32)> {
    let mut grid: Vec<(i32, i32)> = Vec::new();
    for point in points.iter().map(grid_point) {
        match *grid {
            [.., last] if last == point => continue,
            [.., from, via] if is_on_the_way(from, via, point) => grid.pop(),
            _ => None,
        };
        grid.push(point);
    }
    if let [(x, y)] = grid[..] {
        grid.push((x + 1, y));
    }
    grid
}

/// Returns whether a level or upright line continues through a point in the same direction.
fn is_on_the_way(from: (i32, i32), via: (i32, i32), to: (i32, i32)) -> bool {
    let [(from_x, from_y), (via_x, via_y), (to_x, to_y)] = [from, via, to];
    let across = [via_x - from_x, to_x - via_x];
    let down = [via_y - from_y, to_y - via_y];
    (across == [0, 0] && have_one_sign(down)) || (down == [0, 0] && have_one_sign(across))
}

/// Returns whether two steps go in the same direction.
const fn have_one_sign([before, after]: [i32; 2]) -> bool {
    before.signum() == after.signum()
}

/// Cuts a line into the inked pieces of a dash pattern.
fn dashes(points: &[Position], pattern: &[f64]) -> Vec<Vec<Position>> {
    let mut pieces = Vec::new();
    let mut piece = vec![points[0]];
    let mut part = 0;
    let mut left = pattern[0];
    for pair in points.windows(2) {
        let [(mut x, mut y), (to_x, to_y)] = [pair[0], pair[1]];
        let mut length = libm::hypot(to_x - x, to_y - y);
        while length > left {
            x += (to_x - x) * left / length;
            y += (to_y - y) * left / length;
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
                let (top, bottom) = (
                    label.at.1 - 0.72 * label.size,
                    label.at.1 + 0.22 * label.size,
                );
                boxes.push(([left, top, left + width, bottom], label.text.clone()));
            }
        }
        boxes
    }

    /// Centre and radius of the dots in a colour, in drawing order.
    pub(super) fn dots_of(&self, colour: Colour) -> Vec<(Position, f64)> {
        let dot = |shape: &Shape| match shape {
            Shape::Dot(middle, radius, of, _) if *of == colour => Some((*middle, *radius)),
            _ => None,
        };
        self.shapes.iter().filter_map(dot).collect()
    }

    /// The size of the smallest text, in logical pixels.
    pub(super) fn smallest_text(&self) -> f64 {
        let size = |shape: &Shape| {
            if let Shape::Text(label) = shape {
                label.size
            } else {
                f64::INFINITY
            }
        };
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
            let inside = |&(x, y): &Position| {
                x >= reach && y >= reach && x <= self.width - reach && y <= self.height - reach
            };
            assert!(
                points.iter().all(inside),
                "{}: {shape:?} leaves the page",
                self.title
            );
        }
        let boxes = self.text_boxes();
        for (at, (a, text)) in boxes.iter().enumerate() {
            let inside = a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= self.width && a[3] <= self.height;
            assert!(inside, "{}: `{text}` leaves the page: {a:?}", self.title);
            for (b, other) in &boxes[..at] {
                let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                assert!(
                    apart,
                    "{}: `{text}` {a:?} touches `{other}` {b:?}",
                    self.title
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::INK;

    fn label(text: &str, align: Align) -> Label {
        Label {
            text: text.to_owned(),
            at: (50.0, 30.0),
            size: 20.0,
            weight: Weight::Regular,
            colour: INK,
            align,
        }
    }

    #[test]
    fn a_dash_pattern_draws_its_share_of_a_bent_line() {
        let pieces = dashes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)], &[4.0, 2.0]);
        let length = |piece: &Vec<Position>| {
            piece
                .windows(2)
                .map(|p| libm::hypot(p[1].0 - p[0].0, p[1].1 - p[0].1))
                .sum::<f64>()
        };
        // 20 px: 4 on, 2 off, 4 on (to 10), 2 off, 4 on (12..16), 2 off, 2 on (18..20).
        let lengths: Vec<f64> = pieces.iter().map(|piece| length(piece).round()).collect();
        assert_eq!(format!("{lengths:?}"), "[4.0, 4.0, 4.0, 2.0]");
    }

    #[test]
    fn points_along_a_straight_line_are_left_out() {
        let level = [
            (0.0, 0.0),
            (1.0, 0.0),
            (1.0, 0.0),
            (2.0, 0.0),
            (2.0, 1.0),
            (2.0, 3.0),
            (3.0, 4.0),
            (4.0, 5.0),
        ];
        assert_eq!(
            on_grid(&level),
            [(0, 0), (8, 0), (8, 12), (12, 16), (16, 20)]
        );
        let back = [(0.0, 0.0), (3.0, 0.0), (1.0, 0.0)];
        assert_eq!(
            on_grid(&back),
            [(0, 0), (12, 0), (4, 0)],
            "a line that turns back"
        );
        assert_eq!(on_grid(&[(1.0, 1.0), (1.0, 1.0)]), [(4, 4), (5, 4)]);
    }

    #[test]
    fn the_readability_check_detects_overlapping_and_clipped_texts() {
        let check = |labels: &[Label]| {
            let mut canvas = Canvas::new("t", 100.0, 60.0);
            labels.iter().for_each(|label| canvas.text(label.clone()));
            std::panic::catch_unwind(move || canvas.assert_readable()).is_ok()
        };
        assert!(
            check(&[label("ab", Align::Left), label("cd", Align::Right)]),
            "side by side"
        );
        assert!(
            !check(&[label("ab", Align::Left), label("cd", Align::Middle)]),
            "overlapping"
        );
        assert!(!check(&[label("much too wide", Align::Left)]), "clipped");
    }
}

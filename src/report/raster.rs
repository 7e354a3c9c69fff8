//! Shapes as pixels with smooth edges: what a chart's PNG is made of.
//!
//! Each shape is drawn in two steps. First the share of every touched pixel that the shape covers is written down; then
//! the colour is mixed into these pixels. Areas add the signed parts that lie right of their edges, so that inner
//! pixels cost one addition. Lines and dots take the distance to their middle, and the greatest share where pieces of
//! one line meet, so that their joins are round and no piece shows. Shares have few levels, so that a picture has few
//! colours and its file is small. All arithmetic is exact or rounded as IEEE 754 says: pixels are the same everywhere.
//!
//! Left out: areas that cover a place with two loops of opposite directions stay empty there. No chart has any.

use std::ops::Range;

use super::style::{Colour, WHITE};

/// Levels of a covered share. The eye sees no more steps on an edge of one pixel.
const LEVELS: f32 = 16.0;

/// A place in pixels from the upper left corner.
pub(super) type PixelPlace = (f32, f32);

/// The pixels of one picture, and memory to draw the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Raster {
    width: usize,
    height: usize,
    /// Red, green and blue of each pixel in one number.
    pixels: Vec<u32>,
    /// Of the shape that is being drawn; 0 between shapes. A row has one more than pixels, for edges at its end.
    shares: Vec<f32>,
    /// The part of each row that the shape touches; empty between shapes.
    touched: Vec<Range<usize>>,
    /// The rows that it touches.
    rows: Range<usize>,
}

/// How the shares of a shape are written down.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ShareKind {
    /// As differences to the pixel at the left.
    Differences,
    /// As they are.
    Plain,
}

/// A straight piece of a line. An end that is `cut` ends there; another one is a round join.
struct Piece {
    from: PixelPlace,
    length: f32,
    /// A unit along the piece.
    along: PixelPlace,
    half: f32,
    cut: [bool; 2],
}

impl Raster {
    /// Starts a white picture in the same memory.
    pub(super) fn begin(&mut self, (width, height): (u32, u32)) {
        (self.width, self.height) = (width as usize, height as usize);
        self.pixels.clear();
        self.pixels.resize(self.width * self.height, packed(WHITE));
        // Nothing is touched between shapes, whatever the size.
        let shares = (self.width + 1) * self.height;
        self.shares.resize(self.shares.len().max(shares), 0.0);
        self.touched.clear();
        self.touched.resize(self.height, 0..0);
    }

    /// Its pixels, row by row.
    pub(super) fn pixels(&self) -> &[u32] {
        &self.pixels
    }

    /// Fills a polygon.
    pub(super) fn area(&mut self, points: &[PixelPlace], colour: Colour, opacity: f32) {
        let next = points.iter().cycle().skip(1);
        for (&from, &to) in points.iter().zip(next) {
            self.edge(from, to);
        }
        self.mix(colour, opacity, ShareKind::Differences);
    }

    /// Draws a line through points, with round joins and cut ends.
    pub(super) fn line(&mut self, points: &[PixelPlace], width: f32, colour: Colour) {
        let last = points.len().saturating_sub(2);
        for (at, pair) in points.windows(2).enumerate() {
            let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            let length = (dx * dx + dy * dy).sqrt();
            if length > 0.0 {
                let along = (dx / length, dy / length);
                let cut = [at == 0, at == last];
                self.piece(&Piece { from: pair[0], length, along, half: width / 2.0, cut });
            }
        }
        self.mix(colour, 1.0, ShareKind::Plain);
    }

    /// Fills a circle.
    pub(super) fn dot(&mut self, middle: PixelPlace, radius: f32, colour: Colour, opacity: f32) {
        self.piece(&Piece { from: middle, length: 0.0, along: (1.0, 0.0), half: radius, cut: [false; 2] });
        self.mix(colour, opacity, ShareKind::Plain);
    }

    /// Mixes a colour into one pixel of which this share is covered.
    pub(super) fn pixel(&mut self, x: i32, y: i32, share: f32, colour: Colour) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        if x < self.width && y < self.height {
            let pixel = &mut self.pixels[y * self.width + x];
            *pixel = mixed(*pixel, packed(colour), weight(share, 1.0));
        }
    }

    /// Notes that the shape touches these pixels of a row, and returns their shares.
    fn touch(&mut self, row: usize, part: Range<usize>) -> &mut [f32] {
        let touched = &mut self.touched[row];
        *touched = if touched.start >= touched.end {
            part.clone()
        } else {
            touched.start.min(part.start)..touched.end.max(part.end)
        };
        self.rows =
            if self.rows.is_empty() { row..row + 1 } else { self.rows.start.min(row)..self.rows.end.max(row + 1) };
        let begin = row * (self.width + 1);
        &mut self.shares[begin + part.start..begin + part.end]
    }

    /// Adds what lies right of an edge, row by row: positive for an edge that runs down, negative for one that runs up.
    fn edge(&mut self, from: PixelPlace, to: PixelPlace) {
        let (sign, (x0, y0), (x1, y1)) = if from.1 <= to.1 { (1.0, from, to) } else { (-1.0, to, from) };
        if y0 >= y1 {
            return;
        }
        let slope = (x1 - x0) / (y1 - y0);
        let width = self.width as f32;
        let x_at = |y: f32| (x0 + slope * (y - y0)).clamp(x0.min(x1), x0.max(x1)).clamp(0.0, width);
        let (first, end) = (y0.max(0.0) as usize, (y1.ceil().max(0.0) as usize).min(self.height));
        for row in first..end {
            let (top, bottom) = (y0.max(row as f32), y1.min((row + 1) as f32));
            let (a, b) = (x_at(top), x_at(bottom));
            self.edge_in_row(row, sign * (bottom - top), (a.min(b), a.max(b)));
        }
    }

    /// The part of an edge in one row, which has this height and runs between these places.
    fn edge_in_row(&mut self, row: usize, height: f32, (left, right): (f32, f32)) {
        let first = (left as usize).min(self.width - 1);
        let last = ((right.ceil() as usize).max(first + 1) - 1).min(self.width - 1);
        let shares = self.touch(row, first..last + 2);
        for at in first..=last {
            let (begin, end) = (left.max(at as f32), right.min((at + 1) as f32));
            let part = if last == first { height } else { height * (end - begin) / (right - left) };
            // The mean distance of the edge to the pixel's left side is left uncovered.
            let uncovered = part * (f32::midpoint(begin, end) - at as f32);
            shares[at - first] += part - uncovered;
            shares[at - first + 1] += uncovered;
        }
    }

    /// Raises the shares of the pixels around a piece of a line.
    fn piece(&mut self, piece: &Piece) {
        let (x0, y0) = piece.from;
        let (x1, y1) = (x0 + piece.along.0 * piece.length, y0 + piece.along.1 * piece.length);
        let reach = piece.half + 0.5;
        let rows = part_of(y0.min(y1) - reach, y0.max(y1) + reach, self.height);
        for row in rows {
            let y = row as f32 + 0.5;
            // The piece's part that is near enough to this row.
            let steep = y1 - y0;
            let at = |y: f32| if steep == 0.0 { None } else { Some(((y - y0) / steep).clamp(0.0, 1.0)) };
            let (a, b) = at(y - reach).zip(at(y + reach)).unwrap_or((0.0, 1.0));
            let (a, b) = (x0 + (x1 - x0) * a, x0 + (x1 - x0) * b);
            let part = part_of(a.min(b) - reach, a.max(b) + reach, self.width);
            if part.is_empty() {
                continue;
            }
            let first = part.start;
            for (at, share) in self.touch(row, part).iter_mut().enumerate() {
                *share = share.max(piece.share_at(((first + at) as f32 + 0.5, y)));
            }
        }
    }

    /// Mixes the colour into the touched pixels, and forgets the shape.
    fn mix(&mut self, colour: Colour, opacity: f32, shares: ShareKind) {
        let colour = packed(colour);
        for row in std::mem::take(&mut self.rows) {
            let Range { start, end } = std::mem::take(&mut self.touched[row]);
            let begin = row * (self.width + 1);
            let written = &mut self.shares[begin + start..begin + end];
            let pixels = &mut self.pixels[row * self.width + start..row * self.width + end.min(self.width)];
            match shares {
                ShareKind::Differences => mix_differences(pixels, written, colour, opacity),
                ShareKind::Plain => {
                    for (pixel, share) in pixels.iter_mut().zip(written.iter()) {
                        *pixel = mixed(*pixel, colour, weight(*share, opacity));
                    }
                }
            }
            written.fill(0.0);
        }
    }
}

impl Piece {
    /// The covered share of the pixel with this middle.
    fn share_at(&self, (x, y): PixelPlace) -> f32 {
        let (dx, dy) = (x - self.from.0, y - self.from.1);
        let along = dx * self.along.0 + dy * self.along.1;
        let across = dx * self.along.1 - dy * self.along.0;
        let mut beyond = 0.0;
        let mut cut = 1.0_f32;
        for (is_cut, inside) in self.cut.into_iter().zip([along, self.length - along]) {
            if is_cut {
                cut *= (inside + 0.5).clamp(0.0, 1.0);
            } else if inside < 0.0 {
                beyond = inside;
            }
        }
        let distance = if beyond < 0.0 { (beyond * beyond + across * across).sqrt() } else { across.abs() };
        (self.half + 0.5 - distance).clamp(0.0, 1.0).min(2.0 * self.half) * cut
    }
}

/// The pixels between two places in a row of this length.
fn part_of(from: f32, to: f32, length: usize) -> Range<usize> {
    (from.floor().max(0.0) as usize).min(length)..(to.ceil().max(0.0) as usize).min(length)
}

/// Mixes a colour into pixels whose shares are the sums of these differences. Between two edges the sum stays as it is.
fn mix_differences(pixels: &mut [u32], differences: &[f32], colour: u32, opacity: f32) {
    const STEP: usize = 16;
    let (mut sum, mut at) = (0.0_f32, 0);
    while at < pixels.len() {
        sum += differences[at];
        let is_flat = |part: &[f32]| part.iter().fold(0, |any, difference| any | difference.to_bits()) == 0;
        let mut end = at + 1;
        while differences.get(end..end + STEP).is_some_and(is_flat) {
            end += STEP;
        }
        let end = end.min(pixels.len());
        let weight = weight(sum.abs(), opacity);
        match weight {
            0 => {}
            256 => pixels[at..end].fill(colour),
            _ => pixels[at..end].iter_mut().for_each(|pixel| *pixel = mixed(*pixel, colour, weight)),
        }
        at = end;
    }
}

/// The weight of a colour that covers this share, of 256.
fn weight(share: f32, opacity: f32) -> u32 {
    ((share.min(1.0) * LEVELS).round() / LEVELS * opacity * 256.0).round() as u32
}

/// Both colours, the upper one with this weight of 256. Red and blue are computed at once, with room between them.
const fn mixed(below: u32, upper: u32, weight: u32) -> u32 {
    const RED_BLUE: u32 = 0xFF_00FF;
    const GREEN: u32 = 0x00_FF00;
    let other = 256 - weight;
    let red_blue = ((below & RED_BLUE) * other + (upper & RED_BLUE) * weight + 0x80_0080) >> 8;
    let green = (((below & GREEN) >> 8) * other + ((upper & GREEN) >> 8) * weight + 0x80) & GREEN;
    (red_blue & RED_BLUE) | green
}

const fn packed(Colour(red, green, blue): Colour) -> u32 {
    (red as u32) << 16 | (green as u32) << 8 | blue as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: Colour = Colour(0, 0, 0);

    fn drawn(draw: impl Fn(&mut Raster)) -> Raster {
        let mut raster = Raster::default();
        raster.begin((20, 10));
        draw(&mut raster);
        raster
    }

    /// The covered area in pixels, of a black shape on white.
    fn ink(raster: &Raster) -> f64 {
        raster.pixels().iter().map(|pixel| f64::from(255 - (pixel & 0xFF)) / 255.0).sum()
    }

    fn grey(raster: &Raster, x: usize, y: usize) -> u32 {
        raster.pixels()[y * 20 + x] & 0xFF
    }

    #[test]
    fn a_rectangle_covers_its_area_and_half_of_a_pixel_is_half_as_dark() {
        let raster = drawn(|raster| raster.area(&[(2.5, 1.0), (7.0, 1.0), (7.0, 4.5), (2.5, 4.5)], BLACK, 1.0));
        assert!((ink(&raster) - 4.5 * 3.5).abs() < 0.1, "{}", ink(&raster));
        assert_eq!([grey(&raster, 4, 2), grey(&raster, 2, 2), grey(&raster, 2, 4)], [0, 128, 191]);
        assert_eq!([grey(&raster, 1, 2), grey(&raster, 7, 2), grey(&raster, 4, 0), grey(&raster, 4, 5)], [255; 4]);
    }

    #[test]
    fn a_slanted_polygon_covers_its_area_in_both_directions() {
        let mut points = [(1.0, 1.0), (18.3, 2.2), (12.0, 9.0), (3.0, 6.7)];
        let cross = f64::from((points[2].0 - points[0].0) * (points[3].1 - points[1].1))
            - f64::from((points[3].0 - points[1].0) * (points[2].1 - points[0].1));
        let there = ink(&drawn(|raster| raster.area(&points, BLACK, 1.0)));
        assert!((there - cross.abs() / 2.0).abs() < 0.5, "{there} of {cross}");
        points.reverse();
        assert!((ink(&drawn(|raster| raster.area(&points, BLACK, 1.0))) - there).abs() < 0.2);
    }

    #[test]
    fn a_line_has_cut_ends_and_joins_do_not_show() {
        let straight = drawn(|raster| raster.line(&[(3.0, 5.0), (15.0, 5.0)], 3.0, BLACK));
        assert!((ink(&straight) - 36.0).abs() < 0.1, "{}", ink(&straight));
        let pieces = drawn(|raster| raster.line(&[(3.0, 5.0), (6.3, 5.0), (6.9, 5.0), (15.0, 5.0)], 3.0, BLACK));
        assert_eq!(pieces.pixels(), straight.pixels());
        // Two arms of 8 by 2 that share a quarter of the square at the corner; the outer quarter is round.
        let bent = drawn(|raster| raster.line(&[(2.0, 8.0), (10.0, 8.0), (10.0, 0.0)], 2.0, BLACK));
        let expected = 16.0 + 16.0 - 1.0 + std::f64::consts::FRAC_PI_4;
        assert!((ink(&bent) - expected).abs() < 0.3, "{} instead of {expected}", ink(&bent));
    }

    #[test]
    fn a_dot_covers_a_circle_and_opacity_weakens_it() {
        let dot = |opacity: f32| ink(&drawn(|raster| raster.dot((8.0, 5.0), 4.0, BLACK, opacity)));
        let circle = 16.0 * std::f64::consts::PI;
        assert!((dot(1.0) - circle).abs() < 0.5, "{} instead of {circle}", dot(1.0));
        assert!((dot(0.5) - circle / 2.0).abs() < 0.4, "{}", dot(0.5));
    }

    #[test]
    fn shapes_are_cut_at_the_border_and_leave_nothing_for_the_next_picture() {
        let mut raster = drawn(|raster| {
            raster.area(&[(-5.0, -5.0), (40.0, -5.0), (40.0, 40.0), (-5.0, 40.0)], BLACK, 1.0);
            raster.line(&[(-9.0, 3.0), (50.0, 60.0)], 4.0, BLACK);
            raster.dot((20.0, 0.0), 9.0, BLACK, 1.0);
            raster.pixel(-1, 3, 1.0, BLACK);
            raster.pixel(20, 3, 1.0, BLACK);
        });
        assert!((ink(&raster) - 200.0).abs() < 1e-9, "{}", ink(&raster));
        raster.begin((7, 30));
        raster.area(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], BLACK, 1.0);
        assert_eq!(raster.pixels().iter().filter(|pixel| **pixel == 0).count(), 1);
        assert!((ink(&raster) - 1.0).abs() < 1e-9 && raster.pixels().len() == 210);
    }
}

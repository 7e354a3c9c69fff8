//! A chart as SVG.
//!
//! Lengths are on the canvas' grid, which the view box scales down. Numbers are whole, so the same chart gives the same
//! bytes everywhere.

use std::fmt::Write as _;

use super::canvas::{Align, Canvas, GRID_PER_PX, Label, Position, Shape, Stroke, grid_length, grid_point, on_grid};
use super::style::{Colour, FAMILY, WHITE};
use super::text::{Weight, escaped};

impl Canvas {
    /// The chart as SVG.
    pub(super) fn to_svg(&self) -> String {
        let (width, height) = self.pixels(1.0);
        let (grid_width, grid_height) = self.pixels(GRID_PER_PX);
        let mut svg = SvgText(String::new());
        svg.push(format_args!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {grid_width} {grid_height}\" role=\"img\" \
             stroke-linejoin=\"round\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>{}</title>\n\
             <rect width=\"{grid_width}\" height=\"{grid_height}\" fill=\"{}\"/>\n",
            escaped(&self.title),
            hex(WHITE)
        ));
        for shape in &self.shapes {
            match shape {
                Shape::Path(points, stroke) => svg.path(points, *stroke),
                Shape::Area(points, colour, opacity) => svg.area(points, *colour, *opacity),
                Shape::Dot(middle, radius, colour, opacity) => {
                    let ((x, y), radius) = (grid_point(middle), grid_length(*radius));
                    svg.push(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""));
                    svg.fill(*colour, *opacity);
                }
                Shape::Text(label) => svg.label(label),
            }
        }
        svg.0.push_str("</svg>\n");
        svg.0
    }
}

/// The text of an SVG.
struct SvgText(String);

impl SvgText {
    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("memory takes every byte");
    }

    fn path(&mut self, points: &[Position], stroke: Stroke) {
        let width = grid_length(stroke.width).max(1);
        self.push(format_args!("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"", hex(stroke.colour)));
        self.points(points);
        self.0.push_str("/>\n");
    }

    fn area(&mut self, points: &[Position], colour: Colour, opacity: f64) {
        self.0.push_str("<polygon");
        self.points(points);
        self.fill(colour, opacity);
    }

    fn points(&mut self, points: &[Position]) {
        self.0.push_str(" points=\"");
        for (at, (x, y)) in on_grid(points).into_iter().enumerate() {
            if at > 0 {
                self.0.push(' ');
            }
            self.number(x);
            self.0.push(',');
            self.number(y);
        }
        self.0.push('"');
    }

    /// A curve has thousands of them, and formatting each would cost more than all other text.
    fn number(&mut self, number: i32) {
        let (mut digits, mut at, mut rest) = ([0; 10], 10, number.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            self.0.push('-');
        }
        self.0.extend(digits[at..].iter().map(|digit| char::from(*digit)));
    }

    /// The end of a filled shape.
    fn fill(&mut self, colour: Colour, opacity: f64) {
        self.push(format_args!(" fill=\"{}\"", hex(colour)));
        if opacity < 1.0 {
            self.push(format_args!(" opacity=\"{opacity}\""));
        }
        self.0.push_str("/>\n");
    }

    fn label(&mut self, label: &Label) {
        let ((x, y), size) = (grid_point(&label.at), label.size * GRID_PER_PX);
        let anchor = match label.align {
            Align::Left => "",
            Align::Middle => " text-anchor=\"middle\"",
            Align::Right => " text-anchor=\"end\"",
        };
        let weight = match label.weight {
            Weight::Regular => "",
            Weight::Bold => " font-weight=\"bold\"",
        };
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-family=\"{FAMILY}\" font-size=\"{size}\"{anchor}{weight} fill=\"{}\">{}</text>\n",
            hex(label.colour),
            escaped(&label.text)
        ));
    }
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::INK;

    #[test]
    fn shapes_are_on_the_grid_and_texts_are_escaped() {
        let mut canvas = Canvas::new("a < b", 100.0, 60.0);
        canvas.line((1.0, 2.5), (10.25, 30.0), Stroke::solid(INK, 1.0));
        canvas.rectangle((0.0, 0.0), (5.0, 5.0), INK, 0.5);
        canvas.dot((50.0, 30.0), 2.0, INK, 1.0);
        let (at, size, weight) = ((50.0, 30.0), 13.5, Weight::Bold);
        canvas.text(Label { text: "x < y & z".to_owned(), at, size, weight, colour: INK, align: Align::Middle });
        let expected = [
            "<svg width=\"100\" height=\"60\" viewBox=\"0 0 400 240\" role=\"img\" stroke-linejoin=\"round\" \
             xmlns=\"http://www.w3.org/2000/svg\">",
            "<title>a &lt; b</title>",
            "<rect width=\"400\" height=\"240\" fill=\"#FFFFFF\"/>",
            "<polyline fill=\"none\" stroke=\"#1F2937\" stroke-width=\"4\" points=\"4,10 41,120\"/>",
            "<polygon points=\"0,0 20,0 20,20 0,20\" fill=\"#1F2937\" opacity=\"0.5\"/>",
            "<circle cx=\"200\" cy=\"120\" r=\"8\" fill=\"#1F2937\"/>",
            "<text x=\"200\" y=\"120\" font-family=\"FAMILY\" font-size=\"54\" text-anchor=\"middle\" \
             font-weight=\"bold\" fill=\"#1F2937\">x &lt; y &amp; z</text>",
            "</svg>",
        ];
        let svg = canvas.to_svg().replace(FAMILY, "FAMILY");
        assert_eq!(svg.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers_are_written_as_usual() {
        for number in [0, 7, 10, 3840, -1, -120, i32::MAX, i32::MIN] {
            let mut text = SvgText(String::new());
            text.number(number);
            assert_eq!(text.0, number.to_string());
        }
    }
}

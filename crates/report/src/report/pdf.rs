//! A chart as a PDF of one page, in its size in print.
//!
//! Shapes are on the grid of the SVG, and texts are the outlines of their letters, so a figure looks the same without
//! the font. There is no date, so the same chart has the same bytes. Left out: text that can be selected.

use std::collections::BTreeMap;

use ab_glyph::{Font, OutlineCurve, Point};
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, TextStr};

use super::canvas::{Canvas, GRID_PER_PX, Label, Position, Shape, on_grid};
use super::sheet::ChartWidth;
use super::style::Colour;
use super::text::{face, glyph_scale, lay_out};

/// Points per millimetre.
const PT_PER_MM: f64 = 72.0 / 25.4;
/// The compression level of the page: small, and fast enough.
const COMPRESSION: u8 = 6;
/// Distance of a circle's control points from the end of its arc, for a radius of 1.
const ARC: f64 = 0.552_284_75;

impl Canvas {
    /// The chart as PDF, as wide in print as charts of this width are.
    pub(super) fn to_pdf(&self, width: ChartWidth) -> Vec<u8> {
        let scale = width.mm() * PT_PER_MM / self.width;
        let mut drawing = PageDrawing::new(scale, self.height * scale);
        for shape in &self.shapes {
            drawing.draw(shape);
        }
        drawing.into_file(&self.title, [self.width * scale, self.height * scale])
    }
}

/// The content of a page that is being drawn. PDF counts upwards from the lower left corner, in points.
struct PageDrawing {
    content: Content,
    scale: f64,
    height: f64,
    /// The opacities in use, in thousandths, with the number of their graphics state.
    opacities: BTreeMap<u16, usize>,
}

/// The place and the size of a letter on the page.
#[derive(Clone, Copy)]
struct GlyphPlace {
    /// The left end.
    start: f64,
    baseline: f64,
    /// Size of a unit of the font.
    per_unit: f64,
}

impl GlyphPlace {
    /// A point of the letter's outline on the page.
    fn of(self, point: Point) -> Position {
        (
            self.start + f64::from(point.x) * self.per_unit,
            self.baseline - f64::from(point.y) * self.per_unit,
        )
    }
}

impl PageDrawing {
    fn new(scale: f64, height: f64) -> Self {
        let mut content = Content::new();
        content.set_line_join(LineJoinStyle::RoundJoin);
        Self {
            content,
            scale,
            height,
            opacities: BTreeMap::new(),
        }
    }

    /// A position on the page.
    fn at(&self, (x, y): Position) -> [f32; 2] {
        [
            (x * self.scale) as f32,
            (self.height - y * self.scale) as f32,
        ]
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Path(points, stroke) => {
                self.content.save_state();
                self.content
                    .set_line_width((stroke.width * self.scale) as f32);
                let [red, green, blue] = channels(stroke.colour);
                self.content.set_stroke_rgb(red, green, blue);
                self.line(points);
                self.content.stroke();
                self.content.restore_state();
            }
            Shape::Area(points, colour, opacity) => {
                self.begin_fill(*colour, *opacity);
                self.line(points);
                self.content.close_path();
                self.end_fill();
            }
            Shape::Dot(center, radius, colour, opacity) => {
                self.begin_fill(*colour, *opacity);
                self.circle(*center, *radius);
                self.end_fill();
            }
            Shape::Text(label) => {
                self.begin_fill(label.colour, 1.0);
                self.text(label);
                self.end_fill();
            }
        }
    }

    fn begin_fill(&mut self, colour: Colour, opacity: f64) {
        self.content.save_state();
        let [red, green, blue] = channels(colour);
        self.content.set_fill_rgb(red, green, blue);
        if opacity < 1.0 {
            let next = self.opacities.len();
            let thousandths = (opacity * 1000.0).round() as u16;
            let number = *self.opacities.entry(thousandths).or_insert(next);
            self.content
                .set_parameters(Name(state_name(number).as_bytes()));
        }
    }

    fn end_fill(&mut self) {
        self.content.fill_nonzero();
        self.content.restore_state();
    }

    /// A line through points of the grid, as in the SVG.
    fn line(&mut self, points: &[Position]) {
        for (number, (x, y)) in on_grid(points).into_iter().enumerate() {
            let point = (f64::from(x) / GRID_PER_PX, f64::from(y) / GRID_PER_PX);
            let [x, y] = self.at(point);
            if number == 0 {
                self.content.move_to(x, y);
            } else {
                self.content.line_to(x, y);
            }
        }
    }

    fn circle(&mut self, (x, y): Position, radius: f64) {
        let [from_x, from_y] = self.at((x + radius, y));
        self.content.move_to(from_x, from_y);
        let quarters = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
        for (number, (from_x, from_y)) in quarters.into_iter().enumerate() {
            let (to_x, to_y) = quarters[(number + 1) % 4];
            let controls = [
                (from_x + ARC * to_x, from_y + ARC * to_y),
                (to_x + ARC * from_x, to_y + ARC * from_y),
                (to_x, to_y),
            ];
            let [one, two, end] =
                controls.map(|(across, down)| self.at((x + radius * across, y + radius * down)));
            self.content
                .cubic_to(one[0], one[1], two[0], two[1], end[0], end[1]);
        }
        self.content.close_path();
    }

    /// The outlines of the letters of a text.
    fn text(&mut self, label: &Label) {
        let (glyphs, length) = lay_out(&label.text, label.size, label.weight);
        let (_, baseline) = label.at;
        let start = label.start(length);
        for (glyph, across) in glyphs {
            let Some(outline) = face(label.weight).outline(glyph) else {
                continue;
            };
            let place = GlyphPlace {
                start: start + across,
                baseline,
                per_unit: glyph_scale(label.size, label.weight),
            };
            let mut last: Option<Point> = None;
            for curve in outline.curves {
                self.curve(&curve, &mut last, place);
            }
        }
    }

    /// One curve of an outline, which begins another contour if it does not go on from the `last` point.
    fn curve(&mut self, curve: &OutlineCurve, last: &mut Option<Point>, place: GlyphPlace) {
        let (OutlineCurve::Line(from, _)
        | OutlineCurve::Quad(from, ..)
        | OutlineCurve::Cubic(from, ..)) = *curve;
        if *last != Some(from) {
            let [x, y] = self.at(place.of(from));
            self.content.move_to(x, y);
        }
        let end = match *curve {
            OutlineCurve::Line(_, to) => {
                let [x, y] = self.at(place.of(to));
                self.content.line_to(x, y);
                to
            }
            OutlineCurve::Quad(from, via, to) => {
                self.cubic([toward(from, via), toward(to, via), to], place);
                to
            }
            OutlineCurve::Cubic(_, one, two, to) => {
                self.cubic([one, two, to], place);
                to
            }
        };
        *last = Some(end);
    }

    fn cubic(&mut self, points: [Point; 3], place: GlyphPlace) {
        let [one, two, end] = points.map(|point| self.at(place.of(point)));
        self.content
            .cubic_to(one[0], one[1], two[0], two[1], end[0], end[1]);
    }

    /// The file with this page and its title.
    fn into_file(self, title: &str, [width, height]: [f64; 2]) -> Vec<u8> {
        let [catalog, tree, page, content, info] = [1, 2, 3, 4, 5].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.pages(tree).kids([page]).count(1);
        pdf.document_info(info).title(TextStr(title));
        let mut written = pdf.page(page);
        written.media_box(Rect::new(0.0, 0.0, width as f32, height as f32));
        written.parent(tree);
        written.contents(content);
        let mut resources = written.resources();
        let mut states = resources.ext_g_states();
        for number in self.opacities.values() {
            states.pair(
                Name(state_name(*number).as_bytes()),
                Ref::new(6 + *number as i32),
            );
        }
        states.finish();
        resources.finish();
        written.finish();
        for (thousandths, number) in &self.opacities {
            let share = f32::from(*thousandths) / 1000.0;
            pdf.ext_graphics(Ref::new(6 + *number as i32))
                .non_stroking_alpha(share);
        }
        let bytes = compress_to_vec_zlib(&self.content.finish(), COMPRESSION);
        pdf.stream(content, &bytes).filter(Filter::FlateDecode);
        pdf.finish()
    }
}

/// The name of a graphics state in the page's resources.
fn state_name(number: usize) -> String {
    format!("o{number}")
}

/// Two thirds of the way from the end of a quadratic curve to its control point: that of the same cubic curve.
fn toward(end: Point, via: Point) -> Point {
    Point {
        x: end.x + (via.x - end.x) * 2.0 / 3.0,
        y: end.y + (via.y - end.y) * 2.0 / 3.0,
    }
}

fn channels(Colour(red, green, blue): Colour) -> [f32; 3] {
    [red, green, blue].map(|channel| f32::from(channel) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::canvas::Align;
    use crate::report::canvas::Stroke;
    use crate::report::style::INK;
    use crate::report::text::Weight;

    #[test]
    fn a_pdf_has_its_size_in_print_and_reproducible_bytes() {
        let mut canvas = Canvas::new("a (b)", 480.0, 240.0);
        canvas.line((0.0, 0.0), (480.0, 240.0), Stroke::solid(INK, 2.0));
        canvas.dot((100.0, 100.0), 5.0, INK, 0.5);
        canvas.rectangle((1.0, 1.0), (9.0, 9.0), INK, 0.22);
        canvas.text(Label {
            text: "Größe ≤ 85 mm".to_owned(),
            at: (50.0, 30.0),
            size: 20.0,
            weight: Weight::Bold,
            colour: INK,
            align: Align::Left,
        });
        let bytes = canvas.to_pdf(ChartWidth::Column);
        assert!(bytes.starts_with(b"%PDF-") && bytes.ends_with(b"%%EOF"));
        let text = String::from_utf8_lossy(&bytes);
        // 85 mm are 240.94 pt, and the page is half as high.
        assert!(text.contains("/MediaBox [0 0 240.94"), "{text}");
        assert!(
            text.contains("/ca 0.5") && text.contains("/ca 0.22"),
            "{text}"
        );
        assert_eq!(bytes, canvas.to_pdf(ChartWidth::Column));
    }
}

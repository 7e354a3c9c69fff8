//! A chart as SVG, written by plotters.
//!
//! plotters places shapes at whole pixels, which are the grid steps here. The view box scales them down.

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle};

use super::canvas::{Align, Canvas, GRID_PER_PX, Label, Shape, grid_point, on_grid};
use super::style::{Colour, FAMILY, WHITE};
use super::text::Weight;

impl Canvas {
    /// The chart as SVG.
    pub(super) fn to_svg(&self) -> String {
        let grid = self.pixels(GRID_PER_PX);
        let mut text = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut text, grid);
            let page = (grid.0 as i32, grid.1 as i32);
            in_memory(backend.draw_rect((0, 0), page, &fill(WHITE, 1.0), true));
            self.shapes
                .iter()
                .for_each(|shape| draw(&mut backend, shape));
            in_memory(backend.present());
        }
        let (width, height) = self.pixels(1.0);
        let body = text.split_once('>').map_or("", |(_, body)| body);
        let title = self
            .title
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" role=\"img\" \
             stroke-linejoin=\"round\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>{title}</title>{body}",
            grid.0, grid.1
        )
    }
}

/// Unwraps the result of drawing in memory, which cannot fail.
fn in_memory<E: std::error::Error>(drawn: Result<(), E>) {
    drawn.expect("drawing to memory does not fail");
}

fn draw(backend: &mut SVGBackend<'_>, shape: &Shape) {
    match shape {
        Shape::Path(points, stroke) => {
            let width = (stroke.width * GRID_PER_PX).round().max(1.0) as u32;
            in_memory(backend.draw_path(
                on_grid(points),
                &rgba(stroke.colour, 1.0).stroke_width(width),
            ));
        }
        Shape::Area(points, colour, opacity) => {
            in_memory(backend.fill_polygon(on_grid(points), &rgba(*colour, *opacity)));
        }
        Shape::Dot(center, radius, colour, opacity) => {
            let radius = (radius * GRID_PER_PX).round() as u32;
            in_memory(backend.draw_circle(
                grid_point(center),
                radius,
                &fill(*colour, *opacity),
                true,
            ));
        }
        Shape::Text(label) => draw_text(backend, label),
    }
}

/// plotters 0.3.7 writes a size as size / 1.24 em, and a top anchor as a baseline 0.76 em lower.
fn draw_text(backend: &mut SVGBackend<'_>, label: &Label) {
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
    let style = TextStyle::from(font)
        .color(&colour)
        .pos(Pos::new(anchor, VPos::Top));
    let place = (x, baseline - (0.76 * em).round() as i32);
    in_memory(backend.draw_text(&label.text, &style, place));
}

fn rgba(Colour(red, green, blue): Colour, opacity: f64) -> RGBAColor {
    RGBAColor(red, green, blue, opacity)
}

fn fill(colour: Colour, opacity: f64) -> ShapeStyle {
    rgba(colour, opacity).filled().stroke_width(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_size_and_its_title() {
        let svg = Canvas::new("a < b", 100.0, 60.0).to_svg();
        assert!(
            svg.starts_with("<svg width=\"100\" height=\"60\" viewBox=\"0 0 400 240\""),
            "{svg}"
        );
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
    }
}

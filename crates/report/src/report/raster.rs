//! Draws a chart as a PNG at twice its size: tiny-skia draws shapes, and `ab_glyph` letters. Both use anti-aliasing.
//!
//! The same chart has the same bytes on every machine, because no sum depends on instructions that only some CPUs
//! have.

use std::collections::HashMap;

use ab_glyph::{Font, GlyphId, PxScale, point};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, PixmapMut, PremultipliedColorU8, Shader,
    Stroke as Pen, Transform,
};

use super::canvas::{Canvas, GRID_PER_PX, Label, Shape, on_grid};
use super::style::Colour;
use super::text::{Weight, face, glyph_scale, lay_out};

/// PNG pixels per logical pixel.
const PNG_PER_PX: f32 = 2.0;
/// Transforms logical pixels to PNG pixels.
const ENLARGED: Transform = Transform {
    sx: PNG_PER_PX,
    kx: 0.0,
    ky: 0.0,
    sy: PNG_PER_PX,
    tx: 0.0,
    ty: 0.0,
};
/// Number of positions within a pixel at which a letter may start.
const STEPS: i32 = 4;
/// Shades between paper and ink at the edge of a letter. There are few, so that a byte can represent each colour of a
/// chart.
const SHADES: u8 = 16;

/// Reused memory for the charts of a run, and the letters drawn before. Fresh memory for each chart would take as long
/// as the drawing.
#[derive(Debug, Default)]
pub(super) struct Raster {
    pixels: Vec<u8>,
    letters: HashMap<LetterKey, Letter>,
}

/// The cache key of a letter's pixels.
#[derive(Debug, Eq, Hash, PartialEq)]
struct LetterKey {
    glyph: GlyphId,
    /// The size of the letter in logical pixels, as the bits of an `f64`.
    size: u64,
    weight: Weight,
    /// The position of the letter within a pixel, one of [`STEPS`].
    step: i32,
}

/// The shades of a letter's pixels, row by row. The first pixel is to the left of and above the letter's position on
/// the baseline.
#[derive(Debug)]
struct Letter {
    left: i32,
    top: i32,
    width: usize,
    shades: Vec<u8>,
}

impl Canvas {
    /// The chart as PNG.
    pub(super) fn to_png(&self, raster: &mut Raster) -> Vec<u8> {
        let Raster { pixels, letters } = raster;
        let (width, height) = self.pixels(f64::from(PNG_PER_PX));
        let size = width as usize * height as usize * size_of::<PremultipliedColorU8>();
        pixels.resize(pixels.len().max(size), 0);
        pixels[..size].fill(u8::MAX);
        let mut page =
            PixmapMut::from_bytes(&mut pixels[..size], width, height).expect("a page has an area");
        for shape in &self.shapes {
            draw(&mut page, shape, letters);
        }
        encoded(&pixels[..size], (width, height))
    }
}

/// Encodes opaque pixels of four bytes as a PNG. Pixels are palette indices if a byte can represent each colour: this
/// halves the size of the file, and needs only a fifth of the time.
fn encoded(pixels: &[u8], (width, height): (u32, u32)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    // Fast compression needs only a tenth of the time of the default.
    encoder.set_compression(png::Compression::Fast);
    let data = if let Some((places, palette)) = indexed(pixels) {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette);
        encoder.set_filter(png::Filter::Up);
        places
    } else {
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_filter(png::Filter::Paeth);
        pixels
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect()
    };
    let mut image = encoder
        .write_header()
        .expect("writes to memory do not fail");
    image
        .write_image_data(&data)
        .expect("as many bytes as the size says");
    image.finish().expect("writes to memory do not fail");
    bytes
}

/// The palette index of each pixel, and the palette in order of first use. `None` if there are too many colours for a
/// byte. Most of a chart is paper or one colour, which is compared in blocks.
fn indexed(pixels: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    /// Bytes of sixteen pixels.
    const BLOCK: usize = 64;
    let mut palette = Vec::new();
    let mut place_of = HashMap::new();
    let mut places = Vec::with_capacity(pixels.len() / 4);
    let mut last = None;
    let mut place = None;
    let mut repeated = [0; BLOCK];
    for block in pixels.chunks(BLOCK) {
        if let Some(place) = place
            && block == &repeated[..block.len()]
        {
            places.resize(places.len() + block.len() / 4, place);
            continue;
        }
        let (block_pixels, _) = block.as_chunks();
        for pixel in block_pixels {
            let colour = u32::from_le_bytes(*pixel);
            if last != Some(colour) {
                let new = place_of.len();
                let known = *place_of.entry(colour).or_insert(new);
                if known == new {
                    palette.extend(&pixel[..3]);
                }
                last = Some(colour);
                place = Some(u8::try_from(known).ok()?);
            }
            places.extend(place);
        }
        if let Some(colour) = last {
            let (repeated_pixels, _) = repeated.as_chunks_mut();
            repeated_pixels.fill(colour.to_le_bytes());
        }
    }
    Some((places, palette))
}

fn draw(page: &mut PixmapMut<'_>, shape: &Shape, letters: &mut HashMap<LetterKey, Letter>) {
    match shape {
        Shape::Path(points, stroke) => {
            // Joins are sharp up to right angles and flat beyond. Round joins would not be visible, but would need a
            // tenth of the time of a run.
            let pen = Pen {
                width: stroke.width as f32,
                line_join: LineJoin::Miter,
                miter_limit: 1.5,
                ..Pen::default()
            };
            if let Some(path) = line(&on_grid(points)).finish() {
                page.stroke_path(&path, &paint(stroke.colour, 1.0), &pen, ENLARGED, None);
            }
        }
        Shape::Area(points, colour, opacity) => {
            let corners = on_grid(points);
            let mut area = line(&corners);
            area.close();
            // With anti-aliasing, the paper would show through where two adjacent rectangles each cover a part of a
            // pixel.
            let anti_alias = !is_rectangle(&corners);
            let paint = Paint {
                anti_alias,
                ..paint(*colour, *opacity)
            };
            fill(page, area.finish(), &paint);
        }
        Shape::Dot((x, y), radius, colour, opacity) => {
            let circle = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
            fill(page, circle, &paint(*colour, *opacity));
        }
        Shape::Text(label) => write(page, label, letters),
    }
}

/// Fills a path that is not empty.
fn fill(page: &mut PixmapMut<'_>, path: Option<Path>, paint: &Paint<'_>) {
    if let Some(path) = path {
        page.fill_path(&path, paint, FillRule::Winding, ENLARGED, None);
    }
}

fn paint(Colour(red, green, blue): Colour, opacity: f64) -> Paint<'static> {
    let [red, green, blue] = [red, green, blue].map(|channel| f32::from(channel) / 255.0);
    let colour = Color::from_rgba(red, green, blue, opacity as f32).expect("shares");
    Paint {
        shader: Shader::SolidColor(colour),
        ..Paint::default()
    }
}

/// A path through points of the grid, as in the SVG.
fn line(points: &[(i32, i32)]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        let [x, y] = [x, y].map(|step| (f64::from(step) / GRID_PER_PX) as f32);
        if at == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
    path
}

/// Returns true for the corners of a rectangle whose sides are at least a pixel long, so that it covers the centre of
/// a pixel.
fn is_rectangle(corners: &[(i32, i32)]) -> bool {
    let [a, b, c, d] = *corners else { return false };
    is_long_side(a, b) && is_long_side(b, c) && is_long_side(c, d) && is_long_side(d, a)
}

/// Returns whether a side of a rectangle is level or upright and at least a pixel long.
fn is_long_side((from_x, from_y): (i32, i32), (to_x, to_y): (i32, i32)) -> bool {
    let across = (to_x - from_x).abs();
    let down = (to_y - from_y).abs();
    across.min(down) == 0 && f64::from(across + down) * f64::from(PNG_PER_PX) >= GRID_PER_PX
}

/// Writes a text with cached letters; draws missing ones.
fn write(page: &mut PixmapMut<'_>, label: &Label, letters: &mut HashMap<LetterKey, Letter>) {
    let (glyphs, length) = lay_out(&label.text, label.size, label.weight);
    let (_, baseline) = label.at;
    let start = label.start(length);
    let baseline = (baseline * f64::from(PNG_PER_PX)).round() as i32;
    for (glyph, at) in glyphs {
        let place = ((start + at) * f64::from(PNG_PER_PX) * f64::from(STEPS)).round() as i32;
        let step = place.rem_euclid(STEPS);
        let key = LetterKey {
            glyph,
            size: label.size.to_bits(),
            weight: label.weight,
            step,
        };
        let letter = letters
            .entry(key)
            .or_insert_with(|| Letter::draw(glyph, label, step));
        letter.print(page, place.div_euclid(STEPS), baseline, label.colour);
    }
}

/// A pixel of paper, mixed with ink according to the shade.
fn inked(paper: PremultipliedColorU8, ink: Colour, shade: u8) -> PremultipliedColorU8 {
    let Colour(red, green, blue) = ink;
    let mixed = PremultipliedColorU8::from_rgba(
        mixed_channel(paper.red(), red, shade),
        mixed_channel(paper.green(), green, shade),
        mixed_channel(paper.blue(), blue, shade),
        u8::MAX,
    );
    mixed.expect("every colour is valid for an opaque pixel")
}

/// One channel of paper, mixed with ink according to the shade.
fn mixed_channel(paper: u8, ink: u8, shade: u8) -> u8 {
    let sum = u16::from(SHADES - shade) * u16::from(paper) + u16::from(shade) * u16::from(ink);
    (sum / u16::from(SHADES)) as u8
}

impl Letter {
    /// Prints the letter at its position on the baseline. Pixels outside the page are left out.
    fn print(&self, page: &mut PixmapMut<'_>, place: i32, baseline: i32, ink: Colour) {
        let width = page.width() as usize;
        let left = place + self.left;
        let top = baseline + self.top;
        let pixels = page.pixels_mut();
        for (y, shades) in (top..).zip(self.shades.chunks_exact(self.width.max(1))) {
            let Ok(y) = usize::try_from(y) else {
                continue;
            };
            for (x, &shade) in (left..).zip(shades) {
                let Ok(x) = usize::try_from(x) else {
                    continue;
                };
                if shade == 0 || x >= width {
                    continue;
                }
                if let Some(pixel) = pixels.get_mut(y * width + x) {
                    *pixel = inked(*pixel, ink, shade);
                }
            }
        }
    }

    /// Draws a glyph at one of the [`STEPS`] positions within a pixel. A glyph without ink has no pixels.
    fn draw(glyph: GlyphId, label: &Label, step: i32) -> Self {
        let face = face(label.weight);
        // The library's sizes are font heights.
        let size =
            glyph_scale(label.size, label.weight) as f32 * PNG_PER_PX * face.height_unscaled();
        let placed = glyph
            .with_scale_and_position(PxScale::from(size), point(step as f32 / STEPS as f32, 0.0));
        let Some(outlined) = face.outline_glyph(placed) else {
            return Self {
                left: 0,
                top: 0,
                width: 0,
                shades: Vec::new(),
            };
        };
        let bounds = outlined.px_bounds();
        let mut shades = Vec::new();
        outlined.draw(|_, _, covered| {
            shades.push((covered.min(1.0) * f32::from(SHADES)).round() as u8);
        });
        Self {
            left: bounds.min.x as i32,
            top: bounds.min.y as i32,
            width: bounds.width() as usize,
            shades,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::canvas::Align;
    use crate::report::style::INK;

    #[test]
    fn a_png_has_twice_the_size_and_reproducible_bytes() {
        let mut canvas = Canvas::new("t", 100.0, 60.0);
        let (text, at) = ("x".to_owned(), (50.0, 30.0));
        canvas.text(Label {
            text,
            at,
            size: 20.0,
            weight: Weight::Regular,
            colour: INK,
            align: Align::Left,
        });
        let mut raster = Raster::default();
        let bytes = canvas.to_png(&mut raster);
        assert_eq!(
            canvas.to_png(&mut raster),
            bytes,
            "what was drawn before does not show"
        );
        // PNG: signature (8), length and name of the header (8), width, height.
        assert_eq!(&bytes[16..24], [0, 0, 0, 200, 0, 0, 0, 120]);
    }

    #[test]
    fn an_image_with_many_colours_keeps_them() {
        for colours in [256_u32, 257] {
            let pixels: Vec<u8> = (0..colours)
                .flat_map(|at| [at.to_le_bytes()[0], at.to_le_bytes()[1], 7, 255])
                .collect();
            let bytes = encoded(&pixels, (colours, 1));
            let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
            decoder.set_transformations(png::Transformations::EXPAND);
            let mut reader = decoder.read_info().expect("a PNG");
            let mut found = vec![0; reader.output_buffer_size().expect("small")];
            reader.next_frame(&mut found).expect("its pixels");
            let wanted: Vec<u8> = pixels
                .chunks_exact(4)
                .flat_map(|pixel| &pixel[..3])
                .copied()
                .collect();
            assert_eq!(found, wanted, "{colours} colours");
        }
    }

    #[test]
    fn shapes_are_drawn_at_their_pixels() {
        let mut canvas = Canvas::new("t", 10.0, 10.0);
        canvas.rectangle((1.0, 1.0), (4.0, 4.0), Colour(200, 0, 0), 1.0);
        canvas.rectangle((4.25, 1.0), (6.75, 4.0), Colour(0, 200, 0), 1.0);
        canvas.rectangle((6.75, 1.0), (9.0, 4.0), Colour(0, 200, 0), 1.0);
        canvas.line(
            (0.0, 8.0),
            (10.0, 8.0),
            crate::report::canvas::Stroke::solid(INK, 1.0),
        );
        let mut raster = Raster::default();
        canvas.to_png(&mut raster);
        let pixel = |x: usize, y: usize| &raster.pixels[(y * 20 + x) * 4..][..3];
        let Colour(red, green, blue) = INK;
        let (paper, ink, green_ones) = ([255; 3], [red, green, blue], [0, 200, 0]);
        for (x, y, wanted) in [
            (2, 2, [200, 0, 0]),
            (8, 9, paper),
            (13, 4, green_ones),
            (14, 4, green_ones),
            (5, 15, ink),
            (5, 17, paper),
        ] {
            assert_eq!(pixel(x, y), wanted, "at {x}, {y}");
        }
    }
}

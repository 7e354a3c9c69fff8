//! A chart as PNG.
//!
//! A picture of at most 256 colours, as nearly all charts are, is written with a palette: a third of the bytes to
//! compress, and a smaller file. The data is compressed by [`super::deflate`], everything else is written by a library.

use ab_glyph::{Font, point};

use super::canvas::{Align, Canvas, GRID_PER_PX, Label, PNG_PER_PX, Position, Shape, grid_length, grid_point, on_grid};
use super::deflate::compressed;
use super::raster::{PixelPlace, Raster};
use super::text::{face, lay_out, px_scale};

/// Pixels of a PNG in a grid step.
const PNG_PER_GRID: f32 = PNG_PER_PX as f32 / GRID_PER_PX as f32;

impl Canvas {
    /// The chart as PNG, [`PNG_PER_PX`] pixels for each of its own. It is drawn in `raster`, which may serve many
    /// charts.
    pub(super) fn to_png(&self, raster: &mut Raster) -> Vec<u8> {
        let size = self.pixels(f64::from(PNG_PER_PX));
        raster.begin(size);
        for shape in &self.shapes {
            match shape {
                Shape::Path(points, stroke) => {
                    let width = grid_length(stroke.width).max(1) as f32 * PNG_PER_GRID;
                    raster.line(&in_pixels(points), width, stroke.colour);
                }
                Shape::Area(points, colour, opacity) => raster.area(&in_pixels(points), *colour, *opacity as f32),
                Shape::Dot(middle, radius, colour, opacity) => {
                    let radius = grid_length(*radius) as f32 * PNG_PER_GRID;
                    raster.dot(in_pixel(grid_point(middle)), radius, *colour, *opacity as f32);
                }
                Shape::Text(label) => draw_text(raster, label),
            }
        }
        encoded(raster.pixels(), size)
    }
}

fn in_pixels(points: &[Position]) -> Vec<PixelPlace> {
    on_grid(points).into_iter().map(in_pixel).collect()
}

fn in_pixel((x, y): (i32, i32)) -> PixelPlace {
    (x as f32 * PNG_PER_GRID, y as f32 * PNG_PER_GRID)
}

fn draw_text(raster: &mut Raster, label: &Label) {
    let scale = f64::from(PNG_PER_PX);
    let em = label.size * scale;
    let (glyphs, width) = lay_out(&label.text, em, label.weight);
    let left = label.at.0 * scale
        - match label.align {
            Align::Left => 0.0,
            Align::Middle => width / 2.0,
            Align::Right => width,
        };
    let baseline = label.at.1 * scale;
    for (glyph, at) in glyphs {
        let place = point((left + at) as f32, baseline as f32);
        let placed = glyph.with_scale_and_position(px_scale(em, label.weight), place);
        let Some(outline) = face(label.weight).outline_glyph(placed) else { continue };
        let corner = outline.px_bounds().min;
        let (left, top) = (corner.x as i32, corner.y as i32);
        outline.draw(|x, y, ink| raster.pixel(left + x as i32, top + y as i32, ink, label.colour));
    }
}

/// The bytes of the file.
fn encoded(pixels: &[u32], (width, height): (u32, u32)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    let (data, pixel) = match Palette::of(pixels) {
        Some((palette, data)) => {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette.colours.iter().flat_map(channels).collect::<Vec<u8>>());
            (data, 1)
        }
        None => {
            encoder.set_color(png::ColorType::Rgb);
            (pixels.iter().flat_map(channels).collect(), 3)
        }
    };
    // Each row begins with the number of its filter: 0 for none, because flat colours repeat as they are.
    let row = width as usize * pixel;
    let mut rows = Vec::with_capacity(data.len() + height as usize);
    for row in data.chunks_exact(row) {
        rows.push(0);
        rows.extend_from_slice(row);
    }
    let mut image = encoder.write_header().expect("memory takes every byte");
    image.write_chunk(png::chunk::IDAT, &compressed(&rows, [pixel, row + 1])).expect("memory takes every byte");
    image.finish().expect("memory takes every byte");
    bytes
}

/// Red, green and blue.
fn channels(pixel: &u32) -> [u8; 3] {
    let [_, red, green, blue] = pixel.to_be_bytes();
    [red, green, blue]
}

/// The colours of a picture, in the order in which they occur.
#[derive(Debug, Default)]
struct Palette {
    colours: Vec<u32>,
    /// Places in `colours` by a hash of the colour. 0: free; else one more than the place.
    slots: Vec<u16>,
}

impl Palette {
    const MOST: usize = 256;
    const SLOTS: usize = 1024;
    /// Pixels that are compared at once.
    const STEP: usize = 16;

    /// The palette, and the place of each pixel's colour in it. `None`: there are too many colours.
    fn of(pixels: &[u32]) -> Option<(Self, Vec<u8>)> {
        let mut palette = Self { colours: Vec::new(), slots: vec![0; Self::SLOTS] };
        let mut data = Vec::with_capacity(pixels.len());
        let mut at = 0;
        while let Some(&colour) = pixels.get(at) {
            let place = palette.place(colour)?;
            let is_same = |part: &[u32]| part.iter().fold(0, |any, pixel| any | (pixel ^ colour)) == 0;
            let mut end = at + 1;
            while pixels.get(end..end + Self::STEP).is_some_and(is_same) {
                end += Self::STEP;
            }
            while pixels.get(end) == Some(&colour) {
                end += 1;
            }
            data.resize(end, place);
            at = end;
        }
        Some((palette, data))
    }

    fn place(&mut self, colour: u32) -> Option<u8> {
        let mut slot = (colour.wrapping_mul(0x9E37_79B1) >> 22) as usize;
        loop {
            match self.slots[slot] {
                0 if self.colours.len() == Self::MOST => return None,
                0 => {
                    self.colours.push(colour);
                    self.slots[slot] = self.colours.len() as u16;
                }
                known if self.colours[usize::from(known) - 1] == colour => return Some((known - 1) as u8),
                _ => slot = (slot + 1) % Self::SLOTS,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::canvas::Stroke;
    use super::super::style::{Colour, INK};
    use super::super::text::Weight;
    use super::*;

    /// Width, height and the pixels of a PNG.
    fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u32>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut data = vec![0; reader.output_buffer_size().expect("it fits")];
        let info = reader.next_frame(&mut data).expect("one picture");
        let pixel = |channels: &[u8]| u32::from_be_bytes([0, channels[0], channels[1], channels[2]]);
        (info.width, info.height, data[..info.buffer_size()].chunks_exact(3).map(pixel).collect())
    }

    #[test]
    fn a_picture_reads_back_with_a_palette_and_without() {
        for colours in [1_u32, 2, 255, 256, 257, 5_000] {
            let pixels: Vec<u32> = (0..100 * 60).map(|at| at % colours * 2_654 % 0x100_0000).collect();
            assert_eq!(Palette::of(&pixels).is_some(), colours <= 256, "{colours} colours");
            assert_eq!(decoded(&encoded(&pixels, (100, 60))), (100, 60, pixels), "{colours} colours");
        }
    }

    #[test]
    fn a_chart_has_twice_its_size_and_what_the_memory_held_before_does_not_show() {
        let mut canvas = Canvas::new("t", 100.0, 60.0);
        let (at, size, weight) = ((50.0, 30.0), 20.0, Weight::Regular);
        canvas.text(Label { text: "x".to_owned(), at, size, weight, colour: INK, align: Align::Left });
        canvas.line((0.0, 50.0), (100.0, 50.0), Stroke::solid(INK, 1.0));
        let mut raster = Raster::default();
        let bytes = canvas.to_png(&mut raster);
        let mut other = Canvas::new("t", 300.0, 20.0);
        other.area(vec![(0.0, 0.0), (300.0, 5.0), (0.0, 20.0)], Colour(9, 9, 9), 0.7);
        other.to_png(&mut raster);
        assert_eq!(canvas.to_png(&mut raster), bytes);
        let (width, height, pixels) = decoded(&bytes);
        assert_eq!((width, height), (200, 120));
        // A line of 1 px on the edge of two of the picture's rows.
        let column: Vec<u32> = (96..104).map(|row| pixels[row * 200 + 7]).collect();
        let ink = 0x1F_2937;
        assert_eq!(column, [0xFF_FFFF, 0xFF_FFFF, 0xFF_FFFF, ink, ink, 0xFF_FFFF, 0xFF_FFFF, 0xFF_FFFF]);
        assert!(pixels.iter().filter(|pixel| **pixel == ink).count() > 450, "the letter is there");
    }
}

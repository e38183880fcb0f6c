//! A picture in memory.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use thiserror::Error;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// A picture that cannot be encoded.
#[derive(Debug, Error)]
#[error("a picture of {width} x {height} pixels cannot be encoded: {source}")]
pub struct FigureError {
    width: usize,
    height: usize,
    source: png::EncodingError,
}

/// A picture of width x height pixels, from the upper left corner.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A picture of one colour.
    pub(super) fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, pixels: colour.repeat(width * height) }
    }

    /// The colour of a pixel.
    #[cfg(test)]
    pub(super) fn pixel(&self, x: usize, y: usize) -> Colour {
        let at = 3 * (y * self.width + x);
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// Lays a colour over a pixel, `cover` of 1 hiding what was there; pixels outside are left out.
    pub(super) fn blend(&mut self, x: i64, y: i64, colour: Colour, cover: f64) {
        let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
        if !inside || cover <= 0.0 {
            return;
        }
        let at = 3 * (y as usize * self.width + x as usize);
        for (below, above) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            let mixed = f64::from(*below) + (f64::from(above) - f64::from(*below)) * cover.min(1.0);
            *below = mixed.round() as u8;
        }
    }

    /// Fills a rectangle, its edges rounded to whole pixels.
    pub(super) fn fill(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour) {
        let inside = |edge: f64, length: usize| (edge.round() as i64).clamp(0, length as i64) as usize;
        let columns = inside(x, self.width)..inside(x + width, self.width);
        for row in inside(y, self.height)..inside(y + height, self.height) {
            let line = self.pixels[3 * row * self.width..].as_chunks_mut().0;
            line[columns.start..columns.end.max(columns.start)].fill(colour);
        }
    }

    /// Draws a straight stroke with round ends. A pixel is covered as far as its centre lies inside.
    pub(super) fn stroke(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        let half = width / 2.0;
        let along = (to.0 - from.0, to.1 - from.1);
        let length = (along.0 * along.0 + along.1 * along.1).max(1e-12);
        let span =
            |a: f64, b: f64| (a.min(b) - half - 1.0).floor() as i64..=(a.max(b) + half + 1.0).ceil() as i64;
        for row in span(from.1, to.1) {
            for column in span(from.0, to.0) {
                let offset = (column as f64 + 0.5 - from.0, row as f64 + 0.5 - from.1);
                let place = ((offset.0 * along.0 + offset.1 * along.1) / length).clamp(0.0, 1.0);
                let apart = (offset.0 - place * along.0, offset.1 - place * along.1);
                // Most pixels about a dot are further away than a stroke reaches.
                if apart.0.abs().max(apart.1.abs()) < half + 0.5 {
                    self.blend(column, row, colour, half + 0.5 - apart.0.hypot(apart.1));
                }
            }
        }
    }

    /// Writes a text with its upper left corner at (x, y); `upwards` turns it by a quarter, so that it ends above (x,
    /// y).
    pub(super) fn write(
        &mut self,
        (x, y): (f64, f64),
        text: &str,
        height: RasterHeight,
        upwards: bool,
        colour: Colour,
    ) {
        let x = x.round() as i64;
        let y = y.round() as i64;
        let advance = get_raster_width(FontWeight::Regular, height) as i64;
        for (k, character) in text.chars().enumerate() {
            let Some(glyph) = get_raster(character, FontWeight::Regular, height)
                .or_else(|| get_raster('?', FontWeight::Regular, height))
            else {
                continue;
            };
            for (row, line) in glyph.rows().enumerate() {
                for (column, cover) in line.iter().enumerate() {
                    let right = k as i64 * advance + column as i64;
                    let down = row as i64;
                    let (right, down) = if upwards { (down, -right) } else { (right, down) };
                    self.blend(x + right, y + down, colour, f64::from(*cover) / 255.0);
                }
            }
        }
    }

    /// The picture as a PNG file.
    pub(super) fn to_png(&self) -> Result<Vec<u8>, FigureError> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes).map_err(|source| FigureError {
            width: self.width,
            height: self.height,
            source,
        })?;
        Ok(bytes)
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_are_cut_at_the_edge() {
        let mut canvas = Canvas::new(4, 3, [0; 3]);
        canvas.fill(2.0, 1.0, 10.0, 10.0, [9, 8, 7]);
        assert_eq!(canvas.pixel(3, 2), [9, 8, 7]);
        assert_eq!(canvas.pixel(1, 1), [0; 3]);
    }

    #[test]
    fn a_stroke_covers_its_width_and_no_more() {
        let mut canvas = Canvas::new(20, 9, [0; 3]);
        canvas.stroke((0.0, 4.5), (20.0, 4.5), 3.0, [200; 3]);
        let column: Vec<u8> = (0..9).map(|y| canvas.pixel(10, y)[0]).collect();
        assert_eq!(column, [0, 0, 0, 200, 200, 200, 0, 0, 0]);
    }

    #[test]
    fn png_files_can_be_read_back() {
        let mut canvas = Canvas::new(40, 30, [255; 3]);
        canvas.write((0.0, 0.0), "a1", RasterHeight::Size24, false, [1, 2, 3]);
        let bytes = canvas.to_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels == canvas.pixels);
        assert!(pixels.chunks(3).any(|pixel| pixel[0] < 60));
    }
}

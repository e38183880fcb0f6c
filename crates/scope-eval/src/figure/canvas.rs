//! A picture in memory.

use font8x8::UnicodeFonts;
use thiserror::Error;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// The side of a character.
pub(super) const CHARACTER: usize = 8;

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
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A picture of one colour.
    pub fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, pixels: colour.repeat(width * height) }
    }

    /// The width and the height.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The colour of a pixel.
    pub fn pixel(&self, x: usize, y: usize) -> Colour {
        let at = 3 * (y * self.width + x);
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// Fills a rectangle; what lies outside is cut off.
    pub fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(self.width) {
                let at = 3 * (row * self.width + column);
                self.pixels[at..at + 3].copy_from_slice(&colour);
            }
        }
    }

    /// Writes a text with its upper left corner at (x, y), in characters of 8 x 8 pixels times `scale`.
    pub fn write(&mut self, x: usize, y: usize, text: &str, scale: usize, colour: Colour) {
        for (k, character) in text.chars().enumerate() {
            let glyph = font8x8::BASIC_FONTS.get(character).unwrap_or([0; CHARACTER]);
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..CHARACTER).filter(|column| bits >> column & 1 == 1) {
                    let left = x + (k * CHARACTER + column) * scale;
                    self.fill(left, y + row * scale, scale, scale, colour);
                }
            }
        }
    }

    /// The picture as a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, FigureError> {
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
        canvas.fill(2, 1, 10, 10, [9, 8, 7]);
        assert_eq!(canvas.pixel(3, 2), [9, 8, 7]);
        assert_eq!(canvas.pixel(1, 1), [0; 3]);
    }

    #[test]
    fn png_files_can_be_read_back() {
        let mut canvas = Canvas::new(40, 10, [255; 3]);
        canvas.write(0, 0, "a1", 1, [1, 2, 3]);
        let bytes = canvas.to_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels == canvas.pixels);
        assert!(pixels.chunks(3).any(|pixel| pixel == [1, 2, 3]));
    }
}

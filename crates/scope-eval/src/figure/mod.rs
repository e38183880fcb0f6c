//! Figures, drawn pixel by pixel and written as PNG.

mod canvas;
mod masks;

pub use canvas::{Canvas, Colour, FigureError};
pub use masks::{mask_gallery, mask_panels};

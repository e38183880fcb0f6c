//! Figures: pictures drawn pixel by pixel and written as PNG, curves as SVG.

mod canvas;
mod curves;
mod masks;

pub use canvas::{Canvas, Colour, FigureError};
pub use curves::{Curve, curves_svg};
pub use masks::{mask_gallery, mask_panels};

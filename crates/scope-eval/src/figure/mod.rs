//! Figures: drawings of rectangles, lines, letters and images, written as SVG or PNG.

mod axes;
mod bars;
mod canvas;
mod curves;
mod drawing;
mod fields;
mod masks;
mod panel_axes;

pub use axes::Scale;
pub(crate) use bars::{Bars, bar_chart};
pub use canvas::{Colour, FigureError};
pub use curves::{AxisLabel, Curve, CurveChart, Level};
pub use drawing::{Anchor, Drawing, Letters};
pub use fields::{FieldPanel, FieldPicture, FieldRow, Measure};
pub use masks::{mask_gallery, mask_panels};
pub use panel_axes::PanelAxes;

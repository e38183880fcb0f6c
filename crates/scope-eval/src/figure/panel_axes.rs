//! The axes of panels, and where a panel's pixels are drawn.

use scope_data::GridShape;
use scope_pde::Pde;

use super::drawing::{Anchor, Drawing, INK, Letters};

/// The longer side of a panel.
const SIDE: f64 = 170.0;
/// The shorter side of a panel, as a share of the longer one, at least.
const LEAST_ASPECT: f64 = 0.2;
/// Left of the first panel: for the name of the row and short numbers of its axis.
const LEFT: f64 = 46.0;
/// The part of it for the row's name.
const NAME: f64 = 26.0;
/// Between the numbers of the axis and the panel.
const BESIDE: f64 = 5.0;

/// The axes of panels: what they are called, and where they begin and end. A panel has the proportions that they state.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelAxes {
    /// The names of axis 0, to the right, and of axis 1, upwards.
    pub names: [String; 2],
    /// Their beginnings and ends.
    pub bounds: [[f64; 2]; 2],
}

impl Default for PanelAxes {
    /// Those of the unit square.
    fn default() -> Self {
        Self { names: ["x", "y"].map(str::to_owned), bounds: [[0.0, 1.0]; 2] }
    }
}

impl PanelAxes {
    /// Those of a problem.
    pub fn of(pde: Pde) -> Self {
        let extent = pde.descriptor().extent;
        Self { names: extent.labels(), bounds: extent.bounds }
    }

    /// Width and height of a panel.
    pub(super) fn panel_size(&self) -> (f64, f64) {
        let [x, y] = self.bounds.map(|[low, high]| (high - low).abs());
        let shown = |length: f64| SIDE * (length / x.max(y)).clamp(LEAST_ASPECT, 1.0);
        (shown(x), shown(y))
    }

    /// The room that is left of the first panel.
    pub(super) fn room(&self) -> f64 {
        let widest = self.marks(1).into_iter().map(|(_, text)| Letters::Small.width(&text));
        LEFT.max(NAME + widest.fold(0.0, f64::max) + BESIDE)
    }

    /// What stands along an axis, and where: its ends, and its name between them.
    fn marks(&self, axis: usize) -> [(f64, String); 3] {
        let [low, high] = self.bounds[axis].map(|end| format!("{end}"));
        [(0.0, low), (0.5, self.names[axis].clone()), (1.0, high)]
    }
}

/// Where a panel is drawn, and which grid it shows.
pub(super) struct PanelPlace {
    /// Its upper left corner.
    pub(super) at: (f64, f64),
    /// Width and height.
    pub(super) size: (f64, f64),
    pub(super) grid: GridShape,
}

impl PanelPlace {
    /// The middle of a place that is counted in pixels: pixel (i, j) has its middle at (i + 1/2, j + 1/2) of the pixels
    /// drawn.
    pub(super) fn centre(&self, [i, j]: [f64; 2]) -> (f64, f64) {
        let x = (i + 0.5) / self.grid.rows as f64 * self.size.0;
        let y = (j + 0.5) / self.grid.columns as f64 * self.size.1;
        (self.at.0 + x, self.at.1 + self.size.1 - y)
    }

    /// The side of a pixel, the shorter one.
    pub(super) fn pixel(&self) -> f64 {
        (self.size.0 / self.grid.rows as f64).min(self.size.1 / self.grid.columns as f64)
    }

    /// Draws the axes below the panel and left of it.
    pub(super) fn draw_axes(&self, drawing: &mut Drawing, axes: &PanelAxes) {
        let (left, top) = self.at;
        for (share, text) in axes.marks(0) {
            let place = (left + share * self.size.0, top + self.size.1 + 12.0);
            drawing.text(place, &text, Letters::Small, Anchor::Middle, INK);
        }
        for (share, text) in axes.marks(1) {
            let place = (left - BESIDE, top + self.size.1 * (1.0 - share) + 3.5);
            drawing.text(place, &text, Letters::Small, Anchor::End, INK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_have_the_proportions_of_their_axes() {
        let axes = |x: f64, y: f64| PanelAxes { bounds: [[0.0, x], [-y, 0.0]], ..PanelAxes::default() };
        assert_eq!(PanelAxes::default().panel_size(), (SIDE, SIDE));
        assert_eq!(axes(2.0, 3.0).panel_size(), (SIDE * 2.0 / 3.0, SIDE));
        assert_eq!(axes(100.0, 1.0).panel_size(), (SIDE, SIDE * LEAST_ASPECT));
        assert_eq!((PanelAxes::default().room(), axes(1.0, 123456.5).room() > LEFT), (LEFT, true));
    }

    #[test]
    fn pixels_of_a_rectangle_lie_where_the_axes_say() {
        let grid = GridShape { rows: 2, columns: 4 };
        let place = PanelPlace { at: (10.0, 20.0), size: (100.0, 40.0), grid };
        assert_eq!(place.centre([0.0, 0.0]), (35.0, 55.0));
        assert_eq!(place.centre([1.0, 3.0]), (85.0, 25.0));
    }
}

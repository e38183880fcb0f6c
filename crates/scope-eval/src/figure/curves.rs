//! Curves: losses over draws, errors over sensor budgets.

use super::{
    axes::{Area, Axis, Scale},
    drawing::{Anchor, Drawing, INK, Letters, SERIES},
};

/// One curve: a name and its points (x, y).
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// The name of an axis and how it is spaced.
#[derive(Clone, Copy, Debug)]
pub struct AxisLabel<'a> {
    /// What it measures.
    pub name: &'a str,
    /// How it spaces values.
    pub scale: Scale,
}

const SIZE: (f64, f64) = (560.0, 340.0);
/// Room for the axes' names and the title: left, top, bottom; and a gap before the legend.
const MARGINS: [f64; 3] = [64.0, 30.0, 42.0];
const LEGEND_GAP: f64 = 12.0;
/// Points drawn per curve: more than a screen shows.
const MOST_POINTS: usize = 600;
/// Fewer points than this are marked by dots.
const FEW_POINTS: usize = 20;

/// A chart of curves with a legend at its right.
pub fn curve_chart(title: &str, x: AxisLabel<'_>, y: AxisLabel<'_>, curves: &[Curve]) -> Drawing {
    let points = || curves.iter().flat_map(|curve| &curve.points).filter(|point| y.scale.shows(point.1));
    let x_axis = Axis::over(x.scale, points().map(|point| point.0));
    let y_axis = Axis::over(y.scale, points().map(|point| point.1));
    let [left, top, bottom] = MARGINS;
    let legend = curves.iter().map(|curve| Letters::Small.width(&curve.name)).fold(0.0, f64::max);
    let mut drawing = Drawing::new(left + SIZE.0 + 2.0 * LEGEND_GAP + 16.0 + legend, top + SIZE.1 + bottom);
    let area = Area { at: (left, top), size: SIZE };
    drawing.text((left, top - 12.0), title, Letters::Normal, Anchor::Start, INK);
    area.draw_vertical(&mut drawing, &y_axis, y.name);
    area.draw_horizontal(&mut drawing, &x_axis, x.name);
    drawing.frame(area.at, area.size, INK);
    for (k, curve) in curves.iter().enumerate() {
        let colour = SERIES[k % SERIES.len()];
        let step = curve.points.len().div_ceil(MOST_POINTS).max(1);
        let drawn: Vec<(f64, f64)> = (curve.points.iter().step_by(step))
            .filter(|point| x.scale.shows(point.0) && y.scale.shows(point.1))
            .map(|point| (area.x(&x_axis, point.0), area.y(&y_axis, point.1)))
            .collect();
        drawing.stroke(&drawn, 1.5, colour);
        if drawn.len() < FEW_POINTS {
            drawn.iter().for_each(|point| drawing.dot(*point, 5.0, colour));
        }
        let (x, y) = (left + SIZE.0 + LEGEND_GAP, top + 10.0 + 16.0 * k as f64);
        drawing.stroke(&[(x, y - 3.0), (x + 12.0, y - 3.0)], 2.0, colour);
        drawing.text((x + 16.0, y), &curve.name, Letters::Small, Anchor::Start, INK);
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: AxisLabel<'_> = AxisLabel { name: "draws", scale: Scale::Linear };
    const LOSS: AxisLabel<'_> = AxisLabel { name: "loss", scale: Scale::Log };

    #[test]
    fn a_chart_has_a_name_for_each_curve_and_few_points() {
        let curve = |name: &str, scale: f64| Curve {
            name: name.to_owned(),
            points: (0..2_000).map(|k| (f64::from(k), scale / f64::from(k + 1))).collect(),
        };
        let curves = [curve("F", 1.0), curve("J", 10.0), curve("none", 0.0)];
        let svg = curve_chart("losses", DRAWS, LOSS, &curves).to_svg().unwrap();
        assert!(
            [">F<", ">J<", ">none<", ">losses<", ">0.001<", ">10<"].iter().all(|text| svg.contains(text))
        );
        assert!(svg.matches(" L").count() < 3 * MOST_POINTS);
        assert!(curve_chart("empty", DRAWS, LOSS, &[]).to_png().is_ok());
    }
}

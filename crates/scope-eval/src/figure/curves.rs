//! Curves: losses and errors over draws, errors over sensor budgets.

use serde::{Deserialize, Serialize};

use super::{
    axes::{Area, Axis, Scale},
    canvas::Colour,
    drawing::{Anchor, Drawing, INK, Letters, series_colour},
};

/// One curve: a name and its points (x, y).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// A value that curves are compared with: a dashed line across the chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// What it is called in the legend.
    pub name: String,
    /// Its height.
    pub value: f64,
}

/// The name of an axis and how it is spaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisLabel {
    /// What it measures.
    pub name: String,
    /// How it spaces values.
    pub scale: Scale,
}

impl AxisLabel {
    /// An axis of this name.
    pub fn new(name: impl Into<String>, scale: Scale) -> Self {
        Self { name: name.into(), scale }
    }
}

/// A chart of curves and levels, with a legend at its right: all that it shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveChart {
    /// What stands above it.
    pub title: String,
    /// The horizontal axis.
    pub x: AxisLabel,
    /// The vertical axis.
    pub y: AxisLabel,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// What they are compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
}

const SIZE: (f64, f64) = (560.0, 340.0);
/// Room for the axes' names and the title: left, top, bottom; and a gap before the legend.
const MARGINS: [f64; 3] = [64.0, 30.0, 42.0];
const LEGEND_GAP: f64 = 12.0;
const LEGEND_LINE: f64 = 16.0;
/// The colours of levels: apart from each other in print too.
const LEVELS: [Colour; 2] = [INK, [150, 150, 150]];
/// Points drawn per curve: more than a screen shows.
const MOST_POINTS: usize = 600;
/// Fewer points than this are marked by dots.
const FEW_POINTS: usize = 20;

impl CurveChart {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        let Self { title, x, y, curves, levels } = self;
        let points = || curves.iter().flat_map(|curve| &curve.points).filter(|point| y.scale.shows(point.1));
        let x_axis = Axis::over(x.scale, points().map(|point| point.0));
        let heights = points().map(|point| point.1).chain(levels.iter().map(|level| level.value));
        let y_axis = Axis::over(y.scale, heights);
        let [left, top, bottom] = MARGINS;
        let names = curves.iter().map(|curve| &curve.name).chain(levels.iter().map(|level| &level.name));
        let legend = names.map(|name| Letters::Small.width(name)).fold(0.0, f64::max);
        let mut drawing =
            Drawing::new(left + SIZE.0 + 2.0 * LEGEND_GAP + 16.0 + legend, top + SIZE.1 + bottom);
        let area = Area { at: (left, top), size: SIZE };
        drawing.text((left, top - 12.0), title, Letters::Normal, Anchor::Start, INK);
        area.draw_vertical(&mut drawing, &y_axis, &y.name);
        area.draw_horizontal(&mut drawing, &x_axis, &x.name);
        drawing.frame(area.at, area.size, INK);
        for (k, level) in levels.iter().enumerate().filter(|(_, level)| y.scale.shows(level.value)) {
            let height = area.y(&y_axis, level.value);
            let colour = LEVELS[k % LEVELS.len()];
            drawing.dashes((left, height), (left + SIZE.0, height), 1.25, colour);
            let (from, to) = key(&mut drawing, curves.len() + k, &level.name);
            drawing.dashes(from, to, 1.25, colour);
        }
        for (k, curve) in curves.iter().enumerate() {
            let colour = series_colour(k);
            let step = curve.points.len().div_ceil(MOST_POINTS).max(1);
            let drawn: Vec<(f64, f64)> = (curve.points.iter().step_by(step))
                .filter(|point| x.scale.shows(point.0) && y.scale.shows(point.1))
                .map(|point| (area.x(&x_axis, point.0), area.y(&y_axis, point.1)))
                .collect();
            drawing.stroke(&drawn, 1.5, colour);
            if drawn.len() < FEW_POINTS {
                drawn.iter().for_each(|point| drawing.dot(*point, 5.0, colour));
            }
            let (from, to) = key(&mut drawing, k, &curve.name);
            drawing.stroke(&[from, to], 2.0, colour);
        }
        drawing
    }
}

/// Writes a line of the legend, and tells where its key goes.
fn key(drawing: &mut Drawing, line: usize, name: &str) -> ((f64, f64), (f64, f64)) {
    let [left, top, _] = MARGINS;
    let x = left + SIZE.0 + LEGEND_GAP;
    let y = top + 10.0 + LEGEND_LINE * line as f64;
    drawing.text((x + 16.0, y), name, Letters::Small, Anchor::Start, INK);
    ((x, y - 3.0), (x + 12.0, y - 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(curves: Vec<Curve>, levels: Vec<Level>) -> CurveChart {
        let x = AxisLabel::new("draws", Scale::Linear);
        let y = AxisLabel::new("loss", Scale::Log);
        CurveChart { title: "losses".to_owned(), x, y, curves, levels }
    }

    #[test]
    fn a_chart_has_a_name_for_each_curve_and_few_points() {
        let curve = |name: &str, scale: f64| Curve {
            name: name.to_owned(),
            points: (0..2_000).map(|k| (f64::from(k), scale / f64::from(k + 1))).collect(),
        };
        let curves = vec![curve("F", 1.0), curve("J", 10.0), curve("none", 0.0)];
        let svg = chart(curves, Vec::new()).draw().to_svg().unwrap();
        assert!(
            [">F<", ">J<", ">none<", ">losses<", ">0.001<", ">10<"].iter().all(|text| svg.contains(text))
        );
        assert!(svg.matches(" L").count() < 3 * MOST_POINTS);
        assert!(chart(Vec::new(), Vec::new()).draw().to_png().is_ok());
    }

    #[test]
    fn levels_are_dashed_and_have_room() {
        let curve = Curve { name: "ours".to_owned(), points: vec![(1.0, 40.0), (2.0, 30.0)] };
        let level = Level { name: "theirs".to_owned(), value: 3.0 };
        let svg = chart(vec![curve], vec![level]).draw().to_svg().unwrap();
        assert!([">ours<", ">theirs<", ">2<", ">50<"].iter().all(|text| svg.contains(text)), "{svg}");
        assert!(svg.matches("stroke-dasharray").count() == 2, "the level and its key");
    }
}

//! Bar charts on logarithmic axes, as in the paper's comparison figure.

use super::{
    axes::{Area, Axis, Scale, short},
    drawing::{Anchor, Drawing, INK, Letters, series_colour},
};

/// One method's bars.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// The method.
    pub(crate) name: String,
    /// Its mean and standard deviation in each group; none where it was not measured.
    pub(crate) values: Vec<Option<(f64, f64)>>,
}

const BAR: f64 = 16.0;
const GROUP_GAP: f64 = 26.0;
const HEIGHT: f64 = 220.0;
/// Between a whisker and the number above it.
const NUMBER_GAP: f64 = 4.0;
/// Room at the left for the axis, above for title and numbers, below for groups and legend.
const MARGINS: [f64; 3] = [56.0, 40.0, 26.0];

/// A chart with a group of bars for each name in `groups`, one bar a method, whiskers of one standard deviation. A
/// lower whisker that would reach zero ends at the axis.
pub(crate) fn bar_chart(title: &str, y_name: &str, groups: &[String], bars: &[Bars]) -> Drawing {
    let axis = axis_with_room(bars);
    let [left, top, bottom] = MARGINS;
    let group = bars.len() as f64 * BAR + GROUP_GAP;
    let width = (groups.len() as f64 * group + GROUP_GAP).max(Letters::Normal.width(title));
    let area = Area { at: (left, top), size: (width, HEIGHT) };
    let legend_height = 16.0 * bars.len() as f64 + 8.0;
    let mut drawing = Drawing::new(left + width + 12.0, top + HEIGHT + bottom + legend_height);
    drawing.text((left, top - 20.0), title, Letters::Normal, Anchor::Start, INK);
    area.draw_vertical(&mut drawing, &axis, y_name);
    drawing.frame(area.at, area.size, INK);
    for (g, name) in groups.iter().enumerate() {
        let start = left + GROUP_GAP + g as f64 * group;
        for (k, bars) in bars.iter().enumerate() {
            if let Some(Some(value)) = bars.values.get(g) {
                draw_bar(&mut drawing, &area, &axis, start + k as f64 * BAR, *value, k);
            }
        }
        let middle = start + bars.len() as f64 * BAR / 2.0;
        drawing.text((middle, top + HEIGHT + 14.0), name, Letters::Small, Anchor::Middle, INK);
    }
    for (k, bars) in bars.iter().enumerate() {
        let y = top + HEIGHT + bottom + 12.0 + 16.0 * k as f64;
        drawing.rectangle((left, y - 9.0), (10.0, 10.0), series_colour(k));
        drawing.text((left + 16.0, y), &bars.name, Letters::Small, Anchor::Start, INK);
    }
    drawing
}

/// An axis on which every bar has room for its number above it.
fn axis_with_room(bars: &[Bars]) -> Axis {
    let values = || bars.iter().flat_map(|bars| bars.values.iter().flatten());
    let reach = |most: f64| {
        let ends = values().flat_map(|(mean, sd)| [0.6 * mean, mean + sd]);
        Axis::over(Scale::Log, ends.chain((most > 0.0).then_some(most)))
    };
    let fits = |axis: &Axis, (mean, sd): &(f64, f64)| {
        let room = NUMBER_GAP + Letters::Small.width(&number(*mean));
        (1.0 - axis.place(mean + sd)) * HEIGHT >= room
    };
    let mut most = values().map(|(mean, sd)| mean + sd).fold(0.0, f64::max);
    let mut axis = reach(most);
    // Values of many decades have no room ever: they are drawn as they are.
    for _ in 0..24 {
        if values().all(|value| fits(&axis, value)) {
            break;
        }
        most *= 1.3;
        axis = reach(most);
    }
    axis
}

/// What stands above a bar.
fn number(mean: f64) -> String {
    short((mean * 100.0).round() / 100.0)
}

fn draw_bar(drawing: &mut Drawing, area: &Area, axis: &Axis, x: f64, (mean, sd): (f64, f64), series: usize) {
    let top = area.y(axis, mean);
    let bottom = area.at.1 + area.size.1;
    drawing.rectangle((x + 1.0, top), (BAR - 2.0, bottom - top), series_colour(series));
    let low = area.y(axis, mean - sd);
    let high = area.y(axis, mean + sd);
    let middle = x + BAR / 2.0;
    drawing.stroke(&[(middle, low), (middle, high)], 1.0, INK);
    for end in [low, high] {
        drawing.stroke(&[(middle - 2.5, end), (middle + 2.5, end)], 1.0, INK);
    }
    let number = number(mean);
    drawing.text_upwards(
        (middle + 3.5, high - NUMBER_GAP - Letters::Small.width(&number) / 2.0),
        &number,
        Letters::Small,
        INK,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_the_frame() {
        let bars =
            |mean: f64| [Bars { name: "Full".to_owned(), values: vec![Some((mean, 0.1 * mean)), None] }];
        for mean in [0.9, 1.81, 145.05, 909.0] {
            let end = mean * 1.1;
            let axis = axis_with_room(&bars(mean));
            let above = (1.0 - axis.place(end)) * HEIGHT;
            assert!(above >= Letters::Small.width(&number(mean)), "{mean}: {above}");
        }
        assert!(axis_with_room(&[]).place(1.0).is_finite());
    }

    #[test]
    fn more_bars_than_colours_have_colours_of_their_own() {
        let colours: std::collections::BTreeSet<_> = (0..21).map(series_colour).collect();
        assert_eq!(colours.len(), 21);
    }

    #[test]
    fn bars_that_were_not_measured_are_left_out() {
        let groups = ["Darcy".to_owned(), "Poisson".to_owned()];
        let bars = |name: &str, values| Bars { name: name.to_owned(), values };
        let drawing = bar_chart(
            "forward u",
            "error %",
            &groups,
            &[
                bars("Full", vec![Some((2.17, 0.9)), Some((1.68, 2.0))]),
                bars("SP-10M", vec![None, Some((1.67, 0.92))]),
            ],
        );
        let svg = drawing.to_svg().unwrap();
        // The paper, a bar for each of three values and two keys of the legend.
        assert_eq!(svg.matches("<rect").count(), 1 + 3 + 2);
        assert!([">2.17<", ">1.68<", ">1.67<", ">Darcy<", ">SP-10M<"].iter().all(|text| svg.contains(text)));
    }
}

//! Fields side by side: a row for each channel, and one colour scale for all panels that show the same thing.
//!
//! x runs to the right and y upwards, as sensors have them; the field's axis 0 is x.

use scope_data::{GridShape, observation::Mask};

use super::{
    canvas::Colour,
    drawing::{Anchor, Drawing, INK, Letters, PALE, PAPER},
    panel_axes::{PanelAxes, PanelPlace},
};

/// What a panel shows. Panels of a row that show the same thing share a scale and a colour bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The field itself, or measurements of it.
    Field,
    /// A difference: colours are symmetric about zero.
    Difference,
    /// A standard deviation: colours begin at zero.
    Deviation,
}

/// One picture of the values on a grid.
#[derive(Clone, Debug)]
pub struct FieldPanel<'a> {
    /// What stands above it.
    pub title: String,
    /// The values, row after row.
    pub values: &'a [f32],
    /// The points to show; all of them if there is no mask.
    pub shown: Option<&'a Mask>,
    /// What the values are.
    pub measure: Measure,
}

/// The panels of a channel.
#[derive(Clone, Debug)]
pub struct FieldRow<'a> {
    /// What the channel is called, with its unit.
    pub name: String,
    /// Grid points along each axis.
    pub grid: GridShape,
    /// From left to right; those of one measure stand together.
    pub panels: Vec<FieldPanel<'a>>,
}

/// Between panels, and between panels and their colour bar.
const GAP: f64 = 12.0;
const BAR: f64 = 9.0;
/// Room for the numbers beside a colour bar.
const NUMBERS: f64 = 58.0;
const TOP: f64 = 34.0;
/// Above a row for its titles, with another line where one is wider than its panel, and below it for the axis.
const TITLES: f64 = 20.0;
const TITLE_LINE: f64 = 12.0;
const BELOW: f64 = 22.0;
/// Around the dot of a sensor.
const RIM: Colour = [150, 150, 150];
/// The colour of warnings.
const ALARM: Colour = [176, 0, 32];
const WARNING_LINE: f64 = 13.0;
const HEADING_LINE: f64 = 16.0;
/// With more sensors than this, pixels are drawn instead of dots.
const MOST_DOTS: usize = 2500;
/// A field is signed when its smaller side is at least this share of its larger one.
const SIGNED_SHARE: f64 = 0.2;
/// The colours of a bar.
const SHADES: usize = 128;

/// Rows of panels under a heading, and what else is drawn with them.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldPicture<'a> {
    /// What stands above.
    pub heading: &'a str,
    /// A row for each channel.
    pub rows: &'a [FieldRow<'a>],
    /// Places marked by rings on every panel, in pixels along both axes.
    pub rings: &'a [[f64; 2]],
    /// Places marked by dots.
    pub dots: &'a [[f64; 2]],
    /// Its axes; those of the unit square if they are not stated.
    pub axes: Option<&'a PanelAxes>,
    /// What stands below: a picture is shown without what was printed beside it.
    pub warnings: &'a [String],
}

impl FieldPicture<'_> {
    /// Draws the picture.
    pub fn draw(self) -> Drawing {
        let Self { heading, rows, rings, dots, axes, warnings } = self;
        let axes = axes.cloned().unwrap_or_default();
        let size = axes.panel_size();
        let left_of_panels = axes.room();
        let group_width = |group: &[FieldPanel<'_>]| group.len() as f64 * (size.0 + GAP) + BAR + NUMBERS;
        let width = rows.iter().map(|row| groups(row).iter().map(|group| group_width(group)).sum::<f64>());
        let width = left_of_panels + width.fold(0.0, f64::max);
        let titles = TITLES + TITLE_LINE * (title_lines(rows, size.0) - 1) as f64;
        let each = titles + size.1 + BELOW;
        // A heading that is wider than the panels goes on below itself.
        let heading = wrapped(Letters::Normal, heading, width - left_of_panels);
        let first = TOP + HEADING_LINE * heading.len().saturating_sub(1) as f64;
        let below = first + each * rows.len() as f64;
        let lines: Vec<String> =
            warnings.iter().flat_map(|warning| wrapped(Letters::Small, warning, width - 2.0 * GAP)).collect();
        let mut drawing = Drawing::new(width, below + WARNING_LINE * lines.len() as f64);
        for (k, line) in heading.iter().enumerate() {
            let place = (left_of_panels, 20.0 + HEADING_LINE * k as f64);
            drawing.text(place, line, Letters::Normal, Anchor::Start, INK);
        }
        for (k, line) in lines.iter().enumerate() {
            let place = (GAP, below + WARNING_LINE * (k as f64 + 0.6));
            drawing.text(place, line, Letters::Small, Anchor::Start, ALARM);
        }
        for (k, row) in rows.iter().enumerate() {
            let top = first + each * k as f64 + titles;
            // A long name on a low panel is set small.
            let letters =
                if Letters::Normal.width(&row.name) > each { Letters::Small } else { Letters::Normal };
            drawing.text_upwards((14.0, top + size.1 / 2.0), &row.name, letters, INK);
            let mut left = left_of_panels;
            for group in groups(row) {
                let scale = ColourScale::of(group);
                for (k, panel) in group.iter().enumerate() {
                    let at = (left + k as f64 * (size.0 + GAP), top);
                    let place = PanelPlace { at, size, grid: row.grid };
                    let title = wrapped(Letters::Small, &panel.title, title_room(group, k, size.0));
                    for (line, text) in title.iter().rev().enumerate() {
                        let above = (at.0, at.1 - 6.0 - TITLE_LINE * line as f64);
                        drawing.text(above, text.trim_start(), Letters::Small, Anchor::Start, INK);
                    }
                    draw_panel(&mut drawing, &place, panel, &scale);
                    draw_marks(&mut drawing, &place, rings, dots);
                    if left == left_of_panels && k == 0 {
                        place.draw_axes(&mut drawing, &axes);
                    }
                }
                let right = left + group.len() as f64 * (size.0 + GAP) - GAP / 2.0;
                draw_bar(&mut drawing, (right, top), size.1, &scale);
                left += group_width(group);
            }
        }
        drawing
    }
}

/// A text in lines of a width; those after the first are indented.
fn wrapped(letters: Letters, text: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().cloned().unwrap_or_default();
        let longer = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        if !last.trim().is_empty() && letters.width(&longer) > width {
            lines.push(format!("   {word}"));
        } else if let Some(line) = lines.last_mut() {
            *line = longer;
        }
    }
    lines
}

/// How wide the title of a panel among its neighbours may be: it ends before the next one's, and the last may stand
/// above the colour bar.
fn title_room(group: &[FieldPanel<'_>], panel: usize, width: f64) -> f64 {
    if panel + 1 < group.len() { width + 0.5 * GAP } else { width + BAR + NUMBERS }
}

/// The most lines of a panel's title.
fn title_lines(rows: &[FieldRow<'_>], width: f64) -> usize {
    let of_group = |group: &[FieldPanel<'_>]| {
        let lines = group
            .iter()
            .enumerate()
            .map(|(k, panel)| wrapped(Letters::Small, &panel.title, title_room(group, k, width)).len());
        lines.max().unwrap_or(1)
    };
    rows.iter().flat_map(groups).map(of_group).max().unwrap_or(1)
}

/// Neighbours that show the same thing.
fn groups<'a, 'b>(row: &'b FieldRow<'a>) -> Vec<&'b [FieldPanel<'a>]> {
    row.panels.chunk_by(|one, next| one.measure == next.measure).collect()
}

/// The map from values to colours.
struct ColourScale {
    low: f64,
    high: f64,
    gradient: colorous::Gradient,
    /// Whether the gradient runs from its last colour to its first.
    reversed: bool,
}

impl ColourScale {
    /// The scale that panels share.
    fn of(panels: &[FieldPanel<'_>]) -> Self {
        let values = panels.iter().flat_map(|panel| shown(panel)).map(|(_, value)| f64::from(value));
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let most = low.abs().max(high.abs());
        let signed = low < 0.0 && high > 0.0 && low.abs().min(high) >= SIGNED_SHARE * most;
        let measure = panels.first().map_or(Measure::Field, |panel| panel.measure);
        let (low, high, gradient, reversed) = match measure {
            Measure::Field if signed => (-most, most, colorous::RED_BLUE, true),
            Measure::Field => (low, high, colorous::VIRIDIS, false),
            Measure::Difference => (-most, most, colorous::PURPLE_ORANGE, true),
            Measure::Deviation => (0.0, high, colorous::MAGMA, false),
        };
        // A constant field is in the middle of its scale.
        let spread = if high > low { 0.0 } else { 0.5 * high.abs().max(1.0) };
        Self { low: low - spread, high: high + spread, gradient, reversed }
    }

    fn colour(&self, value: f64) -> Colour {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.shade(share)
    }

    fn shade(&self, share: f64) -> Colour {
        let share = if self.reversed { 1.0 - share } else { share };
        let colour = self.gradient.eval_continuous(share);
        [colour.r, colour.g, colour.b]
    }

    /// Numbers that tell its ends and its middle apart.
    fn ticks(&self) -> [(f64, String); 3] {
        let span = self.high - self.low;
        let most = self.low.abs().max(self.high.abs());
        [0.0, 0.5, 1.0].map(|share| {
            let value = self.low + share * span;
            let text = if (1e-2..1e5).contains(&most) {
                format!("{value:.*}", (2.0 - span.log10().floor()).clamp(0.0, 5.0) as usize)
            } else {
                format!("{value:.2e}")
            };
            let zero = value.abs() < 1e-9 * most || text.trim_matches(['-', '0', '.']).is_empty();
            (share, if zero { "0".to_owned() } else { text })
        })
    }
}

/// The points of a panel with their values.
fn shown<'a>(panel: &'a FieldPanel<'_>) -> impl Iterator<Item = (usize, f32)> + 'a {
    let seen = |point: &usize| panel.shown.is_none_or(|mask| mask.contains(*point));
    (0..panel.values.len()).filter(seen).map(|point| (point, panel.values[point]))
}

fn draw_panel(drawing: &mut Drawing, place: &PanelPlace, panel: &FieldPanel<'_>, scale: &ColourScale) {
    let PanelPlace { at, size, grid } = *place;
    let few = panel.shown.is_some_and(|mask| mask.count() <= MOST_DOTS);
    if few {
        let width = (place.pixel() * 1.6).clamp(2.5, 6.0);
        for (point, value) in shown(panel) {
            let centre = place.centre(grid.place(point).map(|index| index as f64));
            // Pale values must show on white paper too.
            drawing.dot(centre, width + 1.0, RIM);
            drawing.dot(centre, width, scale.colour(value.into()));
        }
    } else {
        let mut pixels = vec![super::drawing::PAPER; grid.points()];
        for (point, value) in shown(panel) {
            let [i, j] = grid.place(point);
            pixels[(grid.columns - 1 - j) * grid.rows + i] = scale.colour(value.into());
        }
        drawing.image(at, size, grid.rows, pixels);
    }
    drawing.frame(at, size, if few { PALE } else { INK });
}

fn draw_marks(drawing: &mut Drawing, place: &PanelPlace, rings: &[[f64; 2]], dots: &[[f64; 2]]) {
    for ring in rings {
        drawing.dot(place.centre(*ring), 5.0, PAPER);
        drawing.dot(place.centre(*ring), 3.0, INK);
    }
    for dot in dots {
        drawing.dot(place.centre(*dot), 6.0, INK);
        drawing.dot(place.centre(*dot), 4.5, PAPER);
    }
}

fn draw_bar(drawing: &mut Drawing, (left, top): (f64, f64), length: f64, scale: &ColourScale) {
    let shades = (0..SHADES).map(|k| scale.shade(1.0 - (k as f64 + 0.5) / SHADES as f64));
    drawing.image((left, top), (BAR, length), 1, shades.collect());
    drawing.frame((left, top), (BAR, length), INK);
    for (share, text) in scale.ticks() {
        let height = top + length * (1.0 - share);
        let line = height.clamp(top + 7.0, top + length) + if share == 0.5 { 3.5 } else { 0.0 };
        drawing.text((left + BAR + 4.0, line), &text, Letters::Small, Anchor::Start, INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 16;

    fn panel<'a>(values: &'a [f32], shown: Option<&'a Mask>, measure: Measure) -> FieldPanel<'a> {
        FieldPanel { title: "t".into(), values, shown, measure }
    }

    fn row<'a>(panels: Vec<FieldPanel<'a>>) -> FieldRow<'a> {
        FieldRow { name: "a".into(), grid: SIZE.into(), panels }
    }

    fn drawing(heading: &str, rows: &[FieldRow<'_>]) -> Drawing {
        FieldPicture { heading, rows, ..FieldPicture::default() }.draw()
    }

    /// The colour in the middle of pixel (i, j) of the k-th panel.
    fn colour(row: &FieldRow<'_>, k: usize, i: usize, j: usize) -> Colour {
        let canvas = drawing("heading", std::slice::from_ref(row)).canvas();
        let axes = PanelAxes::default();
        let size = axes.panel_size();
        let at = (axes.room() + k as f64 * (size.0 + GAP), TOP + TITLES);
        let (x, y) = PanelPlace { at, size, grid: row.grid }.centre([i as f64, j as f64]);
        canvas.pixel((2.0 * x) as usize, (2.0 * y) as usize)
    }

    #[test]
    fn x_runs_to_the_right_and_y_upwards_on_one_scale() {
        let mut field = vec![1.0; SIZE * SIZE];
        field[2 * SIZE + 5] = 3.0;
        let flat = vec![2.0; SIZE * SIZE];
        let panels = vec![panel(&field, None, Measure::Field), panel(&flat, None, Measure::Field)];
        let row = row(panels);
        let at = |share: f64| {
            let colour = colorous::VIRIDIS.eval_continuous(share);
            [colour.r, colour.g, colour.b]
        };
        assert_eq!(colour(&row, 0, 2, 5), at(1.0));
        assert_eq!(colour(&row, 0, 5, 2), at(0.0));
        assert_eq!(colour(&row, 1, 5, 2), at(0.5));
    }

    /// A long title on a narrow panel goes on below itself, and all panels stand lower for it.
    #[test]
    fn titles_end_before_the_next_panel() {
        let values = vec![1.0; SIZE * SIZE];
        let titled = |title: &str| FieldPanel { title: title.into(), ..panel(&values, None, Measure::Field) };
        let height = |title: &str| {
            let panels = vec![titled(title), titled("truth")];
            let rows = [FieldRow { name: "a".into(), grid: SIZE.into(), panels }];
            let narrow = PanelAxes { bounds: [[0.0, 1.0], [0.0, 2.0]], ..PanelAxes::default() };
            let room = narrow.panel_size().0 + GAP;
            let lines = wrapped(Letters::Small, title, title_room(&rows[0].panels, 0, narrow.panel_size().0));
            assert!(lines.iter().all(|line| Letters::Small.width(line.trim_start()) < room), "{lines:?}");
            let picture =
                FieldPicture { heading: "h", rows: &rows, axes: Some(&narrow), ..FieldPicture::default() };
            picture.draw().size().1
        };
        assert_eq!(height("110 sensors, a region known"), TITLE_LINE + height("110 sensors"));
    }

    #[test]
    fn only_what_is_seen_is_drawn() {
        let field = vec![1.0; SIZE * SIZE];
        let mut mask = Mask::empty(SIZE);
        mask.insert(3 * SIZE + 3);
        let row = row(vec![panel(&field, Some(&mask), Measure::Field)]);
        assert_eq!(colour(&row, 0, 8, 8), [255; 3]);
        assert_ne!(colour(&row, 0, 3, 3), [255; 3]);
    }

    #[test]
    fn signed_fields_and_differences_are_symmetric() {
        let values: Vec<f32> = (0..SIZE * SIZE).map(|k| k as f32 / 100.0 - 1.0).collect();
        for measure in [Measure::Field, Measure::Difference] {
            let scale = ColourScale::of(&[panel(&values, None, measure)]);
            assert_eq!(scale.low, -scale.high);
            assert_eq!(scale.ticks().map(|(_, text)| text), ["-1.55", "0", "1.55"]);
        }
        let nearly = ColourScale::of(&[panel(&[-0.001, 4.5], None, Measure::Field)]);
        assert_eq!(nearly.ticks().map(|(_, text)| text), ["0", "2.25", "4.50"]);
        let deviation = ColourScale::of(&[panel(&values[120..], None, Measure::Deviation)]);
        assert_eq!(deviation.low, 0.0);
    }

    #[test]
    fn warnings_stand_below_in_lines_that_fit() {
        let text =
            "warning: the readings of u look noisy, and errors for exact readings do not hold for them";
        let lines = wrapped(Letters::Small, text, 200.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| Letters::Small.width(line) <= 200.0), "{lines:?}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&lines.join(" ")), words(text));
        let field = vec![1.0; SIZE * SIZE];
        let row = row(vec![panel(&field, None, Measure::Field)]);
        let rows = std::slice::from_ref(&row);
        let (width, plain) = drawing("heading", rows).size();
        let warnings = &[text.to_owned()];
        let drawing = FieldPicture { heading: "heading", rows, warnings, ..FieldPicture::default() }.draw();
        let (same, warned) = drawing.size();
        assert!(warned > plain && width == same);
        let canvas = drawing.canvas();
        let red = |y: usize| (0..(2.0 * width) as usize).any(|x| canvas.pixel(x, y) == ALARM);
        let [plain, warned] = [plain, warned].map(|height| (2.0 * height) as usize);
        assert!((plain..warned).any(red) && !(0..plain).any(red));
    }

    /// Above one narrow panel a heading takes several lines, and none of it is cut.
    #[test]
    fn a_long_heading_goes_on_below_itself() {
        let field = vec![1.0; SIZE * SIZE];
        let row = row(vec![panel(&field, None, Measure::Field)]);
        let rows = std::slice::from_ref(&row);
        let (width, plain) = drawing("heading", rows).size();
        let long = "a heading ".repeat(20);
        let (same, longer) = drawing(&long, rows).size();
        assert!(longer > plain && same == width);
        assert!(
            wrapped(Letters::Normal, &long, 150.0).iter().all(|line| Letters::Normal.width(line) <= 150.0)
        );
    }

    #[test]
    fn numbers_fit_beside_the_bar() {
        for scale in [1e-7_f32, 0.003, 0.8, 12.0, 4000.0, 3e9] {
            let values = [-scale, scale * 0.77, 0.1 * scale, scale];
            for (_, text) in ColourScale::of(&[panel(&values, None, Measure::Field)]).ticks() {
                assert!(Letters::Small.width(&text) < NUMBERS - 4.0, "{text}");
            }
        }
    }
}

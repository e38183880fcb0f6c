//! A drawing made of marks, written as SVG or as PNG.

use std::fmt::Write;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster_width};

use super::canvas::{Canvas, Colour, FigureError};

/// What figures are drawn on, and with.
pub(crate) const PAPER: Colour = [255, 255, 255];
/// The colour of text and axes.
pub(crate) const INK: Colour = [40, 40, 40];
/// The colour of lines that only guide the eye.
pub(crate) const PALE: Colour = [221, 221, 221];
/// Colours that stay apart for colour-blind readers (Okabe and Ito).
const SERIES: [Colour; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [90, 90, 90],
];

/// The colour of the series of a number: the first ones as they are, the next ones paler, and those after them darker.
pub(crate) fn series_colour(number: usize) -> Colour {
    let mix =
        |towards: u16| SERIES[number % SERIES.len()].map(|part| ((u16::from(part) + towards) / 2) as u8);
    match number / SERIES.len() % 3 {
        0 => SERIES[number % SERIES.len()],
        1 => mix(u16::from(u8::MAX)),
        _ => mix(0),
    }
}

/// Pixels of a PNG per unit of a drawing.
const PIXELS: f64 = 2.0;

/// A dash of a dashed line, and what is left free after it.
const DASH: f64 = 5.0;
const DASH_GAP: f64 = 3.5;

/// The size of letters, in units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Ticks and notes: 10 units.
    Small,
    /// Titles and labels: 12 units.
    Normal,
}

/// The width of a letter of the fonts that an SVG names, as a share of their size: the wider one's.
const ADVANCE: f64 = 0.602;

impl Letters {
    /// Their height.
    pub(crate) fn height(self) -> f64 {
        match self {
            Letters::Small => 10.0,
            Letters::Normal => 12.0,
        }
    }

    /// The width of a text; all letters are equally wide.
    pub fn width(self, text: &str) -> f64 {
        let letter = get_raster_width(FontWeight::Regular, self.raster());
        letter as f64 / PIXELS * text.chars().count() as f64
    }

    fn raster(self) -> RasterHeight {
        match self {
            Letters::Small => RasterHeight::Size20,
            Letters::Normal => RasterHeight::Size24,
        }
    }
}

/// Which end of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    /// Which part of the text lies before its place, and its name in SVG.
    fn of(self) -> (f64, &'static str) {
        match self {
            Anchor::Start => (0.0, "start"),
            Anchor::Middle => (0.5, "middle"),
            Anchor::End => (1.0, "end"),
        }
    }
}

/// Something drawn; places are from the upper left corner, y down.
#[derive(Clone, Debug)]
enum Mark {
    Rectangle { at: (f64, f64), size: (f64, f64), colour: Colour },
    Stroke { points: Vec<(f64, f64)>, width: f64, colour: Colour },
    Dashes { from: (f64, f64), to: (f64, f64), width: f64, colour: Colour },
    Text { at: (f64, f64), text: String, letters: Letters, anchor: Anchor, upwards: bool, colour: Colour },
    Image { at: (f64, f64), size: (f64, f64), columns: usize, pixels: Vec<Colour> },
}

/// A drawing of width x height units on white paper. Marks hide those drawn before them.
#[derive(Clone, Debug)]
pub struct Drawing {
    size: (f64, f64),
    marks: Vec<Mark>,
}

impl Drawing {
    /// An empty one.
    pub fn new(width: f64, height: f64) -> Self {
        Self { size: (width.ceil().max(1.0), height.ceil().max(1.0)), marks: Vec::new() }
    }

    /// The width and the height.
    pub fn size(&self) -> (f64, f64) {
        self.size
    }

    /// Fills a rectangle with its upper left corner at a place.
    pub(crate) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), colour: Colour) {
        self.marks.push(Mark::Rectangle { at, size, colour });
    }

    /// Draws a line through points.
    pub(crate) fn stroke(&mut self, points: &[(f64, f64)], width: f64, colour: Colour) {
        self.marks.push(Mark::Stroke { points: points.to_vec(), width, colour });
    }

    /// Draws a dashed line between two places.
    pub(crate) fn dashes(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        self.marks.push(Mark::Dashes { from, to, width, colour });
    }

    /// The outline of a rectangle.
    pub(crate) fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: Colour) {
        let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)];
        self.stroke(&corners, 1.0, colour);
    }

    /// Adds a dot.
    pub(crate) fn dot(&mut self, at: (f64, f64), width: f64, colour: Colour) {
        self.stroke(&[at, at], width, colour);
    }

    /// Writes a text whose base line is at a place.
    pub fn text(&mut self, at: (f64, f64), text: &str, letters: Letters, anchor: Anchor, colour: Colour) {
        let text = text.to_owned();
        self.marks.push(Mark::Text { at, text, letters, anchor, upwards: false, colour });
    }

    /// Writes a text upwards, its middle at a place: the name of a vertical axis.
    pub(crate) fn text_upwards(&mut self, at: (f64, f64), text: &str, letters: Letters, colour: Colour) {
        let text = text.to_owned();
        let anchor = Anchor::Middle;
        self.marks.push(Mark::Text { at, text, letters, anchor, upwards: true, colour });
    }

    /// An image of `columns` colours a row, stretched over a rectangle without smoothing.
    pub(crate) fn image(&mut self, at: (f64, f64), size: (f64, f64), columns: usize, pixels: Vec<Colour>) {
        self.marks.push(Mark::Image { at, size, columns: columns.max(1), pixels });
    }

    /// The drawing as a PNG file, two pixels a unit.
    pub fn to_png(&self) -> Result<Vec<u8>, FigureError> {
        self.canvas().to_png()
    }

    pub(super) fn canvas(&self) -> Canvas {
        let (width, height) = self.size;
        let mut canvas = Canvas::new((PIXELS * width) as usize, (PIXELS * height) as usize, PAPER);
        self.marks.iter().for_each(|mark| paint(&mut canvas, mark));
        canvas
    }

    /// The drawing as an SVG file.
    pub fn to_svg(&self) -> Result<String, FigureError> {
        let (width, height) = self.size;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"'Noto Sans Mono', 'DejaVu Sans Mono', monospace\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
            hex(PAPER)
        );
        for mark in &self.marks {
            svg.push_str(&element(mark)?);
            svg.push('\n');
        }
        svg.push_str("</svg>\n");
        Ok(svg)
    }
}

fn paint(canvas: &mut Canvas, mark: &Mark) {
    let pixels = |(x, y): (f64, f64)| (PIXELS * x, PIXELS * y);
    match mark {
        Mark::Rectangle { at, size, colour } => {
            let (x, y) = pixels(*at);
            let (width, height) = pixels(*size);
            canvas.fill(x, y, width, height, *colour);
        }
        Mark::Stroke { points, width, colour } => {
            for ends in points.windows(2) {
                canvas.stroke(pixels(ends[0]), pixels(ends[1]), PIXELS * width, *colour);
            }
        }
        Mark::Dashes { from, to, width, colour } => {
            for (start, end) in dashes(*from, *to) {
                canvas.stroke(pixels(start), pixels(end), PIXELS * width, *colour);
            }
        }
        Mark::Text { at, text, letters, anchor, upwards, colour } => {
            let (before, _) = anchor.of();
            let back = before * letters.width(text);
            let up = 0.8 * letters.height();
            let corner = if *upwards { (at.0 - up, at.1 + back) } else { (at.0 - back, at.1 - up) };
            canvas.write(pixels(corner), text, letters.raster(), *upwards, *colour);
        }
        Mark::Image { at, size, columns, pixels: colours } => {
            let rows = colours.len() / columns;
            let (x, y) = pixels(*at);
            let (width, height) = pixels(*size);
            // Both edges are rounded alike, so that neighbours neither overlap nor part.
            let edges = |start: f64, length: f64, count: usize| -> Vec<f64> {
                (0..=count).map(|index| (start + length * index as f64 / count as f64).round()).collect()
            };
            let across = edges(x, width, *columns);
            let down = edges(y, height, rows);
            for (line, sides) in colours.chunks_exact(*columns).zip(down.windows(2)) {
                for (colour, ends) in line.iter().zip(across.windows(2)) {
                    canvas.fill(ends[0], sides[0], ends[1] - ends[0], sides[1] - sides[0], *colour);
                }
            }
        }
    }
}

/// The dashes of a line, the last one cut where it ends.
fn dashes(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
    let right = to.0 - from.0;
    let down = to.1 - from.1;
    let length = right.hypot(down);
    let at = move |along: f64| {
        let share = (along / length).min(1.0);
        (from.0 + share * right, from.1 + share * down)
    };
    let starts = (0..(length / (DASH + DASH_GAP)).ceil() as usize).map(|k| k as f64 * (DASH + DASH_GAP));
    starts.map(move |start| (at(start), at(start + DASH)))
}

fn element(mark: &Mark) -> Result<String, FigureError> {
    Ok(match mark {
        Mark::Rectangle { at: (x, y), size: (width, height), colour } => format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\"/>",
            hex(*colour)
        ),
        Mark::Stroke { points, width, colour } => {
            let mut path = String::new();
            for (k, (x, y)) in points.iter().enumerate() {
                let _ = write!(path, "{}{x:.2} {y:.2}", if k == 0 { "M" } else { " L" });
            }
            format!(
                "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>",
                hex(*colour)
            )
        }
        Mark::Dashes { from, to, width, colour } => format!(
            "<path d=\"M{:.2} {:.2} L{:.2} {:.2}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-dasharray=\"{DASH} {DASH_GAP}\"/>",
            from.0,
            from.1,
            to.0,
            to.1,
            hex(*colour)
        ),
        Mark::Text { at: (x, y), text, letters, anchor, upwards, colour } => {
            let turn =
                if *upwards { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
            format!(
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{:.2}\" text-anchor=\"{}\" fill=\"{}\"{turn}>{}</text>",
                letters.width("x") / ADVANCE,
                anchor.of().1,
                hex(*colour),
                escaped(text)
            )
        }
        Mark::Image { at: (x, y), size: (width, height), columns, pixels } => {
            let rows = pixels.len() / columns;
            let mut canvas = Canvas::new(*columns, rows, PAPER);
            for (k, colour) in pixels.iter().enumerate() {
                canvas.blend((k % columns) as i64, (k / columns) as i64, *colour, 1.0);
            }
            format!(
                "<image x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" preserveAspectRatio=\"none\" \
                 style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
                base64(&canvas.to_png()?)
            )
        }
    })
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Three bytes as four letters (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word =
            three.iter().enumerate().fold(0_u32, |word, (k, byte)| word | u32::from(*byte) << (16 - 8 * k));
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_leave_gaps_and_end_with_their_line() {
        let drawn: Vec<_> = dashes((10.0, 4.0), (20.0, 4.0)).collect();
        assert_eq!(drawn, [((10.0, 4.0), (15.0, 4.0)), ((18.5, 4.0), (20.0, 4.0))]);
        assert_eq!(dashes((1.0, 1.0), (1.0, 1.0)).count(), 0);
    }

    #[test]
    fn images_keep_their_colours_and_edges() {
        let mut drawing = Drawing::new(12.0, 8.0);
        drawing.image((1.0, 1.0), (10.0, 6.0), 2, vec![[1; 3], [2; 3], [3; 3], [4; 3]]);
        let canvas = drawing.canvas();
        let at = |x: usize, y: usize| canvas.pixel(x, y)[0];
        assert_eq!([at(2, 2), at(11, 7), at(12, 7), at(11, 8), at(21, 13)], [1, 1, 2, 3, 4]);
        assert_eq!([at(1, 2), at(22, 2), at(2, 14)], [255; 3]);
        let svg = drawing.to_svg().unwrap();
        assert!(svg.contains("data:image/png;base64,iVBORw0KGgo") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn texts_are_escaped_and_placed() {
        let mut drawing = Drawing::new(100.0, 40.0);
        drawing.text((50.0, 20.0), "a < b", Letters::Normal, Anchor::Middle, INK);
        drawing.text_upwards((10.0, 20.0), "up", Letters::Small, INK);
        let svg = drawing.to_svg().unwrap();
        assert!(svg.contains(">a &lt; b</text>") && svg.contains("rotate(-90 10.00 20.00)"));
        let canvas = drawing.canvas();
        let inked =
            |x: std::ops::Range<usize>| x.clone().any(|x| (0..80).any(|y| canvas.pixel(x, y)[0] < 128));
        // The middle of five letters is at 100 pixels: they reach from 64 to 136.
        assert!(inked(64..136) && !inked(30..60) && !inked(140..200) && inked(0..24));
    }

    /// What is drawn beside a text in an image has its place in an SVG, too: letters are as wide in both.
    #[test]
    fn letters_of_an_svg_are_as_wide_as_those_of_an_image() {
        let mut drawing = Drawing::new(100.0, 40.0);
        drawing.text((50.0, 20.0), "name", Letters::Small, Anchor::Start, INK);
        let svg = drawing.to_svg().unwrap();
        let size: f64 = svg.split("font-size=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!((4.0 * ADVANCE * size - Letters::Small.width("name")).abs() < 0.02, "{size}");
    }

    #[test]
    fn bytes_become_letters_as_the_standard_says() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        cases.iter().for_each(|(plain, coded)| assert_eq!(base64(plain.as_bytes()), *coded));
    }
}

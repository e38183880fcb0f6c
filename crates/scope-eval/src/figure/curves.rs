//! Curves over draws, as SVG.

use std::fmt::Write;

/// One curve: a name and its points (x, y).
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Room for the axes' labels and the legend: left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 120.0, 28.0, 44.0];
/// Colours that stay apart for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
/// Points drawn per curve: more than a screen shows.
const MOST_POINTS: usize = 600;

/// What is smaller is left out: it would only press everything else together.
const LEAST: f64 = 1e-6;

/// Whether a value is drawn.
fn shown(y: f64) -> bool {
    y >= LEAST && y.is_finite()
}

/// A chart of curves with a logarithmic y axis.
pub fn curves_svg(title: &str, x_label: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points).filter(|(_, y)| shown(*y));
    let x_most = points().map(|(x, _)| *x).fold(0.0, f64::max).max(1.0);
    let low = points().map(|(_, y)| y.log10()).fold(f64::INFINITY, f64::min);
    let high = points().map(|(_, y)| y.log10()).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) =
        if low <= high { (low.floor(), high.ceil().max(low.floor() + 1.0)) } else { (0.0, 1.0) };
    let [left, right, top, bottom] = MARGINS;
    let x_at = |x: f64| left + (WIDTH - left - right) * x / x_most;
    let y_at = |log: f64| top + (HEIGHT - top - bottom) * (high - log) / (high - low);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{left}" y="18" font-size="14">{}</text>
<text x="{}" y="{}" text-anchor="middle">{}</text>"#,
        escaped(title),
        (left + WIDTH - right) / 2.0,
        HEIGHT - 8.0,
        escaped(x_label),
    );
    for decade in low as i32..=high as i32 {
        let y = y_at(f64::from(decade));
        let _ = writeln!(
            svg,
            r##"<line x1="{left}" x2="{}" y1="{y:.1}" y2="{y:.1}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">1e{decade}</text>"##,
            WIDTH - right,
            left - 6.0,
            y + 4.0,
        );
    }
    for tick in 0..=4 {
        let value = x_most * f64::from(tick) / 4.0;
        let (x, y) = (x_at(value), HEIGHT - bottom + 18.0);
        let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{}</text>"#, short(value));
    }
    for (k, curve) in curves.iter().enumerate() {
        let (colour, y) = (COLOURS[k % COLOURS.len()], top + 14.0 + 18.0 * k as f64);
        let _ = writeln!(
            svg,
            r#"<path d="{}" fill="none" stroke="{colour}" stroke-width="1.5"/><text x="{}" y="{y}" fill="{colour}">{}</text>"#,
            path(curve, &x_at, &y_at),
            WIDTH - right + 10.0,
            escaped(&curve.name),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn path(curve: &Curve, x_at: &dyn Fn(f64) -> f64, y_at: &dyn Fn(f64) -> f64) -> String {
    let step = curve.points.len().div_ceil(MOST_POINTS).max(1);
    let drawn = curve.points.iter().step_by(step).filter(|(_, y)| shown(*y));
    let mut path = String::new();
    for (k, (x, y)) in drawn.enumerate() {
        let _ = write!(path, "{}{:.1} {:.1}", if k == 0 { "M" } else { " L" }, x_at(*x), y_at(y.log10()));
    }
    path
}

/// A number with a unit prefix: 1.5M.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => {
            format!("{:.3}", v / 1e6).trim_end_matches('0').trim_end_matches('.').to_owned() + "M"
        }
        v if v >= 1e3 => {
            format!("{:.1}", v / 1e3).trim_end_matches('0').trim_end_matches('.').to_owned() + "k"
        }
        v => format!("{v:.0}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_path_and_a_name_for_each_curve() {
        let curve = |name: &str, scale: f64| Curve {
            name: name.to_owned(),
            points: (0..2_000).map(|k| (f64::from(k), scale / f64::from(k + 1))).collect(),
        };
        let svg = curves_svg("a < b", "draws", &[curve("F", 1.0), curve("J", 10.0), curve("none", 0.0)]);
        assert_eq!((svg.matches("<path").count(), svg.matches("a &lt; b").count()), (3, 1));
        assert!(svg.contains(">F<") && svg.contains("1e-4") && svg.contains("1e1"));
        assert!(curves_svg("empty", "x", &[]).ends_with("</svg>\n"));
        assert_eq!([short(25e6), short(1500.0), short(12.0)], ["25M", "1.5k", "12"]);
    }
}

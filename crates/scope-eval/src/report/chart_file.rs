//! The data of a chart of curves, as a file that the chart can be drawn from again.

use std::path::Path;

use scope_data::{read_bounded, write_atomic};

use crate::{error::EvalError, figure::CurveChart};

/// What names of such files end with.
pub const CHART_FILE: &str = ".chart.json";
/// The most bytes of one.
const MOST_BYTES: u64 = 1 << 20;
/// The most letters of a name: a chart is as wide as its longest one.
const MOST_LETTERS: usize = 200;
/// The least and the greatest magnitude of a number other than zero: an axis can be ticked between them.
const MAGNITUDES: [f64; 2] = [1e-12, 1e15];

/// Writes what a chart shows.
pub fn write_chart(path: &Path, chart: &CurveChart) -> Result<(), EvalError> {
    let refuse = |error: serde_json::Error| EvalError::chart(path, error);
    let mut text = serde_json::to_vec(chart).map_err(refuse)?;
    text.push(b'\n');
    Ok(write_atomic(path, &text)?)
}

/// Reads what a chart shows.
pub fn read_chart(path: &Path) -> Result<CurveChart, EvalError> {
    let text = read_bounded(path, MOST_BYTES)?;
    let chart: CurveChart = serde_json::from_slice(&text).map_err(|error| EvalError::chart(path, error))?;
    check(&chart).map_err(|problem| EvalError::chart(path, problem))?;
    Ok(chart)
}

/// Why a chart cannot be drawn.
fn check(chart: &CurveChart) -> Result<(), String> {
    let CurveChart { title, x, y, curves, levels } = chart;
    let names = [title, &x.name, &y.name].into_iter();
    let names = names.chain(curves.iter().map(|curve| &curve.name));
    if let Some(name) = names.chain(levels.iter().map(|level| &level.name)).find(|name| is_long(name)) {
        return Err(format!("a name has {} letters, {MOST_LETTERS} at most", name.chars().count()));
    }
    let numbers = curves.iter().flat_map(|curve| curve.points.iter().flat_map(|(x, y)| [x, y]));
    match numbers.chain(levels.iter().map(|level| &level.value)).find(|number| !is_drawn(**number)) {
        Some(number) => Err(format!("{number} is not zero or a number from 1e-12 to 1e15")),
        None => Ok(()),
    }
}

fn is_long(name: &str) -> bool {
    name.chars().count() > MOST_LETTERS
}

fn is_drawn(number: f64) -> bool {
    number == 0.0 || (MAGNITUDES[0]..=MAGNITUDES[1]).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{AxisLabel, Curve, Level, Scale};

    fn chart(point: (f64, f64), name: &str) -> CurveChart {
        CurveChart {
            title: "errors".to_owned(),
            x: AxisLabel::new("draws", Scale::Linear),
            y: AxisLabel::new("error, %", Scale::Log),
            curves: vec![Curve { name: name.to_owned(), points: vec![(1.0, 0.1 + 0.2), point] }],
            levels: vec![Level { name: "theirs".to_owned(), value: 1.68 }],
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("errors{CHART_FILE}"));
        let written = chart((2.0, 1.0 / 3.0), "ours");
        write_chart(&path, &written).unwrap();
        assert_eq!(read_chart(&path).unwrap(), written);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("errors{CHART_FILE}"));
        let long = "w".repeat(MOST_LETTERS + 1);
        for wrong in [chart((1e-300, 1.0), "ours"), chart((2.0, -1.0), "ours"), chart((2.0, 1.0), &long)] {
            write_chart(&path, &wrong).unwrap();
            assert!(matches!(read_chart(&path), Err(EvalError::Chart { .. })));
        }
        std::fs::write(&path, "{\"title\": \"errors\"}").unwrap();
        let refusal = read_chart(&path).unwrap_err().to_string();
        assert!(
            refusal.contains("is not the data of a chart") && refusal.contains("missing field"),
            "{refusal}"
        );
    }
}

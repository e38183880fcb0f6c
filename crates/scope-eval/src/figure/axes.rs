//! Axes: from values to places, with ticks at round numbers.

use serde::{Deserialize, Serialize};

use super::drawing::{Anchor, Drawing, INK, Letters, PALE};

/// How an axis spaces its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// Values lie by their logarithms; those below a millionth are left out, as they would only press the others
    /// together.
    Log,
}

const LEAST: f64 = 1e-6;

impl Scale {
    /// Whether a value has a place.
    pub(super) fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Scale::Linear || value >= LEAST)
    }

    fn measure(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.max(LEAST).log10(),
        }
    }
}

/// An axis from `low` to `high`, both round numbers.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis with room for values.
    pub(super) fn over(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let shown = values.filter(|value| scale.shows(*value));
        let (least, most) = shown
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        match scale {
            Scale::Linear => Self::linear(if most > 0.0 { most } else { 1.0 }),
            Scale::Log if least <= most => Self::log(least, most),
            Scale::Log => Self::log(1.0, 10.0),
        }
    }

    fn linear(most: f64) -> Self {
        let rough = most / 4.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * decade >= rough).unwrap_or(10.0)
            * decade;
        let count = (most / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=count as usize).map(|k| k as f64 * step).collect();
        Self { scale: Scale::Linear, low: 0.0, high: count * step, ticks }
    }

    /// Ticks at decades, and at their doubles and fivefolds where there are few decades.
    fn log(least: f64, most: f64) -> Self {
        let decades = (least.log10().floor() as i32)..=(most.log10().ceil() as i32);
        let round: Vec<f64> =
            decades.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power))).collect();
        let low = round.iter().copied().filter(|tick| *tick <= least * (1.0 + 1e-9)).fold(f64::NAN, f64::max);
        let mut high =
            round.iter().copied().filter(|tick| *tick >= most * (1.0 - 1e-9)).fold(f64::NAN, f64::min);
        if high <= low {
            high = 10.0 * low;
        }
        let wide = high / low > 200.0;
        let decade = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let ticks = round
            .into_iter()
            .filter(|tick| (low..=high).contains(tick) && (!wide || decade(*tick)))
            .collect();
        Self { scale: Scale::Log, low, high, ticks }
    }

    /// Where a value lies, from 0 at the low end to 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let [low, high, value] = [self.low, self.high, value].map(|value| self.scale.measure(value));
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// The rectangle that two axes span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) at: (f64, f64),
    pub(super) size: (f64, f64),
}

impl Area {
    pub(super) fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.at.0 + self.size.0 * axis.place(value)
    }

    pub(super) fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.at.1 + self.size.1 * (1.0 - axis.place(value))
    }

    /// Lines and numbers of a vertical axis, and its name to the left.
    pub(super) fn draw_vertical(&self, drawing: &mut Drawing, axis: &Axis, name: &str) {
        let left = self.at.0;
        let right = self.at.0 + self.size.0;
        for tick in axis.ticks() {
            let y = self.y(axis, *tick);
            drawing.stroke(&[(left, y), (right, y)], 0.5, PALE);
            drawing.text((left - 5.0, y + 3.5), &short(*tick), Letters::Small, Anchor::End, INK);
        }
        drawing.text_upwards((14.0, self.at.1 + self.size.1 / 2.0), name, Letters::Small, INK);
    }

    /// Ticks and numbers of a horizontal axis, and its name below.
    pub(super) fn draw_horizontal(&self, drawing: &mut Drawing, axis: &Axis, name: &str) {
        let bottom = self.at.1 + self.size.1;
        for tick in axis.ticks() {
            let x = self.x(axis, *tick);
            drawing.stroke(&[(x, bottom), (x, bottom + 3.0)], 0.75, INK);
            drawing.text((x, bottom + 14.0), &short(*tick), Letters::Small, Anchor::Middle, INK);
        }
        let middle = self.at.0 + self.size.0 / 2.0;
        drawing.text((middle, bottom + 30.0), name, Letters::Small, Anchor::Middle, INK);
    }
}

/// A number in few letters: 1.5M, 20k, 0.05, 1e-6.
pub(super) fn short(value: f64) -> String {
    let trimmed = |value: f64, unit: &str| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned() + unit
    };
    match value.abs() {
        size if size >= 1e6 => trimmed(value / 1e6, "M"),
        size if size >= 1e4 => trimmed(value / 1e3, "k"),
        size if size >= 1e-3 || size == 0.0 => trimmed(value, ""),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_that_hold_the_values() {
        let axis = Axis::over(Scale::Log, [3.1, 0.6, f64::NAN, 0.0].into_iter());
        assert_eq!(axis.ticks(), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!([axis.place(0.5), axis.place(5.0), axis.place(1e-9)], [0.0, 1.0, 0.0]);
        let axis = Axis::over(Scale::Log, [1e-4, 3.0].into_iter());
        assert_eq!(
            axis.ticks().iter().map(|tick| short(*tick)).collect::<Vec<_>>(),
            ["1e-4", "0.001", "0.01", "0.1", "1"]
        );
        let axis = Axis::over(Scale::Linear, [0.0, 730.0].into_iter());
        assert_eq!(axis.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(axis.place(200.0), 0.25);
    }

    #[test]
    fn axes_exist_for_nothing_and_for_one_value() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![2.0], vec![1.0, 1.0]] {
                let axis = Axis::over(scale, values.into_iter());
                assert!(axis.low < axis.high && axis.ticks().len() > 1, "{axis:?}");
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([25e6, 15_000.0, 1500.0, 12.0, 0.05].map(short), ["25M", "15k", "1500", "12", "0.05"]);
    }
}

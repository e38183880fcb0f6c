//! What sensors say.

use scope_data::{Channel, Constants, observation::Spot};
use scope_pde::GridShape;

/// One measurement in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What is measured.
    pub channel: Channel,
    /// Where it was measured.
    pub spot: Spot,
    /// The value measured, in physical units.
    pub value: f64,
    /// Whether nothing was measured: what the record has there is known, and has none of the noise of readings.
    pub is_known: bool,
    /// The standard deviation of what this reading is off by besides the noise of its channel, for being written with few
    /// digits.
    pub rounding: f64,
}

impl Reading {
    /// A reading that is off by the noise of its channel alone.
    pub fn new(channel: Channel, spot: Spot, value: f64) -> Self {
        Self { channel, spot, value, is_known: false, rounding: 0.0 }
    }

    /// What the record is known to have at a place, without a sensor.
    pub fn known(channel: Channel, spot: Spot, value: f64) -> Self {
        Self { is_known: true, ..Self::new(channel, spot, value) }
    }

    /// The reading of a pixel, told by its place among all of them, row after row.
    pub fn of_pixel(channel: Channel, point: usize, grid: impl Into<GridShape>, value: f64) -> Self {
        let [row, column] = grid.into().place(point);
        Self::new(channel, Spot::pixel(row, column), value)
    }
}

/// The readings of a context \[4, rows, columns\], which is what a network sees: (Ma a, Ma, Mu u, Mu) in stored
/// coordinates. Noisy readings are there times the weight that their mask holds.
pub fn readings(context: &[f32], grid: impl Into<GridShape>, constants: &Constants) -> Vec<Reading> {
    let grid = grid.into();
    let pixels = grid.points();
    let mut all = Vec::new();
    for (channel, seen) in Channel::BOTH.into_iter().zip(context.chunks_exact(2 * pixels)) {
        let (values, mask) = seen.split_at(pixels);
        let scaling = constants[channel];
        let points = (0..pixels).filter(|point| mask[*point] != 0.0);
        all.extend(points.map(|point| {
            Reading::of_pixel(channel, point, grid, scaling.physical(values[point] / mask[point]))
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use scope_pde::Pde;

    #[test]
    fn readings_are_the_seen_values_in_physical_units() {
        let constants = Constants::released(Pde::POISSON);
        let mut context = vec![0.0; 4 * 1024];
        for (channel, point, value) in [(0, 40, 0.5), (1, 7, -0.25), (1, 900, 0.0)] {
            context[2 * channel * 1024 + point] = value;
            context[(2 * channel + 1) * 1024 + point] = 1.0;
        }
        let reading = |channel, point, stored| {
            Reading::of_pixel(channel, point, 32, constants[channel].physical(stored))
        };
        assert_eq!(
            readings(&context, 32, &constants),
            [reading(Channel::A, 40, 0.5), reading(Channel::U, 7, -0.25), reading(Channel::U, 900, 0.0)]
        );
    }
}

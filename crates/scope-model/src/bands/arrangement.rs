//! How sensors lie: three numbers that tell the layouts of a protocol apart.

use scope_data::{
    Channel,
    observation::{ContextMasks, Coverage, Mask, Task},
};

use super::{LayoutBands, find::Between};

/// Nothing is smaller than this: a square that is measured everywhere has no gaps, and a logarithm has no zero.
const LEAST: f64 = 1e-3;
/// Layouts that vary less than this are met by others' sensors all the same.
const LEAST_SPREAD: f64 = 0.15;

/// How one channel is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// How many sensors it has; what comes with the problem is none.
    pub sensors: usize,
    /// How all that is known of it covers the square.
    pub coverage: Coverage,
    /// How its sensors lie.
    pub arrangement: Arrangement,
}

impl Measured {
    /// The arrangements of the channels that a task measures.
    pub fn all(masks: &ContextMasks, task: Task) -> Vec<Self> {
        let measured = Channel::BOTH.into_iter().filter(|channel| task.observes()[*channel]);
        measured.filter_map(|channel| Self::of(masks, channel)).collect()
    }

    /// The arrangement of a channel; none if nothing is known of it.
    fn of(masks: &ContextMasks, channel: Channel) -> Option<Self> {
        let coverage = Coverage::of(&masks.seen[channel])?;
        let sensors = masks.sensors(channel);
        let arrangement = Arrangement::of(&sensors, &coverage);
        Some(Self { sensors: sensors.count(), coverage, arrangement })
    }
}

/// How one channel's sensors lie: logarithms of the mean gap, of the widest gap, and of the share of loose sensors. A
/// sensor is loose unless both its neighbours in a row, or both in a column, are measured: in blocks and on lines
/// hardly any is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrangement([f64; 3]);

impl Arrangement {
    /// The arrangement of sensors, and how what is known covers the square.
    pub fn of(mask: &Mask, coverage: &Coverage) -> Self {
        let numbers = [coverage.mean_gap, coverage.largest_gap, loose(mask)];
        Self(numbers.map(|number| number.max(LEAST).ln()))
    }

    /// Means and standard deviations of the three numbers over many masks.
    pub fn typical(masks: &[Self]) -> [[f64; 2]; 3] {
        let count = masks.len().max(1) as f64;
        [0, 1, 2].map(|k| {
            let mean = masks.iter().map(|mask| mask.0[k]).sum::<f64>() / count;
            let square = masks.iter().map(|mask| (mask.0[k] - mean).powi(2)).sum::<f64>() / count;
            [mean, square.sqrt()]
        })
    }

    /// The logarithm of how likely it is under a layout, up to a constant: three independent normal distributions.
    pub(super) fn likelihood(&self, layout: &LayoutBands, at: Between) -> f64 {
        let of = |((number, means), spreads): ((&f64, &Vec<f64>), &Vec<f64>)| {
            let spread = at.mean(spreads).max(LEAST_SPREAD);
            -0.5 * ((number - at.mean(means)) / spread).powi(2) - spread.ln()
        };
        self.0.iter().zip(&layout.typical).zip(&layout.spread).map(of).sum()
    }
}

/// The share of loose sensors. What lies beyond an edge counts as measured.
fn loose(mask: &Mask) -> f64 {
    let grid = mask.shape();
    let measured = |i: Option<usize>, j: Option<usize>| match (i, j) {
        (Some(i), Some(j)) if i < grid.rows && j < grid.columns => mask.contains(grid.point(i, j)),
        _ => true,
    };
    let is_loose = |point: &usize| {
        let [i, j] = grid.place(*point);
        let column = measured(i.checked_sub(1), Some(j)) && measured(Some(i + 1), Some(j));
        let row = measured(Some(i), j.checked_sub(1)) && measured(Some(i), Some(j + 1));
        !(row || column)
    };
    mask.points().filter(is_loose).count() as f64 / mask.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_in_rows_and_blocks_are_not_loose() {
        assert_eq!(loose(&Mask::from_fn(16, |i, _| i == 5)), 0.0);
        assert_eq!(loose(&Mask::from_fn(16, |i, j| (i + j) % 2 == 0)), 1.0);
        assert_eq!(
            loose(&Mask::from_fn(16, |i, j| (4..8).contains(&i) && (3..7).contains(&j))),
            0.25,
            "its corners"
        );
        assert_eq!(loose(&Mask::full(16)), 0.0);
    }
}

//! Error bands: half-widths that hold a stated share of a model's errors, as its card keeps them.
//!
//! A network knows no uncertainty. Its errors on held-out records do: for each task and layout of sensors a card has
//! widths at several numbers of sensors, and how they vary over the grid, as a product of factors that each depend on
//! one thing. The half-width of pixel (i, j) of a channel is
//!
//! ```text
//! w(n) x(i) y(j) d_a(distance to the nearest sensor of a) d_u(distance to the nearest sensor of u)
//! ```
//!
//! with the factors of measured channels only, and w(n) between two measured numbers of sensors by a power law.

mod arrangement;
mod check;
mod find;
mod place;

use std::collections::BTreeMap;

use scope_data::{Channel, GridShape, PerChannel};
use serde::{Deserialize, Serialize};

pub use arrangement::{Arrangement, Measured};
pub use find::{FieldBands, NoBands};
pub use place::{AXIS_CELLS, DISTANCE_CELLS, axis_cells, distance_cells, known_distances};

/// A model's error bands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    /// The shares of pixels that lie within, on average over records.
    pub levels: [f64; 2],
    /// Records that the widths were measured on.
    pub records: usize,
    /// Other records, that the factors were fitted to.
    pub shape_records: usize,
    /// Where the records come from; neither training nor the held-out errors have them.
    pub origin: String,
    /// BLAKE3 of their fields.
    pub blake3: String,
    /// The seed of the masks they were seen through.
    pub mask_seed: u64,
    /// The bands by task and layout, as in `forward/uniform`.
    pub layouts: BTreeMap<String, LayoutBands>,
}

/// The bands of one task and layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutBands {
    /// Numbers of sensors of a measured channel, in rising order.
    pub sensors: Vec<usize>,
    /// The widest mean gap between sensors that occurred with each number, in sides of the square.
    pub mean_gap: Vec<f64>,
    /// The widest gap.
    pub largest_gap: Vec<f64>,
    /// What each of the three numbers of an [`Arrangement`] is on average, with each number of sensors.
    pub typical: [Vec<f64>; 3],
    /// Their standard deviations.
    pub spread: [Vec<f64>; 3],
    /// The bands of the input field.
    pub a: ChannelBands,
    /// The bands of the response field.
    pub u: ChannelBands,
}

/// The bands of one channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelBands {
    /// w: typical half-widths in physical units, of each level and number of sensors.
    pub widths: [Vec<f64>; 2],
    /// x: by cell of axis 0.
    pub along_x: Vec<f64>,
    /// y: by cell of axis 1.
    pub along_y: Vec<f64>,
    /// d_a: by cell of distance to the nearest sensor of a, if a is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_a: Option<Vec<f64>>,
    /// d_u: by cell of distance to the nearest sensor of u, if u is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_u: Option<Vec<f64>>,
}

impl LayoutBands {
    /// The bands of a channel.
    pub fn of(&self, channel: Channel) -> &ChannelBands {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }
}

impl ChannelBands {
    /// The product of all factors for every pixel, \[rows, columns\]; `distances` are the cells of distance to the
    /// sensors of a and of u. The widths of cards were measured with this very product: whoever changes it, even to
    /// make it smooth, makes them wrong.
    pub fn shape(&self, grid: GridShape, distances: &PerChannel<Option<Vec<usize>>>) -> Vec<f64> {
        let [rows, columns] = grid.lengths().map(axis_cells);
        let row = |i: &usize| columns.iter().map(|j| self.along_x[*i] * self.along_y[*j]).collect::<Vec<_>>();
        let mut shape: Vec<f64> = rows.iter().flat_map(row).collect();
        for (factors, cells) in [&self.from_a, &self.from_u].into_iter().zip(distances) {
            if let (Some(factors), Some(cells)) = (factors, cells) {
                shape.iter_mut().zip(cells).for_each(|(shape, cell)| *shape *= factors[*cell]);
            }
        }
        shape
    }
}

//! Error bands: half-widths that hold a stated share of a model's errors, as its card keeps them.
//!
//! A network knows no uncertainty. Its errors on held-out records do: for each task and layout of sensors a card has
//! widths at several numbers of sensors, and how they vary over the grid, as a product of factors that each depend on
//! one thing. The half-width of pixel (i, j) of a channel is
//!
//! ```text
//! w(n) x(i) y(j) d_a(distance to the nearest sensor of a) d_u(distance to the nearest sensor of u) s_a s_u
//! ```
//!
//! with the factors of measured channels only, and w(n) between two measured numbers of sensors by a power law. s is
//! how far this very recovery is from its own readings, against what is usual, to a fitted power: some fields are far
//! easier than others.

mod arrangement;
mod check;
mod find;
mod misfit;
mod place;

use std::collections::BTreeMap;

use scope_data::{Channel, PerChannel};
use serde::{Deserialize, Serialize};

pub use arrangement::{Arrangement, Measured};
pub use find::{FieldBands, NoBands};
pub use misfit::{Misfits, misfits, relative_misfit};
pub use place::{AXIS_CELLS, DISTANCE_CELLS, Place, Places, axis_cells, distance_cells};

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
    /// Whether factors lie on straight lines between the centres of cells; in older cards a cell has one factor
    /// everywhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smooth: bool,
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
    /// How far recoveries usually are from their readings of a, with each number of sensors: geometric means, in
    /// physical units. None if a is not measured, and in older cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit_of_a: Option<Vec<f64>>,
    /// The same for u.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit_of_u: Option<Vec<f64>>,
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
    /// The power of the relative misfit of a that widths grow with, if a is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_misfit_of_a: Option<f64>,
    /// The same for u.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_misfit_of_u: Option<f64>,
}

impl LayoutBands {
    /// The usual misfits of a and of u, with each number of sensors.
    pub fn misfits(&self) -> PerChannel<Option<&[f64]>> {
        PerChannel { a: self.misfit_of_a.as_deref(), u: self.misfit_of_u.as_deref() }
    }

    /// The bands of a channel.
    pub fn of(&self, channel: Channel) -> &ChannelBands {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }
}

impl ChannelBands {
    /// The product of the factors of every pixel, \[rows, columns\]. The widths of cards were measured with this very
    /// product: whoever changes it makes them wrong.
    pub fn shape(&self, places: &Places) -> Vec<f64> {
        let [rows, columns] = &places.axes;
        let columns: Vec<f64> = columns.iter().map(|column| column.value(&self.along_y)).collect();
        let row =
            |row: &Place| columns.iter().map(|column| row.value(&self.along_x) * column).collect::<Vec<_>>();
        let mut shape: Vec<f64> = rows.iter().flat_map(row).collect();
        for (factors, distances) in [&self.from_a, &self.from_u].into_iter().zip(&places.distances) {
            if let (Some(factors), Some(distances)) = (factors, distances) {
                shape.iter_mut().zip(distances).for_each(|(shape, place)| *shape *= place.value(factors));
            }
        }
        shape
    }

    /// The powers of the relative misfits of a and of u.
    pub(crate) fn by_misfit(&self) -> PerChannel<Option<f64>> {
        PerChannel { a: self.by_misfit_of_a, u: self.by_misfit_of_u }
    }

    /// How much wider than usual the bands of a recovery are whose misfits are so many times the usual ones.
    pub fn widening(&self, relative: &PerChannel<Option<f64>>) -> f64 {
        let power = |(power, relative): (Option<f64>, &Option<f64>)| match (power, relative) {
            (Some(power), Some(relative)) => relative.powf(power),
            _ => 1.0,
        };
        self.by_misfit().into_iter().zip(relative).map(power).product()
    }
}

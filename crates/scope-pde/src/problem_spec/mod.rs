//! A problem of one's own as a file states it: fields, grid, domain and what is always known, without a solver.
//!
//! Wherever a file names a problem, one of one's own stands there in full, so that data, runs and weight files carry it
//! with them.

mod check;
mod describe;
mod error;
mod known;
mod pair;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use error::ProblemSpecError;
pub(crate) use known::points_of_runs;
pub use known::{KnownSpec, MaskSpec};

use crate::{
    channel::{PerChannel, known_values},
    descriptor::GridPoints,
    grid_shape::GridShape,
};

/// The side of a patch of the networks: both sides of a grid are multiples of it.
pub const GRID_MULTIPLE: usize = 8;

/// A problem of one's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemSpec {
    /// The name in files and in the coordinates of random streams: lower-case letters, digits, '_' and '-'.
    pub name: String,
    /// The name in headings of tables and charts; the name if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The fields a and u, or one of them.
    #[serde(with = "known_values")]
    pub fields: PerChannel<Option<FieldSpec>>,
    /// The grid of the records.
    pub grid: GridSpec,
    /// Where the grid lies.
    #[serde(default)]
    pub domain: DomainSpec,
    /// Where both fields are always known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownSpec>,
}

/// One of the two fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    /// What it is, in the singular and without an article: "water level".
    pub name: String,
    /// The unit of its values, if they have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which values it takes.
    #[serde(default)]
    pub kind: KindSpec,
    /// The two values of a two-valued field, the lower one first.
    #[serde(default, deserialize_with = "pair::if_any", skip_serializing_if = "Option::is_none")]
    pub values: Option<[f64; 2]>,
    /// The least value that it can have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The value on the outermost points, where a boundary condition fixes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<f64>,
}

/// Which values a field takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindSpec {
    /// The field takes any values.
    #[default]
    Continuous,
    /// Each point has one of two values.
    TwoValued,
}

/// The grid as a problem file states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridSpec {
    /// Points along axis 0, x.
    pub rows: usize,
    /// Points along axis 1, y.
    pub columns: usize,
    /// Where they lie along both axes, or along each.
    #[serde(default)]
    pub points: PointsSpec,
}

/// Where points lie along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"nodes\" (both ends), \"cells\" (centres) or \"periodic\", or two of them as in \
                 [\"periodic\", \"cells\"]"
)]
pub enum PointsSpec {
    /// Points lie alike along both axes.
    Both(GridPoints),
    /// How points lie along axis 0 and along axis 1.
    Each([GridPoints; 2]),
}

impl Default for PointsSpec {
    fn default() -> Self {
        Self::Both(GridPoints::Nodes)
    }
}

/// Where the grid lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSpec {
    /// Where axis 0 begins and ends.
    #[serde(default = "unit_interval", deserialize_with = "pair::deserialize")]
    pub x: [f64; 2],
    /// Where axis 1 begins and ends.
    #[serde(default = "unit_interval", deserialize_with = "pair::deserialize")]
    pub y: [f64; 2],
    /// The unit of both.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What the axes are called.
    #[serde(default = "axis_names", deserialize_with = "pair::deserialize")]
    pub names: [String; 2],
}

fn unit_interval() -> [f64; 2] {
    [0.0, 1.0]
}

fn axis_names() -> [String; 2] {
    ["x", "y"].map(str::to_owned)
}

impl Default for DomainSpec {
    fn default() -> Self {
        Self { x: unit_interval(), y: unit_interval(), unit: String::new(), names: axis_names() }
    }
}

impl GridSpec {
    /// Points along each axis.
    pub fn shape(&self) -> GridShape {
        GridShape { rows: self.rows, columns: self.columns }
    }
}

impl PointsSpec {
    /// How points lie along axis 0 and along axis 1.
    pub(crate) fn of_axes(self) -> [GridPoints; 2] {
        match self {
            PointsSpec::Both(points) => [points; 2],
            PointsSpec::Each(points) => points,
        }
    }
}

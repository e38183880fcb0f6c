//! What a PDE problem is: all facts that generating, checking, masking, training, evaluating and recovering need of it.
//!
//! Each problem declares one [`Descriptor`] beside its solver, and other code asks it instead of looking at names.

mod distribution;
mod extent;
mod field;
mod grid;
mod law;
mod prior;
mod scaling;

pub use distribution::{Distribution, Moments, Own, Released, ReleasedFiles, Statistics, ZeroRecords};
pub use extent::Extent;
pub use field::{Field, FieldKind};
pub use grid::{GridPoints, KnownPoints, KnownRegion};
pub use law::{Figure, Law, RESIDUAL_LIMIT, Sample, StoredRecord, difference_to_fresh_solve, edge_share};
pub use prior::{ExactErrors, GaussianPrior};
pub(crate) use scaling::rounded;
pub use scaling::{Amplitudes, Scale, ScalingLaw};

use crate::{
    channel::PerChannel,
    generate::Problem,
    grid_shape::GridShape,
    pde::PROBLEMS,
    problem_spec::ProblemSpec,
    registry::{Named, Registry},
};

/// Everything that is known of a PDE problem.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// The name on the command line, in files and in the coordinates of random streams.
    pub name: &'static str,
    /// The name in headings of tables and charts.
    pub title: &'static str,
    /// The fields a and u.
    pub fields: PerChannel<Field>,
    /// Where the points of the grid lie along axis 0 and axis 1.
    pub grid: [GridPoints; 2],
    /// The only grid that its records have; any square one if it has a solver.
    pub shape: Option<GridShape>,
    /// Where the grid lies, in coordinates of its own.
    pub extent: Extent,
    /// Where both fields are known before anything is measured.
    pub known_region: KnownRegion,
    /// Plans the solver on S x S points, if there is one.
    pub solver: Option<fn(usize) -> Box<dyn Problem>>,
    /// How many records the solver makes on a CPU in a few seconds, on 128 x 128 points.
    pub records_in_seconds: usize,
    /// Which distribution records have, and the constants that they are stored with.
    pub distribution: Distribution,
    /// What is known of means and deviations without any record.
    pub statistics: Statistics,
    /// What every single record must obey.
    pub laws: &'static [Law],
    /// How its equation changes with the units of its fields, where the equation is known.
    pub scaling: Option<ScalingLaw>,
    /// The Gaussian field that the exact posterior starts from.
    pub prior: GaussianPrior,
    /// Whether the protocol has two more conditions: the benchmark of the released cylinder data, where each pixel
    /// outside the known region is measured with probability 1/100.
    pub benchmark: bool,
    /// What a file has stated of it, if it comes from one: files then have it in full and not by name.
    pub spec: Option<&'static ProblemSpec>,
}

impl Named for Descriptor {
    fn name(&self) -> &'static str {
        self.name
    }

    fn registry() -> &'static Registry<Self> {
        &PROBLEMS
    }
}

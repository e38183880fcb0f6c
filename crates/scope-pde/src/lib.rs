//! The physics of SCOPE: Gaussian random fields and solvers for five PDE problems on a square grid.
//!
//! Everything is computed in f64; there are no files and no learning here. A [`Generator`] makes a
//! [`Record`] (a pair of fields in physical units) as a pure function of problem, seed, split, index,
//! resolution and [`GENERATOR_VERSION`].
//!
//! ```
//! use scope_pde::{Generator, Identity, Pde, Split};
//!
//! let identity = Identity { pde: Pde::POISSON, seed: 1, split: Split::Train, resolution: 32 };
//! let record = Generator::new(identity)?.record(0)?;
//! assert_eq!(record.fields.a.len(), 32 * 32);
//! # Ok::<(), scope_pde::PdeError>(())
//! ```

mod channel;
mod constants;
pub mod cylinder;
pub mod darcy;
pub mod descriptor;
pub mod elliptic;
mod error;
mod generate;
mod grid_shape;
mod handle;
pub mod linear;
pub mod navier_stokes;
mod pde;
mod problem_spec;
pub mod random;
mod registry;

pub use channel::{Channel, Fields, PerChannel, as_array, known_values};
pub use constants::{Constants, Scaling};
pub use error::PdeError;
pub use generate::{
    GENERATOR_VERSION, Generator, Identity, MAX_RESOLUTION, MIN_RESOLUTION, Problem, Record,
    require_resolution,
};
pub use grid_shape::GridShape;
pub use handle::Handle;
pub use pde::{Pde, Split};
pub use problem_spec::{
    DomainSpec, FieldSpec, GRID_MULTIPLE, GridSpec, KindSpec, KnownSpec, MaskSpec, PointsSpec, ProblemSpec,
    ProblemSpecError,
};
pub use registry::{Named, Registry, RegistryError};

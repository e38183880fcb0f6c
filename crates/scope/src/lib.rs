//! SCOPE recovers complete physical fields from sparse sensors. This crate is the front door: it re-exports
//! the libraries, and holds the command-line program.
//!
//! - [`pde`][]: random fields and five solvers.
//! - [`data`][]: pairs of fields, their files and normalisation, masks and schedules.
//! - [`exact`][]: the exact posterior of the linear Gaussian problems.
//! - [`engine`][]: tensors, operations and gradients.
//! - [`model`][]: the networks, their weight files, sensors in and fields out.
//! - [`train`][]: losses, gradient cap, teacher and training steps.
//! - [`eval`][]: figures.

pub use scope_data as data;
pub use scope_engine as engine;
pub use scope_eval as eval;
pub use scope_exact as exact;
pub use scope_model as model;
pub use scope_pde as pde;
pub use scope_train as train;

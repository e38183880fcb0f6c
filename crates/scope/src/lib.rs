//! SCOPE recovers complete physical fields from sparse sensors. This crate is the front door: it re-exports
//! the libraries, and holds the command-line program.
//!
//! - [`pde`][]: random fields and five solvers.
//! - [`data`][]: pairs of fields, their files and normalisation, masks and schedules.
//! - [`eval`][]: figures.

pub use scope_data as data;
pub use scope_eval as eval;
pub use scope_pde as pde;

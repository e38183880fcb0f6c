//! Randomness: streams addressed by coordinates, and the Gaussian random fields drawn from them.

mod neumann_field;
mod periodic_field;
mod stream;

pub use neumann_field::NeumannField;
pub use periodic_field::PeriodicField;
pub use stream::{Coordinates, Stream};

//! The tests of the exact posterior, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod dense;
mod dense_reference;
mod model_check;
mod placement;
mod properties;

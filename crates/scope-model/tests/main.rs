//! The tests of networks, weights and models, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod auxiliary;
mod error_bands;
mod operators;
mod parameter_counts;
mod reconstruct;
mod sensor_fits;
mod weight_files;

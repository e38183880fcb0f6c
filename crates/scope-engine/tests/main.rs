//! The tests of the engine, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod finite_differences;
mod fit_points;
mod golden;
mod gpu;
mod integer_products;
mod local_fits;
mod muon;
mod tapes;

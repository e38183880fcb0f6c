//! The tests of training, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod auxiliary;
mod cap;
mod from_weights;
mod gpu;
mod guards;
mod learns;
mod local_fits;
mod operators;
mod oracle;
mod parity;
mod resume;
mod small_runs;
mod team;

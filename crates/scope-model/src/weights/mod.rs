//! Weight files: safetensors whose tensor names are the parameters' paths, with the model's sizes, its PDE and
//! its normalisation in the header, so that a file is all one needs.
//!
//! Matrices may be quantised: integers with a scale for each row of the first axis ([`Quantisation`]). The scales of
//! `NAME` are the tensor `NAME.scale`. Vectors (biases, gains) stay in single precision.

mod about;
mod file;
mod header;
mod quantise;

pub use about::About;
pub use file::WeightFile;
pub use quantise::{LayerHessians, Quantisation, multiply_in_int8};

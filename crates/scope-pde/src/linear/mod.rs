//! Linear algebra on square fields: small products, factors, orthonormal bases, fast direct solvers.

#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod cache_lines;
pub mod cholesky;
pub mod eigen;
pub mod matrix;
mod minres;
mod parity_basis;
mod separable;

pub(crate) use minres::minres;
pub use parity_basis::ParityBasis;
pub use separable::SeparableSolver;

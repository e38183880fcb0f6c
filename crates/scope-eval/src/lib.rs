//! How well a model recovers held-out fields, what its latents hold, and pictures. Tables, paired statistics and
//! further figures will live here.

pub mod diagnose;
mod eigen;
mod evaluate;
pub mod figure;
mod metrics;
mod protocol;

pub use eigen::{Eigen, symmetric_eigen};
pub use evaluate::{Errors, Summary, evaluate};
pub use metrics::{bit_error_rate, relative_error};
pub use protocol::Protocol;

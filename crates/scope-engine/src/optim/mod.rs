//! Optimizers: passes over the flat buffers of parameters and gradients that clip, cap, step and average (EMA).
//!
//! Whatever changes from step to step, and whatever one pass measures for the next, stays in tensors: a step
//! never waits for a number to come back from its device.

mod adamw;
mod capped;
mod ema;
pub(crate) mod muon;
mod optimizer;

pub use adamw::{AdamW, Moments, StepScalars, Update};
pub use capped::Capped;
pub use muon::Muon;
pub use optimizer::Optimizer;

pub(crate) use adamw::Slot;
pub(crate) use capped::MARGIN as CAP_MARGIN;

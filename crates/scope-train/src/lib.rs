//! Losses, gradient cap, teacher and training steps of the SCOPE networks.
//!
//! A [`Trainer`] holds the state of a training stage and takes steps on [`Examples`]; what it minimises is data
//! ([`Objective`]), not code. [`HeadTrainer`] trains a replacement decoder on latents that stand still.

mod adapt;
mod error;
mod examples;
mod losses;
mod objective;
#[cfg(not(target_arch = "wasm32"))]
mod recorded;
mod step;

pub use adapt::HeadTrainer;
pub use error::TrainError;
pub use examples::{Examples, loss_weights};
pub use losses::{Pass, PassLosses};
pub use objective::{Component, Objective, Reach};
#[cfg(not(target_arch = "wasm32"))]
pub use recorded::RecordedTrainer;
pub use step::{Measured, StepReport, Trainer};

//! What can go wrong in training.

use scope_engine::EngineError;
use scope_model::ModelError;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
pub enum TrainError {
    /// A fault in the computation.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A fault of a model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

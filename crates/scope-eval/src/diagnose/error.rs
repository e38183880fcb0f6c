//! What can go wrong in a diagnosis.

use scope_data::DataError;
use scope_engine::EngineError;
use scope_model::ModelError;
use scope_pde::{GridShape, Pde};
use thiserror::Error;

/// An error of a diagnosis.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// Records that the model was not trained for.
    #[error(
        "the records are {data} and the model was trained on {model}: problem and normalisation must be the same"
    )]
    OtherProblem {
        /// The problem of the records.
        data: Pde,
        /// The problem of the model.
        model: Pde,
    },
    /// Records on another grid.
    #[error("the model reads {model} grids and the records are on {data}")]
    OtherGrid {
        /// The records' grid.
        data: GridShape,
        /// The model's.
        model: GridShape,
    },
    /// Too few records.
    #[error("{0} record(s) have no spread: diagnose at least two")]
    TooFew(usize),
    /// A condition of another problem.
    #[error("{0} is for the cylinder only")]
    CylinderOnly(String),
    /// A base model that the diagnosed one was not made from.
    #[error(
        "the base has another {0}: a decoder transfers between runs that share all parts but the decoder"
    )]
    OtherBackbone(&'static str),
    /// A record with a value that is NaN or infinite.
    #[error("record {0} has a value that is not finite: check the set")]
    NotFinite(usize),
    /// A model whose numbers run over.
    #[error("the model's output for record {0} is not finite")]
    Overflow(usize),
    /// A fault of the data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A fault of the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A fault in the computation.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

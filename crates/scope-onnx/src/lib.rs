//! Trained models as ONNX graphs, for programs that run such graphs.
//!
//! A graph has everything inside: the normalisation of readings, the local fits of the sensors, the network and the way
//! back to physical units. Its inputs are `readings` and `mask` \[batch, 2, rows, columns\], its output is `fields` of
//! the same shape, all single precision and in physical units, a before u. Initialisers that are parameters have the
//! names and the values of a weight file.

mod encode;
mod graph;
mod layers;
mod local_fits;
mod network;
mod operators;
mod protobuf;
mod scales;

use std::path::Path;

use scope_data::{DataError, write_atomic};
use scope_engine::EngineError;
use scope_model::{About, Architecture, FieldModel};
use thiserror::Error;

use scales::Scales;

pub use graph::{Attribute, Graph, Initialiser, Node, Numbers};

/// The version of the operators that graphs use: the first with GELU.
pub const OPSET: u64 = 20;
/// The most bytes of a graph in one file: what protobuf can count.
const MOST_BYTES: usize = (1 << 31) - 1;

/// Why a model was not exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// A network of the auxiliary study, whose input is not a user's sensors.
    #[error(
        "no ONNX graph is written of {0}: it gives one field from 3% of the other, and a graph is for any readings of \
         both. SCOPE's networks, FNO, DeepONet, CNO and Transolver have one"
    )]
    Auxiliary(String),
    /// A network of someone's own program.
    #[error(
        "no ONNX graph can be written of {0}, a network of one's own: only the program that has it knows its layers"
    )]
    Own(String),
    /// A parameter that the network has and the model lacks.
    #[error("the model has no parameter {0}")]
    Parameter(String),
    /// A graph that is too large for one file.
    #[error("the graph has {0} bytes, and a file of this format has {MOST_BYTES} at most")]
    TooLarge(usize),
    /// Parameters that cannot be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file that could not be written.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// The graph of a model.
pub fn graph(model: &FieldModel, about: &About) -> Result<Graph, OnnxError> {
    let params = &model.params;
    let mut graph = Graph::new(about.config.resolution().lengths());
    let scales = Scales::of(&mut graph, &about.constants);
    let values = scales.store(&mut graph); // [batch, 2, rows, columns], zero where nothing is measured
    let stored = match &about.config {
        Architecture::Scope(config) => network::fields(&mut graph, config, params, &values)?,
        Architecture::Fno(config) => operators::fno(&mut graph, config, params, &values)?,
        Architecture::DeepOnet(config) => operators::deeponet(&mut graph, config, params, &values)?,
        Architecture::Cno(config) => operators::cno(&mut graph, config, params, &values)?,
        Architecture::Transolver(config) => operators::transolver(&mut graph, config, params, &values)?,
        Architecture::Auxiliary(_) => return Err(OnnxError::Auxiliary(about.config.name().to_owned())),
        Architecture::Own(_) => return Err(OnnxError::Own(about.config.name().to_owned())),
    };
    scales.physical(&mut graph, &stored);
    Ok(graph)
}

/// Writes the graph of a model, whole or not at all. Gives the number of bytes.
pub fn export(model: &FieldModel, about: &About, path: &Path) -> Result<usize, OnnxError> {
    let bytes = encode::model(&graph(model, about)?, about);
    if bytes.len() > MOST_BYTES {
        return Err(OnnxError::TooLarge(bytes.len()));
    }
    write_atomic(path, &bytes)?;
    Ok(bytes.len())
}

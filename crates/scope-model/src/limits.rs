//! How large a network may be: far beyond any use, and small enough for any machine to count with.
//!
//! Sizes come from files. Each is bounded by itself, so that no product of a few of them overflows, and the parameters
//! that they make are bounded together.

use scope_engine::Layout;
use scope_pde::{GridShape, MAX_RESOLUTION};

use crate::error::ModelError;

/// The most layers of a stack.
pub(crate) const MOST_LAYERS: usize = 1 << 10;
/// The most parameters of a network: 32 GiB in single precision. The paper's DeepONet has half as many on the finest
/// grid.
pub(crate) const MOST_PARAMETERS: u64 = 1 << 33;

/// Refuses a grid that is empty, or finer than data are.
pub(crate) fn require_grid(resolution: GridShape) -> Result<(), ModelError> {
    match resolution.lengths().into_iter().find(|length| !(1..=MAX_RESOLUTION).contains(length)) {
        None => Ok(()),
        Some(length) => {
            Err(ModelError::Config(format!("a grid of {length} is outside 1 to {MAX_RESOLUTION}")))
        }
    }
}

/// Refuses stacks that are too deep.
pub(crate) fn require_layers(name: &str, layers: usize) -> Result<(), ModelError> {
    if layers <= MOST_LAYERS {
        return Ok(());
    }
    Err(ModelError::Config(format!("{name} of {layers} layers: {MOST_LAYERS} at most")))
}

/// Refuses more parameters than a network has.
pub(crate) fn require_count(layout: &Layout) -> Result<(), ModelError> {
    let count = layout.len() as u64;
    if count <= MOST_PARAMETERS {
        return Ok(());
    }
    Err(ModelError::Config(format!(
        "{count} parameters are more than a network may have ({MOST_PARAMETERS})"
    )))
}

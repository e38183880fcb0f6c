//! The operators that SCOPE is compared with (paper, "Main-comparison mask-aware operators"). Each reads six channels
//! a pixel, (Ma a, Ma, Mu u, Mu, x, y), and gives both fields; those of the auxiliary study give the hidden one.

mod auxiliary;
mod cno;
mod deeponet;
mod fno;
mod resize;
mod spectral;
mod transolver;

pub use auxiliary::{
    AuxDeepOnetConfig, AuxFnoConfig, Auxiliary, AuxiliaryConfig, AuxiliaryNetwork, AuxiliarySizes,
    ChannelUnits, UnetConfig,
};
pub use cno::{Cno, CnoConfig};
pub use deeponet::{DeepOnet, DeepOnetConfig};
pub use fno::{Fno, FnoConfig};
pub use resize::{LEAKY_SLOPE, bicubic_resize};
pub use spectral::{Modes, Transforms};
pub use transolver::{Transolver, TransolverConfig};

use crate::error::ModelError;

/// Channels of a context.
pub(crate) const CONTEXT: usize = 4;
/// Channels of a pixel: the context's, and its coordinates.
const PIXEL: usize = CONTEXT + 2;
/// Fields recovered.
pub(crate) const FIELDS: usize = 2;
/// The most a size may be: far beyond any use, and small enough that no product of sizes overflows.
const MOST: usize = 1 << 12;

/// The most fixed numbers (coordinates, transforms) that a network may need: those of the paper's on the finest grid
/// are fewer.
const MOST_CONSTANTS: usize = 1 << 27;

/// Refuses sizes that are zero or absurd.
fn require_sizes(name: &str, sizes: &[usize]) -> Result<(), ModelError> {
    match sizes.iter().find(|size| !(1..=MOST).contains(*size)) {
        Some(size) => Err(ModelError::Config(format!("{name}: a size of {size} is outside 1 to {MOST}"))),
        None => Ok(()),
    }
}

/// Refuses networks that need too many fixed numbers.
fn require_constants(name: &str, factors: &[usize]) -> Result<(), ModelError> {
    let count = factors.iter().fold(1, |count: usize, factor| count.saturating_mul(*factor));
    if count <= MOST_CONSTANTS {
        return Ok(());
    }
    Err(ModelError::Config(format!(
        "{name}: its sizes need {count} fixed numbers, more than {MOST_CONSTANTS}"
    )))
}

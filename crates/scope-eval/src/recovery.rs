//! What can be evaluated: anything that recovers fields from contexts.

use scope_data::Constants;
use scope_model::{Fields, ModelError, Reconstructor};
use scope_pde::Pde;

/// Why a method gave no fields.
pub type RecoveryError = Box<dyn std::error::Error + Send + Sync>;

/// A method under test: it sees what a network sees, and nothing else.
pub trait Recovery {
    /// The problem it is made for.
    fn pde(&self) -> Pde;

    /// How the values of its contexts are stored.
    fn constants(&self) -> Constants;

    /// The side of its grid.
    fn resolution(&self) -> usize;

    /// Recovers the fields of contexts \[n, 4, S, S\]: (Ma a, Ma, Mu u, Mu) each, in stored coordinates. A record's fields must not
    /// depend on the others.
    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, RecoveryError>;
}

impl Recovery for Reconstructor {
    fn pde(&self) -> Pde {
        self.about().pde
    }

    fn constants(&self) -> Constants {
        self.about().constants
    }

    fn resolution(&self) -> usize {
        self.about().config.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, RecoveryError> {
        Reconstructor::recover(self, contexts).map_err(|error: ModelError| error.into())
    }
}

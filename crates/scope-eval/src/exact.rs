//! The exact posterior as a method under test.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use scope_data::{
    Constants,
    observation::{Condition, Task},
};
use scope_exact::{ExactError, Noise, Prior, readings};
use scope_model::Fields;
use scope_pde::Pde;

use crate::{
    identity::MethodIdentity,
    recovery::{Recovery, RecoveryError},
};

/// The posterior mean given the sensors of a context, whose only noise is that they are stored as float32.
pub struct ExactRecovery {
    prior: Prior,
    constants: Constants,
    approximate: AtomicUsize,
}

impl ExactRecovery {
    /// For records of a problem on S x S points.
    pub fn new(pde: Pde, constants: Constants, size: usize) -> Result<Self, ExactError> {
        Ok(Self { prior: Prior::new(pde, size)?, constants, approximate: AtomicUsize::new(0) })
    }

    /// Whether what a condition observes has an exact posterior.
    pub fn supports(&self, condition: Condition) -> bool {
        self.prior.is_linear() || condition.task() == Task::Forward
    }

    /// How many answers so far were approximations, for having too many sensors.
    pub fn approximate(&self) -> usize {
        self.approximate.load(Ordering::Relaxed)
    }

    /// Who it is.
    pub fn identity(&self) -> MethodIdentity {
        MethodIdentity {
            name: "exact".to_owned(),
            model: None,
            recipe: None,
            decoder: None,
            parameters: 0,
            blake3: None,
            training: None,
        }
    }

    fn mean(&self, context: &[f32]) -> Result<Fields, ExactError> {
        let readings = readings(context, &self.constants);
        let posterior = self.prior.given(&readings, Noise::rounding(&self.constants))?;
        if posterior.is_approximate() {
            self.approximate.fetch_add(1, Ordering::Relaxed);
        }
        let mean = posterior.mean()?;
        let single = |field: Vec<f64>| field.into_iter().map(|x| x as f32).collect();
        Ok(Fields { a: single(mean.a), u: single(mean.u) })
    }
}

impl Recovery for ExactRecovery {
    fn pde(&self) -> Pde {
        self.prior.pde()
    }

    fn constants(&self) -> Constants {
        self.constants
    }

    fn resolution(&self) -> usize {
        self.prior.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, RecoveryError> {
        let each = 4 * self.prior.resolution().pow(2);
        let fields: Result<Vec<Fields>, ExactError> =
            contexts.par_chunks(each).map(|context| self.mean(context)).collect();
        Ok(fields?)
    }
}

//! What can be evaluated: anything that recovers fields from contexts.

use rayon::prelude::*;
use scope_data::{
    Constants, PerChannel,
    observation::{ContextMasks, Task, UserContext},
};
use scope_model::{
    Fields, ModelError, Reconstructor,
    bands::{Bands, misfits},
    recover_sensors,
};
use scope_pde::{GridShape, Pde};

/// Why a method gave no fields.
pub type MethodError = Box<dyn std::error::Error + Send + Sync>;

/// A method under test: it sees what a network sees, and nothing else.
pub trait RecoveryMethod {
    /// The problem it is made for.
    fn pde(&self) -> Pde;

    /// How the values of its contexts are stored.
    fn constants(&self) -> Constants;

    /// The points of its grid along each axis.
    fn resolution(&self) -> GridShape;

    /// Recovers the fields of contexts \[n, 4, rows, columns\]: (Ma a, Ma, Mu u, Mu) each, in stored coordinates. A
    /// record's fields must not depend on the others.
    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError>;

    /// Recovers the fields of sensors that may lie between pixels. A method that reads nothing but contexts has them
    /// carried to pixels; one that can use them where they are does so.
    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        recover_sensors(self.pde(), &self.constants(), contexts, |contexts| self.recover(contexts))
    }

    /// How far it says its fields may be off, for each context; none for a method, or for sensors, that it says nothing
    /// of.
    fn bands(&self, shown: &[Shown]) -> Result<Vec<Option<StatedBands>>, MethodError> {
        Ok(shown.iter().map(|_| None).collect())
    }
}

/// What a method is shown of one record.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Which channels are measured.
    pub task: Task,
    /// The points where they are measured.
    pub masks: &'a ContextMasks,
    /// \[4, rows, columns\].
    pub context: &'a [f32],
    /// What the method recovered of it.
    pub fields: &'a Fields,
}

/// The stored readings of a and of u in a context \[4, rows, columns\] of so many points.
pub(crate) fn readings(context: &[f32], points: usize) -> PerChannel<&[f32]> {
    PerChannel { a: &context[..points], u: &context[2 * points..3 * points] }
}

/// Half-widths about recovered fields.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedBands {
    /// The shares of pixels that are said to lie within.
    pub levels: [f64; 2],
    /// The half-widths of each level, in physical units; zero where a value is known.
    pub half_widths: [Fields; 2],
}

impl RecoveryMethod for Reconstructor {
    fn pde(&self) -> Pde {
        self.about().pde
    }

    fn constants(&self) -> Constants {
        self.about().constants
    }

    fn resolution(&self) -> GridShape {
        self.about().config.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        Reconstructor::recover(self, contexts).map_err(|error: ModelError| error.into())
    }

    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        Reconstructor::recover_sensors(self, contexts).map_err(|error: ModelError| error.into())
    }
}

/// A method with bands that were measured for it.
pub struct Banded<M> {
    /// The method.
    pub method: M,
    /// Its bands, if it has any.
    pub bands: Option<Bands>,
}

impl<M: RecoveryMethod> RecoveryMethod for Banded<M> {
    fn pde(&self) -> Pde {
        self.method.pde()
    }

    fn constants(&self) -> Constants {
        self.method.constants()
    }

    fn resolution(&self) -> GridShape {
        self.method.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        self.method.recover(contexts)
    }

    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        self.method.recover_sensors(contexts)
    }

    fn bands(&self, shown: &[Shown]) -> Result<Vec<Option<StatedBands>>, MethodError> {
        let Some(bands) = &self.bands else { return self.method.bands(shown) };
        let constants = self.constants();
        let of = |shown: &Shown| {
            let Shown { task, masks, context, fields } = *shown;
            let readings = readings(context, masks.shape().points());
            let misfits = misfits(&constants, task, masks, readings, fields);
            let found = bands.of(task, masks, &misfits).ok()?;
            Some(StatedBands { levels: found.levels, half_widths: found.half_widths })
        };
        Ok(shown.par_iter().map(of).collect())
    }
}

//! Local fits of sensors that lie anywhere, between pixels too.

use super::local_fit::{FitSizes, LocalFit};
use crate::{
    cpu::{self, Cpu},
    error::{EngineError, require_shape},
};

/// A reading of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitPoint {
    /// Where, in pixels along axis 0 and axis 1: from 0 to less than the axis's length.
    pub at: [f64; 2],
    /// What is read.
    pub value: f64,
    /// How much it counts: 1, as a mask says of a measured pixel.
    pub weight: f64,
}

impl LocalFit {
    /// The coefficients of local fits of sensors where they are, channel (scale, field, coefficient). Those of sensors
    /// that lie on pixels are what [`crate::Tape::local_fits`] makes of a context. With divisors \[channels\] each is
    /// divided by its number there and clamped to +-5; without, they are as they were fitted.
    ///
    /// They are computed on a CPU, whatever a network runs on: sensors are few, and a list of them has no fixed length
    /// that a recorded pass could have.
    ///
    /// # Shapes
    /// points: a list for each field; size (height, width), multiples of the stride; fits \[coefficients scales fields,
    /// height / stride, width / stride\].
    pub fn of_points(
        &self,
        cpu: &Cpu,
        size: [usize; 2],
        points: &[Vec<FitPoint>],
        divisors: Option<&[f64]>,
    ) -> Result<Vec<f64>, EngineError> {
        self.check()?;
        self.require_ridges(points.len())?;
        let [height, width] = size;
        let sizes = FitSizes { batch: 1, fields: points.len(), height, width };
        if size.iter().any(|side| *side == 0 || !side.is_multiple_of(self.stride)) {
            return Err(EngineError::shape(
                "local fits",
                "the grid",
                format!("sides that are multiples of {}", self.stride),
                &size,
            ));
        }
        points.iter().flatten().try_for_each(|point| point.require_inside(size))?;
        if let Some(divisors) = divisors {
            let channels = self.channels(points.len());
            require_shape("local fits", "the divisors", &[divisors.len()], &[channels])?;
        }
        Ok(cpu::local_fit::fits_of_points(cpu, sizes, self, points, divisors.map(<[f64]>::to_vec)))
    }
}

impl FitPoint {
    /// Refuses a reading that is not on the grid, or not a number.
    fn require_inside(&self, size: [usize; 2]) -> Result<(), EngineError> {
        let inside = self.at.iter().zip(size).all(|(at, length)| (0.0..length as f64).contains(at));
        if inside && self.value.is_finite() && self.weight.is_finite() {
            return Ok(());
        }
        Err(EngineError::LocalFit(format!("{self:?} is no reading on a grid of {size:?} pixels")))
    }
}

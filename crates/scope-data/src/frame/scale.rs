//! The scales that turn a dimensional problem into ours, from what is stated of them and what the problem's equation
//! says of the others.

use std::str::FromStr;

use scope_pde::{
    Pde,
    descriptor::{Amplitudes, Scale},
};

use super::FrameError;
use crate::PerChannel;

/// Scales that must agree may differ by so much of their size: people round.
const TOLERANCE: f64 = 1e-6;

/// Scales as they are stated, as in `length=500,u=10`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedScale {
    /// L: the side of the square, in the unit that a and u are expressed in.
    pub length: Option<f64>,
    /// A: the scale of the values of a.
    pub a: Option<f64>,
    /// U: the scale of the values of u.
    pub u: Option<f64>,
    /// C: what stands before the operator of a linear equation.
    pub coefficient: Option<f64>,
    /// Whether U is to be estimated from the readings.
    pub estimate_u: bool,
}

impl StatedScale {
    /// The scales of a problem, those left out derived from its equation. Without a stated length it is `side`.
    pub(super) fn resolve(&self, pde: Pde, side: f64) -> Result<Scale, FrameError> {
        if self.estimate_u {
            return Err(FrameError::NotEstimated);
        }
        let length = self.length.unwrap_or(side);
        let law = pde.descriptor().scaling.ok_or(FrameError::UnknownEquation(pde))?;
        let is_linear = law.amplitudes == Amplitudes::Linear;
        if self.coefficient.is_some() && !is_linear {
            return Err(FrameError::Coefficient(pde));
        }
        let coefficient = self.coefficient.unwrap_or(1.0);
        let values = match law.amplitudes {
            Amplitudes::Linear => self.linear(coefficient / (length * length)),
            Amplitudes::Equal => self.equal(pde),
            Amplitudes::Independent => match (self.a, self.u) {
                (Some(a), Some(u)) => Ok(PerChannel { a, u }),
                _ => Err(FrameError::BothNeeded(pde)),
            },
        }?;
        let sound = [values.a, values.u].into_iter().all(|scale| scale.is_finite() && scale != 0.0);
        if !sound {
            return Err(FrameError::Extreme);
        }
        if !is_linear && (values.a < 0.0 || values.u < 0.0) {
            return Err(FrameError::Negative(pde));
        }
        Ok(Scale { length, values, coefficient })
    }

    /// A = r U of a linear problem, whose amplitude is free.
    fn linear(&self, ratio: f64) -> Result<PerChannel<f64>, FrameError> {
        match (self.a, self.u) {
            (None, None) => Ok(PerChannel { a: ratio, u: 1.0 }),
            (None, Some(u)) => Ok(PerChannel { a: ratio * u, u }),
            (Some(a), None) => Ok(PerChannel { a, u: a / ratio }),
            (Some(a), Some(u)) if agree(a, ratio * u) => Ok(PerChannel { a, u }),
            (Some(a), Some(u)) => Err(FrameError::Tied { a, u, expected: ratio * u }),
        }
    }

    /// A = U of two values of one kind at two times.
    fn equal(&self, pde: Pde) -> Result<PerChannel<f64>, FrameError> {
        match (self.a, self.u) {
            (Some(a), Some(u)) if !agree(a, u) => Err(FrameError::OneUnit { pde, a, u }),
            (a, u) => Ok(PerChannel::both(a.or(u).unwrap_or(1.0))),
        }
    }
}

fn agree(x: f64, y: f64) -> bool {
    (x - y).abs() <= TOLERANCE * x.abs().max(y.abs())
}

impl FromStr for StatedScale {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self, FrameError> {
        let malformed = || FrameError::Scale(text.to_owned());
        let mut stated = Self::default();
        for part in text.split(',') {
            let (key, number) = part.split_once('=').ok_or_else(malformed)?;
            if key.trim() == "u" && number.trim() == "auto" && !stated.estimate_u {
                stated.estimate_u = true;
                continue;
            }
            let slot = match key.trim() {
                "length" => &mut stated.length,
                "a" => &mut stated.a,
                "u" => &mut stated.u,
                "coefficient" => &mut stated.coefficient,
                _ => return Err(malformed()),
            };
            let number: f64 = number.trim().parse().map_err(|_| malformed())?;
            let sound = number.is_finite() && number != 0.0 && (key.trim() != "length" || number > 0.0);
            if !sound || slot.replace(number).is_some() {
                return Err(malformed());
            }
        }
        // An amplitude is stated or estimated, not both.
        let both = stated.estimate_u && (stated.u.is_some() || stated.a.is_some());
        if both { Err(malformed()) } else { Ok(stated) }
    }
}

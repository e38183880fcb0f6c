//! The scales that turn a dimensional problem into ours: x = L x', a = A a', u = U u', with x', a' and u' on the unit
//! square.
//!
//! | problem | its equation | what the scales must obey |
//! |---|---|---|
//! | Poisson | C Lap u = a | A = C U / L^2 |
//! | Helmholtz | C (Lap u + k^2 u) = a, k = 1 / L | A = C U / L^2 |
//! | Darcy | -div(a grad u) = A U / L^2, a is 3 A or 12 A | A and U are both stated |
//! | Navier-Stokes | viscosity 1e-3 A L^2, forcing 0.1 A^2, from time 0 to 1 / A | A = U |
//! | cylinder | viscosity 1e-3 A L, speeds at 0.5 L / A and 0.9 L / A | A = U |

use std::str::FromStr;

use scope_pde::{
    Pde,
    darcy::{HIGH, LOW},
};

use super::FrameError;
use crate::PerChannel;

/// Scales that must agree may differ by so much of their size: people round.
const TOLERANCE: f64 = 1e-6;

/// How an equation changes with the scales of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalingLaw {
    Poisson,
    Helmholtz,
    Darcy,
    NavierStokes,
    Cylinder,
}

impl ScalingLaw {
    /// The law of a problem, if its equation is known.
    pub(super) fn of(pde: Pde) -> Result<Self, FrameError> {
        const LAWS: [(Pde, ScalingLaw); 5] = [
            (Pde::POISSON, ScalingLaw::Poisson),
            (Pde::HELMHOLTZ, ScalingLaw::Helmholtz),
            (Pde::DARCY, ScalingLaw::Darcy),
            (Pde::NAVIER_STOKES, ScalingLaw::NavierStokes),
            (Pde::CYLINDER, ScalingLaw::Cylinder),
        ];
        let law = LAWS.into_iter().find(|(known, _)| *known == pde);
        law.map(|(_, law)| law).ok_or(FrameError::UnknownEquation(pde))
    }

    /// Whether a multiple of a solution is one.
    fn is_linear(self) -> bool {
        matches!(self, ScalingLaw::Poisson | ScalingLaw::Helmholtz)
    }
}

/// Scales as they are stated, as in `length=500,u=10`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedScale {
    /// L: the side of the square, in the unit that a and u are expressed in.
    pub length: Option<f64>,
    /// A: the scale of the values of a.
    pub a: Option<f64>,
    /// U: the scale of the values of u.
    pub u: Option<f64>,
    /// C: what stands before the operator of Poisson and Helmholtz.
    pub coefficient: Option<f64>,
    /// Whether U is to be estimated from the readings.
    pub estimate_u: bool,
}

/// Scales that agree with a problem's equation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// L: the side of the square.
    pub length: f64,
    /// A and U: the scales of the values of a and u.
    pub values: PerChannel<f64>,
    /// C: what stands before the operator of Poisson and Helmholtz.
    pub coefficient: f64,
}

impl StatedScale {
    /// The scales of a problem, those left out derived from its equation. Without a stated length it is `side`.
    pub(super) fn resolve(&self, pde: Pde, side: f64) -> Result<Scale, FrameError> {
        if self.estimate_u {
            return Err(FrameError::NotEstimated);
        }
        let length = self.length.unwrap_or(side);
        let law = ScalingLaw::of(pde)?;
        if self.coefficient.is_some() && !law.is_linear() {
            return Err(FrameError::Coefficient(pde));
        }
        let coefficient = self.coefficient.unwrap_or(1.0);
        let values = match law {
            ScalingLaw::Poisson | ScalingLaw::Helmholtz => self.linear(coefficient / (length * length)),
            ScalingLaw::NavierStokes | ScalingLaw::Cylinder => self.equal(pde),
            ScalingLaw::Darcy => match (self.a, self.u) {
                (Some(a), Some(u)) => Ok(PerChannel { a, u }),
                _ => Err(FrameError::BothNeeded),
            },
        }?;
        let sound = [values.a, values.u].into_iter().all(|scale| scale.is_finite() && scale != 0.0);
        if !sound {
            return Err(FrameError::Extreme);
        }
        if !law.is_linear() && (values.a < 0.0 || values.u < 0.0) {
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

impl Scale {
    /// The equation that fields in the user's units obey, for the user to compare with the own one; u is `edge` on the
    /// edge.
    pub(super) fn equation(&self, law: ScalingLaw, edge: f64) -> String {
        let Self { length, values: PerChannel { a, u }, coefficient } = self;
        let operator = if *coefficient == 1.0 { String::new() } else { format!("{coefficient} ") };
        match law {
            ScalingLaw::Poisson => format!("{operator}Lap u = a, u = {edge} on the edge"),
            ScalingLaw::Helmholtz => {
                let [open, close] = if operator.is_empty() { ["", ""] } else { ["(", ")"] };
                let k = rounded(1.0 / length);
                format!("{operator}{open}Lap u + k^2 u{close} = a with k = {k}, u = 0 on the edge")
            }
            ScalingLaw::Darcy => format!(
                "-div(a grad u) = {}, a is {} or {}, u = {edge} on the edge",
                rounded(a * u / (length * length)),
                rounded(LOW * a),
                rounded(HIGH * a)
            ),
            ScalingLaw::NavierStokes => format!(
                "w_t + v . grad w = {} Lap w + {} (sin s + cos s), s = 2 pi (x + y) / {length}, periodic; a = w(0), u = w({})",
                rounded(1e-3 * a * length * length),
                rounded(0.1 * a * a),
                rounded(1.0 / a)
            ),
            ScalingLaw::Cylinder => format!(
                "incompressible flow of viscosity {}, inflow from {} to {}; a and u are speeds {} and {} after its start",
                rounded(1e-3 * a * length),
                rounded(0.5 * a),
                rounded(3.0 * a),
                rounded(0.5 * length / a),
                rounded(0.9 * length / a)
            ),
        }
    }
}

/// A number with the digits that people compare.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
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

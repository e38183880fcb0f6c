//! Navier-Stokes vorticity on the periodic unit square.
//!
//! w_t + v . grad w = nu Lap w + f, nu = 1e-3, f = 0.1 (sin 2 pi (x+y) + cos 2 pi (x+y)), from a random w
//! at t = 0 (the channel a) to t = 1 (the channel u), on points x_i = i/S.

mod descriptor;
mod fourier;
mod vorticity;

use rustfft::num_complex::Complex;

use crate::{
    Fields, Problem, Record,
    error::PdeError,
    linear::matrix::transpose,
    random::{PeriodicField, Stream},
};
pub use descriptor::NAVIER_STOKES;
use vorticity::Span;
pub use vorticity::Vorticity;

/// Time steps to t = 1 on 128 points: dt = 1/20 is converged to 1e-8 (see the tests).
const STEPS: usize = 20;

/// The Navier-Stokes problem.
#[derive(Clone)]
pub struct NavierStokes {
    size: usize,
    initial: PeriodicField,
    equation: Vorticity,
    /// From t = 0 to t = 1.
    span: Span,
}

impl NavierStokes {
    /// Plans the problem on `size` x `size` points.
    pub fn new(size: usize) -> Self {
        // The advective limit on the time step is proportional to the spacing.
        let steps = STEPS * size.div_ceil(128);
        let equation = Vorticity::forced(size);
        let span = Span::new(&equation, 1.0, steps);
        Self { size, initial: PeriodicField::new(size), equation, span }
    }

    /// The random vorticity at t = 0.
    pub fn initial(&self) -> &PeriodicField {
        &self.initial
    }

    /// A draw of the vorticity at t = 0 alone, without the solve that makes a record of it.
    pub fn draw_initial(&self, stream: &mut Stream) -> Vec<f64> {
        self.equation.field(&self.draw_spectrum(stream))
    }

    /// Transposed, as [`Vorticity`] has it.
    fn draw_spectrum(&self, stream: &mut Stream) -> Vec<Complex<f64>> {
        let drawn = self.initial.draw(stream);
        let mut spectrum = drawn.clone();
        transpose(&drawn, &mut spectrum, self.size);
        spectrum
    }

    /// The vorticity at t = 1 for a vorticity at t = 0.
    pub fn solve(&self, a: &[f64]) -> Result<Vec<f64>, PdeError> {
        let spectrum = self.equation.spectrum(a);
        self.advance(&spectrum)
    }

    fn advance(&self, spectrum: &[Complex<f64>]) -> Result<Vec<f64>, PdeError> {
        let end = self.equation.carry(spectrum, &self.span);
        let u = self.equation.field(&end);
        if u.iter().all(|x| x.is_finite()) {
            Ok(u)
        } else {
            Err(PdeError::BlowUp { solver: "the Navier-Stokes solver", time: 1.0 })
        }
    }
}

impl Problem for NavierStokes {
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError> {
        let spectrum = self.draw_spectrum(stream);
        let a = self.equation.field(&spectrum);
        let u = self.advance(&spectrum)?;
        Ok(Record { fields: Fields { a, u }, disk: None })
    }
}

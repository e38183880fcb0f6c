//! What is known of the fields before any sensor is read.

use std::sync::OnceLock;

use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel};
use scope_pde::{
    Pde, descriptor::GaussianPrior, elliptic::Elliptic, navier_stokes::NavierStokes, random::Stream,
};

use crate::{
    covariance::Covariance,
    error::ExactError,
    posterior::Posterior,
    progress::{Progress, UNHEARD},
    reading::Reading,
    sensors::Sensors,
};

/// The Gaussian random field of a problem and the solver that follows it, planned for one grid. Make it once: every
/// [`Posterior`] on that grid shares its tables.
pub struct Prior {
    pde: Pde,
    size: usize,
    pub(crate) covariance: Covariance,
    pub(crate) response: Response,
    variances: OnceLock<Fields<f64>>,
}

/// How u follows from the latent field.
pub(crate) enum Response {
    /// u = G f, and a is f but for its edge.
    Linear(Elliptic),
    /// u is the vorticity f, carried forward; a is f.
    Flow(NavierStokes),
}

impl Prior {
    /// Plans a problem on S x S points, S even.
    pub fn new(pde: Pde, size: usize) -> Result<Self, ExactError> {
        if !size.is_multiple_of(2) || !(8..=4096).contains(&size) {
            return Err(ExactError::Resolution(size));
        }
        let linear = |problem: Elliptic| (Covariance::of_source(&problem), Response::Linear(problem));
        let (covariance, response) = match pde.descriptor().prior {
            GaussianPrior::Linear(plan) => linear(plan(size)),
            GaussianPrior::InitialState(plan) => {
                let problem = plan(size);
                (Covariance::of_vorticity(&problem, size), Response::Flow(problem))
            }
            GaussianPrior::None(why) => return Err(ExactError::NoPosterior { pde, why }),
        };
        Ok(Self { pde, size, covariance, response, variances: OnceLock::new() })
    }

    /// The problem.
    pub fn pde(&self) -> Pde {
        self.pde
    }

    /// Points along each axis.
    pub fn resolution(&self) -> usize {
        self.size
    }

    /// The posterior given measurements. The mean of several of one place has the less
    /// noise the more they are; those of a value that is zero by definition (u on the edge; for Helmholtz a too) say nothing and are left out.
    /// Between pixels a field is interpolated, and what that may be off adds to the noise.
    pub fn given(&self, readings: &[Reading], noise: PerChannel<f64>) -> Result<Posterior<'_>, ExactError> {
        self.given_watched(readings, noise, UNHEARD)
    }

    /// The same, for more sensors than one wants to wait for unheard.
    pub fn given_watched(
        &self,
        readings: &[Reading],
        noise: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Posterior<'_>, ExactError> {
        Posterior::new(self, Sensors::new(self, readings, noise, progress)?, progress)
    }

    /// Whether u is a linear function of a, so that sensors of u have an exact posterior too.
    pub fn is_linear(&self) -> bool {
        matches!(self.response, Response::Linear(_))
    }

    /// Both fields of a latent one.
    pub(crate) fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, ExactError> {
        match &self.response {
            Response::Linear(problem) => {
                let u = problem.solve(&latent);
                let mut a = latent;
                problem.clear_edge(&mut a);
                Ok(Fields { a, u })
            }
            Response::Flow(problem) => {
                let u = problem.solve(&latent)?;
                Ok(Fields { a: latent, u })
            }
        }
    }

    /// The variance of sum_p w_p f(p), w \[S, S\], f the latent field or u.
    pub(crate) fn variance_of(&self, channel: Channel, weights: Vec<f64>) -> f64 {
        let sources = match (&self.response, channel) {
            (Response::Linear(problem), Channel::U) => problem.solve(&weights),
            _ => weights,
        };
        self.covariance.apply_root(sources).iter().map(|x| x * x).sum()
    }

    /// A draw of the latent field.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        match &self.response {
            Response::Linear(problem) => problem.source().draw(stream),
            Response::Flow(problem) => problem.draw_initial(stream),
        }
    }

    /// \[S, S\] each: the variances of a and, where it is linear, of u (else zero).
    pub(crate) fn variances(&self) -> &Fields<f64> {
        self.variances.get_or_init(|| {
            let pixels = self.size * self.size;
            let mut a: Vec<f64> = (0..pixels).map(|p| self.covariance.between(p, p)).collect();
            let u = match &self.response {
                Response::Linear(problem) => {
                    problem.clear_edge(&mut a);
                    response_variances(problem, self.size)
                }
                Response::Flow(_) => vec![0.0; pixels],
            };
            Fields { a, u }
        })
    }
}

/// var u(x) = sum_k (c_k (phi_k, G delta_x))^2, G being symmetric. The square's symmetries leave an eighth of the
/// points to compute: i <= j < S / 2.
fn response_variances(problem: &Elliptic, size: usize) -> Vec<f64> {
    let half = size / 2;
    let source = problem.source();
    let variance = |(i, j): (usize, usize)| {
        let mut delta = vec![0.0; size * size];
        delta[i * size + j] = 1.0;
        let mut response = problem.solve(&delta);
        source.basis().analyse_both(&mut response, &mut delta);
        response.iter().zip(source.deviations()).map(|(x, c)| (c * x).powi(2)).sum::<f64>()
    };
    // The edge itself is zero.
    let wedge: Vec<(usize, usize)> = (1..half).flat_map(|i| (i..half).map(move |j| (i, j))).collect();
    let values: Vec<f64> = wedge.par_iter().map(|at| variance(*at)).collect();
    let mut all = vec![0.0; size * size];
    for ((i, j), value) in wedge.into_iter().zip(values) {
        for (i, j) in [(i, j), (j, i)] {
            for row in [i, size - 1 - i] {
                all[row * size + j] = value;
                all[row * size + size - 1 - j] = value;
            }
        }
    }
    all
}

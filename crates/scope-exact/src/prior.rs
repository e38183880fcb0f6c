//! What is known of the fields before any sensor is read.

use std::sync::OnceLock;

use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel};
use scope_pde::{
    GridShape, Pde, descriptor::GaussianPrior, elliptic::Elliptic, linear::cholesky::dot,
    navier_stokes::NavierStokes, random::Stream,
};

use crate::{
    covariance::Covariance, error::PosteriorError, field_prior::FieldPrior, posterior::Posterior,
    progress::UNHEARD, reading::Reading,
};

/// The Gaussian random field of a problem and the solver that follows it, planned for one grid. Make it once: every
/// [`Posterior`] on that grid shares its tables.
pub struct Prior {
    pde: Pde,
    pub(crate) size: usize,
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
    pub fn new(pde: Pde, size: usize) -> Result<Self, PosteriorError> {
        if !size.is_multiple_of(2) || !(8..=4096).contains(&size) {
            return Err(PosteriorError::Resolution(size));
        }
        let linear = |problem: Elliptic| (Covariance::of_source(&problem), Response::Linear(problem));
        let (covariance, response) = match pde.descriptor().prior {
            GaussianPrior::Linear { plan, .. } => linear(plan(size)),
            GaussianPrior::InitialState(plan) => {
                let problem = plan(size);
                (Covariance::of_vorticity(&problem, size), Response::Flow(problem))
            }
            GaussianPrior::None(why) => return Err(PosteriorError::NoPosterior { pde, why }),
        };
        Ok(Self { pde, size, covariance, response, variances: OnceLock::new() })
    }

    /// The posterior given measurements. The mean of several of one place has the less
    /// noise the more they are; those of a value that is zero by definition (u on the edge; for Helmholtz a too) say
    /// nothing and are left out. Between pixels a field is interpolated, and what that may be off adds to the noise.
    pub fn given(
        &self,
        readings: &[Reading],
        noise: PerChannel<f64>,
    ) -> Result<Posterior<'_>, PosteriorError> {
        Posterior::given(self, readings, noise, UNHEARD)
    }

    /// The points of the grid.
    pub(crate) fn pixels(&self) -> usize {
        self.size * self.size
    }
}

impl FieldPrior for Prior {
    fn pde(&self) -> Pde {
        self.pde
    }

    fn resolution(&self) -> GridShape {
        GridShape::square(self.size)
    }

    fn is_linear(&self) -> bool {
        matches!(self.response, Response::Linear(_))
    }

    fn latent_length(&self) -> usize {
        self.pixels()
    }

    fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        match &self.response {
            Response::Linear(problem) => problem.source().draw(stream),
            Response::Flow(problem) => problem.draw_initial(stream),
        }
    }

    fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, PosteriorError> {
        match &self.response {
            Response::Linear(_) => Ok(self.linear_fields(&latent)),
            Response::Flow(problem) => {
                let u = problem.solve(&latent)?;
                Ok(Fields { a: latent, u })
            }
        }
    }

    fn linear_fields(&self, latent: &[f64]) -> Fields<f64> {
        match &self.response {
            Response::Linear(problem) => {
                let mut a = latent.to_vec();
                problem.clear_edge(&mut a);
                Fields { a, u: problem.solve(latent) }
            }
            Response::Flow(_) => Fields { a: latent.to_vec(), u: vec![0.0; latent.len()] },
        }
    }

    fn gram(&self, weights: PerChannel<f64>, latent: &[f64]) -> Vec<f64> {
        let Fields { mut a, u } = self.linear_fields(latent);
        a.iter_mut().for_each(|x| *x *= weights.a);
        if let (Response::Linear(problem), true) = (&self.response, weights.u > 0.0) {
            let back = problem.solve(&u);
            a.iter_mut().zip(back).for_each(|(a, back)| *a += weights.u * back);
        }
        a
    }

    fn squares(&self, latent: &[f64]) -> PerChannel<f64> {
        self.linear_fields(latent).map(|field| dot(&field, &field))
    }

    fn variances(&self) -> &Fields<f64> {
        self.variances.get_or_init(|| {
            let mut a: Vec<f64> = (0..self.pixels()).map(|p| self.covariance.between(p, p)).collect();
            let u = match &self.response {
                Response::Linear(problem) => {
                    problem.clear_edge(&mut a);
                    response_variances(problem, self.size)
                }
                Response::Flow(_) => vec![0.0; self.pixels()],
            };
            Fields { a, u }
        })
    }

    fn mean_squares(&self) -> PerChannel<f64> {
        PerChannel::both(0.0)
    }

    fn variance_of(&self, channel: Channel, weights: &[(usize, f64)]) -> f64 {
        let mut field = vec![0.0; self.pixels()];
        weights.iter().for_each(|(point, weight)| field[*point] += weight);
        let sources = match (&self.response, channel) {
            (Response::Linear(problem), Channel::U) => problem.solve(&field),
            _ => field,
        };
        self.covariance.apply_root(sources).iter().map(|x| x * x).sum()
    }

    fn covariance(&self, latent: Vec<f64>) -> Vec<f64> {
        self.covariance.apply(latent)
    }

    fn covariance_root(&self, latent: Vec<f64>) -> Vec<f64> {
        self.covariance.apply_root(latent)
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

//! What a posterior asks of any Gaussian distribution of both fields.

use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_pde::{GridShape, Pde, linear::cholesky::Cholesky, random::Stream};

use crate::{error::ExactError, progress::Progress};

/// How sensors of a and of u follow from the pixels of their fields.
pub type Stencils<'a> = PerChannel<&'a [Stencil]>;

/// (K + N)^-1 of some sensors, K their covariance and N the squares of their noise.
pub trait SensorSolver: Send + Sync {
    /// Replaces values by (K + N)^-1 times them.
    fn solve(&self, values: &mut [f64]);
}

/// The k-th sensor alone, those of a before those of u.
pub fn one_of(sensors: Stencils<'_>, k: usize) -> Stencils<'_> {
    match k.checked_sub(sensors.a.len()) {
        None => Stencils { a: &sensors.a[k..=k], u: &[] },
        Some(of_u) => Stencils { a: &[], u: &sensors.u[of_u..=of_u] },
    }
}

/// A Gaussian distribution of both fields before any sensor is read.
///
/// Both follow from a latent vector f of mean zero and covariance C: a = m_a + T_a f and, where it is linear, u = m_u + T_u f, with
/// m their means. A sensor of a says h^T a of it without noise, h its stencil, and so q^T f beyond its mean, with q = T_a^T h. What is given
/// for all sensors is in the order of those of a, then those of u.
pub trait FieldPrior: Sync {
    /// The problem.
    fn pde(&self) -> Pde;

    /// Points along each axis.
    fn resolution(&self) -> GridShape;

    /// Whether u is linear in the latent vector, so that sensors of it have a posterior.
    fn is_linear(&self) -> bool;

    /// How many numbers the latent vector has.
    fn latent_length(&self) -> usize;

    /// A draw of the latent vector.
    fn draw(&self, stream: &mut Stream) -> Vec<f64>;

    /// Both fields of a latent vector, with their means.
    fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, ExactError>;

    /// T f: both fields without their means; a u that is not linear is zero.
    fn linear_fields(&self, latent: &[f64]) -> Fields<f64>;

    /// T^T W T f, W a weight for each field.
    fn gram(&self, weights: PerChannel<f64>, latent: &[f64]) -> Vec<f64>;

    /// |T_a f|^2 and |T_u f|^2.
    fn squares(&self, latent: &[f64]) -> PerChannel<f64>;

    /// The variance of every pixel of a and, where it is linear, of u (else zero).
    fn variances(&self) -> &Fields<f64>;

    /// The sums of squares of the means of a and u.
    fn mean_squares(&self) -> PerChannel<f64>;

    /// The variance of sum_p w_p x(p), x the latent part of a field before what is zero by definition is cleared.
    fn variance_of(&self, channel: Channel, weights: &[(usize, f64)]) -> f64;

    /// What a sensor is expected to say before any is read.
    fn mean_at(&self, channel: Channel, stencil: &Stencil) -> f64;

    /// Whether a sensor's value is not known by definition.
    fn says_something(&self, channel: Channel, stencil: &Stencil) -> bool;

    /// C f.
    fn covariance(&self, latent: Vec<f64>) -> Vec<f64>;

    /// C^(1/2) f.
    fn covariance_root(&self, latent: Vec<f64>) -> Vec<f64>;

    /// q^T f of each sensor: what it would say of a latent vector beyond its mean, without noise.
    fn observe(&self, sensors: Stencils, latent: &[f64]) -> Vec<f64>;

    /// The transpose of [`Self::observe`]: sum_k w_k q_k.
    fn sources(&self, sensors: Stencils, weights: &[f64]) -> Vec<f64>;

    /// \[n, n\]: the covariance K of the sensors without noise.
    fn sensor_covariance(&self, sensors: Stencils, progress: Progress) -> Result<Vec<f64>, ExactError>;

    /// The variance of every pixel that sensors explain: cov(x(p), y) (L L^T)^-1 cov(y, x(p)), L L^T their covariance with noise.
    fn explained(
        &self,
        sensors: Stencils,
        factor: &Cholesky,
        progress: Progress,
    ) -> Result<Fields<f64>, ExactError>;

    /// A way to many sensors that is cheaper than a factor of their covariance, if there is one; `noise` are the squares of theirs.
    fn solver_of_many(&self, _sensors: Stencils, _noise: &[f64]) -> Option<Box<dyn SensorSolver>> {
        None
    }

    /// |W^(1/2) T C q|^2 and q^T C q of each sensor: what it would tell of both fields, each weighed, and its variance.
    fn told_by_each(
        &self,
        sensors: Stencils,
        weights: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Vec<(f64, f64)>, ExactError>;
}

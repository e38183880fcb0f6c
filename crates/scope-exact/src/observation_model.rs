//! What sensors say of fields, before any is read.

use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_pde::linear::cholesky::Cholesky;

use crate::{error::PosteriorError, progress::Progress};

/// How sensors of a and of u follow from the pixels of their fields.
pub type Stencils<'a> = PerChannel<&'a [Stencil]>;

/// (K + N)^-1 of some sensors, K their covariance and N the squares of their noise.
pub trait SensorSolver: Send + Sync {
    /// Replaces values by (K + N)^-1 times them.
    fn solve(&self, values: &mut [f64]);
}

/// The k-th sensor alone, those of a before those of u.
pub(crate) fn one_of(sensors: Stencils<'_>, k: usize) -> Stencils<'_> {
    match k.checked_sub(sensors.a.len()) {
        None => Stencils { a: &sensors.a[k..=k], u: &[] },
        Some(of_u) => Stencils { a: &[], u: &sensors.u[of_u..=of_u] },
    }
}

/// Sensors as linear functionals of a prior's latent vector f.
///
/// A sensor of a says h^T a of it without noise, h its stencil, and so q^T f beyond its mean, with q = T_a^T h. What is
/// given for all sensors is in the order of those of a, then those of u.
pub trait ObservationModel: Sync {
    /// What a sensor is expected to say before any is read.
    fn mean_at(&self, channel: Channel, stencil: &Stencil) -> f64;

    /// Whether a sensor's value is not known by definition.
    fn says_something(&self, channel: Channel, stencil: &Stencil) -> bool;

    /// q^T f of each sensor: what it would say of a latent vector beyond its mean, without noise.
    fn observe(&self, sensors: Stencils, latent: &[f64]) -> Vec<f64>;

    /// The transpose of [`Self::observe`]: sum_k w_k q_k.
    fn sources(&self, sensors: Stencils, weights: &[f64]) -> Vec<f64>;

    /// \[n, n\]: the covariance K of the sensors without noise.
    fn sensor_covariance(&self, sensors: Stencils, progress: Progress) -> Result<Vec<f64>, PosteriorError>;

    /// The variance of every pixel that sensors explain: cov(x(p), y) (L L^T)^-1 cov(y, x(p)), L L^T their covariance
    /// with noise.
    fn explained(
        &self,
        sensors: Stencils,
        factor: &Cholesky,
        progress: Progress,
    ) -> Result<Fields<f64>, PosteriorError>;

    /// A way to many sensors that is cheaper than a factor of their covariance, if there is one; `noise` are the
    /// squares of theirs.
    fn solver_of_many(&self, _sensors: Stencils, _noise: &[f64]) -> Option<Box<dyn SensorSolver>> {
        None
    }

    /// |W^(1/2) T C q|^2 and q^T C q of each sensor: what it would tell of both fields, each weighed, and its variance.
    fn told_by_each(
        &self,
        sensors: Stencils,
        weights: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Vec<(f64, f64)>, PosteriorError>;
}

//! What a posterior asks of any Gaussian distribution of both fields.

use scope_data::{Channel, Fields, PerChannel};
use scope_pde::{GridShape, Pde, random::Stream};

use crate::{error::PosteriorError, held_out::HeldOutFields, observation_model::ObservationModel};

/// A Gaussian distribution of both fields before any sensor is read.
///
/// Both follow from a latent vector f of mean zero and covariance C: a = m_a + T_a f and, where it is linear, u = m_u +
/// T_u f, with m their means. What sensors say of f is its [`ObservationModel`].
pub trait FieldPrior: ObservationModel {
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
    fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, PosteriorError>;

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

    /// C f: the covariance times a latent vector.
    fn covariance(&self, latent: Vec<f64>) -> Vec<f64>;

    /// C^(1/2) f: a root of the covariance times a latent vector.
    fn covariance_root(&self, latent: Vec<f64>) -> Vec<f64>;

    /// Fields that it was not made from, for a prior that was estimated from others; none for one that is exact.
    fn held_out(&self) -> Option<&dyn HeldOutFields> {
        None
    }
}

//! The exact posterior, where the problem is linear and Gaussian.
//!
//! Poisson and Helmholtz are linear, and their source is a Gaussian random field whose covariance is known. So the
//! distribution of both fields given any sensors of either is Gaussian too, and its mean and standard deviation can
//! be computed: no method does better in mean square. The initial vorticity of Navier-Stokes has the same
//! exact posterior from sensors of itself; the final one follows by the solver.
//!
//! The latent field f is the random source (before Helmholtz clears its edge) or the initial vorticity, with covariance
//! C. A sensor is a linear functional of f: a value of f itself, or of u = G f, with G the solver. With K the
//! covariance of the sensors, s their noise and y their values,
//!
//! ```text
//! mean     = cov(f, y) (K + s^2)^-1 y
//! variance = C(x, x) - cov(f(x), y) (K + s^2)^-1 cov(y, f(x))
//! ```
//!
//! ```
//! use scope_data::{Channel, Constants};
//! use scope_exact::{Prior, Reading, rounding_noise};
//! use scope_pde::Pde;
//!
//! let prior = Prior::new(Pde::POISSON, 32)?;
//! let reading = Reading::of_pixel(Channel::U, 16 * 32 + 16, 32, 0.01);
//! let posterior = prior.given(&[reading], rounding_noise(&Constants::generated(Pde::POISSON)))?;
//! assert!((posterior.mean()?.u[16 * 32 + 16] - 0.01).abs() < 1e-8);
//! # Ok::<(), scope_exact::PosteriorError>(())
//! ```

mod amplitude;
mod calibration;
mod chi_square;
mod conjugate_gradients;
mod covariance;
mod deviations;
mod error;
mod field_prior;
mod held_out;
mod innovations;
mod leave_one_out;
mod model_check;
mod noise;
mod observation_model;
mod placement;
mod posterior;
mod prediction_interval;
mod prior;
mod progress;
mod reading;
mod sensors;
mod solver_sensors;

pub use amplitude::{Amplitude, estimate_amplitude_and_noise};
pub use calibration::Calibration;
pub use conjugate_gradients::{MAX_ITERATIONS, TOLERANCE};
pub use deviations::{CLOSED_FORM_LIMIT, Deviations, FEW_SPREAD_SAMPLES, How, SPREAD_SAMPLES};
pub use error::PosteriorError;
pub use field_prior::FieldPrior;
pub use held_out::{FEWEST_HELD_OUT, HeldOutFields};
pub use innovations::Innovations;
pub use leave_one_out::{LeaveOneOut, Prediction};
pub use model_check::ModelCheck;
pub use noise::{NO_NOISE, rounding_noise, with_rounding};
pub use observation_model::{ObservationModel, SensorSolver, Stencils};
pub use placement::{Chosen, Placement, Target};
pub use posterior::{DENSE_LIMIT, Method, Posterior};
pub use prior::Prior;
pub use progress::{Progress, Stage, Step, UNHEARD, in_parallel, tell};
pub use reading::{Reading, readings};

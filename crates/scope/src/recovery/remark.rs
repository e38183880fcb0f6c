//! What a method itself has to say of what it recovered.

use std::fmt;

use scope_eval::report::grouped;
use scope_exact::{DENSE_LIMIT, How, Method, Posterior};
use serde::{Serialize, Serializer};

/// Measurements this many standard errors further from the prior than they should be are remarked on.
const SURPRISING: f64 = 6.0;

/// Something that a user should know of an exact posterior; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Sensors between pixels.
    BetweenPixels {
        /// How many.
        sensors: usize,
        /// Of so many.
        of: usize,
    },
    /// Sensors of a value that is zero by definition.
    OnEdge {
        /// How many.
        sensors: usize,
        /// Of so many.
        of: usize,
    },
    /// Measurements that are unlike the problem's fields, or noisier than stated: this many times as far off as they should be.
    Surprising(f64),
    /// Sensors so close to each other that this noise had to be assumed, in standard deviations of the field.
    NoiseFloor(f64),
    /// So many sensors were left out, for being too many.
    LeftOut(usize),
    /// Conjugate gradients were stopped after so many iterations.
    NotConverged(usize),
    /// The standard deviation of u is estimated from so many draws.
    DeviationFromDraws(usize),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Remark::BetweenPixels { sensors, of } => write!(
                f,
                "{} of {} sensors lie between pixels: fields are interpolated there, and what that may be off is added to the noise",
                grouped(sensors),
                grouped(of)
            ),
            Remark::OnEdge { sensors, of } => write!(
                f,
                "{} of {} sensors lie on the edge, where the value is zero by definition, and were left out",
                grouped(sensors),
                grouped(of)
            ),
            Remark::Surprising(times) => write!(
                f,
                "the measurements are {times:.1} times as far from what the problem's fields look like as they should be: state a \
                 larger noise, or do not trust the standard deviations"
            ),
            Remark::NoiseFloor(floor) => write!(
                f,
                "sensors are too close to be told apart: a noise of {floor:.0e} of the field's standard deviation was taken"
            ),
            Remark::LeftOut(sensors) => {
                write!(f, "{} sensors were left out, to keep {}", grouped(sensors), grouped(DENSE_LIMIT))
            }
            Remark::NotConverged(iterations) => write!(
                f,
                "an approximation on the smooth side: more than {} sensors, and conjugate gradients stopped after {iterations} steps",
                grouped(DENSE_LIMIT)
            ),
            Remark::DeviationFromDraws(count) => {
                write!(f, "the standard deviation of u is estimated from {count} draws")
            }
        }
    }
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// All that is to be said of a posterior given so many measurements.
pub(super) fn remarks(posterior: &Posterior, measurements: usize, deviation_of_u: How) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let between = posterior.between_pixels();
    if between > 0 {
        remarks.push(Remark::BetweenPixels { sensors: between, of: measurements });
    }
    let silent = posterior.silent();
    if silent > 0 {
        remarks.push(Remark::OnEdge { sensors: silent, of: measurements });
    }
    let limit = 1.0 + SURPRISING * (2.0 / posterior.sensors().max(1) as f64).sqrt();
    remarks.extend(posterior.surprise().filter(|times| *times > limit).map(Remark::Surprising));
    match posterior.method() {
        Method::Factor { noise_floor: Some(floor), .. } => remarks.push(Remark::NoiseFloor(floor)),
        Method::Factor { left_out, .. } if left_out > 0 => remarks.push(Remark::LeftOut(left_out)),
        Method::ConjugateGradients { converged: false, iterations } => {
            remarks.push(Remark::NotConverged(iterations));
        }
        _ => {}
    }
    if let How::Samples(count) = deviation_of_u {
        remarks.push(Remark::DeviationFromDraws(count));
    }
    remarks
}

//! What a method itself has to say of what it recovered.

use std::fmt;

use scope_data::{PerChannel, significant};
use scope_eval::{report::grouped, trust::Suspects};
use scope_exact::{DENSE_LIMIT, Deviations, How, Method, Posterior};
use serde::{Serialize, Serializer};

/// Something that a user should know of an exact posterior; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Sensors between pixels.
    BetweenPixels {
        /// How many sensors lie between pixels.
        sensors: usize,
        /// How many sensors there are in all.
        of: usize,
    },
    /// Sensors of a value that is zero by definition.
    OnEdge {
        /// How many sensors have such a value.
        sensors: usize,
        /// How many sensors there are in all.
        of: usize,
    },
    /// Readings of a and u that are written with few digits: what that may be off counts as noise.
    FewDigits(PerChannel<Option<f64>>),
    /// Readings that scatter less than the noise that was stated; with so much of it for a and u they would agree.
    LessNoise(PerChannel<Option<f64>>),
    /// Readings that did not fit the others and were left out.
    SuspectsLeftOut(Suspects),
    /// Sensors so close to each other that this noise had to be assumed, in standard deviations of the field.
    NoiseFloor(f64),
    /// So many sensors were left out, for being too many.
    LeftOut(usize),
    /// Conjugate gradients were stopped after so many iterations.
    NotConverged(usize),
    /// Standard deviations are estimated from so many draws.
    DeviationFromDraws {
        /// The number of draws.
        draws: usize,
        /// Whether those of u only.
        of_u_only: bool,
    },
}

impl Remark {
    /// Whether it says something against the recovery, and does not only tell how it was made.
    pub fn is_caution(&self) -> bool {
        match self {
            Remark::LessNoise(_)
            | Remark::SuspectsLeftOut(_)
            | Remark::NoiseFloor(_)
            | Remark::LeftOut(_)
            | Remark::NotConverged(_) => true,
            Remark::BetweenPixels { .. }
            | Remark::OnEdge { .. }
            | Remark::FewDigits(_)
            | Remark::DeviationFromDraws { .. } => false,
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Remark::BetweenPixels { sensors, of } => write!(
                f,
                "{} of {} sensors lie between pixels: fields are interpolated there, and what that may be off is added \
                 to the noise",
                grouped(*sensors),
                grouped(*of)
            ),
            Remark::OnEdge { sensors, of } => write!(
                f,
                "{} of {} sensors lie on the edge, where the value is zero by definition, and were left out",
                grouped(*sensors),
                grouped(*of)
            ),
            Remark::SuspectsLeftOut(suspects) => write!(f, "left out: {suspects}"),
            Remark::FewDigits(noise) => write!(
                f,
                "the readings are written with few digits: rounding, with a standard deviation of {}, counts as their \
                 noise, as none was stated",
                of_channels(noise)
            ),
            Remark::LessNoise(noise) => write!(
                f,
                "the readings scatter less than the noise that was stated, and standard deviations are too large: \
                 with a noise of about {} they would agree",
                of_channels(noise)
            ),
            Remark::NoiseFloor(floor) => write!(
                f,
                "sensors are too close to be told apart: a noise of {floor:.0e} of the field's standard deviation was \
                 taken"
            ),
            Remark::LeftOut(sensors) => {
                write!(f, "{} sensors were left out, to keep {}", grouped(*sensors), grouped(DENSE_LIMIT))
            }
            Remark::NotConverged(iterations) => write!(
                f,
                "an approximation on the smooth side: more than {} sensors, and conjugate gradients stopped after \
                 {iterations} steps",
                grouped(DENSE_LIMIT)
            ),
            Remark::DeviationFromDraws { draws, of_u_only } => {
                let which =
                    if *of_u_only { "the standard deviation of u is" } else { "standard deviations are" };
                let percent = 100.0 / (2.0 * *draws as f64).sqrt();
                write!(f, "{which} estimated from {draws} draws, and right to {percent:.0}% at each pixel")
            }
        }
    }
}

/// "0.012 for a and 0.0040 for u".
fn of_channels(noise: &PerChannel<Option<f64>>) -> String {
    let each = noise.with_channels().into_iter();
    let each = each
        .filter_map(|(channel, noise)| Some(format!("{} for {}", significant(noise?, 2), channel.name())));
    each.collect::<Vec<_>>().join(" and ")
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// All that is to be said of a posterior given so many measurements.
pub(super) fn remarks(
    posterior: &Posterior,
    measurements: usize,
    deviations: Option<&Deviations>,
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let between = posterior.between_pixels();
    if between > 0 {
        remarks.push(Remark::BetweenPixels { sensors: between, of: measurements });
    }
    let silent = posterior.silent();
    if silent > 0 {
        remarks.push(Remark::OnEdge { sensors: silent, of: measurements });
    }
    match posterior.method() {
        Method::Factor { noise_floor: Some(floor), .. } => remarks.push(Remark::NoiseFloor(floor)),
        Method::Factor { left_out, .. } if left_out > 0 => remarks.push(Remark::LeftOut(left_out)),
        Method::ConjugateGradients { converged: false, iterations } => {
            remarks.push(Remark::NotConverged(iterations));
        }
        _ => {}
    }
    if let Some(Deviations { a, u: How::Samples(draws), .. }) = deviations {
        remarks.push(Remark::DeviationFromDraws { draws: *draws, of_u_only: *a == How::Exact });
    }
    remarks
}

//! How far measurements may be off, as people state it.

use std::str::FromStr;

use scope_pde::{Constants, PerChannel, Scaling};

use super::FrameError;

/// The standard deviation of one channel's measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deviation {
    /// A standard deviation in physical units.
    Physical(f64),
    /// In units of the field's own standard deviation.
    Share(f64),
}

/// The standard deviations of the errors of measurements of a and u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedNoise(PerChannel<Deviation>);

impl StatedNoise {
    /// The standard deviations of a and u in physical units.
    pub fn physical(&self, constants: &Constants) -> PerChannel<f64> {
        self.of(constants, |deviation, Scaling { sigma, .. }| match deviation {
            Deviation::Physical(sd) => sd,
            Deviation::Share(share) => share * sigma,
        })
    }

    /// In units of the fields' own standard deviations.
    pub fn shares(&self, constants: &Constants) -> PerChannel<f64> {
        self.of(constants, |deviation, Scaling { sigma, .. }| match deviation {
            Deviation::Physical(sd) => sd / sigma,
            Deviation::Share(share) => share,
        })
    }

    fn of(&self, constants: &Constants, value: impl Fn(Deviation, Scaling) -> f64) -> PerChannel<f64> {
        self.0.zip(*constants).map(|(deviation, scaling)| value(deviation, scaling))
    }
}

impl FromStr for StatedNoise {
    type Err = FrameError;

    /// Reads one or two standard deviations.
    fn from_str(text: &str) -> Result<Self, FrameError> {
        let both: Option<Vec<Deviation>> = text.split(',').map(|part| deviation(part.trim())).collect();
        match both.as_deref() {
            Some([both]) => Ok(StatedNoise(PerChannel::both(*both))),
            Some([a, u]) => Ok(StatedNoise(PerChannel { a: *a, u: *u })),
            _ => Err(FrameError::Noise),
        }
    }
}

fn deviation(text: &str) -> Option<Deviation> {
    let sound = |number: &str| number.trim().parse().ok().filter(|sd: &f64| sd.is_finite() && *sd >= 0.0);
    match text.strip_suffix('%') {
        Some(percent) => sound(percent).map(|percent| Deviation::Share(percent / 100.0)),
        None => sound(text).map(Deviation::Physical),
    }
}

#[cfg(test)]
mod tests {
    use scope_pde::Pde;

    use super::*;

    #[test]
    fn one_noise_is_for_both_channels() {
        let constants = Constants::generated(Pde::POISSON);
        let physical = |text: &str| text.parse::<StatedNoise>().map(|noise| noise.physical(&constants));
        assert_eq!(physical("0.01"), Ok(PerChannel { a: 0.01, u: 0.01 }));
        assert_eq!(physical("0.01, 1e-4"), Ok(PerChannel { a: 0.01, u: 1e-4 }));
        for bad in ["", "-1", "nan", "inf", "1,2,3", "a", "1,", "%", "-5%", "5%%"] {
            assert!(bad.parse::<StatedNoise>() == Err(FrameError::Noise), "{bad}");
        }
    }

    #[test]
    fn percents_are_of_the_field_s_standard_deviation() {
        let constants = Constants::generated(Pde::POISSON);
        let noise = "5%, 0.00417478".parse::<StatedNoise>().unwrap();
        assert_eq!(noise.shares(&constants), PerChannel { a: 0.05, u: 1.0 });
        let expected = PerChannel { a: 0.05 * constants.a.sigma, u: constants.u.sigma };
        assert_eq!(noise.physical(&constants), expected);
    }
}

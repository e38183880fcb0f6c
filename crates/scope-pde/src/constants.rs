//! Normalisation: physical values x and stored values (x - mean) / (2 sigma).

use serde::{Deserialize, Serialize};

use crate::{channel::PerChannel, descriptor::Distribution, pde::Pde};

/// The fixed constants of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Subtracted before scaling.
    pub mean: f64,
    /// Half the divisor.
    pub sigma: f64,
}

impl Scaling {
    /// A physical value in stored coordinates.
    pub fn store(&self, physical: f64) -> f32 {
        ((physical - self.mean) / (2.0 * self.sigma)) as f32
    }

    /// A stored value in physical units.
    pub fn physical(&self, stored: f32) -> f64 {
        2.0 * self.sigma * f64::from(stored) + self.mean
    }

    /// What a field of zeros is stored as. Its decoded values are tiny, not zero, so they must not be asked.
    pub fn stored_zero(&self) -> f32 {
        self.store(0.0)
    }

    /// Whether a stored value is a zero: [`Self::stored_zero`], or as far from it as single precision may have rounded
    /// the subtraction, the division and the constants. A channel is a zero target exactly when all its stored values
    /// are zeros.
    pub fn is_stored_zero(&self, stored: f32) -> bool {
        let zero = self.stored_zero();
        (stored - zero).abs() <= ZERO_ROUNDINGS * f32::EPSILON * zero.abs()
    }
}

/// How many roundings of single precision a stored zero may have gone through.
const ZERO_ROUNDINGS: f32 = 4.0;

/// The constants of both channels.
pub type Constants = PerChannel<Scaling>;

impl Constants {
    /// Stored values that are the physical ones: of a problem whose sets have constants of their own each.
    pub const UNSCALED: Self =
        PerChannel { a: Scaling { mean: 0.0, sigma: 0.5 }, u: Scaling { mean: 0.0, sigma: 0.5 } };

    /// The constants that imported records in physical units are stored with: those of the released data (paper, table
    /// "Normalization constants"), and for a problem without any those of its own records.
    pub fn released(pde: Pde) -> Self {
        match &pde.descriptor().distribution {
            Distribution::Released(released) | Distribution::Similar { released, .. } => released.constants,
            Distribution::Own(own) => own.constants,
            Distribution::Imported => Self::UNSCALED,
        }
    }

    /// The constants that generated records are stored with: the released ones, unless the solver's distribution is its
    /// own.
    pub fn generated(pde: Pde) -> Self {
        match &pde.descriptor().distribution {
            Distribution::Released(released) => released.constants,
            Distribution::Similar { own, .. } | Distribution::Own(own) => own.constants,
            Distribution::Imported => Self::UNSCALED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn darcy_permeability_is_stored_as_plus_and_minus_a_half() {
        let scaling = Constants::released(Pde::DARCY).a;
        assert_eq!(scaling.store(12.0), 0.5);
        assert_eq!(scaling.store(3.0), -0.5);
        assert_eq!(scaling.physical(0.5), 12.0);
    }

    #[test]
    fn storing_and_reading_back_is_accurate_to_single_precision() {
        for pde in Pde::ALL {
            for scaling in Constants::released(pde) {
                for k in -20..=20 {
                    let x = scaling.mean + scaling.sigma * f64::from(k) * 0.3;
                    let back = scaling.physical(scaling.store(x));
                    assert!((back - x).abs() <= 4e-7 * scaling.sigma * 3.0);
                }
            }
        }
    }

    /// The trap that the stored zero avoids: decoding it does not give zero.
    #[test]
    fn a_zero_target_is_told_by_its_stored_value() {
        let scaling = Constants::released(Pde::CYLINDER).u;
        assert_ne!(scaling.physical(scaling.stored_zero()), 0.0);
        assert_eq!(scaling.store(0.0), scaling.stored_zero());
    }

    #[test]
    fn a_zero_that_was_rounded_on_its_way_is_a_zero_still() {
        for scaling in Pde::ALL.into_iter().flat_map(|pde| Constants::released(pde).into_iter()) {
            let [mean, sigma] = [scaling.mean as f32, scaling.sigma as f32];
            let ways = [
                scaling.stored_zero(),
                (0.0 - mean) * 0.5 / sigma,
                (0.0 - mean) / (2.0 * sigma),
                (0.0 - mean) * (0.5 / sigma),
                ((0.0 - scaling.mean) * 0.5 / scaling.sigma) as f32,
            ];
            assert!(ways.iter().all(|stored| scaling.is_stored_zero(*stored)), "{scaling:?}: {ways:?}");
            // A ten-thousandth of a standard deviation is no zero.
            assert!(!scaling.is_stored_zero(scaling.store(1e-4 * scaling.sigma)), "{scaling:?}");
        }
    }
}

//! A field of two values: which one each pixel has, and how probable that is.
//!
//! A network trained on L2 errors gives nearly the mean of what a pixel may be. Of a field that is either low or high
//! that mean is low + p (high - low), so p is the probability of the high value: with the shipped Darcy model and 50
//! records 1.85% of pixels were expected to be wrong, and 1.81% were. A band about the mean would hold neither value
//! near an interface.

use scope_pde::{Pde, descriptor::FieldKind};
use serde::Serialize;

/// Which of two values a has.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoValued {
    /// The two values.
    pub values: [f64; 2],
    /// The more probable value of every pixel, \[S, S\].
    pub map: Vec<f32>,
    /// The probability of the high value, \[S, S\].
    pub probability: Vec<f32>,
}

/// What is said of a field of two values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwoValuedSummary {
    /// The two values.
    pub values: [f64; 2],
    /// The share of pixels whose more probable value is expected to be wrong, in percent.
    pub expected_wrong_percent: f64,
}

impl TwoValued {
    /// The probabilities of a recovered a; none for problems whose a has more values.
    pub(super) fn of(pde: Pde, a: &[f32]) -> Option<Self> {
        let FieldKind::TwoValued { low, high } = pde.descriptor().fields.a.kind else { return None };
        let probability: Vec<f32> =
            a.iter().map(|mean| ((f64::from(*mean) - low) / (high - low)).clamp(0.0, 1.0) as f32).collect();
        let map = probability.iter().map(|p| if *p > 0.5 { high as f32 } else { low as f32 }).collect();
        Some(Self { values: [low, high], map, probability })
    }

    /// What is said of it.
    pub(super) fn summary(&self) -> TwoValuedSummary {
        let wrong: f64 = self.probability.iter().map(|p| f64::from(p.min(1.0 - p))).sum();
        let expected_wrong_percent = 100.0 * wrong / self.probability.len().max(1) as f64;
        TwoValuedSummary { values: self.values, expected_wrong_percent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_probabilities_of_the_higher_value() {
        let both = TwoValued::of(Pde::DARCY, &[3.0, 12.0, 5.25, 9.75, 2.0, 14.0]).unwrap();
        assert_eq!(both.probability, [0.0, 1.0, 0.25, 0.75, 0.0, 1.0]);
        assert_eq!(both.map, [3.0, 12.0, 3.0, 12.0, 3.0, 12.0]);
        assert!((both.summary().expected_wrong_percent - 100.0 * 0.5 / 6.0).abs() < 1e-9);
        assert_eq!(TwoValued::of(Pde::POISSON, &[3.0]), None);
    }
}

//! Errors of one recovered field, in double precision.

use scope_data::Scaling;

/// The largest norm of a target in stored coordinates that counts as none (the paper's guard).
const NO_NORM: f64 = 1e-8;

/// One field as it was recovered, in physical units, beside what is stored of it.
#[derive(Clone, Copy, Debug)]
pub struct Recovered<'a> {
    /// What a method gave, in physical units.
    pub field: &'a [f32],
    /// The target in stored coordinates.
    pub stored: &'a [f32],
    /// How the target is stored.
    pub scaling: Scaling,
}

impl Recovered<'_> {
    /// The relative L2 error in percent over the pixels of a region, 100 |recovered - true| / |true|, in physical
    /// units. A target that is zero in all of the region has none, and so has a region without pixels. What counts as
    /// zero is asked of the stored values: decoded ones are tiny, not zero.
    pub fn relative_error(&self, region: impl Fn(usize) -> bool) -> Option<f64> {
        let mut apart = 0.0;
        let mut size = 0.0;
        let mut nonzero = false;
        for (point, (recovered, stored)) in self.field.iter().zip(self.stored).enumerate() {
            if !region(point) {
                continue;
            }
            let truth = self.scaling.physical(*stored);
            apart += (f64::from(*recovered) - truth).powi(2);
            size += truth * truth;
            nonzero |= !self.scaling.is_stored_zero(*stored);
        }
        nonzero.then(|| 100.0 * (apart / size).sqrt())
    }

    /// The relative L2 error in percent, in stored coordinates. Of a target whose norm there is 1e-8 or less there is
    /// none.
    pub(crate) fn stored_relative_error(&self) -> Option<f64> {
        let Scaling { mean, sigma } = self.scaling;
        let again = |recovered: &f32| (f64::from(*recovered) - mean) / (2.0 * sigma);
        let apart: f64 = self
            .field
            .iter()
            .zip(self.stored)
            .map(|(x, stored)| (again(x) - f64::from(*stored)).powi(2))
            .sum();
        let norm = self.stored.iter().map(|stored| f64::from(*stored).powi(2)).sum::<f64>().sqrt();
        (norm > NO_NORM).then(|| 100.0 * apart.sqrt() / norm)
    }

    /// The root mean square error in physical units, which a zero target has too.
    pub fn absolute_error(&self) -> f64 {
        let squares = self.field.iter().zip(self.stored);
        let sum: f64 =
            squares.map(|(x, stored)| (f64::from(*x) - self.scaling.physical(*stored)).powi(2)).sum();
        (sum / self.field.len() as f64).sqrt()
    }

    /// The share of pixels of a two-valued field that lie on the wrong side of the threshold between its values, in
    /// percent. Pixel accuracy is what is missing to 100.
    pub fn bit_error_rate(&self, threshold: f64) -> f64 {
        let upper = |value: f64| value > threshold;
        let wrong =
            |(x, stored): &(&f32, &f32)| upper(f64::from(**x)) != upper(self.scaling.physical(**stored));
        100.0 * self.field.iter().zip(self.stored).filter(wrong).count() as f64 / self.stored.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALING: Scaling = Scaling { mean: 1.0, sigma: 0.5 };

    fn relative(field: &[f32], stored: &[f32], scaling: Scaling) -> Option<f64> {
        Recovered { field, stored, scaling }.relative_error(|_| true)
    }

    #[test]
    fn relative_errors_are_those_of_physical_values() {
        // Stored 2 and -1 are 3 and 0; recovered are 3 and 4: the error is 4 / 3.
        let error = relative(&[3.0, 4.0], &[2.0, -1.0], SCALING).unwrap();
        assert!((error - 400.0 / 3.0).abs() < 1e-12);
        assert_eq!(relative(&[3.0, 0.0], &[2.0, -1.0], SCALING), Some(0.0));
    }

    #[test]
    fn zero_targets_have_no_relative_error_however_good_the_recovery() {
        // Zero decodes to 1e-9 with the constants of a released channel: a test on decoded values would divide by it.
        let scaling = Scaling { mean: 0.12341, sigma: 1.72 };
        let zero = scaling.stored_zero();
        assert_ne!(scaling.physical(zero), 0.0);
        for recovered in [[0.0, 0.0], [1.0, -3.0]] {
            let case = Recovered { field: &recovered, stored: &[zero; 2], scaling };
            assert_eq!(case.relative_error(|_| true), None);
        }
        let case = Recovered { field: &[3.0, -4.0], stored: &[zero; 2], scaling };
        assert!((case.absolute_error() - 12.5_f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn errors_in_stored_coordinates_have_the_shift_and_the_papers_guard() {
        // Stored 2 and -1; recovered 3 and 4 are stored 2 and 3: the error is 4 / sqrt 5.
        let case = Recovered { field: &[3.0, 4.0], stored: &[2.0, -1.0], scaling: SCALING };
        assert!((case.stored_relative_error().unwrap() - 400.0 / 5.0_f64.sqrt()).abs() < 1e-12);
        let error = |stored: f32| {
            Recovered { field: &[3.0], stored: &[stored], scaling: SCALING }.stored_relative_error()
        };
        assert_eq!(error(0.9e-8), None);
        assert!(error(1.1e-8).is_some());
    }

    #[test]
    fn regions_use_their_own_targets() {
        let case = Recovered { field: &[3.0, 4.0, 2.0], stored: &[2.0, -1.0, 0.0], scaling: SCALING };
        // Truth is 3, 0, 1.
        assert_eq!(case.relative_error(|point| point == 2), Some(100.0));
        assert_eq!(case.relative_error(|point| point == 1), None, "zero there");
        assert_eq!(case.relative_error(|_| false), None, "no pixels");
    }

    #[test]
    fn relative_errors_do_not_change_with_the_unit() {
        let of = |factor: f64| {
            let scaling = Scaling { mean: factor * 0.25, sigma: factor * 0.5 };
            let recovered: Vec<f32> = [0.5, -1.0, 2.0].iter().map(|x| (factor * x) as f32).collect();
            relative(&recovered, &[1.0, -0.5, 3.0], scaling).unwrap()
        };
        assert!((of(1.0) - of(64.0)).abs() < 1e-9);
    }

    #[test]
    fn bit_errors_are_counted_at_the_midpoint() {
        let scaling = Scaling { mean: 7.5, sigma: 4.5 };
        // Truth: 12, 3, 12, 3.
        let stored = &[0.5, -0.5, 0.5, -0.5];
        let rate = |field: &[f32]| Recovered { field, stored, scaling }.bit_error_rate(7.5);
        assert_eq!(rate(&[8.0, 7.0, 7.4, 7.6]), 50.0);
        assert_eq!(rate(&[12.0, 3.0, 12.0, 3.0]), 0.0);
    }
}

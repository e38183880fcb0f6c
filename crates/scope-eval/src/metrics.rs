//! Errors of one recovered field, in double precision.

use scope_data::Scaling;

/// Darcy's permeability is 3 or 12; what is recovered above the midpoint counts as 12.
const DARCY_MIDPOINT: f64 = 7.5;

/// The relative L2 error in percent, 100 |recovered - true| / |true|, in physical units. A target that is zero
/// everywhere has none.
pub fn relative_error(recovered: &[f32], stored: &[f32], scaling: Scaling, zero_target: bool) -> Option<f64> {
    if zero_target {
        return None;
    }
    let (mut apart, mut size) = (0.0, 0.0);
    for (recovered, stored) in recovered.iter().zip(stored) {
        let truth = scaling.physical(*stored);
        apart += (f64::from(*recovered) - truth).powi(2);
        size += truth * truth;
    }
    Some(100.0 * (apart / size).sqrt())
}

/// The share of pixels on the wrong side of Darcy's midpoint, in percent.
pub fn bit_error_rate(recovered: &[f32], stored: &[f32], scaling: Scaling) -> f64 {
    let upper = |value: f64| value > DARCY_MIDPOINT;
    let wrong = recovered
        .iter()
        .zip(stored)
        .filter(|(recovered, stored)| upper(f64::from(**recovered)) != upper(scaling.physical(**stored)))
        .count();
    100.0 * wrong as f64 / stored.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALING: Scaling = Scaling { mean: 1.0, sigma: 0.5 };

    #[test]
    fn relative_errors_are_those_of_physical_values() {
        // Stored 2 and -1 are 3 and 0; recovered are 3 and 4: the error is 4 / 3.
        let error = relative_error(&[3.0, 4.0], &[2.0, -1.0], SCALING, false).unwrap();
        assert!((error - 400.0 / 3.0).abs() < 1e-12);
        assert_eq!(relative_error(&[3.0, 0.0], &[2.0, -1.0], SCALING, false), Some(0.0));
        assert_eq!(relative_error(&[3.0], &[-1.0], SCALING, true), None);
    }

    #[test]
    fn relative_errors_do_not_change_with_the_unit() {
        let of = |factor: f64| {
            let scaling = Scaling { mean: factor * 0.25, sigma: factor * 0.5 };
            let recovered: Vec<f32> = [0.5, -1.0, 2.0].iter().map(|x| (factor * x) as f32).collect();
            relative_error(&recovered, &[1.0, -0.5, 3.0], scaling, false).unwrap()
        };
        assert!((of(1.0) - of(64.0)).abs() < 1e-9);
    }

    #[test]
    fn bit_errors_are_counted_at_the_midpoint() {
        let darcy = Scaling { mean: 7.5, sigma: 4.5 };
        // Truth: 12, 3, 12, 3.
        let stored = [0.5, -0.5, 0.5, -0.5];
        assert_eq!(bit_error_rate(&[8.0, 7.0, 7.4, 7.6], &stored, darcy), 50.0);
        assert_eq!(bit_error_rate(&[12.0, 3.0, 12.0, 3.0], &stored, darcy), 0.0);
    }
}

//! The paper's transfer inequalities, with numbers in them.
//!
//! With the records at hand as the law, each is a fact about the numbers measured: one that does not hold means that
//! something was computed wrongly. How far its sides are apart says how much it explains.

use serde::Serialize;

use super::readout::{Cohort, Readout};

/// How far rounding may push the smaller side over the larger one.
const ROUNDING: f64 = 1e-12;

/// An inequality with numbers in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Inequality {
    /// The inequality as the paper writes it.
    pub statement: &'static str,
    /// The value of its left side.
    pub left: f64,
    /// The value of its right side.
    pub right: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Inequality {
    fn at_most(statement: &'static str, left: f64, right: f64) -> Self {
        let holds = left <= right + ROUNDING * (left.abs() + right.abs());
        Self { statement, left, right, holds }
    }

    fn at_least(statement: &'static str, left: f64, right: f64) -> Self {
        Self { statement, left, right, ..Self::at_most(statement, right, left) }
    }
}

/// The means of a readout; none without records.
fn means(readout: &Readout) -> Option<[f64; 3]> {
    Some([readout.complete_error.mean?, readout.context_error.mean?, readout.discrepancy.mean?])
}

/// What holds for one decoder.
pub(super) fn of_decoder(readout: &Readout, cohort: &Cohort) -> Vec<Inequality> {
    let Some([r_f, r_m, b_m]) = means(readout) else { return Vec::new() };
    let steep = readout.lipschitz.lower_bound() * cohort.kappa;
    let mut all = vec![
        Inequality::at_most("|R_M - R_F| <= B_M", (r_m - r_f).abs(), b_m),
        Inequality::at_most("B_M <= R_M + R_F", b_m, r_m + r_f),
        Inequality::at_most("B_M <= L_d kappa_y |z_M - z_F|", b_m, steep * cohort.latent_distance),
    ];
    if let (Some(j), Some(delta)) = (cohort.j, cohort.delta_ema) {
        let statement = "B_M <= L_d kappa_y (sqrt(J) + delta_EMA)";
        all.push(Inequality::at_most(statement, b_m, steep * (j.sqrt() + delta)));
    }
    all
}

/// What holds for a decoder d1 that replaces d0 on the same backbone.
pub(super) fn of_replacement(d0: &Readout, d1: &Readout) -> Option<Inequality> {
    let ([f0, m0, b0], [f1, m1, b1]) = (means(d0)?, means(d1)?);
    let statement = "R_M(d0) - R_M(d1) >= R_F(d0) - R_F(d1) - B_M(d0) - B_M(d1)";
    Some(Inequality::at_least(statement, m0 - m1, f0 - f1 - b0 - b1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_compared_as_written() {
        assert!(Inequality::at_most("", 1.0, 1.0).holds && Inequality::at_most("", -2.0, 1.0).holds);
        assert!(!Inequality::at_most("", 1.000_001, 1.0).holds);
        let gain = Inequality::at_least("", 2.0, 1.0);
        assert_eq!((gain.left, gain.right, gain.holds), (2.0, 1.0, true));
        assert!(!Inequality::at_least("", 1.0, 2.0).holds);
        assert!(!Inequality::at_most("", f64::NAN, 2.0).holds);
    }
}

//! Parity with an independent implementation: every case of a folder, through the real training step.
//!
//! The folder is `tests/oracle`, or the one that `SCOPE_ORACLE` names; its README says what a case holds.

use crate::parity;

use parity::{Setting, cases};
use scope_engine::{Device, Dtype};

#[test]
fn oracle_cases_agree() {
    // What an honest single-precision implementation meets.
    let setting =
        Setting { device: Device::cpu(2), precision: Dtype::F32, values: 1e-5, whole: 1e-4, gradients: 1e-4 };
    cases().iter().for_each(|case| case.check(&setting));
}

//! Error bands of methods that know no uncertainty of their own, measured on held-out records.
//!
//! Two ways: for all layouts of the protocol once, to be kept in a model's card ([`Calibration`]); and for one set of
//! sensors on the spot, with fresh records of the problem's own solver ([`OnTheSpot`]). Both are conformal: whatever
//! the method and however its errors are distributed, a fresh record's pixels lie within with the stated probability or
//! a little more.

mod calibration;
mod counts;
mod digits;
mod misfit_law;
mod on_the_spot;
mod shape;

pub use calibration::{CALIBRATION_MASK_SEED, Calibration};
pub use counts::Counts;
pub use on_the_spot::{OnTheSpot, SpotMeasures, rank};

/// The shares of pixels that bands hold.
pub const LEVELS: [f64; 2] = [0.68, 0.95];

//! Recovery in a browser: fresh records, sensors in, fields and all that is said of them out. What it answers is what
//! the program `scope` answers, from the same library: this crate only turns JavaScript's values into calls of `scope`
//! and back.
//!
//! `scripts/release/build-page.sh` compiles it twice, with plain and with relaxed 128-bit vectors, for the page in
//! `crates/scope-serve/page/`.
#![cfg(target_family = "wasm")]

mod linear_fitting;
mod method;
mod problem;
mod record;
mod recovered;
mod sensors;

pub use linear_fitting::{LinearFit, LinearFitting};
pub use method::Method;
pub use problem::problems;
pub use record::FreshRecord;
pub use recovered::RecoveredFields;
pub use sensors::Sensors;

//! SCOPE recovers complete physical fields from sparse sensors. This crate is the front door: it re-exports the
//! libraries. The command-line program is the crate `scope-cli`.
//!
//! From a file of sensors to both fields, in physical units throughout:
//!
//! ```no_run
//! use scope::{Device, Recovery, SensorFile};
//!
//! let recovery = Recovery::open("models/poisson.safetensors", &Device::all_threads())?;
//! let file = SensorFile::open("sensors.csv")?;
//! let sensors = file.set(0)?;
//! let recovered = recovery.recover(&sensors)?; // fields, error bands, trust and its warnings
//! recovered.write("recovered")?; // the folder that `scope recover` writes
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/recover.rs` is the same as a program. The libraries, in the order in which a record passes them:
//!
//! - [`pde`][]: random fields and five solvers.
//! - [`data`][]: pairs of fields, their files and normalisation, masks, schedules and sensors.
//! - [`exact`][]: the exact posterior of the linear Gaussian problems.
//! - [`linear`][]: the best linear estimate from any records: POD modes and their posterior.
//! - [`engine`][]: tensors, operations and gradients.
//! - [`model`][]: the networks, their weight files and cards, sensors in and fields out.
//! - [`train`][]: losses, gradient cap, teacher and training steps.
//! - [`eval`][]: errors, protocols, trust and figures.

pub use scope_data as data;
pub use scope_engine as engine;
pub use scope_eval as eval;
pub use scope_exact as exact;
pub use scope_linear as linear;
pub use scope_model as model;
pub use scope_pde as pde;
pub use scope_train as train;

pub mod placement;
pub mod recovery;

pub use recovery::{Network, NetworkOptions, PosteriorOptions, Recovered, Recovery, RecoveryError};
pub use scope_data::sensors::{SensorFile, SensorSet};
pub use scope_engine::Device;
pub use scope_model::{Precision, Reconstructor};

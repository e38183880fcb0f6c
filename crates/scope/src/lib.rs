//! SCOPE recovers complete physical fields from sparse sensors: a pair of fields (a, u) obeys a PDE, a few points of a,
//! of u or of both are measured, and both complete fields are recovered, with how far they can be trusted.
//!
//! Most programs need [`Recovery`], [`SensorFile`] or [`SensorSet`], and [`Recovered`]. From a file of sensors to both
//! fields, in physical units throughout:
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
//! Sensors may also come from memory, and some problems need no network: [`Recovery::exact`] has an example of both.
//! [`Network`] has one of sensors in metres and other units, [`placement`] one of where the next sensors say most.
//! `examples/recover.rs` and `examples/own_method.rs` are whole programs; the command-line program is the crate
//! `scope-cli`.
//!
//! The libraries under this one, in the order in which a record passes them:
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

#[doc(inline)]
pub use recovery::{Network, NetworkOptions, PosteriorOptions, Recovered, Recovery, RecoveryError};
#[doc(inline)]
pub use scope_data::sensors::{SensorFile, SensorSet};
#[doc(inline)]
pub use scope_engine::Device;
#[doc(inline)]
pub use scope_model::{Precision, Reconstructor};

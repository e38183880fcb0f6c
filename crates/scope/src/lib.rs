//! SCOPE recovers complete physical fields from sparse sensors. This crate is the front door: it re-exports the
//! libraries. The command-line program is the crate `scope-cli`.
//!
//! From a file of sensors to both fields, in physical units throughout:
//!
//! ```no_run
//! use scope::{Device, Precision, Reconstructor, SensorFile};
//!
//! let model = Reconstructor::open("models/poisson.safetensors", &Device::all_threads(), Precision::F32)?;
//! let sensors = SensorFile::open("sensors.csv")?;
//! let first = sensors.set(0)?;
//! let placed = model.place(&first.sensors, first.disk.as_ref())?;
//! let fields = model.recover_sensors(&mut [placed])?.remove(0);
//! println!("u in the middle: {}", fields.u[fields.u.len() / 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/recover.rs` is the same as a program. The libraries, in the order in which a record passes them:
//!
//! - [`pde`][]: random fields and five solvers.
//! - [`data`][]: pairs of fields, their files and normalisation, masks, schedules and sensors.
//! - [`exact`][]: the exact posterior of the linear Gaussian problems.
//! - [`engine`][]: tensors, operations and gradients.
//! - [`model`][]: the networks, their weight files and cards, sensors in and fields out.
//! - [`train`][]: losses, gradient cap, teacher and training steps.
//! - [`eval`][]: errors, protocols, trust and figures.

pub use scope_data as data;
pub use scope_engine as engine;
pub use scope_eval as eval;
pub use scope_exact as exact;
pub use scope_model as model;
pub use scope_pde as pde;
pub use scope_train as train;

pub use scope_data::sensors::SensorFile;
pub use scope_engine::Device;
pub use scope_model::{Precision, Reconstructor};

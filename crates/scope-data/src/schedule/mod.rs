//! Which records are drawn when, and under which condition, as pure functions of the batch number.

mod batches;
mod producer;
mod sensor_mix;

pub use batches::{BatchPlan, Schedule, TASK_CYCLE};
pub use producer::{Batch, BatchMaker, BatchNoise, Producer};
pub use sensor_mix::SensorMix;

//! Which records are drawn when, and under which condition, as pure functions of the batch number.

mod batches;
mod producer;

pub use batches::{BatchPlan, Schedule};
pub use producer::{Batch, BatchMaker, Producer};

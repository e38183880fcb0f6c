//! How well a method recovers held-out fields: errors record by record, protocols, paired statistics, tables and
//! figures.

pub mod auxiliary;
pub mod bands;
pub mod diagnose;
mod error;
mod evaluate;
pub mod figure;
mod interpolation;
mod method;
mod metrics;
mod noise;
mod paired;
mod panels;
mod parts;
mod posterior;
mod protocol;
mod regions;
pub mod report;
mod results;
mod summary;
pub mod trust;

pub use error::EvalError;
pub use evaluate::{Evaluation, PerRecord, Scores};
pub use method::{Banded, MethodError, RecoveryMethod, Shown, StatedBands};
pub use metrics::Recovered;
pub use paired::{Paired, compare, matching};
pub use panels::seen_title;
pub use parts::part_name;
pub use posterior::{PosteriorMethod, single_precision};
pub use protocol::Protocol;
pub use regions::Regions;
pub use results::{Record, Results, Summaries};
pub use scope_data::observation::TestNoise;
pub use scope_model::{
    Budget, DataIdentity, Interpolation, MaskIdentity, Measure, MethodIdentity, MethodKind, Provenance,
    Region,
};
pub use summary::Summary;

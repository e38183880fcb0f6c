//! What a run needs of a thing that learns, whatever it is.

use scope_data::schedule::Batch;
use scope_engine::{Device, Params, Tensor};
use scope_model::Architecture;

use super::feed::Feed;
use crate::{error::TrainError, objective::Objective, step::StepReport};

/// The numbers of a learner's state that are not in its buffers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Steps taken in the stage.
    pub steps: u64,
    /// The cap's last factor.
    pub alpha: f64,
}

/// What a run leaves to be used.
#[derive(Debug)]
pub struct Deployable {
    /// Which network, and its sizes.
    pub architecture: Architecture,
    /// Its parameters.
    pub params: Params,
}

/// Something that learns from batches and can be put away and taken up again.
pub trait Learner {
    /// One step on a batch of a feed.
    fn learn(
        &mut self,
        feed: &Feed<'_>,
        batch: &Batch,
        rate: f64,
        momentum: f64,
    ) -> Result<StepReport, TrainError>;

    /// Begins another stage on the same parameters: fresh moments, a teacher like the encoder.
    fn begin_stage(&mut self, objective: &Objective) -> Result<(), TrainError>;

    /// Sets what the coefficients of local fits are divided by, before the first step.
    fn set_fit_normaliser(&mut self, divisors: &[f32]) -> Result<(), TrainError> {
        let count = divisors.len();
        Err(TrainError::Request(format!("{count} divisors of local fits, for a network without any")))
    }

    /// Where it computes.
    fn device(&self) -> &Device;

    /// Its state: flat buffers by name.
    fn buffers(&self) -> Vec<(&'static str, &Tensor)>;

    /// The rest of its state.
    fn counters(&self) -> Counters;

    /// Takes up a state: a tensor for each name that [`Learner::buffers`] gives.
    fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError>;

    /// The model as it would be deployed now; `trained` is what the run trains.
    fn deployable(&self, trained: &Architecture) -> Result<Deployable, TrainError>;
}

//! The state of a trainer across stages, checkpoints and deployed models.

use scope_engine::{Device, Moments, Params, Tensor};
use scope_model::Architecture;

use super::{Counters, Trainable, Trainer};
use crate::{
    error::TrainError,
    objective::{Component, Objective},
};

impl Trainer {
    /// Begins another stage on the same parameters: fresh moments, a teacher like the encoder.
    pub(crate) fn begin_stage(&mut self, objective: &Objective) -> Result<(), TrainError> {
        self.forget_recorded();
        self.objective = self.trainable.objective(*objective);
        self.teacher = teacher_of(&self.params, &self.objective)?;
        self.moments = Moments::zeros(&self.params)?;
        self.counters = Counters::START;
        Ok(())
    }

    /// Sets what the coefficients of local fits are divided by, before the first step.
    pub(crate) fn set_fit_normaliser(&mut self, divisors: &[f32]) -> Result<(), TrainError> {
        let fits = match &self.trainable {
            Trainable::Scope(network) => network.encoder.fits().map(|fits| fits.normaliser),
            Trainable::Field(_) | Trainable::Auxiliary(..) | Trainable::Head(_) => None,
        };
        let id = fits.ok_or_else(|| TrainError::Request("the network has no local fits".to_owned()))?;
        self.forget_recorded();
        let range = self.params.layout().param(id).range.clone();
        let mut flat = self.params.flat().to_vec::<f32>()?;
        flat[range].copy_from_slice(divisors);
        self.params.set_flat(Tensor::from_slice(self.device(), &[flat.len()], &flat)?)?;
        self.teacher = teacher_of(&self.params, &self.objective)?;
        Ok(())
    }

    /// The device that it computes on.
    pub fn device(&self) -> &Device {
        self.params.device()
    }

    /// The flat buffers of its state, by the names that checkpoints have for them.
    pub fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        let teacher = self.teacher.as_ref().map(|teacher| ("teacher", teacher.flat()));
        let own = [
            ("params", self.params.flat()),
            ("first_moment", &self.moments.first),
            ("second_moment", &self.moments.second),
        ];
        own.into_iter().chain(teacher).collect()
    }

    /// Takes up a state: a tensor for each name that [`Trainer::buffers`] gives, and the counters.
    pub(crate) fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError> {
        self.forget_recorded();
        let take = |name: &str| buffers(name).ok_or_else(|| TrainError::lacking(name));
        self.params.set_flat(take("params")?)?;
        self.moments = Moments { first: take("first_moment")?, second: take("second_moment")? };
        if let Some(teacher) = &mut self.teacher {
            teacher.set_flat(take("teacher")?)?;
        }
        self.counters = counters;
        Ok(())
    }

    /// The model as it would be deployed now: the network that a run trains, or the frozen model with its new decoder.
    pub(crate) fn deployable(&self, trained: &Architecture) -> Result<(Architecture, Params), TrainError> {
        match &self.trainable {
            Trainable::Head(head) => head.merged(&self.params),
            Trainable::Scope(_) | Trainable::Field(_) | Trainable::Auxiliary(..) => {
                Ok((trained.clone(), self.params.prefix("")?))
            }
        }
    }

    /// Forgets recorded steps, whose memory and numbers are of another state.
    fn forget_recorded(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.forget();
        }
    }
}

/// A teacher like the encoder, if the objective wants one.
pub(super) fn teacher_of(params: &Params, objective: &Objective) -> Result<Option<Params>, TrainError> {
    Ok(objective.has(Component::Latent).then(|| params.prefix("encoder")).transpose()?)
}

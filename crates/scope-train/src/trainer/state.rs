//! The state of a trainer across stages, checkpoints and deployed models.

use std::{collections::HashMap, ops::Range};

use scope_engine::{Device, Moments, Params, Tensor};
use scope_model::Architecture;
use scope_parallel::numbers_in;

use super::{Counters, Trainable, Trainer};
use crate::{
    error::TrainError,
    objective::{Component, Objective},
    run::Position,
    team::Team,
};

/// Steps of GPUs between two moments at which ranks agree whether to stop.
const AGREE_EVERY: u64 = 16;

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

    /// Gives every rank of its team rank 0's state and position; alone, nothing happens.
    pub(crate) fn share_state(
        &mut self,
        position: Position,
        objective: impl Fn(usize) -> Option<Objective>,
    ) -> Result<Position, TrainError> {
        let Some(mut team) = self.team.take() else { return Ok(position) };
        let told = self.tell_state(&mut team, position);
        let outcome = told.and_then(|told| match told {
            (position, None) => Ok(position),
            (position, Some(numbers)) => {
                self.take_state(&position, &numbers, objective)?;
                Ok(position)
            }
        });
        self.team = Some(team);
        outcome
    }

    /// Rank 0 tells its position and its buffers, and others get both.
    fn tell_state(
        &self,
        team: &mut Team,
        position: Position,
    ) -> Result<(Position, Option<Vec<f32>>), TrainError> {
        let is_first = team.rank() == 0;
        let text = if is_first { serde_json::json!(position).to_string() } else { String::new() };
        let told = team.broadcast(text.as_bytes())?;
        let garbled = |_| TrainError::Request("what rank 0 says of the run makes no sense".to_owned());
        let position: Position = serde_json::from_slice(&told).map_err(garbled)?;
        let mut numbers = Vec::new();
        if is_first {
            for (_, buffer) in self.buffers() {
                numbers.extend(buffer.to_vec::<f32>()?);
            }
        }
        let told = team.broadcast(bytemuck::cast_slice(&numbers))?;
        Ok((position, (!is_first).then(|| numbers_in(&told).collect())))
    }

    /// Takes up rank 0's buffers, which lie one after the other.
    fn take_state(
        &mut self,
        position: &Position,
        numbers: &[f32],
        objective: impl Fn(usize) -> Option<Objective>,
    ) -> Result<(), TrainError> {
        if position.stage > 0 {
            let objective = objective(position.stage);
            let none = || TrainError::Request("rank 0 is in a stage that the run has not".to_owned());
            self.begin_stage(&objective.ok_or_else(none)?)?;
        }
        let mut taken = HashMap::new();
        let mut rest = numbers;
        for (name, buffer) in self.buffers() {
            let short = || TrainError::lacking(name);
            let (values, after) = rest.split_at_checked(buffer.len()).ok_or_else(short)?;
            taken.insert(name, Tensor::from_slice(self.device(), &[values.len()], values)?);
            rest = after;
        }
        self.restore(&|name| taken.get(name).cloned(), position.counters)
    }

    /// The rows of every batch that it is given; all if it is alone.
    pub(crate) fn rows(&self, batch: usize) -> Range<usize> {
        self.team.as_ref().map_or(0..batch, Team::rows)
    }

    /// Whether any rank wants to stop, and whether any wants the state saved. GPUs, whose steps take a millisecond, are
    /// asked at some steps only.
    pub(crate) fn agree(&mut self, [stop, save]: [bool; 2]) -> Result<[bool; 2], TrainError> {
        if self.group.is_some() && !self.counters.steps.is_multiple_of(AGREE_EVERY) {
            return Ok([false; 2]);
        }
        self.team.as_mut().map_or(Ok([stop, save]), |team| team.any([stop, save]))
    }

    /// Makes sure that all ranks have one state, that after so many draws.
    pub(crate) fn require_one_state(&mut self, draws: u64) -> Result<(), TrainError> {
        let Some(mut team) = self.team.take() else { return Ok(()) };
        let size = team.size();
        let found = match size {
            1 => Ok(None),
            _ => self.hash().and_then(|hash| team.first_unlike(hash.as_bytes())),
        };
        self.team = Some(team);
        found?.map_or(Ok(()), |rank| Err(TrainError::Diverged { rank, size, draws }))
    }

    /// BLAKE3 of its buffers, one after the other.
    fn hash(&self) -> Result<blake3::Hash, TrainError> {
        let mut hasher = blake3::Hasher::new();
        for (_, buffer) in self.buffers() {
            hasher.update(bytemuck::cast_slice(&buffer.to_vec::<f32>()?));
        }
        Ok(hasher.finalize())
    }

    /// Waits for all ranks to have done what they had to do.
    pub(crate) fn end_together(&mut self) {
        if let Some(team) = &mut self.team {
            // Whatever was to be kept is kept: a rank that is lost from here on is no loss.
            let _ = team.any([]);
        }
    }

    /// Whether a step was left half done: its state is that of no step.
    pub(crate) fn is_torn(&self) -> bool {
        self.team.as_ref().is_some_and(Team::is_torn)
    }

    /// Tells the other ranks why this one ends, and leaves their devices, of which one may be waited for in vain.
    pub(crate) fn abort(&mut self, why: &TrainError) {
        self.team.iter_mut().for_each(|team| team.abort(&why.to_string()));
        // What was recorded with the devices must be gone before they are left.
        self.forget_recorded();
        self.group.iter_mut().for_each(|group| group.abort());
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

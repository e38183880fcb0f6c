//! From what was asked for to a run's configuration and its learner.

use std::time::Instant;

use scope_data::Dataset;
use scope_engine::{Device, Optimizer, Params, Tensor};
use scope_model::{Architecture, FieldModel, Model};

use super::{
    config::{AdaptConfig, DataIdentity, Earlier, Length, RunConfig},
    feed::{Conditions, Feed, Order},
    learner::Learner,
    length::stages,
};
use crate::{
    adapt::Adaptation, error::TrainError, field::FieldTrainer, objective::Objective, recipe::Recipe,
    recorded::RecordedTrainer, replayed::Replayed, step::Trainer,
};

/// Steps that are not timed: memory is taken, weights are packed.
const UNTIMED_STEPS: u64 = 2;
/// The least number of steps and of seconds that a stage is timed for.
const TIMED_STEPS: u64 = 3;
const TIMED_SECONDS: f64 = 3.0;
/// What is left of the minutes after checkpoints and the last model are written.
const USABLE_SHARE: f64 = 0.97;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The recipe to train with.
    pub recipe: Recipe,
    /// What to train; of an adaptation, the base's sizes.
    pub model: Architecture,
    /// Length of the run; the recipe's own if nothing is said.
    pub length: Option<Length>,
    /// Seed of initial parameters, batches and masks.
    pub seed: u64,
    /// Number of steps between two lines of `metrics.jsonl`.
    pub log_every: u64,
    /// The trained weights to begin with.
    pub from: Option<Earlier>,
    /// An adaptation's base and head.
    pub adapt: Option<AdaptConfig>,
}

impl Ask {
    /// Refuses a recipe whose losses the network cannot have.
    pub fn require_fit(&self) -> Result<(), TrainError> {
        let other = |objective: &Objective| *objective != Objective::FO;
        let stages = self.recipe.stages();
        match (self.model.scope(), stages.iter().find(|(_, stage)| other(&stage.objective))) {
            (None, Some((stage, _))) => Err(TrainError::Recipe(format!(
                "{} has no latents, and the {stage} stage of \"{}\" wants them: use --recipe operator, the field loss alone",
                self.model.name(),
                self.recipe.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Makes the learner of a configuration's first stage.
pub type MakeLearner<'a> = dyn Fn(&RunConfig) -> Result<Box<dyn Learner>, TrainError> + 'a;

/// Resolves what was asked for. A length in minutes is measured by some steps of each stage on a learner that is
/// thrown away; what that takes is counted.
pub fn plan(
    ask: Ask,
    data: &Dataset,
    make: &MakeLearner<'_>,
    threads: usize,
) -> Result<RunConfig, TrainError> {
    let begin = Instant::now();
    let meta = data.meta();
    ask.require_fit()?;
    if meta.resolution != ask.model.resolution() {
        return Err(TrainError::Request(format!(
            "the data are on a grid of {} and the model on one of {}: they must be the same",
            meta.resolution,
            ask.model.resolution()
        )));
    }
    let Ask { recipe, model, seed, log_every, from, adapt, .. } = ask;
    let named = match (&adapt, &from) {
        (Some(_), _) => vec![("adapt", recipe.main)],
        // Pretraining is for an encoder that knows nothing.
        (None, Some(_)) => vec![("main", recipe.main)],
        (None, None) => recipe.stages(),
    };
    let length = ask.length.unwrap_or(Length::Epochs(recipe.main.epochs));
    let placeholder = stages(&recipe, &named, Length::Draws(1 << 40), data.len(), &[])?;
    let mut config = RunConfig {
        pde: meta.pde.name().to_owned(),
        seed,
        log_every: log_every.max(1),
        length,
        stages: placeholder,
        data: DataIdentity::of(data),
        model,
        recipe,
        from,
        adapt,
    };
    let mut seconds = Vec::new();
    let mut spent = length;
    if let Length::Minutes(minutes) = length {
        seconds = time_stages(&config, data, make, threads)?;
        let left = USABLE_SHARE * minutes - begin.elapsed().as_secs_f64() / 60.0;
        spent = Length::Minutes(left.max(0.0));
    }
    config.stages = stages(&config.recipe, &named, spent, data.len(), &seconds)?;
    Ok(config)
}

/// Seconds that a draw of each stage takes.
fn time_stages(
    config: &RunConfig,
    data: &Dataset,
    make: &MakeLearner<'_>,
    threads: usize,
) -> Result<Vec<f64>, TrainError> {
    let mut learner = make(config)?;
    let batch = config.recipe.batch;
    let order = Order { first: 0, ..config.order(Conditions::Mixed) };
    let mut feed = Feed::new(data, learner.device(), order, threads)?;
    let mut seconds = Vec::new();
    for (k, stage) in config.stages.iter().enumerate() {
        if k > 0 {
            learner.begin_stage(&stage.objective)?;
        }
        let mut begin = Instant::now();
        let mut steps = 0;
        while steps < UNTIMED_STEPS + TIMED_STEPS || begin.elapsed().as_secs_f64() < TIMED_SECONDS {
            if steps == UNTIMED_STEPS {
                begin = Instant::now();
            }
            let next = feed.next_batch()?;
            learner.learn(&feed, &next, config.recipe.floor_rate, 1.0)?.read()?;
            steps += 1;
        }
        let timed = (steps - UNTIMED_STEPS) * batch as u64;
        seconds.push(begin.elapsed().as_secs_f64() / timed as f64);
    }
    Ok(seconds)
}

/// The learner of a run's first stage. An adaptation needs its base's parameters, a run that goes on from weights needs
/// those, and no other takes any.
pub fn learner(
    config: &RunConfig,
    device: &Device,
    weights: Option<Params>,
) -> Result<Box<dyn Learner>, TrainError> {
    if weights.is_some() != (config.adapt.is_some() || config.from.is_some()) {
        return Err(TrainError::Request(match weights {
            None => "the run needs the weights that it begins with".to_owned(),
            Some(_) => "a run that begins with initial parameters takes no weights".to_owned(),
        }));
    }
    let optimizer = config.recipe.optimizer();
    let Some(sizes) = config.model.scope() else {
        let mut model = FieldModel::initial(config.model.clone(), config.seed, device)?;
        begin_with(&mut model.params, weights)?;
        let mut trainer = FieldTrainer::new(model)?;
        trainer.optimizer = fitting(optimizer, &trainer.model.params, config.model.name())?;
        if let Device::Cuda(cuda) = device {
            return Ok(Box::new(Replayed::new(cuda, trainer)));
        }
        return Ok(Box::new(trainer));
    };
    let mut model = Model::initial(sizes.clone(), config.seed, device)?;
    begin_with(&mut model.params, weights)?;
    if let Some(adapt) = &config.adapt {
        let mut learner = Adaptation::new(model, adapt.head.clone(), adapt.view, config.seed)?;
        learner.head.optimizer = fitting(optimizer, &learner.head.params, "the head")?;
        if let Device::Cuda(cuda) = device {
            return Ok(Box::new(Replayed::new(cuda, learner)));
        }
        return Ok(Box::new(learner));
    }
    let mut trainer = Trainer::new(model, config.stages[0].objective)?;
    trainer.optimizer = fitting(optimizer, &trainer.params, config.model.name())?;
    trainer.cap_every = config.recipe.cap_every;
    if let Device::Cuda(cuda) = device {
        return Ok(Box::new(RecordedTrainer::new(cuda, trainer)));
    }
    Ok(Box::new(trainer))
}

/// Refuses Muon where it would have nothing to do.
fn fitting(optimizer: Optimizer, params: &Params, name: &str) -> Result<Optimizer, TrainError> {
    if optimizer.muon.is_some() && !params.layout().has_hidden() {
        return Err(TrainError::Recipe(format!(
            "Muon is for hidden matrices, and {name} has none that are marked: use optimizer = \"adamw\""
        )));
    }
    Ok(optimizer)
}

/// Puts weights in the place of initial parameters; they must be of the same network. Numbers that no step changes stay as they
/// begin: nothing depends on them, and weights of older programs have let them drift.
fn begin_with(params: &mut Params, weights: Option<Params>) -> Result<(), TrainError> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.layout() != params.layout() {
        return Err(TrainError::Request(
            "the weights are of another network than the one to be trained: name the network that they are of"
                .to_owned(),
        ));
    }
    let mut flat = weights.flat().to_vec::<f32>()?;
    let initial = params.flat().to_vec::<f32>()?;
    for held in params.layout().params().iter().map(|param| param.held.clone()) {
        flat[held.clone()].copy_from_slice(&initial[held]);
    }
    Ok(params.set_flat(Tensor::from_slice(params.device(), &[flat.len()], &flat)?)?)
}

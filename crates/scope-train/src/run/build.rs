//! The factory of trainers: from a run's configuration to the trainer of its first stage.

use scope_engine::{Device, Optimizer, Params, Tensor};
use scope_model::{FieldModel, Model};
use scope_parallel::Threads;

use super::config::RunConfig;
use crate::{error::TrainError, residual::Residual, team::Team, trainer::Trainer};

/// Builds the trainer of a configuration's first stage.
pub type BuildTrainer<'a> = dyn Fn(&RunConfig) -> Result<Trainer, TrainError> + 'a;

/// The trainer of a run's first stage, whose steps are recorded on a GPU and of parts if the recipe says so. An
/// adaptation needs its base's parameters, a run that begins with trained weights needs those, and no other takes any.
pub fn build_trainer(
    config: &RunConfig,
    device: &Device,
    weights: Option<Params>,
) -> Result<Trainer, TrainError> {
    if weights.is_some() != (config.adapt.is_some() || config.from.is_some()) {
        return Err(TrainError::Request(match weights {
            None => "the run needs the weights that it begins with".to_owned(),
            Some(_) => "a run that begins with initial parameters takes no weights".to_owned(),
        }));
    }
    let mut trainer = eager_trainer(config, device, weights)?;
    let name = if config.adapt.is_some() { "the head" } else { config.model.name() };
    trainer.optimizer = fitting(config.recipe.optimizer(), &trainer.params, name)?;
    if let Some(precision) = config.recipe.precision {
        trainer.precision = precision.dtype();
    }
    match (config.recipe.parts, device) {
        (None, _) => Ok(trainer.recorded()),
        (Some(_), Device::Cuda(_)) => Err(TrainError::Request(
            "the parts of a batch are summed in a fixed order on processors only: train on the processor, or without \
             parts"
                .to_owned(),
        )),
        (parts, Device::Cpu(_)) => {
            let alone = Threads::ranks(1).into_iter().next();
            let alone = alone.ok_or_else(|| TrainError::Request("there is no rank to train".to_owned()))?;
            Ok(trainer.in_team(Team::new(Box::new(alone), parts, config.recipe.batch)?))
        }
    }
}

/// The trainer of what a run trains, with the default optimizer.
fn eager_trainer(
    config: &RunConfig,
    device: &Device,
    weights: Option<Params>,
) -> Result<Trainer, TrainError> {
    let Some(sizes) = config.model.scope() else {
        let mut model = FieldModel::initial(config.model.clone(), config.seed, device)?;
        begin_with(&mut model.params, weights)?;
        return match config.model.auxiliary() {
            Some(_) => Trainer::auxiliary(model, config.stages[0].objective, residual(config)?),
            None => Trainer::field(model),
        };
    };
    let mut model = Model::initial(sizes.clone(), config.seed, device)?;
    begin_with(&mut model.params, weights)?;
    if let Some(adapt) = &config.adapt {
        return if adapt.continued {
            Trainer::continued_head(model, adapt.view)
        } else {
            Trainer::head(model, adapt.head.clone(), adapt.view, config.seed)
        };
    }
    let mut trainer = Trainer::scope(model, config.stages[0].objective)?;
    trainer.cap_every = config.recipe.cap_every;
    Ok(trainer)
}

/// The residual that a run's objective has, if it has one.
fn residual(config: &RunConfig) -> Result<Option<Residual>, TrainError> {
    if !config.has_residual() {
        return Ok(None);
    }
    let residual = config.constants.as_ref();
    let residual = residual.and_then(|known| Residual::new(config.pde, known, config.model.resolution()));
    let none = || TrainError::Request(format!("there is no residual of {} on this grid", config.pde));
    residual.map(Some).ok_or_else(none)
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

/// Puts weights in the place of initial parameters; they must be of the same network. Numbers that no step changes stay
/// as they begin: nothing depends on them, and weights of older programs have let them drift.
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

//! From a request to a run's configuration.

use std::time::Instant;

use scope_data::{
    Dataset,
    observation::{Condition, Task},
};
use scope_model::{Architecture, Auxiliary};
use scope_pde::{GridShape, Pde};

use super::{
    build::BuildTrainer,
    config::{AdaptConfig, InitialWeights, Length, RunConfig, TrainingSet},
    data_loader::{DataLoader, SamplerConfig},
    fit_ridge,
    folder::RunFolder,
    length::stages,
    units,
};
use crate::{
    error::TrainError,
    objective::{Component, FieldMeasure, Objective},
    recipe::{Recipe, StageRecipe},
    residual::Residual,
    schedule::Rates,
};

/// Steps that are not timed: memory is taken, weights are packed.
const UNTIMED_STEPS: u64 = 2;
/// The least number of steps and of seconds that a stage is timed for.
const TIMED_STEPS: u64 = 3;
const TIMED_SECONDS: f64 = 3.0;
/// What is left of the minutes after checkpoints and the last model are written.
const USABLE_SHARE: f64 = 0.97;

/// The run that is asked for.
#[derive(Clone, Debug)]
pub struct RunRequest {
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
    pub from: Option<InitialWeights>,
    /// An adaptation's base and head.
    pub adapt: Option<AdaptConfig>,
}

impl RunRequest {
    /// Refuses a recipe whose losses the network, or the problem, cannot have.
    pub fn require_fit(&self, pde: Pde) -> Result<(), TrainError> {
        let hides = |objective: &Objective| objective.measure == FieldMeasure::HiddenL1;
        let hidden = self.recipe.stages().iter().any(|(_, stage)| hides(&stage.objective));
        let refuse = |problem: String| Err(TrainError::Recipe(problem));
        let model = self.model.name();
        let recipe = &self.recipe.name;
        match self.model.auxiliary() {
            Some(auxiliary) => self.require_auxiliary(auxiliary.kind(), pde),
            None if hidden => refuse(format!(
                "the recipe \"{recipe}\" is for the auxiliary operators, and {model} is none: train aux-fno, \
                 aux-deeponet, aux-unet or aux-cno with it, or choose another recipe"
            )),
            None if self
                .recipe
                .stages()
                .iter()
                .any(|(_, stage)| stage.objective.has(Component::Residual)) =>
            {
                refuse(format!("the recipe \"{recipe}\" has a residual, which aux-fno alone is trained with"))
            }
            None => self.require_losses(),
        }
    }

    /// Refuses fewer draws than one batch a stage.
    pub fn require_length(&self) -> Result<(), TrainError> {
        let is_one_stage = self.from.is_some() || self.adapt.is_some();
        let stages = if is_one_stage { 1 } else { self.recipe.stages().len() };
        let batch = self.recipe.batch;
        match self.length {
            Some(Length::Draws(draws)) if draws < (batch * stages) as u64 => {
                Err(TrainError::Request(format!(
                    "a run of {draws} draws is shorter than one batch of {batch} a stage: make it longer, or set a \
                     smaller batch"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what the auxiliary study does not have.
    fn require_auxiliary(&self, kind: Auxiliary, pde: Pde) -> Result<(), TrainError> {
        let refuse = |problem: String| Err(TrainError::Recipe(problem));
        let model = kind.name();
        let recipe = &self.recipe.name;
        let stages = self.recipe.stages();
        let fits = |objective: &Objective| {
            objective.measure == FieldMeasure::HiddenL1
                && objective.has(Component::Field)
                && !objective.has(Component::Latent)
                && !objective.has(Component::Variance)
                && !objective.capped
        };
        if !stages.iter().all(|(_, stage)| fits(&stage.objective)) {
            return refuse(format!(
                "{model} is trained on the hidden field alone, and \"{recipe}\" wants other losses: use the recipe \
                 \"auxiliary\" or \"auxiliary-g\""
            ));
        }
        if !Condition::bernoulli(Task::Forward).is_some_and(|condition| condition.is_of(pde)) {
            return refuse(format!(
                "{model} predicts one field from the other, and {pde} has one field only"
            ));
        }
        if !stages.iter().any(|(_, stage)| stage.objective.has(Component::Residual)) {
            return Ok(());
        }
        if kind != Auxiliary::Fno {
            return refuse(format!(
                "PINO is an FNO: train aux-fno with the recipe \"{recipe}\", and not {model}"
            ));
        }
        match Residual::k_squared(pde) {
            Some(_) => Ok(()),
            None => refuse(format!(
                "the recipe \"{recipe}\" needs the residual of poisson or helmholtz, and there is none of {pde}: use \
                 \"auxiliary\" or \"auxiliary-g\""
            )),
        }
    }

    /// Refuses data on another grid than the model's.
    fn require_grid(&self, data: GridShape) -> Result<(), TrainError> {
        let model = self.model.resolution();
        if data == model {
            return Ok(());
        }
        Err(TrainError::Request(format!(
            "the data are on a grid of {data} and the model on one of {model}: they must be the same"
        )))
    }

    /// Refuses losses of latents to a network that has none.
    fn require_losses(&self) -> Result<(), TrainError> {
        let other = |objective: &Objective| *objective != Objective::FO;
        let stages = self.recipe.stages();
        match (self.model.scope(), stages.iter().find(|(_, stage)| other(&stage.objective))) {
            (None, Some((stage, _))) => Err(TrainError::Recipe(format!(
                "{} has no latents, and the {stage} stage of \"{}\" wants them: use the recipe \"operator\", the field \
                 loss alone",
                self.model.name(),
                self.recipe.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Resolves a request. A length in minutes is measured by some steps of each stage on a trainer that is
/// thrown away; what that takes is counted.
pub fn plan(
    request: RunRequest,
    data: &Dataset,
    build: &BuildTrainer<'_>,
    threads: usize,
) -> Result<RunConfig, TrainError> {
    let begin = Instant::now();
    let meta = data.meta();
    request.require_fit(meta.pde)?;
    request.require_grid(meta.resolution)?;
    let RunRequest { recipe, mut model, seed, log_every, from, adapt, .. } = request;
    // Weights bring their own units.
    if let (Architecture::Auxiliary(config), None) = (&mut model, &from) {
        config.units = units::fit(data)?;
    }
    model.validate()?;
    let physical = recipe.stages().iter().any(|(_, stage)| stage.objective.has(Component::Residual));
    let named = named_stages(&recipe, adapt.is_some(), from.is_some());
    let length = request.length.unwrap_or(Length::Epochs(recipe.main.epochs));
    let placeholder = stages(&recipe, &named, Length::Draws(1 << 40), data.len(), &[])?;
    let mut config = RunConfig {
        pde: meta.pde,
        seed,
        log_every: log_every.max(1),
        length,
        stages: placeholder,
        data: TrainingSet::of(data),
        model,
        recipe,
        constants: physical.then(|| meta.constants()),
        from,
        adapt,
    };
    measure_ridge(&mut config, data)?;
    let mut seconds = Vec::new();
    let mut spent = length;
    if let Length::Minutes(minutes) = length {
        seconds = time_stages(&config, data, build, threads)?;
        let left = USABLE_SHARE * minutes - begin.elapsed().as_secs_f64() / 60.0;
        spent = Length::Minutes(left.max(0.0));
    }
    config.stages = stages(&config.recipe, &named, spent, data.len(), &seconds)?;
    Ok(config)
}

/// The stages of a run by name.
fn named_stages(recipe: &Recipe, adapts: bool, has_weights: bool) -> Vec<(&'static str, StageRecipe)> {
    match (adapts, has_weights) {
        (true, _) => vec![("adapt", recipe.main)],
        // Pretraining is for an encoder that knows nothing.
        (false, true) => vec![("main", recipe.main)],
        (false, false) => recipe.stages(),
    }
}

/// Measures the ridge of local fits on the training set, where the recipe asks for one.
fn measure_ridge(config: &mut RunConfig, data: &Dataset) -> Result<(), TrainError> {
    let shrinkage = config.measured_fits().map(|fits| fits.shrinkage).filter(|share| *share > 0.0);
    if let (Some(share), Architecture::Scope(sizes)) = (shrinkage, &mut config.model)
        && let Some(fits) = &mut sizes.fits
    {
        fits.ridge = fit_ridge::measure(data, fits, share)?;
    }
    Ok(())
}

/// The configuration of the run that a folder holds, which must be what is asked for; or a new one, where it holds
/// none.
pub fn plan_or_resume(
    folder: &RunFolder,
    request: RunRequest,
    data: &Dataset,
    build: &BuildTrainer<'_>,
    threads: usize,
) -> Result<RunConfig, TrainError> {
    let path = folder.config();
    if !path.exists() {
        return plan(request, data, build, threads);
    }
    let begun = RunConfig::read(&path)?;
    // How a run sums over a batch was decided when it began, whatever the number of processes now.
    let recipe = Recipe { parts: request.recipe.parts.or(begun.recipe.parts), ..request.recipe.clone() };
    let request = RunRequest { recipe, ..request };
    // Nothing is timed again: what fitted into the minutes was decided when the run began.
    let again = match (request.length, begun.length) {
        (Some(Length::Minutes(now)), Length::Minutes(_)) => {
            let untimed = RunRequest { length: Some(Length::Draws(1 << 40)), ..request };
            RunConfig { length: Length::Minutes(now), ..plan(untimed, data, build, 1)? }
        }
        _ => plan(request, data, build, 1)?,
    };
    begun.require_same(&again, folder.path())?;
    Ok(begun)
}

/// Seconds that a draw of each stage takes.
fn time_stages(
    config: &RunConfig,
    data: &Dataset,
    build: &BuildTrainer<'_>,
    threads: usize,
) -> Result<Vec<f64>, TrainError> {
    let mut trainer = build(config)?;
    let batch = config.recipe.batch;
    let rates = Rates { learning_rate: config.recipe.floor_rate, ema_momentum: 1.0 };
    let sampler = SamplerConfig { first: 0, ..config.sampler(config.conditions()) };
    let mut loader = DataLoader::new(data, trainer.device(), sampler, threads)?;
    let mut seconds = Vec::new();
    for (k, stage) in config.stages.iter().enumerate() {
        if k > 0 {
            trainer.begin_stage(&stage.objective)?;
        }
        let mut begin = Instant::now();
        let mut steps = 0;
        while steps < UNTIMED_STEPS + TIMED_STEPS || begin.elapsed().as_secs_f64() < TIMED_SECONDS {
            if steps == UNTIMED_STEPS {
                begin = Instant::now();
            }
            let next = loader.next_batch()?;
            trainer.train_on_batch(&loader, &next, rates)?.read()?;
            steps += 1;
        }
        let timed = (steps - UNTIMED_STEPS) * batch as u64;
        seconds.push(begin.elapsed().as_secs_f64() / timed as f64);
    }
    Ok(seconds)
}

//! Losses, gradient cap, teacher and training steps of the SCOPE networks.
//!
//! A [`Trainer`] holds the state of a training stage and takes steps on [`Examples`]; what it minimises is data
//! ([`Objective`]), not code, and so is what it trains ([`Trainable`]): a SCOPE network, an operator, or a replacement
//! decoder on a frozen model.

mod error;
mod examples;
mod losses;
mod objective;
mod recipe;
mod residual;
mod run;
mod schedule;
mod team;
mod trainer;

pub use error::TrainError;
pub use examples::{Examples, loss_weights};
pub use losses::{Pass, PassLosses};
pub use objective::{Component, FieldMeasure, GroundedParts, Objective};
pub use recipe::{FitRecipe, MuonRecipe, OptimizerKind, Recipe, StageRecipe};
pub use residual::Residual;
pub use run::{
    AdaptConfig, BuildTrainer, Callback, Conditions, DataLoader, InitialWeights, Length, MetricsLine,
    Position, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest, SamplerConfig, Stage, Teacher,
    TrainingSet, build_trainer, follow, plan, plan_or_resume, run, saved_teacher, stages,
};
pub use schedule::{LearningRateSchedule, Rates, ScheduleKind, StageSchedule};
pub use team::{Team, USUAL_PARTS};
pub use trainer::{Counters, DeviceReport, Head, MAX_NORM, StepReport, Trainable, Trainer};

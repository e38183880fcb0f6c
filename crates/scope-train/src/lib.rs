//! Losses, gradient cap, teacher and training steps of the SCOPE networks.
//!
//! A [`Trainer`] holds the state of a training stage and takes steps on [`Examples`]; what it minimises is data
//! ([`Objective`]), not code. [`HeadTrainer`] trains a replacement decoder on latents that stand still.

mod adapt;
mod error;
mod examples;
mod field;
mod input;
mod losses;
mod objective;
mod recipe;
mod recorded;
mod replayed;
mod run;
mod schedule;
mod step;

pub use adapt::{Adaptation, HeadTrainer};
pub use error::TrainError;
pub use examples::{Examples, loss_weights};
pub use field::FieldTrainer;
pub use losses::{Pass, PassLosses};
pub use objective::{Component, Objective, Reach};
pub use recipe::{FitRecipe, MuonRecipe, OptimizerKind, Recipe, SensorRecipe, StageRecipe};
pub use recorded::RecordedTrainer;
pub use replayed::{OneLoss, Replayed};
pub use run::{
    AdaptConfig, Ask, Conditions, Conduct, Counters, DataIdentity, Deployable, Earlier, Ending, Feed,
    Learner, Length, Line, MakeLearner, Observer, Order, Position, RunConfig, RunFolder, Stage, Teacher,
    learner, plan, run, saved_teacher, stages,
};
pub use schedule::{LearningRateSchedule, Rates, ScheduleKind, StageSchedule};
pub use step::{Measured, StepReport, Trainer};

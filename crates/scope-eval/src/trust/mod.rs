//! How far a recovery from someone's own sensors can be trusted: what is known of the model under conditions like
//! theirs, and what speaks against it.

mod coverage;
mod nearest;
mod warning;

use scope_data::{
    Channel,
    observation::{ContextMasks, Mask, Task, UserContext},
};
use scope_model::{About, Card, ConditionErrors, Fields, HeldOut};
use scope_pde::Pde;
use serde::Serialize;

pub use coverage::Coverage;
pub use nearest::Nearest;
pub use warning::Warning;

/// What is known of a model besides its weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Its card.
    pub card: Option<&'a Card>,
    /// Its errors on held-out records.
    pub held_out: Option<&'a HeldOut>,
}

/// What can be said of one recovery.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trust {
    /// Which channels were measured: forward, inverse or joint.
    pub task: &'static str,
    /// How sensors cover a and u.
    pub coverage: Channels<Option<Coverage>>,
    /// The condition most like this one among those that the model was evaluated under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// Mean errors on held-out records under that condition, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_percent: Option<ConditionErrors>,
    /// How far the recovery is from the measurements themselves: the relative L2 error at sensors, in percent.
    pub misfit_percent: Channels<Option<f64>>,
    /// What speaks against trusting it.
    pub warnings: Vec<Warning>,
}

/// Something of a and of u.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Channels<T> {
    /// Of the input field.
    pub a: T,
    /// Of the response field.
    pub u: T,
}

impl<T> Channels<T> {
    fn of(&self, channel: Channel) -> &T {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }

    fn from_fn(of: impl Fn(Channel) -> T) -> Self {
        Self { a: of(Channel::A), u: of(Channel::U) }
    }
}

/// What is measured: a makes it forward, u inverse, both joint. Nothing measured is no task.
pub fn task_of(measured: &ContextMasks) -> Option<Task> {
    match (measured.a.count() > 0, measured.u.count() > 0) {
        (true, true) => Some(Task::Joint),
        (true, false) => Some(Task::Forward),
        (false, true) => Some(Task::Inverse),
        (false, false) => None,
    }
}

impl Trust {
    /// Weighs a recovery. None if nothing was measured.
    pub fn of(about: &About, known: Known<'_>, context: &UserContext, fields: &Fields) -> Option<Self> {
        let task = task_of(&context.measured)?;
        let mask = |channel| mask_of(&context.measured, channel);
        let coverage = Channels::from_fn(|channel| Coverage::of(mask(channel)));
        let nearest = Nearest::find(about.pde, &context.measured, task, known.held_out);
        let errors = nearest.as_ref().zip(known.held_out);
        let errors = errors.and_then(|(nearest, held_out)| held_out.conditions.get(&nearest.condition));
        let misfit_percent = Channels::from_fn(|channel| misfit(about, context, fields, channel));
        let mut trust = Self {
            task: task.name(),
            coverage,
            held_out_percent: errors.copied(),
            nearest,
            misfit_percent,
            warnings: Vec::new(),
        };
        trust.warnings = warning::warnings(about, known, context, &trust);
        Some(trust)
    }
}

fn mask_of(masks: &ContextMasks, channel: Channel) -> &Mask {
    match channel {
        Channel::A => &masks.a,
        Channel::U => &masks.u,
    }
}

/// 100 |recovered - measured| / |measured| over the sensors of a channel; none without sensors or for zeros.
fn misfit(about: &About, context: &UserContext, fields: &Fields, channel: Channel) -> Option<f64> {
    let scaling = about.constants.of(channel);
    let recovered = if channel == Channel::A { &fields.a } else { &fields.u };
    let (mut apart, mut size) = (0.0, 0.0);
    for point in mask_of(&context.measured, channel).points() {
        let measured = scaling.physical(context.values[channel as usize][point]);
        apart += (f64::from(recovered[point]) - measured).powi(2);
        size += measured * measured;
    }
    (size > 0.0).then(|| 100.0 * (apart / size).sqrt())
}

/// Whether a problem has a disk.
fn has_disk(pde: Pde) -> bool {
    pde == Pde::Cylinder
}

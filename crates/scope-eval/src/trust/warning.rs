//! What speaks against trusting a recovery.

use std::fmt;

use scope_data::{
    Channel, Constants, Scaling,
    observation::{Condition, NAMED_POINTS, UserContext},
};
use scope_model::CardTraining;
use scope_pde::Pde;
use serde::{Serialize, Serializer};

use super::{Contradiction, Known, Suspects, Trust};

/// Counts of sensors up to this share beyond those of training are not worth a word.
const SLACK: f64 = 0.1;
/// Without a card, values this many standard deviations from the mean count as unusual.
const UNUSUAL_SIGMAS: f64 = 5.0;
/// Sensors leave gaps when these are so many times as wide as those of the nearest condition.
const WIDE_GAPS: f64 = 1.5;
/// A recovery that misses its own sensors by more than this many times the held-out error does not fit them.
const POOR_FIT: f64 = 5.0;
/// A recovery that misses its own sensors by more than this does not fit them, however large the held-out error is.
const POOR_FIT_PERCENT: f64 = 50.0;
/// Fields with a mean held-out error above this, in percent, are hardly recovered.
const LARGE_ERROR_PERCENT: f64 = 50.0;

/// What is known of a model's errors, beside a recovery that does not fit its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// They are far smaller: the measurements are to be doubted.
    Better,
    /// They are as large: the model is to be doubted.
    Alike,
    /// Nothing.
    Unknown,
}

/// A reason for caution; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Measured values beyond those of the training data.
    OutsideRange {
        /// "a" or "u".
        channel: &'static str,
        /// How many sensors.
        count: usize,
        /// Of so many.
        of: usize,
        /// The least and the largest value in training.
        range: [f64; 2],
        /// Whether the range is the training data's own, or guessed from mean and standard deviation.
        known: bool,
    },
    /// Fewer sensors of a field than any training example had.
    Fewer {
        /// "a" or "u".
        channel: &'static str,
        /// How many there are.
        sensors: usize,
        /// The fewest in training, on this grid.
        trained: usize,
    },
    /// More sensors of a field than any training example had.
    More {
        /// "a" or "u".
        channel: &'static str,
        /// How many there are.
        sensors: usize,
        /// The most in training, on this grid.
        trained: usize,
    },
    /// Sensors that leave wider gaps than those of the nearest condition.
    Gaps {
        /// How many times as wide.
        ratio: f64,
        /// Than under this condition.
        condition: Condition,
        /// The widest gap, in sides of the square.
        largest: f64,
    },
    /// A task that the model was not trained for.
    Task(&'static str),
    /// Nothing is known of the model's errors for this task.
    NoHeldOut(&'static str),
    /// A cylinder whose disk is not given.
    NoGeometry,
    /// A recovery that does not fit the measurements it was made from.
    PoorFit {
        /// "a" or "u".
        channel: &'static str,
        /// The relative L2 error at sensors, in percent.
        percent: f64,
        /// How the model does on held-out records, where that is known.
        usual: Usual,
    },
    /// Held-out errors so large that little of a field is recovered: the model has learned little, or sensors leave most of it unseen.
    LargeErrors {
        /// Under this condition.
        condition: Condition,
        /// "a" or "u", the worse of the two.
        channel: &'static str,
        /// Its mean error on held-out records, in percent.
        percent: f64,
    },
    /// Readings that the model of the problem does not allow for.
    Contradiction(Contradiction),
    /// Readings that do not fit the others.
    Suspects(Suspects),
    /// Sensors that share a pixel.
    Shared(usize),
    /// Training that ended early.
    CutShort {
        /// Examples seen.
        draws: u64,
        /// Examples planned.
        planned: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Warning::OutsideRange { channel, count, of, range: [low, high], known } => {
                let whose = if *known {
                    "the training data's".to_owned()
                } else {
                    format!("{UNUSUAL_SIGMAS} standard deviations:")
                };
                write!(
                    f,
                    "{count} of {of} values of {channel} lie outside {whose} {low:.4e} to {high:.4e}: are the units right?"
                )
            }
            Warning::Fewer { channel, sensors, trained } => {
                write!(f, "{channel} has fewer sensors ({sensors}) than any example of training ({trained})")
            }
            Warning::More { channel, sensors, trained } => {
                write!(f, "{channel} has more sensors ({sensors}) than any example of training ({trained})")
            }
            Warning::Gaps { ratio, condition, largest } => write!(
                f,
                "sensors leave wide gaps: on average {ratio:.1} times those of {condition}, and at most {largest:.2} of the \
                 square's side; far from sensors expect larger errors"
            ),
            Warning::Task(task) => write!(f, "the model was not trained for {task} problems"),
            Warning::NoHeldOut(task) => write!(
                f,
                "no held-out errors are known for {task} problems: evaluate the model on held-out records first"
            ),
            Warning::NoGeometry => f.write_str(
                "the disk is not given, though training always knew it: give its centre and its radius",
            ),
            Warning::PoorFit { channel, percent, usual } => {
                let model = match usual {
                    Usual::Better => "",
                    Usual::Alike | Usual::Unknown => "the model may have been trained too little, or ",
                };
                write!(
                    f,
                    "the recovery misses the measurements of {channel} by {percent:.1}%: {model}they may not obey this problem; do \
                     not rely on it"
                )
            }
            Warning::LargeErrors { condition, channel, percent } => write!(
                f,
                "{channel} is hardly recovered: the model's mean error on held-out records under {condition} is {percent:.1}%, where a \
                 field of zeros has 100%; train it longer, or measure at more places"
            ),
            Warning::Contradiction(contradiction) => contradiction.fmt(f),
            Warning::Suspects(suspects) => suspects.fmt(f),
            Warning::Shared(count) => {
                write!(
                    f,
                    "several sensors fell on one pixel ({count} beyond the first): their values are averaged"
                )
            }
            Warning::CutShort { draws, planned } => {
                write!(f, "training was cut short: {draws} of {planned} draws")
            }
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

/// All that speaks against a recovery.
pub(super) fn warnings(
    pde: Pde,
    constants: &Constants,
    known: Known<'_>,
    context: &UserContext,
    trust: &Trust,
) -> Vec<Warning> {
    let mut all = Vec::new();
    if let Some(training) = known.training.filter(|training| training.draws < training.planned) {
        all.push(Warning::CutShort { draws: training.draws, planned: training.planned });
    }
    let (tasks, sensors) = CardTraining::covers(known.training);
    if !tasks.iter().any(|task| task.name() == trust.task) {
        all.push(Warning::Task(trust.task));
    }
    if trust.held_out_percent.is_none() {
        all.push(Warning::NoHeldOut(trust.task));
    }
    all.extend(large_errors(trust));
    if pde.has_disk() && context.masks.given.count() == 0 {
        all.push(Warning::NoGeometry);
    }
    for channel in Channel::BOTH {
        all.extend(outside_range(constants[channel], known, context, channel));
        all.extend(unusual_count(context, sensors, channel));
    }
    if let Some(nearest) = trust.nearest.as_ref().filter(|nearest| nearest.gap_ratio > WIDE_GAPS) {
        let both = [trust.coverage.a, trust.coverage.u];
        let largest = both.iter().flatten().map(|coverage| coverage.largest_gap).fold(0.0, f64::max);
        let condition = nearest.condition;
        all.push(Warning::Gaps { ratio: nearest.gap_ratio, condition, largest });
    }
    all.extend(Channel::BOTH.into_iter().filter_map(|channel| poor_fit(trust, channel)));
    if context.shared > 0 {
        all.push(Warning::Shared(context.shared));
    }
    all
}

fn outside_range(
    scaling: Scaling,
    known: Known<'_>,
    context: &UserContext,
    channel: Channel,
) -> Option<Warning> {
    let usual = UNUSUAL_SIGMAS * scaling.sigma;
    let [low, high] =
        known.card.map_or([scaling.mean - usual, scaling.mean + usual], |card| card.range[channel]);
    // Rounding to single precision must not put a value outside.
    let slack = 1e-5 * (high - low);
    let mask = &context.measured[channel];
    let values = mask.points().map(|point| scaling.physical(context.values[channel][point]));
    let count = values.filter(|value| *value < low - slack || *value > high + slack).count();
    let of = mask.count();
    let range = [low, high];
    (count > 0).then(|| Warning::OutsideRange {
        channel: channel.name(),
        count,
        of,
        range,
        known: known.card.is_some(),
    })
}

fn unusual_count(context: &UserContext, trained: [usize; 2], channel: Channel) -> Option<Warning> {
    let mask = &context.measured[channel];
    let [fewest, most] = trained.map(|named| {
        (named as f64 * (mask.size() * mask.size()) as f64 / NAMED_POINTS as f64).round() as usize
    });
    let channel = channel.name();
    let sensors = mask.count();
    match sensors {
        0 => None,
        few if (few as f64) < (1.0 - SLACK) * fewest as f64 => {
            Some(Warning::Fewer { channel, sensors, trained: fewest })
        }
        many if many as f64 > (1.0 + SLACK) * most as f64 => {
            Some(Warning::More { channel, sensors, trained: most })
        }
        _ => None,
    }
}

fn poor_fit(trust: &Trust, channel: Channel) -> Option<Warning> {
    let percent = trust.misfit_percent[channel]?;
    let held_out = held_out_error(trust, channel);
    let limit = held_out.map_or(POOR_FIT_PERCENT, |error| (POOR_FIT * error).min(POOR_FIT_PERCENT));
    let usual = match held_out {
        Some(error) if percent > POOR_FIT * error => Usual::Better,
        Some(_) => Usual::Alike,
        None => Usual::Unknown,
    };
    // An error that is no number is not a small one.
    let fits = percent <= limit;
    (!fits).then(|| Warning::PoorFit { channel: channel.name(), percent, usual })
}

/// Of the worse channel.
fn large_errors(trust: &Trust) -> Option<Warning> {
    let condition = trust.nearest.as_ref()?.condition;
    let known =
        Channel::BOTH.into_iter().filter_map(|channel| Some((channel, held_out_error(trust, channel)?)));
    let (channel, percent) = known.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    // An error that is no number is not a small one.
    let small = percent <= LARGE_ERROR_PERCENT;
    (!small).then(|| Warning::LargeErrors { condition, channel: channel.name(), percent })
}

/// The mean error of a channel on held-out records under the nearest condition.
fn held_out_error(trust: &Trust, channel: Channel) -> Option<f64> {
    let errors = trust.held_out_percent?;
    match channel {
        Channel::A => errors.a,
        Channel::U => errors.u,
    }
}

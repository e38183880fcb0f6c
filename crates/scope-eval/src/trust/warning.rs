//! What speaks against trusting a recovery.

use std::fmt;

use scope_data::{observation::Condition, significant};
use serde::{Serialize, Serializer};

use super::{Contradiction, Suspects};

/// Without a card, values this many standard deviations from the mean count as unusual.
pub(super) const UNUSUAL_SIGMAS: f64 = 5.0;

/// What is known of a model's errors, beside a recovery that does not fit its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// They are far smaller: the measurements are to be doubted.
    Better,
    /// They are as large: the model is to be doubted.
    Alike,
    /// Nothing is known of the model's errors.
    Unknown,
}

/// A reason for caution; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Measured values beyond those of the training data.
    OutsideRange {
        /// "a" or "u".
        channel: &'static str,
        /// How many sensors have such values.
        count: usize,
        /// How many sensors of the field there are in all.
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
        /// How many sensors of the field there are.
        sensors: usize,
        /// The fewest in training, on this grid.
        trained: usize,
    },
    /// More sensors of a field than any training example had.
    More {
        /// "a" or "u".
        channel: &'static str,
        /// How many sensors of the field there are.
        sensors: usize,
        /// The most in training, on this grid.
        trained: usize,
    },
    /// Sensors that leave wider gaps than those of the nearest condition.
    Gaps {
        /// How many times as wide the gaps are.
        ratio: f64,
        /// The condition that they are compared with.
        condition: Condition,
        /// The widest gap, in sides of the square.
        largest: f64,
    },
    /// Sensors unlike those of every condition that the model was evaluated under: no held-out error says anything of
    /// them.
    NoReference {
        /// The nearest condition.
        condition: Condition,
        /// How many times as many sensors there are.
        sensors_ratio: f64,
        /// How many times as wide the mean gap is.
        gap_ratio: f64,
        /// Whether errors could be measured for the very sensors on fresh records.
        can_be_measured: bool,
    },
    /// A noise was stated, and held-out errors are of exact readings.
    NoReferenceForNoise {
        /// Whether errors could be measured for the very noise on fresh records.
        can_be_measured: bool,
    },
    /// A noise was stated that the model cannot be told of: it was trained on exact readings.
    TakenAsExact,
    /// A stated noise beyond those of training.
    NoiseBeyond {
        /// "a" or "u".
        channel: &'static str,
        /// What was stated, in percent of the field's standard deviation.
        percent: f64,
        /// The greatest of training.
        trained: f64,
    },
    /// Readings that look noisier than was stated, or than exact ones.
    Noisy {
        /// "a" or "u".
        channel: &'static str,
        /// What they look like, in percent of the field's standard deviation.
        percent: f64,
        /// What was stated.
        stated: Option<f64>,
    },
    /// A noise that readings may have without looking noisy: none was stated, and errors were measured for exact ones.
    UnseenNoise {
        /// "a" or "u".
        channel: &'static str,
        /// The least that would be noticed, in percent of the field's standard deviation; none where none would be.
        percent: Option<f64>,
    },
    /// An amplitude that was estimated from readings that tell little of it.
    UnsureAmplitude {
        /// Its relative standard deviation, in percent.
        percent: f64,
    },
    /// Readings of a field of two values of which too many have the other value than those around them say.
    Flipped {
        /// "a" or "u".
        channel: &'static str,
        /// How many these are.
        count: usize,
        /// How many would be usual.
        usual: f64,
        /// How many readings of the field there are.
        of: usize,
    },
    /// Readings unlike those of the problem's own fields, whose distribution is known.
    Unlike {
        /// The root mean square of what some of them say beyond the others, over what it is expected to be.
        ratio: f64,
        /// How many these are.
        readings: usize,
        /// Whether a noise was stated.
        noise_stated: bool,
        /// The noise with which they would be like these, in percent of the field's standard deviation, where there is
        /// one.
        noise_percent: Option<f64>,
    },
    /// A task that the model was not trained for.
    Task(&'static str),
    /// Nothing is known of the model's errors for this task.
    NoHeldOut(&'static str),
    /// A record whose known region is not given: a cylinder's disk, or points of a problem of one's own.
    NoGeometry {
        /// Whether it is a disk.
        disk: bool,
    },
    /// A recovery that does not fit the measurements it was made from.
    PoorFit {
        /// "a" or "u".
        channel: &'static str,
        /// The relative L2 error at sensors, in percent.
        percent: f64,
        /// How the model does on held-out records, where that is known.
        usual: Usual,
        /// Whether it is judged beside a stated noise.
        beyond_noise: bool,
    },
    /// Errors so large that little of a field is recovered: the model has learned little, or sensors leave most of it
    /// unseen.
    LargeErrors {
        /// The condition of these errors; none if they were measured for the very sensors.
        condition: Option<Condition>,
        /// "a" or "u", the worse of the two.
        channel: &'static str,
        /// Its mean error on held-out records, in percent.
        percent: f64,
        /// Whether the model has been trained as long as its maker wanted, and got a card.
        trained: bool,
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

impl Warning {
    /// Whether the measurements are unlike all that errors and bands were measured on, so that none of these says
    /// anything of them.
    pub fn denies_errors(&self) -> bool {
        match self {
            Warning::OutsideRange { .. }
            | Warning::NoGeometry { .. }
            | Warning::Task(_)
            | Warning::Noisy { .. }
            | Warning::Unlike { .. }
            | Warning::UnsureAmplitude { .. }
            | Warning::Flipped { .. }
            | Warning::Suspects(_) => true,
            // The errors of a model that never does better are as large as that.
            Warning::PoorFit { usual, .. } => *usual != Usual::Alike,
            _ => false,
        }
    }
}

impl Warning {
    /// The warning in a word or two, for tables and pictures.
    pub fn short(&self) -> &'static str {
        match self {
            Warning::OutsideRange { .. } => "outside range",
            Warning::Fewer { .. } => "fewer sensors than trained",
            Warning::More { .. } => "more sensors than trained",
            Warning::Gaps { .. } => "wide gaps",
            Warning::NoReference { .. } | Warning::NoReferenceForNoise { .. } | Warning::NoHeldOut(_) => {
                "error unknown"
            }
            Warning::TakenAsExact => "noise taken as exact",
            Warning::NoiseBeyond { .. } => "noise beyond training",
            Warning::Noisy { stated: None, .. } => "looks noisy",
            Warning::Noisy { .. } => "noisier than stated",
            Warning::Unlike { .. } => "unlike the problem's fields",
            Warning::UnseenNoise { .. } => "noise unknown",
            Warning::UnsureAmplitude { .. } => "amplitude unsure",
            Warning::Flipped { .. } => "flipped readings",
            Warning::Task(_) => "task not trained",
            Warning::NoGeometry { disk: true } => "no disk",
            Warning::NoGeometry { disk: false } => "no known region",
            Warning::PoorFit { .. } => "does not fit",
            Warning::LargeErrors { .. } => "large errors",
            Warning::Contradiction(_) => "contradicts the model",
            Warning::Suspects(_) => "faulty sensors",
            Warning::Shared(_) => "shared pixels",
            Warning::CutShort { .. } => "training cut short",
        }
    }
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
                    "{count} of {of} values of {channel} lie outside {whose} {} to {}: are the units right?",
                    significant(*low, 4),
                    significant(*high, 4)
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
            Warning::NoReference { condition, sensors_ratio, gap_ratio, can_be_measured } => {
                write!(
                    f,
                    "no held-out error is known for sensors like these: under {condition}, the nearest condition, there are {} and gaps \
                     are {}",
                    as_many(1.0 / sensors_ratio, "many"),
                    as_many(1.0 / gap_ratio, "wide")
                )?;
                measurable(f, *can_be_measured)
            }
            Warning::NoReferenceForNoise { can_be_measured } => {
                f.write_str("no held-out error is known for noisy readings: those of the model are for exact ones")?;
                measurable(f, *can_be_measured)
            }
            Warning::TakenAsExact => f.write_str(
                "the model was trained on exact readings and takes these as exact too: it follows their noise",
            ),
            Warning::NoiseBeyond { channel, percent, trained } => write!(
                f,
                "the noise of {channel}, {percent:.3}% of the field's standard deviation, is beyond the {trained:.3}% that the model was \
                 trained with"
            ),
            Warning::Noisy { channel, percent, stated: None } => write!(
                f,
                "the readings of {channel} look noisy: neighbours differ from the recovery by about {percent:.2}% of the field's standard \
                 deviation, and no noise was stated; errors and bands for exact readings do not hold for them"
            ),
            Warning::Noisy { channel, percent, stated: Some(stated) } => write!(
                f,
                "the readings of {channel} look noisier than stated: neighbours differ from the recovery by about {percent:.2}% of the \
                 field's standard deviation, not {stated:.2}%"
            ),
            Warning::UnseenNoise { channel, percent } => {
                match percent {
                    Some(percent) => write!(
                        f,
                        "no noise was stated, and one of less than {percent:.1}% of the field's standard deviation would not be noticed in \
                         so few readings of {channel}"
                    ),
                    None => write!(
                        f,
                        "no noise was stated, and none would be noticed in so few readings of {channel}"
                    ),
                }?;
                f.write_str(": errors and bands are those of exact ones")
            }
            Warning::UnsureAmplitude { percent } => write!(
                f,
                "the amplitude was estimated, and so few or so noisy readings tell it to {percent:.0}% only: no error is stated, and \
                 standard deviations are as unsure as that; state the amplitude, or measure at more places"
            ),
            Warning::Flipped { channel, count, usual, of } => write!(
                f,
                "{count} of {of} readings of {channel} have the other value than those around them say, where {usual:.0} are usual: some \
                 are wrong, and errors do not hold for them"
            ),
            Warning::Unlike { ratio, readings, noise_stated, noise_percent } => {
                let (how, stated) = match (*ratio > 1.0, noise_stated) {
                    (true, true) => ("rougher", ", or noisier than stated"),
                    (true, false) => ("rougher or noisier", ""),
                    (false, true) => ("smoother", ", or less noisy than stated"),
                    (false, false) => ("smoother", ""),
                };
                write!(
                    f,
                    "the readings are {how} than those of this problem's own fields{stated}: what {readings} of them say beyond the others \
                     is {} as large as expected; ",
                    times(*ratio)
                )?;
                if let Some(percent) = noise_percent {
                    let percent = significant(*percent, 2);
                    write!(f, "a noise of {percent}% of the field's standard deviation would explain that; ")?;
                }
                f.write_str("errors and bands that were measured on such fields do not hold for them")
            }
            Warning::Task(task) => write!(f, "the model was not trained for {task} problems"),
            Warning::NoHeldOut(task) => write!(
                f,
                "no held-out errors are known for {task} problems: evaluate the model on held-out records first"
            ),
            Warning::NoGeometry { disk: true } => f.write_str(
                "the disk is not given, though training always knew it: give its centre and its radius",
            ),
            Warning::NoGeometry { disk: false } => f.write_str(
                "the known region is not given, though training always knew it: give a mask of it, all zero if there is none",
            ),
            Warning::PoorFit { channel, percent, usual, beyond_noise } => {
                let noise = if *beyond_noise { ", more than the stated noise explains" } else { "" };
                let model = match usual {
                    Usual::Better => "",
                    Usual::Alike | Usual::Unknown => "the model may have been trained too little, or ",
                };
                write!(
                    f,
                    "the recovery misses the measurements of {channel} by {percent:.1}%{noise}: {model}they may not obey this problem; do \
                     not rely on it"
                )
            }
            Warning::LargeErrors { condition, channel, percent, trained } => {
                let records = match condition {
                    Some(condition) => format!("held-out records under {condition}"),
                    None => "fresh records seen by these very sensors".to_owned(),
                };
                write!(
                    f,
                    "{channel} is hardly recovered: the model's mean error on {records} is {percent:.1}%, where a field of zeros \
                     has 100%; {}",
                    if *trained { "measure at more places" } else { "train it longer, or measure at more places" }
                )
            }
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

/// A ratio in words.
fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} times") } else { format!("{ratio:.2} times") }
}

/// A ratio of a number or a width in words.
fn as_many(ratio: f64, what: &str) -> String {
    match ratio {
        0.95..1.05 => format!("as {what}"),
        _ => format!("{} as {what}", times(ratio)),
    }
}

fn measurable(f: &mut fmt::Formatter, can_be_measured: bool) -> fmt::Result {
    if can_be_measured {
        f.write_str("; it can be measured on fresh records seen by these very sensors")?;
    }
    Ok(())
}

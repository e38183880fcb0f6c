//! A model's errors on held-out records, as `scope evaluate` writes them.

use std::{collections::BTreeMap, path::Path};

use scope_data::{
    Channel,
    observation::{Condition, Family, Task},
    read_bounded,
};
use serde::{Deserialize, Serialize};

use crate::{error::ModelError, measure::Measure, provenance::Provenance};

/// The most bytes of an evaluation.
const MOST_BYTES: u64 = 1 << 23;

/// Mean errors under each condition that was evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The number of records that were evaluated.
    pub records: usize,
    /// Where they come from.
    pub origin: String,
    /// Percentages by condition, as in `forward/uniform/500`.
    pub conditions: BTreeMap<Condition, ConditionErrors>,
}

/// Mean errors in percent; none where no record has a defined error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionErrors {
    /// The relative L2 error of a.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    /// The relative L2 error of u.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub u: Option<f64>,
    /// Darcy's bit error rate of a.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ber: Option<f64>,
}

impl ConditionErrors {
    /// The relative L2 error of a channel.
    pub fn of(&self, channel: Channel) -> Option<f64> {
        match channel {
            Channel::A => self.a,
            Channel::U => self.u,
        }
    }
}

/// The part of an evaluation that is used here.
#[derive(Deserialize)]
struct Evaluation {
    identity: Provenance,
    conditions: BTreeMap<Condition, BTreeMap<Measure, Mean>>,
}

#[derive(Deserialize)]
struct Mean {
    mean: Option<f64>,
}

impl HeldOut {
    /// The errors of a task at 500 uniform points; none where they were not evaluated.
    pub fn primary(&self, task: Task) -> ConditionErrors {
        let condition = Condition::new(task, Family::UNIFORM, 500).ok();
        condition.and_then(|condition| self.conditions.get(&condition).copied()).unwrap_or_default()
    }

    /// What is wrong with them, expected and got.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.records == 0 {
            return Err("they must be of some records, not of 0".to_owned());
        }
        for (condition, errors) in &self.conditions {
            let all = [(Measure::A, errors.a), (Measure::U, errors.u), (Measure::BitErrorRate, errors.ber)];
            for (measure, error) in all.into_iter().filter_map(|(measure, error)| Some((measure, error?))) {
                if !(error.is_finite() && error >= 0.0) {
                    return Err(format!(
                        "{measure} of {condition} must be a finite percentage of zero or more, not {error}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Adds an evaluation, which must be of the weight file with this hash, on held-out records, and of as many as
    /// those before.
    pub fn add_evaluation(&mut self, path: &Path, model: &str) -> Result<(), ModelError> {
        let refuse = |problem: String| ModelError::Evaluation { path: path.to_owned(), problem };
        let bytes = read_bounded(path, MOST_BYTES)?;
        let evaluation: Evaluation =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        let Provenance { records, method, data, masks, .. } = evaluation.identity;
        let evaluated = method.blake3.unwrap_or_else(|| "none".to_owned());
        if evaluated != model {
            return Err(refuse(format!(
                "it is of a weight file with BLAKE3 {evaluated}, not {model}: evaluate this very file"
            )));
        }
        if !data.is_held_out() {
            return Err(refuse(
                "it is on records of a training set: evaluate on others, of the test split".to_owned(),
            ));
        }
        if masks.noise.is_some() {
            let problem = "its readings are noisy, and held-out errors are those of exact readings: evaluate \
                           without noise";
            return Err(refuse(problem.to_owned()));
        }
        if !self.conditions.is_empty() && (self.records, &self.origin) != (records, &data.origin) {
            return Err(refuse(format!(
                "it is of {records} records ({}), those before of {} ({})",
                data.origin, self.records, self.origin
            )));
        }
        if records == 0 {
            return Err(refuse("it is of no records: evaluate on some".to_owned()));
        }
        self.records = records;
        self.origin = data.origin;
        for (condition, channels) in evaluation.conditions {
            let mean = |measure: Measure| channels.get(&measure).and_then(|channel| channel.mean);
            let errors = ConditionErrors {
                a: mean(Measure::A),
                u: mean(Measure::U),
                ber: mean(Measure::BitErrorRate),
            };
            self.conditions.insert(condition, errors);
        }
        Ok(())
    }
}

//! Results of an evaluation: a JSON file of summaries and an archive of per-record values beside it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use scope_data::{
    npz::{Array, npz_bytes, read_npz},
    write_whole,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::EvalError,
    evaluate::{PerRecord, Scores},
    identity::Identity,
    summary::Summary,
};

/// Summaries by measure.
pub type Summaries = BTreeMap<String, Summary>;

/// What is written to `PROTOCOL.json`: errors in percent, by condition and measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was evaluated on what.
    pub identity: Identity,
    /// The summaries of each condition.
    pub conditions: BTreeMap<String, Summaries>,
}

/// Results with the values they summarise.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The summaries and their identity.
    pub results: Results,
    /// The values of each condition and measure, a record each.
    pub values: BTreeMap<String, BTreeMap<String, PerRecord>>,
}

impl Record {
    /// With nothing evaluated yet.
    pub fn new(identity: Identity) -> Self {
        Self { results: Results { identity, conditions: BTreeMap::new() }, values: BTreeMap::new() }
    }

    /// Adds a condition.
    pub fn add(&mut self, condition: String, scores: Scores) {
        let summaries = summarise(&scores.measures);
        self.results.identity.masks.blake3.insert(condition.clone(), scores.masks);
        self.results.conditions.insert(condition.clone(), summaries);
        self.values.insert(condition, scores.measures);
    }

    /// Writes the values, then the summaries, each whole or not at all. Values without a summary beside them are not read.
    pub fn write(&self, json: &Path) -> Result<(), EvalError> {
        let arrays: Vec<Array> = (self.values.iter())
            .flat_map(|(condition, measures)| {
                measures.iter().map(move |(measure, values)| (condition, measure, values))
            })
            .map(|(condition, measure, values)| Array {
                name: format!("{condition}/{measure}"),
                shape: vec![values.len()],
                values: values.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
            })
            .collect();
        let bytes = npz_bytes(&arrays).map_err(|error| EvalError::malformed(json, error))?;
        let text =
            serde_json::to_vec_pretty(&self.results).map_err(|error| EvalError::malformed(json, error))?;
        write_whole(&archive(json), &bytes)?;
        Ok(write_whole(json, &text)?)
    }

    /// Reads both files and checks that they agree.
    pub fn read(json: &Path) -> Result<Self, EvalError> {
        let results = Results::read(json)?;
        let path = archive(json);
        let mut values: BTreeMap<String, BTreeMap<String, PerRecord>> = BTreeMap::new();
        for array in read_npz(&path)? {
            // A condition's name has three parts; what follows is the measure.
            let cut = array.name.match_indices('/').nth(2).map(|(at, _)| at);
            let (condition, measure) = cut
                .map(|at| (array.name[..at].to_owned(), array.name[at + 1..].to_owned()))
                .ok_or_else(|| EvalError::malformed(&path, format!("\"{}\" names no measure", array.name)))?;
            let defined = array.values.into_iter().map(|value| value.is_finite().then_some(value)).collect();
            values.entry(condition).or_default().insert(measure, defined);
        }
        for (condition, summaries) in &results.conditions {
            if values.get(condition).map(summarise).as_ref() != Some(summaries) {
                let problem =
                    format!("its values of {condition} are not those summarised in {}", json.display());
                return Err(EvalError::malformed(&path, problem));
            }
        }
        Ok(Self { results, values })
    }
}

impl Results {
    /// Reads the summaries alone.
    pub fn read(json: &Path) -> Result<Self, EvalError> {
        let text = std::fs::read(json).map_err(|error| EvalError::malformed(json, error))?;
        serde_json::from_slice(&text).map_err(|error| EvalError::malformed(json, error))
    }
}

/// The archive beside a file of summaries.
fn archive(json: &Path) -> PathBuf {
    json.with_extension("npz")
}

/// Relative errors carry the absolute errors of the records that have none; absolute errors have no line of their own.
fn summarise(measures: &BTreeMap<String, PerRecord>) -> Summaries {
    let relative = measures.iter().filter(|(measure, _)| !measure.ends_with("/rmse"));
    let of = |(measure, values): (&String, &PerRecord)| {
        let summary = match measures.get(&format!("{measure}/rmse")) {
            Some(absolute) => Summary::with_absolute(values, absolute),
            None => Summary::of(values),
        };
        (measure.clone(), summary)
    };
    relative.map(of).collect()
}

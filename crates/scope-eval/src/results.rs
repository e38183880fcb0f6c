//! Results of an evaluation: a JSON file of summaries and an archive of per-record values beside it.
//!
//! The two replace older ones together. New values first lie beside the old ones under a name with their hash; the
//! summaries, which state that hash, replace the old ones; then the values take their plain name. Whoever is stopped
//! between leaves summaries whose values are found under one name or the other.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use scope_data::{
    npz::{Array, npz_bytes, read_npz},
    observation::Condition,
    read_bounded, write_atomic,
};
use scope_model::{Measure, Provenance};
use serde::{Deserialize, Serialize};

use crate::{
    error::EvalError,
    evaluate::{PerRecord, Scores},
    summary::Summary,
};

/// The most bytes of a file of summaries.
const MOST_BYTES: u64 = 1 << 23;
/// Letters of a hash that name values.
const HASH_LETTERS: usize = 16;

/// Summaries by measure.
pub type Summaries = BTreeMap<Measure, Summary>;

/// What is written to `PROTOCOL.json`: errors in percent, by condition and measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was evaluated on what.
    pub identity: Provenance,
    /// The summaries of each condition.
    pub conditions: BTreeMap<Condition, Summaries>,
}

/// Results with the values they summarise.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The summaries and their identity.
    pub results: Results,
    /// The values of each condition and measure, a record each.
    pub values: BTreeMap<Condition, BTreeMap<Measure, PerRecord>>,
}

impl Record {
    /// Results with nothing evaluated yet.
    pub fn new(identity: Provenance) -> Self {
        Self { results: Results { identity, conditions: BTreeMap::new() }, values: BTreeMap::new() }
    }

    /// Adds a condition.
    pub fn add(&mut self, condition: Condition, scores: Scores) {
        let summaries = summarise(&scores.measures);
        self.results.identity.masks.blake3.insert(condition, scores.masks);
        self.results.conditions.insert(condition, summaries);
        self.values.insert(condition, scores.measures);
    }

    /// Writes values and summaries in the place of those that are there: either the old ones or the new ones are whole,
    /// whenever it is stopped.
    pub fn write(&self, json: &Path) -> Result<(), EvalError> {
        settle(json)?;
        let bytes = npz_bytes(&self.arrays()).map_err(|error| EvalError::malformed(json, error))?;
        let values_blake3 = blake3::hash(&bytes).to_string();
        let waiting = waiting_archive(json, &values_blake3);
        let written = Written { values_blake3: Some(values_blake3), results: self.results.clone() };
        let text = serde_json::to_vec_pretty(&written).map_err(|error| EvalError::malformed(json, error))?;
        write_atomic(&waiting, &bytes)?;
        write_atomic(json, &text)?;
        settle(json)
    }

    /// The values, an array a condition and measure.
    fn arrays(&self) -> Vec<Array> {
        let all = self.values.iter().flat_map(|(condition, measures)| {
            measures.iter().map(move |(measure, values)| (condition, measure, values))
        });
        all.map(|(condition, measure, values)| Array {
            name: format!("{condition}/{measure}"),
            shape: vec![values.len()],
            values: values.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        })
        .collect()
    }

    /// Reads both files and checks that they agree.
    pub fn read(json: &Path) -> Result<Self, EvalError> {
        let Written { values_blake3, results } = Written::read(json)?;
        let path = archive(json, values_blake3.as_deref());
        let mut values: BTreeMap<Condition, BTreeMap<Measure, PerRecord>> = BTreeMap::new();
        let wanted = |name: &str| {
            condition_and_measure(name).is_none_or(|(known, _)| results.conditions.contains_key(&known))
        };
        for array in read_npz(&path, wanted)? {
            let (condition, measure) = condition_and_measure(&array.name)
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
        Ok(Written::read(json)?.results)
    }
}

/// Results as they are written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// BLAKE3 of the archive of values; older results have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values_blake3: Option<String>,
    #[serde(flatten)]
    results: Results,
}

impl Written {
    fn read(json: &Path) -> Result<Self, EvalError> {
        let text = read_bounded(json, MOST_BYTES).map_err(|error| EvalError::malformed(json, error))?;
        let written: Self =
            serde_json::from_slice(&text).map_err(|error| EvalError::malformed(json, error))?;
        // It becomes part of a file's name.
        if let Some(hash) = written.values_blake3.as_ref().filter(|hash| !is_hexadecimal(hash)) {
            return Err(EvalError::malformed(json, format!("values_blake3 is \"{hash}\", and no hash")));
        }
        Ok(written)
    }
}

/// What an array is named after: a condition's name has three parts, and what follows is the measure.
fn condition_and_measure(name: &str) -> Option<(Condition, Measure)> {
    let (cut, _) = name.match_indices('/').nth(2)?;
    Some((name[..cut].parse().ok()?, name[cut + 1..].parse().ok()?))
}

/// The archive beside a file of summaries: the one that still waits for its name, if there is one with that hash.
fn archive(json: &Path, hash: Option<&str>) -> PathBuf {
    let waiting = hash.map(|hash| waiting_archive(json, hash));
    waiting.filter(|path| path.is_file()).unwrap_or_else(|| json.with_extension("npz"))
}

/// Where values are until their summaries are in place.
fn waiting_archive(json: &Path, hash: &str) -> PathBuf {
    json.with_extension(format!("{}.npz", hash.get(..HASH_LETTERS).unwrap_or(hash)))
}

/// Gives the values of the summaries in place their name, and removes values that a killed writer left without
/// summaries.
fn settle(json: &Path) -> Result<(), EvalError> {
    let refuse = |error: std::io::Error| EvalError::malformed(json, error);
    if let Ok(Written { values_blake3: Some(hash), .. }) = Written::read(json) {
        let waiting = waiting_archive(json, &hash);
        if waiting.is_file() {
            fs::rename(&waiting, json.with_extension("npz")).map_err(refuse)?;
        }
    }
    let folder = json.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).map_err(refuse)?.flatten() {
        if waits_beside(json, &entry.path()) {
            fs::remove_file(entry.path()).map_err(refuse)?;
        }
    }
    Ok(())
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_hexdigit())
}

/// Whether a file is named as values are that wait for summaries.
fn waits_beside(json: &Path, file: &Path) -> bool {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let middle = name(file).zip(name(&json.with_extension(""))).and_then(|(file, stem)| {
        let rest = file.strip_prefix(&stem)?.strip_prefix('.')?;
        Some(rest.strip_suffix(".npz")?.to_owned())
    });
    let is_hash = |text: &String| text.len() == HASH_LETTERS && is_hexadecimal(text);
    middle.is_some_and(|middle| is_hash(&middle))
}

/// Relative errors carry the absolute errors of the records that have none; absolute errors have no line of their own.
fn summarise(measures: &BTreeMap<Measure, PerRecord>) -> Summaries {
    let relative = measures.iter().filter(|(measure, _)| !matches!(measure, Measure::Absolute(_)));
    let absolute = |measure: Measure| match measure {
        Measure::Relative(channel) => measures.get(&Measure::Absolute(channel)),
        _ => None,
    };
    let of = |(measure, values): (&Measure, &PerRecord)| {
        let summary = match absolute(*measure) {
            Some(absolute) => Summary::with_absolute(values, absolute),
            None => Summary::of(values),
        };
        (*measure, summary)
    };
    relative.map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read and written again has the same bytes: older programs read it, and hashes of it stay.
    #[test]
    fn a_shipped_evaluation_is_written_as_it_was_read() {
        for pde in ["poisson", "darcy", "helmholtz", "ns"] {
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../results/{pde}/uniform500.json"));
            let text = fs::read_to_string(&path).unwrap();
            let written = Written::read(&path).unwrap();
            assert_eq!(serde_json::to_string_pretty(&written).unwrap(), text.trim_end(), "{pde}");
            assert_eq!(written.results.identity.pde.name(), pde);
        }
    }
}

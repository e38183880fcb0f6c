//! An evaluation in parts, each of some of the records: wherever they were made, together they are the whole one in
//! every byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use scope_data::Shard;
use scope_model::{MaskIdentity, Measure, Provenance};

use crate::{
    error::EvalError,
    evaluate::{Evaluation, PerRecord, Scores},
    results::Record,
};

/// The name of a part of the results that would be called `name`.
pub fn part_name(name: &str, shard: &Shard) -> String {
    let Shard { part, of, .. } = shard;
    let digits = of.to_string().len();
    format!("{name}-part-{part:0digits$}-of-{of}")
}

/// The files of all parts of some results in a folder, by part; every part must be there.
fn files_of(folder: &Path, name: &str, total: usize) -> Result<Vec<(Shard, PathBuf)>, EvalError> {
    let refuse = |problem: String| EvalError::malformed(folder, problem);
    let entries = std::fs::read_dir(folder).map_err(|error| refuse(error.to_string()))?;
    let names: BTreeSet<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let count = |file: &String| -> Option<usize> {
        let rest = file.strip_prefix(name)?.strip_prefix("-part-")?.strip_suffix(".json")?;
        rest.split_once("-of-")?.1.parse().ok()
    };
    let counts: BTreeSet<usize> = names.iter().filter_map(count).collect();
    let of = match Vec::from_iter(counts)[..] {
        [of] => of,
        [] => return Err(refuse(format!("it has no parts of {name}"))),
        _ => {
            return Err(refuse(format!(
                "it has parts of {name} of more than one division: remove the old ones"
            )));
        }
    };
    let file = |part: usize| {
        let shard = Shard { part, of, total };
        let file = format!("{}.json", part_name(name, &shard));
        if names.contains(&file) {
            Ok((shard, folder.join(file)))
        } else {
            Err(refuse(format!("part {part} of {of} of {name} is missing")))
        }
    };
    (1..=of).map(file).collect()
}

/// What an evaluation says of itself but for the hashes of its masks, which a part has of its own.
fn without_hashes(identity: &Provenance) -> Provenance {
    let masks = MaskIdentity { blake3: BTreeMap::new(), ..identity.masks.clone() };
    Provenance { masks, ..identity.clone() }
}

impl Evaluation<'_> {
    /// The whole evaluation from all its parts in a folder; `identity` is what it would say of itself.
    pub fn join(&self, folder: &Path, name: &str, identity: &Provenance) -> Result<Record, EvalError> {
        let mut parts = Vec::new();
        for (shard, path) in files_of(folder, name, self.records)? {
            let part = Record::read(&path)?;
            if without_hashes(&part.results.identity) != without_hashes(identity) {
                let problem =
                    "it is of another model, of other records, masks or noise, or of another program";
                return Err(EvalError::malformed(&path, problem));
            }
            parts.push((shard, path, part));
        }
        let mut whole = Record::new(identity.clone());
        let conditions = parts.first().map(|(.., part)| part.values.keys().copied().collect::<Vec<_>>());
        for condition in conditions.unwrap_or_default() {
            let mut values = Vec::new();
            for (shard, path, part) in &parts {
                let lacking = || EvalError::malformed(path, format!("it lacks values of {condition}"));
                let measures = part.values.get(&condition).ok_or_else(lacking)?;
                let expected = shard.records().len();
                if measures.values().any(|values| values.len() != expected) {
                    return Err(EvalError::malformed(path, format!("it is not of {expected} records")));
                }
                values.push((expected, measures));
            }
            let measures = concatenated(&values);
            whole.add(condition, Scores { measures, masks: self.masks_hash(condition) });
        }
        Ok(whole)
    }
}

/// The values of parts one after the other; a part without some measure has none for its records.
fn concatenated(parts: &[(usize, &BTreeMap<Measure, PerRecord>)]) -> BTreeMap<Measure, PerRecord> {
    let measures: BTreeSet<Measure> = parts.iter().flat_map(|(_, values)| values.keys()).copied().collect();
    let of = |measure: Measure| {
        let values = parts
            .iter()
            .flat_map(|(count, values)| values.get(&measure).cloned().unwrap_or_else(|| vec![None; *count]));
        (measure, values.collect())
    };
    measures.into_iter().map(of).collect()
}

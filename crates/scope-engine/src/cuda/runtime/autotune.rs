//! Autotuning: which algorithm does what, timed once and kept on disk; a run keeps the list too.

use std::{collections::BTreeMap, sync::Mutex};

use super::{Cuda, cache::Cache, locked};
use crate::error::EngineError;

/// Runs timed for each of two implementations.
const RUNS: usize = 20;
/// The file of implementations that were faster: work and `fused` or `apart` a line.
const FILE: &str = "ways.txt";

/// What was chosen in this process, by the name of the work.
#[derive(Default)]
pub(super) struct Algorithms(Mutex<BTreeMap<String, String>>);

impl Cuda {
    /// What was chosen so far for each product and convolution, a line each, in order. Two runs with the same choices
    /// on one GPU compute the same bits.
    pub fn algorithms(&self) -> String {
        let lines: Vec<String> =
            locked(&self.0.algorithms.0).iter().map(|(work, choice)| format!("{work}: {choice}\n")).collect();
        lines.concat()
    }

    /// Remembers a choice.
    pub(super) fn note_algorithm(&self, work: &str, choice: &str) {
        locked(&self.0.algorithms.0).insert(work.to_owned(), choice.to_owned());
    }

    /// Whether the first of two implementations of some work was faster on this GPU once, or is now. Both are run if
    /// that is not known yet, so neither may spoil anything. While work is being recorded there is no time to time: the
    /// second is taken.
    pub(crate) fn faster(
        &self,
        work: &str,
        mut fused: impl FnMut() -> Result<(), EngineError>,
        mut apart: impl FnMut() -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        let noted = locked(&self.0.algorithms.0).get(work).map(|choice| choice == "fused");
        if let Some(fused) = noted {
            return Ok(fused);
        }
        let mut kept = kept(&self.0.cache);
        let choice = match kept.get(work) {
            Some(choice) => choice.clone(),
            None if self.is_recording() => return Ok(false),
            None => {
                let seconds = |run: &mut dyn FnMut() -> Result<(), EngineError>| {
                    run()?;
                    self.time_recorded(|| (0..RUNS).try_for_each(|_| run()))
                };
                // The first may be one that this GPU or library does not have.
                let first = seconds(&mut fused).unwrap_or(f64::INFINITY);
                let choice = if first < seconds(&mut apart)? { "fused" } else { "apart" };
                kept.insert(work.to_owned(), choice.to_owned());
                let lines: Vec<String> =
                    kept.iter().map(|(work, choice)| format!("{work}: {choice}\n")).collect();
                self.0.cache.write(FILE, lines.concat().as_bytes());
                choice.to_owned()
            }
        };
        self.note_algorithm(work, &choice);
        Ok(choice == "fused")
    }
}

fn kept(cache: &Cache) -> BTreeMap<String, String> {
    let text = cache.read(FILE).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let line = |line: &str| line.split_once(": ").map(|(work, choice)| (work.to_owned(), choice.to_owned()));
    text.lines().filter_map(line).collect()
}

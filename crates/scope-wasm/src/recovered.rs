//! What was recovered.

use std::fmt::Write;

use scope::{
    Recovered,
    data::npy::{Dtype, Header},
    recovery::{ProblemSummary, Summary, Uncertainty},
};
use wasm_bindgen::prelude::*;

/// Both fields of a problem, and all that is said of them.
#[wasm_bindgen]
pub struct RecoveredFields {
    pub(crate) recovered: Recovered,
    pub(crate) notes: Vec<String>,
}

#[wasm_bindgen]
impl RecoveredFields {
    /// The names of its arrays, as `scope recover` names its files: `a`, `u`, `a_band68` and so on.
    pub fn names(&self) -> Vec<String> {
        self.recovered
            .arrays()
            .into_iter()
            .map(|(file, _)| file.trim_end_matches(".npy").to_owned())
            .collect()
    }

    /// An array, a row after the other.
    pub fn array(&self, name: &str) -> Option<Vec<f32>> {
        let found =
            self.recovered.arrays().into_iter().find(|(file, _)| file.trim_end_matches(".npy") == name);
        found.map(|(_, fields)| fields[0].to_vec())
    }

    /// An array as a numpy file.
    pub fn npy(&self, name: &str) -> Option<Vec<u8>> {
        let values = self.array(name)?;
        let mut bytes = Header::new(Dtype::F32, &self.recovered.method.resolution.lengths()).to_bytes();
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        Some(bytes)
    }

    /// All arrays as a table: x, y and a column for each.
    pub fn csv(&self) -> String {
        let arrays = self.recovered.arrays();
        let mut text = "x,y".to_owned();
        arrays.iter().for_each(|(file, _)| text.extend([",", file.trim_end_matches(".npy")]));
        text.push('\n');
        let [rows, columns] = self.recovered.method.coordinates();
        for (i, x) in rows.iter().enumerate() {
            for (j, y) in columns.iter().enumerate() {
                let _ = write!(text, "{x},{y}");
                for (_, fields) in &arrays {
                    let _ = write!(text, ",{}", fields[0][i * columns.len() + j]);
                }
                text.push('\n');
            }
        }
        text
    }

    /// Whether there are no error bands, and fresh records could tell them for these very sensors.
    pub fn lacks_measurable_bands(&self) -> bool {
        matches!(&self.recovered.uncertainty, Uncertainty::Unknown(without) if without.can_be_measured)
    }

    /// The text of `summary.json`: errors to expect, bands, warnings.
    pub fn summary(&self) -> Result<String, JsError> {
        let problem = ProblemSummary::from(&self.recovered);
        let summary = Summary::new(&self.recovered.method, "the page", &self.notes, vec![problem]);
        Ok(serde_json::to_string(&summary)?)
    }
}

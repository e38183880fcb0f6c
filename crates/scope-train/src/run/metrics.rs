//! `metrics.jsonl`: what steps measured, a JSON object a line. It holds nothing that differs between two equal
//! runs (no times), and a resumed run continues it as if nothing had happened.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use scope_data::open_unlinked;
use serde::{Deserialize, Serialize};

use super::Observer;
use crate::{error::TrainError, step::Measured};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The stage's name.
    pub stage: String,
    /// Draws of all stages before the step.
    pub draws: u64,
    /// The step of the stage, from one.
    pub step: u64,
    /// The learning rate.
    pub rate: f64,
    /// Momentum of the EMA teacher.
    pub momentum: f64,
    /// Losses by letter, unweighted.
    pub losses: BTreeMap<String, f64>,
    /// Norms of weighted component gradients by letter: over all parameters, and over the encoder's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub norms: BTreeMap<String, [f64; 2]>,
    /// Factor of the gradient cap.
    pub alpha: f64,
    /// The norm of the combined gradient before clipping.
    pub norm: f64,
    /// Mean standard deviation of a latent coordinate over the batch.
    #[serde(rename = "spread", default, skip_serializing_if = "Option::is_none")]
    pub latent_std: Option<f64>,
}

impl Line {
    /// The line of a step.
    pub fn new(stage: &str, draws: u64, step: u64, [rate, momentum]: [f64; 2], measured: &Measured) -> Self {
        let letter = |component: crate::Component| component.letter().to_owned();
        Self {
            stage: stage.to_owned(),
            draws,
            step,
            rate,
            momentum,
            losses: measured.losses.iter().map(|(component, loss)| (letter(*component), *loss)).collect(),
            norms: measured.norms.iter().map(|(component, norms)| (letter(*component), *norms)).collect(),
            alpha: measured.alpha,
            norm: measured.norm,
            latent_std: measured.latent_std,
        }
    }

    /// Reads all lines of a file.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, TrainError> {
        let text = std::fs::read_to_string(path).map_err(TrainError::io("read", path))?;
        let parse = |(number, line): (usize, &str)| {
            let problem =
                |e: serde_json::Error| TrainError::malformed(path, format!("line {}: {e}", number + 1));
            serde_json::from_str(line).map_err(problem)
        };
        text.lines().enumerate().map(parse).collect()
    }
}

/// The length of a file up to the end of its last whole line.
fn whole_lines(file: &mut File) -> std::io::Result<u64> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1))
}

/// The file, open for appending.
pub(crate) struct Metrics {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl Metrics {
    /// Opens the file and cuts it to the length it had at the checkpoint that the run resumes from. It is a log, and nothing
    /// is computed from it: if it is shorter than that, the run goes on with the whole lines that are there.
    /// A link is refused: what it leads to would be cut.
    pub(crate) fn open(path: &Path, saved: u64, observer: &mut dyn Observer) -> Result<Self, TrainError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = open_unlinked(&options, path)?;
        let length = file.metadata().map_err(TrainError::io("read", path))?.len();
        let mut bytes = saved;
        if length < saved {
            bytes = whole_lines(&mut file).map_err(TrainError::io("read", path))?;
            let shown = path.display();
            observer.alarm(&format!(
                "{shown} has {length} bytes, but had {saved} when the state was saved: some lines are lost, and training goes on without them"
            ));
        }
        file.set_len(bytes)
            .and_then(|()| file.seek(SeekFrom::Start(bytes)))
            .map_err(TrainError::io("write", path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), bytes })
    }

    /// Appends a line.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), TrainError> {
        let mut text = serde_json::json!(line).to_string();
        text.push('\n');
        self.bytes += text.len() as u64;
        self.file.write_all(text.as_bytes()).map_err(TrainError::io("write", &self.path))
    }

    /// Makes the lines durable; gives the file's length.
    pub(crate) fn sync(&mut self) -> Result<u64, TrainError> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        synced.map_err(TrainError::io("write", &self.path))?;
        Ok(self.bytes)
    }
}

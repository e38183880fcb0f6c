//! `metrics.jsonl`: what steps measured, a JSON object a line. It holds nothing that differs between two equal
//! runs (no times), and a resumed run continues it as if nothing had happened.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use scope_data::open_unlinked;
use serde::{Deserialize, Serialize};

use super::Callback;
use crate::{error::TrainError, trainer::StepReport};

/// One line: a step, and what it told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricsLine {
    /// Name of the stage.
    pub stage: String,
    /// Number of draws of all stages before the step.
    pub draws: u64,
    /// Number of the step in its stage, from one.
    pub step: u64,
    /// What the step told.
    #[serde(flatten)]
    pub report: StepReport,
}

impl MetricsLine {
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
    /// Opens the file and cuts it to the length it had at the checkpoint that the run resumes from. It is a log, and
    /// nothing is computed from it: if it is shorter than that, the run goes on with the whole lines that are there.
    /// A link is refused: what it leads to would be cut.
    pub(crate) fn open(path: &Path, saved: u64, callback: &mut dyn Callback) -> Result<Self, TrainError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = open_unlinked(&options, path)?;
        let length = file.metadata().map_err(TrainError::io("read", path))?.len();
        let mut bytes = saved;
        if length < saved {
            bytes = whole_lines(&mut file).map_err(TrainError::io("read", path))?;
            let shown = path.display();
            callback.on_warning(&format!(
                "{shown} has {length} bytes, but had {saved} when the state was saved: some lines are lost, and \
                 training goes on without them"
            ));
        }
        file.set_len(bytes)
            .and_then(|()| file.seek(SeekFrom::Start(bytes)))
            .map_err(TrainError::io("write", path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), bytes })
    }

    /// Appends a line.
    pub(crate) fn append(&mut self, line: &MetricsLine) -> Result<(), TrainError> {
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

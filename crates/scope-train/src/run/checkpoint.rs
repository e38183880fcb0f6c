//! The state of a run, put away so that nothing can spoil it.
//!
//! A checkpoint is a folder `state/DRAWS` that appears whole or not at all: `state.safetensors` with the learner's
//! flat buffers, and `checkpoint.json` with its counters, written last, with the hash of the other file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};
use scope_data::{StagedFolder, write_whole};
use scope_engine::Tensor;
use serde::{Deserialize, Serialize};

use super::{
    folder::numbered,
    learner::{Counters, Learner},
};
use crate::error::TrainError;

/// The version of the folder's layout.
const FORMAT: u32 = 1;
const STATE: &str = "state.safetensors";
const MARKER: &str = "checkpoint.json";
/// The longest marker and the longest state that are read: of the largest network, a few buffers like its parameters.
const MOST_MARKER: u64 = 1 << 20;
const MOST_STATE: u64 = 1 << 38;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The stage, from 0.
    pub stage: usize,
    /// Draws of all stages so far.
    pub draws: u64,
    /// Of the learner.
    pub counters: Counters,
    /// The length of `metrics.jsonl` at this point.
    pub metrics_bytes: u64,
    /// Kept when newer ones replace others.
    pub milestone: bool,
}

/// `checkpoint.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Marker {
    format: u32,
    position: Position,
    /// BLAKE3 of `state.safetensors`.
    blake3: String,
    /// BLAKE3 of the position, as JSON.
    check: String,
}

/// A checkpoint on disk.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    folder: PathBuf,
    /// Where the run stood.
    pub(crate) position: Position,
    bytes: Vec<u8>,
}

/// Writes a checkpoint beside the others. One that is there stays, and becomes a milestone if this is one.
pub(crate) fn save(folder: &Path, learner: &dyn Learner, position: &Position) -> Result<(), TrainError> {
    fs::create_dir_all(folder).map_err(TrainError::io("create", folder))?;
    let destination = folder.join(numbered(position.draws));
    if destination.join(MARKER).exists() {
        return if position.milestone { keep(&destination) } else { Ok(()) };
    }
    let mut staged = StagedFolder::create(&destination)?;
    let state = serialise(learner).map_err(|problem| TrainError::malformed(&destination, problem))?;
    staged.write(STATE, &state)?;
    let marker = Marker::new(position.clone(), blake3::hash(&state).to_string());
    staged.write(MARKER, &marker.text(&destination)?)?;
    Ok(staged.finish()?)
}

/// Makes a checkpoint a milestone.
fn keep(folder: &Path) -> Result<(), TrainError> {
    let Marker { position, blake3, .. } = read_marker(folder)?;
    if position.milestone {
        return Ok(());
    }
    let marker = Marker::new(Position { milestone: true, ..position }, blake3);
    Ok(write_whole(&folder.join(MARKER), &marker.text(folder)?)?)
}

impl Marker {
    fn new(position: Position, blake3: String) -> Self {
        let check = check_of(&position);
        Self { format: FORMAT, position, blake3, check }
    }

    fn text(&self, folder: &Path) -> Result<Vec<u8>, TrainError> {
        serde_json::to_vec_pretty(self).map_err(|error| TrainError::malformed(folder, error.to_string()))
    }
}

fn check_of(position: &Position) -> String {
    blake3::hash(serde_json::json!(position).to_string().as_bytes()).to_string()
}

fn serialise(learner: &dyn Learner) -> Result<Vec<u8>, String> {
    let buffers: Vec<(&str, Vec<u8>, usize)> = learner
        .buffers()
        .into_iter()
        .map(|(name, tensor)| {
            let values = tensor.to_vec::<f32>().map_err(|error| error.to_string())?;
            let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            Ok((name, bytes, values.len()))
        })
        .collect::<Result<_, String>>()?;
    let views = buffers.iter().map(|(name, bytes, length)| {
        let view = TensorView::new(Dtype::F32, vec![*length], bytes).map_err(|error| error.to_string())?;
        Ok((*name, view))
    });
    let views: Vec<(&str, TensorView<'_>)> = views.collect::<Result<_, String>>()?;
    safetensors::serialize(views, None).map_err(|error| error.to_string())
}

/// Whether a path has the name of a checkpoint.
fn is_numbered(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u64>().is_ok())
}

/// The folders of complete checkpoints, oldest first.
fn complete(folder: &Path) -> Result<Vec<PathBuf>, TrainError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(TrainError::io("read", folder))? {
        let path = entry.map_err(TrainError::io("read", folder))?.path();
        if is_numbered(&path) && path.join(MARKER).is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what a killed process left half written or half removed. The run's lock is ours, so nobody else is
/// writing here.
pub(crate) fn sweep(folder: &Path) -> Result<(), TrainError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(TrainError::io("read", folder))?.path();
        let whole = is_numbered(&path) && path.join(MARKER).is_file();
        if !whole && is_numbered(&path.with_extension("")) {
            fs::remove_dir_all(&path).map_err(TrainError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// The newest checkpoint, if there is one; a damaged one is refused, not passed over.
pub(crate) fn newest(folder: &Path) -> Result<Option<Checkpoint>, TrainError> {
    complete(folder)?.pop().map(|path| Checkpoint::read(&path)).transpose()
}

/// Removes all but the newest `keep` checkpoints and the milestones.
pub(crate) fn prune(folder: &Path, keep: usize) -> Result<(), TrainError> {
    let found = complete(folder)?;
    for path in &found[..found.len().saturating_sub(keep.max(1))] {
        if !read_marker(path)?.position.milestone {
            // The marker goes first: what is left of a removal that was cut short is no checkpoint.
            let marker = path.join(MARKER);
            fs::remove_file(&marker).map_err(TrainError::io("remove", &marker))?;
            fs::remove_dir_all(path).map_err(TrainError::io("remove", path))?;
        }
    }
    Ok(())
}

fn read_marker(folder: &Path) -> Result<Marker, TrainError> {
    let path = folder.join(MARKER);
    let text = scope_data::read_bounded(&path, MOST_MARKER)?;
    let damaged = |problem: String| TrainError::malformed(&path, format!("{problem}; {}", remedy(folder)));
    let marker: Marker = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if marker.format != FORMAT {
        return Err(damaged(format!("its format is {}, this program reads {FORMAT}", marker.format)));
    }
    if marker.check != check_of(&marker.position) {
        return Err(damaged("it has changed since it was written".to_owned()));
    }
    Ok(marker)
}

fn remedy(folder: &Path) -> String {
    format!("to go on from the checkpoint before it, remove {}", folder.display())
}

impl Checkpoint {
    fn read(folder: &Path) -> Result<Self, TrainError> {
        let marker = read_marker(folder)?;
        let path = folder.join(STATE);
        let bytes = scope_data::read_bounded(&path, MOST_STATE)?;
        let hash = blake3::hash(&bytes).to_string();
        if hash != marker.blake3 {
            let problem =
                format!("it has changed since it was written (BLAKE3 is {hash}); {}", remedy(folder));
            return Err(TrainError::malformed(&path, problem));
        }
        Ok(Self { folder: folder.to_owned(), position: marker.position, bytes })
    }

    /// Gives its state to a learner of the same kind and sizes.
    pub(crate) fn restore(&self, learner: &mut dyn Learner) -> Result<(), TrainError> {
        let file = self.open()?;
        let device = learner.device().clone();
        let read = |name: &str| {
            let values = buffer(&file, name)?;
            Tensor::from_slice(&device, &[values.len()], &values).ok()
        };
        learner.restore(&read, self.position.counters)
    }

    /// Two of its flat buffers, as far as it has them.
    pub(super) fn pair(&self, names: [&str; 2]) -> Result<[Option<Vec<f32>>; 2], TrainError> {
        let file = self.open()?;
        Ok(names.map(|name| buffer(&file, name)))
    }

    fn open(&self) -> Result<SafeTensors<'_>, TrainError> {
        let refuse = |error: SafeTensorError| TrainError::malformed(&self.path(), error.to_string());
        SafeTensors::deserialize(&self.bytes).map_err(refuse)
    }

    /// The file with its buffers.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(STATE)
    }
}

fn buffer(file: &SafeTensors<'_>, name: &str) -> Option<Vec<f32>> {
    let view = file.tensor(name).ok().filter(|view| view.dtype() == Dtype::F32)?;
    Some(view.data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}

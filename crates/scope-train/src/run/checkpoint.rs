//! Checkpoints: the state of a run on disk, written so that nothing can spoil it.
//!
//! A checkpoint is a folder `state/DRAWS` that appears whole or not at all: `state.safetensors` with the trainer's
//! flat buffers, and `checkpoint.json` with its counters, written last, with the hash of the other file.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};
use scope_data::{StagedFolder, scratch_of, write_atomic};
use scope_engine::Tensor;
use serde::{Deserialize, Serialize};

use super::folder::{draws_of, numbered};
use crate::{
    error::TrainError,
    trainer::{Counters, Trainer},
};

/// The version of the folder's layout.
const FORMAT: u32 = 1;
const STATE: &str = "state.safetensors";
const MARKER: &str = "checkpoint.json";
/// Size of the largest marker and of the largest state that are read: a few buffers like the parameters of the largest
/// network.
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
    /// Counters of the trainer.
    pub counters: Counters,
    /// The length of `metrics.jsonl` at this point.
    pub metrics_bytes: u64,
    /// Kept when newer ones replace others.
    pub milestone: bool,
}

impl Position {
    /// Where a run begins.
    pub(crate) fn start(trainer: &Trainer) -> Self {
        Self { stage: 0, draws: 0, counters: trainer.counters, metrics_bytes: 0, milestone: false }
    }
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
pub(crate) fn save(folder: &Path, trainer: &Trainer, position: &Position) -> Result<(), TrainError> {
    fs::create_dir_all(folder).map_err(TrainError::io("create", folder))?;
    let destination = folder.join(numbered(position.draws));
    if destination.join(MARKER).exists() {
        return if position.milestone { keep(&destination) } else { Ok(()) };
    }
    let mut staged = StagedFolder::create(&destination)?;
    let state = serialise(trainer).map_err(|problem| TrainError::malformed(&destination, problem))?;
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
    Ok(write_atomic(&folder.join(MARKER), &marker.text(folder)?)?)
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

fn serialise(trainer: &Trainer) -> Result<Vec<u8>, String> {
    let buffers: Vec<(&str, Vec<u8>, usize)> = trainer
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

/// The names in a folder, if it is there.
fn names_in(folder: &Path) -> Result<Vec<String>, TrainError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(TrainError::io("read", folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is no text is none of ours.
        names.extend(entry.map_err(TrainError::io("read", folder))?.file_name().into_string().ok());
    }
    Ok(names)
}

/// The folders of complete checkpoints, oldest first. Whatever has another name than ours is left alone and does not
/// matter.
fn complete(folder: &Path) -> Result<Vec<PathBuf>, TrainError> {
    let mut draws: Vec<u64> = names_in(folder)?.iter().filter_map(|name| draws_of(name)).collect();
    draws.sort_unstable();
    let paths = draws.into_iter().map(|draws| folder.join(numbered(draws)));
    Ok(paths.filter(|path| path.join(MARKER).is_file()).collect())
}

/// Removes what a killed process left half written or half removed, as far as that goes; returns what could not be
/// removed. The run's lock is ours, so nobody else is writing here.
pub(crate) fn sweep(folder: &Path) -> Result<Vec<TrainError>, TrainError> {
    let remains = |name: &String| {
        if draws_of(name).is_some() {
            let path = folder.join(name);
            return if path.join(MARKER).is_file() { Ok(()) } else { remove(&path) };
        }
        match StagedFolder::written_under(name).filter(|name| draws_of(name).is_some()) {
            Some(destination) => Ok(StagedFolder::sweep(&folder.join(destination))?),
            None => Ok(()),
        }
    };
    Ok(names_in(folder)?.iter().filter_map(|name| remains(name).err()).collect())
}

/// Removes what is ours of a checkpoint, the marker first: what is left of a removal that was cut short is no
/// checkpoint. Anything else in its folder stays, and the folder with it; a link to a folder is not ours either.
fn remove(folder: &Path) -> Result<(), TrainError> {
    if !folder.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        return Ok(());
    }
    let scratch = names_in(folder)?.into_iter().filter(|name| scratch_of(name.as_ref()) == Some(MARKER));
    for name in [MARKER.to_owned(), STATE.to_owned()].into_iter().chain(scratch) {
        let file = folder.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(TrainError::io("remove", &file)(error));
            }
            _ => {}
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => {
            Err(TrainError::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

/// The newest checkpoint, if there is one; a damaged one is refused, not passed over.
pub(crate) fn newest(folder: &Path) -> Result<Option<Checkpoint>, TrainError> {
    complete(folder)?.pop().map(|path| Checkpoint::read(&path)).transpose()
}

/// Removes all but the newest `keep` checkpoints and the milestones. Returns why others stay: the marker of one may be
/// damaged, or the system refuse to remove it, which is no reason to end a run whose newest checkpoint is whole.
pub(crate) fn prune(folder: &Path, keep: usize) -> Result<Vec<TrainError>, TrainError> {
    let found = complete(folder)?;
    let older = &found[..found.len().saturating_sub(keep.max(1))];
    let outcome = |path: &PathBuf| {
        let milestone = read_marker(path)?.position.milestone;
        if milestone { Ok(()) } else { remove(path) }
    };
    Ok(older.iter().filter_map(|path| outcome(path).err()).collect())
}

fn read_marker(folder: &Path) -> Result<Marker, TrainError> {
    let path = folder.join(MARKER);
    let text = scope_data::read_bounded(&path, MOST_MARKER)?;
    let damaged = |problem: String| TrainError::malformed(&path, problem);
    let marker: Marker = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if marker.format != FORMAT {
        return Err(damaged(format!("its format is {}, this program reads {FORMAT}", marker.format)));
    }
    if marker.check != check_of(&marker.position) {
        return Err(damaged("it has changed since it was written".to_owned()));
    }
    let draws = marker.position.draws;
    if folder.file_name().is_none_or(|name| name != numbered(draws).as_str()) {
        return Err(damaged(format!("it is of {draws} draws, and its folder is not named so")));
    }
    Ok(marker)
}

impl Checkpoint {
    fn read(folder: &Path) -> Result<Self, TrainError> {
        Self::read_whole(folder).map_err(|error| match error {
            TrainError::Malformed { path, problem } => {
                let remedy = format!("to resume from the checkpoint before it, remove {}", folder.display());
                TrainError::Malformed { path, problem: format!("{problem}; {remedy}") }
            }
            other => other,
        })
    }

    fn read_whole(folder: &Path) -> Result<Self, TrainError> {
        let marker = read_marker(folder)?;
        let path = folder.join(STATE);
        let bytes = scope_data::read_bounded(&path, MOST_STATE)?;
        let hash = blake3::hash(&bytes).to_string();
        if hash != marker.blake3 {
            let problem = format!("it has changed since it was written (BLAKE3 is {hash})");
            return Err(TrainError::malformed(&path, problem));
        }
        Ok(Self { folder: folder.to_owned(), position: marker.position, bytes })
    }

    /// Gives its state to a trainer of the same kind and sizes.
    pub(crate) fn restore(&self, trainer: &mut Trainer) -> Result<(), TrainError> {
        let file = self.open()?;
        let device = trainer.device().clone();
        let read = |name: &str| {
            let values = buffer(&file, name)?;
            Tensor::from_slice(&device, &[values.len()], &values).ok()
        };
        trainer.restore(&read, self.position.counters)
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

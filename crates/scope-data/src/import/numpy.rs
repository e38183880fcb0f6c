//! Plain `.npy` files: pairs, and snapshots as DiffusionPDE releases them.

use std::path::{Path, PathBuf};

use scope_pde::{Pde, descriptor::ReleasedFiles};

use super::source::{Conversion, Source, Take};
use crate::{Channel, PerChannel, error::DataError, npy::MappedArray};

/// Records found in one or two arrays.
pub(super) struct Arrays {
    files: Vec<PathBuf>,
    /// The array of a and that of u; the same one may hold both.
    arrays: Vec<MappedArray>,
    count: usize,
    resolution: usize,
    layout: Layout,
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Layout {
    /// Two arrays \[N, S, S\].
    Separate,
    /// One array \[N, 2, S, S\].
    Stacked,
    /// One array \[N, S, S, T\], a and u being two times.
    Snapshots(PerChannel<usize>),
}

impl Arrays {
    /// Whether a folder holds `a.npy` and `u.npy`, or `v.npy`.
    pub(super) fn recognises(folder: &Path) -> bool {
        folder.join("v.npy").is_file() || folder.join("a.npy").is_file() && folder.join("u.npy").is_file()
    }

    pub(super) fn open_folder(folder: &Path, pde: Pde) -> Result<Self, DataError> {
        match folder.join("v.npy") {
            snapshots if snapshots.is_file() => Self::open_file(&snapshots, pde),
            _ => Self::open_separate(folder),
        }
    }

    fn open_separate(folder: &Path) -> Result<Self, DataError> {
        let files = vec![folder.join("a.npy"), folder.join("u.npy")];
        let a = MappedArray::open(&files[0])?;
        let u = MappedArray::open(&files[1])?;
        let [count, rows, columns] = a.header().shape[..] else {
            return Err(shape_error(&files[0], &a, "[N, S, S]"));
        };
        if rows != columns {
            return Err(shape_error(&files[0], &a, "[N, S, S]"));
        }
        if u.header().shape != a.header().shape {
            return Err(shape_error(&files[1], &u, &format!("{:?} as a.npy has", a.header().shape)));
        }
        Ok(Self { files, arrays: vec![a, u], count, resolution: rows, layout: Layout::Separate })
    }

    /// One array of pairs or, where released files have them, of snapshots, told apart by its shape. Which times of
    /// another problem make a pair is not for us to guess.
    pub(super) fn open_file(path: &Path, pde: Pde) -> Result<Self, DataError> {
        let array = MappedArray::open(path)?;
        let snapshots = snapshots_of(pde);
        let (count, resolution, layout) = match (&array.header().shape[..], snapshots) {
            (&[count, 2, rows, columns], _) if rows == columns => (count, rows, Layout::Stacked),
            (&[count, rows, columns, times], Some(taken)) if rows == columns && times > last_of(taken) => {
                (count, rows, Layout::Snapshots(taken))
            }
            _ => return Err(shape_error(path, &array, &expected_shapes(snapshots))),
        };
        Ok(Self { files: vec![path.to_owned()], arrays: vec![array], count, resolution, layout })
    }

    /// The value of a pixel, by its place in C order: where the array says it is.
    fn value(&self, record: usize, channel: Channel, i: usize, j: usize) -> f64 {
        match self.layout {
            Layout::Separate => self.arrays[channel.position()].at(&[record, i, j]),
            Layout::Stacked => self.arrays[0].at(&[record, channel.position(), i, j]),
            Layout::Snapshots(taken) => self.arrays[0].at(&[record, i, j, taken[channel]]),
        }
    }
}

/// The times that are taken of a problem's released snapshots, if they are snapshots.
fn snapshots_of(pde: Pde) -> Option<PerChannel<usize>> {
    match pde.descriptor().distribution.released()?.files {
        ReleasedFiles::Snapshots(taken) => Some(taken),
        ReleasedFiles::Matlab { .. } => None,
    }
}

/// The later of the times that are taken.
fn last_of(taken: PerChannel<usize>) -> usize {
    taken.a.max(taken.u)
}

fn expected_shapes(snapshots: Option<PerChannel<usize>>) -> String {
    match snapshots {
        Some(taken) => {
            format!("pairs [N, 2, S, S] or snapshots [N, S, S, T] with T of at least {}", last_of(taken) + 1)
        }
        None => {
            "pairs of a and u, [N, 2, S, S]; a series of times is taken where one was released".to_owned()
        }
    }
}

fn shape_error(path: &Path, array: &MappedArray, expected: &str) -> DataError {
    let problem = format!("its shape is {:?}, expected {expected}", array.header().shape);
    DataError::malformed(path, "array of fields", problem)
}

impl Source for Arrays {
    fn count(&self) -> usize {
        self.count
    }

    fn resolution(&self) -> usize {
        self.resolution
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn read(&self, conversion: Conversion, take: Take) -> Result<(), DataError> {
        let size = self.resolution;
        let mut pair = vec![0.0; 2 * size * size];
        for record in 0..self.count {
            for (channel, field) in Channel::BOTH.into_iter().zip(pair.chunks_exact_mut(size * size)) {
                let store = conversion.channel(channel);
                for (k, out) in field.iter_mut().enumerate() {
                    *out = store(self.value(record, channel, k / size, k % size));
                }
            }
            take(&pair)?;
        }
        Ok(())
    }
}

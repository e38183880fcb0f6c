//! The cylinder's disks from their separate files.

use std::path::{Path, PathBuf};

use scope_pde::{GridShape, cylinder::Disk};

use crate::{error::DataError, geometry::read_disks, npy::MappedArray};

/// Where the disks are.
#[derive(Clone, Debug)]
pub enum GeometryFiles {
    /// One array \[N, 3\] of (cx, cy, r).
    Together(PathBuf),
    /// Three arrays \[N\]: cx, cy and r.
    Separate([PathBuf; 3]),
}

impl GeometryFiles {
    /// `cx.npy`, `cy.npy` and `r.npy` in a folder, if they are there.
    pub(super) fn beside(folder: &Path) -> Option<Self> {
        let files = ["cx.npy", "cy.npy", "r.npy"].map(|name| folder.join(name));
        files.iter().all(|file| file.is_file()).then_some(Self::Separate(files))
    }

    /// The files.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Together(path) => vec![path.clone()],
            Self::Separate(paths) => paths.to_vec(),
        }
    }

    /// Reads `count` disks and checks that each lies inside the grid.
    pub(super) fn read(&self, count: usize, shape: impl Into<GridShape>) -> Result<Vec<Disk>, DataError> {
        let shape = shape.into();
        match self {
            Self::Together(path) => {
                let array = open(path, &[count, 3])?;
                let step =
                    |n: usize, k: usize| if array.header().fortran_order { k * count + n } else { n * 3 + k };
                read_disks(path, count, shape, |n, k| array.value(step(n, k)))
            }
            Self::Separate(paths) => {
                let arrays =
                    [open(&paths[0], &[count])?, open(&paths[1], &[count])?, open(&paths[2], &[count])?];
                read_disks(&paths[2], count, shape, |n, k| arrays[k].value(n))
            }
        }
    }
}

fn open(path: &Path, shape: &[usize]) -> Result<MappedArray, DataError> {
    let array = MappedArray::open(path)?;
    if array.header().shape == shape {
        Ok(array)
    } else {
        let problem =
            format!("its shape is {:?}, expected {shape:?}: one disk a record", array.header().shape);
        Err(DataError::malformed(path, "geometry", problem))
    }
}

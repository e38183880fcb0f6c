//! Where the fields of one record are known before anything is measured, for problems whose records differ in that.

use std::path::Path;

use scope_pde::{GridShape, MAX_RESOLUTION, Pde, cylinder::Disk, descriptor::KnownRegion};

use crate::{error::DataError, geometry::check_disk, npy::MappedArray, observation::Mask};

/// The region of one record where its fields are known.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordRegion {
    /// A cylinder's disk.
    Disk(Disk),
    /// Any points, of a problem of one's own.
    Points(Mask),
}

impl RecordRegion {
    /// The disk, if it is one.
    pub fn disk(&self) -> Option<Disk> {
        match self {
            RecordRegion::Disk(disk) => Some(*disk),
            RecordRegion::Points(_) => None,
        }
    }

    /// Its points on a grid, which must be that of a mask.
    pub fn points(&self, shape: GridShape) -> Mask {
        match self {
            RecordRegion::Disk(disk) => {
                let mut mask = Mask::empty(shape);
                disk.points(shape).for_each(|point| {
                    mask.insert(point);
                });
                mask
            }
            RecordRegion::Points(mask) => mask.clone(),
        }
    }

    /// Refuses a region that records of a problem on a grid do not have.
    pub fn check(&self, pde: Pde, shape: GridShape) -> Result<(), String> {
        match (self, pde.descriptor().known_region) {
            (RecordRegion::Disk(disk), KnownRegion::Disk) => check_disk(disk, shape),
            (RecordRegion::Points(mask), KnownRegion::PerRecord(_)) if mask.shape() == shape => Ok(()),
            (RecordRegion::Points(mask), KnownRegion::PerRecord(_)) => Err(format!(
                "the known region is on {} points, and the grid is {shape}: they must be the same",
                mask.shape()
            )),
            (RecordRegion::Disk(_), _) => Err(format!("{pde} has no disk: leave the geometry out")),
            (RecordRegion::Points(_), _) => {
                Err(format!("{pde} has no known region of each record: leave it out"))
            }
        }
    }

    /// Reads the points of one record: a .npy file \[rows, columns\], or a stack of one such mask, that is not zero
    /// there.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let array = MappedArray::open(path)?;
        match array.header().shape[..] {
            [rows, columns] | [1, rows, columns] if rows.max(columns) <= MAX_RESOLUTION => {
                // A stack of one mask has the same elements in the same order, whichever axis is contiguous.
                let transposed = array.header().fortran_order;
                let at = |i: usize, j: usize| if transposed { j * rows + i } else { i * columns + j };
                let shape = GridShape { rows, columns };
                Ok(Self::Points(Mask::from_fn(shape, |i, j| array.value(at(i, j)) != 0.0)))
            }
            ref got => {
                let problem = format!("its shape is {got:?}, expected [rows, columns] as the grid is");
                Err(DataError::malformed(path, "mask of a known region", problem))
            }
        }
    }
}

impl From<Disk> for RecordRegion {
    fn from(disk: Disk) -> Self {
        Self::Disk(disk)
    }
}

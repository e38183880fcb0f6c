//! Where each record of a set is known by itself: the file beside its fields, read when the folder is opened.

use std::path::{Path, PathBuf};

use scope_pde::{GridShape, descriptor::KnownRegion};

use super::{GEOMETRY, KNOWN, meta::Meta};
use crate::{
    bounded_read::read_bounded,
    error::DataError,
    geometry::read_disks,
    npy::{Dtype, Header, MAX_PREFIX, NpyArray},
    observation::Mask,
    record_region::RecordRegion,
};

/// The regions of all records.
#[derive(Debug)]
pub(super) struct Regions {
    pub(super) path: PathBuf,
    /// The name of the array.
    pub(super) array: &'static str,
    pub(super) of_records: Vec<RecordRegion>,
    /// The hash of the bytes that they come from.
    pub(super) blake3: String,
}

impl Regions {
    /// Those of a folder; none for a problem whose records have none.
    pub(super) fn read(folder: &Path, meta: &Meta) -> Result<Option<Self>, DataError> {
        let Meta { count, resolution: shape, .. } = *meta;
        let GridShape { rows, columns } = shape;
        let (array, dtype, expected) = match meta.pde.descriptor().known_region {
            KnownRegion::Nowhere | KnownRegion::Fixed(_) => return Ok(None),
            KnownRegion::Disk => (GEOMETRY, Dtype::F64, vec![count, 3]),
            KnownRegion::PerRecord(_) => (KNOWN, Dtype::U8, vec![count, rows, columns / 8]),
        };
        let path = folder.join(array);
        let length: usize = expected.iter().product::<usize>() * dtype.size();
        let bytes = read_bounded(&path, (MAX_PREFIX + length) as u64)?;
        let blake3 = blake3::hash(&bytes).to_hex().to_string();
        let parsed = NpyArray::parse(bytes);
        let parsed = parsed.map_err(|problem| DataError::malformed(&path, ".npy file", problem))?;
        parsed.header().require(&path, dtype, &expected)?;
        let of_records = if array == GEOMETRY {
            let disks = read_disks(&path, count, shape, |n, k| parsed.value(3 * n + k))?;
            disks.into_iter().map(RecordRegion::Disk).collect()
        } else {
            let bits = &parsed.bytes()[parsed.bytes().len() - length..];
            let masks = bits.chunks_exact(shape.points() / 8);
            masks.map(|bits| RecordRegion::Points(Mask::of_bits(shape, bits))).collect()
        };
        Ok(Some(Self { path, array, of_records, blake3 }))
    }
}

/// What a set keeps of its records' regions while it is written.
pub(super) struct WrittenRegions {
    known: KnownRegion,
    bytes: Vec<u8>,
}

impl WrittenRegions {
    pub(super) fn new(known: KnownRegion) -> Self {
        Self { known, bytes: Vec::new() }
    }

    /// Takes the region of the next record; false if it lacks one that the problem's records have.
    pub(super) fn push(&mut self, region: Option<&RecordRegion>) -> bool {
        match (self.known, region) {
            (KnownRegion::Nowhere | KnownRegion::Fixed(_), _) => {}
            (KnownRegion::Disk, Some(RecordRegion::Disk(disk))) => {
                let values = [disk.cx, disk.cy, disk.r];
                self.bytes.extend(values.into_iter().flat_map(f64::to_le_bytes));
            }
            (KnownRegion::PerRecord(_), Some(RecordRegion::Points(mask))) => {
                let bytes = mask.words().iter().flat_map(|word| word.to_le_bytes());
                self.bytes.extend(bytes.take(mask.shape().points() / 8));
            }
            (KnownRegion::Disk | KnownRegion::PerRecord(_), _) => return false,
        }
        true
    }

    /// The array of so many records, if there is one: its name, its header and its bytes.
    pub(super) fn finish(self, count: usize, shape: GridShape) -> Option<(&'static str, Header, Vec<u8>)> {
        let GridShape { rows, columns } = shape;
        let (name, header) = match self.known {
            KnownRegion::Nowhere | KnownRegion::Fixed(_) => return None,
            KnownRegion::Disk => (GEOMETRY, Header::new(Dtype::F64, &[count, 3])),
            KnownRegion::PerRecord(_) => (KNOWN, Header::new(Dtype::U8, &[count, rows, columns / 8])),
        };
        Some((name, header, self.bytes))
    }
}

//! The cylinder's obstacles as they come from files.

use std::path::Path;

use scope_pde::{GridShape, cylinder::Disk};

use crate::error::DataError;

/// The disks of `count` records; `value(n, k)` is cx, cy or r of record n as the file has it.
pub(crate) fn read_disks(
    path: &Path,
    count: usize,
    shape: GridShape,
    value: impl Fn(usize, usize) -> f64,
) -> Result<Vec<Disk>, DataError> {
    let disk = |n| {
        let disk = Disk { cx: value(n, 0), cy: value(n, 1), r: value(n, 2) };
        let malformed = |problem| DataError::malformed(path, "geometry", format!("record {n}: {problem}"));
        check_disk(&disk, shape).map(|()| disk).map_err(malformed)
    };
    (0..count).map(disk).collect()
}

/// A disk must be made of finite numbers, have a size, and lie wholly inside the grid.
pub(crate) fn check_disk(disk: &Disk, shape: GridShape) -> Result<(), String> {
    let Disk { cx, cy, r } = *disk;
    if ![cx, cy, r].iter().all(|x| x.is_finite()) {
        return Err(format!("the disk ({cx}, {cy}, {r}) is not finite"));
    }
    let inside = |c: f64, length: usize| c - r >= 0.0 && c + r < length as f64;
    if r > 0.0 && inside(cx, shape.rows) && inside(cy, shape.columns) {
        Ok(())
    } else {
        Err(format!("the disk at ({cx}, {cy}) with radius {r} does not lie inside {shape} pixels"))
    }
}

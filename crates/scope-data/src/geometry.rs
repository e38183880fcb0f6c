//! The cylinder's obstacles as they come from files.

use std::path::Path;

use scope_pde::cylinder::Disk;

use crate::error::DataError;

/// The disks of `count` records; `value(n, k)` is cx, cy or r of record n as the file has it.
pub(crate) fn read_disks(
    path: &Path,
    count: usize,
    size: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Result<Vec<Disk>, DataError> {
    let disk = |n| {
        let disk = Disk { cx: value(n, 0), cy: value(n, 1), r: value(n, 2) };
        let malformed = |problem| DataError::malformed(path, "geometry", format!("record {n}: {problem}"));
        check_disk(&disk, size).map(|()| disk).map_err(malformed)
    };
    (0..count).map(disk).collect()
}

/// A disk must be made of finite numbers, have a size, and lie wholly inside the grid.
pub(crate) fn check_disk(disk: &Disk, size: usize) -> Result<(), String> {
    let Disk { cx, cy, r } = *disk;
    if ![cx, cy, r].iter().all(|x| x.is_finite()) {
        return Err(format!("the disk ({cx}, {cy}, {r}) is not finite"));
    }
    let inside = |c: f64| c - r >= 0.0 && c + r < size as f64;
    if r > 0.0 && inside(cx) && inside(cy) {
        Ok(())
    } else {
        Err(format!("the disk at ({cx}, {cy}) with radius {r} does not lie inside {size} x {size} pixels"))
    }
}

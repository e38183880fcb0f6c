//! Checks of the cylinder's obstacle.

use scope_pde::cylinder::Disk;

/// A disk must be made of finite numbers, have a size, and lie wholly inside the grid.
pub(crate) fn check_disk(disk: &Disk, size: usize) -> Result<(), String> {
    let Disk { cx, cy, r } = *disk;
    if ![cx, cy, r].iter().all(|x| x.is_finite()) {
        return Err(format!("the disk ({cx}, {cy}, {r}) is not finite"));
    }
    let inside = |c: f64| c - r >= 0.0 && c + r < size as f64;
    match r > 0.0 && inside(cx) && inside(cy) {
        true => Ok(()),
        false => Err(format!(
            "the disk at ({cx}, {cy}) with radius {r} does not lie inside {size} x {size} pixels"
        )),
    }
}

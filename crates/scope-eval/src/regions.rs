//! Parts of the grid round a cylinder.

use scope_data::observation::Mask;
use scope_model::Region;
use scope_pde::{GridShape, cylinder::Disk};

/// How far the band reaches from the disk: a dilation by a square of 5 x 5 pixels.
const BAND: usize = 2;

/// The fluid, its band beside the disk, and what remains of it.
#[derive(Clone, Debug)]
pub struct Regions {
    disk: Mask,
    dilated: Mask,
}

impl Regions {
    /// Those of a disk on a grid.
    pub fn of(disk: &Disk, grid: impl Into<GridShape>) -> Self {
        let grid = grid.into();
        let mut inside = Mask::empty(grid);
        let mut dilated = Mask::empty(grid);
        for point in disk.points(grid) {
            inside.insert(point);
            let [i, j] = grid.place(point);
            for row in i.saturating_sub(BAND)..=(i + BAND).min(grid.rows - 1) {
                for column in j.saturating_sub(BAND)..=(j + BAND).min(grid.columns - 1) {
                    dilated.insert(grid.point(row, column));
                }
            }
        }
        Self { disk: inside, dilated }
    }

    /// Whether a point belongs to a region.
    pub fn contains(&self, region: Region, point: usize) -> bool {
        let fluid = !self.disk.contains(point);
        match region {
            Region::Fluid => fluid,
            Region::Band => fluid && self.dilated.contains(point),
            Region::Interior => fluid && !self.dilated.contains(point),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn band_and_interior_are_the_fluid() {
        let disk = Disk { cx: 9.0, cy: 14.0, r: 3.0 };
        let size = 32;
        let regions = Regions::of(&disk, size);
        let count =
            |region: Region| (0..size * size).filter(|point| regions.contains(region, *point)).count();
        let covered = disk.points(size).count();
        assert_eq!((covered, count(Region::Fluid)), (29, 1024 - 29));
        assert_eq!(count(Region::Band) + count(Region::Interior), count(Region::Fluid));
        // A disk of radius 3 dilated by two pixels: rows of 5, 9, 9 and then five of 11, mirrored, without the disk's
        // 29.
        assert_eq!(count(Region::Band), 2 * (5 + 9 + 9) + 5 * 11 - 29);
    }

    #[test]
    fn a_disk_at_the_edge_stays_on_the_grid() {
        let regions = Regions::of(&Disk { cx: 0.0, cy: 0.0, r: 1.0 }, 16);
        let band: Vec<usize> = (0..256).filter(|point| regions.contains(Region::Band, *point)).collect();
        assert_eq!(band, [2, 3, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50]);
    }
}

//! Where a pixel is, told by a few cells: how far along each axis, and how far from the nearest sensor.
//!
//! Cells are named in pixels of a 128 x 128 grid; other grids scale them.

use scope_data::{
    PerChannel,
    observation::{ContextMasks, Mask, Task, gaps},
};

/// Cells of an axis begin so far from its nearer end: fields change most near edges.
const FROM_END: [f32; 7] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Cells along an axis: from one end to the middle, and on to the other end.
pub const AXIS_CELLS: usize = 2 * FROM_END.len();

/// Cells of distance begin here; the first is a sensor's own pixel.
const FROM_SENSOR: [f32; 13] = [0.0, 0.5, 1.2, 2.1, 3.2, 4.6, 6.5, 9.0, 13.0, 18.0, 26.0, 36.0, 50.0];
/// Cells of distance.
pub const DISTANCE_CELLS: usize = FROM_SENSOR.len();

/// The cell of every index along an axis of S points.
pub fn axis_cells(size: usize) -> Vec<usize> {
    let of = |k: usize| {
        let inward = k.min(size - 1 - k);
        let far_side = 2 * k >= size;
        let cell = last_begun(&FROM_END, inward as f32 * 128.0 / size as f32);
        if far_side { AXIS_CELLS - 1 - cell } else { cell }
    };
    (0..size).map(of).collect()
}

/// The cells of distance to what is known of each channel that a task measures.
pub fn known_distances(masks: &ContextMasks, task: Task) -> PerChannel<Option<Vec<usize>>> {
    task.observes().zip(masks.seen.each_ref()).map(|(observed, mask)| observed.then(|| distance_cells(mask)))
}

/// The cell of every pixel's distance to the nearest point of a mask.
pub fn distance_cells(mask: &Mask) -> Vec<usize> {
    let scale = 128.0 / mask.shape().mean_side() as f32;
    let of = |gap: f32| match gap {
        0.0 => 0,
        // On a fine grid a neighbour is close, and still no sensor.
        gap => last_begun(&FROM_SENSOR, gap * scale).max(1),
    };
    gaps(mask).into_iter().map(of).collect()
}

fn last_begun(begins: &[f32], at: f32) -> usize {
    begins.partition_point(|begin| *begin <= at) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_fine_cells_at_both_ends() {
        let cells = axis_cells(128);
        assert_eq!((cells[0], cells[1], cells[3], cells[63]), (0, 1, 2, 6));
        assert_eq!((cells[64], cells[126], cells[127]), (7, 12, 13));
        assert!((0..128).all(|k| cells[k] + cells[127 - k] == AXIS_CELLS - 1));
        let coarse = axis_cells(32);
        assert_eq!((coarse[0], coarse[1], coarse[31]), (0, 3, 13));
    }

    #[test]
    fn the_first_cell_of_distance_is_for_sensors_alone() {
        for size in [32, 128, 512] {
            let mut mask = Mask::empty(size);
            mask.insert(size + 1);
            let cells = distance_cells(&mask);
            assert_eq!(cells.iter().filter(|cell| **cell == 0).count(), 1);
            assert_eq!((cells[size + 1], cells[size * size - 1]), (0, DISTANCE_CELLS - 1));
        }
    }
}

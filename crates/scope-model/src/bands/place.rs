//! Where a pixel is, told by a few cells: how far along each axis, and how far from the nearest sensor.
//!
//! Cells are named in pixels of a 128 x 128 grid; other grids scale them. Factors are fitted to whole cells. In between
//! they are those of the cell, or lie on straight lines from one cell's centre to the next.

use scope_data::{
    GridShape, PerChannel,
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
/// Where the factor of the last of them is reached.
const FARTHEST: f32 = 57.0;

/// A place among cells: at a share of the way from the centre of one to the centre of the next, or anywhere in one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The cell.
    pub cell: usize,
    share: f64,
}

impl Place {
    fn anywhere_in(cell: usize) -> Self {
        Self { cell, share: 0.0 }
    }

    /// The place of a position between the centres of cells, which rise; beyond the outermost it is theirs.
    fn between(centres: &[f64], at: f64) -> Self {
        let next = centres.partition_point(|centre| *centre <= at);
        match next.checked_sub(1) {
            Some(cell) if next < centres.len() => {
                Self { cell, share: (at - centres[cell]) / (centres[next] - centres[cell]) }
            }
            Some(last) => Self::anywhere_in(last),
            None => Self::anywhere_in(0),
        }
    }

    /// What one factor for each cell is here.
    pub fn value(self, factors: &[f64]) -> f64 {
        let own = factors[self.cell];
        if self.share == 0.0 { own } else { own + self.share * (factors[self.cell + 1] - own) }
    }
}

/// Where every pixel of a grid is.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// The place of each row and of each column.
    pub axes: [Vec<Place>; 2],
    /// The place of each pixel by its distance from what is known of a channel, where a task measures it.
    pub distances: PerChannel<Option<Vec<Place>>>,
}

impl Places {
    /// Places for sensors at these points, between cells or anywhere in one.
    pub fn of(masks: &ContextMasks, task: Task, smooth: bool) -> Self {
        let axis = |length| if smooth { smooth_axis(length) } else { whole(axis_cells(length)) };
        let distance = |mask| if smooth { smooth_distances(mask) } else { whole(distance_cells(mask)) };
        Self {
            axes: masks.shape().lengths().map(axis),
            distances: task
                .observes()
                .zip(masks.seen.each_ref())
                .map(|(observed, mask)| observed.then(|| distance(mask))),
        }
    }

    /// The grid that they are on.
    pub fn grid(&self) -> GridShape {
        let [rows, columns] = self.axes.each_ref().map(Vec::len);
        GridShape { rows, columns }
    }
}

fn whole(cells: Vec<usize>) -> Vec<Place> {
    cells.into_iter().map(Place::anywhere_in).collect()
}

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

/// The place of every index along an axis of S points, between the centres of cells.
fn smooth_axis(size: usize) -> Vec<Place> {
    let ends = FROM_END.map(f64::from).into_iter().skip(1).chain([64.0]);
    let near: Vec<f64> =
        FROM_END.into_iter().zip(ends).map(|(begin, end)| 0.5 * (f64::from(begin) + end)).collect();
    let far = near.iter().rev().map(|centre| 128.0 - centre);
    let centres: Vec<f64> = near.iter().copied().chain(far).collect();
    (0..size).map(|k| Place::between(&centres, (k as f64 + 0.5) * 128.0 / size as f64)).collect()
}

/// The cell of every pixel's distance to the nearest point of a mask.
pub fn distance_cells(mask: &Mask) -> Vec<usize> {
    let of = |distance: f32| match distance {
        0.0 => 0,
        // On a fine grid a neighbour is close, and still no sensor.
        distance => last_begun(&FROM_SENSOR, distance).max(1),
    };
    distances(mask).map(of).collect()
}

/// The place of every pixel's distance to the nearest point of a mask, between the centres of cells. A sensor's own
/// pixel is apart from the others.
fn smooth_distances(mask: &Mask) -> Vec<Place> {
    let inner = FROM_SENSOR.windows(2).skip(1).map(|ends| 0.5 * f64::from(ends[0] + ends[1]));
    let centres: Vec<f64> = inner.chain([f64::from(FARTHEST)]).collect();
    let of = |distance: f32| match distance {
        0.0 => Place::anywhere_in(0),
        distance => {
            let place = Place::between(&centres, f64::from(distance));
            Place { cell: place.cell + 1, ..place }
        }
    };
    distances(mask).map(of).collect()
}

/// Every pixel's distance to the nearest point of a mask, in pixels of a 128 x 128 grid.
fn distances(mask: &Mask) -> impl Iterator<Item = f32> {
    let scale = 128.0 / mask.shape().mean_side() as f32;
    gaps(mask).into_iter().map(move |gap| gap * scale)
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

    /// Lines through the centres of cells: half a pixel from an edge is the centre of the first, and what rises from
    /// cell to cell rises from pixel to pixel.
    #[test]
    fn smooth_places_follow_the_cells() {
        let factors: Vec<f64> = (0..AXIS_CELLS).map(|cell| cell as f64).collect();
        let along: Vec<f64> = smooth_axis(128).iter().map(|place| place.value(&factors)).collect();
        assert_eq!((along[0], along[1], along[127]), (0.0, 1.0, 13.0));
        assert!(along.is_sorted_by(|one, next| one < next));
        for (k, cell) in axis_cells(128).into_iter().enumerate() {
            assert!((along[k] - cell as f64).abs() < 1.0 && (along[k] + along[127 - k] - 13.0).abs() < 1e-9);
        }
        let mut mask = Mask::empty(128);
        mask.insert(0);
        let factors: Vec<f64> = (0..DISTANCE_CELLS).map(|cell| cell as f64).collect();
        let far: Vec<f64> =
            smooth_distances(&mask)[..128].iter().map(|place| place.value(&factors)).collect();
        assert_eq!((far[0], far[57], far[127]), (0.0, 12.0, 12.0));
        assert!(far[..58].is_sorted_by(|one, next| one < next));
        for (far, cell) in far.iter().zip(distance_cells(&mask)) {
            assert!((far - cell as f64).abs() < 1.0, "{far} {cell}");
        }
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

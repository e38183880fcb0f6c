//! How well sensors cover the square.

use scope_pde::GridShape;
use serde::Serialize;

use super::mask::Mask;

/// How sensors cover a field. Gaps are distances from a pixel to the nearest sensor, in units of the square's side, or
/// of the side of a square with as many pixels; distances do not wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Pixels measured.
    pub sensors: usize,
    /// Their share of all pixels.
    pub share: f64,
    /// The gap of a pixel, on average.
    pub mean_gap: f64,
    /// The widest gap.
    pub largest_gap: f64,
}

impl Coverage {
    /// How a mask covers the square; none if it is empty.
    pub fn of(mask: &Mask) -> Option<Self> {
        let shape = mask.shape();
        let sensors = mask.count();
        if sensors == 0 {
            return None;
        }
        let gaps = gaps(mask);
        let points = shape.points() as f64;
        Some(Self {
            sensors,
            share: sensors as f64 / points,
            mean_gap: gaps.iter().copied().map(f64::from).sum::<f64>() / points / shape.mean_side(),
            largest_gap: f64::from(gaps.iter().copied().fold(0.0, f32::max)) / shape.mean_side(),
        })
    }
}

/// The distance of every pixel to the nearest point of a mask, in pixels; infinite if the mask is empty.
///
/// First down the columns, g(i, j) = min over i' of |i - i'|; then along the rows, d^2 = min over j' of
/// g(i, j')^2 + (j - j')^2, for a row at once from near columns to far ones, until |j - j'| alone is too far.
pub fn gaps(mask: &Mask) -> Vec<f32> {
    let GridShape { rows, columns } = mask.shape();
    let points = rows * columns;
    if mask.count() == 0 {
        return vec![f32::INFINITY; points];
    }
    // In f32, where vectors have a minimum on every processor; squares of fewer than 4,096 pixels are exact.
    let mut down = vec![(rows + columns) as f32; points];
    mask.points().for_each(|point| down[point] = 0.0);
    for start in (columns..points).step_by(columns) {
        let (above, below) = down.split_at_mut(start);
        let next = below.iter_mut().zip(&above[start - columns..]);
        next.for_each(|(own, above)| *own = smaller(*own, above + 1.0));
    }
    for start in (columns..points).step_by(columns).rev() {
        let (above, below) = down.split_at_mut(start);
        let next = above[start - columns..].iter_mut().zip(&below[..columns]);
        next.for_each(|(own, below)| *own = smaller(*own, below + 1.0));
    }
    let squares: Vec<f32> = down.into_iter().map(|own| own * own).collect();
    let mut nearest = squares.clone();
    for (row, best) in squares.chunks_exact(columns).zip(nearest.chunks_exact_mut(columns)) {
        for apart in 1..columns {
            let square = apart as f32 * apart as f32;
            if best.iter().all(|best| *best <= square) {
                break;
            }
            let lower = |(best, g): (&mut f32, &f32)| *best = smaller(*best, g + square);
            best[apart..].iter_mut().zip(row).for_each(lower);
            best.iter_mut().zip(&row[apart..]).for_each(lower);
        }
    }
    nearest.into_iter().map(f32::sqrt).collect()
}

/// The smaller of two numbers, neither of which is NaN: one instruction of a vector.
fn smaller(x: f32, y: f32) -> f32 {
    if y < x { y } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_distances_to_the_nearest_point() {
        for points in [&[3 * 16 + 4, 12 * 16 + 15, 0][..], &[77], &[5, 6, 7, 8, 250]] {
            let mask = Mask::from_fn(16, |i, j| points.contains(&(16 * i + j)));
            for (at, gap) in gaps(&mask).into_iter().enumerate() {
                let to = |point: &usize| {
                    let [i, j] = [(at / 16).abs_diff(point / 16), (at % 16).abs_diff(point % 16)];
                    ((i * i + j * j) as f32).sqrt()
                };
                assert_eq!(gap, points.iter().map(to).fold(f32::INFINITY, f32::min), "{at}");
            }
        }
        let tall = Mask::from_fn([7, 3], |i, j| [i, j] == [6, 0]);
        assert_eq!(gaps(&tall)[..4], [6.0, 37_f32.sqrt(), 40_f32.sqrt(), 5.0]);
        let wide = Mask::from_fn([3, 7], |i, j| [i, j] == [0, 6]);
        assert_eq!(gaps(&wide)[..2], [6.0, 5.0]);
        assert!(gaps(&Mask::empty(16)).iter().all(|gap| *gap == f32::INFINITY));
    }

    #[test]
    fn coverage_tells_sensors_and_gaps() {
        let mask = Mask::from_fn(16, |i, j| [(3, 4), (12, 15), (0, 0)].contains(&(i, j)));
        let coverage = Coverage::of(&mask).unwrap();
        assert_eq!((coverage.sensors, coverage.share), (3, 3.0 / 256.0));
        assert!(coverage.mean_gap < coverage.largest_gap);
        assert_eq!(Coverage::of(&Mask::empty(16)), None);
        assert_eq!(Coverage::of(&Mask::full(16)).map(|c| (c.mean_gap, c.largest_gap)), Some((0.0, 0.0)));
    }
}

//! How well sensors cover the square.

use scope_data::observation::Mask;
use serde::Serialize;

/// How sensors cover a field. Gaps are distances from a pixel to the nearest sensor, in units of the square's side;
/// distances do not wrap around.
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
    /// Of a mask; none if it is empty.
    pub fn of(mask: &Mask) -> Option<Self> {
        let (size, sensors) = (mask.size(), mask.count());
        if sensors == 0 {
            return None;
        }
        let gaps = gaps(mask);
        let points = (size * size) as f64;
        Some(Self {
            sensors,
            share: sensors as f64 / points,
            mean_gap: gaps.iter().sum::<f64>() / points / size as f64,
            largest_gap: gaps.iter().copied().fold(0.0, f64::max) / size as f64,
        })
    }
}

/// The distance of every pixel to the nearest point of a mask that is not empty, in pixels.
///
/// First down the columns, g(i, j) = min over i' of |i - i'|; then along the rows, d^2 = min over j' of
/// g(i, j')^2 + (j - j')^2.
fn gaps(mask: &Mask) -> Vec<f64> {
    let size = mask.size();
    let far = (4 * size) as f32;
    let mut down = vec![far; size * size];
    mask.points().for_each(|point| down[point] = 0.0);
    for point in size..size * size {
        down[point] = down[point].min(down[point - size] + 1.0);
    }
    for point in (0..size * (size - 1)).rev() {
        down[point] = down[point].min(down[point + size] + 1.0);
    }
    let mut gaps = Vec::with_capacity(size * size);
    for row in down.chunks(size) {
        let squares: Vec<f32> = row.iter().map(|g| g * g).collect();
        for j in 0..size {
            let across = squares.iter().enumerate().map(|(k, square)| {
                let apart = k as f32 - j as f32;
                square + apart * apart
            });
            gaps.push(f64::from(across.fold(f32::INFINITY, f32::min)).sqrt());
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_distances_to_the_nearest_sensor() {
        let mut mask = Mask::empty(16);
        for point in [3 * 16 + 4, 12 * 16 + 15, 0] {
            mask.insert(point);
        }
        let nearest = |i: i64, j: i64| {
            let to = |(p, q): (i64, i64)| (((i - p).pow(2) + (j - q).pow(2)) as f64).sqrt();
            [(3, 4), (12, 15), (0, 0)].map(to).into_iter().fold(f64::INFINITY, f64::min)
        };
        for (point, gap) in gaps(&mask).into_iter().enumerate() {
            assert!((gap - nearest(point as i64 / 16, point as i64 % 16)).abs() < 1e-6);
        }
        let coverage = Coverage::of(&mask).unwrap();
        assert_eq!((coverage.sensors, coverage.share), (3, 3.0 / 256.0));
        assert!(coverage.mean_gap < coverage.largest_gap);
        assert_eq!(Coverage::of(&Mask::empty(16)), None);
        assert_eq!(Coverage::of(&Mask::full(16)).map(|c| (c.mean_gap, c.largest_gap)), Some((0.0, 0.0)));
    }
}

//! Error bands for methods that know no uncertainty of their own, by split-conformal calibration.
//!
//! On held-out records of one condition every pixel's |error| is counted, apart by channel and by place: how far the pixel
//! is from the nearest sensor of its channel or, where a channel has none, from the edge. The band at a place is the
//! quantile of what was counted there. With n records a level p is read at p (n + 1) / n, as if a fresh record
//! held only larger errors; then a fresh record's pixel lies within its band with probability p or a little more, on
//! average over records, masks and pixels, whatever the method and however its errors are distributed.

use std::ops::Range;

use scope_data::observation::{ContextMasks, Mask};
use serde::{Deserialize, Serialize};

/// Places end at these distances, in pixels of a 128 x 128 grid; the last has no end.
const ENDS: [f32; 7] = [0.5, 1.5, 3.0, 5.0, 8.0, 12.0, 20.0];
/// Kinds of places.
pub const PLACES: usize = ENDS.len() + 1;
/// A place with fewer pixels counted has no band of its own.
const FEWEST: u64 = 2000;

/// Buckets of |error| for each doubling: a quantile is right to within 1.1%.
const BUCKETS_PER_DOUBLING: f64 = 64.0;
/// Doublings that are told apart.
const DOUBLINGS: Range<f64> = -40.0..24.0;

/// Counts errors of one condition. Counting is exact, so results do not depend on the order of records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    records: u64,
    /// Of a and of u.
    channels: [[Counts; PLACES]; 2],
}

/// How often errors of each size occurred.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    total: u64,
    buckets: Vec<u64>,
}

/// Half-widths by place for one condition and level, in physical units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// The share of pixels that lie within.
    pub level: f64,
    /// Records that it was calibrated on.
    pub records: u64,
    /// Of a, from the nearest place to the farthest.
    pub a: [f64; PLACES],
    /// Of u.
    pub u: [f64; PLACES],
}

impl Calibration {
    /// Counts one record: what was seen, and recovered minus true values of a and u in physical units.
    pub fn add(&mut self, masks: &ContextMasks, errors: [&[f32]; 2]) {
        self.records += 1;
        for ((counts, errors), mask) in self.channels.iter_mut().zip(errors).zip([&masks.a, &masks.u]) {
            for (place, error) in places(mask).into_iter().zip(errors) {
                counts[place].add(f64::from(error.abs()));
            }
        }
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Calibration) {
        self.records += other.records;
        for (own, others) in self.channels.iter_mut().flatten().zip(other.channels.iter().flatten()) {
            own.merge(others);
        }
    }

    /// The bands that hold a share `level` of all pixels; none where too little was counted to tell.
    pub fn bands(&self, level: f64) -> Option<Bands> {
        let share = level * (self.records + 1) as f64 / self.records as f64;
        let [a, u] = [0, 1].map(|channel| widths(&self.channels[channel], share));
        Some(Bands { level, records: self.records, a: a?, u: u? })
    }
}

impl Bands {
    /// The half-width of every pixel of a and u, \[S, S\] each.
    pub fn maps(&self, masks: &ContextMasks) -> [Vec<f32>; 2] {
        let map = |mask: &Mask, widths: &[f64; PLACES]| {
            places(mask).into_iter().map(|place| widths[place] as f32).collect()
        };
        [map(&masks.a, &self.a), map(&masks.u, &self.u)]
    }

    /// The shares of pixels of a and u whose error lies within its band, of those that have one: where a value is known, such as
    /// zero on the edge, bands have no width and promise nothing.
    pub fn coverage(&self, masks: &ContextMasks, errors: [&[f32]; 2]) -> [f64; 2] {
        let maps = self.maps(masks);
        [0, 1].map(|channel| {
            let uncertain = || errors[channel].iter().zip(&maps[channel]).filter(|(_, width)| **width > 0.0);
            let within = uncertain().filter(|(error, width)| error.abs() <= **width).count();
            within as f64 / uncertain().count().max(1) as f64
        })
    }
}

impl Counts {
    fn add(&mut self, error: f64) {
        let bucket = bucket(error);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.total += 1;
    }

    fn merge(&mut self, other: &Counts) {
        self.total += other.total;
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, other)| *own += other);
    }

    /// The upper end of the bucket by which a share of the errors is reached; that of the largest if it never is.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.total as f64).ceil() as u64;
        let mut reached = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            reached += count;
            if reached >= wanted && reached > 0 {
                return upper_end(bucket);
            }
        }
        upper_end(self.buckets.len().saturating_sub(1))
    }
}

/// Bucket 0 holds what is smaller than anything told apart, zero included.
fn bucket(error: f64) -> usize {
    let doubling = error.log2().clamp(DOUBLINGS.start, DOUBLINGS.end);
    ((doubling - DOUBLINGS.start) * BUCKETS_PER_DOUBLING).ceil() as usize
}

fn upper_end(bucket: usize) -> f64 {
    match bucket {
        0 => 0.0,
        _ => (bucket as f64 / BUCKETS_PER_DOUBLING + DOUBLINGS.start).exp2(),
    }
}

/// The quantile of each place; where too little was counted, the widest of those that have one.
fn widths(counts: &[Counts; PLACES], share: f64) -> Option<[f64; PLACES]> {
    let known = |counts: &Counts| (counts.total >= FEWEST).then(|| counts.quantile(share));
    let widest = counts.iter().filter_map(known).reduce(f64::max)?;
    Some(std::array::from_fn(|place| known(&counts[place]).unwrap_or(widest)))
}

/// The kind of place of every pixel.
fn places(mask: &Mask) -> Vec<usize> {
    let size = mask.size();
    let scale = size as f32 / 128.0;
    let distances = if mask.count() > 0 { to_sensors(mask) } else { to_edge(size) };
    let place = |distance: f32| ENDS.iter().take_while(|end| distance > **end * scale).count();
    // A sensor's own pixel is place 0 on any grid, and its neighbours are not.
    distances.into_iter().map(|distance| if distance > 0.0 { place(distance).max(1) } else { 0 }).collect()
}

fn to_edge(size: usize) -> Vec<f32> {
    let inward = |k: usize| k.min(size - 1 - k);
    (0..size * size).map(|at| inward(at / size).min(inward(at % size)) as f32).collect()
}

/// Euclidean distances in pixels: along rows first, then the best over rows.
fn to_sensors(mask: &Mask) -> Vec<f32> {
    let size = mask.size();
    let far = (2 * size) as i64;
    let mut along = vec![far; size * size];
    for (i, row) in along.chunks_exact_mut(size).enumerate() {
        let mut run = |columns: &mut dyn Iterator<Item = usize>| {
            let mut distance = far;
            for j in columns {
                distance = if mask.contains(i * size + j) { 0 } else { distance + 1 };
                row[j] = row[j].min(distance);
            }
        };
        run(&mut (0..size));
        run(&mut (0..size).rev());
    }
    let nearest = |at: usize| {
        let (i, j) = (at / size, at % size);
        let square = |k: usize| (i as i64 - k as i64).pow(2) + along[k * size + j].pow(2);
        (0..size).map(square).fold(i64::MAX, i64::min)
    };
    (0..size * size).map(|at| (nearest(at) as f32).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(points: &[usize]) -> ContextMasks {
        let mut masks = ContextMasks::empty(32);
        points.iter().for_each(|point| {
            masks.a.insert(*point);
        });
        masks
    }

    #[test]
    fn distances_are_euclidean() {
        let points = [33, 5 * 32 + 30, 900];
        let mask = masks(&points).a;
        for (at, distance) in to_sensors(&mask).into_iter().enumerate() {
            let to = |p: &usize| {
                let (i, j) = ((at / 32).abs_diff(p / 32) as f32, (at % 32).abs_diff(p % 32) as f32);
                (i * i + j * j).sqrt()
            };
            assert_eq!(distance, points.iter().map(to).fold(f32::INFINITY, f32::min));
        }
        assert_eq!(places(&mask).iter().filter(|place| **place == 0).count(), 3);
        // Nothing of u is seen: places run from the edge inwards.
        assert_eq!(to_edge(32)[32 * 3 + 9], 3.0);
    }

    #[test]
    fn quantiles_are_those_of_the_errors() {
        let mut counts = Counts::default();
        (1..=10_000).for_each(|k| counts.add(k as f64 / 1e6));
        for share in [0.1, 0.5, 0.95] {
            let ratio = counts.quantile(share) / (share * 1e-2);
            assert!((1.0..1.011).contains(&ratio), "{ratio}");
        }
        assert!(counts.quantile(1.2) >= 1e-2);
        let mut zeros = Counts::default();
        (0..10).for_each(|_| zeros.add(0.0));
        assert_eq!(zeros.quantile(0.9), 0.0);
    }

    #[test]
    fn the_order_of_records_does_not_matter() {
        let records: Vec<Vec<f32>> = (0..6)
            .map(|n| (0..1024).map(|k| ((k * 37 + n * 11) % 101) as f32 / 50.0 - 1.0).collect())
            .collect();
        let of = |order: &[usize]| {
            let mut calibration = Calibration::default();
            order.iter().for_each(|n| calibration.add(&masks(&[40 * n + 7]), [&records[*n], &records[*n]]));
            calibration
        };
        let mut halves = of(&[0, 1, 2]);
        halves.merge(&of(&[3, 4, 5]));
        assert_eq!(halves, of(&[5, 2, 0, 4, 1, 3]));
        assert!(halves.bands(0.9).is_some());
        assert_eq!(Calibration::default().bands(0.9), None);
    }

    /// Places that hardly occur take the widest band.
    #[test]
    fn what_was_hardly_seen_is_not_trusted() {
        let mut counts: [Counts; PLACES] = Default::default();
        (0..3000).for_each(|_| counts[2].add(0.5));
        (0..3000).for_each(|_| counts[3].add(2.0));
        (0..10).for_each(|_| counts[7].add(1e-6));
        let widths = widths(&counts, 0.9).unwrap();
        assert_eq!(widths[7], widths[3]);
        assert!(widths[2] < widths[3]);
    }
}

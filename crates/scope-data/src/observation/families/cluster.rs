//! A weighted subset without replacement, the weights a mixture of Gaussians.
//!
//! Drawing points one after another with probability proportional to their weight, without replacement,
//! takes the same points as giving every point an exponential waiting time with its weight as rate and
//! taking the first ones (Efraimidis and Spirakis). So a mask costs one logarithm a point, in a loop that
//! uses vector units, and one selection. The logarithm is our own: the standard library's last bit differs
//! between machines.

use std::f64::consts::{LN_2, SQRT_2};

use multiversion::multiversion;
use scope_pde::GridShape;

use super::{FamilyDescriptor, POINT_BUDGETS, POINT_TRAINING_BUDGETS, scaled_points};
use crate::{draw::Draw, observation::mask::Mask};

/// A few Gaussian clusters.
pub(in crate::observation) static CLUSTER: FamilyDescriptor = FamilyDescriptor {
    name: "cluster",
    construction: || {
        format!(
            "{} to {} equally weighted Gaussians with centres at least {SEPARATION:.2} and widths of {:.2} to {:.2} of the domain's; \
             weighted sampling without replacement",
            COMPONENTS[0], COMPONENTS[1], WIDTHS[0], WIDTHS[1]
        )
    },
    budgets: &POINT_BUDGETS,
    training_budgets: &POINT_TRAINING_BUDGETS,
    any_budget: true,
    takes_few: true,
    points: scaled_points,
    sample: |mask, budget, stream| sample(mask, budget.points, stream),
};

/// The least and the largest number of Gaussians.
const COMPONENTS: [usize; 2] = [2, 4];
/// The least distance of two centres, in domain widths.
const SEPARATION: f64 = 0.30;
/// The range of standard deviations, in domain widths.
const WIDTHS: [f64; 2] = [0.12, 0.20];

/// One Gaussian of the mixture that points are drawn from.
#[derive(Clone, Copy, Debug)]
struct Component {
    centre: [f64; 2],
    width: f64,
}

/// Takes `points` points, fewer than the whole grid.
fn sample(mask: &mut Mask, points: usize, stream: &mut impl Draw) {
    let weights = weights(mask.shape(), &components(stream));
    take_first(mask, points, &weights, stream);
}

/// Gives every point a waiting time and takes the first `points` of them.
fn take_first(mask: &mut Mask, points: usize, weights: &[f64], stream: &mut impl Draw) {
    let all = mask.shape().points();
    let words: Vec<u32> = (0..all).map(|_| stream.word()).collect();
    let mut keys = vec![0; all];
    waiting_times(&words, weights, index_bits(all), &mut keys);
    let (first, last, _) = keys.select_nth_unstable(points - 1);
    let index = |key: u64| (key & ((1 << index_bits(all)) - 1)) as usize;
    mask.insert(index(*last));
    first.iter().for_each(|key| {
        mask.insert(index(*key));
    });
}

/// Two to four components: centres uniform in the unit square, each redrawn until it is far enough from
/// those before it; then their widths.
fn components(stream: &mut impl Draw) -> Vec<Component> {
    let [least, most] = COMPONENTS;
    let count = least + stream.below(most - least + 1);
    let mut centres: Vec<[f64; 2]> = Vec::new();
    while centres.len() < count {
        let [x, y] = [stream.unit(), stream.unit()];
        let apart = |[p, q]: &[f64; 2]| (x - p) * (x - p) + (y - q) * (y - q) >= SEPARATION * SEPARATION;
        if centres.iter().all(apart) {
            centres.push([x, y]);
        }
    }
    let component = |centre| Component { centre, width: stream.between(WIDTHS[0], WIDTHS[1]) };
    centres.into_iter().map(component).collect()
}

/// \[rows, columns\]: the density of the mixture at pixel centres, up to a factor. Components have equal mass, so
/// each is divided by its width squared; it is the product of one factor for each axis.
fn weights(shape: GridShape, components: &[Component]) -> Vec<f64> {
    let mut weights = vec![0.0; shape.points()];
    for Component { centre, width } in components {
        let factor = |k: usize, axis: usize| {
            let z = ((k as f64 + 0.5) / shape.lengths()[axis] as f64 - centre[axis]) / width;
            libm::exp(-0.5 * z * z) / width
        };
        let columns: Vec<f64> = (0..shape.columns).map(|j| factor(j, 1)).collect();
        for (i, row) in weights.chunks_exact_mut(shape.columns).enumerate() {
            let rows = factor(i, 0);
            row.iter_mut().zip(&columns).for_each(|(weight, column)| *weight += rows * column);
        }
    }
    weights
}

/// Bits that number the points of a grid.
fn index_bits(points: usize) -> u32 {
    points.next_power_of_two().trailing_zeros()
}

/// -ln(u) / weight with u = (word + 1/2) / 2^32, as integers in the same order: the bits of a positive
/// float. The lowest bits give way to the number of the point, which also breaks ties.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn waiting_times(words: &[u32], weights: &[f64], index_bits: u32, keys: &mut [u64]) {
    let words = &words[..keys.len()];
    let weights = &weights[..keys.len()];
    let kept = !((1 << index_bits) - 1);
    for (point, key) in keys.iter_mut().enumerate() {
        let u = (f64::from(words[point]) + 0.5) * (1.0 / 4294967296.0);
        let time = -ln(u) / weights[point];
        *key = time.to_bits() & kept | point as u64;
    }
}

/// The natural logarithm of a normal positive number, to about 1e-15: with x = m 2^e and m in [1/sqrt 2,
/// sqrt 2), ln x = e ln 2 + 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1).
#[inline(always)]
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let high = mantissa > SQRT_2;
    let m = if high { 0.5 * mantissa } else { mantissa };
    let e = if high { exponent + 1.0 } else { exponent };
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut series = 1.0 / 19.0;
    for odd in [17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        series = 1.0 / odd + z * series;
    }
    e * LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use scope_pde::random::Coordinates;

    #[test]
    fn centres_keep_their_distance_and_widths_their_range() {
        let mut counts = [0; 5];
        for record in 0..10_000 {
            let components = components(&mut Coordinates::new("clusters").number(record).stream());
            counts[components.len()] += 1;
            for (k, one) in components.iter().enumerate() {
                assert!((WIDTHS[0]..=WIDTHS[1]).contains(&one.width));
                assert!(one.centre.iter().all(|c| (0.0..1.0).contains(c)));
                for other in &components[..k] {
                    let [dx, dy] = [0, 1].map(|axis| one.centre[axis] - other.centre[axis]);
                    assert!(dx.hypot(dy) >= SEPARATION - 1e-12);
                }
            }
        }
        assert!(counts[..2] == [0, 0] && counts[2..].iter().all(|n| (3000..3700).contains(n)), "{counts:?}");
    }

    /// Waiting times take the points that drawing one after another takes, with the same chances.
    #[test]
    fn waiting_times_equal_successive_draws() {
        let size = 4;
        let points = 5;
        let trials = 40_000;
        let weights: Vec<f64> = (0..16).map(|k| f64::from(1 + k * k)).collect();
        let mut timed = [0f64; 16];
        let mut drawn = [0f64; 16];
        for trial in 0..trials {
            let mut stream = Coordinates::new("successive").number(trial).stream();
            let mut mask = Mask::empty(size);
            take_first(&mut mask, points, &weights, &mut stream);
            mask.points().for_each(|point| timed[point] += 1.0);
            let mut left: Vec<usize> = (0..16).collect();
            for _ in 0..points {
                let total: f64 = left.iter().map(|point| weights[*point]).sum();
                let mut rest = stream.unit() * total;
                let hit = left.iter().position(|point| {
                    rest -= weights[*point];
                    rest < 0.0
                });
                drawn[left.remove(hit.unwrap_or(left.len() - 1))] += 1.0;
            }
        }
        for point in 0..16 {
            let share = (timed[point] + drawn[point]) / (2 * trials) as f64;
            let error = (2.0 * trials as f64 * share * (1.0 - share)).sqrt();
            assert!((timed[point] - drawn[point]).abs() < 4.5 * error, "{point}: {timed:?} {drawn:?}");
        }
    }

    #[test]
    fn the_logarithm_is_accurate() {
        for k in 0..4000 {
            let x = (f64::from(k) * 1073741.0 + 0.5) / 4294967296.0;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "{x}: {} {}", ln(x), x.ln());
        }
    }
}

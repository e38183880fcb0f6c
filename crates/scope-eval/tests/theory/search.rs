//! Minimisers found from values of the function alone.

use crate::theory::arithmetic::{Matrix, dot, minus};

/// The minimiser of a quadratic function of n numbers. Second differences of a quadratic are its second derivatives
/// exactly, so these are its normal equations, whatever it was built from.
pub(crate) fn minimise_quadratic(n: usize, function: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let unit = |places: &[usize], size: f64| {
        let mut point = vec![0.0; n];
        places.iter().for_each(|k| point[*k] += size);
        function(&point)
    };
    let nothing = unit(&[], 0.0);
    let single: Vec<f64> = (0..n).map(|k| unit(&[k], 1.0)).collect();
    let gradient: Vec<f64> = (0..n).map(|k| 0.5 * (unit(&[k], -1.0) - single[k])).collect();
    let second = |i: usize, j: usize| unit(&[i, j], 1.0) - single[i] - single[j] + nothing;
    let hessian = Matrix::new(n, (0..n * n).map(|k| second(k / n, k % n)).collect());
    let first = hessian.solve(&gradient);
    // One more step from there takes out what rounding left.
    let slope = |k: usize, h: f64| {
        let moved = |h: f64| {
            let mut point = first.clone();
            point[k] += h;
            function(&point)
        };
        0.5 * (moved(h) - moved(-h)) / h
    };
    let left: Vec<f64> = (0..n).map(|k| slope(k, 1.0)).collect();
    minus(&first, &hessian.solve(&left))
}

/// Where a function of one number has its least value between two bounds, and that value: the best point of a fine
/// grid, closed in on with golden sections. Functions here are smooth and bend little between grid points.
pub(crate) fn minimise(low: f64, high: f64, function: impl Fn(f64) -> f64) -> (f64, f64) {
    const POINTS: usize = 3000;
    let step = (high - low) / POINTS as f64;
    let at = |k: usize| low + step * k as f64;
    let best = (0..=POINTS).min_by(|i, j| function(at(*i)).total_cmp(&function(at(*j)))).unwrap();
    assert!((1..POINTS).contains(&best), "the minimum lies outside {low} .. {high}");
    let mut left = at(best) - step;
    let mut right = at(best) + step;
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    for _ in 0..80 {
        let x = right - golden * (right - left);
        let y = left + golden * (right - left);
        if function(x) < function(y) {
            right = y;
        } else {
            left = x;
        }
    }
    let place = 0.5 * (left + right);
    (place, function(place))
}

#[test]
fn minimisers_of_known_functions_are_found() {
    let matrix = Matrix::new(2, vec![3.0, 1.0, 1.0, 2.0]);
    let point = minimise_quadratic(2, |x| 0.5 * dot(x, &matrix.of(x)) - 5.0 * x[0] + 7.0);
    assert!((point[0] - 2.0).abs() < 1e-13 && (point[1] + 1.0).abs() < 1e-13);
    let (place, value) = minimise(-3.0, 3.0, |x| (x - 1.0).powi(2) * (x + 2.0).powi(2) + 0.1 * x);
    assert!(place < -1.9 && value < -0.19);
}

//! The ridge of local fits: how far coefficients are drawn to zero, measured on the training set before a run begins.
//!
//! A polynomial does not follow a field exactly: around a point it leaves a residual of variance r^2. Taken as noise,
//! that residual makes r^2 / E[c_k^2] the ridge of a coefficient c_k whose own size is known. A smooth field has next
//! to none; a rough or two-valued one has so much that without it few sensors make wild fits.

use rayon::prelude::*;
use scope_data::{Channel, Dataset, PerChannel};
use scope_engine::BasisFunction;
use scope_model::FitConfig;
use scope_pde::{
    GridShape,
    linear::cholesky::{Cholesky, dot},
};

use crate::error::TrainError;

/// Records that are looked at, evenly over the training set.
const RECORDS: usize = 64;
/// Pixels from one point that is looked at to the next.
const STRIDE: usize = 8;
/// How many scales a window reaches from its point, where the grid is large enough: weights are exp(-8) there.
const REACH: f64 = 4.0;

/// The ridge of every channel of the fits (scale, field, coefficient): a share of r^2 / E[c_k^2] over windows of
/// complete fields, and at least the ridge that the fits have. A pure function of the records and the fits.
pub(super) fn measure(data: &Dataset, fits: &FitConfig, share: f64) -> Result<Vec<f64>, TrainError> {
    let grid = data.meta().resolution;
    let basis = fits.local_fit().basis();
    let floor = fits.local_fit().channel_ridges(Channel::BOTH.len());
    let windows = fits.scales.iter().map(|scale| Window::new(*scale, grid, &basis));
    let windows = windows.collect::<Option<Vec<Window>>>().ok_or_else(|| {
        TrainError::Recipe(format!(
            "local fits of degree {} are not determined on a grid of {grid}",
            fits.degree
        ))
    })?;
    let count = data.len().min(RECORDS);
    let records = (0..count).into_par_iter().map(|k| {
        let pair = data.pair(k * data.len() / count)?;
        let sums = |window: &Window| pair.fields().map(|field| window.sums(field, grid));
        Ok(windows.iter().map(sums).collect::<Vec<PerChannel<Sums>>>())
    });
    let records = records.collect::<Result<Vec<_>, TrainError>>()?;
    let mut ridges = Vec::with_capacity(floor.len());
    for scale in 0..windows.len() {
        for channel in Channel::BOTH {
            let all = records.iter().map(|record| &record[scale][channel]);
            ridges.extend(all.fold(Sums::zero(basis.len()), Sums::add).ratios().map(|ratio| share * ratio));
        }
    }
    Ok(ridges.into_iter().zip(floor).map(|(ridge, floor)| ridge.max(floor)).collect())
}

/// The pixels around a point, and the least-squares fit to all of them.
struct Window {
    /// Pixels from the point to the window's edge.
    reach: usize,
    /// w_q = exp(-|q - p|^2 / 2 s^2), which add up to one, \[pixels\].
    weights: Vec<f64>,
    /// The functions of the basis at each pixel, \[pixels, coefficients\].
    functions: Vec<f64>,
    /// The coefficients of a field v are H v, \[coefficients, pixels\].
    fit: Vec<f64>,
}

/// Squares summed over points.
struct Sums {
    /// Squares of each coefficient.
    coefficients: Vec<f64>,
    /// Weighted squares of what the fits leave.
    residual: f64,
}

impl Window {
    /// The window of a scale, unless too few pixels determine a fit.
    fn new(scale: f64, grid: GridShape, basis: &[BasisFunction]) -> Option<Self> {
        let reach = ((REACH * scale).ceil() as usize).min((grid.rows.min(grid.columns) - 1) / 2);
        let side = 2 * reach + 1;
        let place = |pixel: usize| [pixel / side, pixel % side].map(|at| (at as f64 - reach as f64) / scale);
        let mut weights: Vec<f64> = (0..side * side)
            .map(|pixel| {
                let [x, y] = place(pixel);
                (-(x * x + y * y) / 2.0).exp()
            })
            .collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let functions: Vec<f64> = (0..side * side)
            .flat_map(|pixel| {
                let [x, y] = place(pixel);
                basis.iter().map(move |function| {
                    let [k, l] = function.powers.map(|power| power as i32);
                    function.factor * x.powi(k) * y.powi(l)
                })
            })
            .collect();
        let fit = least_squares(&functions, &weights, basis.len())?;
        Some(Self { reach, weights, functions, fit })
    }

    /// The sums over points of one field, \[rows, columns\].
    fn sums(&self, field: &[f32], grid: GridShape) -> Sums {
        let side = 2 * self.reach + 1;
        let count = self.fit.len() / self.weights.len();
        let mut sums = Sums::zero(count);
        let mut pixels = Vec::with_capacity(side * side);
        for row in (0..=grid.rows - side).step_by(STRIDE) {
            for column in (0..=grid.columns - side).step_by(STRIDE) {
                pixels.clear();
                let lines = (row..row + side).map(|line| &field[line * grid.columns + column..][..side]);
                pixels.extend(lines.flatten().map(|x| f64::from(*x)));
                let fitted = self.fit.chunks(pixels.len()).map(|line| dot(line, &pixels));
                let fitted: Vec<f64> = fitted.collect();
                for (sum, coefficient) in sums.coefficients.iter_mut().zip(&fitted) {
                    *sum += coefficient * coefficient;
                }
                let left = pixels.iter().zip(self.functions.chunks(count));
                let left = left.map(|(value, functions)| value - dot(functions, &fitted));
                sums.residual +=
                    left.zip(&self.weights).map(|(left, weight)| weight * left * left).sum::<f64>();
            }
        }
        sums
    }
}

impl Sums {
    fn zero(count: usize) -> Self {
        Self { coefficients: vec![0.0; count], residual: 0.0 }
    }

    fn add(mut self, other: &Self) -> Self {
        self.coefficients.iter_mut().zip(&other.coefficients).for_each(|(sum, x)| *sum += x);
        self.residual += other.residual;
        self
    }

    /// r^2 / E[c_k^2] of each coefficient; zero of one that is always zero.
    fn ratios(self) -> impl Iterator<Item = f64> {
        let ratio = move |square: f64| if square > 0.0 { self.residual / square } else { 0.0 };
        self.coefficients.into_iter().map(ratio)
    }
}

/// H = (B^T W B)^-1 B^T W for functions B \[pixels, count\] and weights W on a diagonal: \[count, pixels\].
fn least_squares(functions: &[f64], weights: &[f64], count: usize) -> Option<Vec<f64>> {
    let pixels = weights.len();
    let mut matrix = vec![0.0; count * count];
    for (functions, weight) in functions.chunks(count).zip(weights) {
        for (row, left) in matrix.chunks_mut(count).zip(functions) {
            row.iter_mut().zip(functions).for_each(|(sum, right)| *sum += weight * left * right);
        }
    }
    let factor = Cholesky::new(matrix, count).ok()?;
    let mut fit = vec![0.0; count * pixels];
    for (pixel, (functions, weight)) in functions.chunks(count).zip(weights).enumerate() {
        let mut column: Vec<f64> = functions.iter().map(|x| weight * x).collect();
        factor.solve(&mut column);
        (0..count).for_each(|k| fit[k * pixels + pixel] = column[k]);
    }
    Some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: GridShape = GridShape { rows: 40, columns: 48 };

    fn basis() -> Vec<BasisFunction> {
        let fits = FitConfig {
            scales: vec![3.0],
            degree: 2,
            stride: 1,
            ridge: vec![0.0, 0.0],
            periodic: [false; 2],
            edges: PerChannel::default(),
        };
        fits.local_fit().basis()
    }

    fn field(of: impl Fn(f64, f64) -> f64) -> Vec<f32> {
        let point = |k: usize| of((k / GRID.columns) as f64, (k % GRID.columns) as f64) as f32;
        (0..GRID.points()).map(point).collect()
    }

    #[test]
    fn a_polynomial_leaves_nothing_and_has_its_own_coefficients() {
        let window = Window::new(3.0, GRID, &basis()).unwrap();
        let sums = window.sums(&field(|_, y| 0.25 * y * y), GRID);
        let points = (GRID.rows - 2 * window.reach).div_ceil(STRIDE)
            * (GRID.columns - 2 * window.reach).div_ceil(STRIDE);
        // d^2/dy^2 of y^2 / 4 is a half; in units of the scale, 9 / 2.
        let expected = points as f64 * 4.5 * 4.5;
        assert!(
            (sums.coefficients[5] / expected - 1.0).abs() < 1e-6,
            "{} of {expected}",
            sums.coefficients[5]
        );
        assert!(sums.residual < 1e-6 * expected);
    }

    #[test]
    fn a_rough_field_asks_for_more_ridge_than_a_smooth_one_and_its_size_does_not_matter() {
        let window = Window::new(3.0, GRID, &basis()).unwrap();
        let ratio = |field: &[f32]| window.sums(field, GRID).ratios().nth(3).unwrap();
        let rough = field(|x, y| if (x * 0.7).sin() * (y * 0.9).cos() > 0.0 { 1.0 } else { -1.0 });
        let smooth = field(|x, y| (x * 0.1).sin() * (y * 0.12).cos());
        assert!(ratio(&rough) > 100.0 * ratio(&smooth));
        let larger: Vec<f32> = rough.iter().map(|x| 8.0 * x).collect();
        assert_eq!(ratio(&larger), ratio(&rough));
    }

    #[test]
    fn a_field_that_is_zero_asks_for_nothing() {
        let window = Window::new(3.0, GRID, &basis()).unwrap();
        assert!(window.sums(&field(|_, _| 0.0), GRID).ratios().all(|ratio| ratio == 0.0));
    }
}

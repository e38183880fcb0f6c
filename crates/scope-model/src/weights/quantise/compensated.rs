//! Error-compensated rounding, as in GPTQ and optimal brain quantisation: a layer's weights are rounded so that its
//! outputs change least, instead of each weight least.
//!
//! A row w of weights becomes s q, q integers. What the layer then gives for inputs x is off by d x with d = w - s q,
//! and the sum of squares over all x seen is |L^T d|^2, where L L^T = H = sum of x x^T is the Hessian of that sum, up
//! to a factor. (L^T d)_j = L_jj d_j + sum over i > j of L_ij d_i: going from the last weight to the first, each is
//! rounded to what makes its own term least, so that it compensates what those after it are off by. (On lattices this
//! is Babai's nearest plane.)

use rayon::prelude::*;
use scope_pde::linear::cholesky::Cholesky;

/// The integers q of rows of weights with a scale each, from -max to max.
///
/// # Shapes
/// weights and result \[n, k\], scales \[n\], L \[k, k\].
pub(super) fn round_compensated(weights: &[f32], scales: &[f32], max: f32, factor: &Cholesky) -> Vec<f32> {
    let width = weights.len() / scales.len().max(1);
    let rows = weights.par_chunks(width.max(1)).zip(scales);
    rows.map(|(row, scale)| round_row(row, f64::from(*scale), f64::from(max), factor))
        .collect::<Vec<_>>()
        .concat()
}

fn round_row(weights: &[f32], scale: f64, max: f64, factor: &Cholesky) -> Vec<f32> {
    let mut rounded = vec![0.0; weights.len()];
    if scale == 0.0 {
        return rounded;
    }
    // Of term j: sum of L_ij d_i over the i that are done.
    let mut compensation = vec![0.0; weights.len()];
    for i in (0..weights.len()).rev() {
        let (before, own) = factor.row(i).split_at(i);
        let weight = f64::from(weights[i]);
        let q = ((weight + compensation[i] / own[0]) / scale).round().clamp(-max, max);
        let error = weight - scale * q;
        compensation.iter_mut().zip(before).for_each(|(sum, l)| *sum += l * error);
        rounded[i] = q as f32;
    }
    rounded
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use scope_pde::random::Coordinates;

    use super::*;

    /// Inputs with a large common part, as tokens have, and their factor.
    fn inputs(width: usize) -> (Vec<Vec<f64>>, Cholesky) {
        let mut stream = Coordinates::new("inputs").stream();
        let mean: Vec<f64> = (0..width).map(|k| 2.0 + (k as f64).sin()).collect();
        let row = |_| mean.iter().map(|m| m + stream.random::<f64>() - 0.5).collect();
        let rows: Vec<Vec<f64>> = (0..4 * width).map(row).collect();
        let sum = |i: usize, j: usize| rows.iter().map(|x| x[i] * x[j]).sum::<f64>();
        let matrix = (0..width * width).map(|at| sum(at / width, at % width)).collect();
        let factor = Cholesky::new(matrix, width).unwrap();
        (rows, factor)
    }

    #[test]
    fn results_change_less_than_with_each_weight_rounded_to_nearest() {
        let width = 48;
        let (rows, factor) = inputs(width);
        let weights: Vec<f32> = (0..width).map(|k| (k as f32 * 1.7).cos() * 0.9).collect();
        let scale = 1.0_f32 / 127.0;
        let compensated = round_compensated(&weights, &[scale], 127.0, &factor);
        let nearest: Vec<f32> = weights.iter().map(|w| (w / scale).round()).collect();
        let off = |rounded: &[f32]| {
            let differences: Vec<f64> = weights
                .iter()
                .zip(rounded)
                .map(|(w, q)| f64::from(*w) - f64::from(scale) * f64::from(*q))
                .collect();
            rows.iter()
                .map(|x| x.iter().zip(&differences).map(|(x, d)| x * d).sum::<f64>().powi(2))
                .sum::<f64>()
        };
        assert!(off(&compensated) < 0.2 * off(&nearest), "{} {}", off(&compensated), off(&nearest));
        assert!(compensated.iter().all(|q| q.fract() == 0.0 && q.abs() <= 127.0));
    }

    #[test]
    fn inputs_that_have_nothing_in_common_round_to_nearest() {
        let unit = Cholesky::new(vec![1.0, 0.0, 0.0, 1.0], 2).unwrap();
        assert_eq!(
            round_compensated(&[0.26, -0.74, 9.0, 0.0], &[0.5, 0.0], 127.0, &unit),
            [1.0, -1.0, 0.0, 0.0]
        );
    }
}

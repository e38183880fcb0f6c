//! Muon: steps along orthogonalised momentum, for hidden matrices.

/// The settings of Muon (K. Jordan et al., 2024), which updates every hidden matrix W \[rows, columns\] by
///
/// b = mu b + (1 - mu) g; d = (1 - mu) g + mu b; X = d / (|d| + 1e-7), transposed if rows > columns;
/// five times: A = X X^T, X = 3.4445 X + (-4.7750 A + 2.0315 A^2) X;
/// W = (1 - rate decay) W - rate 0.2 sqrt(max(rows, columns)) X, transposed back.
///
/// The five steps of Newton and Schulz bring all singular values of X near one. The scale gives an update the size of
/// AdamW's (Moonlight, arXiv 2502.16982), so that both share one weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muon {
    /// mu: the share of the momentum that a step keeps.
    pub momentum: f64,
    /// Its learning rate, as a multiple of AdamW's in the same step.
    pub rate_ratio: f64,
}

impl Default for Muon {
    fn default() -> Self {
        Self { momentum: 0.95, rate_ratio: 1.0 }
    }
}

/// Steps of Newton and Schulz.
pub(crate) const STEPS: usize = 5;
/// X = a X + (b A + c A^2) X.
pub(crate) const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];
/// Added to the norm that a matrix is divided by.
pub(crate) const EPSILON: f64 = 1e-7;

/// What a step's rate is multiplied with: 0.2 sqrt(max(rows, columns)).
pub(crate) fn scale(rows: usize, columns: usize) -> f64 {
    0.2 * (rows.max(columns) as f64).sqrt()
}

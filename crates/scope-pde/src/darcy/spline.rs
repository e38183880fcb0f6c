//! Not-a-knot cubic splines on a uniform grid, as matrices.
//!
//! The released Darcy data move the permeability from cell centres to nodes, and the pressure back, with
//! tensor splines that extrapolate beyond the outermost knots. A spline is linear in its data, so each move
//! is one fixed matrix applied along both axes.

/// The matrix W \[targets, knots\] with (W y)_t = s(x_t), s the not-a-knot cubic spline through y at the
/// knots x_k = `start` + k `step`. Targets outside the knots extrapolate the outermost cubic.
pub(crate) fn spline_matrix(knots: usize, start: f64, step: f64, targets: &[f64]) -> Vec<f64> {
    let mut matrix = vec![0.0; targets.len() * knots];
    for k in 0..knots {
        let mut unit = vec![0.0; knots];
        unit[k] = 1.0;
        let curvatures = curvatures(&unit);
        for (t, &target) in targets.iter().enumerate() {
            matrix[t * knots + k] = evaluate(&unit, &curvatures, (target - start) / step);
        }
    }
    matrix
}

/// Second derivatives m_k (per unit step squared) at the knots: m_{k-1} + 4 m_k + m_{k+1} = 6 d_k, d_k the
/// second difference of y. Not-a-knot (m linear across the two outermost intervals) turns the second and
/// the last-but-one equation into m_1 = d_1 and m_{n-2} = d_{n-2}.
fn curvatures(y: &[f64]) -> Vec<f64> {
    let n = y.len();
    let second = |k: usize| y[k - 1] - 2.0 * y[k] + y[k + 1];
    let mut m = vec![0.0; n];
    m[1] = second(1);
    m[n - 2] = second(n - 2);
    // Thomas elimination for m_2 .. m_{n-3}, whose neighbours m_1 and m_{n-2} are known.
    let mut ratio = vec![0.0; n];
    for k in 2..n - 2 {
        let pivot = 4.0 - ratio[k - 1];
        ratio[k] = 1.0 / pivot;
        m[k] = (6.0 * second(k) - m[k - 1]) / pivot;
    }
    for k in (2..n - 2).rev() {
        m[k] -= ratio[k] * m[k + 1];
    }
    m[0] = 2.0 * m[1] - m[2];
    m[n - 1] = 2.0 * m[n - 2] - m[n - 3];
    m
}

/// The spline at position `x`, in steps from the first knot.
fn evaluate(y: &[f64], m: &[f64], x: f64) -> f64 {
    let cell = (x.floor().max(0.0) as usize).min(y.len() - 2);
    let right = x - cell as f64;
    let left = 1.0 - right;
    let bend = |t: f64| (t * t * t - t) / 6.0;
    left * y[cell] + right * y[cell + 1] + bend(left) * m[cell] + bend(right) * m[cell + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(matrix: &[f64], y: &[f64]) -> Vec<f64> {
        matrix.chunks(y.len()).map(|row| row.iter().zip(y).map(|(w, y)| w * y).sum()).collect()
    }

    /// A cubic is its own not-a-knot spline, inside and outside the knots.
    #[test]
    fn cubics_are_reproduced_with_extrapolation() {
        let cubic = |x: f64| 1.0 - 2.0 * x + 3.0 * x * x - 4.0 * x * x * x;
        let n = 16;
        let start = 0.03;
        let step = 0.0625;
        let y: Vec<f64> = (0..n).map(|k| cubic(start + step * k as f64)).collect();
        let targets: Vec<f64> = (0..40).map(|t| -0.05 + t as f64 / 36.0).collect();
        for (got, &x) in apply(&spline_matrix(n, start, step, &targets), &y).iter().zip(&targets) {
            assert!((got - cubic(x)).abs() < 1e-11, "{x}: {got}");
        }
    }

    #[test]
    fn data_are_interpolated() {
        let n = 12;
        let y: Vec<f64> = (0..n).map(|k| ((k * k * 7) % 5) as f64).collect();
        let knots: Vec<f64> = (0..n).map(|k| k as f64).collect();
        for (got, want) in apply(&spline_matrix(n, 0.0, 1.0, &knots), &y).iter().zip(&y) {
            assert!((got - want).abs() < 1e-12);
        }
    }
}

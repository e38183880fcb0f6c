//! The few modes of a Fourier transform that an FNO keeps, as small dense transforms.
//!
//! With n points a side, rows kx = 0 .. m - 1, -m .. -1 and columns ky = 0 .. m - 1 are kept. Each direction of the
//! transform is a real matrix along one axis: complex numbers are pairs (re, im) on an axis of their own.

use std::f64::consts::TAU;

use scope_engine::{AxisMap, EngineError, ParamId, Scope, Tape, Var};

/// Transforms between n x n points and 2 m x m modes.
#[derive(Clone, Debug)]
pub(super) struct Transforms {
    points: usize,
    modes: usize,
    rows: AxisMap,
    columns: AxisMap,
    columns_back: AxisMap,
    rows_back: AxisMap,
}

impl Transforms {
    /// How many numbers the four matrices have for each point of a side and each mode.
    pub(super) const CONSTANTS: usize = 16;

    /// Of `points` a side, keeping `modes` columns and twice as many rows.
    pub(super) fn new(points: usize, modes: usize) -> Self {
        let n = points;
        // Exact angles: the product is taken modulo n before it is scaled.
        let angle = |k: usize, p: usize| TAU * ((k * p) % n) as f64 / n as f64;
        let row = |k: usize| if k < modes { k } else { n + k - 2 * modes };
        let share = |ky: usize| if ky == 0 { 1.0 } else { 2.0 } / (n * n) as f64;
        Self {
            points,
            modes,
            // (kx, re | im) from p: exp(-i angle) of a real number.
            rows: AxisMap::new(4 * modes, n, |i, p| turn(-angle(row(i / 2), p), i % 2, 0)),
            // (ky, re | im) from (re | im, p).
            columns: AxisMap::new(2 * modes, 2 * n, |i, j| turn(-angle(i / 2, j % n), i % 2, j / n)),
            // (re | im, p) from (ky, re | im); a column beside the first stands for its mirror image too.
            columns_back: AxisMap::new(2 * n, 2 * modes, |i, j| {
                share(j / 2) * turn(angle(j / 2, i % n), i / n, j % 2)
            }),
            // p from (kx, re | im): the real part.
            rows_back: AxisMap::new(n, 4 * modes, |p, j| turn(angle(row(j / 2), p), 0, j % 2)),
        }
    }

    /// The transform of v, W applied mode by mode, and the way back.
    ///
    /// # Shapes
    /// v and the result \[batch, n, n, c\], W \[2 m, m, 2, c, c\].
    pub(super) fn convolve(&self, tape: &Tape<'_>, v: &Var, weight: ParamId) -> Result<Var, EngineError> {
        let n = self.points;
        let m = self.modes;
        let &[batch, .., c] = v.shape() else { return Ok(v.clone()) };
        let h = tape.map_axis(v, 1, &self.rows)?; // [batch, (kx, ri), n, c]
        let h = tape.map_axis(&h.reshape(&[batch, 2 * m, 2 * n, c])?, 2, &self.columns)?; // [batch, kx, (ky, ri), c]
        let h = tape.mix_modes(&h.reshape(&[batch, 2 * m * m, 2 * c])?, weight)?;
        let h = tape.map_axis(&h.reshape(&[batch, 2 * m, 2 * m, c])?, 2, &self.columns_back)?;
        tape.map_axis(&h.reshape(&[batch, 4 * m, n, c])?, 1, &self.rows_back)
    }

    /// Declares the weight of a convolution of `width` channels.
    pub(super) fn declare(mut scope: Scope<'_>, modes: usize, width: usize) -> ParamId {
        scope.weight("weight", &[2 * modes, modes, 2, width, width])
    }
}

/// The entry of exp(i angle) as a real matrix on (re, im): row `to`, column `from`.
fn turn(angle: f64, to: usize, from: usize) -> f64 {
    match (to, from) {
        (0, 0) | (1, 1) => angle.cos(),
        (0, _) => -angle.sin(),
        _ => angle.sin(),
    }
}

//! The few modes of a Fourier transform that an FNO keeps, as small dense transforms.
//!
//! Of p x q points, rows kx = 0 .. m - 1, -m .. -1 and columns ky = 0 .. k - 1 are kept. Each direction of the
//! transform is a real matrix along one axis: complex numbers are pairs (re, im) on an axis of their own.

use std::f64::consts::TAU;

use scope_engine::{AxisMap, EngineError, ParamId, Scope, Tape, Var};

/// Which modes are kept.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// Half of the rows: m from zero up, and as many below.
    pub half_rows: usize,
    /// Columns, from zero up.
    pub columns: usize,
}

/// Transforms between p x q points and 2 m x k modes.
#[derive(Clone, Debug)]
pub struct Transforms {
    /// Points along axis 1.
    columns_of_points: usize,
    modes: Modes,
    /// (kx, re | im) from the rows of an image.
    pub rows: AxisMap,
    /// (ky, re | im) from (re | im, column).
    pub columns: AxisMap,
    /// (re | im, column) from (ky, re | im).
    pub columns_back: AxisMap,
    /// Rows from (kx, re | im): the real part.
    pub rows_back: AxisMap,
}

impl Transforms {
    /// How many numbers the four matrices have for each point of the longer side and each mode, at most.
    pub(super) const CONSTANTS: usize = 16;

    /// The transforms of so many points along axis 0 and axis 1, which keep these modes.
    pub(super) fn new([p, q]: [usize; 2], modes: Modes) -> Self {
        let Modes { half_rows: m, columns } = modes;
        // Exact angles: the product is taken modulo n before it is scaled.
        let angle = |n: usize, k: usize, at: usize| TAU * ((k * at) % n) as f64 / n as f64;
        let row = |k: usize| if k < m { k } else { p + k - 2 * m };
        // The first column, and the highest of an even number of points, are their own mirror images.
        let share = |ky: usize| if ky == 0 || 2 * ky == q { 1.0 } else { 2.0 } / (p * q) as f64;
        Self {
            columns_of_points: q,
            modes,
            // exp(-i angle) of real numbers.
            rows: AxisMap::new(4 * m, p, |i, at| turn(-angle(p, row(i / 2), at), i % 2, 0)),
            columns: AxisMap::new(2 * columns, 2 * q, |i, j| turn(-angle(q, i / 2, j % q), i % 2, j / q)),
            // A column beside the first stands for its mirror image too.
            columns_back: AxisMap::new(2 * q, 2 * columns, |i, j| {
                share(j / 2) * turn(angle(q, j / 2, i % q), i / q, j % 2)
            }),
            rows_back: AxisMap::new(p, 4 * m, |at, j| turn(angle(p, row(j / 2), at), 0, j % 2)),
        }
    }

    /// The transform of v, W applied mode by mode, and the way back.
    ///
    /// # Shapes
    /// v and the result \[batch, p, q, c\], W \[2 m, k, 2, c, c\].
    pub(super) fn convolve(&self, tape: &Tape<'_>, v: &Var, weight: ParamId) -> Result<Var, EngineError> {
        let q = self.columns_of_points;
        let Modes { half_rows: m, columns: k } = self.modes;
        let &[batch, .., c] = v.shape() else { return Ok(v.clone()) };
        let h = tape.map_axis(v, 1, &self.rows)?; // [batch, (kx, ri), q, c]
        let h = tape.map_axis(&h.reshape(&[batch, 2 * m, 2 * q, c])?, 2, &self.columns)?; // [batch, kx, (ky, ri), c]
        let h = tape.mix_modes(&h.reshape(&[batch, 2 * m * k, 2 * c])?, weight)?;
        let h = tape.map_axis(&h.reshape(&[batch, 2 * m, 2 * k, c])?, 2, &self.columns_back)?;
        tape.map_axis(&h.reshape(&[batch, 4 * m, q, c])?, 1, &self.rows_back)
    }

    /// Declares the weight of a convolution of `width` channels.
    pub(super) fn declare(mut scope: Scope<'_>, modes: Modes, width: usize) -> ParamId {
        scope.weight("weight", &[2 * modes.half_rows, modes.columns, 2, width, width])
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

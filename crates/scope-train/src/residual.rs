//! PINO's residual of Poisson's and Helmholtz's equations (paper, "Other auxiliary arms").
//!
//! On a grid of S points a side with h = 1 / (S - 1), in physical units and at the (S - 2)^2 inner points,
//!
//! r\[i, j\] = (u\[i-1, j\] + u\[i+1, j\] + u\[i, j-1\] + u\[i, j+1\] - 4 u\[i, j\]) / h^2 + k^2 u\[i, j\] - a\[i, j\]
//!
//! with k = 0 for Poisson and k = 1 for Helmholtz. The field that was hidden is the network's, the other the record's
//! own. The paper does not say how residuals are put together: here the loss is the mean of their squares.

use scope_data::{Channel, Constants, GridShape};
use scope_engine::{AxisMap, EngineError, Tape, Tensor, Var};
use scope_pde::{MIN_RESOLUTION, Pde, descriptor::GaussianPrior};

use crate::examples::Examples;

/// The residual of one problem on one grid, as maps along the axes of fields in stored coordinates.
#[derive(Debug)]
pub struct Residual {
    /// The map that takes u alone of the stored fields.
    response: AxisMap,
    /// Second differences, and inner points alone, along rows and along columns.
    second: [AxisMap; 2],
    inner: [AxisMap; 2],
    /// 2 sigma_u / h^2, by which second differences of stored values are multiplied.
    scale: AxisMap,
    /// k^2 u - a of stored fields, without the means.
    rest: AxisMap,
    /// k^2 mu_u - mu_a.
    means: f64,
}

impl Residual {
    /// The residual of a problem whose fields are stored with these constants; none if the study has none for it.
    pub fn new(pde: Pde, constants: &Constants, grid: GridShape) -> Option<Self> {
        let k_squared = Self::k_squared(pde).filter(|_| grid.rows == grid.columns && grid.rows > 2)?;
        let size = grid.rows;
        let of = |channel: Channel| constants[channel];
        let spacing = 1.0 / (size - 1) as f64;
        let second = || {
            AxisMap::new(size - 2, size, |to, from| match from.checked_sub(to) {
                Some(0 | 2) => 1.0,
                Some(1) => -2.0,
                _ => 0.0,
            })
        };
        let inner = || AxisMap::new(size - 2, size, |to, from| f64::from(u8::from(from == to + 1)));
        let both = [-2.0 * of(Channel::A).sigma, 2.0 * k_squared * of(Channel::U).sigma];
        Some(Self {
            response: AxisMap::new(1, 2, |_, from| from as f64),
            second: [second(), second()],
            inner: [inner(), inner()],
            scale: AxisMap::new(1, 1, |_, _| 2.0 * of(Channel::U).sigma / (spacing * spacing)),
            rest: AxisMap::new(1, 2, |_, from| both[from]),
            means: k_squared * of(Channel::U).mean - of(Channel::A).mean,
        })
    }

    /// k^2 of a problem whose equation is Lap u + k^2 u = a; other problems have no residual.
    pub(crate) fn k_squared(pde: Pde) -> Option<f64> {
        match pde.descriptor().prior {
            GaussianPrior::Linear { plan, .. } => Some(plan(MIN_RESOLUTION).wave_number_squared()),
            GaussianPrior::InitialState(_) | GaussianPrior::None(_) => None,
        }
    }

    /// L_R: the mean of r^2 over inner points and records.
    ///
    /// # Shapes
    /// fields \[batch, 2, S, S\] in stored coordinates, L \[1\].
    pub fn loss(&self, tape: &Tape<'_>, fields: &Var, examples: &Examples) -> Result<Var, EngineError> {
        let pair = tape.choose(fields, &examples.fields, &examples.weights)?;
        let [second_rows, second_columns] = &self.second;
        let [inner_rows, inner_columns] = &self.inner;
        let along = |x: &Var, rows: &AxisMap, columns: &AxisMap| {
            tape.map_axis(&tape.map_axis(x, 2, rows)?, 3, columns) // [batch, 1, S - 2, S - 2]
        };
        let u = tape.map_axis(&pair, 1, &self.response)?; // [batch, 1, S, S]
        let differences =
            tape.add(&along(&u, second_rows, inner_columns)?, &along(&u, inner_rows, second_columns)?)?;
        let laplacian = tape.map_axis(&differences, 1, &self.scale)?;
        let rest = along(&tape.map_axis(&pair, 1, &self.rest)?, inner_rows, inner_columns)?;
        let r = tape.add(&laplacian, &rest)?;
        // The means are the same everywhere: what remains must be their opposite.
        let opposite = Tensor::full(tape.device(), tape.params().dtype(), r.shape(), -self.means)?;
        tape.mean_square(&r, &opposite)
    }
}

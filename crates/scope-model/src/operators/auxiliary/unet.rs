//! A U-Net (Ronneberger et al., 2015) with batch normalisations.

use std::sync::OnceLock;

use scope_engine::{
    Activation, AxisMap, BatchNorm, EngineError, Epilogue, Layout, Linear, Param, ParamId, Scope, Tape, Var,
};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::HiddenFieldNetwork;
use crate::{
    error::ModelError,
    initial::{Initial, default_initial},
    operators::{PIXEL, require_sizes},
};

const RELU: Activation = Activation::LeakyRelu(0.0);

/// The sizes of a U-Net.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnetConfig {
    /// The grid.
    pub resolution: GridShape,
    /// Channels on the full grid; twice as many after each halving.
    pub width: usize,
    /// Times that the grid is halved.
    pub levels: usize,
}

impl UnetConfig {
    /// The paper's: 4,740,101 parameters.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self { resolution: resolution.into(), width: 25, levels: 4 }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, width, levels } = *self;
        let GridShape { rows, columns } = resolution;
        require_sizes("aux-unet", &[rows, columns, width, levels])?;
        if levels > 8 || !resolution.is_multiple_of(1 << levels.min(8)) {
            return Err(ModelError::Config(format!(
                "aux-unet: a grid of {resolution} cannot be halved {levels} times; at most 8 times, and to whole points"
            )));
        }
        Ok(())
    }

    fn channels(&self, level: usize) -> usize {
        self.width << level
    }
}

/// Twice a convolution without a bias, a normalisation and a ReLU.
#[derive(Clone, Copy, Debug)]
struct Double([(Linear, BatchNorm); 2]);

impl Double {
    fn declare(mut scope: Scope<'_>, c: usize, o: usize) -> Self {
        let mut one = |k: usize, c: usize| {
            let conv = Linear::declare_without_bias(scope.scope(format!("conv{k}")), &[o, c, 3, 3]);
            (conv, BatchNorm::declare(scope.scope(format!("bn{k}")), o))
        };
        Self([one(0, c), one(1, o)])
    }

    fn forward(&self, tape: &Tape<'_>, v: &Var) -> Result<Var, EngineError> {
        let mut v = v.clone();
        for (conv, norm) in self.0 {
            let h = tape.batch_norm(&tape.conv3x3(&v, conv, Epilogue::Plain)?, norm)?;
            v = tape.activate(&h, RELU)?;
        }
        Ok(v)
    }
}

/// A transposed convolution of side and stride two: every pixel becomes four.
#[derive(Clone, Copy, Debug)]
struct Up {
    /// The maps to (channel, row, column) of the four.
    spread: Linear,
    bias: ParamId,
}

impl Up {
    fn declare(mut scope: Scope<'_>, c: usize, o: usize) -> Self {
        let bias = scope.offset("bias", &[o]);
        Self { spread: Linear::declare_without_bias(scope.scope("spread"), &[4 * o, c]), bias }
    }

    fn forward(&self, tape: &Tape<'_>, v: &Var) -> Result<Var, EngineError> {
        let &[batch, rows, columns, c] = v.shape() else { return Ok(v.clone()) };
        let tokens = v.reshape(&[batch, rows * columns, c])?;
        let spread = tape.linear(&tokens, self.spread, Epilogue::Plain)?; // [batch, pixels, (o, 2, 2)]
        tape.shift_channels(&tape.unpatchify(&spread, 2, [rows, columns])?, self.bias)
    }
}

/// The greater of two neighbours along an axis: the first, and what the second has more, if it has.
#[derive(Clone, Debug)]
struct PairMaximum {
    first: AxisMap,
    more: AxisMap,
}

impl PairMaximum {
    fn new(n: usize) -> Self {
        let entry =
            |i: usize, j: usize, values: [f64; 2]| j.checked_sub(2 * i).and_then(|k| values.get(k).copied());
        Self {
            first: AxisMap::new(n / 2, n, |i, j| entry(i, j, [1.0, 0.0]).unwrap_or(0.0)),
            more: AxisMap::new(n / 2, n, |i, j| entry(i, j, [-1.0, 1.0]).unwrap_or(0.0)),
        }
    }

    fn forward(&self, tape: &Tape<'_>, v: &Var, axis: usize) -> Result<Var, EngineError> {
        let more = tape.activate(&tape.map_axis(v, axis, &self.more)?, RELU)?;
        tape.add(&tape.map_axis(v, axis, &self.first)?, &more)
    }
}

/// A U-Net.
#[derive(Clone, Debug)]
pub(super) struct Unet {
    config: UnetConfig,
    /// Of each level, down the rows and across the columns; made when the first context comes.
    pools: OnceLock<Vec<[PairMaximum; 2]>>,
    down: Vec<Double>,
    bottom: Double,
    /// From the bottom to the top.
    up: Vec<(Up, Double)>,
    last: Linear,
}

impl Unet {
    /// Declares its parameters.
    pub(super) fn declare(layout: &mut Layout, config: &UnetConfig) -> Self {
        let mut root = layout.root();
        let levels = config.levels;
        let channels = |level| config.channels(level);
        let mut scope = root.scope("down");
        let down = (0..levels)
            .map(|l| {
                Double::declare(scope.scope(l), if l == 0 { PIXEL } else { channels(l - 1) }, channels(l))
            })
            .collect();
        let bottom = Double::declare(root.scope("bottom"), channels(levels - 1), channels(levels));
        let mut scope = root.scope("up");
        let up = (0..levels)
            .rev()
            .map(|l| {
                let mut level = scope.scope(l);
                let up = Up::declare(level.scope("transposed"), channels(l + 1), channels(l));
                (up, Double::declare(level.scope("double"), 2 * channels(l), channels(l)))
            })
            .collect();
        let last = Linear::declare(root.scope("last"), channels(0), 1);
        Self { config: config.clone(), pools: OnceLock::new(), down, bottom, up, last }
    }

    fn pools(&self) -> &[[PairMaximum; 2]] {
        self.pools.get_or_init(|| {
            let of =
                |level: usize| self.config.resolution.divided(1 << level).lengths().map(PairMaximum::new);
            (0..self.config.levels).map(of).collect()
        })
    }
}

impl HiddenFieldNetwork for Unet {
    fn hidden_field(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        let mut v = pixels.clone();
        let mut skips = Vec::new();
        for (down, [rows, columns]) in self.down.iter().zip(self.pools()) {
            let skip = down.forward(tape, &v)?;
            v = columns.forward(tape, &rows.forward(tape, &skip, 1)?, 2)?;
            skips.push(skip);
        }
        v = self.bottom.forward(tape, &v)?;
        for ((up, double), skip) in self.up.iter().zip(skips.into_iter().rev()) {
            v = double.forward(tape, &tape.concat(&up.forward(tape, &v)?, &skip)?)?;
        }
        tape.linear(&v, self.last, Epilogue::Wide)
    }

    /// A transposed convolution counts the channels that it gives, each four times, as what one number sees.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        let transposed = param.name.contains(".transposed.") && !param.name.ends_with(".zero");
        let Some(level) = param.name.strip_prefix("up.").filter(|_| transposed) else {
            return default_initial(layout, param);
        };
        let level: usize = level.split('.').next().and_then(|level| level.parse().ok()).unwrap_or(0);
        Initial::Uniform(1.0 / ((4 * self.config.channels(level)) as f64).sqrt())
    }
}

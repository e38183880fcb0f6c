//! The DeepONet of the auxiliary study: a branch of convolutions between averages, a deep trunk with batch
//! normalisations.

use std::sync::OnceLock;

use scope_engine::{
    Activation, AxisMap, BatchNorm, Constant, EngineError, Epilogue, Layout, Linear, Param, ParamId, Tape,
    Var,
};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::HiddenFieldNetwork;
use crate::{
    error::ModelError,
    initial::{Initial, default_initial},
    limits::require_layers,
    operators::{PIXEL, require_constants, require_sizes},
};

/// What negative numbers are multiplied with.
const LEAKY: Activation = Activation::LeakyRelu(SLOPE);
const SLOPE: f64 = 0.01;
/// What a residual block has of its convolution; the rest is what came in.
const NEW_SHARE: f64 = 0.1;

/// The sizes of an auxiliary DeepONet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxDeepOnetConfig {
    /// The grid.
    pub resolution: GridShape,
    /// Channels after the first halving; twice as many after each further one.
    pub channels: usize,
    /// Times that the grid is halved.
    pub levels: usize,
    /// Residual blocks behind the last halving.
    pub residual: usize,
    /// Basis functions.
    pub basis: usize,
    /// The trunk's hidden width.
    pub trunk: usize,
    /// The trunk's hidden layers; all but the first are normalised.
    pub trunk_depth: usize,
}

impl AuxDeepOnetConfig {
    /// The paper's: 13,239,987 parameters.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        let resolution = resolution.into();
        Self { resolution, channels: 32, levels: 4, residual: 4, basis: 500, trunk: 512, trunk_depth: 8 }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, channels, levels, residual, basis, trunk, trunk_depth } = *self;
        let GridShape { rows, columns } = resolution;
        require_sizes("aux-deeponet", &[rows, columns, channels, levels, basis, trunk, trunk_depth])?;
        require_layers("aux-deeponet", residual.max(trunk_depth))?;
        if levels > 8 || !resolution.is_multiple_of(1 << levels.min(8)) || rows.min(columns) < 2 {
            return Err(ModelError::Config(format!(
                "aux-deeponet: a grid of {resolution} cannot be halved {levels} times; at most 8 times, and to whole \
                 points"
            )));
        }
        require_constants("aux-deeponet", &[rows, columns, 2])
    }

    /// Channels before a level, or behind the last.
    fn width(&self, level: usize) -> usize {
        if level == 0 { PIXEL } else { self.channels << (level - 1) }
    }

    /// Coordinates of all points, from 0 to 1, \[rows columns, 2\].
    fn points(&self) -> Constant {
        let shape = self.resolution;
        Constant::from_fn(&[shape.points(), 2], |k| {
            let axis = k % 2;
            shape.place(k / 2)[axis] as f64 / (shape.lengths()[axis] - 1) as f64
        })
    }
}

/// A convolution that keeps the grid, and one whose result is averaged down to half of it.
#[derive(Clone, Copy, Debug)]
struct Level {
    same: Linear,
    down: Linear,
}

/// What is fixed: made when the first context comes.
#[derive(Clone, Debug)]
struct Fixed {
    points: Constant,
    /// The averages of each level, down the rows and across the columns.
    halvings: Vec<[AxisMap; 2]>,
    /// A factor on every channel: of what is new in a residual block, and of what is kept.
    shares: [AxisMap; 2],
    /// One over the root of the number of basis functions.
    scale: AxisMap,
}

/// An auxiliary DeepONet.
#[derive(Clone, Debug)]
pub(super) struct AuxDeepOnet {
    config: AuxDeepOnetConfig,
    fixed: OnceLock<Fixed>,
    levels: Vec<Level>,
    residual: Vec<Linear>,
    fc: Linear,
    trunk: Vec<(Linear, Option<BatchNorm>)>,
    last: Linear,
    offset: ParamId,
}

impl AuxDeepOnet {
    /// Declares its parameters.
    pub(super) fn declare(layout: &mut Layout, config: &AuxDeepOnetConfig) -> Self {
        let mut root = layout.root();
        let mut branch = root.scope("branch");
        let mut scope = branch.scope("levels");
        let levels = (0..config.levels)
            .map(|k| {
                let mut level = scope.scope(k);
                let c = config.width(k);
                let same = Linear::declare_conv3x3(level.scope("same"), c, c);
                Level { same, down: Linear::declare_conv3x3(level.scope("down"), c, config.width(k + 1)) }
            })
            .collect();
        let deepest = config.width(config.levels);
        let mut scope = branch.scope("residual");
        let residual =
            (0..config.residual).map(|k| Linear::declare_conv3x3(scope.scope(k), deepest, deepest)).collect();
        let coarse = config.resolution.divided(1 << config.levels);
        let fc = Linear::declare(branch.scope("fc"), coarse.points() * deepest, config.basis);
        let mut trunk = root.scope("trunk");
        let layers = (0..config.trunk_depth)
            .map(|k| {
                let mut layer = trunk.scope(k);
                let from = if k == 0 { 2 } else { config.trunk };
                let linear = Linear::declare(layer.scope("linear"), from, config.trunk);
                (linear, (k > 0).then(|| BatchNorm::declare(layer.scope("bn"), config.trunk)))
            })
            .collect();
        let last = Linear::declare(trunk.scope("last"), config.trunk, config.basis);
        let offset = root.offset("offset", &[1]);
        let fixed = OnceLock::new();
        Self { config: config.clone(), fixed, levels, residual, fc, trunk: layers, last, offset }
    }

    fn fixed(&self) -> &Fixed {
        let times = |n: usize, share: f64| AxisMap::new(n, n, move |i, j| if i == j { share } else { 0.0 });
        self.fixed.get_or_init(|| Fixed {
            points: self.config.points(),
            halvings: (0..self.config.levels)
                .map(|k| self.config.resolution.divided(1 << k).lengths().map(halving))
                .collect(),
            shares: [NEW_SHARE, 1.0 - NEW_SHARE]
                .map(|share| times(self.config.width(self.config.levels), share)),
            scale: times(1, 1.0 / (self.config.basis as f64).sqrt()),
        })
    }

    /// Coefficients \[batch, 1, basis\].
    fn branch(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        let fixed = self.fixed();
        let leaky = |x: &Var, conv: Linear| tape.activate(&tape.conv3x3(x, conv, Epilogue::Plain)?, LEAKY);
        let mut v = pixels.clone();
        for (level, [down, across]) in self.levels.iter().zip(&fixed.halvings) {
            v = leaky(&leaky(&v, level.same)?, level.down)?;
            v = tape.map_axis(&tape.map_axis(&v, 1, down)?, 2, across)?;
        }
        let [new, kept] = &fixed.shares;
        for conv in &self.residual {
            let h = tape.conv3x3(&tape.activate(&v, LEAKY)?, *conv, Epilogue::Plain)?;
            v = tape.add(&tape.map_axis(&h, 3, new)?, &tape.map_axis(&v, 3, kept)?)?;
        }
        let batch = v.shape()[0];
        let flat = v.reshape(&[batch, v.value().len() / batch.max(1)])?;
        tape.linear(&flat, self.fc, Epilogue::Wide)?.reshape(&[batch, 1, self.config.basis])
    }

    /// Basis functions at all points \[rows columns, basis\].
    fn trunk(&self, tape: &Tape<'_>) -> Result<Var, EngineError> {
        let mut t = tape.constant(&self.fixed().points)?;
        for (linear, norm) in &self.trunk {
            t = tape.activate(&tape.linear(&t, *linear, Epilogue::Plain)?, LEAKY)?;
            if let Some(norm) = norm {
                t = tape.batch_norm(&t, *norm)?;
            }
        }
        tape.linear(&t, self.last, Epilogue::Wide)
    }
}

/// Each point doubled, then means of four from one before each second pair on, with a zero beyond either end: of points
/// 2 i - 1, 2 i and 2 i + 1 a quarter, a half and a quarter.
fn halving(n: usize) -> AxisMap {
    AxisMap::new(n / 2, n, |i, j| match (j + 1).checked_sub(2 * i) {
        Some(0 | 2) => 0.25,
        Some(1) => 0.5,
        _ => 0.0,
    })
}

impl HiddenFieldNetwork for AuxDeepOnet {
    fn hidden_field(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        let coefficients = self.branch(tape, pixels)?;
        let basis = self.trunk(tape)?;
        let field = tape.expansion(&coefficients, &basis, self.offset)?; // [batch, 1, rows columns]
        let field = tape.map_axis(&field, 1, &self.fixed().scale)?;
        let GridShape { rows, columns } = self.config.resolution;
        field.reshape(&[pixels.shape()[0], rows, columns, 1])
    }

    /// The trunk begins as He and others have it for leaky ReLUs, without biases.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        let in_trunk = param.name.starts_with("trunk.") && !param.name.contains(".bn.");
        match param.name.rsplit('.').next() {
            _ if param.name == "offset" => Initial::Constant(0.0),
            Some("weight") if in_trunk => {
                Initial::Uniform((6.0 / ((1.0 + SLOPE * SLOPE) * param.shape[1] as f64)).sqrt())
            }
            Some("bias") if in_trunk => Initial::Constant(0.0),
            _ => default_initial(layout, param),
        }
    }
}

//! The convolutional neural operator (Raonic et al., 2023), in its simplified form: a U-shaped network whose every
//! activation acts on a finer grid.

use std::sync::OnceLock;

use scope_engine::{BatchNorm, EngineError, Epilogue, Layout, Linear, Param, Scope, Tape, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::{FIELDS, PIXEL, require_sizes, resize::FilteredActivations};
use crate::{
    error::ModelError,
    field_model::FieldNetwork,
    initial::{Initial, default_initial},
    limits::require_layers,
};

/// The sizes of a CNO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CnoConfig {
    /// The points of the grid along each axis.
    pub resolution: GridShape,
    /// Times that the grid is halved.
    pub levels: usize,
    /// Residual blocks on each skip.
    pub residual: usize,
    /// Residual blocks at the bottom.
    pub neck: usize,
    /// Channels after the first halving; half as many before, and twice as many after each further one.
    pub multiplier: usize,
    /// Hidden channels of the first and last layers.
    pub latent: usize,
}

impl CnoConfig {
    /// The paper's: 4,774,776 parameters.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self { resolution: resolution.into(), levels: 3, residual: 2, neck: 4, multiplier: 52, latent: 64 }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, levels, residual, neck, multiplier, latent } = *self;
        let GridShape { rows, columns } = resolution;
        require_sizes("cno", &[rows, columns, levels, multiplier, latent])?;
        require_layers("cno", residual.max(neck))?;
        if levels > 8 || multiplier % 2 == 1 {
            let problem = format!("{levels} levels of multiplier {multiplier}: at most 8, and an even one");
            return Err(ModelError::Config(format!("cno: {problem}")));
        }
        if !resolution.is_multiple_of(1 << levels) || rows.min(columns) < 2 << levels {
            let problem =
                format!("a grid of {resolution} cannot be halved {levels} times to two points or more");
            return Err(ModelError::Config(format!("cno: {problem}")));
        }
        Ok(())
    }

    fn channels(&self, level: usize) -> usize {
        (self.multiplier / 2) << level
    }

    fn grid(&self, level: usize) -> GridShape {
        self.resolution.divided(1 << level)
    }
}

/// Convolution, normalisation, activation.
#[derive(Clone, Copy, Debug)]
struct Block {
    conv: Linear,
    norm: BatchNorm,
    /// The grid that it leaves.
    to: GridShape,
}

impl Block {
    fn declare(mut scope: Scope<'_>, c: usize, o: usize, to: GridShape) -> Self {
        let conv = Linear::declare_conv3x3(scope.scope("conv"), c, o);
        Self { conv, norm: BatchNorm::declare(scope.scope("bn"), o), to }
    }
}

/// v + norm(conv(activation(norm(conv v)))).
#[derive(Clone, Copy, Debug)]
struct Residual {
    convs: [Linear; 2],
    norms: [BatchNorm; 2],
}

impl Residual {
    fn declare(mut scope: Scope<'_>, c: usize) -> Self {
        let [first, second] = ["conv0", "conv1"].map(|name| Linear::declare_conv3x3(scope.scope(name), c, c));
        let norms = ["bn0", "bn1"].map(|name| BatchNorm::declare(scope.scope(name), c));
        Self { convs: [first, second], norms }
    }

    fn declare_all(mut scope: Scope<'_>, count: usize, c: usize) -> Vec<Self> {
        (0..count).map(|k| Self::declare(scope.scope(k), c)).collect()
    }
}

/// A convolutional neural operator.
#[derive(Clone, Debug)]
pub struct Cno {
    config: CnoConfig,
    /// Made when the first context comes.
    activations: OnceLock<FilteredActivations>,
    lift: [Linear; 2],
    down: Vec<Block>,
    skips: Vec<Vec<Residual>>,
    neck: Vec<Residual>,
    /// The invariant blocks of each skip, and of the neck.
    invariant: Vec<Block>,
    up: Vec<Block>,
    project: [Linear; 2],
}

impl Cno {
    /// Declares its parameters.
    pub(crate) fn declare(layout: &mut Layout, config: &CnoConfig) -> Self {
        let mut root = layout.root();
        let levels = config.levels;
        let channels = |l| config.channels(l);
        let grid = |l| config.grid(l);
        let pair = |mut scope: Scope<'_>, c: usize, o: usize| {
            let first = Linear::declare_conv3x3(scope.scope("conv0"), c, config.latent);
            [first, Linear::declare_conv3x3(scope.scope("conv1"), config.latent, o)]
        };
        let lift = pair(root.scope("lift"), PIXEL, channels(0));
        let mut scope = root.scope("down");
        let down = (0..levels)
            .map(|l| Block::declare(scope.scope(l), channels(l), channels(l + 1), grid(l + 1)))
            .collect();
        let mut scope = root.scope("skips");
        let skips = (0..levels)
            .map(|l| Residual::declare_all(scope.scope(l), config.residual, channels(l)))
            .collect();
        let neck = Residual::declare_all(root.scope("neck"), config.neck, channels(levels));
        let mut scope = root.scope("invariant");
        let invariant =
            (0..=levels).map(|l| Block::declare(scope.scope(l), channels(l), channels(l), grid(l))).collect();
        let mut scope = root.scope("up");
        let up = (0..levels)
            .map(|k| {
                let level = levels - k;
                // Above the bottom, what comes from below is joined by a skip of as many channels.
                let c = if k == 0 { channels(level) } else { 2 * channels(level) };
                Block::declare(scope.scope(k), c, channels(level - 1), grid(level - 1))
            })
            .collect();
        Self {
            config: config.clone(),
            activations: OnceLock::new(),
            lift,
            down,
            skips,
            neck,
            invariant,
            up,
            project: pair(root.scope("project"), 2 * channels(0), FIELDS),
        }
    }

    fn activations(&self) -> &FilteredActivations {
        self.activations.get_or_init(|| {
            let levels = self.config.levels;
            let along = |axis: usize| move |l: usize| self.config.grid(l).lengths()[axis];
            let of_axis = |axis: usize| {
                let side = along(axis);
                let kept = (0..=levels).map(move |l| (side(l), side(l)));
                kept.chain((0..levels).flat_map(move |l| [(side(l), side(l + 1)), (side(l + 1), side(l))]))
            };
            FilteredActivations::new([0, 1].into_iter().flat_map(of_axis))
        })
    }

    fn block(&self, tape: &Tape<'_>, v: &Var, block: &Block) -> Result<Var, EngineError> {
        let h = tape.conv3x3(v, block.conv, Epilogue::Plain)?;
        self.activations().apply(tape, &tape.batch_norm(&h, block.norm)?, block.to)
    }

    fn residuals(&self, tape: &Tape<'_>, v: &Var, blocks: &[Residual]) -> Result<Var, EngineError> {
        let mut v = v.clone();
        for Residual { convs, norms } in blocks {
            let h = tape.batch_norm(&tape.conv3x3(&v, convs[0], Epilogue::Plain)?, norms[0])?;
            let h = self.activations().apply(tape, &h, grid_of(&v))?;
            let h = tape.batch_norm(&tape.conv3x3(&h, convs[1], Epilogue::Plain)?, norms[1])?;
            v = tape.add(&h, &v)?;
        }
        Ok(v)
    }

    /// Convolution, activation, convolution.
    fn pair(&self, tape: &Tape<'_>, v: &Var, convs: [Linear; 2]) -> Result<Var, EngineError> {
        let h = tape.conv3x3(v, convs[0], Epilogue::Plain)?;
        let h = self.activations().apply(tape, &h, grid_of(v))?;
        tape.conv3x3(&h, convs[1], Epilogue::Wide)
    }
}

/// The grid of \[batch, rows, columns, c\].
fn grid_of(v: &Var) -> GridShape {
    GridShape { rows: v.shape()[1], columns: v.shape()[2] }
}

impl FieldNetwork for Cno {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let mut v = self.pair(tape, &tape.pixels(context)?, self.lift)?;
        let mut skips = Vec::new();
        for (k, down) in self.down.iter().enumerate() {
            let skip = self.residuals(tape, &v, &self.skips[k])?;
            skips.push(self.block(tape, &skip, &self.invariant[k])?);
            v = self.block(tape, &v, down)?;
        }
        v = self.residuals(tape, &v, &self.neck)?;
        v = self.block(tape, &v, &self.invariant[self.down.len()])?;
        for up in &self.up {
            v = self.block(tape, &v, up)?;
            if let Some(skip) = skips.pop() {
                v = tape.concat(&v, &skip)?;
            }
        }
        tape.channels_first(&self.pair(tape, &v, self.project)?)
    }

    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        default_initial(layout, param)
    }
}

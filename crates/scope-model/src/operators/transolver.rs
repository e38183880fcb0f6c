//! Transolver (Wu et al., 2024), for regular grids: pixels are gathered into a few slices, which attend to each other.

use scope_engine::{EngineError, Epilogue, Layout, Linear, Norm, Param, ParamId, Scope, Tape, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::{FIELDS, PIXEL, require_sizes};
use crate::{
    error::ModelError,
    field_model::FieldNetwork,
    initial::{Initial, default_initial},
    limits::require_layers,
};

/// The standard deviation of the weights of linear layers.
const SPREAD: f64 = 0.02;
/// The temperature before training.
const TEMPERATURE: f64 = 0.5;

/// The sizes of a Transolver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransolverConfig {
    /// The points of the grid along each axis.
    pub resolution: GridShape,
    /// Numbers per pixel.
    pub width: usize,
    /// The number of blocks.
    pub depth: usize,
    /// Attention heads.
    pub heads: usize,
    /// Slices of each head.
    pub slices: usize,
    /// A block's hidden width, as a multiple of its width.
    pub expansion: usize,
}

impl TransolverConfig {
    /// The paper's: 4,792,482 parameters.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self { resolution: resolution.into(), width: 160, depth: 8, heads: 8, slices: 32, expansion: 2 }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, width, depth, heads, slices, expansion } = *self;
        let GridShape { rows, columns } = resolution;
        require_sizes("transolver", &[rows, columns, width, depth, heads, slices, expansion])?;
        require_layers("transolver", depth)?;
        if rows.min(columns) < 2 || !width.is_multiple_of(2 * heads) {
            let problem =
                format!("a grid of {resolution}, and width {width} as {heads} heads of an even size");
            return Err(ModelError::Config(format!("transolver: cannot have {problem}")));
        }
        Ok(())
    }
}

/// Attention over slices and an MLP, each added to the stream.
#[derive(Clone, Copy, Debug)]
struct Block {
    ln1: Norm,
    /// The layer from which the weights of slices are made.
    conv_x: Linear,
    /// What slices gather.
    conv_fx: Linear,
    slice: Linear,
    temperature: ParamId,
    /// Queries, keys and values, one projection for all heads.
    qkv: ParamId,
    out: Linear,
    ln2: Norm,
    fc1: Linear,
    fc2: Linear,
}

impl Block {
    fn declare(mut scope: Scope<'_>, config: &TransolverConfig) -> Self {
        let TransolverConfig { width, heads, slices, expansion, .. } = *config;
        let size = width / heads;
        Self {
            ln1: Norm::declare(scope.scope("ln1"), width),
            conv_x: Linear::declare_conv3x3(scope.scope("conv_x"), width, width),
            conv_fx: Linear::declare_conv3x3(scope.scope("conv_fx"), width, width),
            slice: Linear::declare(scope.scope("slice"), size, slices),
            temperature: scope.offset("temperature", &[heads]),
            qkv: scope.scope("tokens").weight("weight", &[3 * size, size]),
            out: Linear::declare(scope.scope("out"), width, width),
            ln2: Norm::declare(scope.scope("ln2"), width),
            fc1: Linear::declare(scope.scope("fc1"), width, expansion * width),
            fc2: Linear::declare(scope.scope("fc2"), expansion * width, width),
        }
    }

    /// # Shapes
    /// v and the result \[batch, rows, columns, width\].
    fn forward(&self, tape: &Tape<'_>, v: &Var, config: &TransolverConfig) -> Result<Var, EngineError> {
        let TransolverConfig { width, heads, slices, .. } = *config;
        let batch = v.shape()[0];
        let size = width / heads;
        let pixels = v.shape()[1] * v.shape()[2];
        let h = tape.layer_norm(v, self.ln1)?;
        let g = tape.conv3x3(&h, self.conv_x, Epilogue::Plain)?.reshape(&[batch, pixels, width])?;
        let f = tape.conv3x3(&h, self.conv_fx, Epilogue::Plain)?.reshape(&[batch, pixels, width])?;
        let sliced = tape.slice(&g, &f, self.slice, self.temperature, heads)?;
        let qkv = tape.project(&sliced.tokens.reshape(&[batch * heads, slices, size])?, self.qkv)?;
        let tokens = tape.attention(&qkv, 1)?.reshape(&[batch, heads, slices, size])?;
        let o = tape.spread(sliced, &tokens)?; // [batch, pixels, width]
        let v = tape.linear(&o.reshape(v.shape())?, self.out, Epilogue::Add(v))?;
        let h = tape.linear(&tape.layer_norm(&v, self.ln2)?, self.fc1, Epilogue::Gelu)?;
        tape.linear(&h, self.fc2, Epilogue::Add(&v))
    }
}

/// A Transolver.
#[derive(Clone, Debug)]
pub struct Transolver {
    config: TransolverConfig,
    lift: [Linear; 2],
    blocks: Vec<Block>,
    ln: Norm,
    head: Linear,
}

impl Transolver {
    /// Declares its parameters.
    pub(crate) fn declare(layout: &mut Layout, config: &TransolverConfig) -> Self {
        let mut root = layout.root();
        let width = config.width;
        let hidden = config.expansion * config.width;
        let mut lift = root.scope("lift");
        let lift =
            [Linear::declare(lift.scope(0), PIXEL, hidden), Linear::declare(lift.scope(1), hidden, width)];
        let mut blocks = root.scope("blocks");
        let blocks = (0..config.depth).map(|k| Block::declare(blocks.scope(k), config)).collect();
        Self {
            config: config.clone(),
            lift,
            blocks,
            ln: Norm::declare(root.scope("ln"), width),
            head: Linear::declare(root.scope("head"), width, FIELDS),
        }
    }
}

impl FieldNetwork for Transolver {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let h = tape.linear(&tape.pixels(context)?, self.lift[0], Epilogue::Gelu)?;
        let mut v = tape.linear(&h, self.lift[1], Epilogue::Wide)?; // [batch, rows, columns, width]
        for block in &self.blocks {
            v = block.forward(tape, &v, &self.config)?;
        }
        let h = tape.layer_norm(&v, self.ln)?;
        tape.channels_first(&tape.linear(&h, self.head, Epilogue::Wide)?)
    }

    /// Weights of linear layers are normal with a standard deviation of 0.02 (the original cuts them off at a hundred
    /// of those, which never happens) and their biases zero; convolutions are as everywhere.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        let default = default_initial(layout, param);
        match (param.name.rsplit_once('.'), &default) {
            _ if param.name.ends_with("temperature") => Initial::Constant(TEMPERATURE),
            (Some((part, _)), _) if part.ends_with("conv_x") || part.ends_with("conv_fx") => default,
            (_, Initial::Constant(_)) => default,
            (Some((_, "bias")), _) => Initial::Constant(0.0),
            _ => Initial::Normal(SPREAD),
        }
    }
}

//! The FNO of the auxiliary study, in the layout of the `neuralop` library: lifting and projection are layers of two,
//! and behind every convolution lies a narrow layer of two beside a gate.

use std::{f64::consts::FRAC_1_SQRT_2, sync::OnceLock};

use scope_engine::{Activation, EngineError, Epilogue, Layout, Linear, Param, ParamId, Scope, Tape, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::HiddenFieldNetwork;
use crate::{
    error::ModelError,
    initial::{Initial, default_initial},
    limits::require_layers,
    operators::{
        PIXEL, require_constants, require_sizes,
        spectral::{Modes, Transforms},
    },
};

/// The sizes of an auxiliary FNO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxFnoConfig {
    /// The grid.
    pub resolution: GridShape,
    /// Channels.
    pub width: usize,
    /// Rows of modes that are kept, an even number; half as many columns and one more.
    pub modes: usize,
    /// Layers.
    pub layers: usize,
    /// The hidden width of lifting and projection.
    pub lifting: usize,
    /// The hidden width behind each convolution.
    pub narrow: usize,
}

impl AuxFnoConfig {
    /// The paper's: 4,803,521 elements, 9,522,113 real numbers.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self { resolution: resolution.into(), width: 64, modes: 16, layers: 8, lifting: 128, narrow: 32 }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, width, modes, layers, lifting, narrow } = *self;
        let GridShape { rows, columns } = resolution;
        require_sizes("aux-fno", &[rows, columns, width, modes, layers, lifting, narrow])?;
        require_layers("aux-fno", layers)?;
        if !modes.is_multiple_of(2) || modes > rows.min(columns) {
            return Err(ModelError::Config(format!(
                "aux-fno: {modes} modes must be an even number, and need a grid of {modes} points at least"
            )));
        }
        require_constants("aux-fno", &[Transforms::CONSTANTS, modes, rows.max(columns)])
    }

    fn kept(&self) -> Modes {
        Modes { half_rows: self.modes / 2, columns: self.modes / 2 + 1 }
    }
}

/// Two layers with GELU between them.
#[derive(Clone, Copy, Debug)]
struct Pair {
    first: Linear,
    second: Linear,
}

impl Pair {
    fn declare(mut scope: Scope<'_>, [k, hidden, n]: [usize; 3]) -> Self {
        let first = Linear::declare(scope.scope("fc1"), k, hidden);
        Self { first, second: Linear::declare(scope.scope("fc2"), hidden, n) }
    }

    fn forward(&self, tape: &Tape<'_>, x: &Var, epilogue: Epilogue<'_>) -> Result<Var, EngineError> {
        tape.linear(&tape.linear(x, self.first, Epilogue::Gelu)?, self.second, epilogue)
    }
}

/// u = K(v) + P(v) + b, then narrow(u) + gate v; GELU after both, but in the last layer.
#[derive(Clone, Copy, Debug)]
struct Layer {
    spectral: ParamId,
    /// P, whose bias is the convolution's.
    skip: Linear,
    narrow: Pair,
    gate: ParamId,
}

/// An auxiliary FNO.
#[derive(Clone, Debug)]
pub(super) struct AuxFno {
    config: AuxFnoConfig,
    /// Made when the first context comes.
    transforms: OnceLock<Transforms>,
    lift: Pair,
    layers: Vec<Layer>,
    project: Pair,
}

impl AuxFno {
    /// Declares its parameters.
    pub(super) fn declare(layout: &mut Layout, config: &AuxFnoConfig) -> Self {
        let mut root = layout.root();
        let AuxFnoConfig { width, lifting, narrow, .. } = *config;
        let lift = Pair::declare(root.scope("lift"), [PIXEL, lifting, width]);
        let mut layers = root.scope("layers");
        let declare = |k| {
            let mut layer = layers.scope(k);
            let mut spectral = layer.scope("spectral");
            let bias = spectral.offset("bias", &[width]);
            let weight = layer.scope("skip").weight("weight", &[width, width]);
            Layer {
                spectral: Transforms::declare(layer.scope("spectral"), config.kept(), width),
                skip: Linear { weight, bias },
                narrow: Pair::declare(layer.scope("narrow"), [width, narrow, width]),
                gate: layer.offset("gate", &[width]),
            }
        };
        let layers = (0..config.layers).map(declare).collect();
        let project = Pair::declare(root.scope("project"), [width, lifting, 1]);
        Self { config: config.clone(), transforms: OnceLock::new(), lift, layers, project }
    }
}

impl HiddenFieldNetwork for AuxFno {
    fn hidden_field(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        let points = self.config.resolution.lengths();
        let transforms = self.transforms.get_or_init(|| Transforms::new(points, self.config.kept()));
        let mut v = self.lift.forward(tape, pixels, Epilogue::Plain)?; // [batch, rows, columns, width]
        for (k, layer) in self.layers.iter().enumerate() {
            let last = k + 1 == self.layers.len();
            let activate = |u: Var| if last { Ok(u) } else { tape.activate(&u, Activation::Gelu) };
            let far = transforms.convolve(tape, &v, layer.spectral)?;
            let u = activate(tape.linear(&v, layer.skip, Epilogue::Add(&far))?)?;
            let gated = tape.scale_channels(&v, layer.gate)?;
            v = activate(layer.narrow.forward(tape, &u, Epilogue::Add(&gated))?)?;
        }
        self.project.forward(tape, &v, Epilogue::Wide)
    }

    /// Spectral weights are complex normal with variance 1 / width in all, their biases normal with the same; gates are
    /// open.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        let spread = (1.0 / self.config.width as f64).sqrt();
        match param.name.rsplit_once('.') {
            Some((_, "gate")) => Initial::Constant(1.0),
            Some((module, "weight")) if module.ends_with("spectral") => {
                Initial::Normal(spread * FRAC_1_SQRT_2)
            }
            Some((module, "bias")) if module.ends_with("spectral") => Initial::Normal(spread),
            _ => default_initial(layout, param),
        }
    }
}

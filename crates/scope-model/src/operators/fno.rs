//! The Fourier neural operator (Li et al., 2021): pointwise layers beside convolutions over all of space, of which a
//! few modes are kept.

use std::sync::OnceLock;

use scope_engine::{Activation, EngineError, Epilogue, Layout, Linear, Param, ParamId, Tape, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::{
    FIELDS, PIXEL, require_constants, require_sizes,
    spectral::{Modes, Transforms},
};
use crate::{
    error::ModelError,
    field_model::FieldNetwork,
    initial::{Initial, default_initial},
    limits::require_layers,
};

/// The sizes of an FNO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FnoConfig {
    /// The points of the grid along each axis.
    pub resolution: GridShape,
    /// The number of channels.
    pub width: usize,
    /// Columns of modes that are kept; twice as many rows.
    pub modes: usize,
    /// The number of Fourier layers.
    pub layers: usize,
    /// The width of the last hidden layer.
    pub projection: usize,
    /// Pixels of zeros beyond the last row and column.
    pub padding: usize,
}

impl FnoConfig {
    /// The paper's: 5,029,946 parameters.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self { resolution: resolution.into(), width: 40, modes: 14, layers: 4, projection: 128, padding: 9 }
    }

    /// The points of the transforms: the grid's and the zeros beyond it.
    pub fn padded(&self) -> [usize; 2] {
        self.resolution.lengths().map(|length| length + self.padding)
    }

    /// The modes that are kept.
    pub fn kept(&self) -> Modes {
        Modes { half_rows: self.modes, columns: self.modes }
    }

    /// The transforms to the modes that are kept, and back.
    pub fn transforms(&self) -> Transforms {
        Transforms::new(self.padded(), self.kept())
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let Self { resolution, width, modes, layers, projection, padding } = *self;
        let GridShape { rows, columns } = resolution;
        let sizes = [rows, columns, width, modes, layers, projection, padding.saturating_add(1)];
        require_sizes("fno", &sizes)?;
        require_layers("fno", layers)?;
        let shortest = rows.min(columns);
        if shortest < 2 || 2 * modes > shortest + padding {
            return Err(ModelError::Config(format!(
                "fno: {modes} modes need a grid of {} points at least, with {padding} of padding",
                (2 * modes).saturating_sub(padding).max(2)
            )));
        }
        require_constants("fno", &[Transforms::CONSTANTS, modes, rows.max(columns) + padding])
    }
}

/// A layer: v <- K(v) + P(v).
#[derive(Clone, Copy, Debug)]
struct Layer {
    spectral: ParamId,
    pointwise: Linear,
}

/// A Fourier neural operator.
#[derive(Clone, Debug)]
pub struct Fno {
    config: FnoConfig,
    /// Made when the first context comes.
    transforms: OnceLock<Transforms>,
    lift: Linear,
    layers: Vec<Layer>,
    fc1: Linear,
    fc2: Linear,
}

impl Fno {
    /// Declares its parameters.
    pub(crate) fn declare(layout: &mut Layout, config: &FnoConfig) -> Self {
        let mut root = layout.root();
        let FnoConfig { width, projection, .. } = *config;
        let lift = Linear::declare(root.scope("lift"), PIXEL, width);
        let mut layers = root.scope("layers");
        let layers = (0..config.layers)
            .map(|k| {
                let mut layer = layers.scope(k);
                let spectral = Transforms::declare(layer.scope("spectral"), config.kept(), width);
                Layer { spectral, pointwise: Linear::declare(layer.scope("pointwise"), width, width) }
            })
            .collect();
        Self {
            config: config.clone(),
            transforms: OnceLock::new(),
            lift,
            layers,
            fc1: Linear::declare(root.scope("fc1"), width, projection),
            fc2: Linear::declare(root.scope("fc2"), projection, FIELDS),
        }
    }
}

impl FieldNetwork for Fno {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let padded = self.config.padded();
        let transforms = self.transforms.get_or_init(|| self.config.transforms());
        let x = tape.pixels(context)?; // [batch, rows, columns, 6]
        let v = tape.linear(&x, self.lift, Epilogue::Plain)?; // [batch, rows, columns, width]
        let mut v = tape.crop_or_pad(&v, padded)?; // [batch, padded rows, padded columns, width]
        for (k, layer) in self.layers.iter().enumerate() {
            let far = transforms.convolve(tape, &v, layer.spectral)?;
            v = tape.linear(&v, layer.pointwise, Epilogue::Add(&far))?;
            if k + 1 < self.layers.len() {
                v = tape.activate(&v, Activation::Gelu)?;
            }
        }
        let v = tape.crop_or_pad(&v, self.config.resolution.lengths())?;
        let h = tape.linear(&v, self.fc1, Epilogue::Gelu)?; // [batch, rows, columns, projection]
        tape.channels_first(&tape.linear(&h, self.fc2, Epilogue::Wide)?)
    }

    /// Spectral weights are uniform in \[0, 1) / width^2, both parts, as the original has them.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        if param.name.ends_with("spectral.weight") {
            return Initial::Positive(1.0 / (self.config.width * self.config.width) as f64);
        }
        default_initial(layout, param)
    }
}

//! DeepONet (Lu et al., 2021): a branch reads the context and gives coefficients, a trunk reads coordinates and gives
//! basis functions.

use std::{f64::consts::PI, sync::OnceLock};

use scope_engine::{
    Activation, AxisMap, BatchNorm, Constant, EngineError, Epilogue, Layout, Linear, Param, ParamId, Tape,
    Var,
};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::{CONTEXT, FIELDS, PIXEL, require_constants, require_sizes};
use crate::{
    error::ModelError,
    field_model::FieldNetwork,
    initial::{Initial, default_initial},
};

/// The sizes of a DeepONet. The paper's count fits three of them ([`DeepOnetConfig::paper`], `fourier`, `normalised`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeepOnetConfig {
    /// The points of the grid along each axis.
    pub resolution: GridShape,
    /// The side of the first convolution's windows.
    pub stem: usize,
    /// Channels of the convolutions; each halves the grid.
    pub channels: Vec<usize>,
    /// Whether a batch normalisation follows each convolution.
    pub normalised: bool,
    /// Whether the branch sees coordinates beside the context.
    pub branch_coordinates: bool,
    /// The branch's hidden width.
    pub hidden: usize,
    /// Basis functions, for each field its own coefficients.
    pub basis: usize,
    /// The trunk's hidden width.
    pub trunk: usize,
    /// The trunk's hidden layers.
    pub trunk_depth: usize,
    /// Whether the trunk sees the coordinates themselves.
    pub trunk_coordinates: bool,
    /// Frequencies of sines and cosines of each coordinate that the trunk sees: pi, 2 pi, 4 pi, ...
    pub frequencies: usize,
}

impl DeepOnetConfig {
    /// A 5 x 5 stem, and a trunk that sees two coordinates: 4,977,354 parameters. Nothing in it goes beyond what the
    /// paper lists.
    pub fn paper(resolution: impl Into<GridShape>) -> Self {
        Self {
            resolution: resolution.into(),
            stem: 5,
            channels: vec![32, 64, 128, 192],
            normalised: false,
            branch_coordinates: true,
            hidden: 360,
            basis: 256,
            trunk: 128,
            trunk_depth: 2,
            trunk_coordinates: true,
            frequencies: 0,
        }
    }

    /// The same count with a 3 x 3 stem and six frequencies beside the coordinates.
    pub fn fourier(resolution: impl Into<GridShape>) -> Self {
        Self { stem: 3, frequencies: 6, ..Self::paper(resolution) }
    }

    /// The same count with normalisations, a branch without coordinates and a trunk of frequencies only.
    pub fn normalised(resolution: impl Into<GridShape>) -> Self {
        Self {
            normalised: true,
            branch_coordinates: false,
            trunk_coordinates: false,
            ..Self::fourier(resolution)
        }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        let refuse = |problem: String| Err(ModelError::Config(format!("deeponet: {problem}")));
        let GridShape { rows, columns } = self.resolution;
        let sizes = [rows, columns, self.stem, self.hidden, self.basis, self.trunk];
        require_sizes("deeponet", &sizes)?;
        require_sizes("deeponet", &self.channels)?;
        if self.channels.is_empty() || self.channels.len() > 12 || self.trunk_depth > 64 {
            return refuse(
                "it needs one to twelve convolutions, and 64 layers of a trunk at most".to_owned(),
            );
        }
        let factor = 1 << self.channels.len();
        if !self.resolution.is_multiple_of(factor) || rows.min(columns) < 2 {
            return refuse(format!("a grid of {} is not a multiple of {factor}", self.resolution));
        }
        if self.stem.is_multiple_of(2) || self.frequencies > 24 || self.features() == 0 {
            return refuse(
                "it needs a stem of odd side, 24 frequencies at most, and a trunk that sees something".into(),
            );
        }
        require_constants("deeponet", &[rows, columns, self.features()])
    }

    /// Numbers that the trunk sees of a point.
    fn features(&self) -> usize {
        2 * usize::from(self.trunk_coordinates) + 4 * self.frequencies
    }

    /// What the trunk sees: coordinates from 0 to 1, then sine and cosine of both for each frequency.
    pub fn points(&self) -> Constant {
        let shape = self.resolution;
        let features = self.features();
        let plain = 2 * usize::from(self.trunk_coordinates);
        Constant::from_fn(&[shape.points(), features], |k| {
            let point = k / features;
            let feature = k % features;
            let place = shape.place(point);
            let at = [0, 1].map(|axis| place[axis] as f64 / (shape.lengths()[axis] - 1) as f64);
            if feature < plain {
                return at[feature];
            }
            let frequency = (feature - plain) / 4;
            let which = (feature - plain) % 4;
            let angle = PI * f64::from(1_u32 << frequency) * at[which / 2];
            if which.is_multiple_of(2) { angle.sin() } else { angle.cos() }
        })
    }
}

/// A convolution that halves the grid.
#[derive(Clone, Copy, Debug)]
struct Halving {
    conv: Linear,
    norm: Option<BatchNorm>,
}

/// A DeepONet.
#[derive(Clone, Debug)]
pub struct DeepOnet {
    config: DeepOnetConfig,
    /// The context's channels alone, if the branch is not to see coordinates.
    blind: Option<AxisMap>,
    /// What the trunk sees, made when the first context comes.
    points: OnceLock<Constant>,
    convs: Vec<Halving>,
    fc1: Linear,
    fc2: Linear,
    trunk: Vec<Linear>,
    offset: ParamId,
}

impl DeepOnet {
    /// Declares its parameters.
    pub(crate) fn declare(layout: &mut Layout, config: &DeepOnetConfig) -> Self {
        let mut root = layout.root();
        let mut branch = root.scope("branch");
        let mut c = if config.branch_coordinates { PIXEL } else { CONTEXT };
        let mut convs = Vec::new();
        for (k, o) in config.channels.iter().copied().enumerate() {
            let side = if k == 0 { config.stem } else { 3 };
            let mut conv = branch.scope(format!("conv{k}"));
            let linear = Linear {
                weight: conv.weight("weight", &[o, side, side, c]),
                bias: conv.offset("bias", &[o]),
            };
            let norm = config.normalised.then(|| BatchNorm::declare(branch.scope(format!("bn{k}")), o));
            convs.push(Halving { conv: linear, norm });
            c = o;
        }
        let coarse = config.resolution.divided(1 << config.channels.len());
        let fc1 = Linear::declare(branch.scope("fc1"), coarse.points() * c, config.hidden);
        let fc2 = Linear::declare(branch.scope("fc2"), config.hidden, FIELDS * config.basis);
        let mut trunk = root.scope("trunk");
        let mut widths = vec![config.features()];
        widths.extend(vec![config.trunk; config.trunk_depth]);
        widths.push(config.basis);
        let trunk =
            widths.windows(2).enumerate().map(|(k, w)| Linear::declare(trunk.scope(k), w[0], w[1])).collect();
        Self {
            config: config.clone(),
            blind: (!config.branch_coordinates)
                .then(|| AxisMap::new(CONTEXT, PIXEL, |i, j| if i == j { 1.0 } else { 0.0 })),
            points: OnceLock::new(),
            convs,
            fc1,
            fc2,
            trunk,
            offset: root.offset("offset", &[FIELDS]),
        }
    }

    /// Coefficients of both fields \[batch, 2, basis\].
    fn branch(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let mut x = tape.pixels(context)?; // [batch, rows, columns, 6]
        if let Some(blind) = &self.blind {
            x = tape.map_axis(&x, 3, blind)?;
        }
        for Halving { conv, norm } in &self.convs {
            x = match norm {
                None => tape.strided_conv(&x, *conv, 2, Epilogue::Gelu)?, // [batch, rows / 2, columns / 2, c]
                Some(norm) => {
                    let h = tape.batch_norm(&tape.strided_conv(&x, *conv, 2, Epilogue::Plain)?, *norm)?;
                    tape.activate(&h, Activation::Gelu)?
                }
            };
        }
        let batch = x.shape()[0];
        let flat = x.reshape(&[batch, x.value().len() / batch.max(1)])?;
        let h = tape.linear(&flat, self.fc1, Epilogue::Gelu)?;
        tape.linear(&h, self.fc2, Epilogue::Wide)?.reshape(&[batch, FIELDS, self.config.basis])
    }

    /// Basis functions at all points \[rows columns, basis\].
    fn trunk(&self, tape: &Tape<'_>) -> Result<Var, EngineError> {
        let mut t = tape.constant(self.points.get_or_init(|| self.config.points()))?;
        for (k, layer) in self.trunk.iter().enumerate() {
            let last = k + 1 == self.trunk.len();
            t = tape.linear(&t, *layer, if last { Epilogue::Wide } else { Epilogue::Gelu })?;
        }
        Ok(t)
    }
}

impl FieldNetwork for DeepOnet {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let coefficients = self.branch(tape, context)?;
        let basis = self.trunk(tape)?;
        let fields = tape.expansion(&coefficients, &basis, self.offset)?; // [batch, 2, rows columns]
        let GridShape { rows, columns } = self.config.resolution;
        fields.reshape(&[context.shape()[0], FIELDS, rows, columns])
    }

    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        if param.name == "offset" { Initial::Constant(0.0) } else { default_initial(layout, param) }
    }
}

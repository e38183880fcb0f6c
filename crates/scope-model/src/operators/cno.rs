//! The convolutional neural operator (Raonic et al., 2023): a U-shaped network whose every activation acts on a finer
//! grid. The main comparison has its simplified form, the auxiliary study its classic one.

use std::sync::OnceLock;

use scope_engine::{BatchNorm, EngineError, Epilogue, Layout, Linear, Param, ParamId, Scope, Tape, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use super::{FIELDS, PIXEL, auxiliary::HiddenFieldNetwork, require_sizes, resize::FilteredActivations};
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

    /// The auxiliary study's: 5,281,721 parameters in the classic form.
    pub fn auxiliary(resolution: impl Into<GridShape>) -> Self {
        Self { residual: 4, multiplier: 48, ..Self::paper(resolution) }
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

    /// The grid after so many halvings.
    pub fn grid(&self, level: usize) -> GridShape {
        self.resolution.divided(1 << level)
    }
}

/// Which of the two published forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CnoForm {
    /// Activations go from the finer grid to the next one at once; both fields come out.
    Simplified,
    /// Activations return to their own grid first, and have a bias; a block follows each join; one field comes out.
    Classic,
}

impl CnoForm {
    /// The bias of an activation of c channels, if it has one.
    fn declare_shift(self, scope: &mut Scope<'_>, c: usize) -> Option<ParamId> {
        (self == CnoForm::Classic).then(|| scope.offset("shift", &[c]))
    }
}

/// Convolution, normalisation, activation.
#[derive(Clone, Copy, Debug)]
struct Block {
    conv: Linear,
    norm: BatchNorm,
    shift: Option<ParamId>,
    /// The grid that it leaves.
    to: GridShape,
}

impl Block {
    fn declare(mut scope: Scope<'_>, form: CnoForm, [c, o]: [usize; 2], to: GridShape) -> Self {
        let conv = Linear::declare_conv3x3(scope.scope("conv"), c, o);
        let norm = BatchNorm::declare(scope.scope("bn"), o);
        Self { conv, norm, shift: form.declare_shift(&mut scope, o), to }
    }
}

/// v + norm(conv(activation(norm(conv v)))).
#[derive(Clone, Copy, Debug)]
struct Residual {
    convs: [Linear; 2],
    norms: [BatchNorm; 2],
    shift: Option<ParamId>,
}

impl Residual {
    fn declare(mut scope: Scope<'_>, form: CnoForm, c: usize) -> Self {
        let [first, second] = ["conv0", "conv1"].map(|name| Linear::declare_conv3x3(scope.scope(name), c, c));
        let norms = ["bn0", "bn1"].map(|name| BatchNorm::declare(scope.scope(name), c));
        Self { convs: [first, second], norms, shift: form.declare_shift(&mut scope, c) }
    }

    fn declare_all(mut scope: Scope<'_>, form: CnoForm, count: usize, c: usize) -> Vec<Self> {
        (0..count).map(|k| Self::declare(scope.scope(k), form, c)).collect()
    }
}

/// Convolution, activation, convolution.
#[derive(Clone, Copy, Debug)]
struct Pair {
    convs: [Linear; 2],
    shift: Option<ParamId>,
}

impl Pair {
    fn declare(mut scope: Scope<'_>, form: CnoForm, [c, between, o]: [usize; 3]) -> Self {
        let first = Linear::declare_conv3x3(scope.scope("conv0"), c, between);
        let second = Linear::declare_conv3x3(scope.scope("conv1"), between, o);
        Self { convs: [first, second], shift: form.declare_shift(&mut scope, between) }
    }
}

/// A convolutional neural operator.
#[derive(Clone, Debug)]
pub struct Cno {
    config: CnoConfig,
    form: CnoForm,
    /// Made when the first context comes.
    activations: OnceLock<FilteredActivations>,
    lift: Pair,
    down: Vec<Block>,
    skips: Vec<Vec<Residual>>,
    neck: Vec<Residual>,
    /// The invariant blocks of each skip, and of the neck.
    invariant: Vec<Block>,
    /// Before each way up, and before the projection, where the published network has one that it never uses; classic
    /// only.
    joined: Vec<Block>,
    up: Vec<Block>,
    project: Pair,
}

impl Cno {
    /// Declares the parameters of the simplified form.
    pub(crate) fn declare_simplified(layout: &mut Layout, config: &CnoConfig) -> Self {
        Self::declare(layout, config, CnoForm::Simplified)
    }

    /// Declares the parameters of a form.
    pub(super) fn declare(layout: &mut Layout, config: &CnoConfig, form: CnoForm) -> Self {
        let mut root = layout.root();
        let levels = config.levels;
        let channels = |l| config.channels(l);
        let grid = |l| config.grid(l);
        let lift = Pair::declare(root.scope("lift"), form, [PIXEL, config.latent, channels(0)]);
        let mut scope = root.scope("down");
        let down = (0..levels)
            .map(|l| Block::declare(scope.scope(l), form, [channels(l), channels(l + 1)], grid(l + 1)))
            .collect();
        let mut scope = root.scope("skips");
        let skips = (0..levels)
            .map(|l| Residual::declare_all(scope.scope(l), form, config.residual, channels(l)))
            .collect();
        let neck = Residual::declare_all(root.scope("neck"), form, config.neck, channels(levels));
        let mut scope = root.scope("invariant");
        let invariant =
            (0..=levels).map(|l| Block::declare(scope.scope(l), form, [channels(l); 2], grid(l))).collect();
        // Above the bottom, what comes from below is joined by a skip of as many channels.
        let joined_channels = |k: usize| channels(levels - k) << usize::from(k > 0);
        let mut scope = root.scope("joined");
        let joined = (0..=levels)
            .filter(|_| form == CnoForm::Classic)
            .map(|k| Block::declare(scope.scope(k), form, [joined_channels(k); 2], grid(levels - k)))
            .collect();
        let mut scope = root.scope("up");
        let up = (0..levels)
            .map(|k| {
                let level = levels - k - 1;
                Block::declare(scope.scope(k), form, [joined_channels(k), channels(level)], grid(level))
            })
            .collect();
        let outputs = if form == CnoForm::Classic { 1 } else { FIELDS };
        let project =
            Pair::declare(root.scope("project"), form, [joined_channels(levels), config.latent, outputs]);
        let activations = OnceLock::new();
        Self {
            config: config.clone(),
            form,
            activations,
            lift,
            down,
            skips,
            neck,
            invariant,
            joined,
            up,
            project,
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

    /// An activation on the way to a grid.
    fn activate(
        &self,
        tape: &Tape<'_>,
        v: &Var,
        to: GridShape,
        shift: Option<ParamId>,
    ) -> Result<Var, EngineError> {
        let activations = self.activations();
        let v = match self.form {
            CnoForm::Simplified => activations.apply(tape, v, to)?,
            CnoForm::Classic => activations.resize(tape, &activations.apply(tape, v, grid_of(v))?, to)?,
        };
        shift.map_or(Ok(v.clone()), |shift| tape.shift_channels(&v, shift))
    }

    fn block(&self, tape: &Tape<'_>, v: &Var, block: &Block) -> Result<Var, EngineError> {
        let h = tape.conv3x3(v, block.conv, Epilogue::Plain)?;
        self.activate(tape, &tape.batch_norm(&h, block.norm)?, block.to, block.shift)
    }

    fn residuals(&self, tape: &Tape<'_>, v: &Var, blocks: &[Residual]) -> Result<Var, EngineError> {
        let mut v = v.clone();
        for Residual { convs, norms, shift } in blocks {
            let h = tape.batch_norm(&tape.conv3x3(&v, convs[0], Epilogue::Plain)?, norms[0])?;
            let h = self.activate(tape, &h, grid_of(&v), *shift)?;
            let h = tape.batch_norm(&tape.conv3x3(&h, convs[1], Epilogue::Plain)?, norms[1])?;
            v = tape.add(&h, &v)?;
        }
        Ok(v)
    }

    fn pair(&self, tape: &Tape<'_>, v: &Var, Pair { convs, shift }: Pair) -> Result<Var, EngineError> {
        let h = tape.conv3x3(v, convs[0], Epilogue::Plain)?;
        let h = self.activate(tape, &h, grid_of(v), shift)?;
        tape.conv3x3(&h, convs[1], Epilogue::Wide)
    }

    /// Pixels \[batch, rows, columns, 6\] to fields with channels last.
    fn fields(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        let mut v = self.pair(tape, pixels, self.lift)?;
        let mut skips = Vec::new();
        for (k, down) in self.down.iter().enumerate() {
            let skip = self.residuals(tape, &v, &self.skips[k])?;
            skips.push(self.block(tape, &skip, &self.invariant[k])?);
            v = self.block(tape, &v, down)?;
        }
        v = self.residuals(tape, &v, &self.neck)?;
        v = self.block(tape, &v, &self.invariant[self.down.len()])?;
        for (k, up) in self.up.iter().enumerate() {
            if let Some(joined) = self.joined.get(k) {
                v = self.block(tape, &v, joined)?;
            }
            v = self.block(tape, &v, up)?;
            if let Some(skip) = skips.pop() {
                v = tape.concat(&v, &skip)?;
            }
        }
        self.pair(tape, &v, self.project)
    }
}

/// The grid of \[batch, rows, columns, c\].
fn grid_of(v: &Var) -> GridShape {
    GridShape { rows: v.shape()[1], columns: v.shape()[2] }
}

impl FieldNetwork for Cno {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        tape.channels_first(&self.fields(tape, &tape.pixels(context)?)?)
    }

    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        initial(layout, param)
    }
}

impl HiddenFieldNetwork for Cno {
    fn hidden_field(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError> {
        self.fields(tape, pixels)
    }

    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        initial(layout, param)
    }
}

/// What parameters begin with: as in other networks, but that biases of activations begin at zero.
fn initial(layout: &Layout, param: &Param) -> Initial {
    if param.name.ends_with(".shift") { Initial::Constant(0.0) } else { default_initial(layout, param) }
}

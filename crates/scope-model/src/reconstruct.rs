//! Sensors in, fields out.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
    str::FromStr,
    sync::{Mutex, OnceLock, PoisonError},
};

use scope_data::{
    Constants, Fields, PerChannel, RecordRegion,
    observation::{Sensor, SensorError, UserContext},
};
use scope_engine::{Cpu, Cuda, Device, Dtype, EngineError, Graph, Tape, Tensor};
use scope_pde::{GridShape, Pde};
use serde::{Deserialize, Serialize};

use crate::{
    error::ModelError,
    field_model::FieldModel,
    names::{UnknownName, named},
    sensors::{fit_sensors, recover_sensors},
    weights::{About, WeightFile},
};

/// Contexts that go through the network together: on the CPU, and on a GPU. A browser's module, whose memory never
/// shrinks, has room for one.
const BATCH_SIZES: [usize; 2] = [if cfg!(target_family = "wasm") { 1 } else { 8 }, 32];

/// What products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// Half the bits: about twice as fast where the processor multiplies them, within 1% of single precision.
    Bf16,
    /// On a CPU, weights that a file holds in eight bits are multiplied as they are, and all else is single precision:
    /// nearly as fast as bf16, with the errors of single precision. On a GPU it is single precision.
    Int8,
}

impl Precision {
    /// All precisions.
    pub const ALL: [Self; 3] = [Precision::F32, Precision::Bf16, Precision::Int8];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
        }
    }

    /// The kind of number that products read; with int8, those of weights that are not kept as integers.
    pub fn dtype(self) -> Dtype {
        match self {
            Precision::F32 | Precision::Int8 => Dtype::F32,
            Precision::Bf16 => Dtype::Bf16,
        }
    }
}

impl FromStr for Precision {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("precision", Self::ALL, Self::name, name)
    }
}

/// A trained model, ready for any number of contexts.
///
/// One forward pass recovers both fields; measured values are not copied into the result, so that it shows what
/// the model makes of them.
#[derive(Debug)]
pub struct Reconstructor {
    model: FieldModel,
    about: About,
    precision: Precision,
    /// The CPU beside a GPU, where sensors are fitted that lie between pixels.
    beside: OnceLock<Cpu>,
    /// On a GPU, one pass for each number of contexts that was asked for, with fits given or without.
    passes: Mutex<HashMap<(usize, bool), RecordedPass>>,
}

/// What the network reads of some contexts.
#[derive(Clone, Copy)]
struct Batch<'a> {
    count: usize,
    contexts: &'a [f32],
    /// Local fits of sensors where they are; without, a network that wants fits computes them from the contexts.
    fits: Option<&'a [f32]>,
}

/// The inputs of a pass on a device.
#[derive(Debug)]
struct Inputs {
    contexts: Tensor,
    fits: Option<Tensor>,
}

/// A pass of the network that a GPU replays: where it finds its inputs and leaves its fields.
#[derive(Debug)]
struct RecordedPass {
    graph: Graph,
    inputs: Inputs,
    fields: Tensor,
}

impl Reconstructor {
    /// Reads a weight file.
    pub fn open(path: impl AsRef<Path>, device: &Device, precision: Precision) -> Result<Self, ModelError> {
        Self::from_file(WeightFile::read(path.as_ref())?, device, precision)
    }

    /// Uses a weight file that was read.
    pub fn from_file(file: WeightFile, device: &Device, precision: Precision) -> Result<Self, ModelError> {
        let mut model = FieldModel::zeros(file.about.config.clone(), device)?;
        file.fill(&mut model.params)?;
        if precision == Precision::Int8 {
            file.keep_integers(&mut model.params)?;
        }
        Ok(Self::of(model, file.about, precision))
    }

    /// Uses a model at hand.
    pub fn new(model: impl Into<FieldModel>, pde: Pde, constants: Constants, precision: Precision) -> Self {
        let model = model.into();
        let about = About { pde, constants, config: model.architecture.clone(), training: None };
        Self::of(model, about, precision)
    }

    fn of(model: FieldModel, about: About, precision: Precision) -> Self {
        Self { model, about, precision, beside: OnceLock::new(), passes: Mutex::default() }
    }

    /// The problem, the normalisation and the sizes of the model.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.model.params.layout().count("")
    }

    /// Places sensors in physical units on the model's grid; `context` of the result is what
    /// [`Reconstructor::recover`] takes. A cylinder's disk is known on both channels.
    pub fn place(
        &self,
        sensors: &[Sensor],
        region: Option<&RecordRegion>,
    ) -> Result<UserContext, SensorError> {
        let About { pde, constants, config, .. } = &self.about;
        UserContext::new(*pde, constants, config.resolution(), sensors, region)
    }

    /// Recovers the fields of contexts \[n, 4, S, S\]: (Ma a, Ma, Mu u, Mu) each, in stored coordinates.
    pub fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, ModelError> {
        self.recover_fitted(contexts, None)
    }

    /// The same with local fits \[n, fit channels, points, points\] given.
    fn recover_fitted(&self, contexts: &[f32], fits: Option<&[f32]>) -> Result<Vec<Fields>, ModelError> {
        let grid = self.about.config.resolution();
        let channels = self.about.config.context_channels();
        let each = channels * grid.points();
        if !contexts.len().is_multiple_of(each) {
            return Err(ModelError::Context { got: contexts.len(), channels, grid });
        }
        if let Some(at) = contexts.iter().position(|x| !x.is_finite()) {
            let context = at / each;
            let channel = at % each / grid.points();
            let [row, column] = grid.place(at % grid.points());
            return Err(ModelError::NotFinite { context, channel, row, column });
        }
        let mut fields = Vec::with_capacity(contexts.len() / each);
        let fits_each = fits.map_or(0, |fits| fits.len() / (contexts.len() / each).max(1));
        for (at, contexts) in contexts.chunks(self.batch_size() * each).enumerate() {
            let first = at * self.batch_size();
            let count = contexts.len() / each;
            let fits = fits.map(|fits| &fits[first * fits_each..][..count * fits_each]);
            let stored = self.stored(Batch { count, contexts, fits })?;
            fields.extend(stored.chunks(2 * grid.points()).map(|pair| self.physical(pair)));
        }
        Ok(fields)
    }

    /// Recovers the fields of sensors placed by [`Self::place`]: those between pixels are carried to them, in a second
    /// pass. A network that sees local fits of the sensors sees those of the sensors where they are, in both.
    pub fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, ModelError> {
        let About { pde, constants, .. } = &self.about;
        let params = &self.model.params;
        let Some(fits) = self.model.network.fits() else {
            return recover_sensors(*pde, constants, contexts, |contexts| self.recover(contexts));
        };
        let mut fields = Vec::with_capacity(contexts.len());
        for alike in contexts.chunk_by_mut(|one, next| one.is_off_grid() == next.is_off_grid()) {
            for some in alike.chunks_mut(self.batch_size()) {
                let off_grid = some.iter().any(UserContext::is_off_grid);
                let fit = || fit_sensors(self.cpu(), params, fits, constants, some);
                let fitted = off_grid.then(fit).transpose()?;
                let recover = |contexts: &[f32]| self.recover_fitted(contexts, fitted.as_deref());
                fields.extend(recover_sensors(*pde, constants, some, recover)?);
            }
        }
        Ok(fields)
    }

    /// How many contexts go through the network together.
    fn batch_size(&self) -> usize {
        let on_cpu = matches!(self.model.params.device(), Device::Cpu(_));
        BATCH_SIZES[usize::from(!on_cpu)]
    }

    /// The CPU that the network is on, or the one beside its GPU.
    fn cpu(&self) -> &Cpu {
        match self.model.params.device() {
            Device::Cpu(cpu) => cpu,
            Device::Cuda(_) => self.beside.get_or_init(Cpu::all_threads),
        }
    }

    /// One pass of the network: \[n, 2, S, S\] in stored coordinates.
    fn stored(&self, batch: Batch<'_>) -> Result<Vec<f32>, ModelError> {
        match self.model.params.device() {
            Device::Cpu(_) => Ok(self.pass(&self.inputs(batch)?)?.to_vec()?),
            Device::Cuda(cuda) => self.replayed(cuda, batch),
        }
    }

    fn inputs(&self, Batch { count, contexts, fits }: Batch<'_>) -> Result<Inputs, EngineError> {
        let device = self.model.params.device();
        let grid = self.about.config.resolution();
        let image = |values: &[f32], grid: GridShape| {
            let channels = values.len() / (count * grid.points()).max(1);
            Tensor::from_slice(device, &[count, channels, grid.rows, grid.columns], values)
        };
        let stride = self.model.network.fits().map_or(1, |fits| fits.local_fit.stride);
        let fits = fits.map(|fits| image(fits, grid.divided(stride))).transpose()?;
        Ok(Inputs { contexts: image(contexts, grid)?, fits })
    }

    fn pass(&self, Inputs { contexts, fits }: &Inputs) -> Result<Tensor, EngineError> {
        let compute = self.precision.dtype();
        let tape = Tape::inference(&self.model.params, compute);
        let network = &self.model.network;
        let contexts = tape.input(contexts.clone());
        let fields = match fits {
            None => network.forward(&tape, &contexts)?,
            Some(fits) => network.forward_fitted(&tape, &contexts, &tape.input(fits.clone()))?,
        };
        Ok(fields.value().clone())
    }

    /// A pass that is recorded when its number of contexts is first asked for, and replayed from then on.
    fn replayed(&self, cuda: &Cuda, batch: Batch<'_>) -> Result<Vec<f32>, ModelError> {
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = match passes.entry((batch.count, batch.fits.is_some())) {
            Entry::Occupied(pass) => {
                let pass = pass.into_mut();
                pass.inputs.contexts.overwrite(batch.contexts)?;
                if let (Some(place), Some(fits)) = (&mut pass.inputs.fits, batch.fits) {
                    place.overwrite(fits)?;
                }
                pass
            }
            Entry::Vacant(place) => {
                let inputs = self.inputs(batch)?;
                let (graph, fields) = Graph::record(cuda, || self.pass(&inputs))?;
                place.insert(RecordedPass { graph, inputs, fields })
            }
        };
        pass.graph.replay()?;
        Ok(pass.fields.to_vec()?)
    }

    /// Stored coordinates to physical units.
    fn physical(&self, pair: &[f32]) -> Fields {
        let (a, u) = pair.split_at(pair.len() / 2);
        let channels = PerChannel { a, u }.zip(self.about.constants);
        channels.map(|(stored, scaling)| stored.iter().map(|x| scaling.physical(*x) as f32).collect())
    }
}

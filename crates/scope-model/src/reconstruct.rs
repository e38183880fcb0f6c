//! Sensors in, fields out.

use std::path::Path;
#[cfg(not(target_arch = "wasm32"))]
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, PoisonError},
};

use scope_data::{
    Channel, Constants,
    observation::{Sensor, SensorError, UserContext},
};
#[cfg(not(target_arch = "wasm32"))]
use scope_engine::{Cuda, Graph};
use scope_engine::{Device, Dtype, EngineError, Tape, Tensor};
use scope_pde::{Pde, cylinder::Disk};

use crate::{
    error::ModelError,
    field_model::FieldModel,
    sensors::recover_sensors,
    weights::{About, WeightFile},
};

/// Contexts that go through the network together: on the processor, and on a card.
const BATCHES: [usize; 2] = [8, 32];

/// What products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single precision.
    F32,
    /// Half the bits: about twice as fast where the processor multiplies them, within 1% of single precision.
    Bf16,
}

/// Both fields in physical units, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// The input field.
    pub a: Vec<f32>,
    /// The response field.
    pub u: Vec<f32>,
}

impl Fields {
    /// The field of a channel.
    pub fn of(&self, channel: Channel) -> &[f32] {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
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
    /// On a card, one pass for each number of contexts that was asked for.
    #[cfg(not(target_arch = "wasm32"))]
    passes: Mutex<HashMap<usize, RecordedPass>>,
}

/// A pass of the network that a card replays: where it finds its contexts and leaves its fields.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Debug)]
struct RecordedPass {
    graph: Graph,
    contexts: Tensor,
    fields: Tensor,
}

impl Reconstructor {
    /// Reads a weight file.
    pub fn open(path: impl AsRef<Path>, device: &Device, precision: Precision) -> Result<Self, ModelError> {
        Self::from_file(WeightFile::read(path.as_ref())?, device, precision)
    }

    /// Uses a weight file that was read.
    pub fn from_file(file: WeightFile, device: &Device, precision: Precision) -> Result<Self, ModelError> {
        let (model, about) = FieldModel::from_file(file, device)?;
        Ok(Self::of(model, about, precision))
    }

    /// Uses a model at hand.
    pub fn new(model: impl Into<FieldModel>, pde: Pde, constants: Constants, precision: Precision) -> Self {
        let model = model.into();
        let about = About { pde, constants, config: model.architecture.clone(), training: None };
        Self::of(model, about, precision)
    }

    fn of(model: FieldModel, about: About, precision: Precision) -> Self {
        Self {
            model,
            about,
            precision,
            #[cfg(not(target_arch = "wasm32"))]
            passes: Mutex::default(),
        }
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
    pub fn place(&self, sensors: &[Sensor], disk: Option<&Disk>) -> Result<UserContext, SensorError> {
        let About { pde, constants, config, .. } = &self.about;
        UserContext::new(*pde, constants, config.resolution(), sensors, disk)
    }

    /// Recovers the fields of contexts \[n, 4, S, S\]: (Ma a, Ma, Mu u, Mu) each, in stored coordinates.
    pub fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, ModelError> {
        let (size, channels) = (self.about.config.resolution(), self.about.config.context_channels());
        let each = channels * size * size;
        if !contexts.len().is_multiple_of(each) {
            return Err(ModelError::Context { got: contexts.len(), channels, size });
        }
        if let Some(at) = contexts.iter().position(|x| !x.is_finite()) {
            let (context, channel) = (at / each, at % each / (size * size));
            let (row, column) = (at % (size * size) / size, at % size);
            return Err(ModelError::NotFinite { context, channel, row, column });
        }
        let mut fields = Vec::with_capacity(contexts.len() / each);
        let on_processor = matches!(self.model.params.device(), Device::Cpu(_));
        let most = BATCHES[usize::from(!on_processor)];
        for batch in contexts.chunks(most * each) {
            let stored = self.stored(batch, batch.len() / each)?;
            fields.extend(stored.chunks(2 * size * size).map(|pair| self.physical(pair)));
        }
        Ok(fields)
    }

    /// Recovers the fields of sensors placed by [`Self::place`]: those between pixels are carried to them, in a second pass.
    pub fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, ModelError> {
        let About { pde, constants, .. } = &self.about;
        recover_sensors(*pde, constants, contexts, |contexts| self.recover(contexts))
    }

    /// One pass of the network: \[n, 2, S, S\] in stored coordinates.
    fn stored(&self, contexts: &[f32], count: usize) -> Result<Vec<f32>, ModelError> {
        let (size, channels) = (self.about.config.resolution(), self.about.config.context_channels());
        let shape = [count, channels, size, size];
        match self.model.params.device() {
            device @ Device::Cpu(_) => {
                Ok(self.pass(&Tensor::from_slice(device, &shape, contexts)?)?.to_vec()?)
            }
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => self.replayed(cuda, &shape, contexts),
        }
    }

    fn pass(&self, contexts: &Tensor) -> Result<Tensor, EngineError> {
        let compute = match self.precision {
            Precision::F32 => Dtype::F32,
            Precision::Bf16 => Dtype::Bf16,
        };
        let tape = Tape::inference(&self.model.params, compute);
        Ok(self.model.network.forward(&tape, &tape.input(contexts.clone()))?.value().clone())
    }

    /// A pass that is recorded when its number of contexts is first asked for, and replayed from then on.
    #[cfg(not(target_arch = "wasm32"))]
    fn replayed(&self, cuda: &Cuda, shape: &[usize; 4], contexts: &[f32]) -> Result<Vec<f32>, ModelError> {
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = match passes.entry(shape[0]) {
            Entry::Occupied(pass) => {
                let pass = pass.into_mut();
                pass.contexts.overwrite(contexts)?;
                pass
            }
            Entry::Vacant(place) => {
                let contexts = Tensor::from_slice(self.model.params.device(), shape, contexts)?;
                let (graph, fields) = Graph::record(cuda, || self.pass(&contexts))?;
                place.insert(RecordedPass { graph, contexts, fields })
            }
        };
        pass.graph.replay()?;
        Ok(pass.fields.to_vec()?)
    }

    /// Stored coordinates to physical units.
    fn physical(&self, pair: &[f32]) -> Fields {
        let decode = |channel: Channel, values: &[f32]| {
            let scaling = self.about.constants.of(channel);
            values.iter().map(|x| scaling.physical(*x) as f32).collect()
        };
        let (a, u) = pair.split_at(pair.len() / 2);
        Fields { a: decode(Channel::A, a), u: decode(Channel::U, u) }
    }
}

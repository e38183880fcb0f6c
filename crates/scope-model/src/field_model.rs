//! What everything that recovers fields has in common: a network of any architecture with its parameters.

use std::{fmt::Debug, path::Path, sync::Arc};

use scope_engine::{Device, EngineError, Layout, Param, Params, Tape, Var};

use crate::{
    architecture::Architecture,
    error::ModelError,
    initial::{Initial, default_initial, initialise_as},
    model::Model,
    network::{Fits, Network},
    weights::{About, LayerHessians, Quantisation, WeightFile},
};

/// A network from contexts to fields. Whoever implements it can be trained with the field loss, evaluated and deployed
/// like every other: it is what a method of one's own has to be.
pub trait FieldNetwork: Debug + Send + Sync {
    /// The fields of contexts, in stored coordinates. Results of one context must not depend on the others, except on a
    /// tape that records.
    ///
    /// # Shapes
    /// context \[batch, 4, size, size\]: (Ma a, Ma, Mu u, Mu); fields \[batch, 2, size, size\].
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError>;

    /// The local fits of the sensors that it sees beside the context, if any.
    fn fits(&self) -> Option<&Fits> {
        None
    }

    /// The fields of contexts whose local fits are given, normalised, because their sensors are not only on pixels.
    /// Only a network that has [`Self::fits`] is asked; for every other this is [`Self::forward`].
    ///
    /// # Shapes
    /// fits \[batch, fit channels, size, size\], the others as before.
    fn forward_fitted(&self, tape: &Tape<'_>, context: &Var, fits: &Var) -> Result<Var, EngineError> {
        let _ = fits;
        self.forward(tape, context)
    }

    /// How a parameter begins.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        default_initial(layout, param)
    }
}

impl FieldNetwork for Network {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        Network::forward(self, tape, context)
    }

    fn fits(&self) -> Option<&Fits> {
        self.encoder.fits()
    }

    fn forward_fitted(&self, tape: &Tape<'_>, context: &Var, fits: &Var) -> Result<Var, EngineError> {
        Network::forward_fitted(self, tape, context, fits)
    }
}

/// A network of any architecture with its parameters on a device.
#[derive(Debug)]
pub struct FieldModel {
    /// Which network, and its sizes.
    pub architecture: Architecture,
    /// The network.
    pub network: Box<dyn FieldNetwork>,
    /// Its parameters.
    pub params: Params,
}

impl FieldModel {
    /// A model whose parameters are all zero.
    pub fn zeros(architecture: Architecture, device: &Device) -> Result<Self, ModelError> {
        let mut layout = Layout::new();
        let network = architecture.declare(&mut layout)?;
        Ok(Self { architecture, network, params: Params::zeros(device, Arc::new(layout))? })
    }

    /// A model before training.
    pub fn initial(architecture: Architecture, seed: u64, device: &Device) -> Result<Self, ModelError> {
        Self::zeros(architecture, device)?.initialised(seed)
    }

    /// A network of one's own before training: `layout` is where it has declared its parameters.
    pub fn own(
        architecture: Architecture,
        network: Box<dyn FieldNetwork>,
        layout: Layout,
        seed: u64,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let params = Params::zeros(device, Arc::new(layout))?;
        Self { architecture, network, params }.initialised(seed)
    }

    fn initialised(mut self, seed: u64) -> Result<Self, ModelError> {
        let network = &self.network;
        initialise_as(&mut self.params, seed, |layout, param| network.initial(layout, param))?;
        Ok(self)
    }

    /// Reads a weight file: the model, and what the file says about it.
    pub fn load(path: &Path, device: &Device) -> Result<(Self, About), ModelError> {
        Self::from_file(WeightFile::read(path)?, device)
    }

    /// The model of a weight file that was read, and what the file says about it.
    pub fn from_file(file: WeightFile, device: &Device) -> Result<(Self, About), ModelError> {
        let mut model = Self::zeros(file.about.config.clone(), device)?;
        file.fill(&mut model.params)?;
        Ok((model, file.about))
    }

    /// Writes a weight file, whole or not at all.
    pub fn save(&self, path: &Path, about: &About, quantisation: Quantisation) -> Result<(), ModelError> {
        WeightFile::write(path, &self.params, about, quantisation, None)
    }

    /// The same, rounded with error compensation for the Hessians of its layers.
    pub fn save_compensated(
        &self,
        hessians: &LayerHessians,
        path: &Path,
        about: &About,
        quantisation: Quantisation,
    ) -> Result<(), ModelError> {
        WeightFile::write(path, &self.params, about, quantisation, Some(hessians))
    }
}

impl From<Model> for FieldModel {
    fn from(Model { config, network, params }: Model) -> Self {
        Self { architecture: config.into(), network: Box::new(network), params }
    }
}

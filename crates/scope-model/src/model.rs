//! A SCOPE network with its parameters.

use std::{path::Path, sync::Arc};

use scope_engine::{Device, Layout, Params};

use crate::{
    config::ModelConfig,
    error::ModelError,
    initial::initialise,
    limits::require_count,
    network::Network,
    weights::{About, Quantisation, WeightFile},
};

/// A SCOPE network with its parameters on a device.
#[derive(Debug)]
pub struct Model {
    /// The sizes of the network.
    pub config: ModelConfig,
    /// The parts of the network.
    pub network: Network,
    /// Their values.
    pub params: Params,
}

impl Model {
    /// A model whose parameters are all zero.
    pub fn zeros(config: ModelConfig, device: &Device) -> Result<Self, ModelError> {
        config.validate()?;
        let mut layout = Layout::new();
        let network = Network::declare(&mut layout, &config);
        require_count(&layout)?;
        Ok(Self { config, network, params: Params::zeros(device, Arc::new(layout))? })
    }

    /// A model before training.
    pub fn initial(config: ModelConfig, seed: u64, device: &Device) -> Result<Self, ModelError> {
        let mut model = Self::zeros(config, device)?;
        initialise(&mut model.params, seed)?;
        Ok(model)
    }

    /// Reads a weight file: the model, and what the file says about it.
    pub fn load(path: &Path, device: &Device) -> Result<(Self, About), ModelError> {
        Self::from_file(WeightFile::read(path)?, device)
    }

    /// The model of a weight file that was read, and what the file says about it.
    pub fn from_file(file: WeightFile, device: &Device) -> Result<(Self, About), ModelError> {
        let config = file.about.config.scope().ok_or_else(|| {
            let problem = format!("it holds a model of kind {}, expected scope", file.about.config.name());
            ModelError::malformed(file.path(), problem)
        })?;
        let mut model = Self::zeros(config.clone(), device)?;
        file.fill(&mut model.params)?;
        Ok((model, file.about))
    }

    /// Writes a weight file, whole or not at all.
    pub fn save(&self, path: &Path, about: &About, quantisation: Quantisation) -> Result<(), ModelError> {
        WeightFile::write(path, &self.params, about, quantisation, None)
    }
}

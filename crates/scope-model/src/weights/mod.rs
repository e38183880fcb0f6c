//! Weight files: safetensors whose tensor names are the parameters' paths, with the model's sizes, its PDE and
//! its normalisation in the header, so that a file is all one needs.
//!
//! Matrices may be whole numbers with a scale for each row of the first axis ([`WeightKind`]). The scales of `NAME` are
//! the tensor `NAME.scale`. Vectors (biases, gains) stay in single precision.

mod inputs;
mod kind;
mod nearest_plane;
mod whole_numbers;

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
};

pub use inputs::LayerInputs;
pub use kind::WeightKind;
use kind::{SCALE, Stored, numbers};
use safetensors::{SafeTensors, tensor::TensorView};
use scope_data::{Constants, Scaling, write_whole};
use scope_engine::{Param, Params, Tensor};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

use crate::{architecture::Architecture, error::ModelError, training::Training};

/// The key of our entry in the header's metadata.
const KEY: &str = "scope";
/// The version of the entry's layout.
const FORMAT: u32 = 1;

/// What a weight file says about its model.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The problem it was trained for.
    pub pde: Pde,
    /// How its fields are normalised.
    pub constants: Constants,
    /// Which network it is, and its sizes.
    pub config: Architecture,
    /// How it was trained, if it was.
    pub training: Option<Training>,
}

/// The entry as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    format: u32,
    pde: String,
    a: Scaling,
    u: Scaling,
    config: Architecture,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training: Option<Training>,
}

/// A weight file in memory, its header understood and its tensors not yet looked at.
#[derive(Debug)]
pub struct WeightFile {
    path: PathBuf,
    bytes: Cow<'static, [u8]>,
    /// What it says about its model.
    pub about: About,
}

impl WeightFile {
    /// Reads a file and its header.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_owned(), source })?;
        Self::parse(path, bytes)
    }

    /// Reads the bytes of a file; errors call it `path`.
    pub fn parse(path: &Path, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, ModelError> {
        let bytes = bytes.into();
        let (_, header) = SafeTensors::read_metadata(&bytes)
            .map_err(|error| ModelError::malformed(path, error.to_string()))?;
        let entry = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY)).ok_or_else(|| {
            ModelError::malformed(path, format!("its metadata has no \"{KEY}\" entry: it is not one of ours"))
        })?;
        let about = About::parse(entry).map_err(|problem| ModelError::malformed(path, problem))?;
        Ok(Self { path: path.to_owned(), bytes, about })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// BLAKE3 of the bytes that were read, whatever the file has become since.
    pub fn hash(&self) -> String {
        blake3::hash(&self.bytes).to_string()
    }

    /// What its weights are stored in.
    pub fn kind(&self) -> Result<WeightKind, ModelError> {
        let refuse =
            |error: safetensors::SafeTensorError| ModelError::malformed(&self.path, error.to_string());
        let file = SafeTensors::deserialize(&self.bytes).map_err(refuse)?;
        Ok(WeightKind::of(&file))
    }

    /// Puts the file's tensors into parameters: every one of them, nothing else, all finite.
    pub fn fill(&self, params: &mut Params) -> Result<(), ModelError> {
        let refuse = |problem: String| ModelError::malformed(&self.path, problem);
        let file = SafeTensors::deserialize(&self.bytes).map_err(|error| refuse(error.to_string()))?;
        let layout = params.layout().clone();
        let mut names: Vec<&str> = file.names();
        names.sort_unstable();
        let known = |name: &str| layout.find(name.strip_suffix(SCALE).unwrap_or(name)).is_some();
        if let Some(stranger) = names.iter().find(|name| !known(name)) {
            return Err(refuse(format!("it has a tensor \"{stranger}\" that the model does not have")));
        }
        let mut flat = vec![0.0_f32; layout.len()];
        for param in layout.params() {
            let view = file
                .tensor(&param.name)
                .map_err(|_| refuse(format!("it lacks the tensor \"{}\" {:?}", param.name, param.shape)))?;
            let scales = file.tensor(&format!("{}{SCALE}", param.name)).ok();
            let values = numbers(&view, scales.as_ref(), &param.shape);
            let values = values.map_err(|problem| refuse(format!("\"{}\" {problem}", param.name)))?;
            flat[param.range.clone()].copy_from_slice(&values);
        }
        params.set_flat(Tensor::from_slice(params.device(), &[flat.len()], &flat)?)?;
        Ok(())
    }

    /// Writes parameters, whole or not at all. With inputs, weights that become whole numbers are rounded so that what
    /// their layers give for these changes least.
    pub fn write(
        path: &Path,
        params: &Params,
        about: &About,
        kind: WeightKind,
        inputs: Option<&LayerInputs>,
    ) -> Result<(), ModelError> {
        let refuse = |error: safetensors::SafeTensorError| ModelError::malformed(path, error.to_string());
        let flat = params.flat().to_vec::<f32>()?;
        let layout = params.layout();
        let factor = |name: &str| inputs.zip(layout.find(name)).and_then(|(inputs, id)| inputs.factor(id));
        let store =
            |p: &Param| kind.store(&p.name, &p.shape, &flat[p.range.clone()], factor(&p.name).as_ref());
        let tensors: Vec<Stored> = layout.params().iter().flat_map(store).collect();
        let views: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|t| Ok((t.name.as_str(), TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)))
            .collect::<Result<_, _>>()
            .map_err(refuse)?;
        let metadata = HashMap::from([(KEY.to_owned(), about.write())]);
        let file = safetensors::serialize(views, Some(metadata)).map_err(refuse)?;
        Ok(write_whole(path, &file)?)
    }
}

impl About {
    fn parse(entry: &str) -> Result<Self, String> {
        let version: serde_json::Value =
            serde_json::from_str(entry).map_err(|error| format!("its \"{KEY}\" entry: {error}"))?;
        match version.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {}
            other => return Err(format!("its format is {other:?}, this program reads {FORMAT}")),
        }
        let entry: Entry =
            serde_json::from_value(version).map_err(|error| format!("its \"{KEY}\" entry: {error}"))?;
        let pde = entry.pde.parse().map_err(|error| format!("its PDE: {error}"))?;
        for scaling in [entry.a, entry.u] {
            if !(scaling.mean.is_finite() && scaling.sigma.is_finite() && scaling.sigma > 0.0) {
                return Err(format!("its normalisation is impossible: {scaling:?}"));
            }
        }
        entry.config.validate().map_err(|error| format!("its sizes: {error}"))?;
        let constants = Constants { a: entry.a, u: entry.u };
        Ok(Self { pde, constants, config: entry.config, training: entry.training })
    }

    fn write(&self) -> String {
        let Constants { a, u } = self.constants;
        let (pde, config) = (self.pde.name().to_owned(), self.config.clone());
        serde_json::json!(Entry { format: FORMAT, pde, a, u, config, training: self.training.clone() })
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Preset, model::Model};

    /// A live run replaces its weight file: figures must state the hash of the weights they are of.
    #[test]
    fn the_hash_is_of_the_bytes_that_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let (pde, config) = (Pde::Poisson, Preset::Tiny.config(32));
        let model = Model::initial(config.clone(), 1, &scope_engine::Device::cpu(1)).unwrap();
        let about =
            About { pde, constants: Constants::generated(pde), config: config.into(), training: None };
        model.save(&path, &about, WeightKind::F32).unwrap();
        let read = std::fs::read(&path).unwrap();
        let file = WeightFile::read(&path).unwrap();
        model.save(&path, &about, WeightKind::Bf16).unwrap();
        assert_eq!(file.hash(), blake3::hash(&read).to_string());
    }
}

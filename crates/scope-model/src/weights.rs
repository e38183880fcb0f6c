//! Weight files: safetensors whose tensor names are the parameters' paths, with the model's sizes, its PDE and
//! its normalisation in the header, so that a file is all one needs.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use half::bf16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_data::{Constants, Scaling, write_whole};
use scope_engine::{Params, Tensor};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

use crate::{config::ModelConfig, error::ModelError, training::Training};

/// The key of our entry in the header's metadata.
const KEY: &str = "scope";
/// The version of the entry's layout.
const FORMAT: u32 = 1;

/// What weights are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightKind {
    /// All bits.
    F32,
    /// Half the size, rounded to nearest even.
    Bf16,
}

/// What a weight file says about its model.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The problem it was trained for.
    pub pde: Pde,
    /// How its fields are normalised.
    pub constants: Constants,
    /// Its sizes.
    pub config: ModelConfig,
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
    config: ModelConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training: Option<Training>,
}

/// A weight file in memory, its header understood and its tensors not yet looked at.
#[derive(Debug)]
pub struct WeightFile {
    path: PathBuf,
    bytes: Vec<u8>,
    /// What it says about its model.
    pub about: About,
}

impl WeightFile {
    /// Reads a file and its header.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_owned(), source })?;
        let (_, header) = SafeTensors::read_metadata(&bytes)
            .map_err(|error| ModelError::malformed(path, error.to_string()))?;
        let entry = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY)).ok_or_else(|| {
            ModelError::malformed(path, format!("its metadata has no \"{KEY}\" entry: it is not one of ours"))
        })?;
        let about = About::parse(entry).map_err(|problem| ModelError::malformed(path, problem))?;
        Ok(Self { path: path.to_owned(), bytes, about })
    }

    /// Puts the file's tensors into parameters: every one of them, nothing else, all finite.
    pub fn fill(&self, params: &mut Params) -> Result<(), ModelError> {
        let refuse = |problem: String| ModelError::malformed(&self.path, problem);
        let file = SafeTensors::deserialize(&self.bytes).map_err(|error| refuse(error.to_string()))?;
        let layout = params.layout().clone();
        let mut names: Vec<&str> = file.names();
        names.sort_unstable();
        if let Some(stranger) = names.iter().find(|name| layout.find(name).is_none()) {
            return Err(refuse(format!("it has a tensor \"{stranger}\" that the model does not have")));
        }
        let mut flat = vec![0.0_f32; layout.len()];
        for param in layout.params() {
            let view = file
                .tensor(&param.name)
                .map_err(|_| refuse(format!("it lacks the tensor \"{}\" {:?}", param.name, param.shape)))?;
            let values =
                numbers(&view, &param.shape).map_err(|p| refuse(format!("\"{}\" {p}", param.name)))?;
            flat[param.range.clone()].copy_from_slice(&values);
        }
        params.set_flat(Tensor::from_slice(params.device(), &[flat.len()], &flat)?)?;
        Ok(())
    }

    /// Writes parameters, whole or not at all.
    pub fn write(path: &Path, params: &Params, about: &About, kind: WeightKind) -> Result<(), ModelError> {
        let refuse = |error: safetensors::SafeTensorError| ModelError::malformed(path, error.to_string());
        let flat = params.flat().to_vec::<f32>()?;
        let params = params.layout().params();
        let bytes: Vec<Vec<u8>> = params.iter().map(|p| kind.bytes(&flat[p.range.clone()])).collect();
        let views: Vec<(&str, TensorView<'_>)> = params
            .iter()
            .zip(&bytes)
            .map(|(p, bytes)| Ok((p.name.as_str(), TensorView::new(kind.dtype(), p.shape.clone(), bytes)?)))
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

impl WeightKind {
    fn dtype(self) -> Dtype {
        match self {
            WeightKind::F32 => Dtype::F32,
            WeightKind::Bf16 => Dtype::BF16,
        }
    }

    fn bytes(self, values: &[f32]) -> Vec<u8> {
        match self {
            WeightKind::F32 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            WeightKind::Bf16 => values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        }
    }
}

/// A tensor's numbers, if they are of the right shape and kind and all finite.
fn numbers(view: &TensorView<'_>, shape: &[usize]) -> Result<Vec<f32>, String> {
    if view.shape() != shape {
        return Err(format!("has shape {:?}, expected {shape:?}", view.shape()));
    }
    let values: Vec<f32> = match view.dtype() {
        Dtype::F32 => view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        Dtype::BF16 => {
            view.data().as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect()
        }
        other => return Err(format!("holds {other:?}, expected F32 or BF16")),
    };
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(format!("has {} at element {index}", values[index])),
        None => Ok(values),
    }
}

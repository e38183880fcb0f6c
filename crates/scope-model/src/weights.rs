//! Weight files: safetensors whose tensor names are the parameters' paths, with the model's sizes, its PDE and
//! its normalisation in the header, so that a file is all one needs.
//!
//! Weights in eight bits are kept by rows of the first axis, each with its own scale: w = scale q, q from -127 to
//! 127, scale = max |w| / 127, so that no weight is off by more than max |w| / 254 of its row. The scales of
//! `NAME` are the tensor `NAME.scale`. Vectors (biases, gains) stay in single precision.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
};

use half::bf16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_data::{Constants, Scaling, write_whole};
use scope_engine::{Params, Tensor};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

use crate::{architecture::Architecture, error::ModelError, training::Training};

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
    /// A quarter: eight bits a weight, with a scale for each row. Vectors keep all bits.
    Int8,
}

/// The end of the name under which a tensor's scales are kept.
const SCALE: &str = ".scale";
/// The largest whole number that a weight becomes.
const LARGEST: f32 = 127.0;

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

    /// What its weights are stored in.
    pub fn kind(&self) -> Result<WeightKind, ModelError> {
        let refuse =
            |error: safetensors::SafeTensorError| ModelError::malformed(&self.path, error.to_string());
        let file = SafeTensors::deserialize(&self.bytes).map_err(refuse)?;
        let holds = |dtype: Dtype| file.iter().any(|(_, view)| view.dtype() == dtype);
        Ok(match (holds(Dtype::I8), holds(Dtype::BF16)) {
            (true, _) => WeightKind::Int8,
            (false, true) => WeightKind::Bf16,
            (false, false) => WeightKind::F32,
        })
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

    /// Writes parameters, whole or not at all.
    pub fn write(path: &Path, params: &Params, about: &About, kind: WeightKind) -> Result<(), ModelError> {
        let refuse = |error: safetensors::SafeTensorError| ModelError::malformed(path, error.to_string());
        let flat = params.flat().to_vec::<f32>()?;
        let params = params.layout().params();
        let tensors: Vec<Stored> =
            params.iter().flat_map(|p| kind.store(&p.name, &p.shape, &flat[p.range.clone()])).collect();
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

/// A tensor as it is written.
struct Stored {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl WeightKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [WeightKind::F32, WeightKind::Bf16, WeightKind::Int8];

    /// Its name on the command line and in cards.
    pub fn name(self) -> &'static str {
        match self {
            WeightKind::F32 => "f32",
            WeightKind::Bf16 => "bf16",
            WeightKind::Int8 => "int8",
        }
    }

    /// The tensors that a parameter is written as.
    fn store(self, name: &str, shape: &[usize], values: &[f32]) -> Vec<Stored> {
        let stored = |dtype, bytes| Stored { name: name.to_owned(), dtype, shape: shape.to_vec(), bytes };
        match self {
            WeightKind::Int8 if shape.len() > 1 => {
                let (bytes, scales) = eight_bits(values, values.len() / shape[0].max(1));
                let scale = Stored {
                    name: format!("{name}{SCALE}"),
                    shape: vec![shape[0]],
                    ..stored(Dtype::F32, bytes_of(&scales))
                };
                vec![stored(Dtype::I8, bytes), scale]
            }
            WeightKind::F32 | WeightKind::Int8 => vec![stored(Dtype::F32, bytes_of(values))],
            WeightKind::Bf16 => {
                let rounded = values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes());
                vec![stored(Dtype::BF16, rounded.collect())]
            }
        }
    }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Rows of `width` weights in eight bits, and their scales.
fn eight_bits(values: &[f32], width: usize) -> (Vec<u8>, Vec<f32>) {
    let scale = |row: &[f32]| row.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / LARGEST;
    let scales: Vec<f32> = values.chunks(width.max(1)).map(scale).collect();
    let quantised = values.chunks(width.max(1)).zip(&scales).flat_map(|(row, scale)| {
        let whole = |x: &f32| if *scale == 0.0 { 0 } else { (x / scale).round() as i8 };
        row.iter().map(whole).map(i8::cast_unsigned).collect::<Vec<u8>>()
    });
    (quantised.collect(), scales)
}

/// A tensor's numbers, if they are of the right shape and kind and all finite.
fn numbers(
    view: &TensorView<'_>,
    scales: Option<&TensorView<'_>>,
    shape: &[usize],
) -> Result<Vec<f32>, String> {
    if view.shape() != shape {
        return Err(format!("has shape {:?}, expected {shape:?}", view.shape()));
    }
    let values: Vec<f32> = match (view.dtype(), scales) {
        (Dtype::F32, None) => floats(view),
        (Dtype::BF16, None) => {
            view.data().as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect()
        }
        (Dtype::I8, Some(scales)) if scales.dtype() == Dtype::F32 && scales.shape() == [shape[0]] => {
            let rows = view.data().chunks((view.data().len() / shape[0].max(1)).max(1));
            let scaled = |(row, scale): (&[u8], f32)| {
                row.iter().map(|byte| scale * f32::from(byte.cast_signed())).collect::<Vec<f32>>()
            };
            rows.zip(floats(scales)).flat_map(scaled).collect()
        }
        (Dtype::I8, _) => return Err("holds I8 without a scale in F32 for each of its rows".to_owned()),
        (other, None) => return Err(format!("holds {other:?}, expected F32, BF16 or I8")),
        (other, Some(_)) => return Err(format!("has scales, but holds {other:?} and not I8")),
    };
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(format!("has {} at element {index}", values[index])),
        None => Ok(values),
    }
}

fn floats(view: &TensorView<'_>) -> Vec<f32> {
    view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

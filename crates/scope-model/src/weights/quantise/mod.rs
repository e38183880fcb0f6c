//! Quantisation: what weights are stored in, and how a parameter becomes tensors and comes back.

mod compensated;
mod hessian;
mod rows;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_engine::{
    Activations, EngineError, Param, Params, QuantisedRows, bf16, dequantise_int8, dequantise_int16,
};
use scope_pde::linear::cholesky::Cholesky;
use serde::{Deserialize, Serialize};

pub use hessian::LayerHessians;
use rows::{IntegerType, quantise_rows};

/// The end of the name under which a tensor's scales are kept.
pub(in crate::weights) const SCALE: &str = ".scale";

/// The parameters of SCOPE's networks that keep sixteen bits where others have eight: they are few, and what is
/// rounded there reaches the fields undamped. Positions matter most: contexts are added to them, and an inverse problem
/// amplifies what is wrong with the sum (docs/models-by-name.md has the figures).
const SENSITIVE: [&str; 5] =
    ["encoder.patch.", "encoder.fits.", "encoder.pos", "predictor.pos", "decoder.conv."];

/// The layers whose activations may have eight bits when integers are multiplied: errors of fields stay within 1% of
/// their own values. The second layer of an MLP, the head, the predictor and the decoder bear it less
/// (docs/notes/2026-11-18-processor-inference.md has the figures).
const COARSE: (&str, [&str; 3]) = ("encoder.blocks.", [".qkv.", ".proj.", ".fc1."]);

/// What the layer of a weight multiplies its integers with.
fn activations_of(name: &str) -> Activations {
    let (stack, layers) = COARSE;
    let coarse = name.starts_with(stack) && layers.iter().any(|layer| name.contains(layer));
    if coarse { Activations::Bytes } else { Activations::Wide }
}

/// What weights are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantisation {
    /// Values keep all bits.
    F32,
    /// Half the size, rounded to nearest even: eight bits of each number.
    Bf16,
    /// Half the size: sixteen bits a weight, with a scale for each row. Vectors keep all bits.
    Int16,
    /// A quarter: eight bits a weight, sixteen of sensitive ones, with a scale for each row. Vectors keep all bits.
    Int8,
}

/// A tensor as it is written.
pub(in crate::weights) struct StoredTensor {
    pub(in crate::weights) name: String,
    pub(in crate::weights) dtype: Dtype,
    pub(in crate::weights) shape: Vec<usize>,
    pub(in crate::weights) bytes: Vec<u8>,
}

impl Quantisation {
    /// All formats of weights.
    pub const ALL: [Self; 4] =
        [Quantisation::F32, Quantisation::Bf16, Quantisation::Int16, Quantisation::Int8];

    /// Its name on the command line and in cards.
    pub fn name(self) -> &'static str {
        match self {
            Quantisation::F32 => "f32",
            Quantisation::Bf16 => "bf16",
            Quantisation::Int16 => "int16",
            Quantisation::Int8 => "int8",
        }
    }

    /// The quantisation of a file that was read: the narrowest type that a tensor of it has.
    pub(in crate::weights) fn of(file: &SafeTensors<'_>) -> Self {
        let holds = |dtype: Dtype| file.iter().any(|(_, view)| view.dtype() == dtype);
        let narrowest = [
            (Dtype::I8, Quantisation::Int8),
            (Dtype::I16, Quantisation::Int16),
            (Dtype::BF16, Quantisation::Bf16),
        ];
        narrowest
            .into_iter()
            .find(|(dtype, _)| holds(*dtype))
            .map_or(Quantisation::F32, |(_, quantisation)| quantisation)
    }

    /// The integers that a parameter becomes, if it becomes integers.
    fn integers(self, name: &str, shape: &[usize]) -> Option<IntegerType> {
        let sensitive = || SENSITIVE.iter().any(|start| name.starts_with(start));
        match self {
            Quantisation::F32 | Quantisation::Bf16 => None,
            _ if shape.len() < 2 => None,
            Quantisation::Int8 if !sensitive() => Some(IntegerType::Int8),
            Quantisation::Int8 | Quantisation::Int16 => Some(IntegerType::Int16),
        }
    }

    /// Whether it rounds weights to integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Quantisation::Int16 | Quantisation::Int8)
    }

    /// The tensors that a parameter is written as, rounded with error compensation if the Cholesky factor of its
    /// layer's Hessian is known.
    pub(in crate::weights) fn quantise(
        self,
        name: &str,
        shape: &[usize],
        values: &[f32],
        hessian: Option<&Cholesky>,
    ) -> Vec<StoredTensor> {
        let stored =
            |dtype, bytes| StoredTensor { name: name.to_owned(), dtype, shape: shape.to_vec(), bytes };
        if self == Quantisation::Bf16 {
            return vec![stored(Dtype::BF16, halves_of(values))];
        }
        let Some(integers) = self.integers(name, shape) else {
            return vec![stored(Dtype::F32, bytes_of(values))];
        };
        let rows = quantise_rows(values, values.len() / shape[0].max(1), integers, hessian);
        let (dtype, scales) = match integers {
            IntegerType::Int8 => (Dtype::I8, stored(Dtype::BF16, halves_of(&rows.scales))),
            IntegerType::Int16 => (Dtype::I16, stored(Dtype::F32, bytes_of(&rows.scales))),
        };
        let scales = StoredTensor { name: format!("{name}{SCALE}"), shape: vec![shape[0]], ..scales };
        vec![stored(dtype, rows.bytes), scales]
    }
}

/// Writes the numbers of a tensor of the right shape, if they are of the right type and all finite.
pub(in crate::weights) fn dequantise(
    view: &TensorView<'_>,
    scales: Option<&TensorView<'_>>,
    shape: &[usize],
    values: &mut [f32],
) -> Result<(), String> {
    let integers = match view.dtype() {
        Dtype::I8 => Some(IntegerType::Int8),
        Dtype::I16 => Some(IntegerType::Int16),
        _ => None,
    };
    let of_rows = scales.filter(|scales| scales.shape() == [shape[0]]).and_then(floats);
    match (integers, scales) {
        (Some(integers), _) => {
            let width = shape.iter().skip(1).product();
            let scales = of_rows.ok_or_else(|| {
                format!("holds {:?} without a scale in F32 or BF16 for each of its rows", view.dtype())
            })?;
            match integers {
                IntegerType::Int8 => dequantise_int8(view.data(), &scales, width, values),
                IntegerType::Int16 => dequantise_int16(view.data().as_chunks().0, &scales, width, values),
            }
            // Where no row can overflow there is nothing to look for; one integer more is below zero than above.
            if scales.iter().all(|scale| (scale * (integers.max() + 1.0)).is_finite()) {
                return Ok(());
            }
        }
        (None, None) => {
            let stored = floats(view);
            let stored =
                stored.ok_or_else(|| format!("holds {:?}, expected F32, BF16, I16 or I8", view.dtype()))?;
            values.copy_from_slice(&stored);
        }
        (None, Some(_)) => return Err(format!("has scales, but holds {:?} and not I8 or I16", view.dtype())),
    }
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(format!("has {} at element {index}", values[index])),
        None => Ok(()),
    }
}

/// The rows of a weight of int8 and its scales.
pub(in crate::weights) fn integers_of(
    name: &str,
    view: &TensorView<'_>,
    scales: &TensorView<'_>,
) -> Option<QuantisedRows> {
    let scales = floats(scales).filter(|_| view.dtype() == Dtype::I8)?;
    let integers = view.data().iter().map(|byte| byte.cast_signed()).collect();
    Some(QuantisedRows::new(integers, scales, activations_of(name)))
}

/// Has layers multiply integers of eight bits: the matrices that [`Quantisation::Int8`] stores in so many, rounded to
/// nearest.
pub fn multiply_in_int8(params: &mut Params) -> Result<(), EngineError> {
    let flat = params.flat().to_vec::<f32>()?;
    let layout = params.layout().clone();
    let int8 = |param: &&Param| {
        Quantisation::Int8.integers(&param.name, &param.shape) == Some(IntegerType::Int8)
            && param.shape.len() == 2
    };
    for param in layout.params().iter().filter(int8) {
        let rows = quantise_rows(&flat[param.range.clone()], param.shape[1], IntegerType::Int8, None);
        let integers = rows.bytes.iter().map(|byte| byte.cast_signed()).collect();
        if let Some(id) = layout.find(&param.name) {
            let rows = QuantisedRows::new(integers, rows.scales, activations_of(&param.name));
            params.keep_integers(id, rows)?;
        }
    }
    Ok(())
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn halves_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| bf16::from_f32(*x).to_bits().to_le_bytes()).collect()
}

/// A tensor's numbers, if they are of F32 or BF16.
fn floats(view: &TensorView<'_>) -> Option<Vec<f32>> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => Some(data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        Dtype::BF16 => {
            Some(data.as_chunks().0.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect())
        }
        _ => None,
    }
}

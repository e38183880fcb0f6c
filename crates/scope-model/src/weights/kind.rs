//! What weights are stored in, and how a parameter becomes tensors and comes back.

use half::bf16;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_pde::linear::cholesky::Cholesky;

use super::whole_numbers::{Bits, restore, round};

/// The end of the name under which a tensor's scales are kept.
pub(super) const SCALE: &str = ".scale";

/// The parameters of SCOPE's networks that keep sixteen bits where others have eight: they are few, and what is
/// rounded there reaches the fields undamped. Positions matter most: contexts are added to them, and an inverse problem
/// amplifies what is wrong with the sum (docs/models-by-name.md has the figures).
const DELICATE: [&str; 5] =
    ["encoder.patch.", "encoder.fits.", "encoder.pos", "predictor.pos", "decoder.conv."];

/// What weights are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightKind {
    /// All bits.
    F32,
    /// Half the size, rounded to nearest even: eight bits of each number.
    Bf16,
    /// Half the size: sixteen bits a weight, with a scale for each row. Vectors keep all bits.
    Int16,
    /// A quarter: eight bits a weight, sixteen of delicate ones, with a scale for each row. Vectors keep all bits.
    Int8,
}

/// A tensor as it is written.
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl WeightKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [WeightKind::F32, WeightKind::Bf16, WeightKind::Int16, WeightKind::Int8];

    /// Its name on the command line and in cards.
    pub fn name(self) -> &'static str {
        match self {
            WeightKind::F32 => "f32",
            WeightKind::Bf16 => "bf16",
            WeightKind::Int16 => "int16",
            WeightKind::Int8 => "int8",
        }
    }

    /// The kind of a file that was read.
    pub(super) fn of(file: &SafeTensors<'_>) -> Self {
        let holds = |dtype: Dtype| file.iter().any(|(_, view)| view.dtype() == dtype);
        let narrowest =
            [(Dtype::I8, WeightKind::Int8), (Dtype::I16, WeightKind::Int16), (Dtype::BF16, WeightKind::Bf16)];
        narrowest.into_iter().find(|(dtype, _)| holds(*dtype)).map_or(WeightKind::F32, |(_, kind)| kind)
    }

    /// The bits of a parameter's whole numbers, if it becomes whole numbers.
    fn bits(self, name: &str, shape: &[usize]) -> Option<Bits> {
        let delicate = || DELICATE.iter().any(|start| name.starts_with(start));
        match self {
            WeightKind::F32 | WeightKind::Bf16 => None,
            _ if shape.len() < 2 => None,
            WeightKind::Int8 if !delicate() => Some(Bits::Eight),
            WeightKind::Int8 | WeightKind::Int16 => Some(Bits::Sixteen),
        }
    }

    /// Whether this kind rounds to whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(self, WeightKind::Int16 | WeightKind::Int8)
    }

    /// The tensors that a parameter is written as, rounded for a layer's inputs if they are known.
    pub(super) fn store(
        self,
        name: &str,
        shape: &[usize],
        values: &[f32],
        inputs: Option<&Cholesky>,
    ) -> Vec<Stored> {
        let stored = |dtype, bytes| Stored { name: name.to_owned(), dtype, shape: shape.to_vec(), bytes };
        if self == WeightKind::Bf16 {
            return vec![stored(Dtype::BF16, halves_of(values))];
        }
        let Some(bits) = self.bits(name, shape) else { return vec![stored(Dtype::F32, bytes_of(values))] };
        let rounded = round(values, values.len() / shape[0].max(1), bits, inputs);
        let (whole, scales) = match bits {
            Bits::Eight => (Dtype::I8, stored(Dtype::BF16, halves_of(&rounded.scales))),
            Bits::Sixteen => (Dtype::I16, stored(Dtype::F32, bytes_of(&rounded.scales))),
        };
        let scales = Stored { name: format!("{name}{SCALE}"), shape: vec![shape[0]], ..scales };
        vec![stored(whole, rounded.bytes), scales]
    }
}

/// The numbers of a tensor of the right shape, if they are of the right kind and all finite.
pub(super) fn numbers(
    view: &TensorView<'_>,
    scales: Option<&TensorView<'_>>,
    shape: &[usize],
) -> Result<Vec<f32>, String> {
    let bits = match view.dtype() {
        Dtype::I8 => Some(Bits::Eight),
        Dtype::I16 => Some(Bits::Sixteen),
        _ => None,
    };
    let of_rows = scales.filter(|scales| scales.shape() == [shape[0]]).and_then(floats);
    let values: Vec<f32> = match (bits, scales) {
        (Some(bits), _) => {
            let width = shape.iter().skip(1).product();
            let scales = of_rows.ok_or_else(|| {
                format!("holds {:?} without a scale in F32 or BF16 for each of its rows", view.dtype())
            })?;
            restore(view.data(), &scales, width, bits)
        }
        (None, None) => {
            floats(view).ok_or_else(|| format!("holds {:?}, expected F32, BF16, I16 or I8", view.dtype()))?
        }
        (None, Some(_)) => return Err(format!("has scales, but holds {:?} and not I8 or I16", view.dtype())),
    };
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(format!("has {} at element {index}", values[index])),
        None => Ok(values),
    }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn halves_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect()
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

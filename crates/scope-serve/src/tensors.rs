//! Tensors of the Open Inference protocol: JSON, with binary data behind it.

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::Refusal;

/// The header that says how long the JSON before binary data is.
pub(crate) const JSON_LENGTH: &str = "inference-header-content-length";

/// A request for inference.
#[derive(Deserialize)]
pub(crate) struct InferRequest {
    pub(crate) id: Option<String>,
    pub(crate) inputs: Vec<InputTensor>,
    #[serde(default)]
    pub(crate) outputs: Vec<AskedOutput>,
    #[serde(default)]
    pub(crate) parameters: Parameters,
}

/// A tensor of a request.
#[derive(Deserialize)]
pub(crate) struct InputTensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) datatype: String,
    #[serde(default)]
    pub(crate) parameters: Parameters,
    data: Option<Value>,
}

/// A tensor that is wanted.
#[derive(Deserialize)]
pub(crate) struct AskedOutput {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) parameters: Parameters,
}

/// The parameters that mean something here; others are left alone, as the protocol has it.
#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct Parameters {
    binary_data_size: Option<usize>,
    pub(crate) binary_data: Option<bool>,
    pub(crate) binary_data_output: Option<bool>,
}

/// A tensor of a request, as numbers.
pub(crate) struct Numbers {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// Reads a request: its JSON, and the numbers of its tensors, `most` each.
pub(crate) fn read(
    headers: &HeaderMap,
    body: &[u8],
    most: usize,
) -> Result<(InferRequest, Vec<Numbers>), Refusal> {
    let stated = headers.get(JSON_LENGTH);
    let length = match stated {
        None => body.len(),
        Some(length) => {
            let length = length.to_str().ok().and_then(|length| length.parse().ok());
            let fits = length.filter(|length| *length <= body.len());
            fits.ok_or_else(|| Refusal::bad(format!("{JSON_LENGTH} is no length within the body")))?
        }
    };
    let (json, mut binary) = body.split_at(length);
    let mut request: InferRequest = serde_json::from_slice(json)
        .map_err(|error| Refusal::bad(format!("the request is no inference request: {error}")))?;
    let mut all = Vec::with_capacity(request.inputs.len());
    for input in &mut request.inputs {
        all.push(input.numbers(&mut binary, most)?);
    }
    if !binary.is_empty() {
        return Err(Refusal::bad(format!("{} bytes follow the last tensor", binary.len())));
    }
    Ok((request, all))
}

impl InputTensor {
    /// Its numbers, from JSON or from the front of the binary data.
    fn numbers(&mut self, binary: &mut &[u8], most: usize) -> Result<Numbers, Refusal> {
        let name = self.name.clone();
        let refuse = |problem: String| Refusal::bad(format!("tensor \"{name}\": {problem}"));
        let count = self.shape.iter().try_fold(1_usize, |count, axis| count.checked_mul(*axis));
        let count = count.filter(|count| *count <= most);
        let count = count
            .ok_or_else(|| refuse(format!("its shape {:?} has more than {most} elements", self.shape)))?;
        let size = match self.datatype.as_str() {
            "FP64" => 8,
            "FP32" => 4,
            other => return Err(refuse(format!("its datatype is {other}, expected FP64 or FP32"))),
        };
        let values = match (self.parameters.binary_data_size, self.data.take()) {
            (Some(bytes), None) => {
                if bytes != count * size {
                    let shape = &self.shape;
                    return Err(refuse(format!("shape {shape:?} takes {} bytes, got {bytes}", count * size)));
                }
                let Some((own, rest)) = binary.split_at_checked(bytes) else {
                    return Err(refuse(format!("the body ends before its {bytes} bytes")));
                };
                *binary = rest;
                own.chunks_exact(size).map(float).collect()
            }
            (None, Some(data)) => {
                let mut values = Vec::new();
                flatten(&data, &mut values).map_err(refuse)?;
                values
            }
            _ => return Err(refuse("expected either data or binary_data_size".to_owned())),
        };
        if values.len() == count {
            Ok(Numbers { name, shape: self.shape.clone(), values })
        } else {
            Err(refuse(format!("shape {:?} has {count} elements, got {}", self.shape, values.len())))
        }
    }
}

/// A number of four or eight bytes.
fn float(bytes: &[u8]) -> f64 {
    match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
        (Some(bytes), _) => f64::from_le_bytes(*bytes),
        (None, Some(bytes)) => f32::from_le_bytes(*bytes).into(),
        (None, None) => f64::NAN,
    }
}

/// Numbers of nested lists, or of a flat one. JSON's own limit of nesting bounds the depth.
fn flatten(data: &Value, values: &mut Vec<f64>) -> Result<(), String> {
    match data {
        Value::Array(rows) => rows.iter().try_for_each(|row| flatten(row, values)),
        Value::Number(number) => {
            values.push(number.as_f64().ok_or("a number is too large")?);
            Ok(())
        }
        _ => Err("its data are no numbers".to_owned()),
    }
}

/// A tensor of an answer.
#[derive(Serialize)]
pub(crate) struct OutputTensor {
    pub(crate) name: String,
    pub(crate) datatype: &'static str,
    pub(crate) shape: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<BinarySize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip)]
    pub(crate) binary: Vec<u8>,
}

#[derive(Serialize)]
struct BinarySize {
    binary_data_size: usize,
}

impl OutputTensor {
    /// A field, FP32.
    pub(crate) fn field(name: &str, shape: &[usize], values: &[f32], binary: bool) -> Self {
        let bytes = || values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self::new(name, "FP32", shape, binary.then(bytes), || values.into())
    }

    /// A text, BYTES of one element: in binary its length, and itself.
    pub(crate) fn text(name: &str, text: &str, binary: bool) -> Self {
        let bytes = || [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        Self::new(name, "BYTES", &[1], binary.then(bytes), || vec![text].into())
    }

    fn new(
        name: &str,
        datatype: &'static str,
        shape: &[usize],
        binary: Option<Vec<u8>>,
        data: impl FnOnce() -> Value,
    ) -> Self {
        let parameters = binary.as_ref().map(|bytes| BinarySize { binary_data_size: bytes.len() });
        let data = if binary.is_none() { Some(data()) } else { None };
        let binary = binary.unwrap_or_default();
        Self { name: name.to_owned(), datatype, shape: shape.to_vec(), parameters, data, binary }
    }
}

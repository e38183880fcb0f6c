//! Checks every operation of a GPU against the CPU, on random inputs.
//!
//! Each case runs forward and backward on both, and forward on a tape that remembers nothing; what is compared are
//! results, gradients of inputs and gradients of parameters, by |GPU - CPU| / |CPU|.

mod cases;
mod local_fit;
mod operators;
mod optim;
mod table;

use std::sync::Arc;

use crate::bfloat16::bf16;

use crate::{
    device::Device,
    dtype::Dtype,
    error::EngineError,
    params::{Gradients, Layout, Params},
    tape::{Tape, Var},
    tensor::Tensor,
};

/// A comparison of one result on two devices.
#[derive(Clone, Debug)]
pub struct Check {
    /// What was compared.
    pub name: String,
    /// |GPU - CPU| / |CPU|.
    pub error: f64,
    /// The largest error that rounding explains.
    pub limit: f64,
}

impl Check {
    /// Whether the error is within the limit. What is not a number is not.
    pub fn passed(&self) -> bool {
        self.error <= self.limit
    }
}

/// Largest errors in bf16 and in f32.
const LIMITS: [(Dtype, f64); 2] = [(Dtype::Bf16, 1.2e-2), (Dtype::F32, 2e-5)];

/// Compares what a GPU computes with the CPU: everything, or the operations that have a word in their names.
pub fn run(gpu: &Device, only: &str) -> Result<Vec<Check>, EngineError> {
    let Device::Cuda(cuda) = gpu else { return Ok(Vec::new()) };
    // The fused products must be right also where they are not faster.
    cuda.set_always_fused(true);
    let checks = compare(gpu, only);
    cuda.set_always_fused(false);
    checks
}

fn compare(gpu: &Device, only: &str) -> Result<Vec<Check>, EngineError> {
    let cpu = Device::all_threads();
    let mut checks = Vec::new();
    let cases = cases::all().into_iter().chain(operators::all());
    for case in cases.filter(|case| case.name.contains(only)) {
        let expected = case.run(&cpu, Dtype::F32)?;
        for (compute, limit) in LIMITS {
            let got = case.run(gpu, compute)?;
            checks.extend(expected.iter().zip(&got).map(|((part, expected), (_, got))| Check {
                name: format!("{} {compute}: {part}", case.name),
                error: relative_error(got, expected),
                limit,
            }));
        }
    }
    if "parameters".contains(only) {
        checks.extend(optim::checks(&cpu, gpu)?);
    }
    if "local fits".contains(only) {
        checks.extend(local_fit::checks(&cpu, gpu)?);
    }
    if "gather".contains(only) {
        checks.extend(table::checks(&cpu, gpu)?);
    }
    Ok(checks)
}

/// What a case computes with, once its parameters are declared.
type Forward = Box<dyn Fn(&Tape<'_>, &[Var]) -> Result<Var, EngineError>>;

/// One operation with its sizes.
struct Case {
    name: String,
    inputs: Vec<Vec<usize>>,
    /// Whether gradients of the inputs are compared; masks and targets have none.
    tracked: bool,
    declare: Box<dyn Fn(&mut Layout) -> Forward>,
}

impl Case {
    /// The result and all gradients, by name.
    fn run(&self, device: &Device, compute: Dtype) -> Result<Vec<(String, Vec<f32>)>, EngineError> {
        let mut layout = Layout::new();
        let forward = (self.declare)(&mut layout);
        let mut values: Vec<f32> = numbers(1, layout.len()).iter().map(|x| 0.3 * x).collect();
        // Variances, which are observed and not trained, are positive.
        for param in layout.params().iter().filter(|param| !param.trained) {
            values[param.range.clone()].iter_mut().for_each(|x| *x = 0.1 + x.abs());
        }
        let params = Params::from_flat(device, Arc::new(layout), &values)?;
        let tape = Tape::recording_in(&params, compute)?;
        let values =
            self.inputs.iter().zip(2..).map(|(shape, seed)| {
                Tensor::from_slice(device, shape, &numbers(seed, shape.iter().product()))
            });
        let values: Vec<Tensor> = values.collect::<Result<_, EngineError>>()?;
        let forgetful = Tape::inference(&params, compute);
        let inputs: Vec<Var> = values.iter().map(|value| forgetful.input(value.clone())).collect();
        let mut parts =
            vec![("result of inference".to_owned(), wide(forward(&forgetful, &inputs)?.value())?)];
        let input = |value| if self.tracked { tape.tracked(value) } else { tape.input(value) };
        let inputs: Vec<Var> = values.into_iter().map(input).collect();
        let out = forward(&tape, &inputs)?;
        parts.push(("result".to_owned(), wide(out.value())?));
        if out.node().is_none() {
            return Ok(parts);
        }
        let seed = numbers(99, out.value().len());
        let seed = match out.value().dtype() {
            Dtype::Bf16 => {
                let halves: Vec<bf16> = seed.iter().map(|x| bf16::from_f32(*x)).collect();
                Tensor::from_slice(device, out.shape(), &halves)?
            }
            _ => Tensor::from_slice(device, out.shape(), &seed)?,
        };
        let mut gradients = Gradients::zeros(&params)?;
        tape.backward_from(&[(&out, seed)], &mut gradients)?;
        for (k, input) in inputs.iter().enumerate() {
            if let Some(gradient) = gradients.input(input) {
                parts.push((format!("gradient of input {k}"), wide(gradient)?));
            }
        }
        let flat = wide(gradients.flat())?;
        for param in params.layout().params() {
            parts.push((format!("gradient of {}", param.name), flat[param.range.clone()].to_vec()));
        }
        Ok(parts)
    }
}

/// A tensor's numbers in f32.
fn wide(tensor: &Tensor) -> Result<Vec<f32>, EngineError> {
    match tensor.dtype() {
        Dtype::Bf16 => Ok(tensor.to_vec::<bf16>()?.iter().map(|x| x.to_f32()).collect()),
        _ => tensor.to_vec::<f32>(),
    }
}

/// Numbers between -1 and 1 that look random.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mix = |k: u32| {
        let mut h = k.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503);
        h = (h ^ (h >> 15)).wrapping_mul(2_246_822_519);
        h = (h ^ (h >> 13)).wrapping_mul(3_266_489_917);
        (h ^ (h >> 16)) as f32 / 2_147_483_648.0 - 1.0
    };
    (0..count as u32).map(mix).collect()
}

fn relative_error(got: &[f32], expected: &[f32]) -> f64 {
    if got.len() != expected.len() {
        return f64::NAN;
    }
    let square = |x: f64| x * x;
    let difference: f64 = got.iter().zip(expected).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    let size: f64 = expected.iter().map(|b| square(f64::from(*b))).sum();
    (difference / size.max(1e-30)).sqrt()
}

//! The passes over all parameters: cap, optimizer, average.

use std::sync::Arc;

use super::{Check, numbers, relative_error, wide};
use crate::{
    device::Device,
    error::EngineError,
    optim::{Moments, Muon, Optimizer, StepScalars, Update},
    params::{Gradients, Layout, Params},
    tensor::Tensor,
};

/// Both are f32 throughout, but sums are ordered differently.
const LIMIT: f64 = 2e-5;
/// A GPU orthogonalises in bf16: 1.1e-2 to 1.5e-2 are expected of steps along random gradients.
const BF16_STEP: f64 = 3e-2;
/// Rounding to bf16, of which the CPU keeps no copy.
const BF16_COPY: f64 = 4e-3;

/// Everything that two steps of AdamW, and of Muon beside it, leave behind, on both devices.
pub(super) fn checks(cpu: &Device, gpu: &Device) -> Result<Vec<Check>, EngineError> {
    let with_muon =
        Optimizer { muon: Some(Muon { rate_ratio: 2.0, ..Muon::default() }), ..Optimizer::default() };
    let mut checks = Vec::new();
    for (with, optimizer) in [("", Optimizer::default()), (" with Muon", with_muon)] {
        let expected = two_steps(cpu, &optimizer)?;
        let got = two_steps(gpu, &optimizer)?;
        checks.extend(expected.iter().zip(&got).map(|((name, limit, expected), (_, _, got))| Check {
            name: format!("parameters: {name}{with}"),
            error: relative_error(got, expected),
            limit: *limit,
        }));
    }
    Ok(checks)
}

fn layout() -> Layout {
    let mut layout = Layout::new();
    let mut root = layout.root();
    root.scope("encoder").weight("weight", &[70, 333]);
    let bias = root.scope("encoder").offset("bias", &[333]);
    root.hold(bias, 100..300);
    // More rows than columns and fewer, several in one, sides that are no multiple of anything.
    for (name, shape, parts) in [("qkv", [144, 48], 3), ("fc1", [200, 50], 1), ("fc2", [50, 200], 1)] {
        let weight = root.scope("encoder").weight(name, &shape);
        root.hidden(weight, parts);
    }
    let weight = root.scope("predictor").weight("weight", &[41, 55]);
    root.hidden(weight, 1);
    root.scope("decoder").weight("weight", &[1000]);
    layout
}

/// Gradients that look random.
fn gradients(params: &Params, seed: u32, scale: f32) -> Result<Gradients, EngineError> {
    let mut gradients = Gradients::zeros(params)?;
    let values: Vec<f32> = padded(params.layout(), seed).iter().map(|x| scale * x).collect();
    gradients.set_flat(&values)?;
    Ok(gradients)
}

/// Numbers in the places of parameters, zeros between them.
fn padded(layout: &Layout, seed: u32) -> Vec<f32> {
    let random = numbers(seed, layout.len());
    let mut values = vec![0.0; layout.len()];
    for param in layout.params() {
        values[param.range.clone()].copy_from_slice(&random[param.range.clone()]);
    }
    values
}

/// What to compare: a name, the largest error, and numbers.
type Parts = Vec<(&'static str, f64, Vec<f32>)>;

fn two_steps(device: &Device, optimizer: &Optimizer) -> Result<Parts, EngineError> {
    let layout = Arc::new(layout());
    let mut params = Params::from_flat(device, layout.clone(), &padded(&layout, 1))?;
    let mut average = params.prefix("encoder")?;
    let mut moments = Moments::zeros(&params)?;
    let stepped = if optimizer.muon.is_some() { BF16_STEP } else { 2e-4 };
    let mut parts: Parts = Vec::new();
    for number in 1..=2 {
        let mut main = gradients(&params, 10 + number, 0.01)?;
        let auxiliary = [gradients(&params, 20 + number, 0.02)?, gradients(&params, 30 + number, 0.005)?];
        let capped = main.add_capped(&[&auxiliary[0], &auxiliary[1]], &["", "encoder"])?;
        let scalars = StepScalars::new(device, &optimizer.adamw, u64::from(number), 1e-2, 0.9)?;
        let paths = if number == 1 { &["encoder", "decoder"][..] } else { &[""][..] };
        let update = Update { scalars: &scalars, max_norm: 1.0, paths, share: None };
        let read = |tensor: &Tensor| tensor.to_vec::<f32>();
        let before = read(params.flat())?;
        let norm = optimizer.step(&mut params, &main, &mut moments, update)?;
        average.update_ema(&params, &scalars, &norm)?;
        let after = read(params.flat())?;
        let hidden = layout.hidden_matrices(paths).into_iter();
        let hidden = hidden.flat_map(|matrix| matrix.start..matrix.start + matrix.rows * matrix.columns);
        let moved = hidden.map(|at| after[at] - before[at]).collect();
        let wrong = gradients(&params, 40 + number, f32::INFINITY)?;
        optimizer.step(&mut params, &wrong, &mut moments, update)?;
        parts.push(("norms under the cap", LIMIT, read(&capped.norms)?));
        parts.push(("the cap's factor", LIMIT, read(&capped.alpha)?));
        parts.push(("the capped sum", LIMIT, read(main.flat())?));
        parts.push(("the norm before clipping", LIMIT, read(&norm)?));
        parts.push(("first moments", LIMIT, read(&moments.first)?));
        parts.push(("second moments", LIMIT, read(&moments.second)?));
        parts.push(("a step of hidden matrices", stepped, moved));
        // A step of hidden matrices is below a percent of them.
        let limit = if optimizer.muon.is_some() { 0.02 * BF16_STEP } else { LIMIT };
        parts.push(("parameters after a step", limit, after));
        parts.push(("their average", limit, read(average.flat())?));
        parts.push(("parameters after a step that is not finite", limit, read(params.flat())?));
        parts.push(("their copy in bf16", BF16_COPY, wide(params.bf16_copy())?));
    }
    Ok(parts)
}

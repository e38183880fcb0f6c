//! Parameters before training.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use scope_engine::{EngineError, Layout, Param, Params, Tensor};
use scope_pde::random::{Coordinates, Stream};

/// The standard deviation of positions, which are cut off at two of them.
const POSITION_SPREAD: f64 = 0.02;

/// Draws every parameter from a stream of its own, named by the seed and the parameter.
///
/// Positions are truncated normal; fused qkv weights are Xavier uniform, as if three square matrices were one,
/// with zero bias; normalisations begin as the identity; all else is uniform in +-1 / sqrt(fan in).
pub fn initialise(params: &mut Params, seed: u64) -> Result<(), EngineError> {
    let layout = params.layout().clone();
    let mut flat = vec![0.0_f32; layout.len()];
    for param in layout.params() {
        let mut stream = Coordinates::new("initial parameters").number(seed).text(&param.name).stream();
        fill(&layout, param, &mut stream, &mut flat[param.range.clone()]);
    }
    params.set_flat(Tensor::from_slice(params.device(), &[flat.len()], &flat)?)
}

fn fill(layout: &Layout, param: &Param, stream: &mut Stream, values: &mut [f32]) {
    let (module, kind) = param.name.rsplit_once('.').unwrap_or(("", &param.name));
    let part = module.rsplit_once('.').map_or(module, |(_, last)| last);
    match (part, kind) {
        (_, "pos") => values.iter_mut().for_each(|x| *x = truncated_normal(stream)),
        ("ln" | "ln1" | "ln2", "weight") => values.fill(1.0),
        ("ln" | "ln1" | "ln2" | "qkv", "bias") => values.fill(0.0),
        ("qkv", _) => uniform(stream, (6.0 / (param.shape[0] + param.shape[1]) as f64).sqrt(), values),
        _ => uniform(stream, 1.0 / (fan_in(layout, param, module) as f64).sqrt(), values),
    }
}

/// The numbers that one output sees: of a bias, those of its weight.
fn fan_in(layout: &Layout, param: &Param, module: &str) -> usize {
    let weight = layout.find(&format!("{module}.weight")).map_or(param, |id| layout.param(id));
    weight.shape[1..].iter().product::<usize>().max(1)
}

fn uniform(stream: &mut Stream, bound: f64, values: &mut [f32]) {
    values.iter_mut().for_each(|x| *x = (bound * (2.0 * stream.random::<f64>() - 1.0)) as f32);
}

fn truncated_normal(stream: &mut Stream) -> f32 {
    loop {
        let draw: f64 = StandardNormal.sample(stream);
        if draw.abs() <= 2.0 {
            return (POSITION_SPREAD * draw) as f32;
        }
    }
}

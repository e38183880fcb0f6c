//! The passes over all parameters: cap, optimiser, average.

use std::sync::Arc;

use super::{Check, numbers, relative_error};
use crate::{
    device::Device,
    error::EngineError,
    flat::{AdamW, Moments, Pace, Update},
    params::{Gradients, Layout, Params},
    tensor::Tensor,
};

/// Both are f32 throughout, but sums are ordered differently.
const LIMIT: f64 = 2e-5;

/// Everything that two steps leave behind, on both devices.
pub(super) fn checks(processor: &Device, card: &Device) -> Result<Vec<Check>, EngineError> {
    let (expected, got) = (two_steps(processor)?, two_steps(card)?);
    let pairs = expected.iter().zip(&got);
    Ok(pairs
        .map(|((name, expected), (_, got))| Check {
            name: format!("parameters: {name}"),
            error: relative_error(got, expected),
            limit: LIMIT,
        })
        .collect())
}

fn layout() -> Layout {
    let mut layout = Layout::new();
    let mut root = layout.root();
    root.scope("encoder").weight("weight", &[70, 333]);
    let bias = root.scope("encoder").offset("bias", &[333]);
    root.hold(bias, 100..300);
    root.scope("predictor").weight("weight", &[41, 55]);
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
    let (random, mut values) = (numbers(seed, layout.len()), vec![0.0; layout.len()]);
    for param in layout.params() {
        values[param.range.clone()].copy_from_slice(&random[param.range.clone()]);
    }
    values
}

type Parts = Vec<(&'static str, Vec<f32>)>;

fn two_steps(device: &Device) -> Result<Parts, EngineError> {
    let layout = Arc::new(layout());
    let mut params = Params::from_flat(device, layout.clone(), &padded(&layout, 1))?;
    let mut average = params.prefix("encoder")?;
    let mut moments = Moments::zeros(&params)?;
    let settings = AdamW::default();
    let mut parts: Parts = Vec::new();
    for number in 1..=2 {
        let mut main = gradients(&params, 10 + number, 0.01)?;
        let auxiliary = [gradients(&params, 20 + number, 0.02)?, gradients(&params, 30 + number, 0.005)?];
        let capped = main.add_capped(&[&auxiliary[0], &auxiliary[1]], &["", "encoder"])?;
        let pace = Pace::new(device, &settings, u64::from(number), 1e-2, 0.9)?;
        let paths = if number == 1 { &["encoder", "decoder"][..] } else { &[""][..] };
        let update = Update { pace: &pace, longest: 1.0, paths };
        let norm = settings.step(&mut params, &main, &mut moments, update)?;
        average.follow(&params, &pace, &norm)?;
        let read = |tensor: &Tensor| tensor.to_vec::<f32>();
        parts.push(("norms under the cap", read(&capped.norms)?));
        parts.push(("the cap's factor", read(&capped.alpha)?));
        parts.push(("the capped sum", read(main.flat())?));
        parts.push(("the norm before clipping", read(&norm)?));
        parts.push(("first moments", read(&moments.first)?));
        parts.push(("second moments", read(&moments.second)?));
        parts.push(("parameters after a step", read(params.flat())?));
        parts.push(("their average", read(average.flat())?));
    }
    Ok(parts)
}

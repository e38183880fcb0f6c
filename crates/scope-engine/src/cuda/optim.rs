//! Passes over flat buffers of parameters. Nothing is read back: what one pass measures, the next reads on the GPU.

use super::{
    Cuda,
    kernels::{Arg, Grid, OPTIM},
    muon::MuonStep,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    optim::{CAP_MARGIN, Capped, Moments, Optimizer, StepScalars, Update},
    params::{Gradients, Params},
    tensor::Tensor,
};

/// Ranges of one pass of norms.
const RANGES: usize = 4;
/// Auxiliary gradients of one capped sum.
const AUXILIARIES: usize = 3;

fn grid(cuda: &Cuda, count: usize) -> Grid {
    Grid::of(count.div_ceil(4 * 256).min(8 * cuda.multiprocessors()), 256)
}

/// Refuses more than a kernel takes.
fn at_most(what: &'static str, most: usize, got: usize) -> Result<(), EngineError> {
    if got <= most {
        return Ok(());
    }
    Err(EngineError::shape("a pass over parameters", what, format!("at most {most}"), &[got]))
}

/// The norms of gradients under paths, written to an address.
fn norms(cuda: &Cuda, gradients: &Gradients, paths: &[&str], to: u64) -> Result<(), EngineError> {
    at_most("paths", RANGES, paths.len())?;
    let length = gradients.layout().len();
    let grid = Grid::of(length.div_ceil(8 * 256).min(8 * cuda.multiprocessors()), 256);
    let partial = cuda.memory(grid.blocks[0] * RANGES * size_of::<f64>())?;
    let mut arguments: Vec<Arg> = vec![
        gradients.flat().into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        to.into(),
        length.into(),
        paths.len().into(),
    ];
    for k in 0..RANGES {
        let range = paths.get(k).map_or(0..0, |path| gradients.layout().range(path));
        arguments.extend([Arg::from(range.start), range.end.into()]);
    }
    cuda.launch(OPTIM, "norms", grid, &arguments)
}

/// The Euclidean norm under a path, left on the GPU.
pub(crate) fn norm(cuda: &Cuda, gradients: &Gradients, path: &str) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    norms(cuda, gradients, &[path], out.address())?;
    Ok(out)
}

/// Adds auxiliary gradients as far as the cap lets them.
pub(crate) fn add_capped(
    cuda: &Cuda,
    main: &mut Gradients,
    auxiliaries: &[&Gradients],
    paths: &[&str],
) -> Result<Capped, EngineError> {
    at_most("auxiliaries", AUXILIARIES, auxiliaries.len())?;
    let measured = Tensor::on_cuda(cuda, &[1 + auxiliaries.len(), paths.len()], Dtype::F32)?;
    let alpha = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let all = std::iter::once(&*main).chain(auxiliaries.iter().copied());
    for (k, gradients) in all.enumerate() {
        let to = measured.address() + (k * paths.len() * size_of::<f32>()) as u64;
        norms(cuda, gradients, paths, to)?;
    }
    let length = main.layout().len();
    let at = |k: usize| Arg::from(auxiliaries.get(k).map_or(0, |gradients| gradients.flat().address()));
    let arguments = [
        main.flat().into(),
        at(0),
        at(1),
        at(2),
        (&measured).into(),
        (&alpha).into(),
        length.into(),
        auxiliaries.len().into(),
        paths.len().into(),
        (CAP_MARGIN as f32).into(),
    ];
    cuda.launch(OPTIM, "add_capped", grid(cuda, length), &arguments)?;
    Ok(Capped { norms: measured, alpha })
}

/// Makes gradients not a number unless a loss is exactly zero.
pub(crate) fn void_unless_zero(
    cuda: &Cuda,
    gradients: &mut Gradients,
    loss: &Tensor,
) -> Result<(), EngineError> {
    cuda.launch(OPTIM, "void_unless_zero", Grid::of(1, 32), &[gradients.flat().into(), loss.into()])
}

/// One step of an optimizer on f32 parameters, their bf16 copy with it; gives back the gradients' norm.
pub(crate) fn step(
    cuda: &Cuda,
    optimizer: &Optimizer,
    params: &mut Params,
    gradients: &Gradients,
    moments: &mut Moments,
    update: Update<'_>,
) -> Result<Tensor, EngineError> {
    let norm = norm(cuda, gradients, "")?;
    let length = params.layout().len();
    let settings = &optimizer.adamw;
    let marks = params.marks(update.paths, optimizer.muon.is_some())?;
    let arguments = [
        params.flat().into(),
        params.bf16_copy().into(),
        (&moments.first).into(),
        (&moments.second).into(),
        gradients.flat().into(),
        (&marks).into(),
        (&update.scalars.numbers).into(),
        (&norm).into(),
        length.into(),
        (settings.betas[0] as f32).into(),
        (settings.betas[1] as f32).into(),
        (settings.epsilon as f32).into(),
        (settings.decay as f32).into(),
        (update.max_norm as f32).into(),
    ];
    cuda.launch(OPTIM, "adamw", grid(cuda, length), &arguments)?;
    if let Some(muon) = &optimizer.muon {
        let step =
            MuonStep { settings: muon, decay: settings.decay, gradients, moments, update, norm: &norm };
        step.apply(cuda, params)?;
    }
    Ok(norm)
}

/// An average of parameters takes one step towards them.
pub(crate) fn update_ema(
    cuda: &Cuda,
    average: &mut Params,
    online: &Params,
    scalars: &StepScalars,
    guard: &Tensor,
) -> Result<(), EngineError> {
    let length = average.layout().len();
    let arguments = [
        average.flat().into(),
        average.bf16_copy().into(),
        online.flat().into(),
        (&scalars.numbers).into(),
        guard.into(),
        length.into(),
    ];
    cuda.launch(OPTIM, "update_ema", grid(cuda, length), &arguments)
}

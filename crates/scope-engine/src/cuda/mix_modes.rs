//! Complex mixing of channels, a block a mode, with f32 sums.

use super::{
    Cuda,
    kernels::{Grid, MIX_MODES},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::Mixing,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

fn constants(mixing: Mixing) -> String {
    format!("C={} O={}", mixing.c, mixing.o)
}

/// y = x W for each mode, in the precision of x.
pub(crate) fn forward(
    cuda: &Cuda,
    mixing: Mixing,
    params: &Params,
    weight: ParamId,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    multiply(cuda, "mix", mixing, params.address(weight, Dtype::F32), x, mixing.o)
}

/// dx = dy W^H, in the precision of dy.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    mixing: Mixing,
    params: &Params,
    weight: ParamId,
    dy: &Tensor,
) -> Result<Tensor, EngineError> {
    multiply(cuda, "mix_input", mixing, params.address(weight, Dtype::F32), dy, mixing.c)
}

/// Multiplies by the weight at an address, with one of the kernels for that, to so many channels.
fn multiply(
    cuda: &Cuda,
    name: &str,
    mixing: Mixing,
    weight: u64,
    x: &Tensor,
    channels: usize,
) -> Result<Tensor, EngineError> {
    let Mixing { batch, modes, .. } = mixing;
    let out = Tensor::on_cuda(cuda, &[batch, modes, 2 * channels], x.dtype())?;
    let arguments = [x.into(), weight.into(), (&out).into(), batch.into(), modes.into()];
    let name = format!("{name}_{}", kind(x.dtype()));
    cuda.launch_with(MIX_MODES, &constants(mixing), &name, Grid::of(modes, 256), &arguments)?;
    Ok(out)
}

/// dW += x^H dy over the batch, of one precision.
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    mixing: Mixing,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let (into, accumulate) = flow.into().address(weight);
    let Mixing { batch, modes, .. } = mixing;
    let arguments =
        [x.into(), dy.into(), into.into(), batch.into(), modes.into(), usize::from(accumulate).into()];
    let name = format!("mix_weight_{}", kind(x.dtype()));
    cuda.launch_with(MIX_MODES, &constants(mixing), &name, Grid::of(modes, 256), &arguments)
}

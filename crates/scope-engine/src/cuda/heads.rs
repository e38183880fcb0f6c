//! One linear layer for all heads.

use super::{
    Cuda,
    batch_norm::{partial_sums, total},
    expansion::product,
    gemm::Kind,
    kernels::{Grid, HEADS},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{HeadsRecord, Linear, add},
    params::Params,
    tape::Flow,
    tensor::Tensor,
};

/// The weight of all heads, blocks on a diagonal, and their biases.
fn blocks(
    cuda: &Cuda,
    params: &Params,
    layer: Linear,
    heads: usize,
    dtype: Dtype,
) -> Result<(Tensor, Tensor), EngineError> {
    let sizes = &params.layout().param(layer.weight).shape;
    let n = sizes[0];
    let k = sizes[1];
    let out = Tensor::on_cuda(cuda, &[heads * n, heads * k], dtype)?;
    let bias = Tensor::on_cuda(cuda, &[heads * n], Dtype::F32)?;
    let arguments = [
        params.address(layer.weight, Dtype::F32).into(),
        params.address(layer.bias, Dtype::F32).into(),
        (&out).into(),
        (&bias).into(),
        n.into(),
        k.into(),
        heads.into(),
    ];
    cuda.launch(HEADS, &format!("blocks_{}", kind(dtype)), Grid::over(out.len()), &arguments)?;
    Ok((out, bias))
}

/// One layer for all heads, as one product with a matrix of blocks: more work, on units that are idle otherwise.
pub(crate) fn forward(
    cuda: &Cuda,
    params: &Params,
    layer: Linear,
    heads: usize,
    x: &Tensor,
    shape: &[usize; 4],
) -> Result<Tensor, EngineError> {
    let (weight, bias) = blocks(cuda, params, layer, heads, x.dtype())?;
    let out = Tensor::on_cuda(cuda, shape, Dtype::F32)?;
    let n = weight.shape()[0];
    let k = weight.shape()[1];
    let factors = (x.address(), weight.address(), x.dtype());
    let into = (out.address(), Dtype::F32, false);
    product(cuda, Kind::Forward, [out.len() / n, n, k], factors, bias.address(), into)?;
    Ok(out)
}

/// dx; weight and bias get their sums over rows and heads.
pub(crate) fn backward(
    cuda: &Cuda,
    record: &HeadsRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let HeadsRecord { layer, heads, x } = record;
    let input = x.value().dtype();
    let x = x.value();
    let (weight, _) = blocks(cuda, flow.params(), *layer, *heads, input)?;
    let n = weight.shape()[0];
    let k = weight.shape()[1];
    let rows = x.len() / k;
    let dy = add::convert(gradient.clone(), input)?.reshape(&[rows, n])?;
    let all = Tensor::on_cuda(cuda, &[n, k], Dtype::F32)?;
    let factors = (dy.address(), x.address(), input);
    product(cuda, Kind::Weight, [n, k, rows], factors, 0, (all.address(), Dtype::F32, false))?;
    let sums = Tensor::on_cuda(cuda, &[n], Dtype::F32)?;
    let partial = partial_sums(cuda, "batch_mean", &dy, None, None)?;
    total(cuda, &partial, 0, 1.0, sums.address(), None)?;
    for (from, id, k) in [(&all, layer.weight, k / heads), (&sums, layer.bias, 0)] {
        let (into, accumulate) = flow.into().address(id);
        let arguments = [
            from.into(),
            into.into(),
            (n / heads).into(),
            k.into(),
            (*heads).into(),
            usize::from(accumulate).into(),
        ];
        cuda.launch(HEADS, "blocks_back", Grid::over(n / heads * k.max(1)), &arguments)?;
    }
    let dx = Tensor::on_cuda(cuda, x.shape(), input)?;
    let factors = (dy.address(), weight.address(), input);
    product(cuda, Kind::Input, [rows, k, n], factors, 0, (dx.address(), input, false))?;
    Ok(dx)
}

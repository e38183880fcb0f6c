//! Fixed matrices along an axis: the library's products if they are dense and the precision allows it; else eight rows
//! a thread, over the band of them that is not zero.

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
    kernels::{Grid, OPERATORS},
    kind,
};
use crate::{device::Device, dtype::Dtype, error::EngineError, ops::Matrix, tensor::Tensor};

/// A x along the axis behind `outer` others, in the precision of x.
pub(crate) fn apply(
    cuda: &Cuda,
    matrix: &Matrix,
    outer: usize,
    x: &Tensor,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    let [m, n] = matrix.sizes();
    let q = x.len() / (outer * n).max(1);
    let device = Device::Cuda(cuda.clone());
    if let Some(dense) = matrix.dense.as_ref().filter(|_| x.dtype() == Dtype::Bf16 && q.is_multiple_of(8)) {
        let kind = if matrix.turned() { Kind::AlongTurned(outer) } else { Kind::Along(outer) };
        return multiply(cuda, &dense.rounded(&device)?, [m, q, n], kind, x, shape);
    }
    let entries = matrix.columns.tensor(&device, Dtype::F32)?;
    let bands = matrix.eights.tensor(&device, Dtype::F32)?;
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let width = 1 << q.trailing_zeros().min(2);
    let count = outer * m.div_ceil(8) * (q / width);
    let arguments = [
        x.into(),
        (&entries).into(),
        (&bands).into(),
        (&out).into(),
        count.into(),
        m.into(),
        n.into(),
        q.into(),
    ];
    let name = format!("map_{}_{width}", kind(x.dtype()));
    cuda.launch(OPERATORS, &name, Grid::over(count), &arguments)?;
    Ok(out)
}

/// As many products with one dense matrix as there are things before the axis.
fn multiply(
    cuda: &Cuda,
    matrix: &Tensor,
    [m, n, k]: [usize; 3],
    kind: Kind,
    x: &Tensor,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let input = x.dtype();
    let shape = Shape { kind, m, n, k, input, out: input, bias: false, add: false, period: 0 };
    let left = matrix.address();
    let right = x.address();
    cuda.product(shape, Operands { left, right, bias: 0, add: 0, out: out.address() })?;
    Ok(out)
}

//! Losses, in f32 with sums in double precision. A loss stays on the GPU until somebody reads it.

use super::{
    Cuda,
    kernels::{Grid, LOSSES},
};
use crate::{dtype::Dtype, error::EngineError, ops::add, tensor::Tensor};

/// Blocks that sum one pair of fields.
const PIECES: usize = 8;

fn wide(x: &Tensor) -> Result<Tensor, EngineError> {
    add::convert(x.clone(), Dtype::F32)
}

/// The mean weighted distance, and the distances.
pub(crate) fn distance(
    cuda: &Cuda,
    p: &Tensor,
    t: &Tensor,
    w: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    let p = wide(p)?;
    let pairs = w.len();
    let loss = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let distances = Tensor::on_cuda(cuda, w.shape(), Dtype::F32)?;
    let partial = cuda.memory(pairs * PIECES * size_of::<f64>())?;
    let arguments = [
        (&p).into(),
        t.into(),
        w.into(),
        (&loss).into(),
        (&distances).into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        (p.len() / pairs.max(1)).into(),
        pairs.into(),
        PIECES.into(),
    ];
    cuda.launch(LOSSES, "distance", Grid::of(pairs * PIECES, 256), &arguments)?;
    Ok((loss, distances))
}

/// The gradient of the mean weighted distance.
pub(crate) fn distance_back(
    cuda: &Cuda,
    [p, t, w, distances]: [&Tensor; 4],
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let p = wide(p)?;
    let pairs = w.len();
    let out = Tensor::on_cuda(cuda, p.shape(), Dtype::F32)?;
    let arguments = [
        (&p).into(),
        t.into(),
        w.into(),
        distances.into(),
        gradient.into(),
        (&out).into(),
        out.len().into(),
        (p.len() / pairs.max(1)).into(),
        pairs.into(),
    ];
    cuda.launch(LOSSES, "distance_back", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// The mean weighted absolute difference.
pub(crate) fn absolute(cuda: &Cuda, p: &Tensor, t: &Tensor, w: &Tensor) -> Result<Tensor, EngineError> {
    let p = wide(p)?;
    let pairs = w.len();
    let loss = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let partial = cuda.memory(pairs * PIECES * size_of::<f64>())?;
    let arguments = [
        (&p).into(),
        t.into(),
        w.into(),
        (&loss).into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        (p.len() / pairs.max(1)).into(),
        pairs.into(),
        PIECES.into(),
        w.shape()[0].into(),
    ];
    cuda.launch(LOSSES, "absolute", Grid::of(pairs * PIECES, 256), &arguments)?;
    Ok(loss)
}

/// The gradient of the mean weighted absolute difference.
pub(crate) fn absolute_back(
    cuda: &Cuda,
    [p, t, w]: [&Tensor; 3],
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let p = wide(p)?;
    let out = Tensor::on_cuda(cuda, p.shape(), Dtype::F32)?;
    let arguments = [
        (&p).into(),
        t.into(),
        w.into(),
        gradient.into(),
        (&out).into(),
        out.len().into(),
        (p.len() / w.len().max(1)).into(),
        w.shape()[0].into(),
    ];
    cuda.launch(LOSSES, "absolute_back", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// The mean squared difference.
pub(crate) fn mean_square(cuda: &Cuda, x: &Tensor, t: &Tensor) -> Result<Tensor, EngineError> {
    let x = wide(x)?;
    let t = wide(t)?;
    let loss = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let blocks = x.len().div_ceil(1024).clamp(1, 2 * cuda.multiprocessors());
    let partial = cuda.memory(blocks * size_of::<f64>())?;
    let arguments = [
        (&x).into(),
        (&t).into(),
        (&loss).into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        x.len().into(),
    ];
    cuda.launch(LOSSES, "mean_square", Grid::of(blocks, 256), &arguments)?;
    Ok(loss)
}

/// The gradient of the mean squared difference.
pub(crate) fn mean_square_back(
    cuda: &Cuda,
    x: &Tensor,
    t: &Tensor,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let x = wide(x)?;
    let t = wide(t)?;
    let out = Tensor::on_cuda(cuda, x.shape(), Dtype::F32)?;
    let arguments = [(&x).into(), (&t).into(), gradient.into(), (&out).into(), out.len().into()];
    cuda.launch(LOSSES, "mean_square_back", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// The floor's loss, and mean and standard deviation of each coordinate.
pub(crate) fn spread(cuda: &Cuda, z: &Tensor, floor: f64) -> Result<(Tensor, Tensor), EngineError> {
    let z = wide(z)?;
    let batch = z.shape().first().copied().unwrap_or(1);
    let coordinates = z.len() / batch.max(1);
    let loss = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let moments = Tensor::on_cuda(cuda, &[2, coordinates], Dtype::F32)?;
    let grid = Grid::over(coordinates);
    let partial = cuda.memory(grid.blocks[0] * size_of::<f64>())?;
    let arguments = [
        (&z).into(),
        (&loss).into(),
        (&moments).into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        batch.into(),
        coordinates.into(),
        (floor as f32).into(),
    ];
    cuda.launch(LOSSES, "spread", grid, &arguments)?;
    Ok((loss, moments))
}

/// The mean standard deviation of a coordinate.
pub(crate) fn mean_spread(cuda: &Cuda, z: &Tensor) -> Result<Tensor, EngineError> {
    let z = wide(z)?;
    let batch = z.shape().first().copied().unwrap_or(1);
    let coordinates = z.len() / batch.max(1);
    let mean = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let grid = Grid::over(coordinates);
    let partial = cuda.memory(grid.blocks[0] * size_of::<f64>())?;
    let counter = cuda.counters(1)?;
    let arguments =
        [(&z).into(), (&mean).into(), (&partial).into(), counter.into(), batch.into(), coordinates.into()];
    cuda.launch(LOSSES, "mean_spread", grid, &arguments)?;
    Ok(mean)
}

/// The gradient of the floor's loss.
pub(crate) fn spread_back(
    cuda: &Cuda,
    z: &Tensor,
    moments: &Tensor,
    floor: f64,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let z = wide(z)?;
    let batch = z.shape().first().copied().unwrap_or(1);
    let coordinates = z.len() / batch.max(1);
    let out = Tensor::on_cuda(cuda, z.shape(), Dtype::F32)?;
    let arguments = [
        (&z).into(),
        moments.into(),
        gradient.into(),
        (&out).into(),
        batch.into(),
        coordinates.into(),
        (floor as f32).into(),
    ];
    cuda.launch(LOSSES, "spread_back", Grid::over(coordinates), &arguments)?;
    Ok(out)
}

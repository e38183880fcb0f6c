//! Batches gathered from a table of images.

use super::{
    Cuda,
    kernels::{Grid, TABLE},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    table::{Gathered, Selection},
    tensor::Tensor,
};

/// The batch that a selection names.
pub(crate) fn gather(cuda: &Cuda, images: &Tensor, selection: &Selection) -> Result<Gathered, EngineError> {
    let Selection { batch, channels, pixels, .. } = *selection;
    let height = images.shape()[2];
    let width = images.shape()[3];
    let tensor = |channels| Tensor::on_cuda(cuda, &[batch, channels, height, width], Dtype::F32);
    let gathered = Gathered {
        images: tensor(channels)?,
        seen: tensor(2 * channels)?,
        complete: tensor(2 * channels)?,
        weights: Tensor::on_cuda(cuda, &[batch, channels], Dtype::F32)?,
    };
    let Gathered { images: whole, seen, complete, weights } = &gathered;
    let arguments = [
        images.into(),
        (&selection.words).into(),
        whole.into(),
        seen.into(),
        complete.into(),
        weights.into(),
        batch.into(),
        channels.into(),
        pixels.into(),
    ];
    cuda.launch(TABLE, "gather", Grid::over(batch * channels * pixels / 4), &arguments)?;
    Ok(gathered)
}

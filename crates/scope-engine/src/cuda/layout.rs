//! Numbers moved from one layout to another.

use super::{
    Cuda,
    kernels::{Arg, Grid, LAYOUT},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{Patches, add},
    tensor::Tensor,
};

/// The sizes that kernels take last.
fn sizes(patches: Patches) -> [Arg; 4] {
    let Patches { channels, height, width, patch, .. } = patches;
    [channels.into(), height.into(), width.into(), patch.into()]
}

/// Images \[batch, channels, height, width\] to tokens \[batch, tokens, (channel, row, column)\], rounded on the way to
/// what products take.
pub(crate) fn patchify(
    cuda: &Cuda,
    patches: Patches,
    image: &Tensor,
    compute: Dtype,
) -> Result<Tensor, EngineError> {
    let features = patches.channels * patches.area();
    let out = Tensor::on_cuda(cuda, &[patches.batch, patches.tokens(), features], compute)?;
    let image =
        if image.dtype() == compute { image.clone() } else { add::convert(image.clone(), Dtype::F32)? };
    let [c, h, w, p] = sizes(patches);
    let arguments = [(&image).into(), (&out).into(), image.len().into(), c, h, w, p];
    let width = if patches.patch.is_multiple_of(8) { 8 } else { 1 };
    let name = format!("patches_{}_{}_{width}", kind(image.dtype()), kind(compute));
    cuda.launch(LAYOUT, &name, Grid::over(image.len() / width), &arguments)?;
    Ok(out)
}

/// Tokens back to an image with channels first.
pub(crate) fn patchify_back(cuda: &Cuda, patches: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let shape = [patches.batch, patches.channels, patches.height, patches.width];
    let out = Tensor::on_cuda(cuda, &shape, Dtype::F32)?;
    let [c, h, w, p] = sizes(patches);
    let arguments = [(&x).into(), (&out).into(), out.len().into(), c, h, w, p];
    cuda.launch(LAYOUT, "patches_back", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// Tokens \[batch, tokens, (channel, row, column)\] to an image \[batch, height, width, channels\].
pub(crate) fn unpatchify(cuda: &Cuda, patches: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    let shape = [patches.batch, patches.height, patches.width, patches.channels];
    move_tiles(cuda, patches, x, &shape, false)
}

/// An image with channels last back to tokens.
pub(crate) fn unpatchify_back(cuda: &Cuda, patches: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    let shape = [patches.batch, patches.tokens(), patches.channels * patches.area()];
    move_tiles(cuda, patches, x, &shape, true)
}

fn move_tiles(
    cuda: &Cuda,
    patches: Patches,
    x: &Tensor,
    shape: &[usize],
    back: bool,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let [c, h, w, p] = sizes(patches);
    let pixels = patches.batch * patches.height * patches.width;
    let arguments = [x.into(), (&out).into(), pixels.into(), c, h, w, p, usize::from(back).into()];
    cuda.launch(LAYOUT, &format!("tiles_{}", x.dtype().size()), Grid::over(pixels), &arguments)?;
    Ok(out)
}

/// The mean of every second channel over each patch.
pub(crate) fn pool_odd_channels(cuda: &Cuda, patches: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let out = Tensor::on_cuda(cuda, &[patches.batch, patches.tokens(), patches.channels / 2], Dtype::F32)?;
    let [c, h, w, p] = sizes(patches);
    let arguments = [(&x).into(), (&out).into(), out.len().into(), c, h, w, p];
    cuda.launch(LAYOUT, "visibility", Grid::over(out.len() * 8), &arguments)?;
    Ok(out)
}

/// Each of a batch of matrices \[rows, columns\] transposed.
pub(crate) fn transpose(
    cuda: &Cuda,
    x: &Tensor,
    [rows, columns]: [usize; 2],
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let arguments = [x.into(), (&out).into(), out.len().into(), rows.into(), columns.into()];
    cuda.launch(LAYOUT, &format!("transpose_{}", x.dtype().size()), Grid::over(out.len()), &arguments)?;
    Ok(out)
}

//! 3x3 convolutions: cuDNN's in bf16, with channels padded to multiples of eight; in f32 products with what windows
//! see, and a plain kernel for what that does not take.

use super::{
    Cuda,
    conv_narrow::Narrow,
    convolution::{Pass, Shape},
    gemm::{self, Kind, Operands},
    im2col,
    kernels::{CONV3X3, Grid},
    kind,
    linear::{aligned, finish, through_gelu},
    unaligned,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{ConvRecord, Epilogue, Linear, Window, Windows, add},
    params::{ParamId, Params},
    tape::{Flow, Tape},
    tensor::Tensor,
};

/// cuDNN's kernels on tensor cores want channels in multiples of this.
const CHANNELS: usize = 8;

fn padded(channels: usize) -> usize {
    channels.next_multiple_of(CHANNELS)
}

impl Window {
    fn library(self, pass: Pass) -> Shape {
        let Self { batch, height, width, c, o } = self;
        Shape { pass, batch, height, width, c: padded(c), o: padded(o) }
    }

    fn image(self, channels: usize) -> [usize; 4] {
        [self.batch, self.height, self.width, channels]
    }
}

/// The convolution, and its value before bias and GELU if the tape wants it.
pub(crate) fn forward(
    cuda: &Cuda,
    tape: &Tape<'_>,
    layer: Linear,
    window: Window,
    x: &Tensor,
    epilogue: Epilogue<'_>,
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    let params = tape.params();
    let compute = tape.compute();
    let bias = params.address(layer.bias, Dtype::F32);
    let gelu = matches!(epilogue, Epilogue::Gelu);
    let residual = match epilogue {
        Epilogue::Add(value) => Some(add::convert(value.value().clone(), Dtype::F32)?),
        _ => None,
    };
    let out = if gelu || matches!(epilogue, Epilogue::Plain) { compute } else { Dtype::F32 };
    let image = |dtype| Tensor::on_cuda(cuda, &window.image(window.o), dtype);
    let weight = params.address(layer.weight, Dtype::F32);
    match Narrow::of(window, compute) {
        Some(narrow) if narrow.narrows() && out == Dtype::F32 => {
            let value = image(out)?;
            narrow.narrow(cuda, x, [weight, bias], residual.as_ref(), &value)?;
            return Ok((value, None));
        }
        Some(narrow) if !narrow.narrows() && gelu => {
            let before = tape.is_recording().then(|| image(compute)).transpose()?;
            let value = image(compute)?;
            narrow.widen(cuda, x, weight, before.as_ref(), Some((bias, &value)))?;
            return Ok((value, before));
        }
        _ => {}
    }
    let before = match compute {
        Dtype::Bf16 => library(cuda, params, layer.weight, window, x)?,
        _ if aligned(9 * window.c, compute) && aligned(window.o, compute) => {
            unfolded(cuda, params, layer.weight, window, x)?
        }
        _ => plain(cuda, params, layer.weight, window, x, false)?,
    };
    // Where nobody asks for the sums again, GELU takes their place.
    let in_place = gelu && !tape.is_recording() && before.shape() == window.image(window.o);
    let value = if in_place { before.clone() } else { image(out)? };
    let added = residual.as_ref().map(|residual| (residual.address(), 0));
    finish(cuda, &before, Some(bias), added, gelu.then_some(None), &value)?;
    Ok((value, (gelu && tape.is_recording()).then_some(before)))
}

/// The sums of the library's convolution, with padded channels.
fn library(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    window: Window,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    let sums = Tensor::on_cuda(cuda, &window.image(padded(window.o)), Dtype::Bf16)?;
    let x = pad(cuda, x)?;
    let weight = pack(cuda, params, weight, window, Dtype::Bf16)?;
    cuda.convolve(window.library(Pass::Forward), [x.address(), weight.address(), sums.address()])?;
    Ok(sums)
}

/// The sums as a product of what each pixel's window sees, 9 c numbers, with the weight.
fn unfolded(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    window: Window,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    let Window { batch, height, width, c, o } = window;
    let m = batch * height * width;
    let row = 9 * c;
    let dtype = x.dtype();
    let windows = Windows { batch, height, width, channels: c, side: 3, stride: 1, row };
    let seen = im2col::im2col(cuda, windows, x)?;
    let weight = pack(cuda, params, weight, window, dtype)?;
    let sums = Tensor::on_cuda(cuda, &window.image(o), dtype)?;
    let shape = gemm::Shape {
        kind: Kind::Forward,
        m,
        n: o,
        k: row,
        input: dtype,
        out: dtype,
        bias: false,
        add: false,
        period: 0,
    };
    let left = seen.address();
    let right = weight.address();
    cuda.product(shape, Operands { left, right, bias: 0, add: 0, out: sums.address() })?;
    Ok(sums)
}

/// Two convolutions with GELU between them and a residual, if the first is one for the library and the second goes to
/// two channels: GELU is applied while the second reads. With few samples that would leave multiprocessors idle.
pub(crate) fn pair(
    cuda: &Cuda,
    tape: &Tape<'_>,
    [first, second]: [Linear; 2],
    x: &Tensor,
    residual: &Tensor,
) -> Result<Option<Tensor>, EngineError> {
    let params = tape.params();
    let compute = tape.compute();
    let weights = [first, second].map(|layer| &params.layout().param(layer.weight).shape[..]);
    let (&[batch, height, width, c], [&[between, from, ..], &[o, to, ..]]) = (x.shape(), weights) else {
        return Ok(None);
    };
    let windows = [(c, between), (between, o)].map(|(c, o)| Window { batch, height, width, c, o });
    let narrow = Narrow::of(windows[1], compute).filter(|narrow| narrow.narrows());
    let (Some(narrow), None) = (narrow, Narrow::of(windows[0], compute)) else { return Ok(None) };
    let fits = from == c && to == between && residual.shape() == windows[1].image(o);
    if !fits || !narrow.fills(cuda) {
        return Ok(None);
    }
    let x = add::convert(x.clone(), compute)?;
    let sums = library(cuda, params, first.weight, windows[0], &x)?;
    let [inner, bias] = [first, second].map(|layer| params.address(layer.bias, Dtype::F32));
    let weight = params.address(second.weight, Dtype::F32);
    let residual = add::convert(residual.clone(), Dtype::F32)?;
    let value = Tensor::on_cuda(cuda, &windows[1].image(o), Dtype::F32)?;
    narrow.narrow_gelu(cuda, &sums, [inner, weight, bias], &residual, &value)?;
    Ok(Some(value))
}

/// An image with its channels padded with zeros.
fn pad(cuda: &Cuda, x: &Tensor) -> Result<Tensor, EngineError> {
    unaligned::with_last(cuda, x, padded(x.shape().last().copied().unwrap_or(1)))
}

/// A weight as libraries want it: \[o, 3, 3, c\], padded for cuDNN in bf16.
fn pack(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    window: Window,
    dtype: Dtype,
) -> Result<Tensor, EngineError> {
    let [outs, ins] =
        [window.o, window.c].map(|channels| if dtype == Dtype::Bf16 { padded(channels) } else { channels });
    let packed = Tensor::on_cuda(cuda, &[outs, 3, 3, ins], dtype)?;
    let from = params.address(weight, Dtype::F32);
    let arguments =
        [from.into(), (&packed).into(), window.o.into(), window.c.into(), outs.into(), ins.into()];
    cuda.launch(CONV3X3, &format!("pack_weight_{}", kind(dtype)), Grid::over(packed.len()), &arguments)?;
    Ok(packed)
}

/// The convolution without the library; turned round, the gradient of its input.
fn plain(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    window: Window,
    x: &Tensor,
    turned: bool,
) -> Result<Tensor, EngineError> {
    let Window { height, width, c, o, .. } = window;
    let out = Tensor::on_cuda(cuda, &window.image(if turned { c } else { o }), x.dtype())?;
    let arguments = [
        x.into(),
        params.address(weight, Dtype::F32).into(),
        (&out).into(),
        out.len().into(),
        height.into(),
        width.into(),
        c.into(),
        o.into(),
        usize::from(turned).into(),
    ];
    cuda.launch(CONV3X3, &format!("conv_{}", kind(x.dtype())), Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// db += sums over pixels of h, where h = g or g gelu'(before + b); gives back h.
pub(crate) fn bias_gradient(
    cuda: &Cuda,
    record: &ConvRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    through_gelu(cuda, record.layer, record.before.as_ref(), gradient, record.x.value().dtype(), flow)
}

/// dW += what h and x give, on the side stream. cuDNN sums in f32 but hands over bf16.
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    record: &ConvRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let x = record.x.value();
    let into = flow.into().address(record.layer.weight);
    let narrow = Narrow::of(record.window, h.dtype());
    cuda.on_side_stream(&[h, x], || match (narrow, h.dtype()) {
        (Some(narrow), _) => narrow.weight_gradient(cuda, h, x, into),
        (None, Dtype::Bf16) => library_weight_gradient(cuda, record.window, h, x, into),
        (None, _) => plain_weight_gradient(cuda, record.window, h, x, into),
    })
}

fn library_weight_gradient(
    cuda: &Cuda,
    window: Window,
    h: &Tensor,
    x: &Tensor,
    (into, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let Window { c, o, .. } = window;
    let x = pad(cuda, x)?;
    let h = pad(cuda, h)?;
    let packed = Tensor::on_cuda(cuda, &[padded(o), 3, 3, padded(c)], Dtype::Bf16)?;
    cuda.convolve(window.library(Pass::Weight), [x.address(), packed.address(), h.address()])?;
    let arguments =
        [(&packed).into(), into.into(), o.into(), c.into(), padded(c).into(), usize::from(accumulate).into()];
    cuda.launch(CONV3X3, "unpack_gradient", Grid::over(9 * c * o), &arguments)
}

fn plain_weight_gradient(
    cuda: &Cuda,
    window: Window,
    h: &Tensor,
    x: &Tensor,
    (into, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let Window { batch, height, width, c, o } = window;
    let arguments = [
        h.into(),
        x.into(),
        into.into(),
        (batch * height).into(),
        height.into(),
        width.into(),
        c.into(),
        o.into(),
        usize::from(accumulate).into(),
    ];
    cuda.launch(CONV3X3, &format!("weight_{}", kind(h.dtype())), Grid::of(9 * c * o, 256), &arguments)
}

/// dx: the convolution of h with the weight turned round.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    record: &ConvRecord,
    h: &Tensor,
    params: &Params,
) -> Result<Tensor, EngineError> {
    let window = record.window;
    if let Some(narrow) = Narrow::of(window, h.dtype()) {
        let dx = Tensor::on_cuda(cuda, &window.image(window.c), Dtype::Bf16)?;
        let weight = params.address(record.layer.weight, Dtype::F32);
        if narrow.narrows() {
            narrow.widen(cuda, h, weight, Some(&dx), None)?;
        } else {
            narrow.narrow(cuda, h, [weight, 0], None, &dx)?;
        }
        return Ok(dx);
    }
    if h.dtype() != Dtype::Bf16 {
        return plain(cuda, params, record.layer.weight, window, h, true);
    }
    let h = pad(cuda, h)?;
    let weight = pack(cuda, params, record.layer.weight, window, Dtype::Bf16)?;
    let dx = Tensor::on_cuda(cuda, &window.image(padded(window.c)), Dtype::Bf16)?;
    cuda.convolve(window.library(Pass::Input), [dx.address(), weight.address(), h.address()])?;
    unaligned::with_last(cuda, &dx, window.c)
}

//! 3x3 convolutions as products, without unfolding the image.
//!
//! With channels last and a border of zeros, the three pixels under a row of the window are contiguous: a row
//! of the image is a matrix whose rows overlap, and a convolution is a product with three segments. When there
//! are few outputs, whole panels of columns would be wasted on them; then all nine taps of all outputs are the
//! columns of one product, and the taps are summed afterwards.

use std::marker::PhantomData;

use crate::bfloat16::bf16;

use super::{
    Cpu, Shared,
    gemm::{
        Finish, Left, Order, Out, Pair, PanelView, Panels, Unit, Unpacked, multiply, multiply_rows,
        pack_panel, panel_width, units,
    },
    lanes::{Kernel, Lanes, Real},
    linear::through_gelu,
    memory::Memory,
    produce::produce,
};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    ops::{ConvRecord, Epilogue, Linear, Window},
    params::{Packing, Params},
    tape::{Flow, Tape},
    tensor::Tensor,
};

/// At most this many outputs are computed tap by tap.
const FEW: usize = 3;
/// Image rows of one task.
const BAND: usize = 4;
/// Image rows of one task of a weight gradient.
const GRADIENT_BAND: usize = 16;

/// The convolution, and its value before GELU if the tape wants it.
pub(crate) fn forward(
    cpu: &Cpu,
    tape: &Tape<'_>,
    layer: Linear,
    window: Window,
    x: &Tensor,
    epilogue: Epilogue<'_>,
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    Ok(match tape.compute() {
        Dtype::F32 => forward_in::<f32>(cpu, tape, layer, window, x, epilogue),
        Dtype::Bf16 => forward_in::<Pair>(cpu, tape, layer, window, x, epilogue),
        Dtype::F64 => forward_in::<f64>(cpu, tape, layer, window, x, epilogue),
    })
}

fn forward_in<U: Unit>(
    cpu: &Cpu,
    tape: &Tape<'_>,
    layer: Linear,
    window: Window,
    x: &Tensor,
    epilogue: Epilogue<'_>,
) -> (Tensor, Option<Tensor>)
where
    U::Element: Element,
{
    let shape = [window.batch, window.height, window.width, window.o];
    let convolution =
        Convolution::<U> { cpu, params: tape.params(), window, layer, turned: false, units: PhantomData };
    let mut finish = Finish::plain(Out::Real(std::ptr::null_mut()), window.o);
    finish.bias = tape.params().cpu::<U::Real>(layer.bias).as_ptr();
    if let Epilogue::Add(value) = epilogue {
        finish.residual = value.value().cpu::<U::Real>().as_ptr();
    }
    produce::<U>(cpu, tape, &shape, epilogue, finish, |finish| convolution.run(x.cpu(), finish))
}

/// One convolution with a layer's weight, or with it turned round, from outputs back to inputs.
struct Convolution<'a, U> {
    cpu: &'a Cpu,
    params: &'a Params,
    window: Window,
    layer: Linear,
    turned: bool,
    units: PhantomData<U>,
}

impl<U: Unit> Convolution<'_, U>
where
    U::Element: Element,
{
    /// Convolves x; every matrix of `finish` is \[pixels, o\].
    fn run(&self, x: &[U::Element], finish: Finish<U::Real>) {
        let Window { c, o, .. } = self.window;
        let by_taps = o <= FEW && c.is_multiple_of(U::ELEMENTS) && !finish.gelu;
        if by_taps { self.by_taps(x, finish) } else { self.direct(x, finish) }
    }

    /// A product for each row of the image, with a segment for each row of the window.
    fn direct(&self, x: &[U::Element], finish: Finish<U::Real>) {
        let Window { batch, height, width, c, .. } = self.window;
        let padded = with_border::<U>(self.cpu, self.window, x);
        let channels = units::<U>(c);
        let row = (width + 2) * channels;
        let panels = self.panels(9 * channels * U::ELEMENTS, self.window.o, |k, o| {
            let tap = k / (channels * U::ELEMENTS);
            let channel = k % (channels * U::ELEMENTS);
            (channel < c).then_some((o, channel, tap))
        });
        let bands = height.div_ceil(BAND);
        let base = Shared(padded.slice::<U>().as_ptr().cast_mut());
        self.cpu.for_each(batch * bands, |task| {
            let sample = task / bands;
            let band = task % bands;
            for y in band * BAND..((band + 1) * BAND).min(height) {
                // SAFETY: rows y .. y + 2 of the bordered image exist; output rows are this task's own.
                unsafe {
                    let first = base.get().add((sample * (height + 2) + y) * row);
                    let left = Left {
                        segments: 3,
                        jump: row,
                        ..Left::rows(first.cast_const(), 3 * channels, channels)
                    };
                    let finish = finish.moved_down((sample * height + y) * width);
                    self.cpu.run(ImageRow { left, right: panels.view(), width, finish });
                }
            }
        });
    }

    /// t\[pixel, tap, o\] = W\[o, :, tap\] x\[pixel\], then y\[pixel\] = sum over taps of t\[pixel + tap, tap\].
    fn by_taps(&self, x: &[U::Element], finish: Finish<U::Real>) {
        let Window { batch, height, width, c, o } = self.window;
        let pixels = batch * height * width;
        let panels = self.panels(c, 9 * o, |channel, column| Some((column % o, channel, column / o)));
        let mut taps = self.cpu.memory(pixels * 9 * o * size_of::<U::Real>());
        let t = Finish::plain(Out::Real(taps.slice_mut::<U::Real>().as_mut_ptr()), 9 * o);
        let left = Left::rows(x.as_ptr().cast::<U>(), units::<U>(c), units::<U>(c));
        // SAFETY: x is [pixels, c] in whole units, t is [pixels, 9 o].
        unsafe { multiply(self.cpu, pixels, left, panels.view(), t) };
        let t = taps.slice::<U::Real>();
        self.cpu.for_each(batch * height, |line| {
            let y = line % height;
            for x in 0..width {
                for channel in 0..o {
                    let mut sum = U::Real::default();
                    for tap in 0..9 {
                        let dy = tap / 3;
                        let dx = tap % 3;
                        if (1..=height).contains(&(y + dy)) && (1..=width).contains(&(x + dx)) {
                            let pixel = (line + dy - 1) * width + x + dx - 1;
                            sum += t[(pixel * 9 + tap) * o + channel];
                        }
                    }
                    // SAFETY: this line's outputs belong to this task.
                    unsafe { finish.apply_one(sum, line * width + x, channel) };
                }
            }
        });
    }

    /// The weight as the right matrix \[k, n\] of a product; `at` says which (o, c, tap) an element is.
    fn panels(
        &self,
        k: usize,
        n: usize,
        at: impl Fn(usize, usize) -> Option<(usize, usize, usize)>,
    ) -> std::sync::Arc<Panels> {
        let dtype = <U::Element as Element>::DTYPE;
        let packing = if self.turned { Packing::Backward(dtype) } else { Packing::Forward(dtype) };
        self.params.packed(self.layer.weight, packing, || {
            let weight = self.params.cpu::<U::Real>(self.layer.weight);
            let c = self.window.c;
            let o = self.window.o;
            let value = |(to, from, tap): (usize, usize, usize)| {
                if self.turned {
                    weight[(from * o + to) * 9 + 8 - tap]
                } else {
                    weight[(to * c + from) * 9 + tap]
                }
            };
            let matrix: Vec<U::Real> =
                (0..k * n).map(|index| at(index / n, index % n).map_or(U::Real::default(), value)).collect();
            if U::ELEMENTS == 1 {
                return Panels::pack::<U>(self.cpu, bytemuck::cast_slice(&matrix), Order::ByRow, [k, n], n);
            }
            let halves: Vec<bf16> = matrix.iter().map(|x| bf16::from_f64(x.wide())).collect();
            Panels::pack::<U>(self.cpu, bytemuck::cast_slice(&halves), Order::ByRow, [k, n], n)
        })
    }
}

/// An image with a border of zeros, as whole units: \[batch, height + 2, width + 2, units of c\].
fn with_border<U: Unit>(cpu: &Cpu, window: Window, x: &[U::Element]) -> Memory {
    let Window { batch, height, width, c, .. } = window;
    let channels = units::<U>(c);
    let row = (width + 2) * channels;
    let mut padded = cpu.memory(batch * (height + 2) * row * size_of::<U>());
    cpu.for_pieces(padded.slice_mut::<U>(), row, |line, out| {
        let sample = line / (height + 2);
        let y = line % (height + 2);
        if y == 0 || y > height {
            return out.fill(U::zeroed());
        }
        out[..channels].fill(U::zeroed());
        out[row - channels..].fill(U::zeroed());
        let from = &x[(sample * height + y - 1) * width * c..][..width * c];
        let inner = &mut out[channels..row - channels];
        if c.is_multiple_of(U::ELEMENTS) {
            bytemuck::cast_slice_mut::<U, U::Element>(inner).copy_from_slice(from);
            return;
        }
        for (pixel, out) in from.chunks(c).zip(inner.chunks_mut(channels)) {
            for (pair, unit) in pixel.chunks(U::ELEMENTS).zip(out) {
                *unit = U::join(pair[0], pair.get(1).copied());
            }
        }
    });
    padded
}

/// The kernel that computes one row of an image.
struct ImageRow<'a, U: Unit> {
    left: Left<U>,
    right: PanelView<'a, U>,
    width: usize,
    finish: Finish<U::Real>,
}

impl<U: Unit> Kernel<U::Real> for ImageRow<'_, U> {
    const HAS_BF16: bool = U::ELEMENTS > 1;
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = U::Real>>(self) {
        // SAFETY: `Convolution::direct` gave a row with its border.
        unsafe { multiply_rows::<V, U>(&self.left, self.right, 0..self.width, &self.finish) }
    }
}

/// db += sums over pixels of h, where h = g or g gelu'(before); gives back h.
pub(crate) fn bias_gradient(
    cpu: &Cpu,
    record: &ConvRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let before = record.before.as_ref();
    let bias = record.layer.bias;
    for_dtype!(gradient, through_gelu(cpu, before, gradient, flow, bias))
}

/// The convolution of h with the weight turned round.
pub(crate) fn input_gradient(
    cpu: &Cpu,
    record: &ConvRecord,
    h: &Tensor,
    params: &Params,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(h, input_gradient_in(cpu, record, h, params)))
}

fn input_gradient_in<R>(cpu: &Cpu, record: &ConvRecord, h: &Tensor, params: &Params) -> Tensor
where
    R: Real + Unit<Element = R, Real = R>,
{
    let Window { c, o, .. } = record.window;
    let window = Window { c: o, o: c, ..record.window };
    let convolution =
        Convolution::<R> { cpu, params, window, layer: record.layer, turned: true, units: PhantomData };
    Tensor::compute::<R>(cpu, record.x.shape(), |out| {
        convolution.run(h.cpu(), Finish::plain(Out::Real(out.as_mut_ptr()), c));
    })
}

/// dW += sums over pixels of h x.
pub(crate) fn weight_gradient(
    cpu: &Cpu,
    record: &ConvRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    for_dtype!(h, weight_gradient_in(cpu, record, h, flow))
}

/// Every band of rows has sums of its own, \[tap, c, o\], which are then added in order.
fn weight_gradient_in<R>(
    cpu: &Cpu,
    record: &ConvRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError>
where
    R: Real + Unit<Element = R, Real = R>,
{
    let Window { batch, height, c, o, .. } = record.window;
    let bands = height.div_ceil(GRADIENT_BAND);
    let padded = with_border::<R>(cpu, record.window, record.x.value().cpu());
    let mut partial = cpu.memory(batch * bands * 9 * c * o * size_of::<R>());
    cpu.for_pieces(partial.slice_mut::<R>(), 9 * c * o, |task, out| {
        let sample = task / bands;
        let band = task % bands;
        let rows = band * GRADIENT_BAND..((band + 1) * GRADIENT_BAND).min(height);
        let x = padded.slice::<R>();
        let h = h.cpu::<R>();
        cpu.run(BandGradient { cpu, window: record.window, x, h, sample, rows, out });
    });
    let into = flow.into().cpu_mut::<R>(record.layer.weight)?;
    let partial = partial.slice::<R>();
    cpu.for_pieces(into, c * 9, |output, into| {
        for sums in partial.chunks(9 * c * o) {
            for (index, into) in into.iter_mut().enumerate() {
                let channel = index / 9;
                let tap = index % 9;
                *into += sums[(tap * c + channel) * o + output];
            }
        }
    });
    Ok(())
}

struct BandGradient<'a, R> {
    cpu: &'a Cpu,
    window: Window,
    x: &'a [R],
    h: &'a [R],
    sample: usize,
    rows: std::ops::Range<usize>,
    out: &'a mut [R],
}

/// For each row of the window: sums\[(l, c), o\] = sum over pixels of x\[i + k - 1, j + l - 1, c\] h\[i, j, o\], a
/// product whose left matrix is read down the pixels.
impl<R> Kernel<R> for BandGradient<'_, R>
where
    R: Real + Unit<Element = R, Real = R>,
{
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let Window { height, width, c, o, .. } = self.window;
        let pixels = self.rows.len() * width;
        let panel = panel_width::<R>(self.cpu.isa());
        let mut packed = self.cpu.memory(o.div_ceil(panel) * panel * pixels * size_of::<R>());
        let h = &self.h[(self.sample * height + self.rows.start) * width * o..];
        for (index, piece) in packed.slice_mut::<R>().chunks_mut(pixels * panel).enumerate() {
            let matrix = Unpacked { values: h, order: Order::ByRow, size: [pixels, o], stride: o };
            pack_panel::<R>(matrix, index, panel, piece);
        }
        let units = packed.slice::<R>();
        let right = PanelView { units, panels: 0..o.div_ceil(panel), k: pixels, n: o, width: panel };
        for k in 0..3 {
            let line = self.sample * (height + 2) + self.rows.start + k;
            let left = Left {
                row_step: 1,
                step: c,
                run: width,
                segments: self.rows.len(),
                jump: (width + 2) * c,
                ..Left::rows(self.x[line * (width + 2) * c..].as_ptr(), width, 1)
            };
            let finish = Finish::plain(Out::Real(self.out[k * 3 * c * o..].as_mut_ptr()), o);
            // SAFETY: three pixels of channels are the rows; the band and its border are inside the image.
            unsafe { multiply_rows::<V, R>(&left, right.clone(), 0..3 * c, &finish) };
        }
    }
}

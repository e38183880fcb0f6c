//! 3x3 convolutions between two channels and many: the first and last of a decoder.

use super::{
    Cuda,
    kernels::{Arg, CONV_NARROW, Grid},
};
use crate::{dtype::Dtype, error::EngineError, ops::Window, tensor::Tensor};

/// Pixels of a row that a block has at once.
const SEGMENT: usize = 128;
/// The most channels: their weights or sums fit in shared memory.
const CHANNELS: usize = 512;
/// How many rows a block of the narrowing kernel may have. It reads one more above and below.
const STRIPS: [usize; 4] = [16, 8, 4, 2];

/// Such a convolution: which way it goes, and its many channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    window: Window,
    /// How many channels the many are.
    big: usize,
    /// Whether the many come first, so that weights are \[2, many, 3, 3\].
    narrows: bool,
}

impl Narrow {
    /// A convolution in bf16 as one of these, if it is one.
    pub(super) fn of(window: Window, compute: Dtype) -> Option<Self> {
        let Window { width, c, o, .. } = window;
        let (big, narrows) = match (c, o) {
            (2, big) => (big, false),
            (big, 2) => (big, true),
            _ => return None,
        };
        let channels = big.is_multiple_of(32) && (32..=CHANNELS).contains(&big);
        let fits = compute == Dtype::Bf16 && channels && width <= SEGMENT;
        fits.then_some(Self { window, big, narrows })
    }

    /// Whether it goes from many channels to two.
    pub(super) fn narrows(self) -> bool {
        self.narrows
    }

    fn constants(self) -> String {
        format!("BIG={}", self.big)
    }

    fn lines(self) -> usize {
        self.window.batch * self.window.height
    }

    /// From two channels to many: the sums, and GELU of them with a bias; either may be left out. For a convolution
    /// that narrows, the gradient of its input.
    pub(super) fn widen(
        self,
        cuda: &Cuda,
        x: &Tensor,
        weight: u64,
        sums: Option<&Tensor>,
        gelu: Option<(u64, &Tensor)>,
    ) -> Result<(), EngineError> {
        let (bias, y) = gelu.map_or((0, 0), |(bias, y)| (bias, y.address()));
        let arguments = [
            x.into(),
            weight.into(),
            bias.into(),
            sums.map_or(0, Tensor::address).into(),
            y.into(),
            self.lines().into(),
            self.window.height.into(),
            self.window.width.into(),
            usize::from(self.narrows).into(),
        ];
        let grid = Grid::of(self.lines().min(8 * cuda.multiprocessors()), 256);
        cuda.launch_with(CONV_NARROW, &self.constants(), "widen_image", grid, &arguments)
    }

    /// From many channels to two, plus a bias and an image of f32 if there are. Addresses are of the weight and of the
    /// bias, zero for none. For a convolution that widens, the gradient of its input.
    pub(super) fn narrow(
        self,
        cuda: &Cuda,
        x: &Tensor,
        [weight, bias]: [u64; 2],
        added: Option<&Tensor>,
        out: &Tensor,
    ) -> Result<(), EngineError> {
        let arguments = [
            x.into(),
            weight.into(),
            bias.into(),
            added.map_or(0, Tensor::address).into(),
            0_u64.into(),
            out.into(),
            self.window.height.into(),
            self.window.width.into(),
            usize::from(!self.narrows).into(),
        ];
        let name = format!("narrow_image_{}", super::kind(out.dtype()));
        self.launch_narrow(cuda, &name, &arguments)
    }

    /// How many strips of rows there are.
    fn strips(self, rows: usize) -> usize {
        self.window.batch * self.window.height.div_ceil(rows)
    }

    /// Whether narrowing in strips of eight rows has work for all of a GPU's multiprocessors.
    pub(super) fn fills(self, cuda: &Cuda) -> bool {
        self.strips(8) >= 2 * cuda.multiprocessors()
    }

    /// Narrows with one of the kernels for it, in the largest strips that leave no multiprocessor idle.
    fn launch_narrow(self, cuda: &Cuda, name: &str, arguments: &[Arg]) -> Result<(), EngineError> {
        let fills = |rows: &&usize| self.strips(**rows) >= 2 * cuda.multiprocessors();
        let rows = *STRIPS.iter().find(fills).unwrap_or(&STRIPS[STRIPS.len() - 1]);
        let constants = format!("{} STRIP={rows}", self.constants());
        cuda.launch_with(CONV_NARROW, &constants, name, Grid::of(self.strips(rows), 256), arguments)
    }

    /// From gelu(u + inner bias) of many channels to two, plus a bias and an image of f32. Addresses are of the inner
    /// bias, the weight and the bias.
    pub(super) fn narrow_gelu(
        self,
        cuda: &Cuda,
        u: &Tensor,
        [inner, weight, bias]: [u64; 3],
        added: &Tensor,
        out: &Tensor,
    ) -> Result<(), EngineError> {
        let Window { height, width, .. } = self.window;
        let arguments = [
            u.into(),
            weight.into(),
            bias.into(),
            added.into(),
            inner.into(),
            out.into(),
            height.into(),
            width.into(),
            0_usize.into(),
        ];
        self.launch_narrow(cuda, "narrow_gelu_f32", &arguments)
    }

    /// The weight's gradient from the gradient h of the result and the input x.
    pub(super) fn weight_gradient(
        self,
        cuda: &Cuda,
        h: &Tensor,
        x: &Tensor,
        (into, accumulate): (u64, bool),
    ) -> Result<(), EngineError> {
        let (many, two) = if self.narrows { (x, h) } else { (h, x) };
        // Against the many channels, an input shifts with its tap, a result the other way.
        let sign = if self.narrows { u64::from(u32::MAX) } else { 1 };
        // A warp has 32 channels; eight or more share out a row.
        let groups = self.big / 32;
        let warps = if groups < 8 { groups * (8 / groups) } else { groups };
        let blocks = self.lines().min(4 * cuda.multiprocessors());
        let partial = cuda.memory(blocks * 18 * self.big * size_of::<f32>())?;
        let arguments = [
            many.into(),
            two.into(),
            (&partial).into(),
            self.lines().into(),
            self.window.height.into(),
            self.window.width.into(),
            sign.into(),
        ];
        let grid = Grid::of(blocks, 32 * warps);
        cuda.launch_with(CONV_NARROW, &self.constants(), "weight_products", grid, &arguments)?;
        let arguments = [
            (&partial).into(),
            into.into(),
            blocks.into(),
            usize::from(self.narrows).into(),
            usize::from(accumulate).into(),
        ];
        let grid = Grid::of(18 * self.big / 32, 1024);
        cuda.launch_with(CONV_NARROW, &self.constants(), "weight_sums", grid, &arguments)
    }
}

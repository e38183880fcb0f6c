//! 3x3 convolution with a border of zeros, channels last.

use crate::{
    cuda,
    device::{Device, kernel},
    error::{EngineError, require_shape},
    ops::{Epilogue, Linear, add, with_last},
    params::Scope,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

impl Linear {
    /// Declares a 3x3 convolution from `c` to `o` channels: weight \[o, c, 3, 3\] and bias \[o\].
    pub fn declare_conv3x3(mut scope: Scope<'_>, c: usize, o: usize) -> Self {
        Self { weight: scope.weight("weight", &[o, c, 3, 3]), bias: scope.offset("bias", &[o]) }
    }
}

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) batch: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Channels in.
    pub(crate) c: usize,
    /// Channels out.
    pub(crate) o: usize,
}

pub(crate) struct ConvRecord {
    pub(crate) layer: Linear,
    pub(crate) window: Window,
    pub(crate) x: Var,
    /// The value before GELU, if there was one.
    pub(crate) before: Option<Tensor>,
    residual: Option<Var>,
}

impl Tape<'_> {
    /// y\[i, j, o\] = b\[o\] + sum over c, k, l of W\[o, c, k, l\] x\[i + k - 1, j + l - 1, c\], then the epilogue.
    ///
    /// # Shapes
    /// x \[batch, height, width, c\], y \[batch, height, width, o\].
    pub fn conv3x3(&self, x: &Var, layer: Linear, epilogue: Epilogue<'_>) -> Result<Var, EngineError> {
        let weight = &self.params().layout().param(layer.weight).shape;
        let (&[batch, height, width, c], &[o, ..]) = (x.shape(), &weight[..]) else {
            return Err(EngineError::shape(
                "3x3 convolution",
                "its input",
                "[batch, height, width, channels]",
                x.shape(),
            ));
        };
        require_shape("3x3 convolution", "the weight", weight, &[o, c, 3, 3])?;
        let shape = with_last(x.shape(), o);
        let residual = match epilogue {
            Epilogue::Add(value) => {
                require_shape("3x3 convolution", "the residual", value.shape(), &shape)?;
                Some(value.clone())
            }
            Epilogue::AddRows(_) => {
                return Err(EngineError::shape(
                    "3x3 convolution",
                    "its epilogue",
                    "any but a table of positions",
                    &shape,
                ));
            }
            Epilogue::Plain | Epilogue::Wide | Epilogue::Gelu => None,
        };
        let x = add::converted(self, x)?;
        let window = Window { batch, height, width, c, o };
        let (value, before) =
            kernel!(self.device(), conv3x3::forward(self, layer, window, x.value(), epilogue))?;
        let record = ConvRecord { layer, window, x, before, residual };
        Ok(self.push(value, true, || Box::new(record)))
    }

    /// Two convolutions with GELU between them, and a residual: r + conv(gelu(conv(x))). A GPU that need not remember
    /// what is between them applies GELU while the second reads.
    ///
    /// # Shapes
    /// x \[batch, height, width, c\], r and the result \[batch, height, width, o\].
    pub fn conv3x3_pair(
        &self,
        x: &Var,
        [first, second]: [Linear; 2],
        residual: &Var,
    ) -> Result<Var, EngineError> {
        if let (Device::Cuda(cuda), false) = (self.device(), self.is_recording())
            && let Some(value) =
                cuda::conv3x3::pair(cuda, self, [first, second], x.value(), residual.value())?
        {
            return Ok(self.input(value));
        }
        let between = self.conv3x3(x, first, Epilogue::Gelu)?;
        self.conv3x3(&between, second, Epilogue::Add(residual))
    }
}

/// With h = g gelu'(before) or g: db = sum over pixels of h, dW\[o, c, k, l\] = sum over pixels of
/// h\[i, j, o\] x\[i + k - 1, j + l - 1, c\], and dx is the convolution of h with W turned round.
impl Record for ConvRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let device = gradient.device().clone();
        let h = if self.before.is_some() || self.layer.has_bias(flow) {
            kernel!(&device, conv3x3::bias_gradient(self, &gradient, flow))?
        } else {
            add::convert(gradient.clone(), self.x.value().dtype())?
        };
        if let Some(residual) = &self.residual {
            flow.give(residual, gradient)?;
        }
        kernel!(&device, conv3x3::weight_gradient(self, &h, flow))?;
        if flow.wants(&self.x) {
            let dx = kernel!(&device, conv3x3::input_gradient(self, &h, flow.params()))?;
            flow.give(&self.x, dx)?;
        }
        Ok(())
    }
}

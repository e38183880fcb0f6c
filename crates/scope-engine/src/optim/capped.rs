//! Adding gradients that may not outweigh the one they are added to.

use crate::{
    cpu, cuda,
    device::{Device, kernel},
    error::{EngineError, require_shape},
    params::Gradients,
    tensor::Tensor,
};

/// What [`Gradients::add_capped`] measured.
#[derive(Clone, Debug)]
pub struct Capped {
    /// \[1 + auxiliaries, paths\]: the norm of each gradient under each path, the leading one first.
    pub norms: Tensor,
    /// \[1\]: the factor.
    pub alpha: Tensor,
}

/// A binding factor is made smaller by this share, so that rounding cannot break the promise.
pub(crate) const MARGIN: f64 = 1e-6;

impl Gradients {
    /// self += alpha (sum of the auxiliaries), with the largest alpha up to one for which, under every path,
    /// the auxiliaries' norms together stay within the leading gradient's norm:
    ///
    /// alpha = min(1, min over paths S with a_S > 0 of f_S / a_S), f_S = |self|_S, a_S = sum of |auxiliary|_S,
    /// times 1 - 1e-6 if it is below one.
    pub fn add_capped(&mut self, auxiliaries: &[&Gradients], paths: &[&str]) -> Result<Capped, EngineError> {
        for auxiliary in auxiliaries {
            require_shape("capped sum", "an auxiliary", auxiliary.flat().shape(), self.flat().shape())?;
        }
        kernel!(&self.flat().device().clone(), optim::add_capped(self, auxiliaries, paths))
    }

    /// Makes these gradients not a number unless a loss is exactly zero: a step with them then changes nothing. So a
    /// step may be recorded without a component whose loss is expected to be zero, and repeated with it if not.
    pub fn void_unless_zero(&mut self, loss: &Tensor) -> Result<(), EngineError> {
        require_shape("a check of a loss", "the loss", loss.shape(), &[1])?;
        kernel!(&self.flat().device().clone(), optim::void_unless_zero(self, loss))
    }

    /// The Euclidean norm under a path (`""` for everything), read back.
    pub fn norm(&self, path: &str) -> Result<f64, EngineError> {
        match self.flat().device() {
            Device::Cpu(cpu) => Ok(cpu::optim::norm(cpu, self.flat(), self.layout().range(path))),
            Device::Cuda(cuda) => Ok(f64::from(cuda::optim::norm(cuda, self, path)?.to_vec::<f32>()?[0])),
        }
    }
}

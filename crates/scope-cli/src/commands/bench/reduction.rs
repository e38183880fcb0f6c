//! Gradients reduced at other times than in training, to see what reducing them beside the backward pass saves.

use std::ops::Range;

use clap::ValueEnum;
use scope_engine::{DeviceGroup, EngineError, Nccl, Params, Tensor};

/// When gradients are reduced over the GPUs of several processes: beside the backward pass as in training, between its
/// operations, each of which then waits, or never, which trains nothing sensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    Beside,
    Between,
    Never,
}

/// GPUs whose gradients are reduced at some time.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) nccl: Nccl,
    pub(super) when: When,
}

impl DeviceGroup for Timed {
    fn rank(&self) -> usize {
        self.nccl.rank()
    }

    fn size(&self) -> usize {
        self.nccl.size()
    }

    fn mean(&self, tensor: Tensor) -> Result<Tensor, EngineError> {
        self.nccl.mean(tensor)
    }

    fn mean_of_range(&self, flat: &mut Tensor, range: Range<usize>) -> Result<(), EngineError> {
        match self.when {
            When::Beside => self.nccl.mean_of_range(flat, range),
            When::Between => {
                self.nccl.mean_of_range(flat, range)?;
                self.nccl.join()
            }
            When::Never => Ok(()),
        }
    }

    fn gather(&self, tensor: &Tensor) -> Result<Tensor, EngineError> {
        self.nccl.gather(tensor)
    }

    fn share(&self, params: &mut Params, shares: &[Vec<Range<usize>>]) -> Result<(), EngineError> {
        self.nccl.share(params, shares)
    }

    fn join(&self) -> Result<(), EngineError> {
        self.nccl.join()
    }

    fn abort(&mut self) {
        self.nccl.abort();
    }
}

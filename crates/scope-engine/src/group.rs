//! Devices of several processes that take one step together.

use std::{fmt::Debug, ops::Range};

use crate::{error::EngineError, params::Params, tensor::Tensor};

/// One of several devices, each with an equal share of every batch: means and copies over all of them.
///
/// All must ask for the same in the same order. Work may go on beside what the device is asked for otherwise: a result
/// is there after [`DeviceGroup::join`], unless it says otherwise.
pub trait DeviceGroup: Debug + Send + Sync {
    /// Which of them this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// The mean over all of each one's f32 numbers. Clones of the tensor may see it too; neither is to be read or
    /// dropped before [`DeviceGroup::join`].
    fn mean(&self, tensor: Tensor) -> Result<Tensor, EngineError>;

    /// The mean over all in the place of each one's f32 numbers of a range. They are not to be read or dropped before
    /// [`DeviceGroup::join`].
    fn mean_of_range(&self, flat: &mut Tensor, range: Range<usize>) -> Result<(), EngineError>;

    /// The tensors of all one below the other: \[rows, ...\] each, \[size rows, ...\] together. They are there at once.
    fn gather(&self, tensor: &Tensor) -> Result<Tensor, EngineError>;

    /// Gives everyone the values of each one's ranges of the parameters. They are there at once.
    fn share(&self, params: &mut Params, shares: &[Vec<Range<usize>>]) -> Result<(), EngineError>;

    /// Makes whatever the device is asked for from now on wait for everything that was asked for here.
    fn join(&self) -> Result<(), EngineError>;

    /// Leaves the others in the middle of something, without waiting for any of them. Nothing may be asked for
    /// afterwards.
    fn abort(&mut self);
}

//! Processes that train one model together: each computes its parts of every batch, and all take the same step.

use std::ops::Range;

use scope_engine::{Device, Gradients, Params, Tensor};
use scope_parallel::{
    Communicator, Division, ParallelError, Piece, all_gather, any, broadcast, first_unlike, numbers_in,
};

use crate::error::TrainError;

/// The parts that a batch is cut into where a run has processes and says nothing else: up to eight can share the work.
pub const USUAL_PARTS: usize = 8;

/// Ranks, and which rows of each batch every one has.
#[derive(Debug)]
pub struct Team {
    ranks: Box<dyn Communicator>,
    division: Division,
    batch: usize,
    /// Whether a step was begun that changes the state, and not ended.
    torn: bool,
}

/// What the ranks measured of a whole batch, going forward.
pub(crate) struct Whole {
    /// Losses, in the parts' order.
    pub(crate) losses: Vec<f64>,
    /// Latents \[batch, ...\], if parts have any.
    pub(crate) latents: Option<Tensor>,
}

/// What one part measured, going forward: its losses, and its latents \[rows, ...\] if it has any.
pub(crate) struct PartForward {
    pub(crate) losses: Vec<f32>,
    pub(crate) latents: Option<Tensor>,
}

impl Team {
    /// Ranks that share batches of `batch` rows. With `parts`, sums over a batch are sums over so many parts in a fixed
    /// order, whatever the number of ranks; without, each rank's rows are one part, which is faster and gives other
    /// bits for another number of ranks.
    pub fn new(ranks: Box<dyn Communicator>, parts: Option<usize>, batch: usize) -> Result<Self, TrainError> {
        let size = ranks.size();
        let parts = parts.unwrap_or(size);
        let division = Division::new(parts, size)?;
        if parts > batch {
            return Err(ParallelError::Division(format!(
                "a batch of {batch} cannot be cut into {parts} parts"
            ))
            .into());
        }
        Ok(Self { ranks, division, batch, torn: false })
    }

    /// Which rank this is.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// The rows of every batch that this rank has.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.division.rows_of(self.rank(), self.batch)
    }

    /// The same rows part by part, counted from the first.
    pub(crate) fn parts(&self) -> Vec<Range<usize>> {
        let first = self.rows().start;
        let rows = |part: usize| {
            let rows = self.division.rows(part, self.batch);
            rows.start - first..rows.end - first
        };
        self.division.parts_of(self.rank()).map(rows).collect()
    }

    /// The share that a part has of the batch.
    fn share(&self, part: usize) -> f64 {
        self.division.rows(part, self.batch).len() as f64 / self.batch as f64
    }

    /// The whole batch's losses and latents from those of the parts: a loss is the mean over rows.
    pub(crate) fn gather(&mut self, own: &[PartForward], device: &Device) -> Result<Whole, TrainError> {
        let mut message = Vec::new();
        for part in own {
            message.extend_from_slice(&part.losses);
            part.latents.as_ref().map_or(Ok(()), |z| -> Result<(), TrainError> {
                message.extend(z.to_vec::<f32>()?);
                Ok(())
            })?;
        }
        let told = all_gather(self.ranks.as_mut(), bytemuck::cast_slice(&message))?;
        let count = own.first().map_or(0, |part| part.losses.len());
        let shape = own.first().and_then(|part| part.latents.as_ref()).map(|z| z.shape()[1..].to_vec());
        let each: usize = shape.as_ref().map_or(0, |shape| shape.iter().product());
        let mut losses = vec![0.0; count];
        let mut latents = Vec::with_capacity(self.batch * each);
        for (rank, message) in told.iter().enumerate() {
            let mut numbers = numbers_in(message);
            for part in self.division.parts_of(rank) {
                for sum in &mut losses {
                    *sum += self.share(part) * f64::from(numbers.next().unwrap_or(f32::NAN));
                }
                let rows = self.division.rows(part, self.batch).len();
                latents.extend(numbers.by_ref().take(rows * each));
            }
        }
        if latents.len() != self.batch * each {
            let problem = format!("the ranks have {} latents of {}", latents.len(), self.batch * each);
            return Err(ParallelError::Division(problem).into());
        }
        let shape = shape.map(|rest| [&[self.batch][..], &rest].concat());
        let latents = shape.map(|shape| Tensor::from_slice(device, &shape, &latents)).transpose()?;
        Ok(Whole { losses, latents })
    }

    /// The sum of a gradient over all parts of the batch; `of` computes one of this rank's parts, counted from its
    /// first, times the share that is given too.
    pub(crate) fn sum(
        &mut self,
        mut of: impl FnMut(usize, f64) -> Result<Vec<f32>, TrainError>,
    ) -> Result<Vec<f32>, TrainError> {
        let rank = self.rank();
        let first = self.division.parts_of(rank).start;
        let pieces: Vec<Piece> = self.division.pieces(rank, |part| of(part - first, self.share(part)))?;
        Ok(self.division.sum(self.ranks.as_mut(), pieces)?)
    }

    /// Gives everyone the values of this rank's share of the hidden matrices, and takes theirs.
    pub(crate) fn exchange_hidden(
        &mut self,
        params: &mut Params,
        shares: &[Vec<Range<usize>>],
    ) -> Result<(), TrainError> {
        let flat = params.flat().to_vec::<f32>()?;
        let own: Vec<f32> =
            shares[self.rank()].iter().flat_map(|range| &flat[range.clone()]).copied().collect();
        let told = all_gather(self.ranks.as_mut(), bytemuck::cast_slice(&own))?;
        for (rank, (share, message)) in
            shares.iter().zip(&told).enumerate().filter(|(rank, _)| *rank != self.rank())
        {
            let mut numbers = numbers_in(message);
            for range in share {
                let values: Vec<f32> = numbers.by_ref().take(range.len()).collect();
                params.overwrite(range.clone(), &values).map_err(|_| ParallelError::OutOfStep {
                    rank,
                    problem: "it sent too few values of matrices".to_owned(),
                })?;
            }
        }
        Ok(())
    }

    /// Whether any rank wants each of some things.
    pub(crate) fn any<const N: usize>(&mut self, here: [bool; N]) -> Result<[bool; N], TrainError> {
        Ok(any(self.ranks.as_mut(), here)?)
    }

    /// The first rank that has something else than rank 0, if there is one.
    pub(crate) fn first_unlike(&mut self, own: &[u8]) -> Result<Option<usize>, TrainError> {
        Ok(first_unlike(self.ranks.as_mut(), own)?)
    }

    /// Rank 0's message, for everyone.
    pub(crate) fn broadcast(&mut self, message: &[u8]) -> Result<Vec<u8>, TrainError> {
        Ok(broadcast(self.ranks.as_mut(), message)?)
    }

    /// Tells the others why this rank ends.
    pub fn abort(&mut self, why: &str) {
        self.ranks.abort(why);
    }

    /// Notes that the state changes from here on, or that it is whole again.
    pub(crate) fn set_torn(&mut self, torn: bool) {
        self.torn = torn;
    }

    /// Whether the state was being changed when something failed.
    pub(crate) fn is_torn(&self) -> bool {
        self.torn
    }
}

/// The sum of gradients of two views.
pub(crate) fn add(sum: &mut [f32], other: &[f32]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

/// Puts a gradient in the place of what a buffer holds, making the buffer if need be.
pub(crate) fn put(
    buffers: &mut Vec<Gradients>,
    at: usize,
    params: &Params,
    sum: &[f32],
) -> Result<(), TrainError> {
    while buffers.len() <= at {
        buffers.push(Gradients::zeros(params)?);
    }
    Ok(buffers[at].set_flat(sum)?)
}

//! A batch as the losses want it.

use scope_data::{Channel, Constants, GridShape, PerChannel};
use scope_engine::{Device, Gathered, ImageTable, Selection, Tensor};

use crate::error::TrainError;

/// Pairs of fields, what is seen of them, and how their errors are weighed.
#[derive(Clone, Debug)]
pub struct Examples {
    /// \[batch, 2, rows, columns\], in stored coordinates.
    pub fields: Tensor,
    /// \[batch, 4, rows, columns\]: (Ma a, Ma, Mu u, Mu).
    pub contexts: Tensor,
    /// \[batch, 4, rows, columns\]: (a, 1, u, 1).
    pub complete: Tensor,
    /// \[batch, 2\]: one over the norm of each channel's target, as in [`loss_weights`].
    pub weights: Tensor,
}

impl Examples {
    /// Copies a batch to a device.
    pub fn new(
        device: &Device,
        grid: GridShape,
        fields: &[f32],
        contexts: &[f32],
        weights: &[f32],
    ) -> Result<Self, TrainError> {
        let batch = weights.len() / 2;
        let complete = complete_view(grid, fields);
        let image = |channels: usize| [batch, channels, grid.rows, grid.columns];
        Ok(Self {
            fields: Tensor::from_slice(device, &image(2), fields)?,
            contexts: Tensor::from_slice(device, &image(4), contexts)?,
            complete: Tensor::from_slice(device, &image(4), &complete)?,
            weights: Tensor::from_slice(device, &[batch, 2], weights)?,
        })
    }

    /// A selection of a table; where complete views do not show all, `complete` selects what they show.
    pub(crate) fn gathered(
        table: &ImageTable,
        selection: &Selection,
        complete: Option<&Selection>,
    ) -> Result<Self, TrainError> {
        let examples = Self::from(table.gather(selection)?);
        let Some(complete) = complete else { return Ok(examples) };
        Ok(Self { complete: table.gather(complete)?.seen, ..examples })
    }

    /// Takes a channel out of the complete views of these fields.
    pub(crate) fn hide(
        &mut self,
        grid: GridShape,
        fields: &[f32],
        hidden: Channel,
    ) -> Result<(), TrainError> {
        let mut complete = complete_view(grid, fields);
        // A channel is its field and its mask, a before u.
        let channels = complete.chunks_mut(2 * grid.points());
        channels
            .zip(Channel::BOTH.into_iter().cycle())
            .filter(|(_, channel)| *channel == hidden)
            .for_each(|(values, _)| values.fill(0.0));
        Ok(self.complete.overwrite(&complete)?)
    }

    /// Puts another batch of the same size in the place of this one, in the same memory if it is on a GPU.
    pub(crate) fn overwrite(
        &mut self,
        grid: GridShape,
        fields: &[f32],
        contexts: &[f32],
        weights: &[f32],
    ) -> Result<(), TrainError> {
        self.fields.overwrite(fields)?;
        self.contexts.overwrite(contexts)?;
        self.complete.overwrite(&complete_view(grid, fields))?;
        Ok(self.weights.overwrite(weights)?)
    }
}

/// Fields with their masks of ones.
fn complete_view(grid: GridShape, fields: &[f32]) -> Vec<f32> {
    let ones = vec![1.0; grid.points()];
    fields.chunks(grid.points()).flat_map(|field| [field, &ones].concat()).collect()
}

impl From<Gathered> for Examples {
    fn from(gathered: Gathered) -> Self {
        let Gathered { images, seen, complete, weights } = gathered;
        Self { fields: images, contexts: seen, complete, weights }
    }
}

/// The weight of each channel of one pair in the physical relative error:
///
/// |x' - x| / |x| in physical units x = 2 sigma s + mu is w |s' - s| with w = 2 sigma / |x|.
///
/// A zero target has no norm; its error is measured against the training set's root mean square `scale`
/// instead: w = 2 sigma / (scale sqrt(pixels)). Its stored values are -mu / (2 sigma), so |s' - s| is right.
pub fn loss_weights(
    constants: &Constants,
    pair: PerChannel<&[f32]>,
    zero: PerChannel<bool>,
    scale: PerChannel<f64>,
) -> PerChannel<f32> {
    PerChannel::from_fn(|channel| {
        let scaling = constants[channel];
        let field = pair[channel];
        let norm = if zero[channel] {
            scale[channel] * (field.len() as f64).sqrt()
        } else {
            field.iter().map(|s| scaling.physical(*s).powi(2)).sum::<f64>().sqrt()
        };
        (2.0 * scaling.sigma / norm) as f32
    })
}

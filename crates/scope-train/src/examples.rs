//! A batch as the losses want it.

use scope_data::Constants;
use scope_engine::{Device, Tensor};

use crate::error::TrainError;

/// Pairs of fields, what is seen of them, and how their errors are weighed.
#[derive(Clone, Debug)]
pub struct Examples {
    /// \[batch, 2, size, size\], in stored coordinates.
    pub fields: Tensor,
    /// \[batch, 4, size, size\]: (Ma a, Ma, Mu u, Mu).
    pub contexts: Tensor,
    /// \[batch, 4, size, size\]: (a, 1, u, 1).
    pub complete: Tensor,
    /// \[batch, 2\]: one over the norm of each channel's target, as in [`loss_weights`].
    pub weights: Tensor,
}

impl Examples {
    /// Copies a batch to a device.
    pub fn new(
        device: &Device,
        size: usize,
        fields: &[f32],
        contexts: &[f32],
        weights: &[f32],
    ) -> Result<Self, TrainError> {
        let (pixels, batch) = (size * size, weights.len() / 2);
        let ones = vec![1.0; pixels];
        let complete: Vec<f32> = fields.chunks(pixels).flat_map(|field| [field, &ones].concat()).collect();
        Ok(Self {
            fields: Tensor::from_slice(device, &[batch, 2, size, size], fields)?,
            contexts: Tensor::from_slice(device, &[batch, 4, size, size], contexts)?,
            complete: Tensor::from_slice(device, &[batch, 4, size, size], &complete)?,
            weights: Tensor::from_slice(device, &[batch, 2], weights)?,
        })
    }
}

/// The weight of each channel of one pair in the physical relative error:
///
/// |x' - x| / |x| in physical units x = 2 sigma s + mu is w |s' - s| with w = 2 sigma / |x|.
///
/// A zero target has no norm; its error is measured against the training set's root mean square `scale`
/// instead: w = 2 sigma / (scale sqrt(pixels)). Its stored values are -mu / (2 sigma), so |s' - s| is right.
pub fn loss_weights(constants: &Constants, pair: [&[f32]; 2], zero: [bool; 2], scale: [f64; 2]) -> [f32; 2] {
    let scalings = [constants.a, constants.u];
    std::array::from_fn(|channel| {
        let (scaling, field) = (scalings[channel], pair[channel]);
        let norm = if zero[channel] {
            scale[channel] * (field.len() as f64).sqrt()
        } else {
            field.iter().map(|s| scaling.physical(*s).powi(2)).sum::<f64>().sqrt()
        };
        (2.0 * scaling.sigma / norm) as f32
    })
}

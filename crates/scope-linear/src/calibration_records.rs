//! The records that stay with a fit: fields that nothing else of it was made from.

use scope_data::{Channel, PerChannel};
use scope_exact::{HeldOutFields, Stencils};

use crate::{prior::LinearPrior, product::subtract_from_rows};

impl HeldOutFields for LinearPrior {
    fn count(&self) -> usize {
        self.fit().about.calibration
    }

    fn readings(&self, index: usize, sensors: Stencils) -> Vec<f64> {
        let constants = self.fit().about.source.constants;
        let record = self.calibration_record(index);
        let beyond = |channel: Channel, point: usize| {
            let pixel = self.pixel(channel, point);
            constants[channel].physical(record[pixel]) - self.mean(pixel)
        };
        let of = |channel: Channel| {
            sensors[channel].iter().map(move |stencil| stencil.sum(|point| beyond(channel, point)))
        };
        of(Channel::A).chain(of(Channel::U)).collect()
    }

    fn left_by(&self, first: usize, latents: &[Vec<f64>]) -> PerChannel<Vec<f32>> {
        let fit = self.fit();
        let length = fit.mean.len();
        let modes = self.modes();
        let mut left = fit.calibration[first * length..][..latents.len() * length].to_vec();
        for record in left.chunks_exact_mut(length) {
            record.iter_mut().zip(&fit.mean).for_each(|(x, mean)| *x -= mean);
        }
        let coefficients: Vec<f32> =
            latents.iter().flat_map(|latent| latent[..modes].iter().map(|z| *z as f32)).collect();
        subtract_from_rows(&mut left, length, &coefficients, &fit.modes, modes);
        for (record, latent) in left.chunks_exact_mut(length).zip(latents) {
            for (pixel, x) in record.iter_mut().enumerate() {
                let beyond = f64::from(fit.residual[pixel]) * latent[modes + pixel];
                *x = ((f64::from(*x) - beyond) * self.scale(pixel)) as f32;
            }
        }
        PerChannel::from_fn(|channel| {
            let own = self.pixel(channel, 0)..self.pixel(channel, 0) + self.points();
            left.chunks_exact(length).flat_map(|record| &record[own.clone()]).copied().collect()
        })
    }
}

impl LinearPrior {
    /// \[2, H, W\]: one of the records, in stored coordinates.
    fn calibration_record(&self, index: usize) -> &[f32] {
        let length = self.fit().mean.len();
        &self.fit().calibration[index * length..][..length]
    }
}

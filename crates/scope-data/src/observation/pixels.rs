//! Sensors of one channel, gathered by the pixels that they count for.

use scope_pde::GridShape;

use super::{mask::Mask, sensor_error::SensorError};
use crate::{Channel, Scaling};

/// Beyond so many standard deviations a value is no field's: it is in other units.
const FAR_SIGMAS: f64 = 10.0;

/// What is measured of one channel.
pub(super) struct Pixels {
    channel: Channel,
    scaling: Scaling,
    pub(super) mask: Mask,
    /// The first sensor of a pixel with its value; the sum and the number of all of them.
    first: Vec<(usize, f64)>,
    sums: Vec<f64>,
    counts: Vec<u32>,
    pub(super) shared: usize,
}

impl Pixels {
    pub(super) fn new(channel: Channel, scaling: Scaling, shape: GridShape) -> Self {
        let points = shape.points();
        Self {
            channel,
            scaling,
            mask: Mask::empty(shape),
            first: vec![(0, 0.0); points],
            sums: vec![0.0; points],
            counts: vec![0; points],
            shared: 0,
        }
    }

    pub(super) fn add(&mut self, sensor: usize, point: usize, value: f64) -> Result<(), SensorError> {
        if self.mask.insert(point) {
            self.first[point] = (sensor, value);
        } else {
            let (holder, before) = self.first[point];
            let sigma = self.scaling.sigma;
            if (value - before).abs() > sigma {
                let far = |value: &f64| (value - self.scaling.mean).abs() > FAR_SIGMAS * sigma;
                if [before, value].iter().all(far) {
                    let channel = self.channel.name();
                    return Err(SensorError::Units { sensor, value, channel, scaling: self.scaling });
                }
                return Err(SensorError::Contradiction {
                    sensors: [holder, sensor],
                    values: [before, value],
                    channel: self.channel.name(),
                    pixel: self.mask.shape().place(point),
                    sigma,
                });
            }
            self.shared += 1;
        }
        self.sums[point] += value;
        self.counts[point] += 1;
        Ok(())
    }

    /// What this pixel is, unless a sensor says otherwise.
    pub(super) fn know(&mut self, point: usize, value: f64) {
        if self.mask.insert(point) {
            self.sums[point] = value;
            self.counts[point] = 1;
        }
    }

    /// The pixels' means in stored coordinates, zero where nothing is seen.
    pub(super) fn stored(&self) -> Vec<f32> {
        let mean = |(sum, count): (&f64, &u32)| match count {
            0 => 0.0,
            count => self.scaling.store(sum / f64::from(*count)),
        };
        self.sums.iter().zip(&self.counts).map(mean).collect()
    }
}

//! What the coefficients of local fits are divided by: measured on the training set before the first step.

use scope_data::Dataset;
use scope_engine::{Device, Layout, LocalFit, Params, Tape, Tensor};

use super::data_loader::{DataLoader, SamplerConfig};
use crate::error::TrainError;

/// Batches that are looked at, and records in each.
const BATCHES: usize = 40;
const RECORDS: usize = 32;
/// Number of points from one that is looked at to the next.
const STRIDE: usize = 5;
/// The share of coefficients that lie below the divisor.
const SHARE: f64 = 0.8;
/// Coefficients below this are of pixels with no sensor near.
const NOTHING: f32 = 1e-9;

/// For each coefficient, the 80th percentile of its absolute values over the first batches of the schedule, where any
/// sensor is near; 1 where none ever is. A pure function of the data, the order of batches and the fits (on one kind of
/// device).
pub(super) fn measure(
    data: &Dataset,
    device: &Device,
    fit: &LocalFit,
    sampler: SamplerConfig,
    threads: usize,
) -> Result<Vec<f32>, TrainError> {
    let params = Params::zeros(device, Layout::new().into())?;
    let tape = Tape::inference(&params, params.dtype());
    let mut loader = DataLoader::new(
        data,
        &Device::cpu(1),
        SamplerConfig { batch: RECORDS, first: 0, ..sampler },
        threads,
    )?;
    let grid = data.meta().resolution;
    let shape = [RECORDS, 4, grid.rows, grid.columns];
    let mut sizes: Vec<Vec<f32>> = Vec::new();
    for _ in 0..BATCHES {
        let batch = loader.next_batch()?;
        let contexts = loader.contexts(&batch)?;
        let contexts = tape.input(Tensor::from_slice(device, &shape, &contexts)?);
        let fits = tape.local_fits(&contexts, fit, None)?;
        let channels = fits.shape()[1];
        sizes.resize(channels, Vec::new());
        for (plane, values) in
            fits.value().to_vec::<f32>()?.chunks(fits.shape()[2] * fits.shape()[3]).enumerate()
        {
            let near = values.iter().step_by(STRIDE).map(|x| x.abs()).filter(|x| *x > NOTHING);
            sizes[plane % channels].extend(near);
        }
    }
    Ok(sizes.into_iter().map(percentile).collect())
}

fn percentile(mut values: Vec<f32>) -> f32 {
    if values.is_empty() {
        return 1.0;
    }
    let place = (SHARE * (values.len() - 1) as f64) as usize;
    *values.select_nth_unstable_by(place, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_lie_below_the_percentile() {
        assert_eq!(percentile((0..=100).rev().map(|x| x as f32).collect()), 80.0);
        assert_eq!(percentile(vec![]), 1.0);
    }
}

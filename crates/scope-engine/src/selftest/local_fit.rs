//! Local fits of few and of many sensors, on grids that do and do not fill whole tiles.

use std::sync::Arc;

use super::{Check, numbers, relative_error, wide};
use crate::{
    device::Device,
    dtype::Dtype,
    error::EngineError,
    ops::LocalFit,
    params::{Layout, Params},
    tape::Tape,
    tensor::Tensor,
};

/// Both devices compute in double precision; results are rounded to f32, or to bf16.
const LIMITS: [(Dtype, f64); 2] = [(Dtype::F32, 1e-5), (Dtype::Bf16, 4e-3)];

/// Compares all cases on both devices.
pub(super) fn checks(cpu: &Device, gpu: &Device) -> Result<Vec<Check>, EngineError> {
    let mut checks = Vec::new();
    let grids = [
        ([128, 128], [false, false], (4, 4), None),
        ([128, 128], [false, false], (4, 4), Some(-0.3)),
        ([128, 128], [true, true], (4, 4), None),
        ([128, 128], [false, false], (2, 1), None),
        ([40, 24], [true, true], (2, 1), None),
        ([40, 24], [true, true], (4, 2), None),
        ([17, 30], [true, false], (2, 1), None),
        ([17, 30], [false, false], (2, 1), Some(0.2)),
        ([64, 300], [false, true], (2, 1), None),
        ([64, 300], [false, true], (4, 4), None),
    ];
    for (grid, periodic, (degree, stride), edge) in grids {
        for share in [0.0, 0.005, 0.03, 1.0] {
            let case = Case { grid, periodic, degree, stride, edge, share };
            for (compute, limit) in LIMITS {
                // With divisors every channel has a ridge of its own too.
                for normalised in [false, true] {
                    let expected = case.run(cpu, Dtype::F32, normalised)?;
                    let got = case.run(gpu, compute, normalised)?;
                    let name = format!(
                        "local fits {grid:?} every {stride} of degree {degree} to {share}, edge {edge:?}, normalised \
                         {normalised} {compute}"
                    );
                    checks.push(Check { name, error: relative_error(&got, &expected), limit });
                }
            }
        }
    }
    Ok(checks)
}

struct Case {
    grid: [usize; 2],
    periodic: [bool; 2],
    degree: usize,
    stride: usize,
    /// What is known along the edge of the second field.
    edge: Option<f64>,
    /// The share of the pixels that is measured.
    share: f32,
}

impl Case {
    fn run(&self, device: &Device, compute: Dtype, normalised: bool) -> Result<Vec<f32>, EngineError> {
        let [height, width] = self.grid;
        let edges = vec![None, self.edge];
        let mut fit = LocalFit {
            scales: vec![2.0, 4.0],
            degree: self.degree,
            stride: self.stride,
            ridge: vec![1e-4, 1e-6],
            periodic: self.periodic,
            edges,
        };
        if normalised {
            fit.ridge = numbers(4, fit.channels(2)).iter().map(|x| 1e-4 + 0.1 * f64::from(x.abs())).collect();
        }
        let mut layout = Layout::new();
        let normaliser = layout.root().statistic("scale", &[fit.channels(2)]);
        let divisors: Vec<f32> = numbers(3, layout.len()).iter().map(|x| 0.2 + x.abs()).collect();
        let params = Params::from_flat(device, Arc::new(layout), &divisors)?;
        let tape = Tape::inference(&params, compute);
        let batch = 3;
        let pixels = height * width;
        let values = numbers(1, batch * 2 * pixels);
        let chances = numbers(2, batch * 2 * pixels);
        let mut context = Vec::with_capacity(4 * batch * pixels);
        for plane in 0..2 * batch {
            let at = plane * pixels..(plane + 1) * pixels;
            let mask =
                chances[at.clone()].iter().map(|x| if 0.5 * (x + 1.0) < self.share { 1.0 } else { 0.0 });
            let mask: Vec<f32> = mask.collect();
            context.extend(values[at].iter().zip(&mask).map(|(value, mask)| value * mask));
            context.extend(&mask);
        }
        let context = tape.input(Tensor::from_slice(device, &[batch, 4, height, width], &context)?);
        wide(tape.local_fits(&context, &fit, normalised.then_some(normaliser))?.value())
    }
}

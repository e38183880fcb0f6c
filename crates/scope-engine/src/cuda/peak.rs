//! How fast the GPU multiplies at best: what other work is measured against.

use crate::bfloat16::bf16;

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
};
use crate::{dtype::Dtype, error::EngineError};

/// The side of the matrices.
const SIDE: usize = 8192;
/// Products timed together, and how often: the median counts.
const RUNS: usize = 8;
const REPEATS: usize = 25;

impl Cuda {
    /// Operations a second of the library's product of two square matrices of 8192 bf16 numbers that look random.
    pub fn product_rate(&self) -> Result<f64, EngineError> {
        let number = |k: u32| bf16::from_f32((k.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0);
        let numbers: Vec<bf16> = (0..(SIDE * SIDE) as u32).map(number).collect();
        let left = self.upload(&numbers)?;
        let right = self.upload(&numbers)?;
        let out = self.memory(SIDE * SIDE * size_of::<bf16>())?;
        let shape = Shape {
            kind: Kind::Forward,
            m: SIDE,
            n: SIDE,
            k: SIDE,
            input: Dtype::Bf16,
            out: Dtype::Bf16,
            bias: false,
            add: false,
            period: 0,
        };
        let left = left.address();
        let right = right.address();
        let out = out.address();
        let product = || self.product(shape, Operands { left, right, bias: 0, add: 0, out });
        product()?;
        let mut times = (0..REPEATS)
            .map(|_| self.time(|| (0..RUNS).try_for_each(|_| product())))
            .collect::<Result<Vec<f64>, EngineError>>()?;
        times.sort_by(f64::total_cmp);
        Ok(RUNS as f64 * 2.0 * (SIDE as f64).powi(3) / times[REPEATS / 2])
    }
}

//! How much of the teacher's latents the predictor recovers, direction by direction.
//!
//! The least squared error of any prediction of v^T z from the context is v^T E[C] v (paper, "Physical Coverage and
//! Latent Recoverability"), so the error v^T E[(z - z_M)(z - z_M)^T] v that the predictor makes bounds it from above:
//! a direction that is explained is recoverable, one that is not may still be.

use serde::Serialize;

use super::spread::{SpreadSums, add_outer};
use scope_pde::linear::eigen::{Eigen, symmetric_eigen};

/// What is recovered of the teacher's latents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// 1 - E |z_M - z|^2 / E |z - E z|^2 over all coordinates: 1 is perfect, 0 no better than the mean.
    pub explained: f64,
    /// The same along each principal direction of a token, the one of the largest variance first.
    pub directions: Vec<f64>,
    /// Directions of which at least nine tenths are explained.
    pub nine_tenths: usize,
    /// Directions of which at least half is explained.
    pub half: usize,
}

/// Sums over records.
#[derive(Debug)]
pub(super) struct RecoverySums {
    width: usize,
    tokens: usize,
    target: SpreadSums,
    /// Sum over records and tokens of e e^T, e = z_M - z.
    errors: Vec<f64>,
}

impl RecoverySums {
    pub(super) fn new(width: usize) -> Self {
        Self { width, tokens: 0, target: SpreadSums::new(width), errors: vec![0.0; width * width] }
    }

    /// Adds a record's predicted and target latents, \[tokens, width\].
    pub(super) fn add(&mut self, predicted: &[f32], target: &[f32]) {
        self.target.add(target);
        for (z, target) in predicted.chunks(self.width).zip(target.chunks(self.width)) {
            let error: Vec<f64> = z.iter().zip(target).map(|(z, t)| f64::from(*z) - f64::from(*t)).collect();
            add_outer(&mut self.errors, &error, 1.0);
            self.tokens += 1;
        }
    }

    /// What is recovered; none if the target never changes.
    pub(super) fn finish(&self) -> Option<Recovery> {
        let width = self.width;
        let Eigen { values, vectors } = symmetric_eigen(&self.target.covariance(), width);
        let total: f64 = values.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let errors: Vec<f64> = self.errors.iter().map(|sum| sum / self.tokens as f64).collect();
        let along = |v: &Vec<f64>| -> f64 {
            errors
                .chunks(width)
                .zip(v)
                .map(|(row, x)| x * row.iter().zip(v).map(|(e, y)| e * y).sum::<f64>())
                .sum()
        };
        // Directions without variance have nothing to explain.
        let varying = values.iter().zip(&vectors).filter(|(value, _)| **value > f64::EPSILON * total);
        let directions: Vec<f64> = varying.map(|(value, v)| 1.0 - along(v) / value).collect();
        let above = |share: f64| directions.iter().filter(|explained| **explained >= share).count();
        let trace: f64 = (0..width).map(|k| errors[k * width + k]).sum();
        Some(Recovery {
            explained: 1.0 - trace / total,
            nine_tenths: above(0.9),
            half: above(0.5),
            directions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_told_apart() {
        // The target varies along (1, 1) and, less, along (1, -1); only the first is predicted.
        let mut sums = RecoverySums::new(2);
        for (s, t) in [(2.0, 1.0), (-2.0, 1.0), (2.0, -1.0), (-2.0, -1.0)] {
            sums.add(&[s, s], &[s + t, s - t]);
        }
        let recovery = sums.finish().unwrap();
        assert!((recovery.directions[0] - 1.0).abs() < 1e-12 && recovery.directions[1].abs() < 1e-12);
        assert_eq!((recovery.nine_tenths, recovery.half), (1, 1));
        assert!((recovery.explained - 0.8).abs() < 1e-12);
    }
}

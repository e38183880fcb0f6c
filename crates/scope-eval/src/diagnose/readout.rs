//! How well a decoder reads one field out of the latents of two views.
//!
//! For records with a target y other than zero, in physical units and without a unit themselves:
//!
//! R_F = E |d(z_F) - y| / |y|, R_M = E |d(z_M) - y| / |y|, B_M = E |d(z_M) - d(z_F)| / |y|.

use scope_data::Scaling;
use serde::Serialize;

use super::{lipschitz::Lipschitz, views::distance};
use crate::Summary;

/// One decoder on one channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readout {
    /// R_F: the relative error from the complete view's latents.
    pub complete_error: Summary,
    /// R_M: the relative error from the context's predicted latents.
    pub context_error: Summary,
    /// B_M: how far the two are apart, relative to the target.
    pub discrepancy: Summary,
    /// L_d from below.
    pub lipschitz: Lipschitz,
}

/// The errors of one decoder on one channel, record by record.
#[derive(Debug, Default)]
pub(super) struct Errors {
    complete: Vec<Option<f64>>,
    context: Vec<Option<f64>>,
    apart: Vec<Option<f64>>,
}

/// The channel of one record as two views give it, and as it is; all in stored coordinates, \[S, S\].
pub(super) struct Decoded<'a> {
    pub(super) predicted: &'a [f32],
    pub(super) complete: &'a [f32],
    pub(super) truth: &'a [f32],
}

impl Errors {
    /// Adds a record whose target has this physical norm; none if it is zero.
    pub(super) fn add(&mut self, fields: &Decoded<'_>, scaling: Scaling, norm: Option<f64>) {
        // The mean cancels in differences: |x - y| = 2 sigma |x~ - y~|.
        let relative = |x: &[f32], y: &[f32]| norm.map(|norm| 2.0 * scaling.sigma * distance(x, y) / norm);
        self.complete.push(relative(fields.complete, fields.truth));
        self.context.push(relative(fields.predicted, fields.truth));
        self.apart.push(relative(fields.predicted, fields.complete));
    }

    /// The means of all records.
    pub(super) fn finish(&self, lipschitz: Lipschitz) -> Readout {
        Readout {
            complete_error: Summary::of(&self.complete),
            context_error: Summary::of(&self.context),
            discrepancy: Summary::of(&self.apart),
            lipschitz,
        }
    }
}

/// What the latent bound needs of the records with a target other than zero. Latents are measured by
/// |v|_r = |v| / sqrt(r).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cohort {
    /// kappa_y = (E |y|^-2)^(1/2).
    pub kappa: f64,
    /// (E |z_M - z_F|_r^2)^(1/2).
    pub latent_distance: f64,
    /// J = E |z_M - z|_r^2, z being the teacher's latents.
    pub j: Option<f64>,
    /// delta_EMA = (E |z - z_F|_r^2)^(1/2).
    pub delta_ema: Option<f64>,
}

/// Squared distances between a record's latents, each divided by r.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatentGaps {
    /// |z_M - z_F|_r^2.
    pub(super) views: f64,
    /// |z_M - z|_r^2 and |z - z_F|_r^2, with a teacher.
    pub(super) teacher: Option<[f64; 2]>,
}

impl LatentGaps {
    pub(super) fn of(predicted: &[f32], complete: &[f32], target: Option<&[f32]>) -> Self {
        let mean_square = |x: &[f32], y: &[f32]| distance(x, y).powi(2) / x.len() as f64;
        let teacher = target.map(|z| [mean_square(predicted, z), mean_square(z, complete)]);
        Self { views: mean_square(predicted, complete), teacher }
    }
}

/// The cohort of a channel, record by record.
#[derive(Debug, Default)]
pub(super) struct CohortSums {
    count: usize,
    inverse_squares: f64,
    views: f64,
    teacher: Option<[f64; 2]>,
}

impl CohortSums {
    /// Adds a record whose target has this physical norm.
    pub(super) fn add(&mut self, norm: f64, gaps: LatentGaps) {
        self.count += 1;
        self.inverse_squares += norm.powi(-2);
        self.views += gaps.views;
        if let Some([j, delta]) = gaps.teacher {
            let [sum_j, sum_delta] = self.teacher.get_or_insert([0.0; 2]);
            *sum_j += j;
            *sum_delta += delta;
        }
    }

    /// The expectations; none without records.
    pub(super) fn finish(&self) -> Option<Cohort> {
        let mean = |sum: f64| sum / self.count as f64;
        (self.count > 0).then(|| Cohort {
            kappa: mean(self.inverse_squares).sqrt(),
            latent_distance: mean(self.views).sqrt(),
            j: self.teacher.map(|[j, _]| mean(j)),
            delta_ema: self.teacher.map(|[_, delta]| mean(delta).sqrt()),
        })
    }
}

/// The norm of a stored field in physical units.
pub(super) fn physical_norm(stored: &[f32], scaling: Scaling) -> f64 {
    stored.iter().map(|x| scaling.physical(*x).powi(2)).sum::<f64>().sqrt()
}

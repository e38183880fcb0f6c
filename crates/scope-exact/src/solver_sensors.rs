//! Sensors as linear functionals of the exact prior's latent field: of itself, or of u through the solver.

use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_pde::linear::{
    cholesky::{Cholesky, dot},
    matrix::mirror_lower,
};

use crate::{
    error::PosteriorError,
    field_prior::FieldPrior,
    observation_model::{ObservationModel, Stencils, one_of},
    prior::{Prior, Response},
    progress::{Progress, ROWS_AT_ONCE, Stage, in_parallel, tell},
};

/// Pixels whose variances are computed together.
const COLUMNS: usize = 256;

/// Rows that are summed together.
const ROWS: usize = 32;

impl Prior {
    /// cov(y, f) of one sensor, \[S, S\].
    fn covariance_row(&self, channel: Channel, stencil: &Stencil) -> Vec<f64> {
        let mut row = vec![0.0; self.pixels()];
        match (&self.response, stencil.single()) {
            (Response::Linear(problem), _) if channel == Channel::U => {
                add(stencil, 1.0, &mut row);
                self.covariance.apply(problem.solve(&row))
            }
            (_, Some(point)) => {
                self.covariance.row(point, &mut row);
                row
            }
            (_, None) => {
                add(stencil, 1.0, &mut row);
                self.covariance.apply(row)
            }
        }
    }
}

impl ObservationModel for Prior {
    fn mean_at(&self, _: Channel, _: &Stencil) -> f64 {
        0.0
    }

    /// The edge of u is zero by definition, and Helmholtz's of a.
    fn says_something(&self, channel: Channel, stencil: &Stencil) -> bool {
        let size = self.size;
        let inside = |point: usize| [point / size, point % size].iter().all(|k| (1..size - 1).contains(k));
        let any_inside = || stencil.weights.iter().any(|(point, _)| inside(*point));
        match (&self.response, channel) {
            (Response::Linear(_), Channel::U) => any_inside(),
            (Response::Linear(problem), Channel::A) => !problem.zero_edge() || any_inside(),
            (Response::Flow(_), _) => true,
        }
    }

    /// h^T f of sensors of a and h^T G f of those of u.
    fn observe(&self, sensors: Stencils, latent: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = sensors.a.iter().map(|stencil| stencil.value(latent)).collect();
        if let (Response::Linear(problem), false) = (&self.response, sensors.u.is_empty()) {
            let u = problem.solve(latent);
            values.extend(sensors.u.iter().map(|stencil| stencil.value(&u)));
        }
        values
    }

    /// sum_p w_p h_p + G sum_q w_q h_q, h_p the stencils of sensors of a and h_q of u: one solve.
    fn sources(&self, sensors: Stencils, weights: &[f64]) -> Vec<f64> {
        let (weights_a, weights_u) = weights.split_at(sensors.a.len());
        let mut sources = vec![0.0; self.pixels()];
        if let (Response::Linear(problem), false) = (&self.response, sensors.u.is_empty()) {
            sensors.u.iter().zip(weights_u).for_each(|(stencil, weight)| add(stencil, *weight, &mut sources));
            sources = problem.solve(&sources);
        }
        sensors.a.iter().zip(weights_a).for_each(|(stencil, weight)| add(stencil, *weight, &mut sources));
        sources
    }

    /// K = cov(y, y) without noise, \[n, n\].
    fn sensor_covariance(&self, sensors: Stencils, progress: Progress) -> Result<Vec<f64>, PosteriorError> {
        let n = sensors.a.len() + sensors.u.len();
        let mut matrix = vec![0.0; n * n];
        // Pixels of a have a table.
        let pixels: Option<Vec<usize>> = sensors.a.iter().map(Stencil::single).collect();
        let fill = |(k, row): (usize, &mut [f64])| match &pixels {
            Some(pixels) if k < sensors.a.len() => {
                for (entry, q) in row[..=k].iter_mut().zip(pixels) {
                    *entry = self.covariance.between(pixels[k], *q);
                }
            }
            _ => {
                let (channel, stencil) = numbered(sensors, k);
                let values = self.observe(sensors, &self.covariance_row(channel, stencil));
                row[..=k].copy_from_slice(&values[..=k]);
            }
        };
        for (some, rows) in matrix.chunks_mut(n.max(1) * ROWS_AT_ONCE).enumerate() {
            let first = some * ROWS_AT_ONCE;
            tell(progress, Stage::Covariance, first, n)?;
            rows.par_chunks_mut(n).enumerate().for_each(|(k, row)| fill((first + k, row)));
        }
        mirror_lower(&mut matrix, n);
        Ok(matrix)
    }

    /// sum_k V(k, x)^2 with V = L^-1 cov(y, f), and of the rows of V carried through the solver.
    fn explained(
        &self,
        sensors: Stencils,
        factor: &Cholesky,
        progress: Progress,
    ) -> Result<Fields<f64>, PosteriorError> {
        let n = sensors.a.len() + sensors.u.len();
        let pixels = self.pixels();
        let row = |k: usize| {
            let (channel, stencil) = numbered(sensors, k);
            Ok(self.covariance_row(channel, stencil))
        };
        let rows: Vec<Vec<f64>> = in_parallel(progress, Stage::Deviations, n, ROWS_AT_ONCE, row)?;
        // Columns of V do not touch each other: each strip of pixels is one task.
        let strip = |strip: usize| {
            let range = strip * COLUMNS..((strip + 1) * COLUMNS).min(pixels);
            let mut columns: Vec<f64> = rows.iter().flat_map(|row| &row[range.clone()]).copied().collect();
            factor.forward_substitute(&mut columns, range.len());
            Ok(columns)
        };
        let at_once = rayon::current_num_threads();
        let strips: Vec<Vec<f64>> =
            in_parallel(progress, Stage::Deviations, pixels.div_ceil(COLUMNS), at_once, strip)?;
        drop(rows);
        let row = |k: usize| -> Vec<f64> {
            strips
                .iter()
                .flat_map(|strip| &strip[k * strip.len() / n..(k + 1) * strip.len() / n])
                .copied()
                .collect()
        };
        // Sums of a fixed number of rows, added in order: no bit depends on the threads.
        let part = |part: usize| {
            let mut sums = Fields { a: vec![0.0; pixels], u: vec![0.0; pixels] };
            for k in part * ROWS..((part + 1) * ROWS).min(n) {
                let latent = row(k);
                add_squares(&mut sums.a, &latent);
                if let Response::Linear(problem) = &self.response {
                    add_squares(&mut sums.u, &problem.solve(&latent));
                }
            }
            Ok(sums)
        };
        let parts = in_parallel(progress, Stage::Deviations, n.div_ceil(ROWS), 4 * at_once, part)?;
        let mut total = Fields { a: vec![0.0; pixels], u: vec![0.0; pixels] };
        for part in parts {
            total.a.iter_mut().zip(part.a).for_each(|(total, part)| *total += part);
            total.u.iter_mut().zip(part.u).for_each(|(total, part)| *total += part);
        }
        Ok(total)
    }

    fn told_by_each(
        &self,
        sensors: Stencils,
        weights: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Vec<(f64, f64)>, PosteriorError> {
        let told = |k: usize| {
            let functional = self.sources(one_of(sensors, k), &[1.0]);
            let column = self.covariance.apply(functional.clone());
            let squares = self.squares(&column);
            Ok((weights.a * squares.a + weights.u * squares.u, dot(&functional, &column)))
        };
        let count = sensors.a.len() + sensors.u.len();
        in_parallel(progress, Stage::Covariance, count, ROWS_AT_ONCE, told)
    }
}

/// The k-th sensor, those of a before those of u.
fn numbered(sensors: Stencils<'_>, k: usize) -> (Channel, &Stencil) {
    match k.checked_sub(sensors.a.len()) {
        None => (Channel::A, &sensors.a[k]),
        Some(of_u) => (Channel::U, &sensors.u[of_u]),
    }
}

fn add(stencil: &Stencil, weight: f64, field: &mut [f64]) {
    for (point, share) in &stencil.weights {
        field[*point] += weight * share;
    }
}

fn add_squares(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * value);
}

//! A fit as a Gaussian distribution of both fields.
//!
//! The latent vector is (z, e): coefficients of the modes, and residuals of all pixels in units of their standard deviations. Its
//! covariance is the identity.

use std::{collections::BTreeMap, ops::Range, path::Path, sync::OnceLock};

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_exact::{
    ExactError, FieldPrior, Posterior, Progress, Reading, SensorSolver, Stage, Stencils, UNHEARD,
    in_parallel, tell,
};
use scope_pde::{
    GridShape, Pde,
    linear::{
        cholesky::{Cholesky, dot},
        matrix::{View, ViewMut, add_product, multiply},
    },
    random::Stream,
};

use crate::{
    error::LinearError,
    fit::LinearFit,
    many_sensors::ManySensors,
    product::{add_scaled, gram, mixed_dot},
    sensor_rows::SensorRows,
};

/// Pixels that are worked on together.
const STRIP: usize = 256;

/// Rows of a covariance that are computed together.
const ROWS: usize = 64;

/// Candidates that are looked at together.
const CANDIDATES: usize = 1024;

/// Both fields before any sensor is read, in physical units.
#[derive(Debug)]
pub struct LinearPrior {
    fit: LinearFit,
    /// BLAKE3 of the file that it was read from.
    blake3: Option<String>,
    variances: OnceLock<Fields<f64>>,
    /// \[r, r\] each: B^T B over the pixels of a and of u.
    squares: OnceLock<PerChannel<Vec<f64>>>,
}

impl LinearPrior {
    /// Of a fit.
    pub fn new(fit: LinearFit) -> Self {
        Self { fit, blake3: None, variances: OnceLock::new(), squares: OnceLock::new() }
    }

    /// Of a file.
    pub fn open(path: &Path) -> Result<Self, LinearError> {
        let bytes = LinearFit::bytes(path)?;
        let blake3 = blake3::Hasher::new().update_rayon(&bytes).finalize().to_string();
        Ok(Self { blake3: Some(blake3), ..Self::new(LinearFit::parse(path, &bytes)?) })
    }

    /// BLAKE3 of the file that it was read from, if it was.
    pub fn blake3(&self) -> Option<&str> {
        self.blake3.as_deref()
    }

    /// The fit.
    pub fn fit(&self) -> &LinearFit {
        &self.fit
    }

    /// The posterior given measurements in physical units with such noise.
    pub fn given(&self, readings: &[Reading], noise: PerChannel<f64>) -> Result<Posterior<'_>, ExactError> {
        Posterior::given(self, readings, noise, UNHEARD)
    }

    /// How many modes.
    pub(crate) fn modes(&self) -> usize {
        self.fit.about.modes
    }

    /// The pixels of one field.
    fn points(&self) -> usize {
        self.fit.residual.len() / 2
    }

    /// The place of a field's pixel among those of both.
    pub(crate) fn pixel(&self, channel: Channel, point: usize) -> usize {
        match channel {
            Channel::A => point,
            Channel::U => self.points() + point,
        }
    }

    fn channel(&self, pixel: usize) -> Channel {
        if pixel < self.points() { Channel::A } else { Channel::U }
    }

    /// \[r\]: a pixel of all modes, in stored coordinates.
    pub(crate) fn mode_row(&self, pixel: usize) -> &[f32] {
        &self.fit.modes[pixel * self.modes()..][..self.modes()]
    }

    /// What a pixel's stored differences are times in physical units.
    pub(crate) fn scale(&self, pixel: usize) -> f64 {
        2.0 * self.fit.about.source.constants[self.channel(pixel)].sigma
    }

    /// The standard deviation of what modes leave out of a pixel, in physical units.
    pub(crate) fn residual(&self, pixel: usize) -> f64 {
        self.scale(pixel) * f64::from(self.fit.residual[pixel])
    }

    fn mean(&self, pixel: usize) -> f64 {
        self.fit.about.source.constants[self.channel(pixel)].physical(self.fit.mean[pixel])
    }

    /// Both fields, from a function of pixels.
    fn fields_of(&self, value: impl Fn(usize) -> f64 + Sync) -> Fields<f64> {
        let half = self.points();
        PerChannel::from_fn(|channel| {
            let first = self.pixel(channel, 0);
            (first..first + half).into_par_iter().with_min_len(STRIP).map(&value).collect()
        })
    }

    /// B^T x over all pixels, and the residuals' part of T^T x.
    fn transposed(&self, field: &(dyn Fn(usize) -> f64 + Sync)) -> Vec<f64> {
        let pixels = 2 * self.points();
        let strip = |strip: usize| {
            let mut sums = vec![0.0; self.modes()];
            for pixel in strip * 4 * STRIP..((strip + 1) * 4 * STRIP).min(pixels) {
                add_scaled(&mut sums, self.scale(pixel) * field(pixel), self.mode_row(pixel));
            }
            sums
        };
        let strips: Vec<Vec<f64>> = (0..pixels.div_ceil(4 * STRIP)).into_par_iter().map(strip).collect();
        let mut latent = vec![0.0; self.modes()];
        for sums in strips {
            latent.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        latent.extend((0..pixels).map(|pixel| self.residual(pixel) * field(pixel)));
        latent
    }

    /// \[n, width\]: L^-1 of what sensors see of each pixel of a range beyond the modes, which most see nothing of.
    fn whitened_residuals(
        &self,
        factor: &Cholesky,
        seen: &BTreeMap<usize, Vec<(usize, f64)>>,
        range: Range<usize>,
        n: usize,
    ) -> Vec<f64> {
        let touched: Vec<(&usize, &Vec<(usize, f64)>)> = seen.range(range.clone()).collect();
        let count = touched.len();
        let mut few = vec![0.0; n * count];
        for (column, (pixel, sensors)) in touched.iter().enumerate() {
            sensors.iter().for_each(|(k, weight)| few[k * count + column] += weight * self.residual(**pixel));
        }
        if count > 0 {
            factor.forward_substitute(&mut few, count);
        }
        let width = range.len();
        let mut columns = vec![0.0; n * width];
        for (column, (pixel, _)) in touched.iter().enumerate() {
            let at = **pixel - range.start;
            (0..n).for_each(|k| columns[k * width + at] = few[k * count + column]);
        }
        columns
    }

    /// B^T B over the pixels of a and of u, \[r, r\] each.
    fn mode_squares(&self) -> &PerChannel<Vec<f64>> {
        self.squares.get_or_init(|| {
            let r = self.modes();
            let (of_a, of_u) = self.fit.modes.split_at(self.points() * r);
            let scale = self.fit.about.source.constants.map(|scaling| (2.0 * scaling.sigma).powi(2));
            PerChannel { a: gram(of_a, r, &|_| scale.a), u: gram(of_u, r, &|_| scale.u) }
        })
    }

    /// B^T W B over the pixels of both fields, \[r, r\].
    fn weighted_squares(&self, weights: PerChannel<f64>) -> Vec<f64> {
        let squares = self.mode_squares();
        squares.a.iter().zip(&squares.u).map(|(a, u)| weights.a * a + weights.u * u).collect()
    }
}

/// \[n, r\]: L^-1 A, by strips of columns.
fn whitened(factor: &Cholesky, a: Vec<f64>, r: usize) -> Vec<f64> {
    let n = a.len() / r;
    let strip = |first: usize| {
        let width = STRIP.min(r - first);
        let mut columns: Vec<f64> =
            a.chunks_exact(r).flat_map(|row| &row[first..first + width]).copied().collect();
        factor.forward_substitute(&mut columns, width);
        columns
    };
    let firsts: Vec<usize> = (0..r).step_by(STRIP).collect();
    let strips: Vec<Vec<f64>> = firsts.into_par_iter().map(strip).collect();
    let row = |k: usize| {
        strips.iter().flat_map(move |strip| &strip[k * strip.len() / n..(k + 1) * strip.len() / n])
    };
    (0..n).flat_map(row).copied().collect()
}

impl FieldPrior for LinearPrior {
    fn pde(&self) -> Pde {
        self.fit.about.source.pde
    }

    fn resolution(&self) -> GridShape {
        self.fit.about.source.resolution
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn latent_length(&self) -> usize {
        self.modes() + 2 * self.points()
    }

    fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        stream.sample_iter(StandardNormal).take(self.latent_length()).collect()
    }

    fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, ExactError> {
        let mut fields = self.linear_fields(&latent);
        for channel in Channel::BOTH {
            let values = fields[channel].iter_mut().enumerate();
            values.for_each(|(point, value)| *value += self.mean(self.pixel(channel, point)));
        }
        Ok(fields)
    }

    fn linear_fields(&self, latent: &[f64]) -> Fields<f64> {
        let (z, e) = latent.split_at(self.modes());
        self.fields_of(|pixel| {
            self.scale(pixel) * mixed_dot(self.mode_row(pixel), z) + self.residual(pixel) * e[pixel]
        })
    }

    fn gram(&self, weights: PerChannel<f64>, latent: &[f64]) -> Vec<f64> {
        let fields = self.linear_fields(latent);
        let weighted = |pixel: usize| {
            let channel = self.channel(pixel);
            weights[channel] * fields[channel][pixel - self.pixel(channel, 0)]
        };
        self.transposed(&weighted)
    }

    /// With e at few pixels: |T f|^2 = z^T (B^T B) z + 2 sum_p (B z)_p (d e)_p + sum_p (d e)_p^2.
    fn squares(&self, latent: &[f64]) -> PerChannel<f64> {
        let (z, e) = latent.split_at(self.modes());
        let mut squares = self.mode_squares().each_ref().map(|squares| {
            let image = |row: &[f64]| dot(row, z);
            squares.chunks_exact(z.len()).zip(z).map(|(row, z)| z * image(row)).sum::<f64>()
        });
        for (pixel, e) in e.iter().enumerate().filter(|(_, e)| **e != 0.0) {
            let beyond = self.residual(pixel) * e;
            let mode = self.scale(pixel) * mixed_dot(self.mode_row(pixel), z);
            squares[self.channel(pixel)] += beyond * (2.0 * mode + beyond);
        }
        squares
    }

    fn variances(&self) -> &Fields<f64> {
        self.variances.get_or_init(|| {
            self.fields_of(|pixel| {
                let squares: f64 = self.mode_row(pixel).iter().map(|x| f64::from(*x).powi(2)).sum();
                self.scale(pixel).powi(2) * squares + self.residual(pixel).powi(2)
            })
        })
    }

    fn mean_squares(&self) -> PerChannel<f64> {
        self.fields_of(|pixel| self.mean(pixel).powi(2)).map(|squares| squares.iter().sum())
    }

    fn variance_of(&self, channel: Channel, weights: &[(usize, f64)]) -> f64 {
        let mut merged = BTreeMap::new();
        weights.iter().for_each(|(point, weight)| *merged.entry(*point).or_insert(0.0) += weight);
        let stencil = Stencil { weights: merged.into_iter().collect() };
        let own = std::slice::from_ref(&stencil);
        let sensors = match channel {
            Channel::A => Stencils { a: own, u: &[] },
            Channel::U => Stencils { a: &[], u: own },
        };
        let sensor = SensorRows::new(self, sensors);
        let row = sensor.row(0);
        dot(&row, &row) + sensor.residuals(0).map(|(_, weight)| weight * weight).sum::<f64>()
    }

    fn mean_at(&self, channel: Channel, stencil: &Stencil) -> f64 {
        stencil.sum(|point| self.mean(self.pixel(channel, point)))
    }

    fn says_something(&self, _: Channel, _: &Stencil) -> bool {
        true
    }

    fn covariance(&self, latent: Vec<f64>) -> Vec<f64> {
        latent
    }

    fn covariance_root(&self, latent: Vec<f64>) -> Vec<f64> {
        latent
    }

    fn observe(&self, sensors: Stencils, latent: &[f64]) -> Vec<f64> {
        let (z, e) = latent.split_at(self.modes());
        SensorRows::new(self, sensors).observe(z, e)
    }

    fn sources(&self, sensors: Stencils, weights: &[f64]) -> Vec<f64> {
        let rows = SensorRows::new(self, sensors);
        let mut latent = vec![0.0; self.latent_length()];
        for (k, weight) in weights.iter().enumerate() {
            let row = rows.row(k);
            latent.iter_mut().zip(row).for_each(|(x, row)| *x += weight * row);
            rows.residuals(k).for_each(|(pixel, of_pixel)| latent[self.modes() + pixel] += weight * of_pixel);
        }
        latent
    }

    /// A A^T and what sensors of one pixel have in common beyond the modes, with A = H B \[n, r\].
    fn sensor_covariance(&self, sensors: Stencils, progress: Progress) -> Result<Vec<f64>, ExactError> {
        let rows = SensorRows::new(self, sensors);
        let n = rows.len();
        let r = self.modes();
        tell(progress, Stage::Covariance, 0, n)?;
        let a = rows.rows(0..n);
        let mut matrix = vec![0.0; n * n];
        matrix.par_chunks_mut(ROWS * n.max(1)).enumerate().for_each(|(block, out)| {
            let left = View::new(&a[block * ROWS * r..], out.len() / n, r);
            multiply(left, View::new(&a, n, r).transposed(), ViewMut { data: out, row_stride: n });
        });
        for seen in rows.by_pixel().values() {
            for (i, one) in seen {
                seen.iter().for_each(|(j, other)| matrix[i * n + j] += one * other);
            }
        }
        // The two triangles are equal in every bit, as a factor expects.
        for i in 0..n {
            for j in 0..i {
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        Ok(matrix)
    }

    /// The squares of (L^-1 A) B^T and, where sensors see a pixel beyond the modes, of L^-1 of that too, strip by strip of pixels.
    fn explained(
        &self,
        sensors: Stencils,
        factor: &Cholesky,
        progress: Progress,
    ) -> Result<Fields<f64>, ExactError> {
        let rows = SensorRows::new(self, sensors);
        let n = rows.len();
        let r = self.modes();
        tell(progress, Stage::Deviations, 0, n)?;
        let whitened = whitened(factor, rows.rows(0..n), r);
        let seen = rows.by_pixel();
        let pixels = 2 * self.points();
        let strip = |strip: usize| {
            let range = strip * STRIP..((strip + 1) * STRIP).min(pixels);
            let width = range.len();
            let modes: Vec<f64> = range
                .clone()
                .flat_map(|pixel| {
                    let scale = self.scale(pixel);
                    self.mode_row(pixel).iter().map(move |x| scale * f64::from(*x))
                })
                .collect();
            let mut columns = self.whitened_residuals(factor, &seen, range, n);
            let right = View::new(&modes, width, r).transposed();
            add_product(View::new(&whitened, n, r), right, ViewMut { data: &mut columns, row_stride: width });
            let mut sums = vec![0.0; width];
            for row in columns.chunks_exact(width) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
            }
            Ok(sums)
        };
        let at_once = 4 * rayon::current_num_threads();
        let strips = in_parallel(progress, Stage::Deviations, pixels.div_ceil(STRIP), at_once, strip)?;
        let mut a = strips.concat();
        let u = a.split_off(self.points());
        Ok(Fields { a, u })
    }

    fn solver_of_many(&self, sensors: Stencils, noise: &[f64]) -> Option<Box<dyn SensorSolver>> {
        let rows = SensorRows::new(self, sensors);
        if rows.len() <= self.modes() || rows.by_pixel().values().any(|sensors| sensors.len() > 1) {
            return None;
        }
        let beyond = |k: usize| rows.residuals(k).map(|(_, weight)| weight * weight).sum::<f64>();
        let noise: Vec<f64> = noise.iter().enumerate().map(|(k, noise)| noise + beyond(k)).collect();
        let solver = ManySensors::new(rows.rows(0..rows.len()), self.modes(), &noise)?;
        Some(Box::new(solver))
    }

    /// With q = (z, e), e at few pixels: |T q|^2 = z^T (B^T W B) z + 2 sum_p w_p (B z)_p (d e)_p + sum_p w_p (d e)_p^2.
    fn told_by_each(
        &self,
        sensors: Stencils,
        weights: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Vec<(f64, f64)>, ExactError> {
        let rows = SensorRows::new(self, sensors);
        let r = self.modes();
        tell(progress, Stage::Covariance, 0, rows.len())?;
        let squares = self.weighted_squares(weights);
        let look = |part: usize| {
            let range = part * CANDIDATES..((part + 1) * CANDIDATES).min(rows.len());
            let a: Vec<f64> = range.clone().flat_map(|k| rows.row(k)).collect();
            let mut image = vec![0.0; a.len()];
            let target = ViewMut { data: &mut image, row_stride: r };
            multiply(View::new(&a, range.len(), r), View::new(&squares, r, r), target);
            let told = |(k, (z, image)): (usize, (&[f64], &[f64]))| {
                let mut told = dot(z, image);
                let mut variance = dot(z, z);
                for (pixel, e) in rows.residuals(k) {
                    let beyond = self.residual(pixel) * e;
                    let mode = self.scale(pixel) * mixed_dot(self.mode_row(pixel), z);
                    told += weights[self.channel(pixel)] * beyond * (2.0 * mode + beyond);
                    variance += e * e;
                }
                (told, variance)
            };
            Ok(range.zip(a.chunks_exact(r).zip(image.chunks_exact(r))).map(told).collect::<Vec<_>>())
        };
        let parts = rows.len().div_ceil(CANDIDATES);
        Ok(in_parallel(progress, Stage::Covariance, parts, rayon::current_num_threads(), look)?.concat())
    }
}

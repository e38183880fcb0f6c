//! A fit as a Gaussian distribution of both fields.
//!
//! The latent vector is (z, e): coefficients of the modes, and residuals of all pixels in units of their standard
//! deviations. Its covariance is the identity.

use std::{collections::BTreeMap, path::Path, sync::OnceLock};

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_exact::{FieldPrior, HeldOutFields, Posterior, PosteriorError, Reading, Stencils, UNHEARD};
use scope_pde::{GridShape, Pde, linear::cholesky::dot, random::Stream};

use crate::{
    error::LinearError,
    fit::LinearFit,
    product::{add_scaled, gram, mixed_dot},
    sensor_rows::SensorRows,
};

/// Pixels that are worked on together.
pub(crate) const STRIP: usize = 256;

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
    /// The prior of a fit.
    pub fn new(fit: LinearFit) -> Self {
        Self { fit, blake3: None, variances: OnceLock::new(), squares: OnceLock::new() }
    }

    /// The prior of a fit in a file.
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
    pub fn given(
        &self,
        readings: &[Reading],
        noise: PerChannel<f64>,
    ) -> Result<Posterior<'_>, PosteriorError> {
        Posterior::given(self, readings, noise, UNHEARD)
    }

    /// The number of modes.
    pub(crate) fn modes(&self) -> usize {
        self.fit.about.modes
    }

    /// The pixels of one field.
    pub(crate) fn points(&self) -> usize {
        self.fit.residual.len() / 2
    }

    /// The place of a field's pixel among those of both.
    pub(crate) fn pixel(&self, channel: Channel, point: usize) -> usize {
        match channel {
            Channel::A => point,
            Channel::U => self.points() + point,
        }
    }

    pub(crate) fn channel(&self, pixel: usize) -> Channel {
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

    pub(crate) fn mean(&self, pixel: usize) -> f64 {
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
    pub(crate) fn weighted_squares(&self, weights: PerChannel<f64>) -> Vec<f64> {
        let squares = self.mode_squares();
        squares.a.iter().zip(&squares.u).map(|(a, u)| weights.a * a + weights.u * u).collect()
    }
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

    fn fields(&self, latent: Vec<f64>) -> Result<Fields<f64>, PosteriorError> {
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

    fn covariance(&self, latent: Vec<f64>) -> Vec<f64> {
        latent
    }

    fn covariance_root(&self, latent: Vec<f64>) -> Vec<f64> {
        latent
    }

    fn held_out(&self) -> Option<&dyn HeldOutFields> {
        Some(self)
    }
}

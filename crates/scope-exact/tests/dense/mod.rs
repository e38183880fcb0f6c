//! The posterior from its definition: every matrix written out, every sum a loop, elimination with pivoting.

use std::f64::consts::PI;

use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_exact::Reading;
use scope_pde::Pde;

/// The joint covariance of a and u (2 N x 2 N, N = S^2) of Poisson or Helmholtz.
pub(crate) struct Dense {
    pde: Pde,
    pixels: usize,
    covariance: Vec<Vec<f64>>,
}

impl Dense {
    pub(crate) fn new(pde: Pde, size: usize) -> Self {
        let pixels = size * size;
        let source = source_factor(size);
        let helmholtz = pde == Pde::HELMHOLTZ;
        let solution = solve(operator(size, f64::from(u8::from(helmholtz))), interior_rows(&source, size));
        let mut factor = source;
        if helmholtz {
            let edge = factor.iter_mut().enumerate().filter(|(p, _)| on_edge(*p, size));
            edge.for_each(|(_, row)| row.fill(0.0));
        }
        let mut inside = solution.into_iter();
        for p in 0..pixels {
            factor.push(if on_edge(p, size) { vec![0.0; pixels] } else { inside.next().unwrap() });
        }
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let covariance = factor.iter().map(|x| factor.iter().map(|y| dot(x, y)).collect()).collect();
        Self { pde, pixels, covariance }
    }

    /// The covariance of a pixel of one channel with a pixel of another, given the readings.
    pub(crate) fn posterior_covariance(
        &self,
        readings: &[Reading],
        noise: PerChannel<f64>,
        x: usize,
        y: usize,
    ) -> f64 {
        let weights = solve(self.gram(readings, noise), self.columns(readings, &[y]));
        let known: f64 = readings
            .iter()
            .zip(&weights)
            .map(|(reading, weight)| self.between(&self.stencil(reading, 6), &[(x, 1.0)]) * weight[0])
            .sum();
        self.covariance[x][y] - known
    }

    /// The mean and the variance of every pixel.
    pub(crate) fn posterior(
        &self,
        readings: &[Reading],
        noise: PerChannel<f64>,
    ) -> (Fields<f64>, Fields<f64>) {
        let all: Vec<usize> = (0..2 * self.pixels).collect();
        let weights = solve(self.gram(readings, noise), self.columns(readings, &all));
        let mean = |x: usize| readings.iter().zip(&weights).map(|(r, w)| r.value * w[x]).sum::<f64>();
        let known = |x: usize| {
            let terms = readings.iter().zip(&weights);
            terms.map(|(r, w)| self.between(&self.stencil(r, 6), &[(x, 1.0)]) * w[x]).sum::<f64>()
        };
        let fields = |of: &dyn Fn(usize) -> f64| Fields {
            a: (0..self.pixels).map(of).collect(),
            u: (self.pixels..2 * self.pixels).map(of).collect(),
        };
        (fields(&mean), fields(&|x| self.covariance[x][x] - known(x)))
    }

    /// Entries of both fields and their weights in the polynomial through so many points squared.
    fn stencil(&self, reading: &Reading, points: usize) -> Vec<(usize, f64)> {
        let first = if reading.channel == Channel::U { self.pixels } else { 0 };
        let stencil = Stencil::new(self.pde, reading.channel, self.pixels.isqrt(), reading.spot, points);
        stencil.weights.into_iter().map(|(point, weight)| (first + point, weight)).collect()
    }

    /// The covariance of two weighted sums of entries.
    fn between(&self, x: &[(usize, f64)], y: &[(usize, f64)]) -> f64 {
        x.iter().flat_map(|(i, wi)| y.iter().map(move |(j, wj)| wi * wj * self.covariance[*i][*j])).sum()
    }

    /// Noise, and what six points and four say differently.
    fn own_variance(&self, reading: &Reading, noise: PerChannel<f64>) -> f64 {
        let mut apart = self.stencil(reading, 6);
        apart.extend(self.stencil(reading, 4).into_iter().map(|(point, weight)| (point, -weight)));
        noise[reading.channel].powi(2) + self.between(&apart, &apart)
    }

    fn gram(&self, readings: &[Reading], noise: PerChannel<f64>) -> Vec<Vec<f64>> {
        let stencils: Vec<_> = readings.iter().map(|reading| self.stencil(reading, 6)).collect();
        let entry = |i: usize, j: usize| {
            let own = if i == j { self.own_variance(&readings[i], noise) } else { 0.0 };
            self.between(&stencils[i], &stencils[j]) + own
        };
        (0..readings.len()).map(|i| (0..readings.len()).map(|j| entry(i, j)).collect()).collect()
    }

    fn columns(&self, readings: &[Reading], pixels: &[usize]) -> Vec<Vec<f64>> {
        let row = |reading| {
            let stencil = self.stencil(reading, 6);
            pixels.iter().map(|x| self.between(&stencil, &[(*x, 1.0)])).collect()
        };
        readings.iter().map(row).collect()
    }
}

pub(crate) fn on_edge(p: usize, size: usize) -> bool {
    [p / size, p % size].iter().any(|k| *k == 0 || *k == size - 1)
}

/// \[N, N\]: c_k phi_k(x), rows x.
fn source_factor(size: usize) -> Vec<Vec<f64>> {
    let n = size as f64;
    let phi = |k: usize, i: usize| {
        let scale = if k == 0 { (1.0 / n).sqrt() } else { (2.0 / n).sqrt() };
        scale * (PI * k as f64 * (i as f64 + 0.5) / n).cos()
    };
    let deviation = |k1: usize, k2: usize| match (k1, k2) {
        (0, 0) => 0.0,
        _ => n * 3.0 / (PI * PI * (k1 * k1 + k2 * k2) as f64 + 9.0),
    };
    let entry = |x: usize, k: usize| {
        let k1 = k / size;
        let k2 = k % size;
        deviation(k1, k2) * phi(k1, x / size) * phi(k2, x % size)
    };
    (0..size * size).map(|x| (0..size * size).map(|k| entry(x, k)).collect()).collect()
}

/// Lap_h + shift on the interior points.
fn operator(size: usize, shift: f64) -> Vec<Vec<f64>> {
    let scale = ((size - 1) * (size - 1)) as f64;
    let inside: Vec<usize> = (0..size * size).filter(|p| !on_edge(*p, size)).collect();
    let entry =
        |p: usize, q: usize| match (p == q, (p / size).abs_diff(q / size) + (p % size).abs_diff(q % size)) {
            (true, _) => -4.0 * scale + shift,
            (_, 1) => scale,
            _ => 0.0,
        };
    inside.iter().map(|p| inside.iter().map(|q| entry(*p, *q)).collect()).collect()
}

fn interior_rows(rows: &[Vec<f64>], size: usize) -> Vec<Vec<f64>> {
    (0..size * size).filter(|p| !on_edge(*p, size)).map(|p| rows[p].clone()).collect()
}

/// A^-1 B by Gaussian elimination with partial pivoting.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in 0..n {
            let factor = a[i][k] / a[k][k];
            if i != k && factor != 0.0 {
                let row = a[k].clone();
                let right = b[k].clone();
                a[i].iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
                b[i].iter_mut().zip(&right).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    for k in 0..n {
        b[k].iter_mut().for_each(|x| *x /= a[k][k]);
    }
    b
}

//! Poisson and Helmholtz: Lap u + k^2 u = a with u = 0 on the edge of the unit square.
//!
//! Node grid of S x S points, h = 1/(S-1), five-point stencil on the (S-2)^2 interior nodes. The source is
//! the cell-centred [`NeumannField`] used as node values, as in the released data. Poisson (k^2 = 0) keeps
//! the edge values of a, which the solve does not use; Helmholtz (k^2 = 1) sets them to zero before
//! storing.

mod descriptor;
mod exact_errors;

pub use descriptor::{HELMHOLTZ, POISSON};

use crate::{
    Fields, PerChannel, Problem, Record,
    error::PdeError,
    linear::{ParityBasis, SeparableSolver, matrix},
    random::{NeumannField, Stream},
};

/// A Dirichlet problem with a random source.
#[derive(Clone, Debug)]
pub struct Elliptic {
    size: usize,
    wave_number_squared: f64,
    zero_edge: bool,
    source: NeumannField,
    solver: SeparableSolver,
}

impl Elliptic {
    /// Lap u = a.
    pub fn poisson(size: usize) -> Self {
        Self::new(size, 0.0, false)
    }

    /// Lap u + u = a, a = 0 on the edge.
    pub fn helmholtz(size: usize) -> Self {
        Self::new(size, 1.0, true)
    }

    fn new(size: usize, wave_number_squared: f64, zero_edge: bool) -> Self {
        let solver = SeparableSolver::dirichlet(size - 2, spacing(size), wave_number_squared);
        Self { size, wave_number_squared, zero_edge, source: NeumannField::new(size), solver }
    }

    /// The random source, before its edge is cleared.
    pub fn source(&self) -> &NeumannField {
        &self.source
    }

    /// k^2: 0 for Poisson and 1 for Helmholtz.
    pub fn wave_number_squared(&self) -> f64 {
        self.wave_number_squared
    }

    /// Whether a is zero on the edge.
    pub fn zero_edge(&self) -> bool {
        self.zero_edge
    }

    /// The solution \[S, S\] for a source \[S, S\], of which only the interior is read.
    pub fn solve(&self, a: &[f64]) -> Vec<f64> {
        let size = self.size;
        let inner = size - 2;
        let mut field = Vec::with_capacity(inner * inner);
        for row in a.chunks_exact(size).skip(1).take(inner) {
            field.extend_from_slice(&row[1..=inner]);
        }
        self.solver.solve(&mut field, &mut vec![0.0; inner * inner]);
        matrix::with_zero_edge(&field, size)
    }

    /// Makes a drawn source \[S, S\] the field a: zero on the edge where the problem says so.
    pub fn clear_edge(&self, source: &mut [f64]) {
        let size = self.size;
        if !self.zero_edge {
            return;
        }
        source[..size].fill(0.0);
        source[size * (size - 1)..].fill(0.0);
        for row in source.chunks_exact_mut(size) {
            row[0] = 0.0;
            row[size - 1] = 0.0;
        }
    }

    /// max |Lap_h u + k^2 u - a| over the interior, relative to max |a|.
    pub fn residual(&self, a: &[f64], u: &[f64]) -> f64 {
        let size = self.size;
        let scale = 1.0 / (spacing(size) * spacing(size));
        let mut worst: f64 = 0.0;
        for i in 1..size - 1 {
            for j in 1..size - 1 {
                let at = i * size + j;
                let neighbours = u[at - size] + u[at + size] + u[at - 1] + u[at + 1];
                let applied = scale * (neighbours - 4.0 * u[at]) + self.wave_number_squared * u[at];
                worst = worst.max((applied - a[at]).abs());
            }
        }
        worst / a.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()))
    }

    /// The exact root mean squares of a and u over all S^2 pixels, by the expansion of the source: no
    /// sampling.
    pub fn exact_deviations(&self) -> PerChannel<f64> {
        PerChannel { a: self.source_deviation(), u: self.solution_deviation() }
    }

    fn source_deviation(&self) -> f64 {
        let size = self.size;
        let keep = |i: usize| !self.zero_edge || (1..size - 1).contains(&i);
        let map: Vec<f64> = (0..size * size)
            .map(|at| f64::from(u8::from(at / size == at % size && keep(at / size))))
            .collect();
        let total: f64 = self.source.variance_under(&map).iter().sum();
        (total / (size * size) as f64).sqrt()
    }

    /// In the sine basis u_pq = a_pq / (lambda_p + lambda_q + k^2), and the basis is orthonormal.
    fn solution_deviation(&self) -> f64 {
        let size = self.size;
        let inner = self.size - 2;
        let sine = ParityBasis::sine(inner);
        let mut map = vec![0.0; size * size];
        for p in 0..inner {
            for i in 0..inner {
                map[p * size + i + 1] = sine.value(p, i);
            }
        }
        let coefficients = self.source.variance_under(&map);
        let eigenvalue = |p: usize| {
            let angle = std::f64::consts::PI * (p + 1) as f64 / (size - 1) as f64;
            (2.0 * angle.cos() - 2.0) / (spacing(size) * spacing(size))
        };
        let mut total = 0.0;
        for p in 0..inner {
            for q in 0..inner {
                let symbol = eigenvalue(p) + eigenvalue(q) + self.wave_number_squared;
                total += coefficients[p * size + q] / (symbol * symbol);
            }
        }
        (total / (size * size) as f64).sqrt()
    }
}

impl Problem for Elliptic {
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError> {
        let mut a = self.source.draw(stream);
        self.clear_edge(&mut a);
        let u = self.solve(&a);
        Ok(Record { fields: Fields { a, u }, disk: None })
    }
}

/// The distance of two nodes when `size` of them span the unit interval.
fn spacing(size: usize) -> f64 {
    1.0 / (size - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;
    use std::f64::consts::PI;

    fn both(size: usize) -> [Elliptic; 2] {
        [Elliptic::poisson(size), Elliptic::helmholtz(size)]
    }

    #[test]
    fn records_satisfy_the_discrete_equation() {
        for problem in both(128) {
            for n in 0..4 {
                let record = problem.draw(&mut Coordinates::new("residual").number(n).stream()).unwrap();
                assert!(problem.residual(&record.fields.a, &record.fields.u) < 1e-10);
            }
        }
    }

    /// u = sin(pi x) sin(2 pi y) + x(1-x)y(1-y): the observed order between grids must be 2.
    #[test]
    fn manufactured_solution_converges_with_order_two() {
        let exact = |x: f64, y: f64| (PI * x).sin() * (2.0 * PI * y).sin() + x * (1.0 - x) * y * (1.0 - y);
        let laplacian = |x: f64, y: f64| {
            -5.0 * PI * PI * (PI * x).sin() * (2.0 * PI * y).sin() - 2.0 * (x * (1.0 - x) + y * (1.0 - y))
        };
        for index in 0..2 {
            let error = |size: usize| {
                let problem = &both(size)[index];
                let node = |at: usize| (at / size) as f64 * spacing(size);
                let points: Vec<(f64, f64)> =
                    (0..size * size).map(|at| (node(at), (at % size) as f64 * spacing(size))).collect();
                let a: Vec<f64> = points
                    .iter()
                    .map(|&(x, y)| laplacian(x, y) + problem.wave_number_squared * exact(x, y))
                    .collect();
                let u = problem.solve(&a);
                let total: f64 = u.iter().zip(&points).map(|(u, &(x, y))| (u - exact(x, y)).powi(2)).sum();
                (total / (size * size) as f64).sqrt()
            };
            for (coarse, fine) in [(32, 64), (64, 128), (128, 256)] {
                let refinement = (fine - 1) as f64 / (coarse - 1) as f64;
                let order = (error(coarse) / error(fine)).ln() / refinement.ln();
                assert!((order - 2.0).abs() < 0.1, "order {order} from {coarse} to {fine}");
            }
        }
    }

    /// The closed-form values of the data specification, section 3.
    #[test]
    fn exact_deviations_are_the_published_ones() {
        let PerChannel { a, u } = Elliptic::poisson(128).exact_deviations();
        assert!((a - 0.2920775).abs() < 5e-8, "{a}");
        assert!((u - 0.00417632).abs() < 5e-9, "{u}");
        let PerChannel { a, u } = Elliptic::helmholtz(128).exact_deviations();
        assert!((a - 0.2845923).abs() < 5e-8, "{a}");
        assert!((u - 0.00428168).abs() < 5e-9, "{u}");
    }

    #[test]
    fn only_helmholtz_clears_the_edge_of_its_source() {
        let edge_energy = |problem: &Elliptic| {
            let record = problem.draw(&mut Coordinates::new("edge").stream()).unwrap();
            record.fields.a[..32].iter().map(|x| x * x).sum::<f64>()
        };
        let [poisson, helmholtz] = both(32);
        assert!(edge_energy(&poisson) > 0.0);
        assert_eq!(edge_energy(&helmholtz), 0.0);
    }
}

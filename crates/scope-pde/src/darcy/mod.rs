//! Darcy flow: -div(a grad u) = 1 on the unit square, u = 0 on its edge, a = 12 where a Gaussian field is
//! non-negative and 3 elsewhere.
//!
//! As in the released data, a lives on cell centres (i + 1/2)/S while the [`Scheme`] lives on nodes
//! i/(S-1); a spline carries a to the nodes and another carries the pressure back. The first overshoots at
//! the jumps of a, so nodal coefficients can be negative; the iterative solver is one that does not mind.

mod descriptor;
mod scheme;
mod spline;

pub use descriptor::DARCY;
pub use scheme::Scheme;
use spline::spline_matrix;

use crate::{
    Fields, Problem, Record,
    error::PdeError,
    linear::{SeparableSolver, matrix, minres},
    random::{NeumannField, Stream},
};

/// The permeability where the Gaussian field is non-negative.
pub const HIGH: f64 = 12.0;
/// The permeability where it is negative.
pub const LOW: f64 = 3.0;

/// The relative residual at which a pressure counts as solved.
const TOLERANCE: f64 = 1e-10;
const MAX_ITERATIONS: usize = 2000;

/// The Darcy problem.
#[derive(Clone, Debug)]
pub struct Darcy {
    size: usize,
    field: NeumannField,
    /// \[S, S\]: cell centres to nodes.
    to_nodes: Vec<f64>,
    /// \[S, S\]: nodes to cell centres.
    to_centres: Vec<f64>,
    /// Lap_h on the interior nodes, the preconditioner.
    laplacian: SeparableSolver,
}

impl Darcy {
    /// Plans the problem on `size` x `size` cells.
    pub fn new(size: usize) -> Self {
        let cell = 1.0 / size as f64;
        let node = 1.0 / (size - 1) as f64;
        let centres: Vec<f64> = (0..size).map(|i| (i as f64 + 0.5) * cell).collect();
        let nodes: Vec<f64> = (0..size).map(|i| i as f64 * node).collect();
        Self {
            size,
            field: NeumannField::new(size),
            to_nodes: spline_matrix(size, 0.5 * cell, cell, &nodes),
            to_centres: spline_matrix(size, 0.0, node, &centres),
            laplacian: SeparableSolver::dirichlet(size - 2, node, 0.0),
        }
    }

    /// The pressure at cell centres for a permeability at cell centres.
    pub fn solve(&self, a: &[f64]) -> Result<Vec<f64>, PdeError> {
        let nodes = matrix::along_both_axes(&self.to_nodes, a, self.size);
        let inner = self.size - 2;
        let solved = self.solve_scheme(&Scheme::new(&nodes, self.size), &vec![1.0; inner * inner])?;
        let pressure = matrix::with_zero_edge(&solved, self.size);
        Ok(matrix::along_both_axes(&self.to_centres, &pressure, self.size))
    }

    /// Solves A u = f on the interior nodes.
    pub(crate) fn solve_scheme(&self, scheme: &Scheme, f: &[f64]) -> Result<Vec<f64>, PdeError> {
        let mut scratch = vec![0.0; f.len()];
        let precondition = |r: &[f64], out: &mut [f64]| {
            // The solution of -Lap_h: signs change nothing of what is rounded.
            out.iter_mut().zip(r).for_each(|(out, r)| *out = -r);
            self.laplacian.solve(out, &mut scratch);
        };
        let (u, outcome) = minres(f, TOLERANCE, MAX_ITERATIONS, |x, out| scheme.apply(x, out), precondition);
        if outcome.residual > TOLERANCE {
            return Err(PdeError::NotConverged {
                solver: "the Darcy solver",
                iterations: outcome.iterations,
                residual: outcome.residual,
                tolerance: TOLERANCE,
            });
        }
        Ok(u)
    }
}

impl Problem for Darcy {
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError> {
        let mut a = self.field.draw(stream);
        a.iter_mut().for_each(|x| *x = if *x >= 0.0 { HIGH } else { LOW });
        let u = self.solve(&a)?;
        Ok(Record { fields: Fields { a, u }, disk: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{elliptic::Elliptic, random::Coordinates};
    use std::f64::consts::PI;

    fn record(index: u64) -> Record {
        Darcy::new(128).draw(&mut Coordinates::new("test").number(index).stream()).unwrap()
    }

    fn relative(x: &[f64], y: &[f64]) -> f64 {
        let difference: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
        (difference / y.iter().map(|y| y * y).sum::<f64>()).sqrt()
    }

    #[test]
    fn permeability_takes_two_values_and_pressure_is_positive_inside() {
        let record = record(0);
        assert!(record.fields.a.iter().all(|a| *a == HIGH || *a == LOW));
        let middle = &record.fields.u[64 * 128 + 32..64 * 128 + 96];
        assert!(middle.iter().all(|u| *u > 0.0 && *u < 0.03));
    }

    #[test]
    fn pressures_satisfy_the_scheme() {
        let darcy = Darcy::new(128);
        for index in 0..3 {
            let nodes = matrix::along_both_axes(&darcy.to_nodes, &record(index).fields.a, 128);
            let scheme = Scheme::new(&nodes, 128);
            let ones = vec![1.0; scheme.inner() * scheme.inner()];
            let u = darcy.solve_scheme(&scheme, &ones).unwrap();
            let mut image = vec![0.0; u.len()];
            scheme.apply(&u, &mut image);
            assert!(relative(&image, &ones) < 1e-9);
        }
    }

    /// -div(1 grad u) = f is Poisson with the other sign.
    #[test]
    fn constant_permeability_is_poisson() {
        let size = 64;
        let darcy = Darcy::new(size);
        let inner = size - 2;
        let source: Vec<f64> = (0..size * size).map(|k| ((k * 37) % 101) as f64 / 50.0 - 1.0).collect();
        let f: Vec<f64> =
            (0..inner * inner).map(|k| source[(k / inner + 1) * size + k % inner + 1]).collect();
        let u = darcy.solve_scheme(&Scheme::new(&vec![1.0; size * size], size), &f).unwrap();
        let poisson = Elliptic::poisson(size).solve(&source);
        let expected: Vec<f64> =
            (0..inner * inner).map(|k| -poisson[(k / inner + 1) * size + k % inner + 1]).collect();
        assert!(relative(&u, &expected) < 1e-10);
    }

    /// u = sin(pi x) sin(2 pi y), a = 2 + sin(2 pi x) cos(pi y), f = -div(a grad u).
    #[test]
    fn manufactured_solution_converges_with_order_two() {
        let error = |size: usize| {
            let inner = size - 2;
            let at = |k: usize| k as f64 / (size - 1) as f64;
            let a = |x: f64, y: f64| 2.0 + (2.0 * PI * x).sin() * (PI * y).cos();
            let exact = |x: f64, y: f64| (PI * x).sin() * (2.0 * PI * y).sin();
            let f = |x: f64, y: f64| {
                let a_x = 2.0 * PI * (2.0 * PI * x).cos() * (PI * y).cos();
                let a_y = -PI * (2.0 * PI * x).sin() * (PI * y).sin();
                let u_x = PI * (PI * x).cos() * (2.0 * PI * y).sin();
                let u_y = 2.0 * PI * (PI * x).sin() * (2.0 * PI * y).cos();
                5.0 * PI * PI * a(x, y) * exact(x, y) - a_x * u_x - a_y * u_y
            };
            let nodes: Vec<f64> = (0..size * size).map(|k| a(at(k / size), at(k % size))).collect();
            let point = |k: usize| (at(k / inner + 1), at(k % inner + 1));
            let right: Vec<f64> = (0..inner * inner).map(|k| f(point(k).0, point(k).1)).collect();
            let wanted: Vec<f64> = (0..inner * inner).map(|k| exact(point(k).0, point(k).1)).collect();
            let u = Darcy::new(size).solve_scheme(&Scheme::new(&nodes, size), &right).unwrap();
            relative(&u, &wanted)
        };
        for (coarse, fine) in [(32, 64), (64, 128)] {
            let refinement = (fine - 1) as f64 / (coarse - 1) as f64;
            let order = (error(coarse) / error(fine)).ln() / refinement.ln();
            assert!((order - 2.0).abs() < 0.1, "order {order} from {coarse} to {fine}");
        }
    }

    /// Coefficients negative enough to make the operator indefinite, where a Cholesky factor would not
    /// exist.
    #[test]
    fn an_indefinite_operator_is_solved_too() {
        let size = 32;
        let darcy = Darcy::new(size);
        let mut nodes = vec![1.0; size * size];
        for i in 10..14 {
            for j in 12..17 {
                nodes[i * size + j] = -3.0;
            }
        }
        let scheme = Scheme::new(&nodes, size);
        let inner = scheme.inner();
        let ones = vec![1.0; inner * inner];
        let u = darcy.solve_scheme(&scheme, &ones).unwrap();
        let mut image = vec![0.0; u.len()];
        scheme.apply(&u, &mut image);
        assert!(relative(&image, &ones) < 1e-9);
        // A spike on a negative node has negative energy: the operator is indeed indefinite.
        let mut spike = vec![0.0; inner * inner];
        spike[11 * inner + 13] = 1.0;
        scheme.apply(&spike, &mut image);
        assert!(image[11 * inner + 13] < 0.0);
    }
}

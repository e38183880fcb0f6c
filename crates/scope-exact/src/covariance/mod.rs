//! The covariance C of the latent field: two points by table, whole fields by transforms.

mod periodic;
mod reflected;

use scope_pde::{elliptic::Elliptic, navier_stokes::NavierStokes};

use periodic::Periodic;
use reflected::Reflected;

/// The covariance of one of the two random fields.
pub(crate) enum Covariance {
    /// The covariance of the source of Poisson and Helmholtz.
    Reflected(Reflected),
    /// The covariance of the initial vorticity.
    Periodic(Periodic),
}

impl Covariance {
    pub(crate) fn of_source(problem: &Elliptic) -> Self {
        Covariance::Reflected(Reflected::new(problem.source()))
    }

    pub(crate) fn of_vorticity(problem: &NavierStokes, size: usize) -> Self {
        Covariance::Periodic(Periodic::new(problem.initial(), size))
    }

    /// The covariance C(p, q) of two points.
    pub(crate) fn between(&self, p: usize, q: usize) -> f64 {
        match self {
            Covariance::Reflected(table) => table.between(p, q),
            Covariance::Periodic(table) => table.between(p, q),
        }
    }

    /// C(p, .) into \[S, S\].
    pub(crate) fn row(&self, p: usize, out: &mut [f64]) {
        match self {
            Covariance::Reflected(table) => table.row(p, out),
            Covariance::Periodic(table) => table.row(p, out),
        }
    }

    /// C times a field \[S, S\].
    pub(crate) fn apply(&self, field: Vec<f64>) -> Vec<f64> {
        match self {
            Covariance::Reflected(table) => table.filter(field, |variance| variance),
            Covariance::Periodic(table) => table.filter(field, |variance| variance),
        }
    }

    /// C^(1/2) times a field \[S, S\].
    pub(crate) fn apply_root(&self, field: Vec<f64>) -> Vec<f64> {
        match self {
            Covariance::Reflected(table) => table.filter(field, f64::sqrt),
            Covariance::Periodic(table) => table.filter(field, f64::sqrt),
        }
    }
}

#[cfg(test)]
mod tests {
    use scope_pde::random::{NeumannField, PeriodicField};

    use super::*;

    const SIZE: usize = 16;

    #[test]
    fn the_table_the_row_and_the_transforms_agree() {
        let reflected = Covariance::Reflected(Reflected::new(&NeumannField::new(SIZE)));
        let periodic = Covariance::Periodic(Periodic::new(&PeriodicField::new(SIZE), SIZE));
        for covariance in [reflected, periodic] {
            for p in [0, 5, 7 * SIZE + 3, SIZE * SIZE - 1] {
                let mut delta = vec![0.0; SIZE * SIZE];
                delta[p] = 1.0;
                let applied = covariance.apply(delta);
                let mut row = vec![0.0; SIZE * SIZE];
                covariance.row(p, &mut row);
                for q in 0..SIZE * SIZE {
                    assert!((applied[q] - row[q]).abs() < 1e-14);
                    assert!((covariance.between(p, q) - row[q]).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn the_variance_of_a_periodic_field_is_the_one_it_states() {
        let field = PeriodicField::new(SIZE);
        assert!((Periodic::new(&field, SIZE).between(9, 9) - field.variance()).abs() < 1e-14);
    }
}

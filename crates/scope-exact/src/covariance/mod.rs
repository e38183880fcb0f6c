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

//! The five-point scheme of -div(a grad u) = f on the interior nodes, u = 0 on the edge.
//!
//! (A u)_ij = h^-2 sum over the four faces of a_face (u_ij - u_neighbour), h = 1/(S-1), a_face the
//! arithmetic mean of the two nodal values. Nodal values come from a spline that overshoots, so a face may
//! carry a negative coefficient: A is symmetric, and nearly always but not surely definite.

use multiversion::multiversion;

/// The operator A for one permeability.
#[derive(Clone, Debug)]
pub struct Scheme {
    inner: usize,
    /// \[inner + 1, inner\]: coefficients of the faces crossed along axis 0, times h^-2.
    down: Vec<f64>,
    /// \[inner, inner + 1\]: coefficients of the faces crossed along axis 1, times h^-2.
    across: Vec<f64>,
}

impl Scheme {
    /// The scheme for nodal permeabilities \[S, S\].
    pub fn new(nodes: &[f64], size: usize) -> Self {
        assert_eq!(nodes.len(), size * size, "a square field of nodes");
        let inner = size - 2;
        let scale = 0.5 * ((size - 1) * (size - 1)) as f64;
        let mut down = Vec::with_capacity((inner + 1) * inner);
        for i in 0..=inner {
            for j in 1..=inner {
                down.push(scale * (nodes[i * size + j] + nodes[(i + 1) * size + j]));
            }
        }
        let mut across = Vec::with_capacity(inner * (inner + 1));
        for i in 1..=inner {
            for j in 0..=inner {
                across.push(scale * (nodes[i * size + j] + nodes[i * size + j + 1]));
            }
        }
        Self { inner, down, across }
    }

    /// The number of interior nodes along each axis.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// out = A x, both \[inner, inner\].
    pub(crate) fn apply(&self, x: &[f64], out: &mut [f64]) {
        apply(self.inner, &self.down, &self.across, x, out);
    }
}

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn apply(n: usize, down: &[f64], across: &[f64], x: &[f64], out: &mut [f64]) {
    let zeros = &vec![0.0; n][..];
    for i in 0..n {
        let row = &x[i * n..][..n];
        let out = &mut out[i * n..][..n];
        let above = &down[i * n..][..n];
        let below = &down[(i + 1) * n..][..n];
        let faces = &across[i * (n + 1)..][..n + 1];
        // Beyond the edge is zero.
        let upper = if i > 0 { &x[(i - 1) * n..][..n] } else { zeros };
        let lower = if i + 1 < n { &x[(i + 1) * n..][..n] } else { zeros };
        let along = |j: usize| {
            let here = (above[j] + below[j] + faces[j] + faces[j + 1]) * row[j];
            here - above[j] * upper[j] - below[j] * lower[j]
        };
        out[0] = along(0) - faces[1] * row[1];
        for j in 1..n - 1 {
            out[j] = along(j) - faces[j] * row[j - 1] - faces[j + 1] * row[j + 1];
        }
        out[n - 1] = along(n - 1) - faces[n - 1] * row[n - 2];
    }
}

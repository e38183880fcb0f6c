//! Vectors and small dense matrices.

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(crate) fn minus(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

pub(crate) fn plus(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

/// |x - y|^2.
pub(crate) fn apart(x: &[f64], y: &[f64]) -> f64 {
    dot(&minus(x, y), &minus(x, y))
}

/// A matrix, row after row.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: Vec<f64>,
}

impl Matrix {
    pub(crate) fn new(columns: usize, entries: Vec<f64>) -> Self {
        Self { rows: entries.len() / columns, columns, entries }
    }

    pub(crate) fn diagonal(values: &[f64]) -> Self {
        let n = values.len();
        let entry = |k: usize| if k / n == k % n { values[k / n] } else { 0.0 };
        Self::new(n, (0..n * n).map(entry).collect())
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.columns + column]
    }

    /// A x.
    pub(crate) fn of(&self, x: &[f64]) -> Vec<f64> {
        self.entries.chunks(self.columns).map(|row| dot(row, x)).collect()
    }

    /// A B.
    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        let columns: Vec<Vec<f64>> = (0..other.columns).map(|k| self.of(&other.column(k))).collect();
        Matrix::new(
            columns.len(),
            (0..self.rows).flat_map(|row| columns.iter().map(move |c| c[row])).collect(),
        )
    }

    pub(crate) fn transposed(&self) -> Matrix {
        Matrix::new(self.rows, (0..self.columns).flat_map(|k| self.column(k)).collect())
    }

    /// A + factor B.
    pub(crate) fn plus(&self, factor: f64, other: &Matrix) -> Matrix {
        let entries = self.entries.iter().zip(&other.entries).map(|(x, y)| x + factor * y).collect();
        Matrix::new(self.columns, entries)
    }

    pub(crate) fn trace(&self) -> f64 {
        (0..self.rows).map(|k| self.at(k, k)).sum()
    }

    fn column(&self, column: usize) -> Vec<f64> {
        (0..self.rows).map(|row| self.at(row, column)).collect()
    }

    /// The matrix that undoes this one.
    pub(crate) fn inverse(&self) -> Matrix {
        let units = Matrix::diagonal(&vec![1.0; self.rows]);
        let columns = (0..self.rows).flat_map(|k| self.solve(&units.column(k)));
        Matrix::new(self.rows, columns.collect()).transposed()
    }

    /// x with A x = b, by elimination with pivots.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.rows;
        let mut rows: Vec<Vec<f64>> =
            (0..n).map(|k| [&self.entries[k * n..][..n], &[b[k]]].concat()).collect();
        for k in 0..n {
            let pivot = (k..n).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs())).unwrap();
            rows.swap(k, pivot);
            assert!(rows[k][k].abs() > 1e-13, "a singular matrix");
            let own = rows[k].clone();
            for row in &mut rows[k + 1..] {
                let factor = row[k] / own[k];
                row.iter_mut().zip(&own).for_each(|(x, y)| *x -= factor * y);
            }
        }
        let mut x = vec![0.0; n];
        for k in (0..n).rev() {
            x[k] = (rows[k][n] - dot(&rows[k][k + 1..n], &x[k + 1..])) / rows[k][k];
        }
        x
    }
}

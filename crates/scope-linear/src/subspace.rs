//! Where records vary most: a randomised subspace iteration over records that are read some at a time.
//!
//! With X \[N, length\] the records less their mean, Y = X^T R for random R \[N, width\] spans most of where they vary,
//! and each Q <- orthonormal columns of X^T (X Q) more of it (Halko, Martinsson and Tropp, 2011). Memory does not
//! depend on the number of records.

use std::ops::Range;

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use scope_pde::{
    linear::{
        eigen::{Eigen, symmetric_eigen},
        matrix::{View, ViewMut, add_product},
    },
    random::Coordinates,
};

use crate::{
    error::LinearError,
    fit::{FitProgress, FitStage},
    orthonormal::orthonormalise,
    product::{add_transposed_product, product},
    records::{Records, for_each_block},
};

/// Passes over the records after the first. Two find all but the last few of a hundred modes as well as an exact
/// decomposition does.
pub(crate) const PASSES: usize = 2;

/// The seed of the random directions.
const SEED: u64 = 20_261_118;

/// Directions in which records vary most, largest first.
pub(crate) struct Modes {
    /// \[length, count\]: orthonormal columns.
    pub(crate) directions: Vec<f32>,
    /// The mean squares of the records along them.
    pub(crate) variances: Vec<f64>,
}

/// The first `count` of them, or fewer where records vary in fewer.
pub(crate) fn modes(
    records: &dyn Records,
    range: Range<usize>,
    mean: &[f32],
    count: usize,
    progress: &FitProgress,
) -> Result<Modes, LinearError> {
    let length = records.record_length();
    let most = length.min(range.len() - 1);
    let mut width = (count + count / 8 + 8).min(most);
    let centred = Centred { records, range, mean, progress };
    let mut basis = centred.sketch(width)?;
    progress.tell(FitStage::Orthonormalise, 0, PASSES + 1)?;
    width = orthonormalise(&mut basis, width, 1);
    for pass in 0..PASSES {
        require_variation(width)?;
        basis = centred.image(&basis, width, pass)?;
        progress.tell(FitStage::Orthonormalise, pass + 1, PASSES + 1)?;
        // What is spanned is all that the next pass asks for; the modes themselves are to be orthonormal.
        width = orthonormalise(&mut basis, width, if pass + 1 < PASSES { 1 } else { 2 });
    }
    let covariance = centred.covariance(&basis, width)?;
    progress.tell(FitStage::Modes, 0, 1)?;
    let Eigen { values, vectors } = symmetric_eigen(&covariance, width);
    // Directions of no variance at all have none to offer.
    let count = values.iter().take(count).filter(|value| **value > 0.0).count();
    require_variation(count)?;
    let turn: Vec<f32> =
        (0..width).flat_map(|row| vectors[..count].iter().map(move |vector| vector[row] as f32)).collect();
    Ok(Modes { directions: product(&basis, width, &turn, count), variances: values[..count].to_vec() })
}

/// Refuses records that do not vary in any direction.
fn require_variation(directions: usize) -> Result<(), LinearError> {
    if directions > 0 { Ok(()) } else { Err(LinearError::Constant) }
}

/// X: the records of a range less their mean, which are read block by block.
struct Centred<'a> {
    records: &'a dyn Records,
    range: Range<usize>,
    mean: &'a [f32],
    progress: &'a FitProgress<'a>,
}

impl Centred<'_> {
    fn length(&self) -> usize {
        self.records.record_length()
    }

    /// Calls `take` with the first record's number and the values of every block. This is pass `pass` of so many of a
    /// stage.
    fn for_each_block(
        &self,
        (stage, pass, passes): (FitStage, usize, usize),
        mut take: impl FnMut(usize, &[f32]),
    ) -> Result<(), LinearError> {
        let total = self.range.len();
        let mut take_and_tell = |first: usize, block: &[f32]| {
            take(first, block);
            let done = first - self.range.start + block.len() / self.length();
            self.progress.go_on(stage, pass * total + done, passes * total)
        };
        let range = self.range.clone();
        let went_on = for_each_block(self.records, range, self.mean, &mut take_and_tell)?;
        Ok(self.progress.require(went_on)?)
    }

    /// X^T R for random R, each record's row from a stream of its own.
    fn sketch(&self, width: usize) -> Result<Vec<f32>, LinearError> {
        let mut y = vec![0.0; self.length() * width];
        self.for_each_block((FitStage::Sketch, 0, 1), |first, block| {
            let random = |record: usize| -> Vec<f32> {
                let coordinates = Coordinates::new("linear-fit").number(SEED).number(record as u64);
                coordinates.stream().sample_iter(StandardNormal).take(width).collect()
            };
            let count = block.len() / self.length();
            let t: Vec<f32> = (first..first + count).into_par_iter().flat_map_iter(random).collect();
            add_transposed_product(block, self.length(), &t, width, &mut y);
        })?;
        Ok(y)
    }

    /// X^T X Q: what the records' covariance makes of a basis.
    fn image(&self, basis: &[f32], width: usize, pass: usize) -> Result<Vec<f32>, LinearError> {
        let mut y = vec![0.0; self.length() * width];
        self.for_each_block((FitStage::Pass, pass, PASSES), |_, block| {
            let t = product(block, self.length(), basis, width);
            add_transposed_product(block, self.length(), &t, width, &mut y);
        })?;
        Ok(y)
    }

    /// \[width, width\]: Q^T X^T X Q / N in double precision.
    fn covariance(&self, basis: &[f32], width: usize) -> Result<Vec<f64>, LinearError> {
        let mut sums = vec![0.0; width * width];
        self.for_each_block((FitStage::Variances, 0, 1), |_, block| {
            let t: Vec<f64> =
                product(block, self.length(), basis, width).into_iter().map(f64::from).collect();
            let n = block.len() / self.length();
            sums.par_chunks_mut(64 * width).enumerate().for_each(|(strip, sums)| {
                let rows = sums.len() / width;
                let left =
                    View { data: &t[strip * 64..], rows, columns: n, row_stride: 1, column_stride: width };
                add_product(left, View::new(&t, n, width), ViewMut { data: sums, row_stride: width });
            });
        })?;
        sums.iter_mut().for_each(|sum| *sum /= self.range.len() as f64);
        Ok(sums)
    }
}

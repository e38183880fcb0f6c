//! Where records vary most: a randomised subspace iteration over records that are read some at a time.
//!
//! With X \[N, length\] the records less their mean, Y = X^T R for random R \[N, width\] spans most of where they vary, and each Q <-
//! orthonormal columns of X^T (X Q) more of it (Halko, Martinsson and Tropp, 2011). Memory does not depend on the number of records.

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

/// Passes over the records after the first. Two find all but the last few of a hundred modes as well as an exact decomposition does.
pub(crate) const PASSES: usize = 2;

/// Of the random directions.
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
    let mut basis = sketch(records, range.clone(), mean, width, progress)?;
    progress.tell(FitStage::Orthonormalise, 0, PASSES + 1)?;
    width = orthonormalise(&mut basis, width, 1);
    for pass in 0..PASSES {
        require_variation(width)?;
        basis = image(records, range.clone(), mean, &basis, width, pass, progress)?;
        progress.tell(FitStage::Orthonormalise, pass + 1, PASSES + 1)?;
        // What is spanned is all that the next pass asks for; the modes themselves are to be orthonormal.
        width = orthonormalise(&mut basis, width, if pass + 1 < PASSES { 1 } else { 2 });
    }
    let covariance = covariance(records, range, mean, &basis, width, progress)?;
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

/// X^T R for random R, each record's row from a stream of its own.
fn sketch(
    records: &dyn Records,
    range: Range<usize>,
    mean: &[f32],
    width: usize,
    progress: &FitProgress,
) -> Result<Vec<f32>, LinearError> {
    let length = records.record_length();
    let mut y = vec![0.0; length * width];
    let total = range.len();
    let first_record = range.start;
    let mut take = |first: usize, block: &[f32]| {
        let random = |record: usize| -> Vec<f32> {
            let coordinates = Coordinates::new("linear-fit").number(SEED).number(record as u64);
            coordinates.stream().sample_iter(StandardNormal).take(width).collect()
        };
        let count = block.len() / length;
        let t: Vec<f32> = (first..first + count).into_par_iter().flat_map_iter(random).collect();
        add_transposed_product(block, length, &t, width, &mut y);
        progress.go_on(FitStage::Sketch, first - first_record + count, total)
    };
    progress.require(for_each_block(records, range, mean, &mut take)?)?;
    Ok(y)
}

/// X^T X Q.
fn image(
    records: &dyn Records,
    range: Range<usize>,
    mean: &[f32],
    basis: &[f32],
    width: usize,
    pass: usize,
    progress: &FitProgress,
) -> Result<Vec<f32>, LinearError> {
    let length = records.record_length();
    let mut y = vec![0.0; length * width];
    let total = range.len();
    let first_record = range.start;
    let mut take = |first: usize, block: &[f32]| {
        let t = product(block, length, basis, width);
        add_transposed_product(block, length, &t, width, &mut y);
        let done = first - first_record + block.len() / length;
        progress.go_on(FitStage::Pass, pass * total + done, PASSES * total)
    };
    progress.require(for_each_block(records, range, mean, &mut take)?)?;
    Ok(y)
}

/// \[width, width\]: Q^T X^T X Q / N in double precision.
fn covariance(
    records: &dyn Records,
    range: Range<usize>,
    mean: &[f32],
    basis: &[f32],
    width: usize,
    progress: &FitProgress,
) -> Result<Vec<f64>, LinearError> {
    let length = records.record_length();
    let total = range.len();
    let first_record = range.start;
    let mut sums = vec![0.0; width * width];
    let mut take = |first: usize, block: &[f32]| {
        let t: Vec<f64> = product(block, length, basis, width).into_iter().map(f64::from).collect();
        let n = block.len() / length;
        sums.par_chunks_mut(64 * width).enumerate().for_each(|(strip, sums)| {
            let rows = sums.len() / width;
            let left = View { data: &t[strip * 64..], rows, columns: n, row_stride: 1, column_stride: width };
            add_product(left, View::new(&t, n, width), ViewMut { data: sums, row_stride: width });
        });
        progress.go_on(FitStage::Variances, first - first_record + n, total)
    };
    progress.require(for_each_block(records, range, mean, &mut take)?)?;
    sums.iter_mut().for_each(|sum| *sum /= total as f64);
    Ok(sums)
}

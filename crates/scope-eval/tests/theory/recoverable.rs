//! Directions of the latent that an observation determines: the kernel of E[C] (paper, "Conditional Error and
//! Recoverable Statistics").

use proptest::prelude::*;
use scope_pde::linear::eigen::{Eigen, symmetric_eigen};

use crate::theory::{
    arithmetic::{Matrix, apart, dot},
    assert_at_most, assert_close,
    law::{Law, laws},
    search::minimise_quadratic,
};

/// Eigenvalues below this are zero.
const ZERO: f64 = 1e-10;

/// The least E |v^T Z - q|^2 over all q that know the observation only.
fn least_error(law: &Law, v: &[f64], names: usize) -> f64 {
    // Unobserved names have no part in the risk; a little of their own keeps the equations regular.
    let unused = |q: &[f64]| -> f64 {
        (0..names).filter(|name| law.0.iter().all(|o| o.seen != *name)).map(|name| q[name].powi(2)).sum()
    };
    let risk = |q: &[f64]| law.mean(|outcome| (dot(v, &outcome.z) - q[outcome.seen]).powi(2));
    risk(&minimise_quadratic(names, |q| risk(q) + unused(q)))
}

/// Replaces z by three numbers that the observation determines in some directions only: z = Q (known, unknown), the
/// first `known` coordinates being a function of what is seen.
fn partly_known(law: &Law, known: usize, mix: &Matrix) -> Law {
    let mut law = law.clone();
    for outcome in &mut law.0 {
        for (k, z) in outcome.z.iter_mut().enumerate().take(known) {
            *z = ((1 + outcome.seen) * (k + 2)) as f64 * 0.3 - 1.0;
        }
        outcome.z = mix.of(&outcome.z);
    }
    law
}

/// Matrices that are well away from singular.
fn mixes() -> impl Strategy<Value = Matrix> {
    crate::theory::law::matrices(3, 3).prop_map(|m| m.plus(5.0, &Matrix::diagonal(&[1.0; 3])))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_directions_least_error_is_its_part_of_the_expected_covariance(
        law in laws(9, 0, 3, 3), v in prop::collection::vec(-2.0..2.0, 3)
    ) {
        assert_close(least_error(&law, &v, 3), dot(&v, &law.expected_covariance().of(&v)));
    }

    #[test]
    fn the_kernel_is_what_the_observation_determines(law in laws(12, 0, 3, 1), known in 0_usize..4, mix in mixes()) {
        // Six outcomes an observation: enough to make every unknown direction uncertain.
        let mut law = law;
        (0..).zip(&mut law.0).for_each(|(k, outcome)| outcome.seen = k % 2);
        let law = partly_known(&law, known, &mix);
        let Eigen { values, vectors } = symmetric_eigen(&law.expected_covariance().entries, 3);
        let kernel: Vec<&Vec<f64>> =
            values.iter().zip(&vectors).filter(|(value, _)| **value < ZERO).map(|(_, v)| v).collect();
        prop_assert_eq!(kernel.len(), known);
        for v in &kernel {
            let constant = law.conditional(|outcome| vec![dot(v, &outcome.z)]);
            for outcome in &law.0 {
                assert_close(dot(v, &outcome.z), constant[&outcome.seen][0]);
            }
        }
        // The first rows of Q^-1 give the known coordinates back.
        for row in mix.inverse().entries.chunks(3).take(known) {
            assert_close(dot(row, &law.expected_covariance().of(row)), 0.0);
        }
        // Outside the kernel every direction keeps an error.
        for (value, v) in values.iter().zip(&vectors).filter(|(value, _)| **value >= ZERO) {
            assert_close(least_error(&law, v, 3), *value);
        }
    }

    #[test]
    fn recoverable_directions_are_bounded_by_the_whole_error(
        law in laws(12, 0, 3, 1), mix in mixes(), f in prop::collection::vec(-2.0..2.0, 6)
    ) {
        // E |v^T f - v^T Z|^2 <= |v|^2 E |f - mu|^2 for a direction that the observation determines; others add their
        // uncertainty.
        let mut law = law;
        (0..).zip(&mut law.0).for_each(|(k, outcome)| outcome.seen = k % 2);
        let law = partly_known(&law, 2, &mix);
        let mu = law.conditional(|outcome| outcome.z.clone());
        let prediction = |seen: usize| &f[3 * seen..][..3];
        let excess = law.mean(|o| apart(prediction(o.seen), &mu[&o.seen]));
        let inverse = mix.inverse();
        let error = |v: &[f64]| law.mean(|o| (dot(v, prediction(o.seen)) - dot(v, &o.z)).powi(2));
        for (k, v) in inverse.entries.chunks(3).enumerate() {
            let uncertain = dot(v, &law.expected_covariance().of(v));
            if k < 2 {
                assert_at_most(error(v), dot(v, v) * excess);
            }
            assert_at_most(error(v), dot(v, v) * excess + uncertain);
        }
    }

    #[test]
    fn two_views_share_the_kernel_of_the_sum(law in laws(12, 0, 3, 2), mix in mixes()) {
        // The first coordinate is known from both views, the second from one of them, the third from none.
        let mut law = law;
        for (k, outcome) in law.0.iter_mut().enumerate() {
            outcome.z[0] = if k < 6 { -1.0 } else { 1.0 };
            outcome.z[1] = (k / 3) as f64;
            outcome.z = mix.of(&outcome.z);
        }
        let places: Vec<Vec<f64>> = law.0.iter().map(|outcome| outcome.z.clone()).collect();
        let place = |z: &[f64]| places.iter().position(|other| apart(other, z) == 0.0).unwrap();
        let fine = law.seen_as(|outcome| place(&outcome.z) / 3);
        let coarse = law.seen_as(|outcome| place(&outcome.z) / 6);
        let sum = fine.expected_covariance().plus(1.0, &coarse.expected_covariance());
        let Eigen { values, vectors } = symmetric_eigen(&sum.entries, 3);
        prop_assert!(values[1] > ZERO && values[2].abs() < ZERO, "{values:?}");
        for view in [&fine, &coarse] {
            assert_close(least_error(view, &vectors[2], 4), 0.0);
        }
    }

    #[test]
    fn a_masks_projector_leaves_the_trace_of_its_part(law in laws(9, 0, 3, 3)) {
        // Observation k selects the coordinates other than k. The least risk is found coordinate by coordinate.
        let selected = |seen: usize, k: usize| f64::from(u8::from(seen != k));
        let risk = |q: &[f64]| {
            law.mean(|o| (0..3).map(|k| (selected(o.seen, k) * o.z[k] - q[3 * o.seen + k]).powi(2)).sum())
        };
        let missing = |q: &[f64]| -> f64 {
            (0..3).filter(|n| law.0.iter().all(|o| o.seen != *n)).map(|n| dot(&q[3 * n..][..3], &q[3 * n..][..3])).sum()
        };
        let best = minimise_quadratic(9, |q| risk(q) + missing(q));
        let trace = law.given().into_iter().map(|(seen, part)| {
            let covariance = part.expected_covariance();
            let weight = law.mean(|outcome| f64::from(u8::from(outcome.seen == seen)));
            weight * (0..3).map(|k| selected(seen, k) * covariance.at(k, k)).sum::<f64>()
        });
        assert_close(risk(&best), trace.sum());
    }
}

/// Equal predictions do not make a direction recoverable: an unseen fair coin is predicted as zero by everyone.
#[test]
fn agreement_is_not_recovery() {
    let law = Law([-1.0, 1.0]
        .into_iter()
        .flat_map(|z| [0, 1].map(|seen| crate::theory::law::Outcome { p: 0.25, x: vec![], z: vec![z], seen }))
        .collect());
    let mean = law.conditional(|outcome| outcome.z.clone());
    assert_eq!((mean[&0][0], mean[&1][0]), (0.0, 0.0));
    assert_eq!(law.expected_covariance().entries, [1.0]);
}

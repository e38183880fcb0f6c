//! The sparse elliptic illustration: two nodes, L u = a, one of them observed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{Matrix, dot},
    assert_close,
    law::{Law, Outcome},
    weighting::{Metric, Problem},
};

/// Which node is observed (M) and its value V, as a name; and back.
fn name(mask: usize, value: f64) -> usize {
    2 * mask + usize::from(value > 0.0)
}

fn mask_and_value(seen: usize) -> [f64; 2] {
    [(seen / 2) as f64, if seen % 2 == 1 { 1.0 } else { -1.0 }]
}

/// The illustration with features of M and V.
pub(crate) fn illustration(alpha: f64, beta: f64, features: impl Fn(f64, f64) -> Vec<f64>) -> Problem {
    let k = Matrix::new(2, vec![2.0, -1.0, -1.0, 2.0]).inverse();
    let half = 0.5_f64.sqrt();
    let o = Matrix::new(2, vec![half, half, half, -half]);
    let mut outcomes = Vec::new();
    for mask in [0, 1] {
        for s in [-1.0, 1.0] {
            for t in [-1.0, 1.0] {
                let a = [s, t];
                let x = [a.to_vec(), k.of(&a)].concat();
                outcomes.push(Outcome { p: 0.125, x, z: o.of(&a), seen: name(mask, a[mask]) });
            }
        }
    }
    let lower = k.times(&o.transposed());
    let a = Matrix::new(2, [o.transposed().entries, lower.entries].concat());
    let seen = |seen: usize| {
        let [m, v] = mask_and_value(seen);
        (seen, features(m, v))
    };
    Problem { law: Law(outcomes), features: (0..4).map(seen).collect(), a, b: vec![0.0; 4], alpha, beta }
}

/// The paper's features (1, M, V).
pub(crate) fn without_interaction(alpha: f64, beta: f64) -> Problem {
    illustration(alpha, beta, |m, v| vec![1.0, m, v])
}

/// diag(3/2, 1/2) where the first node is seen, diag(1/2, 3/2) where the second is.
pub(crate) fn metric() -> Metric {
    let weights = |seen: usize| if seen / 2 == 0 { vec![1.5, 0.5] } else { vec![0.5, 1.5] };
    (0..4).map(|seen| (seen, weights(seen))).collect()
}

proptest! {
    #[test]
    fn minimisers_and_gap_are_those_of_the_paper(alpha in 0.05..20.0, beta in 0.05..20.0) {
        let problem = without_interaction(alpha, beta);
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric());
        for outcome in &problem.law.0 {
            let [_, v] = mask_and_value(outcome.seen);
            let half = 0.5_f64.sqrt();
            let second = -alpha * v * half / (2.0 * (alpha + 10.0 * beta / 9.0));
            for (w, expected) in [(&w0, [v * half, 0.0]), (&w, [v * half, second])] {
                let predicted = problem.predict(w, outcome);
                predicted.iter().zip(expected).for_each(|(found, expected)| assert_close(*found, expected));
            }
        }
        let gap = problem.field_risk(&w) - problem.field_risk(&w0);
        assert_close(gap, 45.0 * alpha * alpha / (4.0 * (9.0 * alpha + 10.0 * beta).powi(2)));
        prop_assert!(gap > 0.0);
    }

    #[test]
    fn the_interaction_of_mask_and_value_removes_the_gap(alpha in 0.05..20.0, beta in 0.05..20.0) {
        let problem = illustration(alpha, beta, |m, v| vec![1.0, m, v, m * v]);
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric());
        assert_close(problem.field_risk(&w), problem.field_risk(&w0));
    }
}

#[test]
fn its_parts_are_those_of_the_paper() {
    let problem = without_interaction(1.0, 1.0);
    let gram = problem.a.transposed().times(&problem.a);
    gram.entries
        .iter()
        .zip([2.0, 0.0, 0.0, 10.0 / 9.0])
        .for_each(|(found, expected)| assert_close(*found, expected));
    assert_close(problem.rho(), 0.0);
    let moment = problem.law.mean_vector(|outcome| {
        let phi = &problem.features[&outcome.seen];
        phi.iter().flat_map(|x| phi.iter().map(move |y| x * y)).collect()
    });
    let expected = [1.0, 0.5, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0];
    moment.iter().zip(expected).for_each(|(found, expected)| assert_close(*found, expected));
}

#[test]
fn the_weighted_normal_equations_are_those_of_the_paper() {
    let alpha = 0.7;
    let beta = 1.3;
    let problem = without_interaction(alpha, beta);
    // Only V has a part in the solution: the gradient of J in its coefficients, at W = 0 and along each of them.
    let half = 0.5_f64.sqrt();
    let objective = |x: f64, y: f64| problem.objective(&[0.0, 0.0, x, 0.0, 0.0, y], &metric());
    let slope = |x: f64, y: f64| {
        [objective(x + 1.0, y) - objective(x - 1.0, y), objective(x, y + 1.0) - objective(x, y - 1.0)]
    };
    let start = slope(0.0, 0.0);
    assert_close(-start[0] / 4.0, (alpha + 2.0 * beta) * half);
    assert_close(-start[1] / 4.0, -alpha * half / 2.0);
    let along_x = slope(1.0, 0.0);
    let along_y = slope(0.0, 1.0);
    assert_close((along_x[0] - start[0]) / 4.0, alpha + 2.0 * beta);
    assert_close((along_y[1] - start[1]) / 4.0, alpha + 10.0 * beta / 9.0);
    assert_close(along_x[1], start[1]);
    assert_close(along_y[0], start[0]);
}

#[test]
fn uncertain_coordinates_hide_a_direction_that_is_known() {
    let problem = without_interaction(1.0, 1.0);
    let parts = problem.law.given();
    for part in [&parts[&0], &parts[&1]] {
        // The first node is seen: each coordinate is uncertain, their sum is sqrt(2) s.
        let covariance = part.expected_covariance();
        let expected = [0.5, -0.5, -0.5, 0.5];
        covariance.entries.iter().zip(expected).for_each(|(found, expected)| assert_close(*found, expected));
        let direction = [0.5_f64.sqrt(); 2];
        assert_close(dot(&direction, &covariance.of(&direction)), 0.0);
    }
    let s: BTreeMap<usize, f64> = BTreeMap::from([(0, -1.0), (1, 1.0)]);
    for outcome in problem.law.0.iter().filter(|outcome| outcome.seen < 2) {
        assert_close((outcome.z[0] + outcome.z[1]) * 0.5_f64.sqrt(), s[&outcome.seen]);
    }
}

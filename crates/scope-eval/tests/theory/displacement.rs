//! What moves a fit under a mask-dependent metric (paper, "Approximation Residuals Drive the Displacement").

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{Matrix, minus},
    assert_close,
    law::{Law, Outcome, laws},
    weighting::{Metric, Problem, problems},
};

/// E[f phi^T], row after row.
fn moment(problem: &Problem, f: impl Fn(&Outcome) -> Vec<f64>) -> Vec<f64> {
    problem.law.mean_vector(|outcome| {
        let phi = &problem.features[&outcome.seen];
        f(outcome).iter().flat_map(|x| phi.iter().map(move |y| x * y)).collect()
    })
}

/// (Lambda - I) e.
fn reweighted(metric: &Metric, outcome: &Outcome, error: &[f64]) -> Vec<f64> {
    error.iter().zip(&metric[&outcome.seen]).map(|(e, weight)| (weight - 1.0) * e).collect()
}

#[track_caller]
fn assert_all_close(left: &[f64], right: &[f64]) {
    left.iter().zip(right).for_each(|(left, right)| assert_close(*left, *right));
}

/// Every outcome in two halves, with latents on either side of it, and fields that the decoder makes of them: the same
/// conditional means, and more uncertainty.
fn with_noise(problem: &Problem, noise: &[f64]) -> Problem {
    let half = |outcome: &Outcome, sign: f64| {
        let z: Vec<f64> = outcome.z.iter().zip(noise).map(|(z, noise)| z + sign * noise).collect();
        Outcome { p: 0.5 * outcome.p, x: problem.decode(&z), z, seen: outcome.seen }
    };
    let halves = problem.law.0.iter().flat_map(|outcome| [half(outcome, 1.0), half(outcome, -1.0)]);
    Problem { law: Law(halves.collect()), ..problem.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_displacement_solves_its_equation((problem, metric) in problems()) {
        // E[K Delta phi phi^T] = alpha E[(Lambda - I)(Z - W_0 phi) phi^T], K = beta A^T A + alpha Lambda.
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric);
        let step = minus(&w, &w0);
        let gram = problem.a.transposed().times(&problem.a);
        let left = moment(&problem, |outcome| {
            let moved = problem.predict(&step, outcome);
            let k = Matrix::diagonal(&metric[&outcome.seen].iter().map(|x| problem.alpha * x).collect::<Vec<_>>());
            k.plus(problem.beta, &gram).of(&moved)
        });
        let right = moment(&problem, |outcome| {
            let error = minus(&outcome.z, &problem.predict(&w0, outcome));
            reweighted(&metric, outcome, &error).iter().map(|x| problem.alpha * x).collect()
        });
        assert_all_close(&left, &right);
    }

    #[test]
    fn the_irreducible_residual_contributes_nothing((problem, metric) in problems(), noise in prop::collection::vec(-3.0..3.0, 2)) {
        let problem = problem.exactly_grounded();
        let mu = problem.law.conditional(|outcome| outcome.z.clone());
        let w0 = problem.minimiser(&problem.identity());
        // E[(Lambda - I)(Z - mu) phi^T] = 0, so the equation has mu in the place of Z.
        let residual =
            moment(&problem, |outcome| reweighted(&metric, outcome, &minus(&outcome.z, &mu[&outcome.seen])));
        assert_all_close(&residual, &vec![0.0; residual.len()]);
        // And latents that are more uncertain about the same means leave both fits where they are.
        let uncertain = with_noise(&problem, &noise);
        assert_all_close(&uncertain.minimiser(&uncertain.identity()), &w0);
        assert_all_close(&uncertain.minimiser(&metric), &problem.minimiser(&metric));
    }

    #[test]
    fn a_displacement_that_the_decoder_annihilates_costs_nothing(
        law in laws(12, 4, 3, 4), weights in prop::collection::vec(0.1..1.9, 4), column in prop::collection::vec(-2.0..2.0, 4)
    ) {
        // The decoder sees the first of three latents, and the metric weighs the other two against each other.
        let mut law = law;
        (0..).zip(&mut law.0).for_each(|(k, outcome)| outcome.seen = k % 4);
        let a = Matrix::new(3, column.iter().flat_map(|x| [*x, 0.0, 0.0]).collect());
        let features: BTreeMap<usize, Vec<f64>> = [[1.0, 1.0], [1.0, -1.0], [1.0, 3.0], [1.0, 0.5]]
            .into_iter().enumerate().map(|(seen, phi)| (seen, phi.to_vec())).collect();
        let metric: Metric = weights.iter().enumerate().map(|(seen, w)| (seen, vec![1.0, *w, 2.0 - w])).collect();
        let problem = Problem { law, features, a, b: vec![0.5; 4], alpha: 0.7, beta: 1.3 }.exactly_grounded();
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric);
        assert_close(problem.displacement(&w, &w0), 0.0);
        assert_close(problem.field_risk(&w), problem.field_risk(&w0));
        // The first latent's coefficients stay; the others are free to move.
        assert_all_close(&w[..2], &w0[..2]);
    }
}

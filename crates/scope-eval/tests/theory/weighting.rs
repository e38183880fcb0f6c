//! What a mask-dependent metric of the latent target does to reconstruction (paper, "Target weighting with shared
//! features" and the proof of its theorem).

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{Matrix, apart, dot, minus, plus},
    assert_at_most, assert_close,
    law::{Law, Outcome, laws, matrices},
    search::minimise_quadratic,
};

/// Predictors W phi, a decoder A z + b, and the weights of fields and latents.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) law: Law,
    /// phi, by what is observed.
    pub(crate) features: BTreeMap<usize, Vec<f64>>,
    pub(crate) a: Matrix,
    pub(crate) b: Vec<f64>,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

/// The diagonal of a metric, by what is observed.
pub(crate) type Metric = BTreeMap<usize, Vec<f64>>;

impl Problem {
    pub(crate) fn predict(&self, w: &[f64], outcome: &Outcome) -> Vec<f64> {
        let phi = &self.features[&outcome.seen];
        w.chunks(phi.len()).map(|row| dot(row, phi)).collect()
    }

    pub(crate) fn decode(&self, z: &[f64]) -> Vec<f64> {
        plus(&self.a.of(z), &self.b)
    }

    /// F_0(W) = E |D_0(W phi) - X|^2.
    pub(crate) fn field_risk(&self, w: &[f64]) -> f64 {
        self.law.mean(|outcome| apart(&self.decode(&self.predict(w, outcome)), &outcome.x))
    }

    /// E (W phi - Z)^T Lambda (W phi - Z).
    pub(crate) fn latent_risk(&self, w: &[f64], metric: &Metric) -> f64 {
        self.law.mean(|outcome| {
            let error = minus(&self.predict(w, outcome), &outcome.z);
            error.iter().zip(&metric[&outcome.seen]).map(|(e, weight)| weight * e * e).sum()
        })
    }

    /// J(W) under a metric.
    pub(crate) fn objective(&self, w: &[f64], metric: &Metric) -> f64 {
        self.beta * self.field_risk(w) + self.alpha * self.latent_risk(w, metric)
    }

    /// The minimiser of J under a metric.
    pub(crate) fn minimiser(&self, metric: &Metric) -> Vec<f64> {
        let features = self.features.values().next().unwrap().len();
        minimise_quadratic(self.a.columns * features, |w| self.objective(w, metric))
    }

    pub(crate) fn identity(&self) -> Metric {
        self.features.keys().map(|seen| (*seen, vec![1.0; self.a.columns])).collect()
    }

    /// rho = |X - D_0(Z)|.
    pub(crate) fn rho(&self) -> f64 {
        self.law.norm(|outcome| minus(&outcome.x, &self.decode(&outcome.z)))
    }

    /// A (W - W') phi.
    fn moved(&self, w: &[f64], other: &[f64], outcome: &Outcome) -> Vec<f64> {
        self.a.of(&self.predict(&minus(w, other), outcome))
    }

    /// d = |A (W - W') phi|.
    pub(crate) fn displacement(&self, w: &[f64], other: &[f64]) -> f64 {
        self.law.norm(|outcome| self.moved(w, other, outcome))
    }

    /// The same law with fields that the decoder makes of Z exactly.
    pub(crate) fn exactly_grounded(&self) -> Self {
        let mut exact = self.clone();
        exact.law.0.iter_mut().for_each(|outcome| outcome.x = self.decode(&outcome.z));
        exact
    }

    /// E[f phi^T] S^-1: the best linear prediction of f.
    fn projection(&self, f: impl Fn(&Outcome) -> Vec<f64>) -> Matrix {
        let phi = |outcome: &Outcome| self.features[&outcome.seen].clone();
        let outer =
            |x: Vec<f64>, y: &[f64]| x.iter().flat_map(|x| y.iter().map(move |y| x * y)).collect::<Vec<_>>();
        let features = self.features.values().next().unwrap().len();
        let moment = |f: &dyn Fn(&Outcome) -> Vec<f64>| {
            Matrix::new(features, self.law.mean_vector(|outcome| outer(f(outcome), &phi(outcome))))
        };
        moment(&f).times(&moment(&phi).inverse())
    }
}

/// Laws with four observations, three features, two latents of four fields, and a metric of trace two.
pub(crate) fn problems() -> impl Strategy<Value = (Problem, Metric)> {
    let features = prop::collection::vec(prop::collection::vec(-2.0..2.0, 3), 4);
    let weights = prop::collection::vec(0.1..1.9, 4);
    let rest = (prop::collection::vec(-1.0..1.0, 4), 0.1..3.0, 0.1..3.0);
    (laws(12, 4, 2, 4), features, matrices(4, 2), weights, rest).prop_map(
        |(law, phi, a, weights, (b, alpha, beta))| {
            // Every observation occurs, and a large unit part keeps the features' moments well away from singular.
            let mut law = law;
            (0..).zip(&mut law.0).for_each(|(k, outcome)| outcome.seen = k % 4);
            let features = (0..).zip(phi).map(|(k, mut phi)| {
                phi[k % 3] += if k == 3 { -4.0 } else { 4.0 };
                (k, phi)
            });
            let metric = (0..).zip(weights).map(|(k, weight)| (k, vec![weight, 2.0 - weight])).collect();
            (Problem { law, features: features.collect(), a, b, alpha, beta }, metric)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_gap_is_at_least_its_bound((problem, metric) in problems()) {
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric);
        let gap = problem.field_risk(&w) - problem.field_risk(&w0);
        let d = problem.displacement(&w, &w0);
        let rho = problem.rho();
        assert_at_most(d * d - 2.0 * rho * d, gap);
        // The proof's equality: gap = d^2 - 2 E <A Delta phi, H R>, H = (I + beta/alpha A A^T)^-1.
        let a = &problem.a;
        let unit = Matrix::diagonal(&vec![1.0; a.rows]);
        let h = unit.plus(problem.beta / problem.alpha, &a.times(&a.transposed())).inverse();
        let cross = problem.law.mean(|outcome| {
            let residual = minus(&outcome.x, &problem.decode(&outcome.z));
            dot(&problem.moved(&w, &w0, outcome), &h.of(&residual))
        });
        assert_close(gap, d * d - 2.0 * cross);
    }

    #[test]
    fn with_exact_decoding_the_gap_is_the_squared_displacement((problem, metric) in problems()) {
        let problem = problem.exactly_grounded();
        assert_close(problem.rho(), 0.0);
        let w0 = problem.minimiser(&problem.identity());
        let w = problem.minimiser(&metric);
        let d = problem.displacement(&w, &w0);
        assert_close(problem.field_risk(&w) - problem.field_risk(&w0), d * d);
        // The identity metric is then no worse than fields alone would be.
        let shifted: Vec<f64> = w0.iter().enumerate().map(|(k, x)| x + 0.1 * ((k % 3) as f64 - 1.0)).collect();
        assert_at_most(problem.field_risk(&w0), problem.field_risk(&shifted));
    }

    #[test]
    fn the_full_target_has_its_closed_form((problem, _) in problems()) {
        // W_0 = W_Z + beta K_0^-1 A^T W_R.
        let w0 = problem.minimiser(&problem.identity());
        let a = &problem.a;
        let turned = a.transposed();
        let k0 = Matrix::diagonal(&[problem.alpha; 2]).plus(problem.beta, &turned.times(a));
        let w_z = problem.projection(|outcome| outcome.z.clone());
        let w_r = problem.projection(|outcome| minus(&outcome.x, &problem.decode(&outcome.z)));
        let closed = w_z.plus(problem.beta, &k0.inverse().times(&turned).times(&w_r));
        w0.iter().zip(&closed.entries).for_each(|(found, closed)| assert_close(*found, *closed));
    }

    #[test]
    fn a_constant_metric_and_representable_means_move_nothing((problem, metric) in problems()) {
        let problem = problem.exactly_grounded();
        let w0 = problem.minimiser(&problem.identity());
        let constant: Metric = metric.keys().map(|seen| (*seen, metric[&0].clone())).collect();
        assert_close(problem.displacement(&problem.minimiser(&constant), &w0), 0.0);
        // One feature an observation represents every conditional mean.
        let mut rich = problem.clone();
        let indicator = |seen: usize| (0..4).map(|k| f64::from(u8::from(k == seen))).collect();
        rich.features = (0..4).map(|seen| (seen, indicator(seen))).collect();
        let w0 = rich.minimiser(&rich.identity());
        assert_close(rich.displacement(&rich.minimiser(&metric), &w0), 0.0);
    }
}

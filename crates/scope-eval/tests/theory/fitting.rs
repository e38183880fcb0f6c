//! How far a decoder is from its affine reference, and a fit from the best one (paper, "A Uniform Nonlinear Extension",
//! after its proof).

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{dot, minus, plus},
    assert_at_most,
    law::{Law, Outcome},
    weighting::{Metric, Problem, problems},
};

/// D(z) = A z + b + bend sin(k . z) n with |n| = 1. Its Jacobian A + bend cos(k . z) n k^T is Lipschitz with bend
/// |k|^2.
struct Curved<'a> {
    problem: &'a Problem,
    bend: f64,
    wave: &'a [f64],
}

impl Curved<'_> {
    /// n in four dimensions.
    const DIRECTION: f64 = 0.5;

    fn decode(&self, z: &[f64]) -> Vec<f64> {
        plus(&self.problem.decode(z), &[self.bend * dot(self.wave, z).sin() * Self::DIRECTION; 4])
    }

    /// D(z') + J(z') (z - z').
    fn expanded(&self, about: &[f64], z: &[f64]) -> Vec<f64> {
        let step = minus(z, about);
        let slope = self.bend * dot(self.wave, about).cos() * dot(self.wave, &step) * Self::DIRECTION;
        plus(&self.decode(about), &plus(&self.problem.a.of(&step), &[slope; 4]))
    }

    fn lipschitz(&self) -> f64 {
        self.bend * dot(self.wave, self.wave)
    }
}

/// The same outcomes with other probabilities, as a sample has them.
fn sampled(law: &Law, weights: &[f64]) -> Law {
    let total: f64 = weights.iter().sum();
    let outcomes = law.0.iter().zip(weights);
    Law(outcomes.map(|(outcome, weight)| Outcome { p: weight / total, ..outcome.clone() }).collect())
}

fn numbers(count: usize, most: f64) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-most..most, count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_decoder_is_as_near_its_expansion_as_taylor_says(
        (problem, _) in problems(), w in numbers(6, 2.0), wave in numbers(2, 3.0), about in numbers(2, 2.0), bend in 0.0..2.0
    ) {
        // |D - D_0| <= kappa/2 (E |W phi - z|^4)^(1/2) for every W, and so for the largest.
        let curved = Curved { problem: &problem, bend, wave: &wave };
        let apart = problem.law.norm(|outcome| {
            let z = problem.predict(&w, outcome);
            minus(&curved.decode(&z), &curved.expanded(&about, &z))
        });
        let fourth = problem.law.mean(|outcome| {
            let step = minus(&problem.predict(&w, outcome), &about);
            dot(&step, &step).powi(2)
        });
        assert_at_most(apart, 0.5 * curved.lipschitz() * fourth.sqrt());
    }

    #[test]
    fn a_fit_to_a_sample_is_as_good_as_its_tolerance_and_two_deviations(
        (problem, metric) in problems(), weights in prop::collection::vec(0.05..1.0, 12),
        class in prop::collection::vec(numbers(6, 1.5), 2..12)
    ) {
        // eta <= eta^ + 2 u, with u the largest deviation of the sample's objective over the class.
        let sample = Problem { law: sampled(&problem.law, &weights), ..problem.clone() };
        let values = |of: &Problem, metric: &Metric| -> Vec<f64> {
            class.iter().map(|w| of.objective(w, metric)).collect()
        };
        let population = values(&problem, &metric);
        let empirical = values(&sample, &metric);
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let u = population.iter().zip(&empirical).map(|(p, e)| (p - e).abs()).fold(0.0, f64::max);
        for (p, e) in population.iter().zip(&empirical) {
            let eta = p - least(&population);
            let fitted = e - least(&empirical);
            assert_at_most(eta, fitted + 2.0 * u);
        }
    }
}

/// A small objective on a sample bounds nothing by itself: the sample may miss where a fit fails.
#[test]
fn a_small_training_objective_is_no_bound() {
    let loss = |w: f64, x: f64| (w * x).powi(2);
    let population = |w: f64| 0.5 * loss(w, 0.0) + 0.5 * loss(w, 2.0);
    let sample = |w: f64| loss(w, 0.0);
    assert_eq!((sample(3.0), population(3.0)), (0.0, 18.0));
}

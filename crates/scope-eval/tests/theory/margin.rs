//! The reconstruction margin with a decoder that is not quite affine and fits that are not quite minimal (paper,
//! proposition "Persistence of a reconstruction margin"), on the elliptic illustration.
//!
//! D(z) = A z + bend sin(3 z_1 + z_2) n with |n| = 1, so |D - D_0| <= bend everywhere. The class of coefficients is the
//! box |W_ij| <= 1, which holds both affine minimisers.

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{apart, minus, plus},
    assert_at_most,
    elliptic::{metric, without_interaction},
    teacher::operator_norm,
    weighting::{Metric, Problem},
};

const COEFFICIENTS: usize = 6;

struct Bent {
    problem: Problem,
    bend: f64,
}

impl Bent {
    fn decode(&self, z: &[f64]) -> Vec<f64> {
        let rise = 0.5 * self.bend * (3.0 * z[0] + z[1]).sin();
        plus(&self.problem.decode(z), &[rise; 4])
    }

    /// F_D(W).
    fn field_risk(&self, w: &[f64]) -> f64 {
        self.problem.law.mean(|outcome| apart(&self.decode(&self.problem.predict(w, outcome)), &outcome.x))
    }

    /// J^D(W).
    fn objective(&self, w: &[f64], metric: &Metric) -> f64 {
        self.problem.beta * self.field_risk(w) + self.problem.alpha * self.problem.latent_risk(w, metric)
    }

    /// B_F: the affine residual's largest norm over the box. It is convex in W, so a corner has it.
    fn largest_residual(&self) -> f64 {
        let corner = |bits: usize| -> Vec<f64> {
            (0..COEFFICIENTS).map(|k| if bits >> k & 1 == 1 { 1.0 } else { -1.0 }).collect()
        };
        (0..1 << COEFFICIENTS).map(|bits| self.problem.field_risk(&corner(bits)).sqrt()).fold(0.0, f64::max)
    }

    /// q_D = 2 B_F eps + eps^2.
    fn approximation(&self) -> f64 {
        2.0 * self.largest_residual() * self.bend + self.bend * self.bend
    }

    /// c: the least eigenvalue of beta A^T A + alpha Lambda over observations; all are diagonal here.
    fn coercivity(&self, metric: &Metric) -> f64 {
        let gram = self.problem.a.transposed().times(&self.problem.a);
        let least = |weights: &Vec<f64>| {
            let entry = |k: usize| self.problem.beta * gram.at(k, k) + self.problem.alpha * weights[k];
            entry(0).min(entry(1))
        };
        metric.values().map(least).fold(f64::INFINITY, f64::min)
    }

    /// How far a fit may be from the least objective in the box: the affine minimum less beta q_D bounds that from
    /// below.
    fn tolerance(&self, w: &[f64], metric: &Metric) -> f64 {
        let affine = self.problem.objective(&self.problem.minimiser(metric), metric);
        self.objective(w, metric) - (affine - self.problem.beta * self.approximation())
    }

    /// zeta.
    fn loss_of_margin(&self, w: &[f64], metric: &Metric) -> f64 {
        let q = self.approximation();
        let spread = (2.0 * self.problem.beta * q + self.tolerance(w, metric)) / self.coercivity(metric);
        q + 2.0 * self.largest_residual() * operator_norm(&self.problem.a) * spread.sqrt()
    }

    /// The margin that is left, and the margin there is.
    fn margins(&self, w0: &[f64], w: &[f64]) -> [f64; 2] {
        let identity = self.problem.identity();
        let affine = [self.problem.minimiser(&identity), self.problem.minimiser(&metric())];
        let d = self.problem.displacement(&affine[1], &affine[0]);
        let lost = self.loss_of_margin(w, &metric()) + self.loss_of_margin(w0, &identity);
        [d * d - 2.0 * self.problem.rho() * d - lost, self.field_risk(w) - self.field_risk(w0)]
    }
}

fn coefficients() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0, COEFFICIENTS)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_margin_persists_for_any_fits_in_the_box(
        alpha in 0.1..5.0, beta in 0.1..5.0, exponent in -12.0_f64..-1.0, w0 in coefficients(), w in coefficients(),
        nearness in 0.0..1.0_f64
    ) {
        let bent = Bent { problem: without_interaction(alpha, beta), bend: 10.0_f64.powf(exponent) };
        // Fits anywhere between the affine minimisers and random corners of the class.
        let near = nearness.powi(8);
        let towards = |at: Vec<f64>, to: &[f64]| -> Vec<f64> {
            at.iter().zip(to).map(|(at, to)| at + near * (to - at)).collect()
        };
        let identity = bent.problem.identity();
        let w0 = towards(bent.problem.minimiser(&identity), &w0);
        let w = towards(bent.problem.minimiser(&metric()), &w);
        let [left, there] = bent.margins(&w0, &w);
        assert_at_most(left, there);
        // The proof's steps, each on its own.
        assert_at_most((bent.field_risk(&w) - bent.problem.field_risk(&w)).abs(), bent.approximation());
        for (w, metric) in [(&w0, &identity), (&w, &metric())] {
            let best = bent.problem.minimiser(metric);
            let step = minus(w, &best);
            let moved = bent.problem.law.norm(|outcome| bent.problem.predict(&step, outcome)).powi(2);
            let spread = 2.0 * bent.problem.beta * bent.approximation() + bent.tolerance(w, metric);
            assert_at_most(moved, spread / bent.coercivity(metric));
        }
    }
}

#[test]
fn a_decoder_close_to_affine_keeps_a_strict_advantage() {
    let bent = Bent { problem: without_interaction(1.0, 1.0), bend: 1e-9 };
    let w0 = bent.problem.minimiser(&bent.problem.identity());
    let w = bent.problem.minimiser(&metric());
    let [left, there] = bent.margins(&w0, &w);
    assert!(left > 0.0 && there >= left, "{left} {there}");
    // A decoder far from affine leaves no guarantee.
    let [left, _] = Bent { bend: 0.1, ..bent }.margins(&w0, &w);
    assert!(left < 0.0);
}

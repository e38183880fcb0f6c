//! Physical readout transfer: what a better decoder of complete views gains on sparse ones.

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{Matrix, minus, plus},
    assert_at_most, assert_close,
    law::{Law, Outcome, laws, matrices},
    teacher::operator_norm,
};

/// Outcomes carry three latents of two numbers: z = (z_M, z_F, teacher's).
fn latents(outcome: &Outcome) -> [&[f64]; 3] {
    [&outcome.z[..2], &outcome.z[2..4], &outcome.z[4..]]
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A decoder with everything the inequalities need of it; the target is x, moved away from zero.
struct Readout<'a> {
    law: &'a Law,
    decoder: &'a Matrix,
}

impl Readout<'_> {
    fn target(outcome: &Outcome) -> Vec<f64> {
        plus(&outcome.x, &[3.0; 3])
    }

    /// E |f| / |y|.
    fn relative(&self, f: impl Fn(&Outcome) -> Vec<f64>) -> f64 {
        self.law.mean(|outcome| length(&f(outcome)) / length(&Self::target(outcome)))
    }

    /// R_M and R_F.
    fn errors(&self) -> [f64; 2] {
        [0, 1].map(|view| self.relative(|o| minus(&self.decoder.of(latents(o)[view]), &Self::target(o))))
    }

    /// B_M.
    fn discrepancy(&self) -> f64 {
        self.relative(|o| minus(&self.decoder.of(latents(o)[0]), &self.decoder.of(latents(o)[1])))
    }

    /// L_d kappa_y (sqrt J + delta), latents measured by |v| / sqrt(r).
    fn bound(&self) -> f64 {
        let r = 2.0_f64;
        let distance = |i: usize, j: usize| self.law.norm(|o| minus(latents(o)[i], latents(o)[j])) / r.sqrt();
        let kappa = self.law.mean(|o| length(&Self::target(o)).powi(-2)).sqrt();
        operator_norm(self.decoder) * r.sqrt() * kappa * (distance(0, 2) + distance(2, 1))
    }
}

proptest! {
    #[test]
    fn gains_transfer_as_far_as_the_views_agree(law in laws(6, 3, 6, 1), d0 in matrices(3, 2), d1 in matrices(3, 2)) {
        let [old, new] = [&d0, &d1].map(|decoder| Readout { law: &law, decoder });
        let ([m0, f0], [m1, f1]) = (old.errors(), new.errors());
        assert_at_most(f0 - f1 - old.discrepancy() - new.discrepancy(), m0 - m1);
        for (readout, [m, f]) in [(&old, [m0, f0]), (&new, [m1, f1])] {
            assert_at_most((m - f).abs(), readout.discrepancy());
            assert_at_most(readout.discrepancy(), m + f);
            assert_at_most(readout.discrepancy(), readout.bound());
        }
    }

    #[test]
    fn the_latent_bound_is_reached_on_a_line(law in laws(6, 3, 6, 1), step in 0.1..2.0) {
        // Equal targets; every view a fixed step along the decoder's steepest direction from the one before.
        let decoder = Matrix::new(2, vec![3.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let line = |o: &Outcome| [o.z[0] + 2.0 * step, o.z[1], o.z[0], o.z[1], o.z[0] + step, o.z[1]].to_vec();
        let outcomes = law.0.iter().map(|o| Outcome { x: law.0[0].x.clone(), z: line(o), ..o.clone() });
        let law = Law(outcomes.collect());
        let readout = Readout { law: &law, decoder: &decoder };
        assert_close(readout.discrepancy(), readout.bound());
    }
}

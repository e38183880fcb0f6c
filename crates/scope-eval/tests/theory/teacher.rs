//! Grounding of the online encoder, the teacher's mismatch, and targets that move (paper, "Online Grounding, Teacher
//! Mismatch, and Moving Targets").

use proptest::prelude::*;
use scope_pde::linear::eigen::symmetric_eigen;

use crate::theory::{
    arithmetic::{Matrix, minus, plus},
    assert_at_most, assert_close,
    law::{Law, Outcome, laws, matrices},
};

/// The largest factor by which a matrix lengthens a vector.
pub(crate) fn operator_norm(a: &Matrix) -> f64 {
    symmetric_eigen(&a.transposed().times(a).entries, a.columns).values[0].sqrt()
}

/// D(z) = A z + bend sin(z), on as many fields as latents: Lipschitz with |A| + bend.
fn decode(a: &Matrix, bend: f64, z: &[f64]) -> Vec<f64> {
    plus(&a.of(z), &z.iter().map(|z| bend * z.sin()).collect::<Vec<_>>())
}

/// Outcomes carry the online encoder's latents and the teacher's: z = (Z_o, Z).
fn split(outcome: &Outcome) -> [&[f64]; 2] {
    let (online, teacher) = outcome.z.split_at(outcome.z.len() / 2);
    [online, teacher]
}

proptest! {
    #[test]
    fn the_teachers_error_is_at_most_grounding_plus_mismatch(
        law in laws(6, 2, 4, 1), a in matrices(2, 2), affine in matrices(2, 2), bend in 0.0..2.0
    ) {
        let steep = operator_norm(&a) + bend;
        let grounding = law.norm(|o| minus(&decode(&a, bend, split(o)[0]), &o.x));
        let mismatch = law.norm(|o| minus(split(o)[1], split(o)[0]));
        let teacher = law.norm(|o| minus(&decode(&a, bend, split(o)[1]), &o.x));
        assert_at_most(teacher, grounding + steep * mismatch);
        // An affine reference adds its own distance.
        let rho = law.norm(|o| minus(&o.x, &affine.of(split(o)[1])));
        let reference = law.norm(|o| minus(&decode(&a, bend, split(o)[1]), &affine.of(split(o)[1])));
        assert_at_most(rho, grounding + steep * mismatch + reference);
    }

    #[test]
    fn the_bound_is_reached(law in laws(6, 2, 2, 1), scale in 0.1..3.0, drift in 0.0..2.0) {
        // D(z) = scale z, and the teacher lies further along each online error.
        let law = Law(law.0.into_iter().map(|outcome| {
            let error = minus(&outcome.z.iter().map(|z| scale * z).collect::<Vec<_>>(), &outcome.x);
            let teacher: Vec<f64> = outcome.z.iter().zip(error).map(|(z, e)| z + drift * e).collect();
            Outcome { z: [outcome.z, teacher].concat(), ..outcome }
        }).collect());
        let a = Matrix::diagonal(&[scale, scale]);
        let grounding = law.norm(|o| minus(&decode(&a, 0.0, split(o)[0]), &o.x));
        let mismatch = law.norm(|o| minus(split(o)[1], split(o)[0]));
        let teacher = law.norm(|o| minus(&decode(&a, 0.0, split(o)[1]), &o.x));
        assert_close(teacher, grounding + operator_norm(&a) * mismatch);
    }

    #[test]
    fn a_moving_target_changes_the_loss_no_more_than_its_bound(
        law in laws(6, 0, 4, 3), f in prop::collection::vec(-2.0..2.0, 6), step in 0.0..2.0
    ) {
        let predicted = |o: &Outcome| f[2 * o.seen..][..2].to_vec();
        let loss = |law: &Law, snapshot: usize| law.norm(|o| minus(&predicted(o), split(o)[snapshot])).powi(2);
        let bound = |law: &Law| {
            let moved = law.norm(|o| minus(split(o)[1], split(o)[0]));
            2.0 * loss(law, 0).sqrt() * moved + moved * moved
        };
        assert_at_most((loss(&law, 1) - loss(&law, 0)).abs(), bound(&law));
        // A target that moves straight away from the prediction reaches it.
        let away = Law(law.0.iter().map(|o| {
            let error = minus(&predicted(o), split(o)[0]);
            let later: Vec<f64> = split(o)[0].iter().zip(error).map(|(z, e)| z - step * e).collect();
            Outcome { z: [split(o)[0].to_vec(), later].concat(), ..o.clone() }
        }).collect());
        assert_close(loss(&away, 1) - loss(&away, 0), bound(&away));
    }
}

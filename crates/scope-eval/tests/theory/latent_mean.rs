//! Decoding the latent mean, compared with the minimiser of the common objective (paper, "Comparison with Latent-Mean
//! Decoding").

use proptest::prelude::*;

use crate::theory::{
    arithmetic::apart,
    assert_at_most, assert_close,
    law::{Law, Outcome, laws},
    risk::{decoders, predictors},
    search::minimise,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn field_risks_differ_by_excess_gap_and_distance(law in laws(7, 2, 1, 3), decoder in decoders(), f in predictors()) {
        let mu = decoder.latent_mean(&law);
        let best = decoder.best(&law);
        // Gamma = R(mu) - R*, with R* found on the risk itself.
        let gamma = decoder.risk(&law, &mu) - decoder.risk(&law, &best);
        let distance = law.mean(|outcome| (f[&outcome.seen] - mu[&outcome.seen]).powi(2));
        let difference = decoder.field_risk(&law, &f) - decoder.field_risk(&law, &mu);
        assert_close(decoder.beta * difference, decoder.excess(&law, &f) - gamma - decoder.alpha * distance);
    }

    #[test]
    fn the_joint_optimum_is_no_worse_than_the_decoded_mean(law in laws(7, 2, 1, 3), decoder in decoders()) {
        let mu = decoder.latent_mean(&law);
        let best = decoder.best(&law);
        let joint = decoder.field_risk(&law, &best);
        let decoded = decoder.field_risk(&law, &mu);
        assert_at_most(joint, decoded);
        if decoder.risk(&law, &mu) - decoder.risk(&law, &best) > 1e-6 {
            prop_assert!(joint < decoded);
        }
    }
}

/// X is 1 or 4, T is the square root, D the square, and nothing is observed.
#[test]
fn the_square_root_teacher_is_exact_and_its_mean_is_not() {
    let outcome = |x: f64| Outcome { p: 0.5, x: vec![x], z: vec![x.sqrt()], seen: 0 };
    let law = Law(vec![outcome(1.0), outcome(4.0)]);
    let decode = |z: f64| z * z;
    assert_eq!(law.mean(|outcome| (decode(outcome.z[0]) - outcome.x[0]).abs()), 0.0);
    let mu = law.mean(|outcome| outcome.z[0]);
    let nu = law.mean(|outcome| outcome.x[0]);
    assert_eq!((mu, nu, decode(mu)), (1.5, 2.5, 2.25));
    // A central difference of a square is its derivative.
    let slope = (decode(mu + 0.5) - decode(mu - 0.5)) / 1.0;
    assert_eq!(slope * (decode(mu) - nu), -0.75);
    for (alpha, beta) in [(1.0, 1.0), (10.0, 0.1), (0.01, 1.0)] {
        let fields = |z: f64| law.mean(|outcome| apart(&[decode(z)], &outcome.x));
        let risk = |z: f64| beta * fields(z) + alpha * law.mean(|outcome| apart(&[z], &outcome.z));
        let (best, least) = minimise(0.0, 3.0, risk);
        assert!(least < risk(mu) && fields(best) < fields(mu), "{alpha} {beta}");
        // Between the latent mean and the code of the field's mean.
        assert!(mu < best && best < nu.sqrt());
    }
}

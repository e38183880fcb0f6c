//! More information (paper, "Additional Information and Equality across Contexts").

use proptest::prelude::*;

use crate::theory::{
    arithmetic::apart,
    assert_at_most, assert_close,
    law::{Law, Outcome, laws},
    risk::{Quadratic, decoders},
};

/// The mean of Q = (sqrt(beta) X, sqrt(alpha) Z) given what is seen, outcome by outcome.
fn means(law: &Law, decoder: &Quadratic) -> Vec<Vec<f64>> {
    let q = |outcome: &Outcome| {
        let x = outcome.x.iter().map(|x| decoder.beta.sqrt() * x);
        x.chain(outcome.z.iter().map(|z| decoder.alpha.sqrt() * z)).collect()
    };
    let means = law.conditional(q);
    law.0.iter().map(|outcome| means[&outcome.seen].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn refinement_lowers_the_least_risk_by_what_it_tells(law in laws(8, 2, 1, 4), decoder in decoders()) {
        let fine = law.clone();
        let coarse = law.seen_as(|outcome| outcome.seen / 2);
        let [told, guessed] = [&fine, &coarse].map(|law| means(law, &decoder));
        let told: f64 = law.0.iter().zip(told.iter().zip(&guessed)).map(|(o, (l, k))| o.p * apart(l, k)).sum();
        assert_close(decoder.uncertainty(&coarse), decoder.uncertainty(&fine) + told);
        let least = |law: &Law| decoder.risk(law, &decoder.best(law));
        let incompatibility = decoder.incompatibility(&coarse) - decoder.incompatibility(&fine);
        assert_close(least(&coarse) - least(&fine), told + incompatibility);
        assert_at_most(least(&fine), least(&coarse));
    }

    #[test]
    fn means_given_more_have_the_means_given_less(law in laws(8, 2, 1, 4), decoder in decoders()) {
        let coarse = law.seen_as(|outcome| outcome.seen / 2);
        // The tower property: averaging the finer means over what the coarser view cannot tell apart.
        let fine = law.conditional(|outcome| outcome.z.clone());
        let tower = law.0.iter().map(|o| Outcome { z: fine[&o.seen].clone(), seen: o.seen / 2, ..o.clone() });
        let tower = Law(tower.collect()).conditional(|outcome| outcome.z.clone());
        for (seen, mean) in coarse.conditional(|outcome| outcome.z.clone()) {
            assert_close(tower[&seen][0], mean[0]);
        }
        prop_assert!(decoder.uncertainty(&law) <= decoder.uncertainty(&coarse) + 1e-12);
    }

    #[test]
    fn complete_pairs_leave_no_risk_exactly_when_the_decoder_is_exact(law in laws(6, 2, 1, 1), decoder in decoders()) {
        // Every outcome is told apart.
        let mut complete = law;
        (0..).zip(&mut complete.0).for_each(|(k, outcome)| outcome.seen = k);
        let least = |law: &Law| decoder.risk(law, &decoder.best(law));
        let mismatch = complete.mean(|o| apart(&decoder.decode(o.z[0]), &o.x));
        if mismatch > 1e-3 {
            prop_assert!(least(&complete) > 1e-9);
        }
        complete.0.iter_mut().for_each(|outcome| outcome.x = decoder.decode(outcome.z[0]));
        assert_close(least(&complete), 0.0);
    }
}

/// The incompatibility alone may grow with information: where nothing is seen the means meet on the decoder's curve.
#[test]
fn incompatibility_is_not_monotone() {
    let decoder = Quadratic { bend: 0.0, alpha: 1.0, beta: 1.0 };
    let outcome = |x: f64, seen| Outcome { p: 0.5, x: vec![x, 0.0], z: vec![0.0], seen };
    let fine = Law(vec![outcome(-1.0, 0), outcome(1.0, 1)]);
    let coarse = fine.seen_as(|_| 0);
    assert_close(decoder.incompatibility(&coarse), 0.0);
    assert!(decoder.incompatibility(&fine) > 0.1);
    let least = |law: &Law| decoder.risk(law, &decoder.best(law));
    assert!(least(&fine) < least(&coarse));
}

//! The risk of any predictor under a common target: R = V + A + e (paper, "Conditional recovery").

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::{
    arithmetic::apart,
    assert_at_most, assert_close,
    law::{Law, laws},
    search::minimise,
};

/// Where minimisers are looked for; the search makes sure that none lies at the edge.
const LATENTS: (f64, f64) = (-9.0, 9.0);

/// A decoder from one number to two fields, bent as one likes: D(z) = (z + bend z^2, sin(2 z)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quadratic {
    pub(crate) bend: f64,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

/// A predicted latent for each observation.
pub(crate) type Predictor = BTreeMap<usize, f64>;

impl Quadratic {
    pub(crate) fn decode(&self, z: f64) -> Vec<f64> {
        vec![z + self.bend * z * z, (2.0 * z).sin()]
    }

    /// E |D(f) - X|^2.
    pub(crate) fn field_risk(&self, law: &Law, f: &Predictor) -> f64 {
        law.mean(|outcome| apart(&self.decode(f[&outcome.seen]), &outcome.x))
    }

    /// R(f; D) = E[beta |D(f) - X|^2 + alpha |f - Z|^2].
    pub(crate) fn risk(&self, law: &Law, f: &Predictor) -> f64 {
        let latent = law.mean(|outcome| apart(&[f[&outcome.seen]], &outcome.z));
        self.beta * self.field_risk(law, f) + self.alpha * latent
    }

    /// V = beta E |X - nu|^2 + alpha E |Z - mu|^2.
    pub(crate) fn uncertainty(&self, law: &Law) -> f64 {
        let nu = law.conditional(|outcome| outcome.x.clone());
        let mu = law.conditional(|outcome| outcome.z.clone());
        law.mean(|outcome| {
            self.beta * apart(&outcome.x, &nu[&outcome.seen])
                + self.alpha * apart(&outcome.z, &mu[&outcome.seen])
        })
    }

    /// Psi(z) = beta |D(z) - nu|^2 + alpha |z - mu|^2, for each observation, in mean over them.
    fn psi_mean(&self, law: &Law, value: impl Fn(usize, &dyn Fn(f64) -> f64) -> f64) -> f64 {
        let nu = law.conditional(|outcome| outcome.x.clone());
        let mu = law.conditional(|outcome| outcome.z.clone());
        law.mean(|outcome| {
            let seen = outcome.seen;
            let psi = |z: f64| {
                self.beta * apart(&self.decode(z), &nu[&seen]) + self.alpha * apart(&[z], &mu[&seen])
            };
            value(seen, &psi)
        })
    }

    /// A(D) = E min Psi.
    pub(crate) fn incompatibility(&self, law: &Law) -> f64 {
        self.psi_mean(law, |_, psi| minimise(LATENTS.0, LATENTS.1, psi).1)
    }

    /// e(f; D) = E[Psi(f) - min Psi].
    pub(crate) fn excess(&self, law: &Law, f: &Predictor) -> f64 {
        self.psi_mean(law, |seen, psi| psi(f[&seen]) - minimise(LATENTS.0, LATENTS.1, psi).1)
    }

    /// The predictor of least risk, found on the risk itself, observation by observation.
    pub(crate) fn best(&self, law: &Law) -> Predictor {
        let best = |part: &Law| {
            let risk = |z: f64| self.risk(part, &part.0.iter().map(|outcome| (outcome.seen, z)).collect());
            minimise(LATENTS.0, LATENTS.1, risk).0
        };
        law.given().iter().map(|(seen, part)| (*seen, best(part))).collect()
    }

    /// mu as a predictor.
    pub(crate) fn latent_mean(&self, law: &Law) -> Predictor {
        law.conditional(|outcome| outcome.z.clone()).into_iter().map(|(seen, mu)| (seen, mu[0])).collect()
    }
}

pub(crate) fn decoders() -> impl Strategy<Value = Quadratic> {
    (-0.5..0.5, 0.2..2.0, 0.2..2.0).prop_map(|(bend, alpha, beta)| Quadratic { bend, alpha, beta })
}

/// Latents between -2 and 2 for observations 0 to 2.
pub(crate) fn predictors() -> impl Strategy<Value = Predictor> {
    prop::collection::vec(-2.0..2.0, 3).prop_map(|values| values.into_iter().enumerate().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_risk_is_uncertainty_plus_incompatibility_plus_excess(
        law in laws(7, 2, 1, 3), decoder in decoders(), f in predictors()
    ) {
        let parts = [decoder.uncertainty(&law), decoder.incompatibility(&law), decoder.excess(&law, &f)];
        assert_close(decoder.risk(&law, &f), parts.iter().sum());
        prop_assert!(parts.iter().all(|part| *part >= -1e-12), "{parts:?}");
    }

    #[test]
    fn the_least_risk_is_uncertainty_plus_incompatibility(law in laws(7, 2, 1, 3), decoder in decoders(), f in predictors()) {
        let least = decoder.risk(&law, &decoder.best(&law));
        assert_close(least, decoder.uncertainty(&law) + decoder.incompatibility(&law));
        assert_at_most(least, decoder.risk(&law, &f));
    }
}

//! Discrete laws: outcomes with probabilities, and what an observation tells of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::arithmetic::{Matrix, apart, minus};

/// One outcome: fields x, the teacher's latents z, and the name of what is observed.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) p: f64,
    pub(crate) x: Vec<f64>,
    pub(crate) z: Vec<f64>,
    /// Outcomes with equal names cannot be told apart.
    pub(crate) seen: usize,
}

/// All outcomes; their probabilities sum to one.
#[derive(Clone, Debug)]
pub(crate) struct Law(pub(crate) Vec<Outcome>);

impl Law {
    /// E f.
    pub(crate) fn mean(&self, f: impl Fn(&Outcome) -> f64) -> f64 {
        self.0.iter().map(|outcome| outcome.p * f(outcome)).sum()
    }

    /// E f for vectors.
    pub(crate) fn mean_vector(&self, f: impl Fn(&Outcome) -> Vec<f64>) -> Vec<f64> {
        let mut sum = vec![0.0; f(&self.0[0]).len()];
        for outcome in &self.0 {
            sum.iter_mut().zip(f(outcome)).for_each(|(sum, value)| *sum += outcome.p * value);
        }
        sum
    }

    /// The law given each observation.
    pub(crate) fn given(&self) -> BTreeMap<usize, Law> {
        let mut parts: BTreeMap<usize, Law> = BTreeMap::new();
        for outcome in &self.0 {
            parts.entry(outcome.seen).or_insert_with(|| Law(Vec::new())).0.push(outcome.clone());
        }
        for Law(outcomes) in parts.values_mut() {
            let total: f64 = outcomes.iter().map(|outcome| outcome.p).sum();
            outcomes.iter_mut().for_each(|outcome| outcome.p /= total);
        }
        parts
    }

    /// E[f | observation], by the observation's name.
    pub(crate) fn conditional(&self, f: impl Fn(&Outcome) -> Vec<f64>) -> BTreeMap<usize, Vec<f64>> {
        self.given().into_iter().map(|(seen, part)| (seen, part.mean_vector(&f))).collect()
    }

    /// E[C], the mean over observations of z's covariance given the observation.
    pub(crate) fn expected_covariance(&self) -> Matrix {
        let mean = self.conditional(|outcome| outcome.z.clone());
        let outer = |outcome: &Outcome| {
            let centred = minus(&outcome.z, &mean[&outcome.seen]);
            centred.iter().flat_map(|x| centred.iter().map(move |y| x * y)).collect()
        };
        Matrix::new(self.0[0].z.len(), self.mean_vector(outer))
    }

    /// The same outcomes under another observation.
    pub(crate) fn seen_as(&self, name: impl Fn(&Outcome) -> usize) -> Law {
        Law(self.0.iter().map(|outcome| Outcome { seen: name(outcome), ..outcome.clone() }).collect())
    }

    /// The norm of a random vector: (E |f|^2)^(1/2).
    pub(crate) fn norm(&self, f: impl Fn(&Outcome) -> Vec<f64>) -> f64 {
        self.mean(|outcome| f(outcome).iter().map(|x| x * x).sum()).sqrt()
    }
}

/// Laws of some outcomes with random probabilities, fields, latents and observations (0 to `names` - 1).
pub(crate) fn laws(
    outcomes: usize,
    fields: usize,
    latents: usize,
    names: usize,
) -> impl Strategy<Value = Law> {
    let numbers = |n| prop::collection::vec(-2.0..2.0, n);
    let one = (0.05..1.0, numbers(fields), numbers(latents), 0..names);
    prop::collection::vec(one, outcomes).prop_map(|drawn| {
        let total: f64 = drawn.iter().map(|(p, ..)| p).sum();
        Law(drawn.into_iter().map(|(p, x, z, seen)| Outcome { p: p / total, x, z, seen }).collect())
    })
}

/// A matrix of random numbers.
pub(crate) fn matrices(rows: usize, columns: usize) -> impl Strategy<Value = Matrix> {
    prop::collection::vec(-2.0..2.0, rows * columns).prop_map(move |entries| Matrix::new(columns, entries))
}

#[test]
fn conditional_means_are_means_of_parts() {
    let outcome = |p, z: f64, seen| Outcome { p, x: vec![], z: vec![z], seen };
    let law = Law(vec![outcome(0.25, 1.0, 0), outcome(0.25, 3.0, 0), outcome(0.5, 5.0, 1)]);
    assert_eq!(
        law.conditional(|outcome| outcome.z.clone()),
        BTreeMap::from([(0, vec![2.0]), (1, vec![5.0])])
    );
    assert_eq!(law.expected_covariance().entries, [0.5]);
    assert_eq!(law.mean(|outcome| apart(&outcome.z, &[1.0])), 0.25 * 4.0 + 0.5 * 16.0);
}

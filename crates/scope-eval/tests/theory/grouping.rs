//! Groups of target coordinates (paper, "Partitioning versus Reweighting").

use proptest::prelude::*;

use crate::theory::{
    arithmetic::{Matrix, apart, dot, minus},
    assert_at_most, assert_close,
    law::laws,
    search::minimise_quadratic,
};

/// The mean squared error of a group of coordinates.
fn group_mean(error: &[f64], group: &[bool], inside: bool) -> f64 {
    let members: Vec<f64> =
        error.iter().zip(group).filter(|(_, member)| **member == inside).map(|(e, _)| e * e).collect();
    members.iter().sum::<f64>() / members.len() as f64
}

fn size(group: &[bool], inside: bool) -> f64 {
    group.iter().filter(|member| **member == inside).count() as f64
}

/// Two groups of five coordinates, neither of them empty.
fn groups() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(any::<bool>(), 5).prop_filter("both groups have members", |group| {
        group.iter().any(|member| *member) && group.iter().any(|member| !*member)
    })
}

fn errors() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-3.0..3.0, 5)
}

proptest! {
    #[test]
    fn groups_weighed_by_size_are_the_full_target(error in errors(), group in groups()) {
        let r = error.len() as f64;
        let grouped: f64 =
            [true, false].map(|inside| size(&group, inside) / r * group_mean(&error, &group, inside)).iter().sum();
        assert_close(grouped, dot(&error, &error) / r);
    }

    #[test]
    fn other_weights_are_a_metric_of_the_same_trace(error in errors(), group in groups(), lambda in 0.0..1.0) {
        let r = error.len() as f64;
        let share = |inside: bool| if inside { lambda } else { 1.0 - lambda };
        let grouped: f64 = [true, false].map(|inside| share(inside) * group_mean(&error, &group, inside)).iter().sum();
        let diagonal: Vec<f64> = group.iter().map(|member| r * share(*member) / size(&group, *member)).collect();
        let metric = Matrix::diagonal(&diagonal);
        assert_close(metric.trace(), r);
        assert_close(grouped, dot(&error, &metric.of(&error)) / r);
    }

    #[test]
    fn a_singular_metric_does_not_see_its_kernel(
        law in laws(9, 0, 2, 3), f in prop::collection::vec(-2.0..2.0, 6), angles in prop::collection::vec(0.0..6.3_f64, 3),
        strays in prop::collection::vec(-5.0..5.0, 3)
    ) {
        // Lambda = 2 v v^T of trace two: what is added to f along the perpendicular of v costs nothing.
        let along: Vec<[f64; 2]> = angles.iter().map(|angle| [angle.cos(), angle.sin()]).collect();
        let risk = |f: &[f64]| law.mean(|o| 2.0 * dot(&along[o.seen], &minus(&f[2 * o.seen..][..2], &o.z)).powi(2));
        let strayed: Vec<f64> = (f.chunks(2).zip(&along).zip(&strays))
            .flat_map(|((f, [x, y]), stray)| [f[0] - stray * y, f[1] + stray * x])
            .collect();
        assert_close(risk(&strayed), risk(&f));
        // So the conditional mean is a minimiser, and not the only one.
        let mu = law.conditional(|outcome| outcome.z.clone());
        let mean: Vec<f64> = (0..3).flat_map(|seen| mu.get(&seen).cloned().unwrap_or(vec![0.0; 2])).collect();
        assert_at_most(risk(&mean), risk(&f));
    }

    #[test]
    fn weighted_risk_is_uncertainty_plus_distance_from_the_mean(
        law in laws(9, 0, 2, 3), f in prop::collection::vec(-2.0..2.0, 6), roots in prop::collection::vec(-1.5..1.5, 12)
    ) {
        // A metric L L^T + I/2 for each observation, scaled to trace two: far enough from singular for the search
        // below.
        let metrics: Vec<Matrix> = roots.chunks(4).map(|root| {
            let root = Matrix::new(2, root.to_vec()).plus(2.0, &Matrix::diagonal(&[1.0, 1.0]));
            let square = root.times(&root.transposed()).plus(0.5, &Matrix::diagonal(&[1.0, 1.0]));
            let trace = square.trace();
            Matrix::new(2, square.entries.iter().map(|x| 2.0 * x / trace).collect())
        }).collect();
        let quadratic = |seen: usize, e: &[f64]| dot(e, &metrics[seen].of(e));
        let risk = |f: &[f64]| law.mean(|o| quadratic(o.seen, &minus(&f[2 * o.seen..][..2], &o.z)));
        let mu = law.conditional(|outcome| outcome.z.clone());
        let distance = law.mean(|o| quadratic(o.seen, &minus(&f[2 * o.seen..][..2], &mu[&o.seen])));
        let uncertainty: f64 = law.given().into_iter().map(|(seen, part)| {
            let weight = law.mean(|outcome| f64::from(u8::from(outcome.seen == seen)));
            weight * metrics[seen].times(&part.expected_covariance()).trace()
        }).sum();
        assert_close(risk(&f), uncertainty + distance);
        // Whatever the metric, the best unrestricted prediction is the mean.
        let absent = |f: &[f64]| -> f64 {
            (0..3).filter(|n| !mu.contains_key(n)).map(|n| apart(&f[2 * n..][..2], &[0.0, 0.0])).sum()
        };
        let best = minimise_quadratic(6, |f| risk(f) + absent(f));
        for (seen, mu) in &mu {
            best[2 * seen..][..2].iter().zip(mu).for_each(|(found, mu)| assert_close(*found, *mu));
        }
    }
}

//! What it costs to make two views predict the same (paper, end of "Additional Information and Equality across
//! Contexts").

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::theory::{
    arithmetic::apart,
    assert_close,
    law::{Law, laws},
    search::minimise_quadratic,
};

/// Two views of each outcome: its name split into three and two.
fn views(seen: usize) -> [usize; 2] {
    [seen / 2, 3 + seen % 2]
}

/// What both views know: views are joined when one outcome has both. The common name of each of the five.
fn common(law: &Law) -> BTreeMap<usize, usize> {
    let mut name: BTreeMap<usize, usize> = (0..5).map(|view| (view, view)).collect();
    for _ in 0..5 {
        for outcome in &law.0 {
            let least = views(outcome.seen).map(|view| name[&view]).into_iter().min().unwrap();
            for view in views(outcome.seen) {
                name.insert(view, least);
            }
        }
    }
    name
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equality_costs_what_each_view_knows_alone(law in laws(4, 0, 2, 6)) {
        let [first, second] = [0, 1].map(|view| law.seen_as(|outcome| views(outcome.seen)[view]));
        let name = common(&law);
        let both = law.seen_as(|outcome| name[&views(outcome.seen)[0]]);
        // Equal predictions almost surely: one vector for each common name, fitted to both views' risks.
        let risk = |f: &[f64]| {
            let one = |view: usize| law.mean(|o| apart(&o.z, &f[2 * name[&views(o.seen)[view]]..][..2]));
            0.5 * (one(0) + one(1))
        };
        let idle = |f: &[f64]| -> f64 {
            let used = |n: usize| both.0.iter().any(|outcome| outcome.seen == n);
            (0..5).filter(|n| !used(*n)).map(|n| apart(&f[2 * n..][..2], &[0.0; 2])).sum()
        };
        let equal = risk(&minimise_quadratic(10, |f| risk(f) + idle(f)));
        let free: f64 = [&first, &second].map(|view| 0.5 * view.expected_covariance().trace()).iter().sum();
        let mean = both.conditional(|outcome| outcome.z.clone());
        let distance = |view: &Law| {
            let own = view.conditional(|outcome| outcome.z.clone());
            let pairs = view.0.iter().zip(&both.0);
            pairs.map(|(v, c)| v.p * apart(&own[&v.seen], &mean[&c.seen])).sum::<f64>()
        };
        assert_close(equal - free, 0.5 * (distance(&first) + distance(&second)));
    }
}

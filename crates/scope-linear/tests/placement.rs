//! Placing sensors by a linear fit.

use scope_data::{Channel, PerChannel, observation::Spot};
use scope_exact::{FieldPrior, Placement, Reading, Target, UNHEARD};
use scope_linear::LinearPrior;

use crate::{PIXELS, SIZE, synthetic_fit};

const NOISE: PerChannel<f64> = PerChannel { a: 0.05, u: 3e-4 };

/// The share of each field's variance that readings leave, from the posterior itself.
fn left(prior: &LinearPrior, readings: &[Reading]) -> PerChannel<f64> {
    let deviations = prior.given(readings, NOISE).unwrap().deviations(0).unwrap().fields;
    let before = prior.variances();
    PerChannel::from_fn(|channel| {
        let left: f64 = deviations[channel].iter().map(|x| x * x).sum();
        left / before[channel].iter().sum::<f64>()
    })
}

/// Each step takes what a search through all candidates takes, and states the errors that the posterior has.
#[test]
fn each_step_is_the_best_of_all_candidates() {
    let prior = LinearPrior::new(synthetic_fit(12));
    let mean = prior.mean_squares();
    let before = prior.variances().each_ref().map(|field| field.iter().sum::<f64>());
    // On pixels and between them.
    let spot = |k: usize| {
        let [i, j] = [k / 6, k % 6].map(|x| x as f64);
        Spot { at: if k.is_multiple_of(3) { [i + 0.5, j + 0.25] } else { [i, j] } }
    };
    let spots: Vec<Spot> = (0..36).map(spot).collect();
    let given = Reading::of_pixel(Channel::A, PIXELS / 2 + SIZE / 2, SIZE, 0.0);
    for (channel, target) in [
        (Channel::U, PerChannel { a: true, u: true }),
        (Channel::A, PerChannel { a: false, u: true }),
        (Channel::U, PerChannel { a: true, u: false }),
    ] {
        let wanted = |left: PerChannel<f64>| {
            left.zip(target).map(|(left, wanted)| if wanted { left } else { 0.0 }).into_iter().sum::<f64>()
        };
        let mut placement = Placement::new(&prior, channel, &spots, NOISE, Target(target), UNHEARD).unwrap();
        placement.given(&[given], NOISE, UNHEARD).unwrap();
        let mut sensors = vec![given];
        for step in 0..5 {
            let with = |k: usize| {
                let mut more = sensors.clone();
                more.push(Reading::new(channel, spots[k], 0.0));
                left(&prior, &more)
            };
            let chosen = placement.place_next().unwrap();
            let own = with(chosen.candidate);
            let best = (0..spots.len()).map(|k| wanted(with(k))).fold(f64::INFINITY, f64::min);
            assert!(wanted(own) <= best * (1.0 + 1e-9), "step {step}: {} and {best}", wanted(own));
            for field in Channel::BOTH {
                let share = own[field] * before[field] / (before[field] + mean[field]);
                let stated = chosen.expected_percent[field];
                assert!((stated - 100.0 * share.sqrt()).abs() < 1e-6, "step {step} of {field:?}");
            }
            sensors.push(Reading::new(channel, spots[chosen.candidate], 0.0));
        }
    }
}

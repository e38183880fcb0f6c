//! Draws from the posterior.

use scope_data::{Channel, PerChannel};
use scope_exact::Reading;
use scope_linear::LinearPrior;

use crate::{PIXELS, SIZE, synthetic_fit};

/// Draws scatter about the mean as far as the standard deviations say, and depend on their seed and index alone.
#[test]
fn draws_have_the_stated_mean_and_spread() {
    let prior = LinearPrior::new(synthetic_fit(10));
    let reading = |k: usize| Reading::of_pixel(Channel::A, 7 * k % PIXELS, SIZE, 1.0 + 0.1 * k as f64);
    let readings: Vec<Reading> = (0..6).map(reading).collect();
    let posterior = prior.given(&readings, PerChannel { a: 0.05, u: 3e-4 }).unwrap();
    let count = 600;
    let samples = posterior.samples(5, count).unwrap();
    assert_eq!(samples[3], posterior.sample(5, 3).unwrap());
    let mean = posterior.mean().unwrap();
    let deviations = posterior.deviations(0).unwrap().fields;
    for channel in Channel::BOTH {
        let mut squares = 0.0;
        let mut sums = 0.0;
        for point in 0..PIXELS {
            let apart =
                |k: usize| (samples[k][channel][point] - mean[channel][point]) / deviations[channel][point];
            squares += (0..count).map(|k| apart(k).powi(2)).sum::<f64>() / count as f64;
            sums += ((0..count).map(apart).sum::<f64>() / count as f64).abs();
        }
        let [squares, sums] = [squares, sums].map(|sum| sum / PIXELS as f64);
        assert!((0.93..1.07).contains(&squares) && sums < 0.1, "{channel:?}: {squares} {sums}");
    }
}

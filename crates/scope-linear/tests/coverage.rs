//! Whether what is stated of the uncertainty is true of Gaussian fields, through fitting and all.

use rand::RngExt;
use rand_distr::StandardNormal;
use scope_data::{Channel, PerChannel};
use scope_exact::{FieldPrior, Reading};
use scope_linear::{FitOptions, FitProgress, LinearPrior, RecordArray, fit_records};
use scope_pde::random::Coordinates;

use crate::{PIXELS, SIZE, source, synthetic_fit};

/// Intervals of 68% and 95% cover 66 to 70% and 94 to 96% of fresh fields, of which a few noisy sensors are read.
#[test]
fn intervals_cover_what_they_state() {
    let truth = LinearPrior::new(synthetic_fit(16));
    let constants = source().constants;
    let draw = |name: &str, record: u64| {
        let mut stream = Coordinates::new(name).number(record).stream();
        truth.fields(truth.draw(&mut stream)).unwrap()
    };
    let stored = |record: u64| {
        let fields = draw("coverage-records", record);
        let of = |channel: Channel| {
            fields[channel].iter().map(move |x| constants[channel].store(*x)).collect::<Vec<_>>()
        };
        [of(Channel::A), of(Channel::U)].concat()
    };
    let records = RecordArray { values: (0..2500).flat_map(stored).collect(), length: 2 * PIXELS };
    let heard = |_, _, _| true;
    let fit = fit_records(&records, source(), FitOptions { modes: 16 }, &FitProgress(&heard)).unwrap();
    let prior = LinearPrior::new(fit);
    let noise = PerChannel { a: 0.05, u: 3e-4 };
    let mut within = [0, 0];
    let mut all = 0;
    for record in 0..150 {
        let fields = draw("coverage-tests", record);
        let mut stream = Coordinates::new("coverage-noise").number(record).stream();
        let mut reading = |k: usize| {
            let channel = if k.is_multiple_of(2) { Channel::A } else { Channel::U };
            let point = (k * 11 + record as usize * 5) % PIXELS;
            let error: f64 = stream.sample(StandardNormal);
            Reading::of_pixel(channel, point, SIZE, fields[channel][point] + noise[channel] * error)
        };
        let readings: Vec<Reading> = (0..10).map(&mut reading).collect();
        let posterior = prior.given(&readings, noise).unwrap();
        let mean = posterior.mean().unwrap();
        let deviations = posterior.deviations(0).unwrap().fields;
        for channel in Channel::BOTH {
            for point in 0..PIXELS {
                let score =
                    (fields[channel][point] - mean[channel][point]).abs() / deviations[channel][point];
                within[0] += usize::from(score <= 0.994_458);
                within[1] += usize::from(score <= 1.959_964);
                all += 1;
            }
        }
    }
    let [some, most] = within.map(|count| 100.0 * count as f64 / all as f64);
    assert!((66.0..70.0).contains(&some) && (94.0..96.0).contains(&most), "{some} {most}");
}

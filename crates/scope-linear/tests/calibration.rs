//! What a fit says of its own accuracy, measured on the records that stay with it.

use rand::RngExt;
use rand_distr::StandardNormal;
use scope_data::{Channel, Fields, PerChannel};
use scope_exact::{FieldPrior, NO_NOISE, Posterior, Reading, UNHEARD};
use scope_linear::{FitOptions, FitProgress, LinearPrior, RecordArray, fit_records};
use scope_pde::random::Coordinates;

use crate::{PIXELS, SIZE, source, synthetic_fit};

/// Fields that are no Gaussian's: each has an amplitude of its own.
fn field(truth: &LinearPrior, name: &str, record: u64) -> Fields<f64> {
    let mut stream = Coordinates::new(name).number(record).stream();
    let amplitude = (0.4 * stream.sample::<f64, _>(StandardNormal)).exp();
    let mut latent = truth.draw(&mut stream);
    latent.iter_mut().for_each(|x| *x *= amplitude);
    truth.fields(latent).unwrap()
}

/// A fit of so many records, with fewer modes than these have.
fn fitted(truth: &LinearPrior, records: u64) -> LinearPrior {
    let constants = source().constants;
    let stored = |record: u64| {
        let fields = field(truth, "calibration-records", record);
        let of = |channel: Channel| {
            fields[channel].iter().map(move |x| constants[channel].store(*x)).collect::<Vec<_>>()
        };
        [of(Channel::A), of(Channel::U)].concat()
    };
    let records = RecordArray { values: (0..records).flat_map(stored).collect(), length: 2 * PIXELS };
    let heard = |_, _, _| true;
    LinearPrior::new(fit_records(&records, source(), FitOptions { modes: 8 }, &FitProgress(&heard)).unwrap())
}

/// Exact readings of both fields, which a function may spoil.
fn readings(fields: &Fields<f64>, record: u64, spoil: impl Fn(usize, f64) -> f64) -> Vec<Reading> {
    let reading = |k: usize| {
        let channel = if k.is_multiple_of(2) { Channel::A } else { Channel::U };
        let point = (k * 11 + record as usize * 5) % PIXELS;
        Reading::of_pixel(channel, point, SIZE, spoil(k, fields[channel][point]))
    };
    (0..20).map(reading).collect()
}

/// What is within the half-widths of 68% and 95%, in percent of all pixels that were not measured themselves.
fn within(posterior: &Posterior, truth: &Fields<f64>) -> [f64; 2] {
    let mean = posterior.mean().unwrap();
    let deviations = posterior.deviations(0).unwrap();
    let known = posterior.calibrate(&deviations, [0.68, 0.95], UNHEARD).unwrap().unwrap();
    known.half_widths.map(|factors| {
        let scores = Channel::BOTH.into_iter().flat_map(|channel| {
            let pixels = mean[channel].iter().zip(&truth[channel]).zip(&deviations.fields[channel]);
            let uncertain = pixels.filter(move |((_, truth), deviation)| **deviation > 1e-6 * truth.abs());
            uncertain
                .map(move |((mean, truth), deviation)| (mean - truth).abs() / (factors[channel] * deviation))
        });
        let scores: Vec<f64> = scores.collect();
        100.0 * scores.iter().filter(|score| **score <= 1.0).count() as f64 / scores.len() as f64
    })
}

/// Of fresh fields as many pixels lie within bands as is said, readings contradict none of them, and those that do are
/// told.
#[test]
fn what_is_said_is_true_of_fields_that_are_no_gaussians() {
    let truth = LinearPrior::new(synthetic_fit(16));
    let prior = fitted(&truth, 2000);
    assert_eq!((prior.fit().about.held_out, prior.fit().about.calibration), (100, 100));
    let mut held = [0.0; 2];
    let mut alarms = 0;
    let fresh = 150;
    for record in 0..fresh {
        let fields = field(&truth, "calibration-tests", record);
        let given = |spoil: &dyn Fn(usize, f64) -> f64| {
            prior.given(&readings(&fields, record, spoil), NO_NOISE).unwrap()
        };
        let sound = given(&|_, value| value);
        held.iter_mut().zip(within(&sound, &fields)).for_each(|(sum, share)| *sum += share / fresh as f64);
        let judged = sound.leave_one_out().unwrap();
        alarms += usize::from(sound.model_check().unwrap().contradicts());
        alarms += judged.predictions.iter().filter(|prediction| prediction.suspect).count();
        if record < 10 {
            let wrong_units = given(&|_, value| 100.0 * value);
            assert!(wrong_units.model_check().unwrap().contradicts(), "{record}");
            let faulty = given(&|k, value| if k == 4 { value + 40.0 } else { value });
            assert!(faulty.leave_one_out().unwrap().predictions[4].suspect, "{record}");
        }
    }
    assert!((63.0..74.0).contains(&held[0]) && (93.0..99.0).contains(&held[1]), "{held:?}");
    assert_eq!(alarms, 0);
}

/// Too few records say nothing, rather than what is not true.
#[test]
fn few_records_say_nothing() {
    let truth = LinearPrior::new(synthetic_fit(16));
    let prior = fitted(&truth, 60);
    assert_eq!(prior.fit().about.calibration, 0);
    let fields = field(&truth, "calibration-tests", 0);
    let posterior =
        prior.given(&readings(&fields, 0, |_, value| value), PerChannel { a: 0.1, u: 1e-3 }).unwrap();
    assert_eq!(posterior.held_out_fields(), 0);
    let deviations = posterior.deviations(0).unwrap();
    assert_eq!(posterior.calibrate(&deviations, [0.68, 0.95], UNHEARD).unwrap(), None);
}

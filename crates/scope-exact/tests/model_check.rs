//! Whether measurements contradict the model, and which of them do.

use rand::RngExt;
use rand_distr::StandardNormal;
use scope_data::{Channel, PerChannel};
use scope_exact::{Posterior, PosteriorError, Prior, Reading, Stage, Step};
use scope_pde::{Generator, Identity, Pde, Split, random::Coordinates};

const SIZE: usize = 32;
const NOISE: PerChannel<f64> = PerChannel { a: 0.02, u: 2e-4 };

/// Noisy readings of a record: of a, of u and of one point of each twice.
fn readings(pde: Pde, record: u64, count: usize) -> Vec<Reading> {
    let identity = Identity { pde, seed: 3, split: Split::Test, resolution: SIZE };
    let fields = Generator::new(identity).unwrap().record(record).unwrap().fields;
    let mut stream = Coordinates::new("readings").number(record).stream();
    let reading = |k: usize| {
        let channel = if k.is_multiple_of(2) || pde == Pde::NAVIER_STOKES { Channel::A } else { Channel::U };
        let inside = 1 + stream.random_range(0..SIZE - 2);
        let point = (1 + k * 7 % (SIZE - 2)) * SIZE + inside;
        let error: f64 = stream.sample(StandardNormal);
        let field = if channel == Channel::A { &fields.a } else { &fields.u };
        Reading::of_pixel(channel, point, SIZE, field[point] + NOISE[channel] * error)
    };
    (0..count).map(reading).collect()
}

fn posterior<'a>(prior: &'a Prior, readings: &[Reading]) -> Posterior<'a> {
    prior.given(readings, NOISE).unwrap()
}

/// The mean and standard deviation, noise included, that a posterior has of a reading it does not know.
fn forecast(posterior: &Posterior, reading: &Reading) -> (f64, f64) {
    let point = reading.spot.nearest(SIZE);
    let mean = posterior.mean().unwrap()[reading.channel][point];
    let deviation = posterior.deviations(0).unwrap().fields[reading.channel][point];
    (mean, deviation.hypot(NOISE[reading.channel]))
}

#[test]
fn the_closed_form_is_what_leaving_one_out_gives() {
    for pde in [Pde::POISSON, Pde::HELMHOLTZ] {
        let prior = Prior::new(pde, SIZE).unwrap();
        let readings = readings(pde, 0, 40);
        let all = posterior(&prior, &readings).leave_one_out().unwrap();
        for (k, prediction) in all.predictions.iter().enumerate() {
            let place = readings[k].spot;
            let same = |other: &Reading| other.spot == place && other.channel == readings[k].channel;
            let others: Vec<Reading> = readings.iter().filter(|other| !same(other)).copied().collect();
            let (mean, deviation) = forecast(&posterior(&prior, &others), &readings[k]);
            let scale = deviation;
            assert!((prediction.expected - mean).abs() < 1e-6 * scale, "{pde} {k}");
            assert!((prediction.deviation / deviation - 1.0).abs() < 1e-6, "{pde} {k}");
            assert!(!prediction.suspect);
        }
    }
}

#[test]
fn the_probabilities_of_draws_from_the_prior_are_uniform() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let count = 200;
    let mut probabilities: Vec<f64> = (0..count)
        .map(|record| {
            let readings = readings(Pde::POISSON, record, 30);
            posterior(&prior, &readings).model_check().unwrap().probability()
        })
        .collect();
    probabilities.sort_by(f64::total_cmp);
    // Kolmogorov and Smirnov: uniform numbers are further off in one set of a thousand.
    let n = count as f64;
    let apart = probabilities.iter().enumerate().map(|(k, p)| (p - (k as f64 + 0.5) / n).abs());
    let farthest = apart.fold(0.0, f64::max);
    assert!(farthest < 1.95 / n.sqrt(), "{farthest}");
    assert!(probabilities[0] > 1e-4);
}

#[test]
fn a_field_of_another_law_contradicts_the_model_and_no_sensor_is_blamed() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let value = |reading: Reading| Reading { value: 0.01 * reading.spot.at[0] / 31.0, ..reading };
    let ramp: Vec<Reading> = readings(Pde::POISSON, 0, 300)
        .into_iter()
        .filter(|reading| reading.channel == Channel::U)
        .map(value)
        .collect();
    let posterior = prior.given(&ramp, PerChannel { a: 1e-9, u: 1e-9 }).unwrap();
    assert!(posterior.model_check().unwrap().contradicts());
    let suspects = posterior.leave_one_out().unwrap().predictions.iter().filter(|p| p.suspect).count();
    assert_eq!(suspects, 0);
}

/// Of a value that is zero by definition, a reading that is not contradicts the model by itself.
#[test]
fn a_wrong_value_on_the_edge_contradicts_the_model() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let mut readings = readings(Pde::POISSON, 0, 40);
    readings.push(Reading::of_pixel(Channel::U, 5, SIZE, 0.0));
    let zero = posterior(&prior, &readings).model_check().unwrap();
    assert!(!zero.contradicts());
    assert_eq!(zero, posterior(&prior, &readings[..40]).model_check().unwrap());
    readings[40].value = 0.01;
    let wrong = posterior(&prior, &readings);
    assert!(wrong.model_check().unwrap().contradicts());
    let judged = wrong.leave_one_out().unwrap();
    assert!(judged.predictions[40].suspect && !judged.rest.contradicts());
    assert_eq!(judged.predictions[40].expected, 0.0);
}

/// A sound reading is not blamed for another one of the same place.
#[test]
fn of_two_readings_of_one_place_the_faulty_one_is_named() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let mut readings = readings(Pde::POISSON, 4, 120);
    readings.push(Reading { value: readings[17].value + 0.02, ..readings[17] });
    let judged = posterior(&prior, &readings).leave_one_out().unwrap();
    let suspects: Vec<usize> = (0..readings.len()).filter(|k| judged.predictions[*k].suspect).collect();
    assert_eq!((readings[17].channel, suspects), (Channel::U, vec![120]));
}

/// Faulty sensors are found even where they hide each other, and are predicted by the sound ones alone.
#[test]
fn faulty_sensors_are_named_and_predicted_by_the_others() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let sound = readings(Pde::POISSON, 4, 120);
    let faulty = [17, 18, 63];
    let mut readings = sound.clone();
    for k in faulty {
        readings[k].value += if readings[k].channel == Channel::A { 1.5 } else { 0.02 };
    }
    let given = posterior(&prior, &readings);
    assert!(given.model_check().unwrap().contradicts());
    let judged = given.leave_one_out().unwrap();
    let suspects: Vec<usize> = (0..readings.len()).filter(|k| judged.predictions[*k].suspect).collect();
    assert_eq!(suspects, faulty);
    assert!(!judged.rest.contradicts());
    let others: Vec<Reading> =
        readings.iter().enumerate().filter(|(k, _)| !faulty.contains(k)).map(|(_, r)| *r).collect();
    let without = posterior(&prior, &others);
    let rest = without.model_check().unwrap();
    assert_eq!(rest.degrees, judged.rest.degrees);
    assert!((rest.statistic / judged.rest.statistic - 1.0).abs() < 1e-6);
    for k in faulty {
        let (mean, deviation) = forecast(&without, &readings[k]);
        assert!((judged.predictions[k].expected - mean).abs() < 1e-6 * deviation);
        assert!((judged.predictions[k].deviation / deviation - 1.0).abs() < 1e-6);
    }
}

#[test]
fn the_noise_that_would_agree_is_the_noise_there_is() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let readings = readings(Pde::POISSON, 1, 300);
    let posterior = prior.given(&readings, PerChannel { a: 1e-7, u: 1e-9 }).unwrap();
    assert!(posterior.model_check().unwrap().contradicts());
    let share = posterior.consistent_noise(NOISE).unwrap();
    assert!((0.85..1.2).contains(&share), "{share}");
}

/// Who hears of any step can stop the work there: in the covariance, its factor, residuals, standard deviations and
/// draws.
#[test]
fn who_hears_of_progress_can_stop_the_work() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let readings = readings(Pde::POISSON, 0, 60);
    let until = |stage: Stage| move |step: Step| step.stage != stage;
    for stage in [Stage::Covariance, Stage::Factor] {
        let stopped = Posterior::given(&prior, &readings, NOISE, &until(stage)).err();
        assert_eq!(stopped, Some(PosteriorError::Interrupted), "{stage:?}");
    }
    let posterior = posterior(&prior, &readings);
    let stopped = posterior.leave_one_out_watched(&until(Stage::Residuals)).err();
    assert_eq!(stopped, Some(PosteriorError::Interrupted));
    let stopped = posterior.deviations_watched(0, &until(Stage::Deviations)).err();
    assert_eq!(stopped, Some(PosteriorError::Interrupted));
    let stopped = posterior.samples_watched(0, 2, &until(Stage::Samples)).err();
    assert_eq!(stopped, Some(PosteriorError::Interrupted));
}
